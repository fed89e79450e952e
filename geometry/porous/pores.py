"""Pores: the connected parts of the fluid, and along which axes each leads from end to end.

A flow on D3Q19 passes through faces and edges of voxels, not through corners; published porosities often count faces
only. A pore is found from its *runs*, stretches of fluid along x, which are some ten times fewer than its voxels.
"""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numba import njit

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.flags import FLUID
from muphy_lb.geometry.options import AXES
from muphy_lb.geometry.voxels import Voxels

ROWS_TO_JOIN = MappingProxyType(
    {
        "edges": ((0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0), (1, -1, 0)),
        "faces": ((0, 0, 1), (0, 1, 0), (1, 0, 0)),
    }
)
"""What voxels are connected by -> (dz, dy, reach) from a row to those whose runs its own may touch, and by how many
voxels they may miss each other: a link with a step along two axes has none along the third."""


@dataclass(frozen=True)
class Pores:
    """The pores of an image.

    Attributes:
        rows: (n,) int64 number of the row ``z * ny + y`` of each run.
        spans: (n, 2) int64 first voxel x of each run and the first beyond it.
        label: (n,) int64 pore of each run, counted from 0.
        n_voxels: (n_pores,) int64 size of each pore.
        percolates: (n_pores, 3) truth: whether the pore leads from end to end along x, y, z. Where the image is
            periodic, that is whether it meets itself one period further; elsewhere, whether it touches both faces.
    """

    rows: np.ndarray
    spans: np.ndarray
    label: np.ndarray
    n_voxels: np.ndarray
    percolates: np.ndarray

    def along(self, axes: str) -> np.ndarray:
        """(n_pores,) truth: whether the pore leads from end to end along one of the axes at least."""
        return self.percolates[:, [AXES.index(axis) for axis in axes]].any(axis=1)


def find_pores(voxels: Voxels, connected_by: str = "edges") -> Pores:
    """The pores of an image; only its fluid counts.

    ``connected_by``: ``"edges"``, where voxels are connected that share a face or an edge, or ``"faces"``.
    """
    check_connection(connected_by)
    nz, ny, nx = voxels.shape
    rows, spans = _runs(voxels.flags)
    first = np.searchsorted(rows, np.arange(nz * ny + 1))
    periodic = np.array(voxels.periodic)
    root, wraps = _join(first, spans, voxels.shape, periodic, np.array(ROWS_TO_JOIN[connected_by]))
    label = np.unique(root, return_inverse=True)[1]
    n_pores = int(label.max(initial=-1)) + 1
    n_voxels = np.zeros(n_pores, dtype=np.int64)
    np.add.at(n_voxels, label, spans[:, 1] - spans[:, 0])
    percolates = _any_of(label, wraps, n_pores)
    low = np.stack((spans[:, 0] == 0, rows % ny == 0, rows // ny == 0), axis=1)
    high = np.stack((spans[:, 1] == nx, rows % ny == ny - 1, rows // ny == nz - 1), axis=1)
    through = _any_of(label, low, n_pores) & _any_of(label, high, n_pores)
    return Pores(rows, spans, label, n_voxels, np.where(periodic, percolates, through))


def check_connection(connected_by: str) -> None:
    """Raise GeometryError unless pores are asked for that are connected by edges or by faces."""
    if connected_by not in tuple(ROWS_TO_JOIN):
        raise GeometryError(f"connected_by is {connected_by!r}; allowed: {', '.join(ROWS_TO_JOIN)}")


def _any_of(label: np.ndarray, truth: np.ndarray, n_pores: int) -> np.ndarray:
    """(n_pores, 3) truth: whether ``truth`` (n, 3) holds for any run of each pore."""
    found = np.zeros((n_pores, truth.shape[1]), dtype=bool)
    for i in range(truth.shape[1]):
        found[label[truth[:, i]], i] = True
    return found


def _runs(flags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row (n,) and span (n, 2) of every run of fluid, row by row, found one layer of the image at a time."""
    nz, ny, nx = flags.shape
    rows, spans = [np.empty(0, dtype=np.int64)], [np.empty((0, 2), dtype=np.int64)]
    for z in range(nz):
        layer = np.zeros((ny, nx + 2), dtype=np.int8)
        layer[:, 1:-1] = flags[z] == FLUID
        steps = np.diff(layer, axis=1)
        y, start = np.nonzero(steps == 1)
        rows.append(z * ny + y)
        spans.append(np.stack((start, np.nonzero(steps == -1)[1]), axis=1))
    return np.concatenate(rows), np.concatenate(spans)


@njit(cache=True)
def _join(first, spans, shape, periodic, neighbours):
    """Join the runs that touch; runs ``first[row]`` to ``first[row + 1]`` lie in a row.

    Every run knows its place in its pore in whole periods (x, y, z): a run that meets its own pore at another place
    shows that the pore goes on for ever. Returns the root (n,) of each run, and (n, 3) whether that was seen at it.
    """
    nz, ny, nx = shape
    n_runs = len(spans)
    parent, place = np.arange(n_runs), np.zeros((n_runs, 3), dtype=np.int64)
    wraps = np.zeros((n_runs, 3), dtype=np.bool_)
    shift = np.zeros(3, dtype=np.int64)
    for row in range(nz * ny):
        for k in range(len(neighbours)):
            z, y, reach = row // ny + neighbours[k, 0], row % ny + neighbours[k, 1], neighbours[k, 2]
            shift[1], shift[2] = y // ny, z // nz
            if (shift[1] == 0 or periodic[1]) and (shift[2] == 0 or periodic[2]):
                runs = first[row], first[row + 1], first[z % nz * ny + y % ny], first[z % nz * ny + y % ny + 1]
                _join_rows(parent, place, wraps, spans, runs, nx * periodic[0], reach, shift)
    for run in range(n_runs):
        while parent[run] != parent[parent[run]]:
            parent[run] = parent[parent[run]]
    return parent, wraps


@njit(cache=True)
def _join_rows(parent, place, wraps, spans, runs, period, reach, shift):
    """Join the runs ``runs[0]`` to ``runs[1]`` of a row with ``runs[2]`` to ``runs[3]`` of another and its images."""
    for image in range(-1, 2):
        if image != 0 and period == 0:
            continue
        shift[0] = image
        a, b = runs[0], runs[2]
        while a < runs[1] and b < runs[3]:
            low, high = spans[b, 0] + image * period, spans[b, 1] + image * period
            if spans[a, 0] < high + reach and low < spans[a, 1] + reach:
                _unite(parent, place, wraps, (a, b), shift)
            # Runs of a row are a voxel apart at least: the one that ends first can touch no later one.
            if spans[a, 1] < high:
                a += 1
            else:
                b += 1


@njit(cache=True)
def _unite(parent, place, wraps, pair, shift):
    """Join the pores of two runs, the second of which lies ``shift`` periods away from its place in the image."""
    root_a, place_a = _root(parent, place, pair[0])
    root_b, place_b = _root(parent, place, pair[1])
    if root_a == root_b:
        for i in range(3):
            wraps[pair[0], i] |= place_a[i] + shift[i] != place_b[i]
    elif root_a < root_b:
        parent[root_b], place[root_b] = root_a, place_a + shift - place_b
    else:
        parent[root_a], place[root_a] = root_b, place_b - shift - place_a


@njit(cache=True)
def _root(parent, place, run):
    """The root of a run, and the place (3,) of the run relative to it; shortens the path."""
    total = np.zeros(3, dtype=np.int64)
    while parent[run] != run:
        place[run] += place[parent[run]]
        parent[run] = parent[parent[run]]
        total += place[run]
        run = parent[run]
    return run, total
