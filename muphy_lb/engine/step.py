"""The tasks of a time step, derived from what the streaming orders and what the model's stages read and write, and
their launches: one per task at first, as few as possible once they are recorded.

Openings and packing write to edge nodes and slots only. Walls and edge behind the messages read what the interior wrote
in the step before, and the edge overwrites what it read, so they wait for it; the interior waits likewise. Where
openings run beside the messages, what reads their slots waits for them: edge and walls.

A stage joins the pass of the stages ahead of it, interior behind interior and edge behind edge; the first pass is the
flow's own. Where it reads at neighbours what was written in the same step, a new pass begins, with an exchange of that
field ahead of its edge; where a pass behind the writing has an exchange, the field crosses with it. The interior of a
pass runs beside these messages.

The bulk of the interior, if the model has one, collides on a queue of its own, from the start of the step on; the other
nodes of the interior do with the stage between. The interior waits for the bulk at the first pass that is not beside
it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from muphy_lb.backends.arrays import Advanced, NodeRange
from muphy_lb.backends.interface import Launch
from muphy_lb.domain.streaming import EDGE, INTERIOR, OPENINGS, PAUSE, RECEIVE, SEND, WALLS
from muphy_lb.engine.stages import StageBinder
from muphy_lb.model.model import ARRIVING, NODES, VELOCITIES, Field, Model, Stage, Where
from muphy_lb.parallel.task import (
    ON_BULK,
    ON_EDGE,
    ON_INTERIOR,
    ON_OPENINGS,
    Task,
    ordering,
    plain,
    recorded,
    recorded_cycle,
    without_repeats,
)
from muphy_lb.parallel.transports import ExchangeTasks


class StepKind(NamedTuple):
    """Properties by which steps differ."""

    parity: int  #: the buffer from which it goes
    has_schedule: bool = False  #: whether values are taken from the schedule's next row first
    phase: int = 0  #: number of the step in the period of the conditions with feedback
    is_frozen: bool = False  #: whether the flow stays as it is, and only the stages beside it act


class Pass:
    """Stages that need no exchange between them, and the fields that are exchanged ahead of them; either all of them
    run beside the bulk, or none does."""

    def __init__(self, over: str = NODES):
        self.over = over
        self.exchanged: tuple[str, ...] = ()
        self.stages: list[Stage] = []

    @property
    def beside_bulk(self) -> bool:
        """See :class:`muphy_lb.model.model.Stage`."""
        return all(stage.beside_bulk for stage in self.stages)

    def takes(self, stage: Stage) -> bool:
        """Whether a stage belongs to the same particles or nodes, and runs beside the bulk if the others do."""
        return stage.over == self.over and (not self.stages or stage.beside_bulk == self.beside_bulk)


def passes(stages: tuple[Stage, ...], written: set[str], fields: Mapping[str, Field]) -> list[Pass]:
    """Stages in order, cut into passes.

    Args:
        stages: ahead of, or behind, the flow.
        written: fields that this step has written so far and not exchanged; updated.
        fields: those that may be read at neighbours without a stage that advances them, by name.

    Raises ValueError: a stage writes a field with one array that it reads at neighbours.
    """
    found = [Pass()]
    read: set[str] = set()
    writers: dict[str, Stage] = {}
    for stage in stages:
        near = set(stage.reads_at_neighbours) & fields.keys()
        unguarded = {name for name in near & set(stage.writes) if not fields[name].guarded}
        if unguarded:
            names = ", ".join(sorted(unguarded))
            raise ValueError(f"stage {stage.name!r} writes {names}, which it reads at neighbours; write another field")
        stale = {name for name in near & written if not _is_another_part(stage, writers.get(name), fields[name])}
        crossing = {name: _exchanging(found, writers.get(name)) for name in sorted(stale)}
        if None in crossing.values() or read & set(stage.writes) or not found[-1].takes(stage):
            found.append(Pass(stage.over))
            read = set()
        for name, earlier in crossing.items():
            (earlier or found[-1]).exchanged += (name,)
        found[-1].stages.append(stage)
        read |= near
        written.difference_update(stale)
        written.update(fields.keys() & set(stage.writes))
        writers.update(dict.fromkeys(stage.writes, stage))
    return found


def _is_another_part(stage: Stage, writer: Stage | None, field: Field) -> bool:
    """Whether a stage treats other nodes than the writer of a field."""
    is_same = writer is not None and stage.operators == writer.operators != ()
    return field.guarded and is_same


def _exchanging(found: list[Pass], writer: Stage | None) -> Pass | None:
    """The first pass with an exchange behind the stage that writes a field, or of all if the collision writes it."""
    behind = next((k for k, each in enumerate(found, start=1) if writer in each.stages), 0)
    return next((each for each in found[behind:] if each.exchanged), None)


def _read_first(stages: tuple[Stage, ...], readable: Mapping[str, Field]) -> tuple[str, ...]:
    """Fields that stages read at neighbours with the values of the last step."""
    found: list[str] = []
    written: set[str] = set()
    for stage in stages:
        found += [name for name in stage.reads_at_neighbours if name in readable and name not in written]
        written.update(stage.writes)
    return tuple(dict.fromkeys(found))


class OrderRow(NamedTuple):
    """A task of a step: the number of its pass, its nodes, its name, its kernel, and what crosses ahead of it."""

    number: int
    over: str
    name: str
    kernel: str = ""
    crossing: tuple[str, ...] = ()


class StepOrder:
    """The order of a step, as it follows from a model alone.

    Args:
        model: the flow with the stages of every physics.

    Attributes:
        before: passes ahead of the flow.
        between: passes between streaming and collision.
        after: passes behind the collision; the first is the flow's own.
        frozen: the pass of a frozen flow alone.
        at_start: fields that cross beside the populations.
        returned: fields whose values at ghosts are added to their nodes.
        is_never_reversed: whether every step runs forwards through the nodes.

    Raises ValueError: the access of a stage is none that it can have, or not the one of its operators.
    """

    def __init__(self, model: Model):
        model.check_stages()
        self._model = model
        readable = {field.name: field for field in model.fields if field.is_read_at_neighbours}
        # a VELOCITIES stage runs backwards through the nodes: a flow that runs forwards begins with what was read last
        self.is_never_reversed = any(stage.kernel == VELOCITIES for stage in model.between)
        self.returned = {field.name for field in model.fields if field.accumulates}
        written: set[str] = set()
        self.before = passes(model.before, written, readable)
        self.between = passes(model.between, written, readable)
        stored = readable.keys() & set(model.stored)
        written.update(stored)
        self.after = passes(model.after, written, readable)
        ahead = _read_first(model.before, readable)
        self.before[0].exchanged = ahead
        self.frozen = Pass()
        self.frozen.stages = list(model.frozen)
        between = _read_first((*model.before, *model.between), readable)
        behind = [name for name in _read_first(model.stages, readable) if name not in stored]
        beside = [name for name in (*between, *behind) if name not in ahead]
        advancing = {field.name for field in model.fields if field.is_advanced}
        advanced = [name for stage in model.after for name in stage.writes if name in advancing]
        self.at_start = tuple(dict.fromkeys((*advanced, *beside)))

    def rows(self, has_openings: bool, has_walls: bool) -> Iterator[OrderRow]:
        """The tasks of a step in order, for one rank or many; what crosses does so on several ranks only.
        ``has_openings``: whether there are links into openings; ``has_walls``: whether there are links into linkwise
        walls."""
        yield from self._numbered(1, self.before)
        number = 1 + _n_filled(self.before)
        present = {OPENINGS: has_openings, WALLS: has_walls, RECEIVE: False}
        for phase in self._model.order():
            if phase == PAUSE:
                yield from self._numbered(number, self.between)
                number += _n_filled(self.between)
            elif phase in (INTERIOR, EDGE):
                yield OrderRow(number, phase, self._model.collision.name, "stream_collide")
                yield from self._pass_rows(number, self.after[0], phase) if phase == INTERIOR else ()
            elif present.get(phase, True):
                kernel = {OPENINGS: "links", WALLS: "walls"}.get(phase, "")
                crossing = ("populations", *self.at_start) if phase == SEND else ()
                yield OrderRow(number, EDGE, phase, kernel, crossing)
        yield from self._pass_rows(number, self.after[0], EDGE)
        yield from self._numbered(number + 1, self.after[1:])

    def _numbered(self, first: int, groups: list[Pass]) -> Iterator[OrderRow]:
        """The rows of passes with stages, numbered from the first on."""
        for number, group in enumerate((group for group in groups if group.stages), start=first):
            yield from self._pass_rows(number, group)

    def _pass_rows(self, number: int, group: Pass, over: str = "") -> Iterator[OrderRow]:
        """The stages of a pass; what crosses ahead of them stands beside the first."""
        crossing = group.exchanged
        for stage in group.stages:
            yield OrderRow(number, over or stage.over, stage.name, self._model.kernel_of(stage), crossing)
            crossing = ()


def _n_filled(groups: list[Pass]) -> int:
    return sum(bool(group.stages) for group in groups)


class StepBinder:
    """Binds the tasks of a step. ``engine``: whose arrays to bind."""

    def __init__(self, engine):
        self._engine, self._model = engine, engine.model
        self._backend, self._domain = engine.backend, engine.domain
        self._wait = ordering(self._backend.edge_waits_for_interior)
        self._has_edge = self._domain.n_edge > 0
        self._order = StepOrder(self._model)
        self._bulk = self._bulk_apart()
        self._stages_of = StageBinder(engine, self._bulk is not None)
        self._behind = self._behind_collision()

    def _bulk_apart(self) -> Where | None:
        """The bulk, if it collides separately from the interior."""
        model = self._model
        is_possible = self._backend.has_bulk_queue and not model.streaming.in_place
        changes = [ARRIVING in stage.writes for stage in model.between]
        has_room = changes[-1:] == [True] and self._order.after[0].beside_bulk
        return model.bulk if is_possible and has_room else None

    def _behind_collision(self) -> Stage | None:
        """The stage that is done together with the collision: one that advances a field at all nodes, which it
        reads at neighbours in the array that the step before has left. The values of other ranks must have arrived when
        the edge collides."""
        model, stages = self._model, self._order.after[0].stages
        if not stages or model.occupied or model.streaming.exchanges_result or stages[0].where is not None:
            return None
        return stages[0] if model.kernel_of(stages[0]) == "advance" else None

    def behind(self, parity: int) -> Advanced | None:
        """The field that nodes advance together with the collision of a step from buffer ``parity``."""
        return self._stages_of.advanced(self._behind, parity) if self._behind else None

    def bind(self, kind: StepKind) -> list[Task]:
        """The tasks of one step into the other buffer; those with nothing to do are left out."""
        if kind.is_frozen:
            return self._frozen(kind)
        parity, feedback = kind.parity, self._engine.feedback
        tasks = [*self._counted_step()]
        updates = feedback.tasks(parity, kind.phase) if feedback else []
        if updates:  # they read what the interior wrote in the step before, which stages between change in this one
            tasks += [*self._barrier(), *updates, *(self._barrier() if self._model.between else ())]
        for group in self._order.before:
            tasks += self._whole_pass(group, parity)
        if any(group.stages for group in self._order.before):
            tasks += self._barrier()
        first, *others = self._order.after
        flow = list(self._flow_pass(first.stages, parity))
        if not self._model.between:  # whose passes wait for each other in the middle of the flow
            flow = without_repeats(flow, self._wait.run, self._backend.edge_waits_for_openings)
        if kind.has_schedule:
            flow = self._with_next_row(flow, parity)
        if self._has_edge or kind.has_schedule:
            flow = [ordering(self._backend.record_interior), *flow, ordering(self._backend.interior_waits_for_edge)]
        tasks += flow
        beside = list(takewhile(lambda group: group.beside_bulk, others))
        for group in beside:
            tasks += self._whole_pass(group, parity)
        if self._bulk:
            tasks.append(ordering(self._backend.interior_waits_for_bulk))
        for group in others[len(beside) :]:
            tasks += self._whole_pass(group, parity)
        if others:
            tasks += self._barrier()
        return tasks

    def _frozen(self, kind: StepKind) -> list[Task]:
        """The tasks of a step that does not change the flow."""
        first, *others = self._order.after
        carried = Pass()
        carried.exchanged, carried.stages = self._order.at_start, first.stages
        groups = (*self._order.before, self._order.frozen, carried, *others)
        tasks = [*self._counted_step(), *(task for group in groups for task in self._whole_pass(group, kind.parity))]
        if not kind.has_schedule:
            return tasks
        backend = self._backend
        tasks = [ordering(backend.record_interior), *self._with_next_row(tasks, kind.parity)]
        return [*tasks, ordering(backend.interior_waits_for_edge)]

    def frozen_alone(self, parity: int) -> list[Task]:
        """The tasks of stages that only steps of a frozen flow have."""
        return list(self._whole_pass(self._order.frozen, parity))

    def _counted_step(self) -> list[Task]:
        """Task that counts the step, where a stage reads its number."""
        engine = self._engine
        if not engine.counts_steps:
            return []
        return [Task("schedule", ON_INTERIOR, self._backend.bind("count_step", engine.parameters.step, ON_INTERIOR))]

    def _with_next_row(self, flow: list[Task], parity: int) -> list[Task]:
        """The flow, and beside it, on the queue of the openings, the values of the step behind it. They overwrite what
        the step before has read: its edge, its openings, and its interior if it reads a scheduled force or the courses
        of scalars."""
        backend, engine = self._backend, self._engine
        ahead = [self._wait] if self._model.has_scheduled_force or self._model.courses else []
        if ahead or not engine.boundary_links.has_openings:
            ahead.append(ordering(backend.openings_wait_for_edge))
        fetch = [Task("schedule", ON_OPENINGS, launch) for launch in engine.timed.bind_next(parity)]
        return [*ahead, *flow, *fetch, ordering(backend.edge_waits_for_openings)]

    def _flow_pass(self, stages: list[Stage], parity: int) -> Iterator[Task]:
        """The flow's own step in the order of its streaming, and the stages beside it."""
        links, halo = self._engine.boundary_links, self._exchange(parity)
        stages = [stage for stage in stages if stage is not self._behind]
        yield from self._flow_in_bulk(parity)
        for phase in self._model.order(links.has_late_openings):
            if phase == OPENINGS and links.has_openings:
                yield from self._openings(parity)
            elif phase == WALLS and links.has_linkwise_walls:
                yield self._wait
                yield from self._slots_filled()
                yield Task("walls", ON_EDGE, links.bind_walls(parity))
            elif phase == SEND and halo.tasks:
                yield from halo.start
            elif phase == RECEIVE and halo.tasks:
                yield from (*halo.arrive, self._wait, *halo.unpack)
            elif phase == PAUSE:
                yield from self._slots_filled()
                for group in self._order.between:
                    yield from self._whole_pass(group, parity, beside_flow=group is self._order.between[0])
                yield from self._barrier()
            elif phase == INTERIOR:
                yield from self._flow(parity, INTERIOR)
                yield from self._stages(stages, parity, INTERIOR)
            elif phase == EDGE:
                yield from self._flow(parity, EDGE)
        yield from self._stages(stages, parity, EDGE)

    def _exchange(self, parity: int) -> ExchangeTasks:
        """Exchange of all fields that cross at the start of a step."""
        engine = self._engine
        populations = engine.halo.exchanges[parity] or ExchangeTasks()
        return populations + engine.fields.exchange(self._order.at_start, parity)

    def _whole_pass(self, group: Pass, parity: int, beside_flow: bool = False) -> Iterator[Task]:
        """A pass by itself: everything before it is done, its fields cross, and its stages run, the interior's beside
        these messages; or, ``beside_flow``, beside those of the flow's edge, which are done when its own edge runs."""
        if not group.stages:
            return
        if not beside_flow:
            yield from self._barrier()
        messages = self._engine.fields.exchange(group.exchanged, parity).tasks
        if group.over == NODES:
            # what the interior writes at edge nodes meanwhile may cross or not: guarded fields allow it
            yield from self._stages(group.stages, parity, INTERIOR)
            yield from messages
            yield from self._stages(group.stages, parity, EDGE)
        else:
            yield from messages
            if messages:
                yield from self._barrier()
            yield from self._stages(group.stages, parity, INTERIOR)
        for name in sorted({name for stage in group.stages for name in stage.writes} & self._order.returned):
            messages = self._engine.fields.exchange((name,), parity).tasks
            if messages:
                yield from self._barrier()
                yield from messages

    def _barrier(self) -> list[Task]:
        """Edge and interior wait for each other."""
        if not self._has_edge:
            return []
        backend = self._backend
        return [ordering(backend.record_interior), self._wait, ordering(backend.interior_waits_for_edge)]

    def _openings(self, parity: int) -> Iterator[Task]:
        """The openings of a step, and the tasks that wait for them."""
        backend, streaming = self._backend, self._model.streaming
        launch = self._engine.boundary_links.bind_openings(parity)
        yield ordering(backend.openings_wait_for_edge)
        yield Task("openings", ON_OPENINGS, launch)
        if not streaming.openings_beside_messages:
            yield ordering(backend.edge_waits_for_openings)
        if streaming.openings_before_interior:
            yield ordering(backend.interior_waits_for_edge)

    def _slots_filled(self) -> list[Task]:
        """Task that lets the edge wait for openings that run beside the messages."""
        beside = self._engine.boundary_links.has_openings and self._model.streaming.openings_beside_messages
        return [ordering(self._backend.edge_waits_for_openings)] if beside else []

    def bind_between(self, stage: Stage, parity: int) -> list[Launch]:
        """Launches of a stage that changes what arrives, over all nodes by itself: none of them collides."""
        ranges = (self.nodes(part, parity) for part in (EDGE, INTERIOR))
        return [self._stages_of.bind_at_nodes(stage, parity, nodes) for nodes in ranges if nodes]

    def nodes(self, part: str, parity: int) -> NodeRange | None:
        """The edge or the interior; None if there are no nodes."""
        n_edge, n_nodes = self._domain.n_edge, self._domain.n_nodes
        first, last = {EDGE: (0, n_edge), INTERIOR: (n_edge, n_nodes)}[part]
        is_reversed, queue = parity == 1 and not self._order.is_never_reversed, ON_EDGE if part == EDGE else ON_INTERIOR
        return NodeRange(first, last, queue, is_reversed) if first < last else None

    def _flow(self, parity: int, part: str) -> Iterator[Task]:
        """Stream and collide, unless the bulk of the interior does so by itself."""
        nodes = self.nodes(part, parity)
        if nodes is None or (part == INTERIOR and self._bulk):
            return
        if part == EDGE:
            yield self._wait
            yield from self._slots_filled()
        if self._behind:
            yield from self._engine.fields.bind_beyond(self._behind, parity, nodes)
        launch = self._engine.bind_stream_collide(nodes, parity, self._engine.shape, behind=self.behind(parity))
        yield Task(part, nodes.queue, launch)

    def _flow_in_bulk(self, parity: int) -> Iterator[Task]:
        """Stream and collide in the bulk of the interior, if that does so by itself."""
        nodes = self.nodes(INTERIOR, parity)
        if self._bulk and nodes:
            yield ordering(self._backend.bulk_waits_for_interior)
            nodes = replace(nodes, queue=ON_BULK)
            launch = self._engine.bind_stream_collide(nodes, parity, self._engine.shape, self._bulk)
            yield Task(INTERIOR, ON_BULK, launch)

    def _stages(self, stages: list[Stage], parity: int, part: str) -> Iterator[Task]:
        """Some stages on edge or interior; those over particles run once, on the interior's queue."""
        nodes = self.nodes(part, parity)
        for stage in stages:
            if stage.over != NODES:
                if part != EDGE:
                    yield from self._stages_of.bind_particles(stage, parity)
            elif nodes is not None:
                yield from self._stages_of.bind(stage, parity, nodes)


