"""A dam breaks: a column of liquid, twice as high as wide, collapses onto a dry floor.

The front along the floor is compared with two columns of Martin and Moyce; they measured it behind a gate that opened
in a finite time, so one shift of the time is fitted to each table. Times are in sqrt(a / 2 g), lengths in the width a
of the column.
"""

from collections.abc import Iterator
from math import sqrt
from types import MappingProxyType

import numpy as np

from muphy_lb.validation.case import Row, Settings, absolute, at_most, case
from muphy_lb.validation.free_surface.liquids import TANK, columns, liquid_flow, refuse
from muphy_lb.validation.plot import Plot, Series

FRONT = {
    "a = 1.125 in": (
        *((0.849, 1.245), (1.212, 1.443), (1.602, 1.884), (2.283, 2.689), (2.950, 3.728), (3.598, 4.528)),
        *((3.905, 4.999), (4.592, 5.841), (4.961, 6.271), (5.316, 6.717)),
    ),
    "a = 2.25 in": (
        *((0.832, 1.217), (1.219, 1.474), (1.997, 2.292), (2.547, 2.995), (3.345, 4.134), (4.034, 4.944)),
        *((4.418, 5.881), (5.091, 6.980), (5.685, 7.945), (6.306, 8.966), (6.822, 9.986)),
    ),
}
"""(time, place of the front)."""
HEIGHT = ((0.79, 0.94), (1.32, 0.83), (1.81, 0.72), (2.35, 0.61), (2.83, 0.50), (3.46, 0.39), (4.33, 0.28))
"""(time, height of the column at the wall over that of the start) of the wider column."""
WIDTHS, QUICK_WIDTHS = (32, 64), (32,)
TOP, LENGTH, LATEST, FARTHEST = 2.1, 7.0, 4.7, 6.0
QUICK_LENGTH, QUICK_LATEST, QUICK_FARTHEST = 4.5, 3.0, 3.5
MOST_SPEED = 0.1  # sqrt(2 g H), lattice units
VISCOSITY, SMAGORINSKY = 1e-3 / 32, 0.17  # viscosity over the width: all widths have one Reynolds number
SAMPLES_PER_UNIT, LONGEST_SHIFT, TOLERANCE, HEIGHT_TOLERANCE = 20, 0.25, 0.2, 0.1
WET = 0.5  # height of liquid in a column that counts
WALL_LAYER = 8  # the column's height is measured at this part of its width, where no film hangs on the wall
TOLERANCE_OF_MASS = MappingProxyType({"fp64": 1e-11, "fp32": 1e-5})


@case(
    "dam-break",
    "Martin, Moyce, Phil. Trans. R. Soc. A 244, 312 (1952), n^2 = 2: front, points read off figure 3 as PySPH ships"
    " them; height of the column from memory",
)
def dam_break(settings: Settings) -> Iterator:
    """Front of the liquid along the floor, and height of the column, after a dam breaks."""
    refuse(settings)
    farthest = QUICK_FARTHEST if settings.quick else FARTHEST
    for width in QUICK_WIDTHS if settings.quick else WIDTHS:
        time, fronts, height, drift = collapse(width, settings)
        what = f"a = {width} cells"
        for name, table in FRONT.items():
            yield from _front_rows(f"{what}, {name}", np.array(table), time, fronts, farthest)
        at = np.array(HEIGHT)
        at = at[at[:, 0] <= time[-1]]
        far = float(np.abs(np.interp(at[:, 0], time, height) - at[:, 1]).max())
        yield absolute(f"{what}: height of the column (from memory)", 0.0, far, HEIGHT_TOLERANCE)
        yield absolute(f"{what}: change of mass", 0.0, drift, TOLERANCE_OF_MASS[settings.precision])
        points = [
            Series(f"Martin, Moyce, {name}", *zip(*table, strict=True), "points") for name, table in FRONT.items()
        ]
        yield Plot(f"Front, {what}", "t sqrt(2 g / a)", "z / a", (Series("computed", time, fronts), *points))
        columns_ = Series("Martin, Moyce, a = 2.25 in", *zip(*HEIGHT, strict=True), "points")
        yield Plot(f"Column, {what}", "t sqrt(2 g / a)", "h / 2 a", (Series("computed", time, height), columns_))


def collapse(width: int, settings: Settings) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """(n,) times, fronts over the width, heights at the wall over that of the start, and the relative change of
    mass."""
    length, latest = (QUICK_LENGTH, QUICK_LATEST) if settings.quick else (LENGTH, LATEST)
    gravity = MOST_SPEED**2 / (4.0 * width)
    geometry = {"shape": TANK, "options": {"length": round(length * width), "height": round(TOP * width)}}
    liquid = ({"box_m": [[-1.0, -1.0, -1.0], [width - 0.5, 2.0 * width - 0.5, 1.0]]},)
    more = {"liquid": liquid, "lattice": {"smagorinsky": SMAGORINSKY}}
    simulation = liquid_flow(settings, geometry, VISCOSITY * width, (0.0, -gravity, 0.0), **more)
    unit = sqrt(width / (2.0 * gravity))
    time, fronts, heights = [0.0], [1.0], [1.0]
    for sample in range(1, round(latest * SAMPLES_PER_UNIT) + 1):
        simulation.step(round(sample * unit / SAMPLES_PER_UNIT) - simulation.step_number)
        time.append(simulation.step_number / unit)
        height = columns(simulation)
        fronts.append(front(height) / width)
        heights.append(height[width // WALL_LAYER] / (2.0 * width))
    return np.array(time), np.array(fronts), np.array(heights), simulation.health().mass_drift


def front(height: np.ndarray) -> int:
    """Columns with liquid, of which (nx,) heights are given, from the wall up to the first gap."""
    return int(np.argmax(np.append(height, 0.0) < WET))


def _front_rows(what: str, table: np.ndarray, time: np.ndarray, fronts: np.ndarray, farthest: float) -> Iterator[Row]:
    """The shift of time that fits best, and the largest distance from the table behind it."""
    table = table[table[:, 1] <= farthest]

    def far(shift):
        return float(np.abs(np.interp(table[:, 0] - shift, time, fronts) - table[:, 1]).max())

    best = min(np.linspace(0.0, LONGEST_SHIFT, 251), key=far)
    yield absolute(f"{what}: front up to {farthest:g} a, farthest [a]", 0.0, far(best), TOLERANCE)
    yield at_most(f"{what}: shift of time (searched up to 0.25)", LONGEST_SHIFT, best)
