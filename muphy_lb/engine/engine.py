"""Engine: a model bound to one rank's domain and device; it steps and measures, in lattice units."""

import time
from dataclasses import dataclass

import numpy as np

from muphy_lb.backends.interface import NodeRange, ReductionArrays, State, StreamArrays
from muphy_lb.domain import LocalDomain, build_addresses
from muphy_lb.engine.boundary_links import Borders, Values
from muphy_lb.engine.fields import Fields
from muphy_lb.engine.parameters import Parameters
from muphy_lb.parallel import Halo, HaloConnector
from muphy_lb.parallel.exchange import bind_lines, exchange_seconds
from muphy_lb.parallel.schedule import CYCLE, plain, recorded, recorded_cycle, without_repeats
from muphy_lb.parallel.task import ON_EDGE, ON_OPENINGS, Task, ordering
from muphy_lb.parallel.transports import Line
from muphy_lb.physics.model import (
    EDGE,
    EXCHANGE_FINISH,
    EXCHANGE_START,
    INTERIOR,
    LINKS,
    STENCIL,
    STREAM_COLLIDE,
    WALL_LINKS,
    Model,
)

# Nodes whose populations or moments pass through the scratch memory at once.
PART = 1 << 17


@dataclass(frozen=True)
class Totals:
    """Sums over one rank's nodes: ``mass`` (of rho - 1), largest ``speed``, exact scaled integer sum of speeds."""

    mass: float
    speed: float
    fixed_speed: int


