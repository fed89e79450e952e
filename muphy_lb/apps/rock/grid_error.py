"""What a grid leaves of the error of a permeability: its limit on infinitely fine grids, with an error bar.

The values k_r on voxels divided into r parts go to their limit as k_r = k + A r^-p (Richardson). Edges of voxels that
jut out into the flow make p about 1.1 (the velocity near an edge of 270 degrees grows as the distance to the power
0.54, Moffatt, J. Fluid Mech. 18, 1 (1964), and k errs by twice that power), straight walls 2. Rocks and sphere packs
showed 0.9 to 1.5 (``muphy-lb validate permeability-error``).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

USUAL_ORDER = 1.2
LEAST_ORDER, MOST_ORDER = 0.9, 2.0
VOXELISATION = 0.15
"""Of one over the width of throats: by what share of itself k scatters at least where smooth walls are voxelised anew
on each grid, since voxels jut out by chance."""
SHARE_OF_CORRECTION = 0.4
"""Of the distance from the finest value to the limit: least error bar where the order was measured."""


def voxelisation_errors(
    values: Sequence[float], widths: Sequence[float], porosities: Sequence[float]
) -> tuple[float, ...]:
    """What values on grids that each voxelise smooth walls anew are uncertain by.

    Each grid hits the volume of the solid by chance; the finest hits it best. What k changes by with the porosity e is
    taken from Kozeny and Carman, k ~ e^3 / (1 - e)^2, which is twice as steep as single spheres far apart.

    Args:
        values: on ever finer grids.
        widths: mean widths of the throats [voxels].
        porosities: of the grids.
    """
    found, finest = [], porosities[-1]
    for value, width, porosity in zip(values, widths, porosities, strict=True):
        slope = 3.0 / porosity + 2.0 / (1.0 - porosity) if porosity < 1.0 else 0.0
        found.append(abs(value) * (VOXELISATION / width + slope * abs(porosity - finest)))
    return tuple(found)


@dataclass(frozen=True)
class GridLimit:
    """A value on infinitely fine grids.

    Attributes:
        value: the limit.
        error: half width of its error bar.
        order: of convergence.
        is_measured: whether three grids gave the order; otherwise it is the usual one.
    """

    value: float
    error: float
    order: float
    is_measured: bool

    def record(self) -> dict:
        """The attributes by name."""
        return asdict(self)


def grid_limit(parts: Sequence[float], values: Sequence[float], errors: Sequence[float] | None = None) -> GridLimit:
    """The limit of values on ever finer grids.

    Where the last three show no order, the finest value stands, with all that they differ by as its bar.

    Args:
        parts: two or more ascending numbers of parts of a voxel.
        values: value on each grid.
        errors: what each value is uncertain by for other reasons, such as a flow that has not settled.
    """
    value, order, is_measured = _limit(parts, values)
    if is_measured:
        usual = _towards(parts, values, USUAL_ORDER)
        error = max(abs(value - usual), SHARE_OF_CORRECTION * abs(value - values[-1]))
    else:
        error = max(abs(_towards(parts, values, p) - value) for p in (LEAST_ORDER, MOST_ORDER))
    if len(parts) > 2 and not is_measured:
        value, error = values[-1], max(np.ptp(values[-3:]), abs(value - values[-1]))
    for number, uncertain in enumerate(errors or ()):
        other = [x + uncertain * (number == k) for k, x in enumerate(values)]
        error += abs(_limit(parts, other)[0] - _limit(parts, values)[0])
    return GridLimit(float(value), float(error), order, is_measured)


def _limit(parts: Sequence[float], values: Sequence[float]) -> tuple[float, float, bool]:
    """The limit, the order, and whether that was measured; beyond what orders can be, it is the nearest that can."""
    measured = _measured_order(parts[-3:], values[-3:]) if len(parts) > 2 else None
    order = USUAL_ORDER if measured is None else float(np.clip(measured, LEAST_ORDER, MOST_ORDER))
    return _towards(parts, values, order), order, measured is not None


def _towards(parts: Sequence[float], values: Sequence[float], order: float) -> float:
    """The limit of the last two values for an order."""
    weight = 1.0 / ((parts[-1] / parts[-2]) ** order - 1.0)
    return float(values[-1] + weight * (values[-1] - values[-2]))


def _measured_order(parts: Sequence[float], values: Sequence[float]) -> float | None:
    """The order that three values show; None where their changes do not shrink as any order makes them."""
    from scipy.optimize import brentq  # half a second that other runs need not wait

    first, second, third = (np.log(part) for part in parts)
    before, after = values[0] - values[1], values[1] - values[2]
    if before * after <= 0.0:
        return None

    def mismatch(order: float) -> float:
        a, b, c = (np.exp(-order * x) for x in (first, second, third))
        return before * (b - c) - after * (a - b)

    low, high = 1e-3, 20.0
    if mismatch(low) * mismatch(high) > 0.0:
        return None
    return float(brentq(mismatch, low, high))
