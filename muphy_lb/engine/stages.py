"""The launches of a model's stages over nodes and over particles."""

from collections.abc import Callable
from dataclasses import replace

from muphy_lb.backends.arrays import Chosen, Coupling, DragArrays, NeighbourTable, NodeRange
from muphy_lb.model.model import (
    ARRIVING,
    CLEAR,
    COLLECT,
    CROSSING,
    DRAG,
    EACH,
    MOMENTS,
    NEIGHBOURS,
    REFILL,
    STORED,
    FieldValue,
    Stage,
    Where,
)
from muphy_lb.parallel.task import ON_INTERIOR, Task


class StageBinder:
    """Binds stages to launches. ``bulk_is_apart``: whether the bulk of the interior collides by itself, and its other
    nodes behind the crossing."""

    def __init__(self, engine, bulk_is_apart: bool):
        self._engine, self._backend, self._bulk_is_apart = engine, engine.backend, bulk_is_apart
        self._binders: dict[object, Callable] = {
            ARRIVING: self._arriving,
            COLLECT: self._collect,
            NEIGHBOURS: self._neighbours,
            EACH: self._each,
            CLEAR: self._clear,
            CROSSING: self._crossing,
            STORED: self._stored,
            MOMENTS: self._moments,
            REFILL: self._refill,
        }

    def bind_particles(self, stage: Stage, parity: int) -> list[Task]:
        """Tasks of a stage over particles in a step from buffer ``parity``."""
        if stage.kernel == DRAG:
            return [self._drag(stage, parity)]
        given = (self._values(stage, parity, k) for k in range(len(stage.operators)))
        return self._engine.particles.bind(stage, parity, next(given, ()))

    def bind(self, stage: Stage, parity: int, nodes: NodeRange) -> list[Task]:
        """Tasks of a stage over some nodes in a step from buffer ``parity``."""
        if stage.only_edge:
            edge = self._edge_of(nodes)
            if edge is None:
                return []
            nodes = edge
        if stage.for_others and not self._engine.fields.exchange(stage.field, parity):
            return []
        binder = self._binders.get(stage.kernel)
        if binder:
            return [Task(stage.name, nodes.queue, launch) for launch in binder(stage, parity, nodes)]
        if stage.field:
            return self._engine.fields.bind_advance(stage, parity, nodes, self._values(stage, parity))
        launch = self._backend.bind(stage.kernel, stage.operators[0], nodes, self._values(stage, parity))
        return [Task(stage.name, nodes.queue, launch)]

    def _edge_of(self, nodes: NodeRange) -> NodeRange | None:
        """The edge nodes of the range; None without any."""
        n_edge = self._engine.domain.n_edge
        return replace(nodes, last=min(nodes.last, n_edge)) if nodes.first < n_edge else None

    def _values(self, stage: Stage, parity: int, k: int = 0) -> tuple:
        """Values of the parameters of one of a stage's operators."""
        return self._engine.parameters.values(stage.operators[k], stage.parameters, parity)

    def _where(self, where: Where | None, parity: int) -> Chosen:
        if where is None:
            raise ValueError("the stage needs to be told at which nodes")
        return Chosen(self._engine.fields.array(FieldValue(where.field), parity), where.mask)

    def _chosen(self, nodes: NodeRange, stage: Stage, parity: int) -> NodeRange:
        """The nodes of a range at which a stage runs."""
        if stage.where is None:
            return nodes
        where, name = self._where(stage.where, parity), stage.where.among
        if name:
            where = where._replace(among=self._engine.fields.collected.known_to(stage.name, name, nodes, parity))
        return replace(nodes, where=where)

    def _table(self) -> NeighbourTable:
        table = self._engine.fields.neighbours
        if table is None:
            raise ValueError(f"the model {self._engine.model.name!r} has no field that is read at neighbours")
        return table

    def _neighbours(self, stage: Stage, parity: int, nodes: NodeRange):
        table, chosen = self._table(), self._chosen(nodes, stage, parity)
        yield self._backend.bind(NEIGHBOURS, stage.operators[0], table, chosen, self._values(stage, parity))
        edge = self._edge_of(nodes)
        if len(stage.operators) > 1 and edge:
            yield self._backend.bind(NEIGHBOURS, stage.operators[1], table, edge, self._values(stage, parity, 1))

    def _each(self, stage: Stage, parity: int, nodes: NodeRange):
        chosen = self._chosen(nodes, stage, parity)
        yield self._backend.bind(EACH, stage.operators[0], chosen, self._values(stage, parity))

    def _clear(self, stage: Stage, parity: int, nodes: NodeRange):
        field = self._engine.fields.array(FieldValue(stage.field), parity)
        yield self._backend.bind(CLEAR, self._chosen(nodes, stage, parity), stage.kept, field)

    def _collect(self, stage: Stage, parity: int, nodes: NodeRange):
        if self._backend.makes_lists:
            collected = self._engine.fields.collected
            target, counters = collected.made(stage.name, nodes, parity), collected.counters(stage.name, nodes)
            yield self._backend.bind(COLLECT, self._chosen(nodes, stage, parity), target, counters)

    def _arriving(self, stage: Stage, parity: int, nodes: NodeRange):
        values = self._values(stage, parity)
        out = self._engine.fields.array(FieldValue(stage.field), parity)
        arrays, chosen = self._engine.stream_arrays(parity), self._chosen(nodes, stage, parity)
        yield self._backend.bind(ARRIVING, stage.operators[0], arrays, chosen, out, values)

    def _drag(self, stage: Stage, parity: int) -> Task:
        engine, fields, marks = self._engine, self._engine.fields, self._where(stage.where, parity)
        particles, capacity = engine.particles.of_set(stage.over)
        flow, *pushed = (fields.array(FieldValue(name), parity) for name in (stage.field, *stage.writes))
        arrays = DragArrays(
            step=engine.stream_arrays(parity),
            lookup=engine.particles.lookup,
            flow=flow,
            pushed=pushed[0] if pushed else marks.array,
            marks=marks.array,
            mask=marks.mask,
            coupling=Coupling(stage.nearest, stage.takes_field, pushes=bool(pushed)),
        )
        values = tuple(self._values(stage, parity, k) for k in range(3))
        return Task(
            stage.name, ON_INTERIOR, self._backend.bind(DRAG, stage.operators, particles, capacity, arrays, values)
        )

    def _crossing(self, stage: Stage, parity: int, nodes: NodeRange):
        engine = self._engine
        collision: tuple | None = None
        if self._bulk_is_apart and nodes.queue == ON_INTERIOR:
            collide = engine.model.collision
            collision = collide, engine.parameters.values(collide, engine.model.parameters, parity)
        yield self.bind_crossing(stage, parity, nodes, collision)

    def bind_crossing(self, stage: Stage, parity: int, nodes: NodeRange, collision: tuple | None = None):
        """Launch of a ``CROSSING`` stage over some nodes, which then collide, given an operator and its values."""
        engine, chosen = self._engine, self._chosen(nodes, stage, parity)
        arrays = engine.stream_arrays(parity), engine.state(parity), self._table()
        return self._backend.bind(CROSSING, stage.operators[0], *arrays, chosen, self._values(stage, parity), collision)

    def _stored(self, stage: Stage, parity: int, nodes: NodeRange):
        state, values = self._engine.state(1 - parity), self._values(stage, parity)
        chosen = self._chosen(nodes, stage, parity)
        yield self._backend.bind(STORED, stage.operators[0], state, self._table(), chosen, values)

    def _moments(self, stage: Stage, parity: int, nodes: NodeRange):
        edge = self._edge_of(nodes)
        if edge:
            state, values = self._engine.state(1 - parity), self._values(stage, parity)
            own = self._engine.fields.moments(stage.field).own
            yield self._backend.bind(MOMENTS, stage.operators[0], state, edge, own, values)

    def _refill(self, stage: Stage, parity: int, nodes: NodeRange):
        _, others, first = self._engine.fields.moments(stage.field)
        values = tuple(self._values(stage, parity, k) for k in range(2))
        sources = self._where(stage.sources, parity)
        arrays = self._engine.state(1 - parity), self._table(), sources, (first, others)
        yield self._backend.bind(REFILL, stage.operators, *arrays, self._chosen(nodes, stage, parity), values)
