"""The launches of a model's stages over nodes and over particles."""

from collections.abc import Callable
from dataclasses import replace

from muphy_lb.backends.arrays import Advanced, Chosen, Coupling, DragArrays, NeighbourTable, NodeAccess, NodeRange
from muphy_lb.model.model import ARRIVING, COLLECT, DRAG, REFILL, STORED, VELOCITIES, FieldValue, Stage, Where
from muphy_lb.parallel.task import ON_INTERIOR, Task


class StageBinder:
    """Binds stages to launches. ``bulk_is_apart``: whether the bulk of the interior collides by itself, and its other
    nodes behind the crossing."""

    def __init__(self, engine, bulk_is_apart: bool):
        self._engine, self._backend, self._bulk_is_apart = engine, engine.backend, bulk_is_apart
        self._binders: dict[str, Callable] = {
            "at_nodes": self._at_nodes,
            VELOCITIES: self._velocities,
            COLLECT: self._collect,
            "moments": self._moments,
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
        binder = self._binders.get(self._engine.model.kernel_of(stage))
        if binder is None:
            update, arrays, values = self.advanced(stage, parity)
            launch = self._backend.bind("advance", update, arrays, self._chosen(nodes, stage, parity), values)
            return [*self._engine.fields.bind_beyond(stage, parity, nodes), Task(stage.name, nodes.queue, launch)]
        return [Task(stage.name, nodes.queue, launch) for launch in binder(stage, parity, nodes)]

    def advanced(self, stage: Stage, parity: int) -> Advanced:
        """The field of a stage that advances one."""
        return self._engine.fields.advanced_by(stage, parity, self._values(stage, parity))

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

    def _at_nodes(self, stage: Stage, parity: int, nodes: NodeRange):
        engine, edge, collision = self._engine, self._edge_of(nodes), None
        is_last = engine.model.between[-1:] == (stage,)
        if is_last and self._bulk_is_apart and nodes.queue == ON_INTERIOR:
            collide = engine.model.collision
            collision = collide, engine.parameters.values(collide, engine.model.parameters, parity)
        yield self.bind_at_nodes(stage, parity, nodes, collision)
        if len(stage.operators) > 1 and edge:
            yield self.bind_at_nodes(stage, parity, edge, k=1)

    def bind_at_nodes(self, stage: Stage, parity: int, nodes: NodeRange, collision: tuple | None = None, k: int = 0):
        """Launch of the operator k of a stage whose kernel is composed over some nodes, which then collide, given an
        operator and its values."""
        engine, reads = self._engine, stage.reads
        access = NodeAccess(
            arriving=engine.stream_arrays(parity) if ARRIVING in reads else None,
            stored=engine.state(1 - parity if stage in engine.model.after else parity) if STORED in reads else None,
            neighbours=self._table() if stage.reads_at_neighbours else None,
            changes=ARRIVING in stage.writes,
        )
        chosen, values = nodes if k else self._chosen(nodes, stage, parity), self._values(stage, parity, k)
        return self._backend.bind("at_nodes", stage.operators[k], access, chosen, values, collision)

    def _collect(self, stage: Stage, parity: int, nodes: NodeRange):
        if self._backend.makes_lists:
            collected = self._engine.fields.collected
            target, counters = collected.made(stage.name, nodes, parity), collected.counters(stage.name, nodes)
            yield self._backend.bind(COLLECT, self._chosen(nodes, stage, parity), target, counters)

    def _velocities(self, stage: Stage, parity: int, nodes: NodeRange):
        engine, (name,) = self._engine, stage.writes
        if stage.where is None or engine.fields.exchange((name,), parity).tasks:
            out, values = engine.fields.array(FieldValue(name), parity), self._values(stage, parity)
            arrays, chosen = engine.stream_arrays(parity), self._chosen(nodes, stage, parity)
            yield self._backend.bind(VELOCITIES, stage.operators[0], arrays, chosen, out, values)

    def _drag(self, stage: Stage, parity: int) -> Task:
        engine, fields, marks = self._engine, self._engine.fields, self._where(stage.where, parity)
        particles, capacity = engine.particles.of_set(stage.over)
        (name,) = stage.reads_at_neighbours
        flow, *pushed = (fields.array(FieldValue(each), parity) for each in (name, *stage.writes))
        arrays = DragArrays(
            step=engine.stream_arrays(parity),
            lookup=engine.particles.lookup,
            flow=flow,
            pushed=pushed[0] if pushed else marks.array,
            marks=marks.array,
            mask=marks.mask,
            coupling=Coupling(stage.nearest, engine.model.fills_everywhere(name), pushes=bool(pushed)),
        )
        values = tuple(self._values(stage, parity, k) for k in range(3))
        return Task(
            stage.name, ON_INTERIOR, self._backend.bind(DRAG, stage.operators, particles, capacity, arrays, values)
        )

    def _moments(self, stage: Stage, parity: int, nodes: NodeRange):
        edge = self._edge_of(nodes)
        if edge:
            state, values = self._engine.state(1 - parity), self._values(stage, parity)
            own = self._engine.fields.moments(stage.writes[0]).own
            yield self._backend.bind("moments", stage.operators[0], state, edge, own, values)

    def _refill(self, stage: Stage, parity: int, nodes: NodeRange):
        _, others, first = self._engine.fields.moments(stage.reads_at_neighbours[-1])
        values = tuple(self._values(stage, parity, k) for k in range(2))
        sources = self._where(stage.sources, parity)
        arrays = self._engine.state(1 - parity), self._table(), sources, (first, others)
        yield self._backend.bind(REFILL, stage.operators, *arrays, self._chosen(nodes, stage, parity), values)
