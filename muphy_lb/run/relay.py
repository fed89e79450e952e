"""A settled flow handed on to a finer grid of the same box, which then has little left to settle."""

import numpy as np

from muphy_lb.measure.flow_view import whole_nodes
from muphy_lb.parallel import NodeGather
from muphy_lb.run.solver import Solver


class Relay:
    """Holds the pressure and the velocity of one flow for the next.

    A voxel of the finer grid takes the mean of the coarser ones in it, by volume, those of walls counting as at rest:
    the flow through every section stays what it was, so that pressure has little to even out.
    """

    def __init__(self) -> None:
        self._shape: tuple[int, int, int] = (0, 0, 0)
        self._voxel = np.empty(0, dtype=np.int64)
        self._fields: list[np.ndarray] = []

    def start(self, simulation: Solver) -> None:
        """Start a simulation from the flow at hand, if there is one; collective."""
        communicator = simulation.communicator
        if not communicator.broadcast(bool(self._fields)):
            return
        rows = self._on(simulation) if communicator.rank == 0 else [None] * 4
        gather = NodeGather(communicator, simulation.domain.number, simulation.header.n_nodes)
        pressure, *velocity = (gather.scatter(row) for row in rows)
        units, cs2 = simulation.units, float(simulation.lattice.cs2)
        simulation.engine.start_from(
            np.asarray(units.pressure_to_density(pressure, cs2)), units.velocity_to_lattice(np.stack(velocity))
        )
        simulation.upload_schedule()
        simulation.state.initial_mass = communicator.total(simulation.engine.totals().mass)

    def take(self, simulation: Solver) -> None:
        """Hold the flow of a simulation; collective."""
        pressure, velocity = simulation.pressure_pa(), simulation.velocity_m_s()
        if pressure is None or velocity is None:
            return
        self._shape, self._voxel = simulation.header.shape, np.asarray(whole_nodes(simulation).voxel)
        self._fields = [pressure, *velocity.T]

    def _on(self, simulation: Solver) -> list[np.ndarray]:
        """The fields at the nodes of a simulation, on rank 0."""
        shape, voxel = simulation.header.shape, np.asarray(whole_nodes(simulation).voxel)
        return [self._remapped(field, shape)[voxel] for field in self._fields]

    def _remapped(self, field: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
        """A field on all voxels of the same box in another number of them, flat."""
        box = np.zeros(self._shape, dtype=field.dtype)
        box.reshape(-1)[self._voxel] = field
        for axis, n_fine in enumerate(shape):
            low, high, share = _overlaps(box.shape[axis], n_fine)
            share = share.reshape([-1 if other == axis else 1 for other in range(3)]).astype(field.dtype)
            box = share * box.take(low, axis) + (1 - share) * box.take(high, axis)
        return box.reshape(-1)


def _overlaps(n_coarse: int, n_fine: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each of ``n_fine`` voxels along an edge the first and the last of ``n_coarse`` that it overlaps, and the
    share of the first. Finer voxels overlap two at most."""
    begin = np.arange(n_fine) * n_coarse  # in units of 1 / n_fine of a coarse voxel
    low, high = begin // n_fine, np.minimum((begin + n_coarse - 1) // n_fine, n_coarse - 1)
    share = np.minimum((low + 1) * n_fine - begin, n_coarse) / n_coarse
    return low, np.where(share < 1.0, high, low), share
