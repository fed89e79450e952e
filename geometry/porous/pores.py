"""Pores: the connected components of the fluid, the axes along which each percolates, and their widths.

A flow on D3Q19 passes through faces and edges of voxels, not through corners; published porosities often use face
connectivity only. Components are labelled by *runs*, maximal intervals of fluid along x, which are about ten times
fewer than the voxels.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numba
import numpy as np
from numba import prange

from muphy_lb.base.kept.functions import njit
from muphy_lb.geometry.axes import AXES
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import ask_for_voxels, shown
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels

#: Connectivity -> (dz, dy, tolerance): offset to a row whose runs may touch those of a row (0, 0: periodic images), and
#: 1 if runs are also connected that only adjoin along x, 0 if they must overlap. A link that steps along y and z has no
#: step along x.
ROWS_TO_JOIN = MappingProxyType(
    {
        "edges": ((0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0), (1, -1, 0)),
        "faces": ((0, 0, 1), (0, 1, 0), (1, 0, 0)),
    }
)

LAYERS_OF_SLAB = 16  # layers that one thread joins


@dataclass(frozen=True)
class Pores:
    """The pores of an image."""

    rows: np.ndarray  #: (n,) int64 number of the row ``z * ny + y`` of each run
    spans: np.ndarray  #: (n, 2) int64 first x of each run and the first x beyond it
    label: np.ndarray  #: (n,) int64 pore of each run, counted from 0
    n_voxels: np.ndarray  #: (n_pores,) int64 size of each pore
    #: (n_pores, 3) bool: whether the pore percolates along x, y, z. Along a periodic axis: whether it is connected to
    #: its own periodic image; otherwise: whether it touches both faces.
    percolates: np.ndarray

    def along(self, axes: str) -> np.ndarray:
        """(n_pores,) bool: whether the pore percolates along at least one of the axes."""
        return np.any(self.percolates[:, [AXES.index(axis) for axis in axes]], axis=1)

    def share(self, axis: str) -> float:
        """Fraction of the fluid in pores that lead from end to end along an axis; 0 without fluid."""
        return float(self.n_voxels[self.along(axis)].sum() / max(1, self.n_voxels.sum()))


def find_pores(voxels: Voxels, connected_by: str = "edges") -> Pores:
    """The pores of an image: the connected components of its fluid voxels. ``connected_by``: ``"edges"`` (voxels that
    share a face or an edge are connected) or ``"faces"`` (a face only)."""
    check_connection(connected_by)
    nz, ny, nx = voxels.shape
    first, rows, spans = _runs(np.asarray(voxels.flags))
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


def pores_of(nodes: NodeList, connected_by: str = "faces") -> Pores:
    """The pores of fluid nodes, as of :func:`find_pores`. Raises GeometryError: too little memory for the box."""
    ask_for_voxels(nodes.shape, BYTES_PER_VOXEL, "the pores that lead from end to end")
    flags = np.full(nodes.shape, SOLID, dtype=FLAG_DTYPE)
    flags.flat[nodes.voxel[:]] = FLUID
    return find_pores(Voxels(flags, periodic=nodes.periodic), connected_by)


def leads_through(nodes: NodeList, axes: np.ndarray, connected_by: str = "faces") -> np.ndarray:
    """(n,) bool: whether a node lies in a pore that leads from end to end along at least one of ``axes``, (3,) bool;
    arguments and errors as of :func:`pores_of`."""
    pores, voxel = pores_of(nodes, connected_by), nodes.voxel[:]
    leads, length = np.asarray(pores.percolates[:, axes].any(axis=1)), pores.spans[:, 1] - pores.spans[:, 0]
    found, is_fluid = np.zeros((2, math.prod(nodes.shape)), dtype=bool)
    is_fluid[voxel] = True
    found[is_fluid] = np.repeat(leads[pores.label], length)
    return found[voxel]


def check_connection(connected_by: str) -> None:
    """Raise GeometryError unless ``connected_by`` is a known connectivity."""
    if connected_by not in tuple(ROWS_TO_JOIN):
        raise GeometryError(f"connected_by is {shown(connected_by)}; allowed: {', '.join(ROWS_TO_JOIN)}")


def _any_of(label: np.ndarray, truth: np.ndarray, n_pores: int) -> np.ndarray:
    """(n_pores, 3) bool: whether ``truth`` (n, 3) holds for any run of each pore."""
    found = np.zeros((n_pores, truth.shape[1]), dtype=bool)
    for i in range(truth.shape[1]):
        found[label[truth[:, i]], i] = True
    return found


def _runs(flags: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First run (rows + 1,) of every row of the box, and row (n,) and span (n, 2) of every run of fluid, in row
    order."""
    nz, ny, _ = flags.shape
    first = np.zeros(nz * ny + 1, dtype=np.int64)
    _count_runs(flags, first[1:])
    np.cumsum(first, out=first)
    rows, spans = np.empty(first[-1], dtype=np.int64), np.empty((first[-1], 2), dtype=np.int64)
    _fill_runs(flags, first, rows, spans)
    return first, rows, spans


