"""Shared parts of the analytic shapes: checks, voxel centres, flags, and open or periodic ends."""

from dataclasses import replace

import numpy as np

from muphy_lb.base.narrow import triple
from muphy_lb.geometry.axes import AXES
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import BYTES_PER_NODE, ask_for_voxels, shown
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.options import check_counts, check_positive, is_whole
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Opening, Voxels

ENDS = ("periodic", "open")
BYTES_PER_CENTRE = 96  # bytes of the coordinates of a voxel centre and its distance from a wall while a shape is made


def check_porosity(porosity: float) -> None:
    """Raise GeometryError unless 0 < porosity <= 1."""
    check_positive(porosity=porosity)
    if porosity > 1.0:
        raise GeometryError(f"porosity is {porosity}; it must lie between 0 and 1")


def check_dimension(dimension: int) -> None:
    """Raise GeometryError unless the dimension is 2 or 3."""
    if dimension not in (2, 3):
        raise GeometryError(f"dimension is {shown(dimension)}; allowed: 2 or 3")


def check_box(shape) -> None:
    """Raise GeometryError for a box (nz, ny, nx) without voxels, or whose nodes, of which no file holds a byte, do not
    fit in memory."""
    if min(shape) < 1:
        raise GeometryError(
            f"the box of the shape is {' x '.join(f'{n:g}' for n in shape[::-1])} voxels; it must be one or more along"
            " each axis"
        )
    ask_for_voxels(shape, BYTES_PER_NODE, "the box of the shape")


def box_counts(shape_zyx) -> tuple[int, int, int]:
    """Voxel counts (nz, ny, nx); GeometryError unless they are three that make a box (:func:`check_box`)."""
    if len(shape_zyx) != 3:
        raise GeometryError(f"shape_zyx is {shape_zyx}; give the three voxel counts nz, ny, nx")
    check_counts(nz=shape_zyx[0], ny=shape_zyx[1], nx=shape_zyx[2])
    check_box(shape_zyx)
    return triple(int(n) for n in shape_zyx)


def random_numbers(seed: int) -> np.random.Generator:
    """The random numbers of a seed; GeometryError unless it is a whole number, 0 or more."""
    if not is_whole(seed) or seed < 0:
        raise GeometryError(f"seed is {shown(seed)}; give a whole number, 0 or more")
    return np.random.default_rng(seed)


def voxel_centres(shape) -> np.ndarray:
    """(n, 3) float64 voxel coordinates (x, y, z) of a box of ``shape`` (nz, ny, nx), in the order of voxel ids."""
    ask_for_voxels(shape, BYTES_PER_CENTRE, "the box of the shape")
    return np.indices(shape, dtype=np.float64)[::-1].reshape(3, -1).T


def flags_where(fluid: np.ndarray, solid: int = SOLID) -> np.ndarray:
    """Flags of the boolean array ``fluid``: FLUID where true, ``solid`` elsewhere."""
    return np.where(fluid, FLAG_DTYPE(FLUID), FLAG_DTYPE(solid))


def with_ends(voxels: Voxels, axis: str, ends: str) -> Voxels:
    """A straight tube along ``axis``, periodic (``"periodic"``) or with an inlet and an outlet (``"open"``)."""
    if ends not in ENDS:
        raise GeometryError(f"ends is {shown(ends)}; allowed: {', '.join(ENDS)}")
    i = AXES.index(axis)
    if ends == "periodic":
        return replace(voxels, periodic=triple(p or j == i for j, p in enumerate(voxels.periodic)))
    middle = 0.5 * (np.array(voxels.shape[::-1]) - 1)
    return carve(voxels, end_openings(voxels, i, middle))


def end_openings(voxels: Voxels, axis: int, middle: np.ndarray) -> list[Opening]:
    """An opening ``inlet`` on the low and ``outlet`` on the high face of the box across an axis (0, 1, 2). ``middle``:
    (x, y, z) voxel coordinates of their centre; the component along the axis is ignored."""
    openings = []
    for name, end, sign in (("inlet", -0.5, 1.0), ("outlet", voxels.shape[2 - axis] - 0.5, -1.0)):
        centre, normal = np.array(middle, dtype=np.float64), np.zeros(3)
        centre[axis], normal[axis] = end, sign
        centre_m = np.array(voxels.origin_m) + voxels.spacing_m * centre
        openings.append(Opening(name, name, tuple(centre_m.tolist()), triple(normal.tolist())))
    return openings
