"""Fields of a model on one rank's device: their memory, how stencils advance them, what crosses between ranks."""

import numpy as np

from muphy_lb.backends.interface import GhostArrays, NodeRange, StencilArrays
from muphy_lb.domain import LocalDomain, build_stencil
from muphy_lb.parallel import Halo
from muphy_lb.parallel.exchange import bind_lines
from muphy_lb.parallel.task import ON_EDGE, ON_INTERIOR, Task
from muphy_lb.parallel.transports import Line
from muphy_lb.physics.model import Field, FieldValue, Model, Stage


class _Evolving:
    """A field that a stencil advances: two arrays, which steps use in turn."""

    def __init__(self, backend, domain: LocalDomain, model: Model, field: Field, shares):
        self._backend, self._domain = backend, domain
        self.table = build_stencil(domain, model.lattice.c[1:], field.borders)
        self.arrays = [backend.zeros(self.table.n_slots, backend.precision.real) for _ in range(2)]
        self._runs = backend.stream_table(self.table, 0)
        halo = Halo(domain.halo.neighbours, (self.table.exchange,) * 2, tuple(self.arrays))
        self.lines = bind_lines(halo, shares).lines

    def bind(self, stage: Stage, parity: int, nodes: NodeRange, parameters: tuple) -> list[Task]:
        """Ghosts of some nodes, then the nodes."""
        old, new = self.arrays[parity], self.arrays[1 - parity]
        arrays = StencilArrays(old, new, self._runs, len(self.table.vectors))
        update = self._backend.bind_stencil(stage.operators[0], arrays, nodes, parameters)
        name, queue = (stage.field, ON_EDGE) if nodes.is_edge else (stage.field, ON_INTERIOR)
        return [*self._bind_ghosts(parity, nodes.is_edge, queue), Task(name, queue, update)]

    def _bind_ghosts(self, parity: int, is_edge: bool, queue: str) -> list[Task]:
        table, backend, ghosts = self.table, self._backend, self.table.ghosts
        chosen = slice(0, table.n_edge_ghosts) if is_edge else slice(table.n_edge_ghosts, ghosts.node.size)
        if chosen.start == chosen.stop:
            return []
        real = backend.precision.real
        records = GhostArrays(
            index=backend.array(ghosts.index[:, chosen].reshape(-1)),
            weight=backend.array(ghosts.weight[:, chosen].astype(real).reshape(-1)),
            constant=backend.array(ghosts.constant[chosen].astype(real)),
        )
        field = self.arrays[parity]
        target = backend.view(field, table.first_ghost + chosen.start, table.first_ghost + chosen.stop)
        return [Task("ghosts", queue, backend.bind_ghosts(field, target, records, is_edge))]


class _Kept:
    """A field that node functions write and read for their own node."""

    lines = (None, None)

    def __init__(self, backend, domain: LocalDomain):
        self.arrays = [backend.zeros(domain.pitch, backend.precision.real)] * 2


class Fields:
    """The fields of a model.

    Args:
        backend: the device.
        domain: this rank's nodes.
        model: the physics.
        shares: which transport takes which neighbour (:class:`muphy_lb.parallel.exchange.HaloLines`).
    """

    def __init__(self, backend, domain: LocalDomain, model: Model, shares):
        self._backend, self._domain = backend, domain
        self._bound = {
            field.name: _Evolving(backend, domain, model, field, shares) if field.borders else _Kept(backend, domain)
            for field in model.fields
        }

    def values(self, parameters: tuple, parity: int) -> tuple:
        """The parameters with the arrays of fields in place of their names, before a step from ``parity``."""
        return tuple(self._bound[p.field].arrays[parity] if isinstance(p, FieldValue) else p for p in parameters)

    def lines(self, parity: int) -> Line | None:
        """What all fields exchange in a step, None without neighbours."""
        lines = [bound.lines[parity] for bound in self._bound.values() if bound.lines[parity]]
        return sum(lines, Line()) if lines else None

    def bind(self, stage: Stage, parity: int, nodes: NodeRange) -> list[Task]:
        """The tasks of a stencil stage."""
        real = self._backend.precision.real
        numbers = tuple(p if isinstance(p, FieldValue) else real(p) for p in stage.parameters)
        return self._bound[stage.field].bind(stage, parity, nodes, self.values(numbers, parity))

    def get(self, name: str, parity: int) -> np.ndarray:
        """(n,) values of a field in the state ``parity``."""
        return self._backend.to_host(self._bound[name].arrays[parity])[: self._domain.n_nodes]

    def set(self, name: str, values: np.ndarray) -> None:
        """Overwrite a field, (n,) or (1,), also in the state before."""
        for array in self._bound[name].arrays:
            whole = np.zeros(array.size, self._backend.precision.real)
            whole[: self._domain.n_nodes] = values
            self._backend.update(array, whole)