@njit(parallel=True, cache=True)
def _count_runs(flags, count):
    nz, ny, nx = flags.shape
    for row in prange(nz * ny):
        line, n, was_fluid = flags[row // ny, row % ny], 0, False
        for x in range(nx):
            is_fluid = line[x] == FLUID
            n += is_fluid and not was_fluid
            was_fluid = is_fluid
        count[row] = n


@njit(parallel=True, cache=True)
def _fill_runs(flags, first, rows, spans):
    nz, ny, nx = flags.shape
    for row in prange(nz * ny):
        line, n, was_fluid = flags[row // ny, row % ny], first[row], False
        for x in range(nx):
            is_fluid = line[x] == FLUID
            if is_fluid and not was_fluid:
                rows[n], spans[n, 0], spans[n, 1] = row, x, nx
            elif was_fluid and not is_fluid:
                spans[n, 1] = x
                n += 1
            was_fluid = is_fluid


@njit(parallel=True, cache=True)
def _join(first, spans, shape, periodic, neighbours):
    """Union-find over the runs that touch; runs ``first[row]`` to ``first[row + 1]`` lie in a row.

    Every run stores its displacement from its root, the smallest run, in whole periods (x, y, z): if two runs of one
    pore are connected with a different displacement, the pore is connected to its own periodic image. Slabs of the box
    are joined side by side, and then with each other. Returns the root (n,) of each run, and (n, 3) whether such a
    connection was found at it.
    """
    nz, n_runs = shape[0], len(spans)
    parent = np.arange(n_runs)
    displacement = np.zeros((n_runs, 3), dtype=np.int64)
    wraps = np.zeros((n_runs, 3), dtype=np.bool_)
    forest = parent, displacement, wraps, spans
    n_slabs = (nz + LAYERS_OF_SLAB - 1) // LAYERS_OF_SLAB
    for slab in prange(n_slabs):
        for z in range(slab * LAYERS_OF_SLAB, min(nz, (slab + 1) * LAYERS_OF_SLAB)):
            _join_layer(forest, first, z, shape, periodic, neighbours, False)
    for slab in range(n_slabs):
        last = min(nz, (slab + 1) * LAYERS_OF_SLAB) - 1
        _join_layer(forest, first, last, shape, periodic, neighbours, True)
    for run in range(n_runs):
        while parent[run] != parent[parent[run]]:
            parent[run] = parent[parent[run]]
    return parent, wraps


@njit(cache=True)
def _join_layer(forest, first, z, shape, periodic, neighbours, leaves_slab):
    """Join the runs of a layer with those beside them, in its slab or in the next one."""
    parent, displacement, wraps, spans = forest
    nz, ny, nx = shape
    shift = np.zeros(3, dtype=np.int64)
    is_last = (z + 1) % LAYERS_OF_SLAB == 0 or z + 1 == nz
    for k in range(len(neighbours)):
        above, tolerance = z + neighbours[k, 0], neighbours[k, 2]
        if (is_last and neighbours[k, 0] > 0) != leaves_slab:
            continue
        for row in range(z * ny, (z + 1) * ny):
            y = row % ny + neighbours[k, 1]
            shift[1], shift[2] = y // ny, above // nz
            if (shift[1] == 0 or periodic[1]) and (shift[2] == 0 or periodic[2]):
                beside = above % nz * ny + y % ny
                runs = first[row], first[row + 1], first[beside], first[beside + 1]
                _join_rows(parent, displacement, wraps, spans, runs, nx * periodic[0], tolerance, shift)


@njit(cache=True)
def _join_rows(parent, displacement, wraps, spans, runs, period, tolerance, shift):
    """Join the runs ``runs[0]`` to ``runs[1]`` of a row with ``runs[2]`` to ``runs[3]`` of another and its images."""
    for image in range(-1, 2):
        if image != 0 and period == 0:
            continue
        shift[0] = image
        a, b = runs[0], runs[2]
        while a < runs[1] and b < runs[3]:
            low, high = spans[b, 0] + image * period, spans[b, 1] + image * period
            if spans[a, 0] < high + tolerance and low < spans[a, 1] + tolerance:
                _unite(parent, displacement, wraps, (a, b), shift)
            # Runs of a row are separated by at least a voxel: the one that ends first cannot touch a later run.
            if spans[a, 1] < high:
                a += 1
            else:
                b += 1


@njit(cache=True)
def _unite(parent, displacement, wraps, pair, shift):
    """Join the pores of two runs, the second of which is taken ``shift`` periods away from its position in the
    image."""
    root_a, offset_a = _root(parent, displacement, pair[0])
    root_b, offset_b = _root(parent, displacement, pair[1])
    if root_a == root_b:
        for i in range(3):
            wraps[pair[0], i] |= offset_a[i] + shift[i] != offset_b[i]
    elif root_a < root_b:
        parent[root_b] = root_a
        for i in range(3):
            displacement[root_b, i] = offset_a[i] + shift[i] - offset_b[i]
    else:
        parent[root_a] = root_b
        for i in range(3):
            displacement[root_a, i] = offset_b[i] - shift[i] - offset_a[i]


@njit(cache=True)
def _root(parent, displacement, run):
    """The root of a run, and the displacement (3,) of the run relative to it; compresses the path."""
    total = np.zeros(3, dtype=np.int64)
    while parent[run] != run:
        for i in range(3):
            displacement[run, i] += displacement[parent[run], i]
            total[i] += displacement[run, i]
        parent[run] = parent[parent[run]]
        run = parent[run]
    return run, total


#: Axes and diagonals of faces (x, y, z), one direction of each pair.
HALF_LINKS = np.array(
    [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, -1, 0), (1, 0, 1), (1, 0, -1), (0, 1, 1), (0, 1, -1)]
)
BYTES_PER_VOXEL = 4


def pore_widths(nodes: NodeList) -> np.ndarray:
    """Shortest chord through each node along the axes and the diagonals of faces: the width of its pore there.

    A chord is a row of fluid voxels between two walls; its length is the number of its voxels times that of a step.
    Between parallel walls along the axes or diagonals it is exactly their distance. Chords are found in threads of
    Python, since the flow may use those of Numba meanwhile.

    Returns:
        (n,) float32 widths [voxels]; infinite where no chord ends at walls.

    Raises GeometryError: too little memory for the box.
    """
    ask_for_voxels(nodes.shape, BYTES_PER_VOXEL, "the widths of the pores")
    voxel = np.asarray(nodes.voxel)
    box = np.zeros(nodes.shape, np.float32)
    box.flat[voxel] = np.inf
    n_threads, periodic = numba.get_num_threads(), np.array(nodes.periodic[::-1])
    parts = list(pairwise(np.linspace(0, voxel.size, n_threads + 1).astype(int).tolist()))
    with ThreadPoolExecutor(n_threads) as pool:
        for step in HALF_LINKS:
            along, length = step[::-1].copy(), np.float32(np.linalg.norm(step))
            list(pool.map(lambda part: _shorten(box, voxel, *part, along, length, periodic), parts))  # noqa: B023
    return box.reshape(-1)[voxel]


@njit(cache=True, nogil=True)
def _shorten(box, voxel, first, last, step, length, periodic):
    """Lower ``box`` to the lengths of the chords along ``step`` (z, y, x) that start at some of the nodes: where a wall
    lies behind."""
    nz, ny, nx = box.shape
    for n in range(first, last):
        z, y, x = voxel[n] // (ny * nx), voxel[n] // nx % ny, voxel[n] % nx
        behind = _shifted((z, y, x), (-step[0], -step[1], -step[2]), box.shape, periodic)
        if box[behind] > 0.0 and behind[0] >= 0:
            continue
        count, place = 0, (z, y, x)
        while place[0] >= 0 and box[place] > 0.0:
            count += 1
            place = _shifted(place, (step[0], step[1], step[2]), box.shape, periodic)
        place = z, y, x
        for _ in range(count):
            box[place] = min(box[place], count * length)
            place = _shifted(place, (step[0], step[1], step[2]), box.shape, periodic)


@njit(cache=True)
def _shifted(place, step, shape, periodic):
    """The place (z, y, x) one step further; (-1, -1, -1) outside the box."""
    z, y, x = place[0] + step[0], place[1] + step[1], place[2] + step[2]
    if periodic[0]:
        z %= shape[0]
    if periodic[1]:
        y %= shape[1]
    if periodic[2]:
        x %= shape[2]
    outside = z < 0 or y < 0 or x < 0 or z >= shape[0] or y >= shape[1] or x >= shape[2]
    return (-1, -1, -1) if outside else (z, y, x)
