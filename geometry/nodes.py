"""NodeList: the fluid nodes in lexicographic order, those that touch an opening in groups behind the others. Parts of a
geometry as geometries of their own, for files and pictures."""

from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np
from numba import prange

from muphy_lb.base.errors import InputError
from muphy_lb.base.kept.functions import njit
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import BYTES_PER_NODE, ask_for, ask_for_voxels
from muphy_lb.geometry.link_cuts import Cuts, Wall
from muphy_lb.geometry.search import STENCIL_27, Vicinity, dilated, index_nodes, look_up, number_type
from muphy_lb.geometry.slabs import slabs
from muphy_lb.geometry.voxels import FIRST_OPENING, FLUID, MAX_OPENINGS, Opening, Reservoirs, Voxels, wall_flag

BYTES_PER_VALUE = 8
LAYERS_AHEAD = 16  # layers whose fluid voxels are counted ahead
LABELS_PER_CHUNK = 2**18  # labelled voxels processed at a time


@dataclass(frozen=True)
class GeometryHeader:
    """The header of a geometry, without its node arrays; the attributes are those of :class:`NodeList`."""

    n_nodes: int
    shape: tuple[int, int, int]
    spacing_m: float
    origin_m: tuple[float, float, float]
    periodic: tuple[bool, bool, bool]
    openings: tuple[Opening, ...]
    walls: tuple[Wall, ...]
    regions: tuple[str, ...]
    reservoirs: Reservoirs | None = None


@dataclass(frozen=True)
class NodeList:
    """The fluid nodes of a geometry, the labelled voxels next to them, and labels of regions of the fluid; other solid
    voxels are not stored.

    A voxel id is the row-major number of a voxel in its box: ``(z * ny + y) * nx + x``. It identifies a node
    independently of ordering, partition and rank count.

    Nodes are numbered group by group: group 0 holds the nodes with no opening voxel among their 26
    neighbours, group ``1 + k`` those that touch opening ``k`` (the lowest such ``k``). Inside a group voxel ids ascend.
    Labelled walls do not change this order.
    """

    voxel: np.ndarray  #: (n,) int64 voxel ids in node order
    group_start: np.ndarray  #: (n_groups + 1,) int64; group g is the node range ``group_start[g]:group_start[g + 1]``
    shape: tuple[int, int, int]  #: (nz, ny, nx) of the box
    spacing_m: float  #: edge of a voxel [m], as in :class:`muphy_lb.geometry.voxels.Voxels`
    origin_m: tuple[float, float, float]  #: centre of the first voxel [m], as there
    periodic: tuple[bool, bool, bool]  #: whether the box is periodic along x, y, z, as there
    openings: tuple[Opening, ...]  #: one record per opening
    #: (m,) int64 ascending ids of the opening and labelled-wall voxels that touch a fluid node, and of fluid nodes of
    #: regions
    label_voxel: np.ndarray
    #: (m,) uint8 label of each of them: ``k`` for opening k, ``FIRST_WALL_NUMBER + k`` for wall k,
    #: ``FIRST_REGION_NUMBER + k`` for region k
    label_number: np.ndarray
    walls: tuple[Wall, ...] = ()  #: one record per labelled wall
    cuts: Cuts | None = None  #: cut distances of links, if computed (:func:`muphy_lb.geometry.neighbours.cut_links`)
    regions: tuple[str, ...] = ()  #: name of each labelled region of the fluid
    reservoirs: Reservoirs | None = None  #: layers of fluid that were added to the image of a rock

    @property
    def n_nodes(self) -> int:
        """Number of fluid nodes."""
        return int(self.voxel.size)

    @property
    def header(self) -> GeometryHeader:
        """The geometry without its node arrays: small, and the same on every rank."""
        return GeometryHeader(**{field.name: getattr(self, field.name) for field in fields(GeometryHeader)})

    @property
    def group(self) -> np.ndarray:
        """(n,) uint8 group number of each node."""
        counts = np.diff(self.group_start)
        return np.repeat(np.arange(counts.size, dtype=np.uint8), counts)

    def numbers_of(self, voxel: np.ndarray) -> np.ndarray:
        """(m,) numbers in the list of the nodes with these voxel ids (m,), which must be there."""
        order = np.argsort(self.voxel, kind="stable")
        return order[np.searchsorted(self.voxel, voxel, sorter=order)]

    def coordinates(self, nodes=slice(None)) -> np.ndarray:
        """(n, 3) int64 voxel coordinates (x, y, z) of the chosen nodes."""
        return voxel_coordinates(self.voxel[nodes], self.shape)

    def positions_m(self, nodes=slice(None)) -> np.ndarray:
        """(n, 3) float64 positions of the chosen node centres [m]."""
        return np.asarray(self.origin_m) + self.spacing_m * self.coordinates(nodes)


