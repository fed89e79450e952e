"""The filling of the voxels with liquid, its mass, and the walls that it touches.

- The filling of the voxels with liquid, its mass, and where it falls.
- Walls that liquid touches: now, and at any time that was looked at.
"""

import numpy as np

from muphy_lb.domain.links import is_wall
from muphy_lb.geometry.neighbours import NeighbourSearch
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.flow_view import FlowView, PreparedView, on_root, whole_nodes
from muphy_lb.physics.free_surface.cells import CELL, FILL, INTERFACE, LIQUID, MASS
from muphy_lb.setup.force import uniform_acceleration_m_s2


def fill(view: FlowView) -> np.ndarray | None:
    """(n,) share of every voxel that is liquid, on rank 0; collective."""
    cell, share = view.model_field(CELL), view.model_field(FILL)
    if cell is None or share is None:
        return None
    return share_of_liquid(cell, share)


def share_of_liquid(cell: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The share of voxels that is liquid, from what they are and the filling of those at the surface."""
    return np.where(cell == LIQUID, 1.0, np.where(cell == INTERFACE, share, 0.0))


def liquid_mass(view: FlowView) -> np.ndarray | None:
    """(n,) mass of liquid in every voxel [lattice units], on rank 0; collective."""
    cell, held, density = view.model_field(CELL), view.model_field(MASS), view.density()
    if cell is None or held is None or density is None:
        return None
    return np.where(cell == LIQUID, density, 0.0) + held


def gravity_m_s2(view: PreparedView) -> np.ndarray:
    """(3,) uniform acceleration of the case [m/s2], on every rank."""
    return uniform_acceleration_m_s2(view.case, view.header)


CHUNK_NODES = 1 << 20


class Wetting:
    """The walls of a free surface's geometry, as faces of voxels; known on rank 0.

    Looks are taken for rows of ``free_surface.csv`` and for snapshots with the field; between them nothing is noticed.

    Attributes:
        ever: (n,) largest share of every voxel that has been liquid when it was looked at; None before.
    """

    def __init__(self) -> None:
        self.ever: np.ndarray | None = None
        self._faces: np.ndarray | None = None

    def look(self, view: FlowView, share: np.ndarray | None) -> None:
        """Take note of the share (n,) of every voxel that is liquid, which is given on rank 0."""
        if share is None:
            return
        if self._faces is None:
            self._faces = wall_faces(whole_nodes(view))
        known = np.zeros(share.size, dtype=np.float32) if self.ever is None else self.ever
        self.ever = np.maximum(known, np.where(self._faces > 0, share, 0.0).astype(np.float32))

    def areas_m2(self, view: FlowView, share: np.ndarray) -> tuple[float, float]:
        """Area of the walls that liquid touches now, and has ever touched [m2], on rank 0."""
        self.look(view, share)
        face_m2 = view.units.spacing_m**2
        return face_m2 * float(on_root(self._faces) @ share), face_m2 * float(on_root(self._faces) @ on_root(self.ever))

    def field(self, view: FlowView) -> np.ndarray | None:
        """(n,) largest share of every voxel beside walls that has been liquid, 0 elsewhere; collective."""
        self.look(view, fill(view))
        return self.ever


def wall_faces(nodes: NodeList) -> np.ndarray:
    """(n,) uint8 number of faces of every node that are walls; along axes of more than one voxel, or periodic ones."""
    search, found = NeighbourSearch(nodes), np.zeros(nodes.n_nodes, dtype=np.uint8)
    thick = [axis for axis in range(3) if nodes.shape[2 - axis] > 1 or nodes.periodic[axis]]
    vectors = np.array([sign * np.eye(3, dtype=int)[axis] for axis in thick for sign in (1, -1)])
    for first in range(0, nodes.n_nodes, CHUNK_NODES):
        chunk = slice(first, min(first + CHUNK_NODES, nodes.n_nodes))
        found[chunk] = is_wall(search.table(vectors, chunk)).sum(axis=0)
    return found
