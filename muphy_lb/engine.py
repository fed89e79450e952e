"""Engine: a model bound to one rank's domain and device; it steps and measures, in lattice units."""

import time
from dataclasses import dataclass

import numpy as np

from muphy_lb.backends.interface import LinkArrays, NodeRange, Populations, ReductionArrays, StreamArrays
from muphy_lb.domain import LocalDomain, build_addresses
from muphy_lb.operators.equilibrium import equilibrium
from muphy_lb.parallel import HaloExchange, Staging
from muphy_lb.physics.model import EDGE, EXCHANGE_FINISH, EXCHANGE_START, LINKS, STREAM_COLLIDE, Model


@dataclass(frozen=True)
class LinkConditions:
    """Conditions of the local opening links: (L,) ``momentum`` and per opening ``kind`` and ``value``."""

    momentum: np.ndarray
    kind: np.ndarray
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
        self._parameters = tuple(self.real(value) for value in model.parameters)
        self.addresses = build_addresses(domain, model.streaming)
        self._buffers = [backend.zeros(self.addresses.n_slots, self.real) for _ in range(2)]
        self._parity = 0
        self._links = self._link_arrays(conditions)
        table = backend.array(self.addresses.table)
        self._streams = [StreamArrays(*self._pair(parity), table, domain.pitch) for parity in (0, 1)]
        staging = Staging(backend, domain.halo, self.addresses, self.real) if domain.halo.neighbours else None
        self._steps = [self._bind_step(parity, staging) for parity in (0, 1)]
        self._refills = [self._bind_links(parity) for parity in (0, 1)]
        self._flux_packs = self._bind_flux_packs() if domain.links.n_links else None
        self._reductions = self._bind_reductions(speed_scale)

    @property
    def bytes_allocated(self) -> int:
        """Bytes of populations and address table on this rank's device."""
        slots = 2 * self.addresses.n_slots * np.dtype(self.real).itemsize
        return slots + self.addresses.table.nbytes

    def step(self) -> None:
        """One time step."""
        for launch in self._steps[self._parity]:
            launch()
        self._parity ^= 1

    def warm_up(self) -> None:
        """Run every launch once on a fluid at rest, so that compilation is over before the clock starts."""
        for _ in range(2):
            self.step()
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
        shift = self.model.lattice.w[:, None]
        state = equilibrium(density, velocity, self.model.lattice) - shift
        if self.model.streaming == "pull":
            n = np.arange(state.shape[1])
            state = self.model.collision.reference(state, n, self.model.lattice, self.model.parameters)
        self.set_populations(state)

    def set_populations(self, populations: np.ndarray) -> None:
        """Overwrite the stored (Q, n) populations (deviations from w_q, in this model's streaming form)."""
        flat = np.zeros(self.addresses.n_slots, self.real)
        rows = flat[: self.addresses.halo_start].reshape(self.model.lattice.q, self.domain.pitch)
        rows[:, : self.domain.n_nodes] = populations
        self.backend.update(self._buffers[self._parity], flat)

    def populations(self) -> np.ndarray:
        """(Q, n) stored populations."""
        flat = self.backend.to_host(self._buffers[self._parity])[: self.addresses.halo_start]
        return flat.reshape(self.model.lattice.q, self.domain.pitch)[:, : self.domain.n_nodes]

    def moments(self) -> np.ndarray:
        """(4, n) rows rho - 1, ux, uy, uz, computed in the other buffer, which the next step overwrites anyway."""
        out = self._buffers[1 - self._parity][: 4 * self.domain.n_nodes]
        self.backend.bind_moments(self.model.macroscopic, self._state(self._parity), out, self._parameters)()
        return self.backend.to_host(out).reshape(4, -1)

    def totals(self) -> Totals:
        """Sums over the local nodes."""
        arrays = self._reductions[2]
        self._reductions[self._parity]()
        mass, peak, speed = (self.backend.to_host(array) for array in (arrays.mass, arrays.peak, arrays.speed))
        return Totals(float(mass.sum()), float(peak.max()), int(speed.sum()))

    def set_opening_values(self, value: np.ndarray) -> None:
        """Change the value of every opening (velocity scale or rho_out - 1)."""
        self.backend.update(self._links.value, value.astype(self.real))

    def link_fluxes(self) -> tuple[np.ndarray, np.ndarray]:
        """(L,) float64 mass entering per step, and node density deviation, of every local opening link."""
        if self.domain.links.n_links == 0:
            return np.zeros(0), np.zeros(0)
        self.backend.synchronise()  # packs run beside the interior, which may still be writing
        if self.model.streaming == "pull":
            self._refills[self._parity]()
        self._flux_packs[self._parity]()
        self.backend.finish_pack()
        entering, leaving, *rows = self._flux_host.astype(np.float64).reshape(2 + self.model.lattice.q, -1)
        return entering - leaving, np.sum(rows, axis=0)

    def _pair(self, parity):
        return self._buffers[parity], self._buffers[1 - parity]

    def _state(self, parity) -> Populations:
        return Populations(self._buffers[parity], self.domain.pitch, self.domain.n_nodes)

    def _link_arrays(self, conditions: LinkConditions) -> LinkArrays:
        links, addresses, array = self.domain.links, self.addresses, self.backend.array
        return LinkArrays(
            node=array(links.node),
            q=array(links.q),
            outgoing=array(addresses.link_outgoing),
            incoming=array(addresses.link_incoming),
            opening=array(links.opening),
            momentum=array(conditions.momentum.astype(self.real)),
            kind=array(conditions.kind.astype(np.int64)),
            value=array(conditions.value.astype(self.real)),
            pitch=self.domain.pitch,
        )

    def _bind_step(self, parity, staging):
        """The launches of one step from buffer ``parity`` into the other; stages with nothing to do are left out.

        Links, packing and unpacking touch edge nodes and slots only. The edge nodes themselves read what the interior
        wrote in the step before and overwrite what it read, so they wait for it; the interior waits likewise.
        """
        old, new = self._pair(parity)
        exchanged = old if self.model.streaming == "pull" else new
        exchange = None
        if staging:
            exchange = HaloExchange(
                self._communicator, self.backend, self.domain.halo, self.addresses, exchanged, staging
            )
        launches = []
        for stage in self.model.stages:
            if stage.skeleton == STREAM_COLLIDE:
                launches += self._bind_nodes(stage, parity)
            elif stage.skeleton == LINKS:
                launches += [self._bind_links(parity)] if self.domain.links.n_links else []
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
        old, new = self._pair(parity)
        buffer = old if self.model.streaming == "pull" else new
        operators = next(stage.operators for stage in self.model.stages if stage.skeleton == LINKS)
        return self.backend.bind_links(*operators, old, buffer, self._links, self._parameters)

    def _bind_flux_packs(self):
        """Copies to the host of what enters and leaves through each link and of all populations of its node."""
        links, addresses = self.domain.links, self.addresses
        at_node = np.arange(self.model.lattice.q)[:, None] * self.domain.pitch + links.node
        wanted = np.concatenate((addresses.link_incoming, addresses.link_outgoing, at_node.ravel()))
        device = self.backend.array(wanted.astype(addresses.table.dtype))
        packed = self.backend.zeros(wanted.size, self.real)
        self._flux_host = self.backend.host_buffer(wanted.size, self.real)
        return [self.backend.bind_pack(buffer, device, packed, self._flux_host) for buffer in self._buffers]

    def _bind_reductions(self, speed_scale):
        """Reductions of buffer 0 and 1, and the arrays they share."""
        workers = self.backend.reduction_workers(self.domain.n_nodes)
        floats = [self.backend.zeros(workers, np.float64) for _ in range(2)]
        arrays = ReductionArrays(*floats, self.backend.zeros(workers, np.int64), float(speed_scale))
        bind = self.backend.bind_reduction
        bound = [bind(self.model.macroscopic, self._state(p), arrays, self._parameters) for p in (0, 1)]
        return (*bound, arrays)
