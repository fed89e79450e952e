"""Memory traffic of fields other than the populations in a time step, counted from the model."""

from itertools import chain

import numpy as np

from muphy_lb.model.model import FieldValue, Model, Stage


def table_bytes(table) -> int:
    """Size of a backend's form of an address table: an array, or a tuple with arrays."""
    return sum(getattr(part, "nbytes", 0) for part in (table if isinstance(table, tuple) else (table,)))


def field_numbers(model: Model) -> tuple[int, int]:
    """Numbers per node and step, populations aside: at least, and with the neighbours of stencils.

    The minimum counts the fields and node arrays passed to node functions, each of which is read or written, and the
    old and the new value, or populations, of every advanced field. A stencil also reads the old values of neighbours,
    which are cache hits if other nodes have loaded them.
    """
    stencils = _stencils(model)
    handed = chain(model.parameters.values(), *(stage.parameters.values() for stage in stencils))
    carried = {field.name: field.streaming.lattice.q for field in model.fields if field.streaming}
    advanced = sum(2 * carried.get(stage.field, 1) for stage in stencils)
    least = sum(isinstance(value, FieldValue | np.ndarray) for value in handed) + advanced
    return least, least + sum(model.lattice.q - 1 for stage in stencils if stage.field not in carried)


def field_bytes(engine) -> int:
    """Bytes that the fields of a rank move in a step, at least: their numbers, stencil tables, extrapolated values."""
    real = np.dtype(engine.real).itemsize
    numbers = field_numbers(engine.model)[0] * engine.domain.n_nodes * real
    return numbers + sum(_stencil_bytes(engine, stage.field, real) for stage in _stencils(engine.model))


def _stencils(model: Model) -> list[Stage]:
    """The stages that advance a field by its values at neighbours: a field with a condition at its boundary."""
    advanced = {field.name for field in model.fields if field.boundary}
    return [stage for stage in model.after if stage.field in advanced]


def _stencil_bytes(engine, name: str, real: int) -> int:
    """The table, and for every extrapolated value its record, the values that it is computed from, and itself."""
    table, runs = engine.fields.table_of(name)
    (n_terms, n_values), index = table.extrapolated.index.shape, table.extrapolated.index.dtype.itemsize
    bytes_each = n_terms * (index + 2 * real) + 2 * real
    return table_bytes(runs) + n_values * bytes_each
