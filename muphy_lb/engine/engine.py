"""Engine: a model bound to one rank's domain and device; it steps and measures, in lattice units."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from math import inf

import numpy as np

from muphy_lb.backends.arrays import ANY_BIT, WEIGHT_SHARE, Advanced, Chosen, NodeRange, State, StreamArrays
from muphy_lb.domain import LocalDomain, build_addresses, build_lookup
from muphy_lb.domain.streaming import INTERIOR
from muphy_lb.engine.actions import Actions
from muphy_lb.engine.ahead import looking_ahead
from muphy_lb.engine.boundary_links import N_SUMS, SUM_SCALE, BoundaryLinks, FeedbackConditions, Values
from muphy_lb.engine.fields import Corners, Fields
from muphy_lb.engine.parameters import Parameters
from muphy_lb.engine.particles import Particles
from muphy_lb.engine.step import StepBinder, StepKind, StepLaunches
from muphy_lb.engine.timed_values import TimedValues
from muphy_lb.engine.transfers import NodeValues, Probe, Reductions, StateAccess, Totals
from muphy_lb.model.model import STEP, FieldValue, Model, PartlyFilled, Where
from muphy_lb.operators import MOMENTUM_FIELDS, Operator, joined
from muphy_lb.operators.initial import initial_populations
from muphy_lb.parallel.choice import HaloConnector
from muphy_lb.parallel.exchange import Halo, bind_exchanges, exchange_seconds
from muphy_lb.parallel.task import CYCLE


class Engine:
    """Buffers, bound stages and measurements of one rank.

    Args:
        conditions: what happens at the local links (:class:`muphy_lb.engine.boundary_links.LinkConditions`).
        speed_scale: scale of the exact integer sum of speeds.

    Attributes:
        buffers, parity, steps_kept: population buffers (in place one, twice), which of them is the present state, and
            steps since the state was overwritten.
        frozen_from: number of the step after which the flow stays as it is, and only stages beside it act.
    """

    def __init__(self, backend, connector: HaloConnector, domain: LocalDomain, model: Model, conditions, speed_scale):
        self.backend, self.domain, self.model = backend, domain, model
        self.precision, self.real = backend.precision, backend.precision.real
        at_start = np.append(conditions.at_start, np.zeros(len(model.courses)))
        self.timed = TimedValues(backend, at_start, list(conditions.feedback))
        self.addresses = build_addresses(domain, model.streaming)
        in_place = self.model.streaming.in_place
        n_slots, storage = self.addresses.n_slots, self.precision.storage
        buffers = [self.backend.zeros(n_slots, storage) for _ in range(1 if in_place else 2)]
        self.buffers = buffers * 2 if in_place else buffers
        self._tables = [backend.stream_table(self.addresses, phase) for phase in range(len(self.addresses.patterns))]
        self.parity = self.steps_kept = self._step_number = 0
        self.frozen_from, self._is_frozen = inf, False
        self._access = StateAccess(backend, model, domain)
        self._connector, self.halo = connector, connector.connect(backend, self._halo_of_buffers())
        lookup = build_lookup(domain) if model.particles else None
        corners = Corners(lookup, partial(connector.connect, backend)) if lookup else None
        self.fields = Fields(backend, domain, model, self.halo.shares, self.timed, corners)
        self.particles = Particles(backend, connector, lookup, domain, model, self.fields) if lookup else None
        self.parameters = Parameters(backend, domain, self.fields, self.particles, self.timed, model.courses)
        values = Values(self.timed, partial(self._moment_values, operator=model.at_openings))
        self.boundary_links = BoundaryLinks(backend, model, self.addresses, self.buffers, conditions, values)
        self.feedback = self._bind_feedback(conditions)
        self.actions = Actions(self, connector.communicator)
        self._binder = StepBinder(self)
        self.use_shape(None)
        self._reductions = Reductions(self, speed_scale)

    def _bind_feedback(self, conditions) -> FeedbackConditions | None:
        if not conditions.feedback:
            return None
        size, given = conditions.kind.size, conditions.feedback
        return FeedbackConditions(self.backend, self._connector, self.boundary_links, given, size, self.timed)

    @property
    def particle_sets(self) -> Particles:
        """The particles. Raises ValueError: the model has none."""
        if self.particles is None:
            raise ValueError(f"the model {self.model.name!r} has no particles")
        return self.particles

    @property
    def counts_steps(self) -> bool:
        """Whether the model reads the step number."""
        model = self.model
        given = (model.parameters, *(stage.parameters for stage in model.stages))
        return any(value is STEP for values in given for value in values.values())

    def step(self) -> None:
        """Advance by one time step."""
        for launch in self._launches.step(self._begin_step()):
            launch()

    def advance(self, n_steps: int) -> None:
        """Time steps, many in one launch where that is possible."""
        while n_steps > 0:
            if self._step_number >= self.frozen_from:
                self._freeze()
            cycle = self._cycle(n_steps)
            if cycle:
                cycle()
                self._count_steps(CYCLE)
                n_steps -= CYCLE
            else:
                self.step()
                n_steps -= 1

    def step_by(self, do) -> None:
        """Advance by one time step, each task (:class:`muphy_lb.parallel.task.Task`) handed to ``do``."""
        for task in self._launches.tasks(self._begin_step()):
            do(task)

    def use_shape(self, shape) -> None:
        """Launch stream-and-collide in another way; see :meth:`muphy_lb.backends.interface.Backend.launch_shapes`."""
        self.shape = shape
        self._launches = StepLaunches(self._binder, self.backend)

    def _kind(self, step: int, parity: int) -> StepKind:
        """Which of the few kinds of step that is."""
        if step >= self.frozen_from:
            return StepKind(parity, bool(self.model.courses) and self.timed.rows_left > 0, is_frozen=True)
        feedback = self.feedback
        phase = step % feedback.n_phases if feedback else 0
        return StepKind(parity, self.timed.rows_left > 0, phase)

    def _freeze(self) -> None:
        """Copy the populations, and what the collision stores, to the other arrays, so that steps that leave them alone
        find them in both; but for what these replay."""
        if not self._is_frozen:
            self.backend.synchronise()
            now = self.backend.to_host(self.buffers[self.parity])
            self.backend.update(self.buffers[1 - self.parity], now)
            replayed = {name for stage in self.model.frozen for name in stage.writes}
            self.fields.hold([name for name in self.model.stored if name not in replayed], self.parity)
            self._is_frozen = True

    def _cycle(self, n_steps: int):
        """One launch of ``CYCLE`` steps, if that many are left and the host has nothing to do in them."""
        rows_left = self.timed.rows_left
        enough = n_steps >= CYCLE and (rows_left == 0 or rows_left >= CYCLE)
        freezes = self._step_number < self.frozen_from < self._step_number + CYCLE
        if freezes or not (enough and self._launches.is_recording and self.parity == 0):
            return None
        return self._launches.cycle(self._kind(self._step_number, 0), self._kinds)

    def _kinds(self) -> list[StepKind]:
        """The kinds of the next ``CYCLE`` steps, of which the first is an even one."""
        return [self._kind(self._step_number + k, k % 2) for k in range(CYCLE)]

    def bind(self) -> None:
        """Bind the tasks of plain steps and of looks, so that helpers compile their kernels, and launch nothing."""
        for parity in (0, 1):
            self._launches.tasks(self._kind(0, parity))
        self.timed.bind_next(0)
        self._access.bind(self.state(0), self.measuring(0))
        if self.boundary_links.has_openings:
            self.boundary_links.bind_sum_launches(len(self.domain.part.nodes.openings))

    def warm_up(self) -> None:
        """Run every task once on a fluid at rest, so that compilation is over before the clock starts; then record
        them. Before any schedule."""
        self.bind()
        with np.errstate(divide="ignore", invalid="ignore"):  # scalars have no carrier before the start
            for _ in range(2):
                self.step()
            for task in self._binder.frozen_alone(0):
                task.run()
        self.timed.compile()
        self.backend.synchronise()
        self._launches.start_recording()
        self.totals()
        self.backend.synchronise()

    def time_steps(self, n_steps: int) -> float:
        """Seconds that some steps take."""
        self.backend.synchronise()
        before = time.perf_counter()
        self.advance(n_steps)
        self.backend.synchronise()
        return time.perf_counter() - before

    def start_from(self, density: np.ndarray, velocity: np.ndarray, stress: np.ndarray | None = None) -> None:
        """Start from ``density`` and ``velocity``: (n,) and (3, n), or (1,) and (3, 1) for a uniform state, and from
        the second moment of the non-equilibrium populations, (6, n); see :mod:`muphy_lb.operators.initial`."""
        model, given = self.model, (density[None], velocity, *([] if stress is None else [stress]))
        read = joined(model.force.parameters, model.collision.parameters)
        self._set_momentum(given[0], velocity)
        parameters = self.parameters.on_host({each.name: model.parameters[each.name] for each in read}, self.parity)
        for name, value in model.unset.items():
            if name in parameters:
                parameters[name] = np.full_like(parameters[name], value)
        of_nodes = [np.asarray(value)[None] for value in parameters.values() if np.size(value) > 1]
        per_node = any(values.shape != (1, self.domain.n_nodes) for values in of_nodes)

        def stored(first, last):
            # nodes in a row with equal initial values, as in a gas or at one depth, are computed once
            own = [values if values.shape[1] == 1 else values[:, first:last] for values in (*given, *of_nodes)]
            begins = np.arange(last - first) if per_node else _changes(own, last - first)
            rho, u, *pi = (values if values.shape[1] == 1 else values[:, begins] for values in own[: len(given)])
            n = first + begins
            force = model.force.reference(n, parameters)
            state = initial_populations(model.equilibrium, model.lattice, (rho[0], u), force, *pi)
            state = np.broadcast_to(state, (model.lattice.q, n.size))
            if not model.streaming.stores_before_collision:
                state = model.collision.reference(state, n, model.lattice, parameters)
            return state, begins

        self._set(stored)

    def _set_momentum(self, density: np.ndarray, velocity: np.ndarray) -> None:
        """Put the momentum of a start into the fields from which the force takes it."""
        inertia = density[0] if self.model.equilibrium.is_compressible else 1.0
        names = {parameter.name for parameter in self.model.force.parameters}
        for name, component in zip(MOMENTUM_FIELDS, inertia * velocity, strict=True):
            if name in names:
                self.fields.set(name, component)

    def host_parameters(self) -> dict:
        """The model's parameters by name, as the specification reads them."""
        return self.parameters.on_host(self.model.parameters, self.parity)

    def set_populations(self, populations: np.ndarray) -> None:
        """Overwrite the stored (Q, n) or (Q, 1) populations (deviations from w_q): before collision for push, after it
        for the others."""
        alike = populations.shape[1] == 1
        self._set(lambda *ends: (populations, np.zeros(1, int)) if alike else (populations[:, slice(*ends)], None))

    def populations(self) -> np.ndarray:
        """(Q, n) stored populations; 0, those at rest, where there is no fluid."""
        populations = self._access.populations(self.state(self.parity))
        if self.model.occupied:
            populations[:, self.fields.get(self.model.occupied, self.parity) == 0] = 0.0
        return populations

    def moments(self) -> np.ndarray:
        """(4, n) rows rho - 1, ux, uy, uz."""
        return self._access.moments(self.state(self.parity), self.measuring(self.parity))

    def probe_of_arriving(self, nodes: np.ndarray) -> Probe:
        """A reader of the populations that arrive at (k,) local nodes, from the buffer that :meth:`looking_ahead`
        gives: (Q k,) of each direction in turn."""
        addresses, phases = self.addresses, range(len(self._tables))
        found = [addresses.resolve(phase, addresses.patterns[phase].load, nodes).ravel() for phase in phases]
        return Probe(self.backend, self.buffers, (found[0], found[-1]))

    def of_arriving(self, n_rows: int, compute) -> np.ndarray:
        """(n_rows, n) float64 numbers of the populations that arrive at the nodes in the step ahead, 0 where there is
        no fluid; collective.

        Args:
            compute: ``compute(populations, unit, force, stress_share)`` -> (n_rows, m), as of
                :meth:`muphy_lb.measure.node_probe.NodeProbe.arriving`.
        """
        found, wide = np.empty((n_rows, self.domain.n_nodes)), np.promote_types(self.precision.storage, np.float32)
        phase = self._phase(self.parity)
        with self.looking_ahead() as buffer:
            locations = self.addresses.patterns[phase].load
            state = State(self.buffers[buffer], locations, self._tables[phase], self.domain.n_nodes)
            for nodes, stored in self._access.stored(state):
                values = NodeValues(self, np.arange(nodes.first, nodes.last))
                own = values.force(self.parity), values.stress_share(self.parity)
                populations = [stored.astype(wide, copy=False).reshape(-1)]
                found[:, nodes.first : nodes.last] = compute(populations, self.precision.unit, *own)
        if self.model.occupied:
            found[:, self.fields.get(self.model.occupied, self.parity) == 0] = 0.0
        return found

    def totals(self) -> Totals:
        """Sums over the local nodes."""
        return self._reductions.totals(self.parity)

    def set_step_number(self, number: int) -> None:
        """Number of steps made so far; keyed noise reads the number of the step at hand, which is one more."""
        self._step_number = number
        if self.counts_steps:
            self.backend.update(self.parameters.step, np.full(1, number))

    def set_present(self, row: np.ndarray) -> None:
        """Values in force now; see :meth:`schedule`."""
        self.timed.set_present(row)

    def schedule(self, rows: np.ndarray) -> None:
        """Values of the steps to come: (K, n_values + 3), one row per step: the conditions' values, the model's
        courses, and the body force (which only a ``VARYING`` force reads). The last row stays in force."""
        self.timed.schedule(rows, self.parity)

    def link_fluxes(self) -> tuple[np.ndarray, np.ndarray]:
        """(L,) float64 mass entering per step, and density deviation of the plane, of every local opening link."""
        if not self.boundary_links.has_openings:
            return np.zeros(0), np.zeros(0)
        self.backend.synchronise()
        return self.boundary_links.fluxes(self.parity)

    def opening_sums(self, n_openings: int) -> np.ndarray:
        """(n_openings, 3) int64 sums over the local links of each opening, exact in any order: mass entering per step,
        density deviations of the plane times the weights of the links, and ``WEIGHT_SHARE`` of these, in units of
        ``1 / SUM_SCALE``."""
        if not self.boundary_links.has_openings:
            return np.zeros((n_openings, 3), dtype=np.int64)
        self.backend.synchronise()  # packs run beside the interior, which may still be writing
        return self.boundary_links.sums(self.parity, n_openings)

    def wall_exchange(self) -> np.ndarray:
        """(S + F,) float64 population that leaves plus the one that enters (deviations) of every local link into
        linkwise and into other labelled walls; times c_q it is the momentum given to the wall in the step ahead.
        Collective."""
        with self.looking_ahead() as buffer:
            return self.boundary_links.wall_exchange(buffer)

    def kept_wall_exchange(self) -> Callable[[], np.ndarray]:
        """The same as a function that copies it to the host; until the next call it stays on the device. Collective."""
        with self.looking_ahead() as buffer:
            return self.boundary_links.kept_wall_exchange(buffer)

    def looking_ahead(self) -> AbstractContextManager[int]:
        """A context in which the populations that arrive at the nodes in the step ahead are complete, with the values
        that openings and walls have in it; gives their buffer. Behind it the state is as before. Collective: all ranks
        leave it together."""
        return looking_ahead(self, self._binder)

    def barrier(self) -> None:
        """Barrier: no rank continues while another one still reads what its neighbours write to."""
        self.backend.synchronise()
        self._connector.communicator.barrier()

    def _begin_step(self) -> StepKind:
        kind = self._kind(self._step_number, self.parity)
        if kind.is_frozen:
            self._freeze()
        self._count_steps(1)
        self.parity ^= 1
        return kind

    def _count_steps(self, n_steps: int) -> None:
        self.steps_kept += n_steps
        self._step_number += n_steps
        self.timed.rows_left = max(0, self.timed.rows_left - n_steps)
        if self.particles is not None:
            self.particles.count_steps(n_steps)

    def _set(self, chunk) -> None:
        """Overwrite the state, as :meth:`muphy_lb.engine.transfers.StateAccess.write`; the next step is an even one."""
        self.parity, self.steps_kept, self._is_frozen = 0, 0, False
        self.fields.collected.forget()
        self._access.write(self.state(0), chunk)
        self.barrier()

    def _phase(self, parity: int) -> int:
        return parity % len(self._tables)

    def state(self, parity: int) -> State:
        """The populations before a step from buffer ``parity``."""
        before = self._phase(parity - 1)
        locations = self.addresses.locations_after(before)
        return State(self.buffers[parity], locations, self._tables[before], self.domain.n_nodes)

    def stream_arrays(self, parity: int) -> StreamArrays:
        """The arrays of a step from buffer ``parity``."""
        phase = self._phase(parity)
        buffers, name = (self.buffers[parity], self.buffers[1 - parity]), self.model.occupied
        occupied = Chosen(self.fields.array(FieldValue(name), parity), ANY_BIT) if name else None
        return StreamArrays(*buffers, self._tables[phase], self.addresses.patterns[phase], occupied)

    @property
    def tables(self) -> tuple:
        """Device forms of the address tables of consecutive steps; the steps repeat them."""
        return tuple(self._tables)

    def stream_usage(self):
        """Resources of the compiler for one thread of the stream-and-collide kernel."""
        how = self.model.collision, self.stream_arrays(0), self.shape, self._binder.behind(0)
        return self.backend.stream_collide_usage(*how)

    @property
    def behind(self) -> Operator | None:
        """The operator that advances a field in the kernel of stream-and-collide; None without one."""
        behind = self._binder.behind(0)
        return behind.update if behind else None

    @property
    def transport(self) -> str:
        """Transports of halos: names joined by "+", or "none"."""
        return self.halo.used

    @property
    def halo_bytes(self) -> float:
        """Bytes that this rank sends in a step, on average."""
        plans = self.addresses.exchanges
        return sum(plan.n_pack for plan in plans) / len(plans) * np.dtype(self.precision.storage).itemsize

    def exchange_seconds(self, most: int, n_rounds: int = 10) -> float:
        """Time of one exchange by itself on the slowest rank, with messages of at most ``most`` populations;
        collective. It spoils the flow."""
        found = bind_exchanges(self._halo_of_buffers().shortened(most), self.halo.shares)
        return exchange_seconds(self._connector.communicator, self.backend, found, n_rounds)

    def _halo_of_buffers(self) -> Halo:
        """The halo that crosses before (pull, in place) or in the middle of (push) a step from each buffer."""
        even, odd = (self.addresses.exchanges[self._phase(parity)] for parity in (0, 1))
        buffers = self.buffers[::-1] if self.model.streaming.exchanges_result else self.buffers
        return Halo(self.domain.halo.neighbours, (even, odd), tuple(buffers))

    def interior_launches(self, shape) -> list:
        """Stream-and-collide of the interior alone, from each buffer; none without one."""
        nodes_of, behind = partial(self._binder.nodes, INTERIOR), self._binder.behind
        bounds = [(parity, nodes) for parity in (0, 1) if (nodes := nodes_of(parity))]
        return [self.bind_stream_collide(nodes, parity, shape, behind=behind(parity)) for parity, nodes in bounds]

    def bind_stream_collide(
        self, nodes: NodeRange, parity: int, shape, bulk: Where | None = None, behind: Advanced | None = None
    ):
        """Launch of stream-and-collide over some nodes, from buffer ``parity``; of the nodes with fluid, over those of
        the bulk alone, if it is given. ``behind``: a field that the nodes advance then."""
        collide, arrays = self.model.collision, self.stream_arrays(parity)
        if arrays.occupied:
            among = self.fields.collected.of_collision(self.model.occupied, nodes, parity)
            mask, without = (bulk.mask, bulk.without) if bulk else (ANY_BIT, 0)
            arrays = replace(arrays, occupied=arrays.occupied._replace(mask=mask, among=among, without=without))
        values = self.parameters.values(collide, self.model.parameters, parity)
        return self.backend.bind("stream_collide", collide, arrays, nodes, values, shape, behind)

    def _moment_values(self, parity: int, in_force, operator: Operator | None = None) -> tuple:
        """Values for the moments of the state ``parity`` (by default by the model's ``macroscopic``): those that
        its collision read, with the force from the given values in force."""
        model = self.model
        collided = model.streaming.parity_of_collision(parity)
        return self.parameters.values(operator or model.macroscopic, model.parameters, collided, in_force)

    def measuring(self, parity: int, operator: Operator | None = None) -> tuple:
        """Values for the moments of the state ``parity`` that a step has left."""
        return self._moment_values(parity, self.timed.behind(parity), operator)


