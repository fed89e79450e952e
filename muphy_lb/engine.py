"""Engine: a model bound to one rank's domain and device; it steps and measures, in lattice units."""

import time
from dataclasses import dataclass

import numpy as np

from muphy_lb.backends.interface import LinkArrays, NodeRange, Populations, ReductionArrays, StreamArrays, WallArrays
from muphy_lb.domain import LocalDomain, build_addresses
from muphy_lb.parallel import HaloExchange, Staging
from muphy_lb.physics.model import (
    EDGE,
    EXCHANGE_FINISH,
    EXCHANGE_START,
    LINKS,
    SCHEDULED,
    STREAM_COLLIDE,
    WALL_LINKS,
    Model,
)
from muphy_lb.probe import Probe

# Nodes that the specification collides at once when a flow is started; it needs about 1 kB a node.
START_CHUNK = 1 << 18


@dataclass(frozen=True)
class LinkConditions:
    """Conditions of the local links.

    Attributes:
        momentum: (L,) mass that enters through each opening link per unit of its opening's value.
        kind: (n_openings,) condition kind of each opening.
        walls: (4, S) coefficients of the links into slotted walls.
        value: values of the openings, then the velocity scale of each labelled wall and of all others together.
    """

    momentum: np.ndarray
    kind: np.ndarray
    walls: np.ndarray
    value: np.ndarray


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
        communicator: the ranks.
        domain: this rank's nodes.
        model: the physics.
        conditions: what happens at the local opening links.
        speed_scale: scale of the exact integer sum of speeds.
    """

    def __init__(
        self, backend, communicator, domain: LocalDomain, model: Model, conditions: LinkConditions, speed_scale
    ):
        self.backend, self.domain, self.model = backend, domain, model
        self._communicator = communicator
        self.real = backend.real
        self._now = backend.array(np.append(conditions.value, np.zeros(3)).astype(self.real))
        self._rows = ()
        self._parameters = self._device_parameters(conditions.value.size)
        self.addresses = build_addresses(domain, model.streaming)
        self._buffers = [backend.zeros(self.addresses.n_slots, self.real) for _ in range(2)]
        self._parity, self._steps_kept = 0, 0
        self._links = self._link_arrays(conditions)
        self._walls = self._wall_arrays(conditions)
        table = backend.array(self.addresses.table)
        self._streams = [StreamArrays(*self._pair(parity), table, domain.pitch) for parity in (0, 1)]
        staging = Staging(backend, domain.halo, self.addresses, self.real) if domain.halo.neighbours else None
        self._exchanges = [self._bind_exchange(parity, staging) for parity in (0, 1)]
        self._steps = [self._bind_step(parity) for parity in (0, 1)]
        self._reductions = self._bind_reductions(speed_scale)
        self._link_probe = Probe(backend, self._buffers, self._link_addresses())
        self._wall_probe = Probe(backend, self._buffers, self._wall_addresses())

    @property
    def bytes_allocated(self) -> int:
        """Bytes of populations, address table and wall links on this rank's device."""
        size = np.dtype(self.real).itemsize
        wall_link = 4 * (self.addresses.table.itemsize + size) + 1
        return 2 * self.addresses.n_slots * size + self.addresses.table.nbytes + self.domain.slotted.n_links * wall_link

    def step(self) -> None:
        """One time step."""
        if self._rows:
            self._take_row()
        for launch in self._steps[self._parity]:
            launch()
        self._parity ^= 1
        self._steps_kept += 1

    def warm_up(self) -> None:
        """Run every launch once on a fluid at rest, so that compilation is over before the clock starts; then make one
        launch of each step where no other rank takes part."""
        for _ in range(2):
            self.step()
        if not any(self._exchanges):
            self.backend.synchronise()
            self._steps = [[self.backend.record(launches)] for launches in self._steps]
        self.totals()
        self.moments()
        self.backend.synchronise()

    def time_steps(self, n_steps: int) -> float:
        """Seconds that some steps take."""
        self.backend.synchronise()
        before = time.perf_counter()
        for _ in range(n_steps):
            self.step()
        self.backend.synchronise()
        return time.perf_counter() - before

    def start_from(self, density: np.ndarray, velocity: np.ndarray) -> None:
        """Set equilibrium populations (before collision) of ``density`` and ``velocity``: (n,) and (3, n), or (1,) and
        (3, 1) for a uniform state."""
        lattice = self.model.lattice
        state = self.model.equilibrium.populations(density, velocity, lattice) - lattice.w[:, None]
        self.start_from_populations(state)

    def start_from_populations(self, state: np.ndarray) -> None:
        """Set (Q, n) or (Q, 1) populations before collision (deviations from w_q), whatever the streaming stores."""
        if self.model.streaming == "pull":
            parameters = self._host_parameters()
            sizes = (p.size for p in parameters if isinstance(p, np.ndarray))
            n_nodes = max(state.shape[1], *sizes, 1)
            before = np.broadcast_to(state, (state.shape[0], n_nodes))
            state = np.empty(before.shape, self.real)
            for first in range(0, n_nodes, START_CHUNK):
                n = np.arange(first, min(first + START_CHUNK, n_nodes))
                state[:, n] = self.model.collision.reference(before[:, n], n, self.model.lattice, parameters)
        self.set_populations(state)

    def set_populations(self, populations: np.ndarray) -> None:
        """Overwrite the stored (Q, n) populations (deviations from w_q, in this model's streaming form)."""
        flat = np.zeros(self.addresses.n_slots, self.real)
        rows = flat[: self.addresses.halo_start].reshape(self.model.lattice.q, self.domain.pitch)
        rows[:, : self.domain.n_nodes] = populations
        self.backend.update(self._buffers[self._parity], flat)
        self._steps_kept = 0

    def populations(self) -> np.ndarray:
        """(Q, n) stored populations."""
        flat = self.backend.to_host(self._buffers[self._parity])[: self.addresses.halo_start]
        return flat.reshape(self.model.lattice.q, self.domain.pitch)[:, : self.domain.n_nodes]

    def moments(self) -> np.ndarray:
        """(4, n) rows rho - 1, ux, uy, uz, computed in the other buffer, which the next step overwrites anyway."""
        self._steps_kept = 0
        out = self._buffers[1 - self._parity][: 4 * self.domain.n_nodes]
        self.backend.bind_moments(self.model.macroscopic, self._state(self._parity), out, self._parameters)()
        return self.backend.to_host(out).reshape(4, -1)

    def totals(self) -> Totals:
        """Sums over the local nodes."""
        arrays = self._reductions[2]
        self._reductions[self._parity]()
        mass, peak, speed = (self.backend.to_host(array) for array in (arrays.mass, arrays.peak, arrays.speed))
        return Totals(float(mass.sum()), float(peak.max()), int(speed.sum()))

    def set_present(self, row: np.ndarray) -> None:
        """Values in force now; see :meth:`schedule`."""
        self.backend.update(self._now, row.astype(self.real))

    def schedule(self, rows: np.ndarray) -> None:
        """Values of the steps to come: (K, n_values + 3), one row per step: the conditions' values and the body force
        (which only a ``VARYING`` force reads). The last row stays in force."""
        device, (n_rows, width) = self.backend.array(rows.astype(self.real).reshape(-1)), rows.shape
        self._rows = [self.backend.view(device, k * width, (k + 1) * width) for k in reversed(range(n_rows))]

    def link_fluxes(self) -> tuple[np.ndarray, np.ndarray]:
        """(L,) float64 mass entering per step, and node density deviation, of every local opening link."""
        if self.domain.links.n_links == 0:
            return np.zeros(0), np.zeros(0)
        self.backend.synchronise()  # packs run beside the interior, which may still be writing
        if self.model.streaming == "pull":
            self._bind_links(self._parity)()
        entering, leaving, *rows = self._link_probe.read(self._parity).reshape(2 + self.model.lattice.q, -1)
        return entering - leaving, np.sum(rows, axis=0)

    def wall_exchange(self, averaged: bool = False) -> np.ndarray:
        """(S + F,) float64 population that leaves plus the one that enters (deviations) of every local link into
        slotted and into labelled folded walls; times c_q it is the momentum given to the wall in this step. Collective.

        Args:
            averaged: take the mean with the step before, if its populations are still there.
        """
        self.backend.synchronise()
        if self.model.streaming == "pull":
            self._complete()
        if self._wall_probe.size == 0:
            return np.zeros(0)
        # Push leaves in the other buffer what its own step sent, pull what its step received.
        needed = 1 if self.model.streaming == "pull" else 2
        parities = (0, 1) if averaged and self._steps_kept >= needed else (self._parity,)
        return np.mean([self._wall_probe.read(p).reshape(2, -1).sum(axis=0) for p in parities], axis=0)

    def _complete(self) -> None:
        """Fill halo and link slots of the present state, as the next step will."""
        parity, exchange = self._parity, self._exchanges[self._parity]
        if self.domain.links.n_links:
            self._bind_links(parity)()
        if exchange:
            exchange.start()
            exchange.finish()
        if self.domain.slotted.n_links:
            self._bind_walls(parity)()
        self.backend.synchronise()

    def _take_row(self) -> None:
        self.backend.bind_copy(self._rows.pop(), self._now)()
        self.backend.mark_interior()
        self.backend.edge_waits()

    def _device_parameters(self, n_values: int) -> tuple:
        """The model's parameters where the kernels can read them; scheduled ones are views of the present row."""
        place, parameters = n_values, []
        for value in self.model.parameters:
            if value is SCHEDULED:
                parameters.append(self.backend.view(self._now, place, place + 1))
                place += 1
            elif isinstance(value, np.ndarray):
                parameters.append(self.backend.array(value.astype(self.real)))
            else:
                parameters.append(self.real(value))
        return tuple(parameters)

    def _host_parameters(self) -> tuple:
        """The model's parameters as the reference reads them."""
        force = self.backend.to_host(self._now)[-3:].astype(np.float64)
        scheduled = iter(force.reshape(3, 1))
        return tuple(next(scheduled) if value is SCHEDULED else value for value in self.model.parameters)

    def _pair(self, parity):
        return self._buffers[parity], self._buffers[1 - parity]

    def _state(self, parity) -> Populations:
        return Populations(self._buffers[parity], self.domain.pitch, self.domain.n_nodes)

    def _link_arrays(self, conditions: LinkConditions) -> LinkArrays:
        links, addresses, array = self.domain.links, self.addresses, self.backend.array
        return LinkArrays(
            node=array(links.node),
            q=array(links.q),
            outgoing=array(addresses.links.outgoing),
            incoming=array(addresses.links.incoming),
            opening=array(links.boundary),
            momentum=array(conditions.momentum.astype(self.real)),
            kind=array(conditions.kind.astype(np.int64)),
            value=self.backend.view(self._now, 0, conditions.kind.size),
            pitch=self.domain.pitch,
        )

    def _wall_arrays(self, conditions: LinkConditions) -> WallArrays:
        """Pull finds what is about to arrive at a node where the node will pull it from; push does not know it any
        more, and its coefficients must not ask for it."""
        links, addresses, dtype = self.domain.slotted, self.addresses, self.addresses.table.dtype
        opposite, pitch = self.domain.lattice.opposite, self.domain.pitch
        arriving = opposed = addresses.slotted.outgoing
        if self.model.streaming == "pull":
            arriving = addresses.table[links.q, links.node]
            opposed = opposite[links.q] * pitch + links.node
        met = (addresses.slotted.outgoing, arriving, opposed, addresses.slotted.incoming)
        n_openings, n_values = conditions.kind.size, conditions.value.size
        return WallArrays(
            *(self.backend.array(address.astype(dtype)) for address in met),
            coefficients=self.backend.array(conditions.walls.astype(self.real).reshape(-1)),
            wall=self.backend.array(links.boundary.astype(np.uint8)),
            value=self.backend.view(self._now, n_openings, n_values),
        )

    def _bind_exchange(self, parity, staging):
        old, new = self._pair(parity)
        exchanged = old if self.model.streaming == "pull" else new
        halo, addresses = self.domain.halo, self.addresses
        return HaloExchange(self._communicator, self.backend, halo, addresses, exchanged, staging) if staging else None

    def _bind_step(self, parity):
        """The launches of one step from buffer ``parity`` into the other; stages with nothing to do are left out.

        Openings, packing and unpacking touch edge nodes and slots only. Walls and the edge nodes themselves read what
        the interior wrote in the step before, and the edge overwrites what it read, so they wait for it; the interior
        waits likewise.
        """
        exchange = self._exchanges[parity]
        launches = []
        for stage in self.model.stages:
            if stage.skeleton == STREAM_COLLIDE:
                launches += self._bind_nodes(stage, parity)
            elif stage.skeleton == LINKS:
                launches += [self._bind_links(parity)] if self.domain.links.n_links else []
            elif stage.skeleton == WALL_LINKS:
                walls = [self.backend.edge_waits, self._bind_walls(parity)]
                launches += walls if self.domain.slotted.n_links else []
            elif stage.skeleton == EXCHANGE_START and exchange:
                launches.append(exchange.start)
            elif stage.skeleton == EXCHANGE_FINISH and exchange:
                launches.append(exchange.finish)
        if self.domain.n_edge:
            launches = [self.backend.mark_interior, *launches, self.backend.interior_waits]
        return launches

    def _bind_nodes(self, stage, parity):
        n_edge, n_nodes = self.domain.n_edge, self.domain.n_nodes
        nodes = NodeRange(0, n_edge, is_edge=True) if stage.part == EDGE else NodeRange(n_edge, n_nodes)
        if nodes.first == nodes.last:
            return []
        streaming, arrays = self.model.streaming, self._streams[parity]
        launch = self.backend.bind_stream_collide(*stage.operators, streaming, arrays, nodes, self._parameters)
        return [self.backend.edge_waits, launch] if nodes.is_edge else [launch]

    def _bind_links(self, parity):
        old, _ = self._pair(parity)
        buffer, operators = self._link_buffer(parity), self._operators(LINKS)
        return self.backend.bind_links(*operators, old, buffer, self._links, self._parameters)

    def _bind_walls(self, parity):
        return self.backend.bind_walls(*self._operators(WALL_LINKS), self._link_buffer(parity), self._walls)

    def _link_buffer(self, parity):
        old, new = self._pair(parity)
        return old if self.model.streaming == "pull" else new

    def _operators(self, skeleton):
        return next(stage.operators for stage in self.model.stages if stage.skeleton == skeleton)

    def _link_addresses(self) -> np.ndarray:
        """Of what enters and leaves through each opening link, and of all populations of its node."""
        links, addresses = self.domain.links, self.addresses
        at_node = np.arange(self.model.lattice.q)[:, None] * self.domain.pitch + links.node
        return np.concatenate((addresses.links.incoming, addresses.links.outgoing, at_node.ravel()))

    def _wall_addresses(self) -> np.ndarray:
        slotted, folded = self.addresses.slotted, self.addresses.folded
        return np.concatenate((slotted.outgoing, folded.outgoing, slotted.incoming, folded.incoming))

    def _bind_reductions(self, speed_scale):
        """Reductions of buffer 0 and 1, and the arrays they share."""
        workers = self.backend.reduction_workers(self.domain.n_nodes)
        floats = [self.backend.zeros(workers, np.float64) for _ in range(2)]
        arrays = ReductionArrays(*floats, self.backend.zeros(workers, np.int64), float(speed_scale))
        bind = self.backend.bind_reduction
        bound = [bind(self.model.macroscopic, self._state(p), arrays, self._parameters) for p in (0, 1)]
        return (*bound, arrays)
