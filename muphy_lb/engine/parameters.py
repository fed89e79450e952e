"""Parameters: the values of a model's named parameters, where compiled code and the specification read them."""

from collections.abc import Mapping

import numpy as np

from muphy_lb.domain import LocalDomain
from muphy_lb.engine.fields import Fields
from muphy_lb.engine.particles import Particles
from muphy_lb.engine.timed_values import TimedValues
from muphy_lb.model.model import (
    BESIDE_WALL,
    BORDER,
    LOOKUP,
    SCHEDULED,
    STEP,
    VOXEL,
    Course,
    FieldValue,
    Provided,
    Table,
    Value,
)
from muphy_lb.operators import Operator
from muphy_lb.operators.forces import COMPONENTS
from muphy_lb.operators.operator import Parameter


class Parameters:
    """Resolves named parameters on one rank.

    Numbers and arrays of parameters in stored units are multiplied with the unit of the precision once, here; fields
    are in lattice units, and an operator that reads a field as one of these multiplies by itself.

    Args:
        fields: the model's fields, bound.
        particles: the model's particles, bound, if it has any.
        timed: values in force, of which the last three are the body force.
        courses: the model's, whose values are those ahead of the force.
    """

    def __init__(self, backend, domain: LocalDomain, fields: Fields, particles: Particles | None, timed, courses=()):
        self._backend, self._domain = backend, domain
        self._fields, self._particles = fields, particles
        self._timed: TimedValues = timed
        self._courses = tuple(courses)
        self._uploaded: dict = {}
        self.step = backend.zeros(1, np.int64)

    def values(self, operator: Operator, given: Mapping[str, Value], parity: int, in_force=None) -> tuple:
        """Values in the order of an operator's parameters, for compiled code in a step from buffer ``parity``.
        ``in_force``: device array of the values in force; those of the same step if not given."""
        if in_force is None:
            in_force = self._timed.of_step(parity)
        return tuple(self._value(each, given[each.name], parity, in_force) for each in operator.parameters)

    def on_host(self, given: Mapping[str, Value], parity: int) -> dict:
        """All values by name in lattice units, as the specification reads them."""
        return {name: self._host_value(name, value, parity) for name, value in given.items()}

    def _value(self, parameter: Parameter, value: Value, parity: int, in_force):
        if isinstance(value, FieldValue):
            if self._particles is not None and "." in value.field:
                return self._particles.column(value.field)
            return self._fields.array(value, parity)
        if isinstance(value, Provided):
            return self._provided(parameter.name, value, in_force)
        if isinstance(value, Table):
            return self._table(value.array)
        if isinstance(value, Course):
            place = self._timed.n_values - len(self._courses) + self._courses.index(value.factor)
            return self._backend.view(in_force, place, place + 1)
        return self._constant(value, self._backend.precision.unit if parameter.in_stored_units else 1.0)

    def _provided(self, name: str, value: Provided, in_force):
        backend = self._backend
        if value is STEP:
            return self.step
        if value is VOXEL:
            return self._upload(self._domain.voxel)
        if value in (LOOKUP, BORDER, BESIDE_WALL):
            if self._particles is None:
                raise ValueError(f"parameter {name!r} asks what is at a voxel, which only a model with particles knows")
            return self._particles.lookup if value is LOOKUP else self._upload(self._particles.nodes_at(value))
        first = in_force.size - len(COMPONENTS) + COMPONENTS.index(name)
        return backend.view(in_force, first, first + 1)

    def _constant(self, value, unit: float):
        """A number, or an array of nodes that is uploaded once."""
        real = self._backend.precision.real
        if isinstance(value, np.integer):
            return value
        if not isinstance(value, np.ndarray):
            return real(unit * value)
        return self._upload(value) if np.issubdtype(value.dtype, np.integer) else self._upload(value, unit, real)

    def _table(self, array: np.ndarray):
        """Device copy of a table, made once."""
        key = id(array), None
        if key not in self._uploaded:
            self._uploaded[key] = array, self._backend.array(array)
        return self._uploaded[key][1]

    def refresh(self, table: Table) -> None:
        """Update the device copy of a table whose array has changed."""
        self._backend.update(self._table(table.array), table.array)

    def _upload(self, value: np.ndarray, unit: float = 1.0, dtype=None):
        """Device copy of (n,) values, padded to the pitch."""
        key = id(value), unit
        if key not in self._uploaded:
            padded = np.zeros(self._domain.pitch, dtype or value.dtype)
            padded[: value.size] = value if dtype is None else unit * value
            self._uploaded[key] = value, self._backend.array(padded)  # the host array stays alive, and so its id
        return self._uploaded[key][1]

    def _host_value(self, name: str, value: Value, parity: int):
        backend = self._backend
        if isinstance(value, FieldValue):
            return self._fields.host_value(value, parity)
        if value is SCHEDULED:
            in_force = backend.to_host(self._timed.of_step(parity))[-len(COMPONENTS) :]
            return in_force[COMPONENTS.index(name) :][:1].astype(np.float64) / backend.precision.unit
        if value is STEP:
            return backend.to_host(self.step)
        if isinstance(value, Table):
            return value.array
        return self._domain.voxel if value is VOXEL else value
