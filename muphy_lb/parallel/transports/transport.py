"""What every transport offers: the tasks of an exchange, and how ranks agree on a failure."""

from dataclasses import dataclass, field
from typing import Protocol

from muphy_lb.domain import Exchange
from muphy_lb.parallel.task import Task


class TransportFailure(Exception):
    """A transport cannot be used here; the message gives the reason."""


class AgreedFailure(TransportFailure):
    """A failure that every rank raises with the same message."""


@dataclass(frozen=True)
class ExchangeTasks:
    """The tasks of one exchange of one buffer, in order.

    Attributes:
        start: pack and send the messages; the interior may be launched before or after it.
        arrive: wait until all messages have arrived.
        unpack: copy them from the message buffers to their addresses.
    """

    start: list[Task] = field(default_factory=list)
    arrive: list[Task] = field(default_factory=list)
    unpack: list[Task] = field(default_factory=list)

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
    """Transfers messages to and from some neighbours.

    Attributes:
        name: value of ``compute.transport`` in the case file.
    """

    name: str

    def bind(
        self, neighbours: tuple[int, ...], plans: tuple[Exchange, Exchange], buffers: tuple
    ) -> tuple[ExchangeTasks, ExchangeTasks]:
        """Bind the exchanges before (or in) steps of even and odd number; collective among neighbours.

        Args:
            neighbours: ranks, ascending.
            plans: what is exchanged; message j goes to and comes from neighbour j.
            buffers: the population buffer of each.

        Raises:
            TransportFailure: it does not work here.
        """

    def confirm(self) -> None:
        """Accept the transport after a trial; the device has been synchronised.

        Raises:
            TransportFailure: a message did not come.
        """


def collectively(communicator, work, failures=TransportFailure):
    """Return ``work()``; if it fails on any rank, raise on all: a rank that went on alone would wait for ever.

    Args:
        communicator: the ranks.
        work: called on every rank.
        failures: type of the exceptions that are failures.

    Raises:
        AgreedFailure: on every rank, with the text of the lowest rank that has one.
    """
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
