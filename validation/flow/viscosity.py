"""Permeability of a porous block at many viscosities: constant with two relaxation times, drifting with one."""

import numpy as np

from muphy_lb.base.units import viscosity
from muphy_lb.lattice import lattice_named
from muphy_lb.validation.flows import creeping, forced_flow, settled
from muphy_lb.validation.limits import left_out_rules, possible_rules
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.record import Validation, absolute, at_least
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = (
    "steady Stokes flow has one permeability; a wall's place depends on Lambda alone, which two relaxation times hold"
    " fixed: Ginzburg, d'Humieres, Phys. Rev. E 68, 066614 (2003)"
)
RELAXATION_TIMES, QUICK_RELAXATION_TIMES = (0.6, 0.8, 1.0, 1.5, 2.0), (0.6, 1.0, 2.0)
SIZE, QUICK_SIZE = 32, 16
RADIUS_OVER_SIZE = 0.1875
POROSITY, SEED = 0.5, 1
FORCE = 1e-6
METHODS = {  # name: (wall rule, collision)
    "TRT, half-way": ("half-way", "trt"),
    "TRT, central-linear": ("central-linear", "trt"),
    "BGK, half-way": ("half-way", "bgk"),
}
RULES = ("half-way", "central-linear")
SPREAD, DRIFT = {"fp64": 1e-6, "fp32": 1e-4, "fp16": 1e-2}, 0.1
SETTLED = 1e-9


def viscosity_independence(settings: Settings = DEFAULT) -> Validation:
    """Permeability of overlapping spheres from relaxation time 0.6 to 2: two relaxation times against one."""
    times = QUICK_RELAXATION_TIMES if settings.quick else RELAXATION_TIMES
    found = {
        name: np.array([permeability(tau, rule, collision, settings) for tau in times])
        for name, (rule, collision) in METHODS.items()
        if rule in possible_rules(RULES, settings)
    }
    spread = {name: values.max() / values.min() - 1.0 for name, values in found.items()}
    bgk, allowed = spread.pop("BGK, half-way"), SPREAD[settings.precision]
    rows = [absolute(f"largest / smallest permeability - 1, {name}", 0.0, s, allowed) for name, s in spread.items()]
    rows.append(at_least("largest / smallest permeability - 1, BGK drifts", DRIFT, bgk, 0.0))
    curves = tuple(Series(name, times, values, "points") for name, values in found.items())
    plot = Plot("Permeability of overlapping spheres", "relaxation time [steps]", "permeability [voxel^2]", curves)
    left_out = left_out_rules(RULES, settings)
    return Validation("viscosity-independence", CITATION, tuple(rows), plots=(plot,), left_out=left_out)


def permeability(tau: float, rule: str, collision: str, settings: Settings = DEFAULT) -> float:
    """nu <u> / g [voxel^2] of a periodic block of overlapping solid spheres, the mean over the whole block."""
    size = QUICK_SIZE if settings.quick else SIZE
    radius = RADIUS_OVER_SIZE * size
    options = {"size": size, "radius": radius, "porosity": POROSITY, "seed": SEED}
    geometry = {"shape": "sphere_pack", "options": options}
    tables = creeping(rule, collision)
    simulation = forced_flow(geometry, tau, (FORCE, 0.0, 0.0), settings=settings, tables=tables)
    total = settled(simulation, lambda: simulation.engine.moments()[1].sum(dtype=np.float64), 2.0 * radius, SETTLED)
    return float(viscosity(tau, float(lattice_named("D3Q19").cs2)) * total / size**3 / FORCE)