class Engine:
    """Buffers, bound stages and measurements of one rank.

    Args:
        backend: the device.
        connector: connects it to the other ranks.
        domain: this rank's nodes.
        model: the physics.
        conditions: what happens at the local links (:class:`muphy_lb.engine.boundary_links.LinkConditions`).
        speed_scale: scale of the exact integer sum of speeds.

    Attributes:
        buffers, parity, steps_kept: population buffers (in place one, twice), which of them is the present state, and
            steps since the state was overwritten.
    """

    def __init__(self, backend, connector: HaloConnector, domain: LocalDomain, model: Model, conditions, speed_scale):
        self.backend, self.domain, self.model = backend, domain, model
        self.precision, self.real = backend.precision, backend.precision.real
        self._units = np.append(np.ones(conditions.value.size), np.full(3, self.precision.unit))
        self._now = backend.array(np.append(conditions.value, np.zeros(3)).astype(self.real))
        self._rows = ()
        self.addresses = addresses = build_addresses(domain, model.streaming)
        turns = range(len(addresses.patterns))
        in_place = addresses.patterns[0].in_place
        buffers = [backend.zeros(addresses.n_slots, self.precision.storage) for _ in range(1 if in_place else 2)]
        self.buffers = buffers * 2 if in_place else buffers
        self._tables = [backend.stream_table(addresses, turn) for turn in turns]
        self.parity, self.steps_kept, self._scratch = 0, 0, {}
        self._connector, self._halo = connector, connector.connect(backend, self._halo_of_buffers())
        self.fields = Fields(backend, domain, model, self._halo.shares)
        self._parameters = Parameters(backend, model, self.fields, self._now, domain.pitch)
        values = Values(self._now, tuple(self._parameters.measuring(parity) for parity in (0, 1)))
        self._borders = Borders(backend, model, addresses, self.buffers, conditions, values)
        self.use_shape(None)
        self._reductions = self._bind_reductions(speed_scale)

    def step(self) -> None:
        """One time step."""
        for launch in self._launches[self._begin_step()]:
            launch()

    def advance(self, n_steps: int) -> None:
        """Time steps, many in one launch where that is possible."""
        while n_steps > 0:
            if self._cycle and n_steps >= CYCLE and self.parity == 0 and not self._rows:
                self._cycle()
                self.steps_kept += CYCLE
                n_steps -= CYCLE
            else:
                self.step()
                n_steps -= 1

    def step_by(self, do) -> None:
        """One time step, each task (:class:`muphy_lb.parallel.task.Task`) handed to ``do``."""
        for task in self.steps[self._begin_step()]:
            do(task)

    def use_shape(self, shape) -> None:
        """Launch stream-and-collide in another way; see :meth:`muphy_lb.backends.interface.Backend.launch_shapes`."""
        self.shape, self._cycle = shape, None
        self.steps = [self._bind_step(parity) for parity in (0, 1)]
        self._launches = [plain(tasks) for tasks in self.steps]

    def warm_up(self) -> None:
        """Run every task once on a fluid at rest, so that compilation is over before the clock starts; then record
        them."""
        for _ in range(2):
            self.step()
        self.backend.synchronise()
        self._launches = [recorded(tasks, self.backend) for tasks in self.steps]
        self._cycle = recorded_cycle(self.steps, self.backend)
        self.totals()
        self.backend.synchronise()

    def time_steps(self, n_steps: int) -> float:
        """Seconds that some steps take."""
        self.backend.synchronise()
        before = time.perf_counter()
        self.advance(n_steps)
        self.backend.synchronise()
        return time.perf_counter() - before

    def start_from(self, density: np.ndarray, velocity: np.ndarray) -> None:
        """Set equilibrium populations (before collision) of ``density`` and ``velocity``: (n,) and (3, n), or (1,) and
        (3, 1) for a uniform state."""
        lattice = self.model.lattice
        self.start_from_populations(self.model.equilibrium.populations(density, velocity, lattice) - lattice.w[:, None])

    def start_from_populations(self, state: np.ndarray) -> None:
        """Set (Q, n) or (Q, 1) populations before collision (deviations from w_q), whatever the streaming stores."""
        if self.model.streaming == "push":
            return self.set_populations(state)
        parameters = self.host_parameters()
        is_uniform = state.shape[1] == 1 and not any(np.size(value) > 1 for value in parameters)

        def collided(first, last):
            n = np.arange(1 if is_uniform else last - first) + first
            before = np.broadcast_to(_columns(state, first, last), (state.shape[0], n.size))
            return self.model.collision.reference(before, n, self.model.lattice, parameters)

        self.set_populations(collided(0, 1)) if is_uniform else self._set(collided)

    def host_parameters(self) -> tuple:
        """The model's parameters as the specification reads them."""
        return self._parameters.on_host(self.parity)

    def set_populations(self, populations: np.ndarray) -> None:
        """Overwrite the stored (Q, n) or (Q, 1) populations (deviations from w_q): before collision for push, after it
        for the others."""
        self._set(lambda first, last: _columns(populations, first, last))

    def populations(self) -> np.ndarray:
        """(Q, n) stored populations."""
        n, q_count = self.domain.n_nodes, self.model.lattice.q
        result = np.empty((q_count, n), self.real)
        for nodes in _parts(n):
            rows = self._scratch_array("rows", q_count, nodes, self.precision.storage)
            self.backend.bind_read(self._state(self.parity), nodes, rows)()
            stored = self.backend.to_host(rows).reshape(q_count, -1)
            result[:, nodes.first : nodes.last] = stored.astype(self.real) / self.real(self.precision.unit)
        return result

    def moments(self) -> np.ndarray:
        """(4, n) rows rho - 1, ux, uy, uz."""
        result = np.empty((4, self.domain.n_nodes), self.real)
        for nodes in _parts(self.domain.n_nodes):
            out = self._scratch_array("moments", 4, nodes, self.real)
            state = self._state(self.parity)
            self.backend.bind_moments(
                self.model.macroscopic, state, nodes, out, self._parameters.measuring(self.parity)
            )()
            result[:, nodes.first : nodes.last] = self.backend.to_host(out).reshape(4, -1)
        return result

    def totals(self) -> Totals:
        """Sums over the local nodes."""
        arrays = self._reductions[2]
        self._reductions[self.parity]()
        mass, peak, speed = (self.backend.to_host(array) for array in (arrays.mass, arrays.peak, arrays.speed))
        return Totals(float(mass.sum()), float(peak.max()), int(speed.sum()))

    def set_present(self, row: np.ndarray) -> None:
        """Values in force now; see :meth:`schedule`."""
        self.backend.update(self._now, (row * self._units).astype(self.real))

    def schedule(self, rows: np.ndarray) -> None:
        """Values of the steps to come: (K, n_values + 3), one row per step: the conditions' values and the body force
        (which only a ``VARYING`` force reads). The last row stays in force."""
        device, (n_rows, width) = self.backend.array((rows * self._units).astype(self.real).reshape(-1)), rows.shape
        self._rows = [self.backend.view(device, k * width, (k + 1) * width) for k in reversed(range(n_rows))]

    def link_fluxes(self) -> tuple[np.ndarray, np.ndarray]:
        """(L,) float64 mass entering per step, and node density deviation, of every local opening link."""
        if not self._borders.has_openings:
            return np.zeros(0), np.zeros(0)
        self.backend.synchronise()  # packs run beside the interior, which may still be writing
        return self._borders.fluxes(self.parity)

    def wall_exchange(self, averaged: bool = False) -> np.ndarray:
        """(S + F,) float64 population that leaves plus the one that enters (deviations) of every local link into
        slotted and into labelled folded walls; times c_q it is the momentum given to the wall in this step. Collective.

        Args:
            averaged: take the mean with the step before, if its populations are still there.
        """
        self.backend.synchronise()
        if self.model.streaming != "push":
            self.fill_slots()
        # Push leaves in the other buffer what its own step sent, pull what its step received; in place nothing is left.
        needed = {"pull": 1, "push": 2, "aa": np.inf}[self.model.streaming]
        parities = (0, 1) if averaged and self.steps_kept >= needed else (self.parity,)
        return np.mean([self._borders.wall_exchange(parity) for parity in parities], axis=0)

    def fill_slots(self) -> None:
        """Fill the slots of the present state, as the next step will; in place only halo slots can be filled twice."""
        parity, line = self.parity, self._halo.lines[self.parity]
        fills_slots = self.model.streaming == "pull"
        if fills_slots and self._borders.has_openings:
            self._borders.bind_links(parity)()
            self.backend.edge_waits_for_openings()
        if line:
            line.run()
        if fills_slots and self._borders.has_slotted_walls:
            self._borders.bind_walls(parity)()
        self._meet()

    def _meet(self) -> None:
        """Nobody goes on while another rank still reads what neighbours write to."""
        self.backend.synchronise()
        self._connector.communicator.barrier()

    def _begin_step(self) -> int:
        """Put the values of the step into force; returns the parity from which it goes."""
        if self._rows:
            self._take_row()
        self.parity ^= 1
        self.steps_kept += 1
        return 1 - self.parity

    def _take_row(self) -> None:
        self.backend.bind_copy(self._rows.pop(), self._now)()
        self.backend.mark_interior()
        self.backend.edge_waits()

    def _set(self, part) -> None:
        """Overwrite the state by ``part(first, last)`` -> (Q, m) or (Q, 1); the next step is an even one."""
        self.parity = self.steps_kept = 0
        q_count, storage = self.model.lattice.q, self.precision.storage
        uploaded = None
        for nodes in _parts(self.domain.n_nodes):
            rows = self._scratch_array("rows", q_count, nodes, storage)
            values = part(nodes.first, nodes.last) * self.precision.unit
            if values.shape[1] > 1 or uploaded != rows.size:
                values = np.broadcast_to(values, (q_count, nodes.last - nodes.first))
                self.backend.update(rows, values.astype(storage).reshape(rows.shape))
                uploaded = rows.size
            self.backend.bind_write(self._state(0), nodes, rows)()
        self._meet()

    def _scratch_array(self, name: str, n_rows: int, nodes: NodeRange, dtype):
        """Device memory that is kept between calls."""
        if name not in self._scratch:
            size = n_rows * min(PART, self.domain.n_nodes)
            self._scratch[name] = self.backend.zeros(size, dtype)
        return self.backend.view(self._scratch[name], 0, n_rows * (nodes.last - nodes.first))

    def _turn(self, parity: int) -> int:
        return parity % len(self._tables)

    def _state(self, parity: int) -> State:
        """The populations before a step from buffer ``parity``."""
        before = self._turn(parity - 1)
        places = self.addresses.places_after(before)
        return State(self.buffers[parity], places, self._tables[before], self.domain.n_nodes)

    def _stream_arrays(self, parity: int) -> StreamArrays:
        turn = self._turn(parity)
        buffers = self.buffers[parity], self.buffers[1 - parity]
        return StreamArrays(*buffers, self._tables[turn], self.addresses.patterns[turn])

    @property
    def tables(self) -> tuple:
        """Device forms of the address tables of consecutive steps; the steps repeat them."""
        return tuple(self._tables)

    def stream_usage(self):
        """What the compiler gave one thread of the stream-and-collide kernel."""
        return self.backend.stream_collide_usage(self.model.collision, self._stream_arrays(0), self.shape)

    @property
    def transport(self) -> str:
        """How halos travel: names of transports joined by "+", or "none"."""
        return self._halo.used

    @property
    def halo_bytes(self) -> float:
        """Bytes that this rank sends in a step, on average."""
        plans = self.addresses.exchanges
        return sum(plan.n_pack for plan in plans) / len(plans) * np.dtype(self.precision.storage).itemsize

    def exchange_seconds(self, most: int, n_rounds: int = 10) -> float:
        """Time of one exchange by itself on the slowest rank, with messages of at most ``most`` populations;
        collective. It spoils the flow."""
        found = bind_lines(self._halo_of_buffers().shortened(most), self._halo.shares)
        return exchange_seconds(self._connector.communicator, self.backend, found, n_rounds)

    def _halo_of_buffers(self) -> Halo:
        """What crosses before (pull, in place) or in the middle of (push) a step from each buffer."""
        plans = tuple(self.addresses.exchanges[self._turn(parity)] for parity in (0, 1))
        buffers = self.buffers[::-1] if self.model.streaming == "push" else self.buffers
        return Halo(self.domain.halo.neighbours, plans, tuple(buffers))

    def _bind_step(self, parity) -> list[Task]:
        """The tasks of one step from buffer ``parity`` into the other; stages with nothing to do are left out.

        Openings and packing write to edge nodes and slots only. What comes behind the messages reads what the interior
        wrote in the step before, and the edge overwrites what it read, so they wait for it; the interior waits
        likewise. Where openings run beside the edge (pull), what reads their slots waits for them: edge and walls.
        """
        line, borders = self._line(parity), self._borders
        wait, tasks = ordering(self.backend.edge_waits), []
        for stage in self.model.stages:
            if stage.skeleton in (STREAM_COLLIDE, STENCIL):
                tasks += self._bind_nodes(stage, parity, self.shape)
            elif stage.skeleton == LINKS and borders.has_openings:
                tasks += self._bind_links(parity)
            elif stage.skeleton == WALL_LINKS and borders.has_slotted_walls:
                tasks += [wait, *self._slots_filled(), Task("walls", ON_EDGE, borders.bind_walls(parity))]
            elif stage.skeleton == EXCHANGE_START and line:
                tasks += line.start
            elif stage.skeleton == EXCHANGE_FINISH and line:
                tasks += [*line.arrive, wait, *line.unpack]
        if self.domain.n_edge:
            begin, end = ordering(self.backend.mark_interior), ordering(self.backend.interior_waits)
            tasks = [begin, *without_repeats(tasks, wait.run, self.backend.edge_waits_for_openings), end]
        return tasks

    def _line(self, parity: int) -> Line | None:
        """All that the step exchanges."""
        lines = [line for line in (self._halo.lines[parity], *self.fields.lines(parity)) if line]
        return sum(lines, Line()) if lines else None

    def _bind_links(self, parity) -> list[Task]:
        """The openings of a step. Pull fills slots that nobody but the edge reads: that goes beside the messages. In
        place they read, for the velocity of a node, populations that the node left with its neighbours, which the
        interior is about to overwrite: it waits for them."""
        backend, launch = self.backend, self._borders.bind_links(parity)
        waits = {"pull": [], "push": [backend.edge_waits_for_openings]}
        waits["aa"] = [*waits["push"], backend.interior_waits]
        tasks = [ordering(backend.openings_wait_for_edge), Task("openings", ON_OPENINGS, launch)]
        return [*tasks, *map(ordering, waits[self.model.streaming])]

    def _slots_filled(self) -> list[Task]:
        """Lets the edge wait for openings that run beside it."""
        beside = self._borders.has_openings and self.model.streaming == "pull"
        return [ordering(self.backend.edge_waits_for_openings)] if beside else []

    def interior_launches(self, shape) -> list:
        """Stream-and-collide of the interior alone, from each buffer."""
        stage = next(
            stage for stage in self.model.stages if stage.skeleton == STREAM_COLLIDE and stage.part == INTERIOR
        )
        return [self._bind_nodes(stage, parity, shape)[0].run for parity in (0, 1)]

    def _bind_nodes(self, stage, parity, shape) -> list[Task]:
        n_edge, n_nodes = self.domain.n_edge, self.domain.n_nodes
        bounds = (0, n_edge) if stage.part == EDGE else (n_edge, n_nodes)
        if bounds[0] == bounds[1]:
            return []
        nodes = NodeRange(*bounds, is_edge=stage.part == EDGE, is_reversed=parity == 1)
        if stage.skeleton == STENCIL:
            return self.fields.bind(stage, parity, nodes)
        arrays = self._stream_arrays(parity)
        parameters = self._parameters.stepping(parity)
        launch = self.backend.bind_stream_collide(*stage.operators, arrays, nodes, parameters, shape)
        task = Task(stage.part, nodes.queue, launch)
        return [ordering(self.backend.edge_waits), *self._slots_filled(), task] if nodes.is_edge else [task]

    def _bind_reductions(self, speed_scale):
        """Reductions of buffer 0 and 1, and the arrays they share."""
        workers = self.backend.reduction_workers(self.domain.n_nodes)
        floats = [self.backend.zeros(workers, np.float64) for _ in range(2)]
        arrays = ReductionArrays(*floats, self.backend.zeros(workers, np.int64), float(speed_scale))
        bind, model = self.backend.bind_reduction, self.model
        return *(bind(model.macroscopic, self._state(p), arrays, self._parameters.measuring(p)) for p in (0, 1)), arrays


def _parts(n_nodes: int):
    """Ranges of at most ``PART`` nodes."""
    for first in range(0, n_nodes, PART):
        yield NodeRange(first, min(first + PART, n_nodes))


def _columns(values: np.ndarray, first: int, last: int) -> np.ndarray:
    """Columns of (Q, n) values, or the one of (Q, 1)."""
    return values if values.shape[1] == 1 else values[:, first:last]
