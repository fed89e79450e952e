"""Fields at the nodes from files that a case names: arrays over the box or the nodes, samples on another grid, and the
last snapshot of an earlier run (:mod:`muphy_lb.output.vtkhdf`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.files.hdf5_input import DAMAGE, shown
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.arrays import READ_ERRORS
from muphy_lb.geometry.images.vtk import read_vti_points
from muphy_lb.geometry.limits import cut, regular_file
from muphy_lb.geometry.nodes import GeometryHeader, voxel_coordinates
from muphy_lb.output.vtkhdf import find_snapshot

ON_POINT = 1e-6  # distance [spacings] within which a place is that of a sample
CHUNK = 1 << 17
CORNERS = (np.arange(8)[:, None] >> np.arange(3)) & 1
AROUND = np.stack(np.meshgrid(*[(-1, 0, 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)


class Nodes(Protocol):
    """Some nodes of a geometry, those of a rank or all of them."""

    @property
    def voxel(self) -> np.ndarray:
        """(n,) voxel ids."""

    @property
    def number(self) -> np.ndarray:
        """(n,) numbers in the node list."""


@dataclass(frozen=True)
class Samples:
    """Values at points of a grid."""

    place: np.ndarray  #: (m, 3) int64 numbers of the points along x, y, z, in any order
    values: np.ndarray  #: (m, k)
    counts: np.ndarray  #: (3,) size of the grid. Along an axis with a single layer all points have its values.
    repeats: np.ndarray  #: (3,) whether the grid repeats along each axis

    def at(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Linear interpolation at (n, 3) positions in units of the spacing, from the first point of the grid.

        Returns:
            (n, k) sums of weights times the values that are there, the (n, 8) weights of all corners, and (n, 8) where
            they are missing.
        """
        parts = [self._at(position[first : first + CHUNK]) for first in range(0, max(len(position), 1), CHUNK)]
        found, weights, missing = (np.concatenate(column) for column in zip(*parts, strict=True))
        return found, weights, missing

    def near(self, position: np.ndarray) -> np.ndarray:
        """(n, k) means of the values around positions, within a spacing along each axis; where there are none, the mean
        of all."""
        centre = np.rint(self._in_layers(position)).astype(np.int64)
        index, missing = self._look_up(centre[:, None] + AROUND)
        there = ~missing[..., None]
        n_found = there.sum(axis=1)
        total = np.where(there, self.values[index], 0.0).sum(axis=1)
        return np.where(n_found > 0, total / np.maximum(n_found, 1), self.values.mean(axis=0))

    def _at(self, position: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        position = self._in_layers(position)
        nearest = np.rint(position)
        position = np.where(np.abs(position - nearest) < ON_POINT, nearest, position)
        base = np.floor(position).astype(np.int64)
        share = (position - base)[:, None]
        weights = np.where(CORNERS == 1, share, 1.0 - share).prod(axis=2)
        index, missing = self._look_up(base[:, None] + CORNERS)
        missing &= weights > 0.0
        found = np.zeros((len(position), self.values.shape[1]))
        for corner in range(len(CORNERS)):  # always in this order: the same digits on any ranks
            there = (weights[:, corner] > 0.0) & ~missing[:, corner]
            found += np.where(there, weights[:, corner], 0.0)[:, None] * self.values[index[:, corner]]
        return found, weights, missing

    def _in_layers(self, position: np.ndarray) -> np.ndarray:
        return np.where(self.counts == 1, 0.0, position)

    def _look_up(self, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the values at points (n, c, 3), and whether each is missing."""
        sorted_ids, order = self._ids
        place = np.where(self.repeats, place % self.counts, place)
        inside = np.all((place >= 0) & (place < self.counts), axis=-1)
        wanted = self._id(place)
        row = np.minimum(np.searchsorted(sorted_ids, wanted), sorted_ids.size - 1)
        return order[row], ~inside | (sorted_ids[row] != wanted)

    def _id(self, place: np.ndarray) -> np.ndarray:
        nx, ny, _ = self.counts
        return (place[..., 2] * ny + place[..., 1]) * nx + place[..., 0]

    @cached_property
    def _ids(self) -> tuple[np.ndarray, np.ndarray]:
        """Ascending numbers of the points, and the row of each."""
        ids = self._id(self.place)
        order = np.argsort(ids, kind="stable")
        return ids[order], order


SAME = 1e-6  # relative difference of two lengths that is rounding
MOST_OUTSIDE = 0.02
"""Share of the nodes that may have no value of the other grid near them: corners that only the finer one resolves."""


class OtherGrid(NamedTuple):
    """Values (m, k) at points ``place`` (m, 3) of a grid of ``counts`` points along x, y, z with the given spacings [m]
    and the centre [m] of its first point; ``path`` is for messages."""

    path: Path
    values: np.ndarray
    place: np.ndarray
    counts: np.ndarray
    spacing_m: np.ndarray
    origin_m: np.ndarray


def interpolated(grid: OtherGrid, key: str, is_velocity: bool, header: GeometryHeader, domain: Nodes) -> np.ndarray:
    """(n, k) values at some nodes, linear in metres between the points around each.

    Where both boxes are equally long and begin within a voxel of each other, they are taken to be the same box. Points
    in walls have no values: a velocity falls to 0 half-way to them, other fields continue as they are, as all do beyond
    openings. Across periodic faces the other grid repeats if its box is as long as this one.

    Raises InputError: the grid does not cover the nodes.
    """
    size = np.array(header.shape[::-1])
    length_m, other_m = size * header.spacing_m, grid.counts * grid.spacing_m
    is_same = np.abs(length_m - other_m) < SAME * length_m
    low_m = np.asarray(header.origin_m) - 0.5 * header.spacing_m
    shift_m = low_m - (grid.origin_m - 0.5 * grid.spacing_m)
    shift_m = np.where(is_same & (np.abs(shift_m) < np.maximum(grid.spacing_m, header.spacing_m)), shift_m, 0.0)
    origin_m = grid.origin_m + shift_m
    place_m = np.asarray(header.origin_m) + header.spacing_m * voxel_coordinates(domain.voxel, header.shape)
    samples = Samples(grid.place, grid.values, grid.counts, is_same & np.array(header.periodic))
    position = (place_m - origin_m) / grid.spacing_m
    found, weights, missing = samples.at(position)
    share = np.where(missing, 0.0, weights).sum(axis=1)
    outside = float(np.mean(share == 0.0))
    if outside > MOST_OUTSIDE:
        raise InputError(
            f"{key}: {grid.path} has no values at {100.0 * outside:.3g} % of the nodes; give a field of the same"
            " geometry, in the same place [m]"
        )
    values = np.where(share[:, None] > 0.0, found / np.maximum(share, 1e-300)[:, None], 0.0)
    if not is_velocity:
        lost = share == 0.0
        values[lost] = samples.near(position[lost])
        return values
    open_share = share.copy()
    partly = np.flatnonzero((share < 1.0 - SAME) & (share > 0.0))
    corner_m = origin_m + grid.spacing_m * (np.floor(position[partly])[:, None] + CORNERS)
    beyond = missing[partly] & _beyond_openings(header, corner_m, float(grid.spacing_m.max()))
    open_share[partly] += np.where(beyond, weights[partly], 0.0).sum(axis=1)
    return values * np.clip(2.0 * open_share - 1.0, 0.0, 1.0)[:, None]


def _beyond_openings(header: GeometryHeader, place_m: np.ndarray, spacing_m: float) -> np.ndarray:
    """Mask of points (..., 3) [m] that lie in or behind an opening."""
    found = np.zeros(place_m.shape[:-1], dtype=bool)
    for opening in header.openings:
        away, normal = place_m - opening.centre_m, np.asarray(opening.normal)
        along = (away * normal).sum(axis=-1)
        across = np.sqrt(np.maximum((away * away).sum(axis=-1) - along**2, 0.0))
        found |= (along < 0.5 * spacing_m) & (across <= opening.radius_m + spacing_m)
    return found


ENDING = ".vtkhdf"


def read_snapshot(path: Path, key: str, name: str) -> OtherGrid:
    """One field of the last snapshot of a file. ``key``: of the case, for messages. Raises InputError: this program did
    not write the file, it is damaged, or holds no such field."""
    names = fields_of(path, key)
    if name not in names:
        raise InputError(
            f"{key}: {path} has no snapshot of {name}; it has {', '.join(names) or 'none'}: name it in output.fields of"
            " that run"
        )
    with _reading(path, key):
        snapshot = find_snapshot(path)
        nodes, values = snapshot.nodes(), np.asarray(snapshot.values(name), dtype=np.float64)
    place, counts = voxel_coordinates(nodes.voxel, nodes.shape), np.array(nodes.shape[::-1])
    spacing_m, origin_m = np.full(3, nodes.spacing_m), np.array(nodes.origin_m)
    return OtherGrid(path, values.reshape(nodes.n_nodes, -1), place, counts, spacing_m, origin_m)


def fields_of(path: Path, key: str) -> tuple[str, ...]:
    """Names of the fields of a file; InputError as of :func:`read_snapshot`."""
    with _reading(path, key):
        return tuple(find_snapshot(regular_file(path)).units)


@contextmanager
def _reading(path: Path, key: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(f"{key}: {error}") from error
    except DAMAGE as error:
        raise InputError(f"{key}: cannot read {path} ({shown(error)}); give the fields.vtkhdf of a run") from error


MAX_QUOTED = 200  # longest part of an error of NumPy that a message repeats [characters]

CANNOT_READ: tuple[type[Exception], ...] = (*READ_ERRORS, GeometryError)


class Wanted(NamedTuple):
    """A field that is asked for: the key of the case, its name in files that have several fields, its number of
    components, and whether it is 0 at walls that rest."""

    key: str
    name: str
    n_components: int
    is_velocity: bool = False


def read_field(path: Path, wanted: Wanted, header: GeometryHeader, domain: Nodes) -> np.ndarray:
    """(n, k) float64 values of a field at some nodes.

    A ``.npy`` array holds them at every voxel of the box, (nz, ny, nx) or (nz, ny, nx, k), or at every node, (n,) or
    (n, k) in the order of the node list, which is that of the field methods of a simulation. A ``.vti`` image [m] or
    the last snapshot of a ``.vtkhdf`` file of an earlier run may be on another grid: they are interpolated linearly
    (:mod:`muphy_lb.setup.input_fields`).

    Raises InputError: the file cannot be read, has another shape or ending, does not cover the nodes, or has values
    there that are not finite.
    """
    read = GRIDS.get(path.suffix.lower())
    if read is None:
        values = _local(path, wanted, header, domain)
    else:
        grid = read(path, wanted.key, wanted.name)
        if (n_found := grid.values.shape[1]) != wanted.n_components:
            raise InputError(
                f"{wanted.key}: {path} has {n_found} components at each point; {wanted.name} has {wanted.n_components}"
            )
        values = interpolated(grid, wanted.key, wanted.is_velocity, header, domain)
    if not np.isfinite(values).all():
        raise InputError(f"{wanted.key}: {path} has values that are not finite at fluid nodes; give numbers")
    return values


def read_box_array(key: str, path: Path, shape: tuple[int, ...], axes: str) -> np.ndarray:
    """A memory-mapped array of numbers from a ``.npy`` file.

    Args:
        key: of the case, for messages.
        shape: that it must have.
        axes: what its axes are, for messages.

    Raises InputError: the file cannot be read, or holds something else.
    """
    return _numbers(key, path, (shape,), f"{shape}: {axes}")


def _numbers(key: str, path: Path, shapes, wanted: str) -> np.ndarray:
    """An array of numbers of one of some shapes; ``wanted`` says which, for messages."""
    try:
        found = np.load(regular_file(path), mmap_mode="r")
    except CANNOT_READ as error:
        text = cut(" ".join(str(error).split()).removeprefix(f"cannot read {path}: "), MAX_QUOTED)
        raise InputError(f"{key}: cannot read {path} ({text}); it must be a .npy array") from error
    if getattr(found, "shape", None) not in shapes or found.dtype.kind not in "biuf":
        what = f"{found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else "several arrays"
        raise InputError(f"{key}: {path} holds {what}; it must hold numbers of shape {wanted}")
    held = path.stat().st_size
    if isinstance(found, np.memmap) and found.offset + found.nbytes != held:
        raise InputError(
            f"{key}: {path} holds {held} bytes; its array of shape {found.shape} needs {found.offset + found.nbytes}:"
            " write one array into it, np.save(path, array)"
        )
    return found


def _local(path: Path, wanted: Wanted, header: GeometryHeader, domain: Nodes) -> np.ndarray:
    k = wanted.n_components
    tail = () if k == 1 else (k,)
    of_box, of_list = (*header.shape, *tail), (header.n_nodes, *tail)
    axes = ", ".join(("nz", "ny", "nx", *map(str, tail)))
    text = f"{of_box}: {axes}; or {of_list}: the nodes in their order"
    found = _numbers(wanted.key, path, (of_box, of_list), text)
    chosen = domain.voxel if found.shape == of_box else domain.number
    return np.asarray(found.reshape(-1, k)[chosen], dtype=np.float64)


def _vti_grid(path: Path, key: str, name: str) -> OtherGrid:
    try:
        values, spacing_m, origin_m = read_vti_points(path, name)
    except GeometryError as error:
        raise InputError(f"{key}: {error}") from error
    counts = np.array(values.shape[2::-1])
    place = np.stack(np.meshgrid(*map(np.arange, values.shape[:3]), indexing="ij"), axis=-1)[..., ::-1]
    return OtherGrid(path, np.reshape(values, (-1, values.shape[3])), place.reshape(-1, 3), counts, spacing_m, origin_m)


GRIDS = {".vti": _vti_grid, ENDING: read_snapshot}
"""Readers of files with a grid of their own, by the ends of their names."""