class StepLaunches:
    """Binds and records the few kinds of step on demand.

    Args:
        binder: binds the tasks of a kind of step.

    Attributes:
        is_recording: whether launches are recorded; every task must have run once before.
    """

    def __init__(self, binder: StepBinder, backend):
        self._binder, self._backend = binder, backend
        self._tasks: dict[StepKind, list[Task]] = {}
        self._launches: dict[StepKind, list[Callable[[], None]]] = {}
        self._cycles: dict[StepKind, Callable[[], None] | None] = {}
        self.is_recording = False

    def start_recording(self) -> None:
        """Record launches from now on."""
        self.is_recording = True
        self._launches.clear()

    def tasks(self, kind: StepKind) -> list[Task]:
        """The tasks of a kind of step."""
        if kind not in self._tasks:
            self._tasks[kind] = self._binder.bind(kind)
        return self._tasks[kind]

    def step(self, kind: StepKind) -> list[Callable[[], None]]:
        """The launches of a kind of step."""
        if kind not in self._launches:
            tasks = self.tasks(kind)
            self._launches[kind] = recorded(tasks, self._backend) if self.is_recording else plain(tasks)
        return self._launches[kind]

    def cycle(self, first: StepKind, kinds: Callable[[], list[StepKind]]) -> Callable[[], None] | None:
        """Steps of consecutive kinds as one launch, identified by the first; None if the host has to act in between."""
        if first not in self._cycles:
            self._cycles[first] = recorded_cycle([self.tasks(kind) for kind in kinds()], self._backend)
        return self._cycles[first]
