"""The filling of the voxels with liquid, its mass, where it falls, and the walls that it touches: now, and at any time
that was looked at."""

from typing import NamedTuple

import numpy as np

from muphy_lb.domain.links import is_wall
from muphy_lb.engine.transfers import NodeMoments, NodeValues
from muphy_lb.geometry.neighbours import NeighbourSearch
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.flow_view import EngineView, FlowView, PreparedView, whole_nodes
from muphy_lb.measure.node_probe import NodeProbe
from muphy_lb.parallel import agreed_on_root
from muphy_lb.physics.free_surface.cells import CELL, FILL, INTERFACE, MASS, is_liquid
from muphy_lb.setup.force import uniform_acceleration_m_s2


def fill(view: FlowView) -> np.ndarray | None:
    """(n,) share of every voxel that is liquid, on rank 0; collective."""
    cell, share = view.model_field(CELL), view.model_field(FILL)
    if cell is None or share is None:
        return None
    return share_of_liquid(cell, share)


def share_of_liquid(cell: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The share of voxels that is liquid, from what they are and the filling of those at the surface."""
    return np.where(is_liquid(cell), 1.0, np.where(cell == INTERFACE, share, 0.0))


def liquid_mass(view: FlowView) -> np.ndarray | None:
    """(n,) mass of liquid in every voxel [lattice units], on rank 0; collective."""
    cell, held, density = view.model_field(CELL), view.model_field(MASS), view.density()
    if cell is None or held is None or density is None:
        return None
    return np.where(is_liquid(cell), density, 0.0) + held


class Liquid(NamedTuple):
    """The liquid of a moment: numbers (k,) of the nodes with some, their filling (k,), and velocity (k, 3) [m/s]; for
    all nodes, of which there are ``n_nodes``, see :meth:`spread`."""

    n_nodes: int
    number: np.ndarray
    fill: np.ndarray
    velocity_m_s: np.ndarray

    def spread(self) -> tuple[np.ndarray, np.ndarray]:
        """(n,) filling and (n, 3) velocity of all nodes [m/s], 0 where there is no liquid."""
        fill = np.zeros(self.n_nodes, self.fill.dtype)
        velocity = np.zeros((self.n_nodes, 3), self.velocity_m_s.dtype)
        fill[self.number], velocity[self.number] = self.fill, self.velocity_m_s
        return fill, velocity


class Snapshot:
    """The liquid of the present step, copied once for all that show it; nothing is copied of nodes without."""

    def __init__(self, view: EngineView):
        self._view, self._step = view, -1
        self._found: Liquid | None = None

    def now(self) -> Liquid | None:
        """The liquid of the present step, on rank 0; collective."""
        if self._step != self._view.step_number:
            self._step = self._view.step_number
            self._found = self._copied()
        return self._found

    def forget(self) -> None:
        """Copy the present step again: the flow has been changed."""
        self._step = -1

    def _copied(self) -> Liquid | None:
        view, engine = self._view, self._view.engine
        cell = view.local_field(CELL)
        nodes = np.flatnonzero(cell)
        share = NodeValues(engine, nodes).field(FILL, engine.parity).astype(engine.real)
        share, velocity = share_of_liquid(cell[nodes], share), NodeMoments(engine, nodes).read()[1:]
        gathered = view.communicator.gather((engine.domain.number[nodes], share, velocity))
        if gathered is None:
            return None
        number, share, velocity = (np.concatenate(parts, axis=-1) for parts in zip(*gathered, strict=True))
        order = np.argsort(number, kind="stable")
        order = order[share[order] > 0.0]
        velocity_m_s = view.units.velocity_to_si(np.ascontiguousarray(velocity[:, order].T))
        return Liquid(view.header.n_nodes, number[order], share[order], velocity_m_s)


def gravity_m_s2(view: PreparedView) -> np.ndarray:
    """(3,) uniform acceleration of the case [m/s2], on every rank."""
    return uniform_acceleration_m_s2(view.case, view.header)


CHUNK_NODES = 1 << 20


class Wetting:
    """The walls of a free surface's geometry, as faces of voxels; known on rank 0.

    Looks are taken for rows of ``free_surface.csv`` and for snapshots with the field; between them nothing is noticed.
    Only what is beside walls is read.
    """

    def __init__(self) -> None:
        self._probe: NodeProbe | None = None
        self._given: np.ndarray | None = None  # what is known before the first look
        self._n_nodes, self._number, self._faces = 0, np.empty(0, np.int64), np.empty(0, np.uint8)
        self._share, self._largest = np.empty(0), np.empty(0, np.float32)

    @property
    def ever(self) -> np.ndarray | None:
        """(n,) largest share of every voxel beside walls that has been liquid when it was looked at, 0 elsewhere, on
        rank 0; None before."""
        if not self._n_nodes:
            return self._given
        found = np.zeros(self._n_nodes, dtype=np.float32)
        found[self._number] = self._largest
        return found

    def restore(self, ever: np.ndarray) -> None:
        """Continue from what was known, (n,)."""
        self._given = np.asarray(ever, dtype=np.float32)
        self._largest = self._given[self._number]

    def look(self, view: FlowView) -> None:
        """Take note of what is liquid beside walls; collective."""
        found = self.prepared(view).fields()
        if found is not None:
            self._share = share_of_liquid(found[CELL], found[FILL])
            self._largest = np.maximum(self._largest, self._share.astype(np.float32))

    def prepared(self, view: FlowView) -> NodeProbe:
        """The reader of the nodes beside walls, which are found once; collective."""
        if self._probe is None:
            self._probe = view.node_probe(agreed_on_root(view.communicator, lambda: self._find(view)), (CELL, FILL))
        return self._probe

    def _find(self, view: FlowView) -> np.ndarray:
        """The ascending voxel ids of the nodes beside walls."""
        nodes = whole_nodes(view)
        faces = wall_faces(nodes)
        number = np.flatnonzero(faces)
        self._number = number[np.argsort(nodes.voxel[number])]
        self._n_nodes, self._faces = nodes.n_nodes, faces[self._number]
        known = np.zeros(nodes.n_nodes, np.float32) if self._given is None else self._given
        self._largest = known[self._number]
        return nodes.voxel[self._number]

    def areas_m2(self, view: FlowView) -> tuple[float, float]:
        """Area of the walls that liquid touches now, and has ever touched [m2], on rank 0; collective."""
        self.look(view)
        face_m2, faces = view.units.spacing_m**2, self._faces.astype(np.float64)
        return face_m2 * float(faces @ self._share), face_m2 * float(faces @ self._largest)

    def field(self, view: FlowView) -> np.ndarray | None:
        """(n,) largest share of every voxel beside walls that has been liquid, 0 elsewhere; collective."""
        self.look(view)
        return None if view.communicator.rank else self.ever


def wall_faces(nodes: NodeList) -> np.ndarray:
    """(n,) uint8 number of faces of every node that are walls; along axes of more than one voxel, or periodic ones."""
    search, found = NeighbourSearch(nodes), np.zeros(nodes.n_nodes, dtype=np.uint8)
    thick = [axis for axis in range(3) if nodes.shape[2 - axis] > 1 or nodes.periodic[axis]]
    vectors = np.array([sign * np.eye(3, dtype=int)[axis] for axis in thick for sign in (1, -1)])
    for first in range(0, nodes.n_nodes, CHUNK_NODES):
        chunk = slice(first, min(first + CHUNK_NODES, nodes.n_nodes))
        found[chunk] = is_wall(search.table(vectors, chunk)).sum(axis=0)
    return found