def _changes(rows: Sequence[np.ndarray], n_nodes: int) -> np.ndarray:
    """The first node, of some, of each stretch in which all values, of (k, n) or (k, 1) arrays, are equal."""
    changes = np.zeros(n_nodes, dtype=bool)
    changes[:1] = True
    for values in rows:
        changes[1:] |= (values[:, 1:] != values[:, :-1]).any(axis=0) if values.shape[1] > 1 else False
    return np.flatnonzero(changes)


def has_load(engine: Engine) -> bool:
    """Whether a step costs more at some nodes than at others, and not always at the same."""
    return bool(engine.model.occupied or engine.model.particles)


def node_load(engine: Engine) -> np.ndarray:
    """(n,) float32 cost of the next step at every local node and of the particles there, in steps of a node with fluid;
    0 without either."""
    model, load = engine.model, np.ones(engine.domain.n_nodes, dtype=np.float32)
    if model.occupied:
        kind = engine.fields.get(model.occupied, engine.parity)
        load = (kind != 0).astype(np.float32)
        for value, cost in model.costs.items():
            load[kind == value] = cost
    return load if engine.particles is None else load + engine.particles.load()


def n_occupied(engine: Engine) -> int:
    """Number of local nodes with fluid."""
    model, n_nodes = engine.model, engine.domain.n_nodes
    return int(np.count_nonzero(engine.fields.get(model.occupied, engine.parity))) if model.occupied else n_nodes


