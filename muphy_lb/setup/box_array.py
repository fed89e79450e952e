"""Fields at the nodes from files that a case names: arrays over the box or over the nodes, and those of other grids."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.domain import LocalDomain
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.arrays import READ_ERRORS
from muphy_lb.geometry.images.vtk import read_vti_points
from muphy_lb.geometry.limits import cut, regular_file
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.setup.earlier_run import ENDING, read_snapshot
from muphy_lb.setup.other_grid import OtherGrid, interpolated

MAX_QUOTED = 200
"""Longest part of an error of NumPy that a message repeats [characters]."""


class Wanted(NamedTuple):
    """A field that is asked for: the key of the case, its name in files that have several fields, its number of
    components, and whether it is 0 at walls that rest."""

    key: str
    name: str
    n_components: int
    is_velocity: bool = False


def read_field(path: Path, wanted: Wanted, header: GeometryHeader, domain: LocalDomain) -> np.ndarray:
    """(n, k) float64 values of a field at the local nodes.

    A ``.npy`` array holds them at every voxel of the box, (nz, ny, nx) or (nz, ny, nx, k), or at every node, (n,) or
    (n, k) in the order of the node list, which is that of the field methods of a simulation. A ``.vti`` image [m] or
    the last snapshot of a ``.vtkhdf`` file of an earlier run may be on another grid: they are interpolated linearly
    (:mod:`muphy_lb.setup.other_grid`).

    Raises:
        InputError: the file cannot be read, has another shape or ending, does not cover the nodes, or has values there
            that are not finite.
    """
    read = GRIDS.get(path.suffix.lower())
    if read is None:
        values = _local(path, wanted, header, domain)
    else:
        grid = read(path, wanted.key, wanted.name)
        _check_components(path, wanted, grid.values.shape[1])
        values = interpolated(grid, wanted.key, wanted.is_velocity, header, domain)
    if not np.isfinite(values).all():
        raise InputError(f"{wanted.key}: {path} has values that are not finite at fluid nodes; give numbers")
    return values


def _check_components(path: Path, wanted: Wanted, n_found: int) -> None:
    """Raise InputError where a file has another number of components."""
    if n_found != wanted.n_components:
        raise InputError(
            f"{wanted.key}: {path} has {n_found} components at each point; {wanted.name} has {wanted.n_components}"
        )


def read_box_array(key: str, path: Path, shape: tuple[int, ...], axes: str) -> np.ndarray:
    """A memory-mapped array of numbers from a ``.npy`` file.

    Args:
        key: of the case, for messages.
        path: the file.
        shape: that it must have.
        axes: what its axes are, for messages.

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    return _numbers(key, path, (shape,), f"{shape}: {axes}")


def _numbers(key: str, path: Path, shapes, wanted: str) -> np.ndarray:
    """An array of numbers of one of some shapes; ``wanted`` says which, for messages."""
    try:
        found = np.load(regular_file(path), mmap_mode="r")
    except (*READ_ERRORS, GeometryError) as error:
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


def _local(path: Path, wanted: Wanted, header: GeometryHeader, domain: LocalDomain) -> np.ndarray:
    """Values at the local nodes of an array over the box or the node list."""
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
