"""Preparation of porous images: cropping, inverting, filtering, mirroring, dropping dead pores, adding reservoirs.
:func:`prepare_image` applies the steps of a :class:`Preparation` in a fixed order. Every step takes and returns Voxels;
corners are voxel indices (x, y, z) counted from 0, axes are letters out of ``"xyz"``."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.base.narrow import triple
from muphy_lb.geometry.axes import AXES
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.implicit import MovedWall
from muphy_lb.geometry.limits import ask_for_voxels, shown
from muphy_lb.geometry.options import check_whole, field_names, is_whole
from muphy_lb.geometry.porous.pores import check_connection, find_pores
from muphy_lb.geometry.shapes.shape_parts import with_ends
from muphy_lb.geometry.slabs import copied, padded
from muphy_lb.geometry.surfaces.surface_cuts import SurfaceWall
from muphy_lb.geometry.voxels import AT_INLET, FLAG_DTYPE, FLUID, RESERVOIR_ENDS, SOLID, Reservoirs, Voxels

MAJORITY = 14  # more than half of the 27 voxels of a 3 x 3 x 3 cube

#: Bounds of ``median``, ``divide`` and ``reservoir_layers``: beyond them there would be no end.
MAX_PASSES, MAX_PARTS, MAX_LAYERS = 1000, 64, 10**6


@dataclass(frozen=True)
class Preparation:
    """The steps applied to an image before it is used, in the order of these attributes."""

    #: lowest voxel (x, y, z) of the region that is kept, and the first beyond it; ``None`` keeps all
    crop: tuple[tuple[int, int, int], tuple[int, int, int]] | None = None
    invert: bool = False  #: swap fluid and solid
    median: int = 0  #: passes of the 3 x 3 x 3 median filter
    mirror: str = ""  #: axes along which the image is extended by its mirror image, which makes it periodic there
    drop_unconnected: str = ""  #: pores that percolate along none of these axes become solid; empty keeps all
    #: what voxels of a pore share: ``"edges"`` (faces too, as in a flow on D3Q19) or ``"faces"`` only
    connected_by: str = "edges"
    #: number of voxels into which each voxel is divided along each axis: the same image on a finer grid. A single layer
    #: stays one, as that of a plane image.
    divide: int = 1
    reservoir_layers: int = 0  #: layers of fluid added at both ends of ``reservoir_axis``
    reservoir_axis: str = "x"  #: ``"x"``, ``"y"`` or ``"z"``
    #: ``"open"`` (openings ``inlet`` and ``outlet``), ``"inlet"`` (the same, with layers at the inlet alone, so that a
    #: porous plate at the outlet touches the rock) or ``"periodic"``
    reservoir_ends: str = "open"

    def __post_init__(self):
        if self.crop is not None and (not isinstance(self.crop, list | tuple) or len(self.crop) != 2):
            raise GeometryError(
                f"crop is {shown(self.crop)}; give two lists of x, y, z, the first voxel and the one behind the last:"
                " [[0, 0, 0], [128, 128, 128]]"
            )
        if not isinstance(self.invert, bool):
            raise GeometryError(f"invert is {shown(self.invert)}; allowed: true or false")
        check_whole(0, MAX_PASSES, median=self.median)
        check_whole(1, MAX_PARTS, divide=self.divide)
        check_whole(0, MAX_LAYERS, reservoir_layers=self.reservoir_layers)
        for name in ("mirror", "drop_unconnected"):
            _axis_numbers(getattr(self, name), name)
        check_connection(self.connected_by)
        if self.reservoir_axis not in tuple(AXES):
            raise GeometryError(f"reservoir_axis is {shown(self.reservoir_axis)}; allowed: x, y, z")
        if self.reservoir_ends not in RESERVOIR_ENDS:
            raise GeometryError(f"reservoir_ends is {shown(self.reservoir_ends)}; allowed: {', '.join(RESERVOIR_ENDS)}")

    def keeps_ends(self, size: Sequence[int]) -> tuple[bool, bool, bool]:
        """Whether the ends of the prepared image along x, y, z are those of an image of that size (x, y, z). Raises
        GeometryError: a crop has no corners."""
        low, high = map(_corner, self.crop or ((0, 0, 0), size))
        changed = self.mirror + self.reservoir_axis * (self.reservoir_layers > 0)
        is_whole_axis = (low == 0) & (high == np.array(size))
        return triple(bool(whole) and axis not in changed for axis, whole in zip(AXES, is_whole_axis, strict=True))


PREPARATION_NAMES = field_names(Preparation)


def prepare_image(voxels: Voxels, preparation: Preparation) -> tuple[Voxels, tuple[str, ...]]:
    """The image after all steps of a preparation, and one line of text per step. Raises GeometryError: the image
    already has openings; a crop outside the image; no percolating pore."""
    lines, before = [], porosity(voxels)
    for step in _steps(preparation):
        if voxels.openings:
            raise GeometryError(
                f"the image has openings already ({', '.join(o.name for o in voxels.openings)}); prepare it before any"
                " opening is cut or tagged"
            )
        voxels, text = step(voxels)
        after = porosity(voxels)
        lines.append(f"{text}; porosity of the box {before:.6f} before, {after:.6f} after")
        before = after
    return voxels, tuple(lines)


def porosity(voxels: Voxels) -> float:
    """Number of fluid voxels over number of all voxels."""
    return voxels.n_fluid / voxels.flags.size


def crop(voxels: Voxels, low, high) -> Voxels:
    """The voxels from ``low`` (x, y, z) up to, but excluding, ``high``; an axis that is shortened is not periodic.
    Raises GeometryError for corners outside the image or in the wrong order."""
    low, high = _corner(low), _corner(high)
    size = np.array(voxels.shape[::-1])
    if np.any(low < 0) or np.any(high > size) or np.any(low >= high):
        raise GeometryError(
            f"crop is [{low.tolist()}, {high.tolist()}]; the image has {size.tolist()} voxels along x, y, z: the first"
            " corner must lie in it, the second beyond the first and at most there"
        )
    region = tuple(slice(a, b) for a, b in zip(low[::-1], high[::-1], strict=True))
    return replace(
        voxels,
        flags=np.ascontiguousarray(voxels.flags[region]),
        origin_m=tuple((np.array(voxels.origin_m) + voxels.spacing_m * low).tolist()),
        periodic=tuple((np.array(voxels.periodic) & (high - low == size)).tolist()),
        wall_shape=voxels.wall_shape and MovedWall(voxels.wall_shape, tuple((-low).tolist())),
    )


def invert(voxels: Voxels) -> Voxels:
    """Swap fluid and solid; labels of walls are lost. A surface is the same wall from both of its sides."""
    flags = np.where(voxels.flags == FLUID, FLAG_DTYPE(SOLID), FLAG_DTYPE(FLUID))
    kept = voxels.wall_shape if isinstance(voxels.wall_shape, SurfaceWall) else None
    return replace(voxels, flags=flags, walls=(), wall_shape=kept)


def median_filter(voxels: Voxels, passes: int = 1) -> Voxels:
    """Every voxel takes the majority value, fluid or solid, of the 3 x 3 x 3 voxels around it. Beyond faces that are
    not periodic the outermost layer is repeated. Voxels that stay solid keep their label."""
    flags = voxels.flags
    for _ in range(passes):
        modes = ["wrap" if wraps else "edge" for wraps in voxels.periodic[::-1]]
        flags = _majority(flags, *(_neighbours_along(n, mode) for n, mode in zip(flags.shape, modes, strict=True)))
    return replace(voxels, flags=flags, wall_shape=None if passes else voxels.wall_shape)


def mirror(voxels: Voxels, axes: str) -> Voxels:
    """The image extended, beyond its high face along each of ``axes``, by its mirror image: it is periodic there."""
    flags, periodic = voxels.flags, list(voxels.periodic)
    ask_for_voxels(voxels.shape, 3 * 2 ** len(axes), "the mirrored image")
    for i in _axis_numbers(axes, "mirror"):
        flags = np.concatenate((flags, np.flip(flags, 2 - i)), axis=2 - i)
        periodic[i] = True
    return replace(voxels, flags=flags, periodic=triple(periodic), wall_shape=None if axes else voxels.wall_shape)


def drop_unconnected(voxels: Voxels, axes: str, connected_by: str = "edges") -> tuple[Voxels, int, int]:
    """Make the pores solid that percolate along none of ``axes`` (:func:`muphy_lb.geometry.porous.pores.find_pores`).

    Returns:
        (image, number of voxels dropped, number of pores dropped).

    Raises GeometryError: no pore would be left.
    """
    _axis_numbers(axes, "drop_unconnected")
    pores = find_pores(voxels, connected_by)
    keep = pores.along(axes)
    if not keep.any():
        raise GeometryError(
            f"none of the {keep.size} pores leads from end to end along {' or '.join(axes)}; the largest has"
            f" {pores.n_voxels.max(initial=0)} of {pores.n_voxels.sum()} fluid voxels: take another axis, a larger part"
            " of the image or another threshold"
        )
    flags = copied(voxels.flags)
    dropped = ~keep[pores.label]
    _fill_runs(flags.reshape(-1, flags.shape[2]), pores.rows[dropped], pores.spans[dropped])
    return replace(voxels, flags=flags), int(pores.n_voxels[~keep].sum()), int(np.count_nonzero(~keep))


def divide(voxels: Voxels, parts: int) -> Voxels:
    """Divide every voxel into ``parts`` along each axis of more than one layer; a single layer is a plane image and
    stays one. The true wall is discarded: the voxel faces are the wall."""
    flags = voxels.flags
    ask_for_voxels([parts * n if n > 1 else n for n in voxels.shape], 2, "the divided image")
    for axis, n in enumerate(voxels.shape):
        flags = np.repeat(flags, parts if n > 1 else 1, axis)
    edge_m = voxels.spacing_m / parts
    first = np.array(voxels.origin_m) + 0.5 * (edge_m - voxels.spacing_m)
    return replace(
        voxels, flags=np.ascontiguousarray(flags), spacing_m=edge_m, origin_m=tuple(first.tolist()), wall_shape=None
    )


def divide_closed_layers(voxels: Voxels, parts: int) -> Voxels:
    """The image of :func:`divide` in which single layers between walls have been divided, too. A layer that is not
    periodic lies between two walls in a flow in three dimensions, and their distance is to stay."""
    closed = [n == 1 and not wraps for n, wraps in zip(voxels.shape, voxels.periodic[::-1], strict=True)]
    ask_for_voxels(
        [parts * n if is_closed else n for n, is_closed in zip(voxels.shape, closed, strict=True)],
        2,
        "the divided image",
    )
    flags = voxels.flags
    for axis in np.flatnonzero(closed):
        flags = np.repeat(flags, parts, axis)
    return replace(voxels, flags=np.ascontiguousarray(flags))


def add_reservoirs(voxels: Voxels, layers: int, axis: str, ends: str = "open") -> Voxels:
    """Add ``layers`` of fluid at the low and the high face across an axis.

    Args:
        layers: number of layers at each end.
        axis: "x", "y" or "z".
        ends: ``"open"``: the outer faces become openings ``inlet`` (low) and ``outlet``; ``"inlet"``: the same, without
            layers at the outlet; ``"periodic"``: they are connected, so that both form one reservoir.
    """
    i = _axis_numbers(axis, "reservoir_axis")[0]
    added = Reservoirs(layers, axis, ends)
    widths = [added.both if array_axis == 2 - i else (0, 0) for array_axis in range(3)]
    origin_m = np.array(voxels.origin_m)
    origin_m[i] -= layers * voxels.spacing_m
    longer = replace(
        voxels,
        flags=padded(voxels.flags, widths, FLUID),
        origin_m=tuple(origin_m.tolist()),
        periodic=triple(wraps and j != i for j, wraps in enumerate(voxels.periodic)),
        wall_shape=None,
        reservoirs=added,
    )
    return with_ends(longer, axis, "open" if ends == AT_INLET else ends)


def _steps(preparation: Preparation) -> Iterator[Callable[[Voxels], tuple[Voxels, str]]]:
    """The requested steps in order; each returns the image and a text that reports it."""
    p = preparation
    if (box := p.crop) is not None:
        yield lambda v: (crop(v, *box), f"cropped to {box[0]} .. {box[1]}")
    if p.invert:
        yield lambda v: (invert(v), "inverted")
    if p.median:
        yield lambda v: (median_filter(v, p.median), f"median filter, {p.median} pass{'es' * (p.median > 1)}")
    if p.mirror:
        yield lambda v: (mirror(v, p.mirror), f"mirrored along {p.mirror}")
    if p.drop_unconnected:
        yield lambda v: _dropped(v, p.drop_unconnected, p.connected_by)
    if p.divide > 1:
        yield lambda v: (divide(v, p.divide), f"every voxel divided into {p.divide}^{sum(n > 1 for n in v.shape)}")
    if p.reservoir_layers:
        where = "the low end" if p.reservoir_ends == AT_INLET else "both ends"
        text = f"{p.reservoir_layers} layers of reservoir at {where} of {p.reservoir_axis}, {p.reservoir_ends}"
        yield lambda v: (add_reservoirs(v, p.reservoir_layers, p.reservoir_axis, p.reservoir_ends), text)


def _dropped(voxels: Voxels, axes: str, connected_by: str) -> tuple[Voxels, str]:
    voxels, n_voxels, n_pores = drop_unconnected(voxels, axes, connected_by)
    pores = "1 pore that does" if n_pores == 1 else f"{n_pores} pores that do"
    size = "1 voxel" if n_voxels == 1 else f"{n_voxels:,} voxels"
    return voxels, f"{pores} not percolate along {' or '.join(axes)} ({size}) filled"


def _axis_numbers(axes: str, name: str) -> list[int]:
    """Numbers 0, 1, 2 of axis letters; GeometryError for other or repeated letters."""
    if not isinstance(axes, str) or set(axes) - set(AXES) or len(set(axes)) != len(axes):
        raise GeometryError(f'{name} is {shown(axes)}; give letters out of "xyz", each once, such as "xy"')
    return [AXES.index(axis) for axis in axes]


def _corner(corner) -> np.ndarray:
    """(3,) voxel indices; GeometryError unless they are three whole numbers."""
    listed = corner.tolist() if isinstance(corner, np.ndarray) else corner
    if not isinstance(listed, list | tuple) or len(listed) != 3 or not all(map(is_whole, listed)):
        raise GeometryError(f"a corner of crop is {shown(corner)}; give two lists of three whole numbers x, y, z")
    return np.array(listed, dtype=np.int64)


def _neighbours_along(n: int, mode: Any) -> np.ndarray:
    """(n, 3) indices i - 1, i, i + 1 of each of n voxels along an axis; ``mode`` as in ``np.pad``."""
    return np.lib.stride_tricks.sliding_window_view(np.pad(np.arange(n), 1, mode=mode), 3).copy()


@njit(parallel=True, cache=True)
def _majority(flags, near_z, near_y, near_x):
    """Flags after one pass of :func:`median_filter`; ``near_*`` come from :func:`_neighbours_along`."""
    nz, ny, nx = flags.shape
    filtered = np.empty_like(flags)
    for z in prange(nz):
        for y in range(ny):
            column = _column_counts(flags, near_z[z], near_y[y])
            for x in range(nx):
                fluid = column[near_x[x, 0]] + column[x] + column[near_x[x, 2]] >= MAJORITY
                was_fluid = flags[z, y, x] == FLUID
                filtered[z, y, x] = FLUID if fluid else SOLID if was_fluid else flags[z, y, x]
    return filtered


@njit(cache=True)
def _column_counts(flags, near_z, near_y):
    """(nx,) number of fluid voxels at each x in the rows ``near_z`` x ``near_y``."""
    counts = np.zeros(flags.shape[2], dtype=np.int64)
    for z in near_z:
        for y in near_y:
            for x in range(counts.size):
                counts[x] += flags[z, y, x] == FLUID
    return counts


@njit(cache=True)
def _fill_runs(rows_of_flags, rows, spans):
    """Make runs of voxels solid, in place."""
    for n in range(len(rows)):
        rows_of_flags[rows[n], spans[n, 0] : spans[n, 1]] = SOLID