def box_told(geometry: GeometryHeader | NodeList | Voxels) -> str:
    """The box of voxels of a geometry, as text for messages."""
    low = np.asarray(geometry.origin_m) - 0.5 * geometry.spacing_m
    ends = low, low + geometry.spacing_m * np.array(geometry.shape[::-1])
    return "the box of voxels is ({}) to ({}) m".format(*(", ".join(f"{x:.4g}" for x in end) for end in ends))


def voxel_coordinates(voxel: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """(n, 3) int64 coordinates (x, y, z) of voxel ids in a box of ``shape`` (nz, ny, nx)."""
    _, ny, nx = shape
    row = voxel // nx
    layer = row // ny
    return np.stack((voxel - row * nx, row - layer * ny, layer), axis=-1)


def within(voxel: np.ndarray, geometry: "GeometryHeader", box_m=None, centre_m=None, radius_m=None) -> np.ndarray:
    """(n,) bool: which voxels, by id, have their centres in a box (lowest and highest corner [m], both included) or in
    a sphere."""
    place_m = np.array(geometry.origin_m) + geometry.spacing_m * voxel_coordinates(voxel, geometry.shape)
    if box_m is not None:
        low, high = np.array(box_m)
        return np.all((place_m >= low) & (place_m <= high), axis=1)
    return np.linalg.norm(place_m - np.array(centre_m), axis=1) <= radius_m


def header_ahead(voxels: Voxels, regions: tuple[str, ...]) -> GeometryHeader:
    """The header of an image whose fluid voxels are not numbered yet, with names of regions of the fluid; the number of
    nodes is that of fluid voxels in some of its layers, scaled."""
    box, every = (voxels.shape, voxels.spacing_m, voxels.origin_m), -(-voxels.shape[0] // LAYERS_AHEAD)
    n_nodes = every * int(np.count_nonzero(voxels.flags[every // 2 :: every] == FLUID))
    walls = tuple(Wall(name, 0) for name in voxels.walls)
    named = (voxels.openings, walls, regions)
    return GeometryHeader(max(1, n_nodes), *box, voxels.periodic, *named, voxels.reservoirs)


def build_nodes(voxels: Voxels) -> NodeList:
    """Number the fluid voxels of an image; every fluid voxel becomes a node. Raises GeometryError: there is no fluid
    voxel, or a flag is unknown."""
    flags = voxels.check_flags().flags
    fluid = _fluid_voxels(flags)
    if fluid.size == 0:
        raise GeometryError(
            f"the image of shape {voxels.shape} (nz, ny, nx) holds no fluid voxel;"
            " check which value marks fluid, or refine the spacing"
        )
    label_voxel = labelled_near(flags, voxels.periodic)
    n_voxels = voxels.count_flags() if voxels.walls else np.empty(0)
    frame = NodeList(
        voxel=fluid,
        group_start=np.array([0, fluid.size]),
        shape=voxels.shape,
        spacing_m=voxels.spacing_m,
        origin_m=voxels.origin_m,
        periodic=voxels.periodic,
        openings=voxels.openings,
        label_voxel=label_voxel,
        label_number=flags.flat[label_voxel] - np.uint8(FIRST_OPENING),
        walls=tuple(Wall(name, int(n_voxels[wall_flag(k)])) for k, name in enumerate(voxels.walls)),
        reservoirs=voxels.reservoirs,
    )
    return regroup(frame, fluid)


def _fluid_voxels(flags) -> np.ndarray:
    counts = [_fluid_by_layer(slab) for _, slab in slabs(flags)]
    end = np.concatenate((np.zeros(1, dtype=np.int64), *counts)).cumsum()
    ask_for(BYTES_PER_NODE * int(end[-1]), f"the list of {end[-1]} fluid nodes")
    fluid = np.empty(end[-1], dtype=np.int64)
    for layers, slab in slabs(flags):
        slab_fluid = fluid[end[layers.start] : end[layers.stop]]
        _number_fluid(slab_fluid, end[layers.start + 1 : layers.stop + 1] - end[layers.start], slab)
        slab_fluid += layers.start * slab[0].size
    return fluid


@njit(parallel=True, cache=True, usually="void(uint8[:,:,::1])")
def _fluid_by_layer(flags):
    """(nz,) number of fluid voxels in each layer."""
    nz, ny, nx = flags.shape
    counts = np.zeros(nz, dtype=np.int64)
    for z in prange(nz):
        n = 0
        for y in range(ny):
            for x in range(nx):
                n += flags[z, y, x] == FLUID
        counts[z] = n
    return counts


@njit(parallel=True, cache=True, usually="(int64[::1], int64[::1], uint8[:,:,::1])")
def _number_fluid(fluid, last, flags):
    """Write the ids of the fluid voxels of layer z up to position ``last[z]``, after those of the layer below."""
    nz, ny, nx = flags.shape
    for z in prange(nz):
        n = last[z - 1] if z else 0
        for y in range(ny):
            n = _number_row(fluid, n, flags[z, y], (z * ny + y) * nx)


@njit(cache=True)
def _number_row(fluid, n, row, first):
    """Write the ids of the fluid voxels of a row, whose first voxel is ``first``, from position n on; returns the next
    free position."""
    for x in range(row.size):
        if row[x] == FLUID:
            fluid[n] = first + x
            n += 1
    return n


def labelled_near(flags, periodic, those=(FLUID,)) -> np.ndarray:
    """Ascending ids of the voxels of openings and labelled walls that have fluid, or voxels of other flags, among their
    26 neighbours."""
    nz = len(flags)

    @lru_cache(maxsize=3)
    def dilated_fluid(z: int) -> np.ndarray:
        return dilated(dilated(np.isin(flags[z], those), 0, periodic[1]), 1, periodic[0])

    found = [np.empty(0, dtype=np.int64)]
    for layers, slab in slabs(flags):
        labelled = slab >= FIRST_OPENING
        for z in layers.start + np.flatnonzero(labelled.any(axis=(1, 2))):
            neighbours = [k % nz for k in (z - 1, z, z + 1) if periodic[2] or 0 <= k < nz]
            near_fluid = labelled[z - layers.start] & np.logical_or.reduce([dilated_fluid(k) for k in neighbours])
            found.append(z * near_fluid.size + np.flatnonzero(near_fluid))
    return np.concatenate(found)


def regroup(frame: NodeList, fluid: np.ndarray) -> NodeList:
    """The node list of the ascending voxel ids ``fluid``, with the box, openings and walls of ``frame``. Labelled
    voxels that touch none of these nodes are omitted, as are the cuts of other nodes."""
    index = index_nodes(frame.shape, frame.periodic, fluid)
    touches = np.zeros(frame.label_voxel.size, dtype=bool)
    found = [np.empty((2, 0), dtype=np.int64)]
    for first in range(0, touches.size, LABELS_PER_CHUNK):
        chunk = slice(first, first + LABELS_PER_CHUNK)
        number = frame.label_number[chunk].astype(np.int64)
        node = np.empty((len(STENCIL_27), number.size), dtype=number_type(fluid.size))
        look_up(frame.label_voxel[chunk], STENCIL_27, index, node)
        hit = node >= 0
        touches[chunk] = hit.any(axis=0)
        hit &= number < MAX_OPENINGS
        found.append(np.stack((node[hit], np.broadcast_to(1 + number, hit.shape)[hit])))
    node, group = np.concatenate(found, axis=1)
    order = np.lexsort((group, node))
    near, lowest = np.unique(node[order], return_index=True)
    group = group[order][lowest]
    counts = np.bincount(group, minlength=1 + len(frame.openings))
    counts[0] = fluid.size - near.size
    return replace(
        frame,
        voxel=_moved_to_end(fluid, near, np.argsort(group, kind="stable")) if near.size else fluid,
        group_start=np.concatenate(([0], np.cumsum(counts))),
        label_voxel=frame.label_voxel[touches],
        label_number=frame.label_number[touches],
        cuts=None if frame.cuts is None else frame.cuts.of_nodes(fluid),
    )


@njit(cache=True, usually="(int64[::1], int64[::1], int64[::1])")
def _moved_to_end(ids, chosen, order):
    """The ids with those at the ascending positions ``chosen`` moved to the end, permuted by ``order``."""
    moved = np.empty_like(ids)
    n_others = ids.size - chosen.size
    n = 0
    for i in range(ids.size):
        if n < chosen.size and chosen[n] == i:
            n += 1
        else:
            moved[i - n] = ids[i]
    for i in range(order.size):
        moved[n_others + i] = ids[chosen[order[i]]]
    return moved


def boundary_nodes(nodes: NodeList) -> NodeList:
    """The nodes that touch an opening, in the same order, as a separate node list whose group 0 is empty.

    Args:
        nodes: the complete list; its arrays may be HDF5 datasets, of which only slices are read.
    """
    first, last = int(nodes.group_start[1]), int(nodes.group_start[-1])
    voxel = nodes.voxel[first:last]
    label_voxel, label_number = labels_near(nodes, Vicinity(np.sort(voxel), nodes.shape, nodes.periodic))
    return replace(
        nodes,
        voxel=voxel,
        group_start=np.maximum(nodes.group_start - first, 0),
        label_voxel=label_voxel,
        label_number=label_number,
        cuts=None,
    )


def labels_near(nodes: NodeList, vicinity: Vicinity) -> tuple[np.ndarray, np.ndarray]:
    """(ids, labels) of the labelled voxels of a list within a vicinity; its arrays may be HDF5 datasets."""
    found = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint8))]
    for first in range(0, nodes.label_voxel.size, LABELS_PER_CHUNK):
        voxel = nodes.label_voxel[first : first + LABELS_PER_CHUNK]
        near = vicinity.holds(voxel)
        found.append((voxel[near], nodes.label_number[first : first + LABELS_PER_CHUNK][near]))
    label_voxel, label_number = (np.concatenate(column) for column in zip(*found, strict=True))
    return label_voxel, label_number


def on_box(nodes: NodeList, values: np.ndarray) -> np.ndarray:
    """(nz, ny, nx, ...) values (n, ...) of nodes on their box, nan where there is no node; in the type of the values,
    or float64 for whole numbers. Raises GeometryError: too little memory."""
    ask_for_voxels(nodes.shape, BYTES_PER_VALUE * int(np.prod(values.shape[1:])), "a field on the whole box")
    dtype = values.dtype if values.dtype.kind == "f" else np.float64
    box = np.full((int(np.prod(nodes.shape)), *values.shape[1:]), np.nan, dtype)
    box[nodes.voxel] = values
    return box.reshape(*nodes.shape, *values.shape[1:])


def chosen_nodes(nodes: NodeList, voxel: np.ndarray) -> NodeList:
    """Bare nodes with some of the voxel ids of a geometry, in that order, in its box."""
    none = np.empty(0, dtype=np.int64)
    frame = {name: getattr(nodes, name) for name in ("shape", "spacing_m", "origin_m", "periodic")}
    start = np.array([0, voxel.size])
    return NodeList(voxel, start, **frame, openings=(), label_voxel=none, label_number=none.astype(np.uint8))


def nodes_in_box(nodes: NodeList, corners_m) -> np.ndarray:
    """Ascending numbers of the nodes in a box, given by its lowest and highest corner (x, y, z) [m]. Raises InputError:
    there is none."""
    low, high = (np.array(corner) for corner in corners_m)
    inside = np.ones(nodes.n_nodes, dtype=bool)
    for axis, place in enumerate(nodes.coordinates().T):
        place_m = nodes.origin_m[axis] + nodes.spacing_m * place
        inside &= (place_m >= low[axis]) & (place_m <= high[axis])
    if not inside.any():
        last_m = np.array(nodes.origin_m) + nodes.spacing_m * (np.array(nodes.shape[::-1]) - 1)
        first, last = (", ".join(f"{x:.4g}" for x in end_m) for end_m in (nodes.origin_m, last_m))
        raise InputError(
            f"output.region_m is {[list(corner) for corner in corners_m]}, which holds no fluid node; voxels lie from"
            f" ({first}) to ({last}) m: move or enlarge it"
        )
    return np.flatnonzero(inside)
