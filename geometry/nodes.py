"""NodeList: fluid nodes only, in lexicographic order, kinds as contiguous groups."""

from dataclasses import dataclass

import numpy as np

from geometry.voxels import Opening


@dataclass(frozen=True)
class NodeList:
    """The fluid nodes of a geometry and the opening voxels around them; solid space is gone.

    A voxel id is the row-major number of a voxel in its box: ``(z * ny + y) * nx + x``. It is the name of a
    node that never depends on ordering, partition or rank count.

    Nodes are numbered group by group: group 0 holds the nodes with no link into an opening, group ``1 + k``
    those with a link into opening ``k`` (the lowest such ``k``). Inside a group voxel ids ascend.

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
