"""NodeProbe: populations and fields of a few nodes of all ranks, brought to rank 0 in voxel order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from muphy_lb.engine.engine import Engine
from muphy_lb.engine.probe import Probe
from muphy_lb.operators import Operator
from muphy_lb.physics.model import FieldValue


@dataclass(frozen=True)
class NodeState:
    """Populations, force and fields at m nodes, by ascending voxel id.

    Attributes:
        populations: (Q, m) float64 deviations from w_q.
        force: (3, m) body force per volume of the collision at hand, lattice units.
        fields: (m,) values of fields of the model as they are stored, by name.
    """

    populations: np.ndarray
    force: np.ndarray
    fields: Mapping[str, np.ndarray]


class NodeProbe:
    """Reads chosen nodes, whatever rank holds them; every call is collective.

    Args:
        engine: the flow on this rank.
        communicator: the ranks.
        voxel: (m,) ascending voxel ids of fluid nodes, on rank 0.
        force: the force operator of the model.
        fields: names of the model's fields to read, too.
    """

    def __init__(
        self, engine: Engine, communicator, voxel: np.ndarray | None, force: Operator, fields: Sequence[str] = ()
    ):
        self._engine, self._communicator, self._operator = engine, communicator, force
        domain, addresses = engine.domain, engine.addresses
        self._nodes = np.flatnonzero(np.isin(domain.voxel, communicator.broadcast(voxel)))
        self._order = self._voxel_order()
        turns = [parity % len(addresses.patterns) for parity in (0, 1)]
        before = [addresses.resolve(turn, addresses.patterns[turn].load, self._nodes) for turn in turns]
        stored = [addresses.resolve(turn - 1, addresses.places_after(turn - 1), self._nodes) for turn in turns]
        self._before, self._stored = (self._probe(places) for places in (before, stored))
        self._fields = {name: self._probe_field(FieldValue(name)) for name in fields}
        read = {value for value in engine.model.parameters if isinstance(value, FieldValue)}
        self._parameters = {value: self._probe_field(value) for value in read}

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
        gathered = self._communicator.gather(self._engine.domain.voxel[self._nodes])
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
        q_count = self._engine.model.lattice.q
        return probe.read(parity).reshape(q_count, -1) if self._nodes.size else np.zeros((q_count, 0))

    def _values(self, probe: Probe, parity: int) -> np.ndarray:
        """(k,) values of a field at this rank's nodes."""
        return probe.read(parity) if self._nodes.size else np.zeros(0)

    def _force(self, parity: int) -> np.ndarray:
        """(3, k) force on this rank's nodes in the collision that reads the fields of ``parity``."""
        if self._parameters:
            force = self._operator.reference(slice(None), self._parameters_at_nodes(parity))
        else:
            force = self._operator.reference(self._nodes, self._engine.host_parameters())
        force = np.asarray(force, dtype=np.float64).reshape(3, -1)
        return np.ascontiguousarray(np.broadcast_to(force, (3, self._nodes.size)))

    def _parameters_at_nodes(self, parity: int) -> tuple:
        """The model's parameters with values at the nodes only: a whole field need not come to the host for a few."""
        found = []
        for value in self._engine.model.parameters:
            if isinstance(value, FieldValue):
                found.append(self._values(self._parameters[value], parity))
            else:
                found.append(value[self._nodes] if isinstance(value, np.ndarray) else value)
        return tuple(found)

    def _collect(self, populations: np.ndarray, force: np.ndarray) -> NodeState | None:
        fields = [self._values(probe, self._engine.parity) for probe in self._fields.values()]
        gathered = self._communicator.gather((populations, force, *fields))
        if gathered is None:
            return None
        columns = [np.concatenate(parts, axis=-1)[..., self._order] for parts in zip(*gathered, strict=True)]
        return NodeState(*columns[:2], dict(zip(self._fields, columns[2:], strict=True)))
