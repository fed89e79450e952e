"""The heated cube on fine grids, each started from the solution on a coarser one; and by both thermal methods."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from muphy_lb.measure.flow_view import on_root
from muphy_lb.physics.thermal.mid_plane import middle_heat
from muphy_lb.physics.thermal.model import DIFFERENCES, POPULATION_METHOD
from muphy_lb.physics.thermal.temperature import temperature_k, wall_heat
from muphy_lb.validation.case import DEFAULT, Row, Settings, Skipped, absolute, case, relative
from muphy_lb.validation.limits import HALF
from muphy_lb.validation.plot import Plot, Series, contours
from muphy_lb.validation.thermal import reference_values as reference
from muphy_lb.validation.thermal.heated_cavity import SYMMETRIC, Cavity, cavity_of, free_fall, heated_simulation

GRIDS = {1e4: (64, 128, 256), 1e5: (64, 128, 256), 1e6: (64, 128, 256), 1e7: (64, 128, 256), 1e8: (128, 256)}
QUICK_GRIDS = {1e4: (8, 16)}
# Name, Nusselt numbers, and relative tolerances.
PUBLISHED: tuple[tuple[str, Mapping[float, float], Mapping[float, float]], ...] = (
    ("Tric et al.", reference.TRIC, {1e4: 0.006, 1e5: 0.006, 1e6: 0.006, 1e7: 0.007}),
    ("TheLMA on 256^3", reference.THELMA, {1e8: 0.015}),
    ("Wakashima and Saitoh", reference.WAKASHIMA, {}),
)
QUICK_TOLERANCE = 2e-3
METHODS_GRID, QUICK_METHODS_GRID, METHODS_TOLERANCE = (1e5, 64), (1e4, 12), (0.005, 0.02)
CHANGE_STEPS = 500  # steps over which changes are evaluated, as in TheLMA
# Change of the temperature over CHANGE_STEPS steps, over the difference of the walls, at which a grid has converged.
SETTLED = {"fp64": 1e-8, "fp32": 1e-6}
STEADY_AT_MOST = 1e-5  # the same at 1e8, which does not converge within MAX_FREE_FALLS
MAX_FREE_FALLS = 400  # longest run on a grid, in free-fall times along the edge


@dataclass(frozen=True)
class ConvergenceHistory:
    """The convergence history of a cube."""

    steps: np.ndarray  # steps, wall, middle: (k,) time steps, and Nusselt numbers of the hot wall and of the mid-plane
    wall: np.ndarray
    middle: np.ndarray
    change: float  # change of the temperature over the last ``CHANGE_STEPS`` steps


@case(
    "heated-cube",
    "Tric, Labrosse, Betrouni, Int. J. Heat Mass Transfer 43, 4043 (2000); Obrecht, Kuznik, Tourancheau, Roux, Comput."
    " Fluids 54, 118 (2012), Table 5, on 256^3 nodes; Wakashima, Saitoh (2004)",
)
def heated_cube(settings: Settings) -> Iterator:
    """Nusselt numbers up to Ra = 1e8; hours on one GPU at the highest, less on several."""
    if settings.precision == HALF:
        raise Skipped("fp16 does not settle to the tolerances of this case")
    (rayleigh, size), allowed = METHODS_GRID, METHODS_TOLERANCE[0]
    if settings.quick:
        (rayleigh, size), allowed = QUICK_METHODS_GRID, METHODS_TOLERANCE[1]
    found = [grid_sequence(rayleigh, (size,), settings, method)[0] for method in (DIFFERENCES, POPULATION_METHOD)]
    what = f"Ra {rayleigh:.0e}, {size}^3: Nu, double distribution against finite differences"
    yield relative(what, found[0].nusselt[1], found[1].nusselt[1], allowed)
    for rayleigh, sizes in (QUICK_GRIDS if settings.quick else GRIDS).items():
        cavity, history = grid_sequence(rayleigh, sizes, settings)
        yield from _rows(rayleigh, sizes[-1], cavity, history, settings)
        lines = Series("hot wall", history.steps, history.wall), Series("midway", history.steps, history.middle)
        title = f"Cube, Ra = {rayleigh:.0e}, {sizes[-1]}^3"
        yield Plot(f"{title}: convergence", "steps", "Nusselt number", lines)
        yield contours(f"{title}: isotherms of the middle plane", cavity.temperature[:, sizes[-1] // 2])


def grid_sequence(
    rayleigh: float, sizes, settings: Settings = DEFAULT, method: str = DIFFERENCES
) -> tuple[Cavity, ConvergenceHistory]:
    """(the cube on the finest of a sequence of grids, its convergence history there)."""
    cavity: Cavity | None = None
    history: ConvergenceHistory | None = None
    for size in sizes:
        simulation, diffusivity = heated_simulation(rayleigh, size, settings, method=method, start=cavity)
        most_steps = round(MAX_FREE_FALLS * free_fall(rayleigh, size, diffusivity))
        history = _settle(simulation, size, most_steps, settings)
        cavity = cavity_of(simulation, diffusivity)
        del simulation  # before the next is made
    if cavity is None or history is None:
        raise ValueError("grid_sequence has no sizes; give it at least one")
    return cavity, history


def _settle(simulation, size: int, most_steps: int, settings: Settings) -> ConvergenceHistory:
    """Step until the temperature is steady or ``most_steps`` are done (as for Ra = 1e8); collective."""
    plane = middle_heat(simulation)
    if plane is None:
        raise ValueError("the simulation has no plane between two walls of fixed temperature; give it a heated cube")
    communicator = simulation.communicator
    samples = []
    done = 0
    change = inf
    interval = CHANGE_STEPS * max(1, most_steps // (100 * CHANGE_STEPS))
    while done < most_steps and change > SETTLED[settings.precision]:
        simulation.step(interval - CHANGE_STEPS)
        before = temperature_k(simulation)
        simulation.step(CHANGE_STEPS)
        done, now, midway = done + interval, temperature_k(simulation), plane.gradient_k_m()
        if communicator.rank == 0:
            change = float(np.abs(on_root(now) - on_root(before)).max())
            gradient = wall_heat(simulation).gradients_k_m(on_root(now))["hot"]
            samples.append((done, -gradient * size, on_root(midway) * size))
        change = communicator.broadcast(change)
    steps, wall, middle = np.array(communicator.broadcast(samples)).T
    return ConvergenceHistory(steps, wall, middle, change)


def _rows(rayleigh, size, cavity: Cavity, history: ConvergenceHistory, settings: Settings) -> Iterator[Row]:
    what, found = f"Ra {rayleigh:.0e}, {size}^3", cavity.nusselt[1]
    if settings.quick:
        known = [("another program with this method", reference.SAME_METHOD[rayleigh, size], QUICK_TOLERANCE)]
    else:
        known = [(name, by[rayleigh], within.get(rayleigh, inf)) for name, by, within in PUBLISHED if rayleigh in by]
    known.append(("of the plane midway", float(history.middle[-1]), inf))
    for name, value, allowed in known:
        yield relative(f"{what}: Nu, {name}", value, found, allowed)
    steady = SETTLED[settings.precision] if rayleigh <= 1e7 else STEADY_AT_MOST
    yield absolute(f"{what}: change of temperature in {CHANGE_STEPS} steps", 0.0, history.change, steady)
    yield absolute(f"{what}: asymmetry about the centre", 0.0, cavity.asymmetry, SYMMETRIC[settings.precision])
