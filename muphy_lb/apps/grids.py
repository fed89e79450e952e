"""The same case on other grids, and the limit of values on ever finer ones."""

import inspect
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.key_units import is_number
from muphy_lb.case.case import Case
from muphy_lb.case.geometry import GeometrySection
from muphy_lb.geometry.shapes.catalogue import SHAPES
from muphy_lb.geometry.surfaces.surface import FORMATS as SURFACE_FORMATS
from muphy_lb.setup.geometry import is_prepared

SPACING = "spacing_m"


def geometry_on(case: Case, factor: float, asked: str) -> GeometrySection:
    """The geometry of a case with ``factor`` times as many voxels along an edge.

    Spheres, surfaces and shapes in metres are voxelised again with another spacing; voxels of anything else are divided
    as they are.

    Args:
        asked: what asks for the grid, for messages.

    Raises InputError: a prepared geometry, whose voxels are final; no spacing; voxels that would be divided into parts
    that are no whole number.
    """
    if is_prepared(case):
        raise InputError(
            f"{asked} divides voxels, and those of {case.geometry.file} are final; name the image itself in"
            " geometry.file"
        )
    geometry, options = case.geometry, dict(case.geometry.options)
    counted = [options[name] for name in ("divide", "reservoir_layers", SPACING) if name in options]
    if factor == 1 or not all(map(is_number, counted)):  # what is no number the reader refuses
        return geometry
    update: dict[str, object] = {}
    if is_voxelised_anew(case):
        holder = options if SPACING in options else update
        spacing_m = options.get(SPACING, geometry.spacing_m)
        if spacing_m is None:
            raise InputError(f"{asked} needs geometry.spacing_m, the voxel edge [m]; give it")
        holder[SPACING] = float(spacing_m) / factor
        with suppress(KeyError, TypeError, ValueError):  # no corners, or some that the reader refuses
            options["crop"] = np.rint(factor * np.array(options["crop"])).astype(int).tolist()
    else:
        options["divide"] = _whole(factor * options.get("divide", 1), factor, asked)
    if options.get("reservoir_layers"):
        options["reservoir_layers"] = round(factor * options["reservoir_layers"])
    return geometry.model_copy(update={**update, "options": options})


def _whole(parts: float, factor: float, asked: str) -> int:
    if abs(parts - round(parts)) > 1e-9 or parts < 0.5:
        raise InputError(
            f"{asked}: a grid of {factor:g} times as many voxels would divide those of the image into {parts:g} parts;"
            " give factors that make whole numbers of geometry.options.divide, such as [1, 2, 3] without it"
        )
    return round(parts)


def is_voxelised_anew(case: Case) -> bool:
    """Whether each grid makes its own voxels, of spheres, of a surface, or of a shape whose lengths are in metres."""
    file, shape = case.geometry.file, SHAPES.get(str(case.geometry.shape))
    if file is None:
        return shape is not None and any(
            name.endswith("_m") and name != SPACING for name in inspect.signature(shape).parameters
        )
    return Path(file).suffix.lower() in SURFACE_FORMATS or "radius" in case.geometry.options


def measured_order(parts: Sequence[float], values: Sequence[float]) -> float | None:
    """The order p of three values k + A r^-p on grids of ascending numbers r of parts of an edge; None where their
    changes do not shrink as any order makes them."""
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


def towards(parts: Sequence[float], values: Sequence[float], order: float) -> float:
    """The limit of the last two values for an order (Richardson)."""
    weight = 1.0 / ((parts[-1] / parts[-2]) ** order - 1.0)
    return float(values[-1] + weight * (values[-1] - values[-2]))