def opening_sums(engine: Engine, n_openings: int) -> np.ndarray:
    """(n_openings, 3) int64 sums of fluid as of :meth:`muphy_lb.engine.engine.Engine.opening_sums`; densities
    include that of what is beside the fluid."""
    filled, links = engine.model.filled, engine.domain.links
    if filled is None or links.n_links == 0:
        return engine.opening_sums(n_openings)
    flux, deviation = engine.link_fluxes()
    share, beside = _filling(engine, filled, links.node)
    weight = engine.boundary_links.weights
    deviation = share * deviation + (1.0 - share) * beside
    numbers = np.stack((share * flux, weight * deviation, WEIGHT_SHARE * weight), axis=1)
    sums = np.zeros((n_openings, N_SUMS), dtype=np.int64)
    np.add.at(sums, links.boundary, np.rint(numbers * SUM_SCALE).astype(np.int64))
    return sums


def wall_exchange(engine: Engine) -> np.ndarray:
    """(S + F,) exchange with walls as of :meth:`muphy_lb.engine.engine.Engine.wall_exchange`: that of fluid in its
    share of a node, and in the rest that of something at rest with a pressure."""
    return _of_fluid(engine, engine.wall_exchange())


def kept_wall_exchange(engine: Engine) -> Callable[[], np.ndarray]:
    """The same as a function, in the state at hand now; where all nodes are fluid it stays on the device until the
    next call."""
    if engine.model.filled is None:
        return engine.kept_wall_exchange()
    exchange = wall_exchange(engine)
    return lambda: exchange


def _of_fluid(engine: Engine, exchange: np.ndarray) -> np.ndarray:
    filled = engine.model.filled
    if filled is None or exchange.size == 0:
        return exchange
    links = engine.domain.linkwise.join(engine.domain.in_table)
    share, beside = _filling(engine, filled, links.node)
    return share * exchange + (1.0 - share) * 2.0 * engine.model.lattice.w[links.q] * beside


def _filling(engine: Engine, filled: PartlyFilled, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Share of nodes that is fluid, and the density, minus 1, of the pressure of the rest."""
    return filled.at(*(engine.fields.get(name, engine.parity)[nodes] for name in filled.fields))
