"""Halo exchange: the tasks that transfer populations and fields between ranks, each neighbour by one transport."""

import time
from dataclasses import dataclass, replace

from muphy_lb.domain import Exchange
from muphy_lb.parallel.task import recorded
from muphy_lb.parallel.transports import ExchangeTasks, HostStaged, Transport


@dataclass(frozen=True)
class Halo:
    """The values that a rank exchanges with its neighbours."""

    neighbours: tuple[int, ...]  #: ranks, ascending
    plans: tuple[Exchange, Exchange]  #: the exchanges before (or in) steps of even and of odd number
    buffers: tuple  #: the population buffer of each

    def part(self, chosen: list[int]) -> "Halo":
        """The halo with some of the neighbours, given by their positions."""
        if len(chosen) == len(self.neighbours):
            return self
        even, odd = self.plans
        first = even.part(chosen)
        second = first if odd is even else odd.part(chosen)
        return Halo(tuple(self.neighbours[j] for j in chosen), (first, second), self.buffers)

    def exchanges_with(self, j: int) -> bool:
        """Whether anything goes to or comes from a neighbour, given by its position."""
        starts = (start for plan in self.plans for start in (plan.pack_start, plan.unpack_start))
        return any(start[j] < start[j + 1] for start in starts)

    def shortened(self, most: int) -> "Halo":
        """The halo with messages of at most so many populations."""
        even, odd = self.plans
        return replace(self, plans=(even.shortened(most), odd.shortened(most)))


@dataclass(frozen=True)
class HaloExchange:
    """The bound exchanges of a rank."""

    used: str  #: names of the transports joined by "+", ``"none"`` without neighbours
    exchanges: tuple[ExchangeTasks | None, ExchangeTasks | None]  #: of even and odd steps, None without neighbours
    shares: tuple[tuple[Transport, list[int]], ...] = ()  #: each transport with the positions of its neighbours


NO_EXCHANGE = HaloExchange("none", (None, None))


def bind_exchanges(halo: Halo, shares) -> HaloExchange:
    """Bind transports, each to its share of the neighbours (given by their positions). Neighbours with which nothing is
    exchanged are left out, on both sides. Raises TransportFailure: a transport does not work here."""
    even, odd, used = ExchangeTasks(), ExchangeTasks(), []
    for transport, share in shares:
        chosen = [j for j in share if halo.exchanges_with(j)]
        if chosen:
            part = halo.part(chosen)
            more_even, more_odd = transport.bind(part.neighbours, part.plans, part.buffers)
            even, odd = even + more_even, odd + more_odd
            used.append(transport.name)
    return HaloExchange("+".join(used), (even, odd), tuple(shares)) if used else NO_EXCHANGE


def bind_on_host(communicator, backend, halo: Halo) -> HaloExchange:
    """Bind all neighbours through the host, which works everywhere."""
    return bind_exchanges(halo, [(HostStaged(communicator, backend), list(range(len(halo.neighbours))))])


def exchange_seconds(communicator, backend, found: HaloExchange, n_rounds: int) -> float:
    """Duration [s] of one isolated exchange on the slowest rank, recorded as in a time step; collective."""
    launches = [[exchange.run] for exchange in found.exchanges if exchange]
    for is_recorded in (False, True):  # the first round compiles
        if is_recorded:
            launches = [recorded(exchange.tasks, backend) for exchange in found.exchanges if exchange]
        backend.synchronise()
        communicator.barrier()
        before = time.perf_counter()
        for _ in range(n_rounds):
            for launch in sum(launches, []):
                launch()
        backend.synchronise()
        seconds = time.perf_counter() - before
    return communicator.maximum(seconds) / (2 * n_rounds)
