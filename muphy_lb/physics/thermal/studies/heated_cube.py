"""The heated cube on fine grids, each started where a coarser one has come to; and by both methods."""

from dataclasses import dataclass
from math import inf

import numpy as np

from muphy_lb.physics.thermal.mid_plane import middle_heat
from muphy_lb.physics.thermal.model import DIFFERENCES, POPULATION_METHOD
from muphy_lb.physics.thermal.studies import reference_values as reference
from muphy_lb.physics.thermal.studies.heated_cavity import (
    SYMMETRIC,
    Cavity,
    cavity_of,
    free_fall,
    heated_simulation,
)
from muphy_lb.physics.thermal.temperature import temperature_k, wall_heat
from muphy_lb.studies.validation.limits import HALF
from muphy_lb.studies.validation.plot import Plot, Series, contours
from muphy_lb.studies.validation.record import Row, Validation, absolute, relative
from muphy_lb.studies.validation.settings import DEFAULT, Settings

CITATION = (
    "Tric, Labrosse, Betrouni, Int. J. Heat Mass Transfer 43, 4043 (2000); Obrecht, Kuznik, Tourancheau, Roux, Comput."
    " Fluids 54, 118 (2012), Table 5, on 256^3 nodes; Wakashima, Saitoh (2004)"
)
GRIDS = {1e4: (64, 128, 256), 1e5: (64, 128, 256), 1e6: (64, 128, 256), 1e7: (64, 128, 256), 1e8: (128, 256)}
QUICK_GRIDS = {1e4: (8, 16)}
# Name, Nusselt numbers, and how near to them is asked for.
PUBLISHED = (
    ("Tric et al.", reference.TRIC, {1e4: 0.006, 1e5: 0.006, 1e6: 0.006, 1e7: 0.007}),
    ("TheLMA on 256^3", reference.THELMA, {1e8: 0.015}),
    ("Wakashima and Saitoh", reference.WAKASHIMA, {}),
)
QUICK_TOLERANCE = 2e-3
METHODS_GRID, QUICK_METHODS_GRID, METHODS_TOLERANCE = (1e5, 64), (1e4, 12), (0.005, 0.02)
VIEW = 500  # steps over which changes are told, as TheLMA does
# Change of the temperature over VIEW steps, as part of the difference of the walls, at which a grid is left.
SETTLED = {"fp64": 1e-8, "fp32": 1e-6}
STEADY_AT_MOST = 1e-5  # the same at 1e8, which takes longer than MOST_FALLS to come to rest
MOST_FALLS = 400  # a grid is left after so many times that a free fall along the edge takes


@dataclass(frozen=True)
class Settling:
    """How a cube came to rest.

    Attributes:
        steps, wall, middle: (k,) steps done, and Nusselt numbers of the hot wall and of the plane midway.
        change: of the temperature over the last ``VIEW`` steps.
    """

    steps: np.ndarray
    wall: np.ndarray
    middle: np.ndarray
    change: float


def heated_cube(settings: Settings = DEFAULT) -> Validation:
    """Nusselt numbers up to Ra = 1e8; hours on one card at the highest, less on several."""
    if settings.precision == HALF:
        return Validation("heated-cube", CITATION, skipped="fp16 does not settle to the tolerances of this case")
    rows, plots = _methods(settings), []
    for rayleigh, sizes in (QUICK_GRIDS if settings.quick else GRIDS).items():
        cavity, settling = sequenced(rayleigh, sizes, settings)
        rows += _rows(rayleigh, sizes[-1], cavity, settling, settings)
        plots += _plots(rayleigh, sizes[-1], cavity, settling)
    return Validation("heated-cube", CITATION, tuple(rows), plots=tuple(plots))


def sequenced(
    rayleigh: float, sizes, settings: Settings = DEFAULT, method: str = DIFFERENCES
) -> tuple[Cavity, Settling]:
    """The cube on the last of some grids, and how it settled there."""
    cavity = settling = None
    for size in sizes:
        simulation, diffusivity = heated_simulation(rayleigh, size, settings, method=method, start=cavity)
        most_steps = round(MOST_FALLS * free_fall(rayleigh, size, diffusivity))
        settling = _settle(simulation, size, most_steps, settings)
        cavity = cavity_of(simulation, diffusivity)
        del simulation  # before the next is made
    return cavity, settling


def _settle(simulation, size: int, most_steps: int, settings: Settings) -> Settling:
    """Step until the temperature rests; the flow of Ra = 1e8 takes longer than that has patience for. Collective."""
    plane, communicator, done, told, change = middle_heat(simulation), simulation.communicator, 0, [], inf
    interval = VIEW * max(1, most_steps // (100 * VIEW))
    while done < most_steps and change > SETTLED[settings.precision]:
        simulation.step(interval - VIEW)
        before = temperature_k(simulation)
        simulation.step(VIEW)
        done, now, midway = done + interval, temperature_k(simulation), plane.gradient_k_m()
        if communicator.rank == 0:
            change = float(np.abs(now - before).max())
            gradient = wall_heat(simulation).gradients_k_m(now)["hot"]
            told.append((done, -gradient * size, midway * size))
        change = communicator.broadcast(change)
    return Settling(*np.array(communicator.broadcast(told)).T, change)


def _methods(settings: Settings) -> list[Row]:
    (rayleigh, size), allowed = METHODS_GRID, METHODS_TOLERANCE[0]
    if settings.quick:
        (rayleigh, size), allowed = QUICK_METHODS_GRID, METHODS_TOLERANCE[1]
    found = [sequenced(rayleigh, (size,), settings, method)[0] for method in (DIFFERENCES, POPULATION_METHOD)]
    what = f"Ra {rayleigh:.0e}, {size}^3: Nu, double distribution against finite differences"
    return [relative(what, found[0].nusselt[1], found[1].nusselt[1], allowed)]


def _rows(rayleigh, size, cavity: Cavity, settling: Settling, settings: Settings) -> list[Row]:
    what, found = f"Ra {rayleigh:.0e}, {size}^3", cavity.nusselt[1]
    if settings.quick:
        known = [("another program with this method", reference.SAME_METHOD[rayleigh, size], QUICK_TOLERANCE)]
    else:
        known = [(name, by[rayleigh], within.get(rayleigh, inf)) for name, by, within in PUBLISHED if rayleigh in by]
    known.append(("of the plane midway", float(settling.middle[-1]), inf))
    rows = [relative(f"{what}: Nu, {name}", value, found, allowed) for name, value, allowed in known]
    steady = SETTLED[settings.precision] if rayleigh <= 1e7 else STEADY_AT_MOST
    rows.append(absolute(f"{what}: change of temperature in {VIEW} steps", 0.0, settling.change, steady))
    allowed = SYMMETRIC[settings.precision]
    return [*rows, absolute(f"{what}: asymmetry about the centre", 0.0, cavity.asymmetry, allowed)]


def _plots(rayleigh, size, cavity: Cavity, settling: Settling) -> list[Plot]:
    lines = Series("hot wall", settling.steps, settling.wall), Series("midway", settling.steps, settling.middle)
    title = f"Cube, Ra = {rayleigh:.0e}, {size}^3"
    return [
        Plot(f"{title}: settling", "steps", "Nusselt number", lines),
        contours(f"{title}: isotherms of the middle plane", cavity.temperature[:, size // 2]),
    ]
