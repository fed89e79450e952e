"""NodeProbe: populations and temperature of a few nodes of all ranks, brought to rank 0 in voxel order."""

from dataclasses import dataclass

import numpy as np

from muphy_lb.engine.probe import Probe
from muphy_lb.physics.model import FieldValue
from muphy_lb.physics.thermal.model import NAME as TEMPERATURE
from muphy_lb.physics.thermal.operators import LIFTING


@dataclass(frozen=True)
class NodeState:
    """Populations, force and temperature at m nodes, by ascending voxel id.

    Attributes:
        populations: (Q, m) float64 deviations from w_q.
        force: (3, m) body force per volume of the collision at hand, lattice units.
        temperature: (m,) kelvin above the reference; None if the flow is not thermal.
    """

    populations: np.ndarray
    force: np.ndarray
    temperature: np.ndarray | None


class NodeProbe:
    """Reads chosen nodes, whatever rank holds them; every call is collective.

    Args:
        simulation: the flow.
        voxel: (m,) ascending voxel ids of fluid nodes, on rank 0.
    """

    def __init__(self, simulation, voxel: np.ndarray | None):
        self._simulation, self._engine = simulation, simulation.engine
        wanted = simulation.communicator.broadcast(voxel)
        domain, addresses = simulation.domain, self._engine.addresses
        self._nodes = np.flatnonzero(np.isin(domain.voxel, wanted))
        self._order = self._voxel_order()
        turns = [parity % len(addresses.patterns) for parity in (0, 1)]
        before = [addresses.resolve(turn, addresses.patterns[turn].load, self._nodes) for turn in turns]
        stored = [addresses.resolve(turn - 1, addresses.places_after(turn - 1), self._nodes) for turn in turns]
        self._before, self._stored = (self._probe(places) for places in (before, stored))
        self._temperature = self._lifting = None
        if simulation.heating:
            lifting = self._engine.model.parameters[LIFTING]
            self._temperature, self._lifting = (self._probe_field(v) for v in (FieldValue(TEMPERATURE), lifting))

    def stored(self) -> NodeState | None:
        """What the nodes store: populations before the collision for push, after it for the others."""
        engine = self._engine
        engine.backend.synchronise()
        collided_from = engine.parity if engine.model.streaming == "push" else 1 - engine.parity
        return self._collect(self._read(self._stored, engine.parity), self._force(collided_from))

    def before_collision(self) -> NodeState | None:
        """What the nodes are about to collide.

        With pull it is the mean with the step before where that is still there: interpolated walls leave an oscillation
        of period two. In place, what enters through openings is not known; nodes beside openings are wrong there.
        """
        engine = self._engine
        engine.backend.synchronise()
        if engine.model.streaming != "push":
            engine.fill_slots()
        both = engine.model.streaming == "pull" and engine.steps_kept >= 1
        parities = (0, 1) if both else (engine.parity,)
        populations = np.mean([self._read(self._before, parity) for parity in parities], axis=0)
        return self._collect(populations, np.mean([self._force(parity) for parity in parities], axis=0))

    def _voxel_order(self) -> np.ndarray | None:
        """On rank 0, what sorts the gathered nodes by voxel id."""
        gathered = self._simulation.communicator.gather(self._simulation.domain.voxel[self._nodes])
        return None if gathered is None else np.argsort(np.concatenate(gathered))

    def _probe(self, addresses) -> Probe:
        flat = tuple(places.ravel() for places in addresses)
        return Probe(self._engine.backend, self._engine.buffers, flat)

    def _probe_field(self, value: FieldValue) -> Probe:
        engine = self._engine
        arrays = [engine.fields.values((value,), parity)[0] for parity in (0, 1)]
        return Probe(engine.backend, arrays, (self._nodes, self._nodes), of_field=True)

    def _read(self, probe: Probe, parity: int) -> np.ndarray:
        """(Q, k) populations of this rank's nodes."""
        q_count = self._simulation.lattice.q
        return probe.read(parity).reshape(q_count, -1) if self._nodes.size else np.zeros((q_count, 0))

    def _values(self, probe: Probe, parity: int) -> np.ndarray:
        """(k,) values of a field at this rank's nodes."""
        return probe.read(parity) if self._nodes.size else np.zeros(0)

    def _force(self, parity: int) -> np.ndarray:
        """(3, k) force on this rank's nodes in the collision that reads the fields of ``parity``."""
        operator, engine = self._simulation.force_operator, self._engine
        if self._lifting is None:
            force = operator.reference(self._nodes, engine.host_parameters())
        else:  # a whole field need not come to the host for a few nodes
            force = operator.reference(
                slice(None), (self._values(self._lifting, parity), *engine.model.parameters[LIFTING + 1 :])
            )
        force = np.asarray(force, dtype=np.float64).reshape(3, -1)
        return np.ascontiguousarray(np.broadcast_to(force, (3, self._nodes.size)))

    def _collect(self, populations: np.ndarray, force: np.ndarray) -> NodeState | None:
        thermal, rows = self._temperature is not None, (populations, force)
        if thermal:
            rows = (*rows, self._values(self._temperature, self._engine.parity))
        gathered = self._simulation.communicator.gather(rows)
        if gathered is None:
            return None
        columns = [np.concatenate(parts, axis=-1)[..., self._order] for parts in zip(*gathered, strict=True)]
        return NodeState(*columns) if thermal else NodeState(*columns, temperature=None)
