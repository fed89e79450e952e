"""Fields of a model on one rank's device: their memory, how stencils advance them, what crosses between ranks."""

import numpy as np

from muphy_lb.backends.interface import GhostArrays, NodeRange, StencilArrays
from muphy_lb.domain import LocalDomain, StencilTable, build_carried, build_stencil
from muphy_lb.parallel import Halo
from muphy_lb.parallel.exchange import bind_lines
from muphy_lb.parallel.task import ON_EDGE, ON_INTERIOR, Task
from muphy_lb.parallel.transports import Line
from muphy_lb.physics.model import Field, FieldValue, Model, Stage, row_names


class _Evolving:
    """A field that a stencil advances: two arrays, which steps use in turn."""

    def __init__(self, backend, domain: LocalDomain, model: Model, field: Field, shares):
        self._backend, self._domain = backend, domain
        self.table = _table(domain, model, field)
        self.n_rows = field.carried.lattice.q if field.carried else 1
        self.row = domain.pitch if field.carried else 0
        self.arrays = [backend.zeros(self.table.n_slots, backend.precision.real) for _ in range(2)]
        self.runs = backend.stream_table(self.table, 0)
        cut, end = self.table.n_edge_ghosts, self.table.ghosts.node.size
        self._ghosts = {ON_EDGE: self._records(0, cut), ON_INTERIOR: self._records(cut, end)}
        halo = Halo(domain.halo.neighbours, (self.table.exchange,) * 2, tuple(self.arrays))
        self.lines = bind_lines(halo, shares).lines

    def bind(self, stage: Stage, parity: int, nodes: NodeRange, parameters: tuple) -> list[Task]:
        """Ghosts of some nodes, then the nodes."""
        old, new = self.arrays[parity], self.arrays[1 - parity]
        arrays = StencilArrays(old, new, self.runs, len(self.table.vectors), self.row)
        update = self._backend.bind_stencil(stage.operators[0], arrays, nodes, parameters)
        return [*self._bind_ghosts(parity, nodes.queue), Task(stage.field, nodes.queue, update)]

    def _records(self, first: int, last: int) -> tuple[GhostArrays, int, int]:
        """Some of the ghosts on the device, and where in the field they lie."""
        backend, ghosts, real = self._backend, self.table.ghosts, self._backend.precision.real
        records = GhostArrays(
            index=backend.array(ghosts.index[:, first:last].reshape(-1)),
            weight=backend.array(ghosts.weight[:, first:last].astype(real).reshape(-1)),
            constant=backend.array(ghosts.constant[first:last].astype(real)),
        )
        return records, self.table.first_ghost + first, self.table.first_ghost + last

    def _bind_ghosts(self, parity: int, queue: str) -> list[Task]:
        (records, first, last), field = self._ghosts[queue], self.arrays[parity]
        if first == last:
            return []
        target = self._backend.view(field, first, last)
        return [Task("ghosts", queue, self._backend.bind_ghosts(field, target, records, queue))]


def _table(domain: LocalDomain, model: Model, field: Field) -> StencilTable:
    if field.carried:
        return build_carried(domain, field.carried.lattice, field.borders, field.carried.diffusivity)
    return build_stencil(domain, model.lattice.c[1:], field.borders)


class _Kept:
    """A field that node functions write and read for their own node."""

    lines, n_rows, row = (None, None), 1, 0

    def __init__(self, backend, domain: LocalDomain, is_state: bool):
        arrays = [backend.zeros(domain.pitch, backend.precision.real) for _ in range(1 + is_state)]
        self.arrays = [arrays[0], arrays[-1]]


class Fields:
    """The fields of a model.

    Args:
        backend: the device.
        domain: this rank's nodes.
        model: the physics.
        shares: which transport takes which neighbour (:class:`muphy_lb.parallel.exchange.HaloLines`).
    """

    def __init__(self, backend, domain: LocalDomain, model: Model, shares):
        self._backend, self._domain, self._arrays = backend, domain, {}
        self._bound = {
            field.name: _Evolving(backend, domain, model, field, shares)
            if field.borders
            else _Kept(backend, domain, field.is_state)
            for field in model.fields
        }
        self._rows = {
            name: (field.name, q * self._bound[field.name].row)
            for field in model.fields
            for q, name in enumerate(row_names(field.name, self._bound[field.name].n_rows))
        }
        self._state = [field.name for field in model.fields if field.borders or field.is_state]

    def values(self, parameters: tuple, parity: int) -> tuple:
        """The parameters with the arrays of fields in place of their names, before a step from ``parity``."""
        return tuple(
            self._bound[p.field].arrays[1 - parity if p.is_new else parity] if isinstance(p, FieldValue) else p
            for p in parameters
        )

    def table_of(self, name: str):
        """Of a field that advances: its table (:class:`muphy_lb.domain.StencilTable`), and that on the device."""
        return self._bound[name].table, self._bound[name].runs

    @property
    def evolving(self) -> tuple[str, ...]:
        """Names of those that are part of the state, row by row."""
        return tuple(name for name, (field, _) in self._rows.items() if field in self._state)

    def lines(self, parity: int) -> list[Line]:
        """What the fields exchange in a step."""
        return [bound.lines[parity] for bound in self._bound.values() if bound.lines[parity]]

    def bind(self, stage: Stage, parity: int, nodes: NodeRange) -> list[Task]:
        """The tasks of a stencil stage."""
        numbers = tuple(p if isinstance(p, FieldValue) else self._on_device(p) for p in stage.parameters)
        return self._bound[stage.field].bind(stage, parity, nodes, self.values(numbers, parity))

    def _on_device(self, value):
        """A number, or an array of nodes, which is copied once."""
        real = self._backend.precision.real
        if not isinstance(value, np.ndarray):
            return real(value)
        if id(value) not in self._arrays:
            padded = np.zeros(self._domain.pitch, real)
            padded[: value.size] = value
            self._arrays[id(value)] = value, self._backend.array(padded)
        return self._arrays[id(value)][1]

    def get(self, name: str, parity: int) -> np.ndarray:
        """(n,) values of a field, or of a row of one, in the state ``parity``."""
        field, first = self._rows[name]
        return self._backend.to_host(self._bound[field].arrays[parity])[first : first + self._domain.n_nodes]

    def set(self, name: str, values: np.ndarray) -> None:
        """Overwrite a field or a row of one, (n,) or (1,), also in the state before."""
        (field, first), backend, n = self._rows[name], self._backend, self._domain.n_nodes
        values = np.broadcast_to(values, n).astype(backend.precision.real)
        for array in self._bound[field].arrays:
            backend.update(backend.view(array, first, first + n), values)
