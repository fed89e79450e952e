"""Common parts of all transports: messages as contiguous device arrays, the tasks that fill and empty them, those of an
exchange, and how ranks agree on a failure."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from muphy_lb.domain import Exchange
from muphy_lb.parallel.task import ON_EDGE, Task


class MessageBuffers:
    """Device buffers for the messages of exchanges that happen one after the other. ``plans``: all exchanges that use
    them; ``storage``: number format of a population."""

    def __init__(self, backend, plans: tuple[Exchange, ...], storage):
        self._backend = backend
        gathered = [plan.n_pack for plan in plans if not isinstance(plan.pack, slice)]
        scattered = [plan.n_unpack for plan in plans if not isinstance(plan.unpack, slice)]
        self._outgoing, self._incoming = (backend.zeros(max(n, default=0), storage) for n in (gathered, scattered))
        self._addresses: dict[int, tuple[np.ndarray, object]] = {}

    def outgoing(self, n: int):
        """Buffer of n outgoing populations."""
        return self._backend.view(self._outgoing, 0, n)

    def incoming(self, n: int):
        """Buffer of n incoming populations."""
        return self._backend.view(self._incoming, 0, n)

    def addresses(self, host: np.ndarray):
        """Device copy of addresses, made once."""
        if id(host) not in self._addresses:
            self._addresses[id(host)] = host, self._backend.array(host)  # keeps the array, and so its id
        return self._addresses[id(host)][1]


class Packing:
    """The messages of one exchange of one buffer.

    Args:
        plan: what is sent and received.
        shared: buffers for messages that are not contiguous in the population buffer.

    Attributes:
        outgoing, incoming: (n_pack,) and (n_unpack,) device arrays, message after message; parts of the buffer where
            that holds them in this order.
        pack, unpack: tasks that fill the outgoing and empty the incoming array.
    """

    def __init__(self, backend, plan: Exchange, buffer, shared: MessageBuffers):
        self.pack, self.unpack = [], []
        if isinstance(plan.pack, slice):
            self.outgoing = backend.view(buffer, plan.pack.start, plan.pack.stop)
        else:
            self.outgoing = shared.outgoing(plan.n_pack)
            gather = backend.bind("gather", buffer, shared.addresses(plan.pack), self.outgoing)
            self.pack.append(Task("pack", ON_EDGE, gather))
        if isinstance(plan.unpack, slice):
            self.incoming = backend.view(buffer, plan.unpack.start, plan.unpack.stop)
        else:
            self.incoming = shared.incoming(plan.n_unpack)
            unpack = "scatter_add" if plan.accumulates else "scatter"
            scatter = backend.bind(unpack, self.incoming, buffer, shared.addresses(plan.unpack))
            self.unpack.append(Task("unpack", ON_EDGE, scatter))


def pack_in_shared_buffers(backend, plans: tuple[Exchange, Exchange], buffers) -> list[Packing]:
    """The messages of exchanges that happen one after the other and share their buffers."""
    shared = MessageBuffers(backend, plans, buffers[0].dtype)
    return [Packing(backend, plan, buffer, shared) for plan, buffer in zip(plans, buffers, strict=True)]


def messages(array, start, backend) -> list:
    """Views of the messages in a contiguous array."""
    return [backend.view(array, int(a), int(b)) for a, b in zip(start[:-1], start[1:], strict=True)]


class TransportFailure(Exception):
    """A transport cannot be used here; the message gives the reason."""


class AgreedFailure(TransportFailure):
    """A failure that every rank raises with the same message."""


@dataclass(frozen=True)
class ExchangeTasks:
    """The tasks of one exchange of one buffer, in order."""

    #: pack and send the messages; the interior may be launched before or after it
    start: list[Task] = field(default_factory=list)
    arrive: list[Task] = field(default_factory=list)  #: wait until all messages have arrived
    unpack: list[Task] = field(default_factory=list)  #: copy them from the message buffers to their addresses

    def __add__(self, other: "ExchangeTasks") -> "ExchangeTasks":
        """The tasks of both exchanges, stage by stage."""
        return ExchangeTasks(self.start + other.start, self.arrive + other.arrive, self.unpack + other.unpack)

    @property
    def tasks(self) -> list[Task]:
        """All tasks in order."""
        return [*self.start, *self.arrive, *self.unpack]

    def run(self) -> None:
        """Run the whole exchange."""
        for task in self.tasks:
            task.run()


class Transport(Protocol):
    """Transfers messages to and from some neighbours."""

    name: str  #: value of ``compute.transport`` in the case file

    def bind(
        self, neighbours: tuple[int, ...], plans: tuple[Exchange, Exchange], buffers: tuple
    ) -> tuple[ExchangeTasks, ExchangeTasks]:
        """Bind the exchanges before (or in) steps of even and odd number; collective among neighbours.

        Args:
            neighbours: ranks, ascending.
            plans: what is exchanged; message j goes to and comes from neighbour j.
            buffers: the population buffer of each.

        Raises TransportFailure: it does not work here.
        """

    def confirm(self) -> None:
        """Accept the transport after a trial; the device has been synchronised. Raises TransportFailure: a message did
        not come."""


def collectively(communicator, work, failures=TransportFailure):
    """Return ``work()``; if it fails on any rank, raise on all: a rank that continued alone would wait for ever.
    ``failures``: type of the exceptions that are failures. Raises AgreedFailure: on every rank, with the text of the
    lowest rank that has one."""
    result, failure = None, None
    try:
        result = work()
    except AgreedFailure:
        raise
    except failures as error:
        failure = str(error) if isinstance(error, TransportFailure) else f"{type(error).__name__}: {error}"
    gathered = communicator.gather(failure)
    first = next((f"{text} (rank {rank})" for rank, text in enumerate(gathered or ()) if text), None)
    first = communicator.broadcast(first)
    if first:
        raise AgreedFailure(first)
    return result
