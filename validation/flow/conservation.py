"""Conservation of mass in a closed domain with rough walls, acoustic waves and a body force."""

from dataclasses import replace

import numpy as np

from muphy_lb.validation.flows import forced_flow
from muphy_lb.validation.precision import possible_precisions
from muphy_lb.validation.record import Row, Validation, absolute, at_least
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = "bounce-back, streaming and collision conserve mass exactly; what remains is round-off"
# fp16: ten times what was measured; one wall link that leaks loses 3e-6 in 2,000 steps.
TOLERANCES = {"fp64": 1e-12, "fp32": 1e-6, "fp16": 2e-7}
EDGE, POROSITY, SEED = 16, 0.5, 1
RELAXATION_TIME = 0.8
FORCE = (1e-5, 2e-5, -1e-5)
DENSITY_SPREAD = 0.01
N_STEPS, N_STEPS_QUICK = 10_000, 2_000


def conservation(settings: Settings = DEFAULT) -> Validation:
    """Mass of a random periodic rock over many steps, in every precision; quick: in the chosen one."""
    n_steps, rows = N_STEPS_QUICK if settings.quick else N_STEPS, []
    for precision in () if settings.quick else possible_precisions(settings.backend):
        if precision != settings.precision:
            rows += _rows(precision, n_steps, settings, f", {precision}")
    return Validation("conservation", CITATION, (*_rows(settings.precision, n_steps, settings), *rows))


def mass_drift(precision: str, n_steps: int, settings: Settings = DEFAULT) -> tuple[float, float]:
    """(relative change of the mass, largest speed at the end) of a force-driven flow through random solid voxels.

    It starts from a random density, so that sound runs through the domain at first.
    """
    options = {"shape_zyx": [EDGE] * 3, "porosity": POROSITY, "seed": SEED}
    geometry = {"shape": "random_solid", "options": options}
    chosen = replace(settings, precision=precision)
    simulation = forced_flow(geometry, RELAXATION_TIME, FORCE, settings=chosen)
    engine, n_nodes = simulation.engine, simulation.nodes.n_nodes
    density = 1.0 + DENSITY_SPREAD * np.random.default_rng(SEED).standard_normal(n_nodes)
    engine.start_from(density, np.zeros((3, n_nodes)))
    before = engine.totals().mass
    simulation.step(n_steps)
    after = engine.totals()
    return (after.mass - before) / (n_nodes + before), after.speed


def _rows(precision: str, n_steps: int, settings: Settings, where: str = "") -> tuple[Row, Row]:
    drift, speed = mass_drift(precision, n_steps, settings)
    return (
        absolute(f"relative mass change in {n_steps:,} steps{where}", 0.0, drift, TOLERANCES[precision]),
        at_least(f"largest speed at the end (it does flow){where}", 1e-5, speed, 0.0),
    )
