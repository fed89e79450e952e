"""Parameters of a model where node functions read them: numbers, arrays of nodes, what is scheduled, and fields."""

import numpy as np

from muphy_lb.engine.fields import Fields
from muphy_lb.physics.model import SCHEDULED, FieldValue, Model


class Parameters:
    """The parameters of one rank, the force in stored units.

    Args:
        backend: the device.
        model: the physics.
        fields: its fields, bound.
        now: device array of the values in force, of which the last three are the force.
        room: how many nodes a buffer has room for; arrays are as long.
    """

    def __init__(self, backend, model: Model, fields: Fields, now, room: int):
        self._backend, self._model, self._fields, self._now, self._room = backend, model, fields, now, room
        self._bound = tuple(self._on_device())

    def stepping(self, parity: int) -> tuple:
        """As a step from ``parity`` reads them."""
        return self._fields.values(self._bound, parity)

    def measuring(self, parity: int) -> tuple:
        """As the collision read them that left the state ``parity``: for its moments."""
        return self._fields.values(self._bound, parity if self._model.streaming == "push" else 1 - parity)

    def on_host(self, parity: int) -> tuple:
        """As the specification reads them."""
        unit = self._backend.precision.unit
        scheduled = iter((self._backend.to_host(self._now)[-3:].astype(np.float64) / unit).reshape(3, 1))
        present = (next(scheduled) if value is SCHEDULED else value for value in self._model.parameters)
        return tuple(self._fields.get(v.field, parity) if isinstance(v, FieldValue) else v for v in present)

    def _on_device(self):
        backend, parameters = self._backend, self._model.parameters
        place, n_rates = self._now.size - 3, len(parameters) - 3
        for k, value in enumerate(parameters):
            unit = 1.0 if k < n_rates else backend.precision.unit
            if value is SCHEDULED:
                yield backend.view(self._now, place, place + 1)
                place += 1
            elif isinstance(value, FieldValue):
                yield value
            elif isinstance(value, np.ndarray):
                padded = np.zeros(self._room, backend.precision.real)
                padded[: value.size] = unit * value
                yield backend.array(padded)
            else:
                yield backend.precision.real(unit * value)
