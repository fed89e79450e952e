"""NodeList: fluid nodes only, in lexicographic order, kinds as contiguous groups."""

from dataclasses import dataclass, replace

import numpy as np

from geometry.errors import GeometryError
from geometry.flags import FIRST_OPENING, FLUID, MAX_OPENINGS
from geometry.voxels import Opening, Voxels

NO_OPENING = 1 + MAX_OPENINGS


@dataclass(frozen=True)
class NodeList:
    """The fluid nodes of a geometry and the opening voxels around them; solid space is gone.

    A voxel id is the row-major number of a voxel in its box: ``(z * ny + y) * nx + x``. It is the name of a
    node that never depends on ordering, partition or rank count.

    Nodes are numbered group by group: group 0 holds the nodes with no opening voxel among their 26
    neighbours, group ``1 + k`` those that touch opening ``k`` (the lowest such ``k``). Inside a group voxel ids ascend.

    Attributes:
        voxel: (n,) int64 voxel ids in node order.
        group_start: (n_groups + 1,) int64; group g is the node range ``group_start[g]:group_start[g + 1]``.
        shape: (nz, ny, nx) of the box.
        spacing_m, origin_m, periodic: as in :class:`geometry.voxels.Voxels`.
        openings: one record per opening.
        opening_voxel: (m,) int64 ascending ids of the opening voxels that touch a fluid node.
        opening_number: (m,) uint8 opening of each of them.
    """

    voxel: np.ndarray
    group_start: np.ndarray
    shape: tuple[int, int, int]
    spacing_m: float
    origin_m: tuple[float, float, float]
    periodic: tuple[bool, bool, bool]
    openings: tuple[Opening, ...]
    opening_voxel: np.ndarray
    opening_number: np.ndarray

    @property
    def n_nodes(self) -> int:
        """Number of fluid nodes."""
        return int(self.voxel.size)

    @property
    def group(self) -> np.ndarray:
        """(n,) uint8 group number of each node."""
        counts = np.diff(self.group_start)
        return np.repeat(np.arange(counts.size, dtype=np.uint8), counts)

    def coordinates(self, nodes=slice(None)) -> np.ndarray:
        """(n, 3) int64 voxel coordinates (x, y, z) of the chosen nodes."""
        return voxel_coordinates(self.voxel[nodes], self.shape)

    def positions_m(self, nodes=slice(None)) -> np.ndarray:
        """(n, 3) float64 positions of the chosen node centres [m]."""
        return np.asarray(self.origin_m) + self.spacing_m * self.coordinates(nodes)


def voxel_coordinates(voxel: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """(n, 3) int64 coordinates (x, y, z) of voxel ids in a box of ``shape`` (nz, ny, nx)."""
    _, ny, nx = shape
    return np.stack((voxel % nx, voxel // nx % ny, voxel // (nx * ny)), axis=-1)


def build_nodes(voxels: Voxels) -> NodeList:
    """Number the fluid voxels of an image; every fluid voxel becomes a node.

    Raises:
        GeometryError: there is no fluid voxel, or a flag is unknown.
    """
    flags = voxels.check_flags().flags
    fluid = _where(flags, lambda slab: slab == FLUID)
    if fluid.size == 0:
        raise GeometryError(
            f"the image of shape {voxels.shape} (nz, ny, nx) holds no fluid voxel;"
            " check which value means fluid, or refine the spacing"
        )
    opening_voxel = _where(flags, lambda slab: slab >= FIRST_OPENING)
    opening_number = flags.ravel()[opening_voxel] - np.uint8(FIRST_OPENING)
    frame = NodeList(
        voxel=fluid,
        group_start=np.array([0, fluid.size]),
        shape=voxels.shape,
        spacing_m=voxels.spacing_m,
        origin_m=voxels.origin_m,
        periodic=voxels.periodic,
        openings=voxels.openings,
        opening_voxel=opening_voxel,
        opening_number=opening_number,
    )
    return regroup(frame, fluid)


def _where(flags, condition) -> np.ndarray:
    """Ascending voxel ids where a condition holds; slab by slab, since the box may be far larger than its fluid."""
    slab_size = flags[0].size
    return np.concatenate([z * slab_size + np.flatnonzero(condition(slab)) for z, slab in enumerate(flags)])


def regroup(frame: NodeList, fluid: np.ndarray) -> NodeList:
    """The node list of the ascending voxel ids ``fluid`` in the box and with the openings of ``frame``.

    Opening voxels that touch none of these nodes are left out.
    """
    group = np.full(fluid.size, NO_OPENING)
    touches = np.zeros(frame.opening_voxel.size, dtype=bool)
    opening_group = 1 + frame.opening_number.astype(np.int64)
    for vector in np.ndindex(3, 3, 3):
        target = shifted_voxels(frame.opening_voxel, np.array(vector) - 1, frame.shape, frame.periodic)
        node = np.minimum(np.searchsorted(fluid, target), fluid.size - 1)
        hit = fluid[node] == target
        touches |= hit
        np.minimum.at(group, node[hit], opening_group[hit])
    group[group == NO_OPENING] = 0
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group, minlength=1 + len(frame.openings))
    return replace(
        frame,
        voxel=fluid[order],
        group_start=np.concatenate(([0], np.cumsum(counts))),
        opening_voxel=frame.opening_voxel[touches],
        opening_number=frame.opening_number[touches],
    )


def shifted_voxels(voxel, vector, shape, periodic) -> np.ndarray:
    """(n,) int64 ids of the voxels one lattice ``vector`` (x, y, z) away; -1 outside a non-periodic box."""
    target = voxel_coordinates(voxel, shape) + vector
    size = np.array(shape[::-1])
    wraps = np.array(periodic)
    inside = np.all(((target >= 0) & (target < size)) | wraps, axis=-1)
    target %= size
    return np.where(inside, (target[:, 2] * shape[1] + target[:, 1]) * shape[2] + target[:, 0], -1)
