"""NodeValues: fields and body force at selected nodes of a rank, copied to the host."""

import numpy as np

from muphy_lb.engine.probe import Probe
from muphy_lb.model.model import FieldValue


class NodeValues:
    """Reads values at selected nodes without copying whole fields to the host.

    Args:
        engine: engine of the rank.
        nodes: (k,) local nodes.
    """

    def __init__(self, engine, nodes: np.ndarray):
        self._engine, self._nodes = engine, nodes
        self._probes: dict[str, Probe] = {}

    def field(self, name: str, parity: int) -> np.ndarray:
        """(k,) values of a field in the state ``parity``, (RECORD k,) of a vector."""
        if not self._nodes.size:
            return np.zeros(0)
        if name not in self._probes:
            arrays = [self._engine.fields.array(FieldValue(name), side) for side in (0, 1)]
            addresses = self._engine.fields.addresses(name, self._nodes)
            self._probes[name] = Probe(self._engine.backend, arrays, (addresses, addresses), of_field=True)
        return self._probes[name].read(parity)

    def force(self, parity: int) -> np.ndarray:
        """(3, k) body force per volume, lattice units, in the collision of a step from buffer ``parity``.

        A share from a field that accumulates is always that of the last collision: the step ahead adds up its own
        between streaming and collision.
        """
        return np.ascontiguousarray(np.broadcast_to(self.force_numbers(parity), (3, self._nodes.size)))

    def force_numbers(self, parity: int) -> np.ndarray:
        """The same, (3, 1) where it is uniform."""
        engine, operator = self._engine, self._engine.model.force
        given = {parameter.name: engine.model.parameters[parameter.name] for parameter in operator.parameters}
        values = {name: self._value(name, value, parity) for name, value in given.items()}
        force = operator.reference(np.arange(self._nodes.size), values)
        return np.asarray(force, dtype=np.float64).reshape(3, -1)

    def _value(self, name: str, value, parity: int):
        if isinstance(value, FieldValue):
            return self.field(value.field, 1 - parity if value.is_new else parity)
        if isinstance(value, np.ndarray):
            return value[self._nodes]
        return self._engine.parameters.on_host({name: value}, parity)[name]
