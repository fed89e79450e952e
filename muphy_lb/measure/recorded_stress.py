"""The viscous stress at the nodes that the wall shear stress follows from, in a run that records it."""

from collections.abc import Mapping

import numpy as np

from muphy_lb.measure.flow_view import FlowView, on_root, whole_nodes
from muphy_lb.measure.stress import NodeStress
from muphy_lb.measure.surface import WallSurface, wall_surface

VOXEL, STRESS = "voxel", "stress"


class RecordedStress:
    """The stress of the populations that the last step has brought and of those that the step ahead brings, their mean;
    measured once a step and kept, since the state holds only the latter. Every call is collective.

    Of a body force that accumulates in a field the state holds that of the last collision only, so the stress of either
    step takes it from the step before. A force F enters the stress by F F / (4 rho) alone: the delay is an error of
    first order in the time step, in a term of second order in that force.

    Args:
        view: the flow.
    """

    def __init__(self, view: FlowView):
        self._view, wanted = view, None
        self._surface: WallSurface | None = None
        if view.communicator.rank == 0:
            self._surface = wall_surface(whole_nodes(view), view.lattice.c)
            wanted = nodes_of_stress(self._surface)
        self._voxel = wanted
        self._probe, self._compute = view.node_probe(wanted), NodeStress(view.fluid, view.lattice)
        self._stress: np.ndarray | None = None
        self._step: int | None = None

    @property
    def surface(self) -> WallSurface:
        """All nodes adjacent to walls, on rank 0."""
        return on_root(self._surface)

    def remember(self) -> None:
        """Keep what arrives in the step ahead, which is the last one before the stress is asked for."""
        self._probe.remember()

    def at(self, voxel: np.ndarray | None) -> np.ndarray | None:
        """(6, m) stress in the present state, lattice units, at those of the nodes with voxel ids (m,), on rank 0."""
        if self._step != self._view.step_number:
            self._stress, self._step = self._probe.arriving(self._compute), self._view.step_number
        if self._stress is None or voxel is None:
            return None
        return self._stress[:, np.searchsorted(on_root(self._voxel), voxel)]

    def record(self) -> dict[str, np.ndarray]:
        """``voxel`` ids (m,) and ``stress`` (6, m) of the present state, for checkpoints, on rank 0; else empty."""
        stress = self.at(self._voxel)
        return {} if stress is None else {VOXEL: on_root(self._voxel), STRESS: stress}

    def restore(self, record: Mapping[str, np.ndarray]) -> None:
        """Take the record of the present state, given on rank 0; one of other nodes, or none, changes nothing."""
        fits = self._voxel is not None and np.array_equal(record.get(VOXEL, ()), self._voxel)
        fits = fits and STRESS in record and record[STRESS].shape == (6, record[VOXEL].size)
        if self._view.communicator.broadcast(fits):
            self._stress, self._step = record.get(STRESS) if fits else None, self._view.step_number

    def forget(self) -> None:
        """The flow is another one."""
        self._stress = self._step = None


def nodes_of_stress(surface: WallSurface) -> np.ndarray:
    """Ascending voxel ids of the nodes of a surface and of the next ones inwards."""
    return np.unique(np.concatenate((surface.voxel, surface.inner[surface.inner >= 0])))
