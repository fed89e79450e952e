"""Halo exchange: the tasks that carry what crosses between ranks, each neighbour by one transport."""

from dataclasses import dataclass

from muphy_lb.domain import Exchange
from muphy_lb.parallel.transports import HostStaged, Line, Transport


@dataclass(frozen=True)
class Halo:
    """What a rank exchanges with whom.

    Attributes:
        neighbours: ranks, ascending.
        plans: the exchange before (or in) steps of even and of odd number.
        buffers: the population buffer of each.
    """

    neighbours: tuple[int, ...]
    plans: tuple[Exchange, Exchange]
    buffers: tuple

    def part(self, chosen: list[int]) -> "Halo":
        """The halo with some of the neighbours, given by their positions."""
        if len(chosen) == len(self.neighbours):
            return self
        plans = {id(plan): plan.part(chosen) for plan in self.plans}
        return Halo(
            neighbours=tuple(self.neighbours[j] for j in chosen),
            plans=tuple(plans[id(plan)] for plan in self.plans),
            buffers=self.buffers,
        )


@dataclass(frozen=True)
class HaloLines:
    """The bound exchanges of a rank: ``used``, the names of the transports (``"none"`` without neighbours), and the
    ``lines`` of even and odd steps (None without neighbours)."""

    used: str
    lines: tuple[Line | None, Line | None]


NO_LINES = HaloLines("none", (None, None))


def bind_lines(halo: Halo, shares: list[tuple[Transport, list[int]]]) -> HaloLines:
    """Bind transports, each to its share of the neighbours (given by their positions).

    Raises:
        TransportFailure: one does not work here.
    """
    lines, used = [Line(), Line()], []
    for transport, chosen in shares:
        if chosen:
            part = halo.part(chosen)
            found = transport.lines(part.neighbours, part.plans, part.buffers)
            lines = [line + more for line, more in zip(lines, found, strict=True)]
            used.append(transport.name)
    return HaloLines("+".join(used), tuple(lines)) if used else NO_LINES


def host_lines(communicator, backend, halo: Halo) -> HaloLines:
    """All neighbours through the host: what works everywhere."""
    return bind_lines(halo, [(HostStaged(communicator, backend), list(range(len(halo.neighbours))))])
