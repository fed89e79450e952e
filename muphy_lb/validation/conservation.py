"""Mass of a closed domain: walls of any roughness, sound and a body force must not change it."""

import numpy as np

from muphy_lb.validation.flows import forced_flow
from muphy_lb.validation.record import Row, Validation, absolute, at_least

CITATION = "bounce-back, streaming and collision conserve mass exactly; what remains is round-off"
TOLERANCES = {"fp64": 1e-12, "fp32": 1e-6}
EDGE, POROSITY, SEED = 16, 0.5, 1
RELAXATION_TIME = 0.8
FORCE = (1e-5, 2e-5, -1e-5)
DENSITY_SPREAD = 0.01
N_STEPS, N_STEPS_QUICK = 10_000, 2_000


def conservation(quick: bool = False) -> Validation:
    """Mass of a random periodic rock over 10,000 steps; quick: fewer steps, double precision only."""
    runs = [("fp64", N_STEPS_QUICK)] if quick else [(precision, N_STEPS) for precision in TOLERANCES]
    return Validation("conservation", CITATION, tuple(row for run in runs for row in _rows(*run)))


def mass_drift(precision: str, n_steps: int) -> tuple[float, float]:
    """(relative change of the mass, largest speed at the end) of a force-driven flow through random solid voxels.

    It starts from a random density, so that sound runs through the domain at first.
    """
    options = {"shape_zyx": [EDGE] * 3, "porosity": POROSITY, "seed": SEED}
    simulation = forced_flow({"shape": "random_solid", "options": options}, RELAXATION_TIME, FORCE, precision=precision)
    engine, n_nodes = simulation.engine, simulation.nodes.n_nodes
    density = 1.0 + DENSITY_SPREAD * np.random.default_rng(SEED).standard_normal(n_nodes)
    engine.start_from(density, np.zeros((3, n_nodes)))
    before = engine.totals().mass
    simulation.step(n_steps)
    after = engine.totals()
    return (after.mass - before) / (n_nodes + before), after.speed


def _rows(precision: str, n_steps: int) -> tuple[Row, Row]:
    drift, speed = mass_drift(precision, n_steps)
    return (
        absolute(f"relative mass change in {n_steps:,} steps, {precision}", 0.0, drift, TOLERANCES[precision]),
        at_least(f"largest speed at the end (it does flow), {precision}", 1e-5, speed, 0.0),
    )
