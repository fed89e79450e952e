"""nccl: NVIDIA's library moves device memory to device memory, inside a machine and between machines.

The tasks only enqueue work on the device, so that whole steps can be recorded.
"""

from muphy_lb.parallel.packing import Packing, Room, messages
from muphy_lb.parallel.task import ON_EDGE, Task
from muphy_lb.parallel.transports.transport import Line, TransportFailure, agree


class Nccl:
    """See :class:`muphy_lb.parallel.transports.transport.Transport`. Making one is collective among all ranks.

    Args:
        communicator: the ranks.
        backend: the device.

    Raises:
        TransportFailure: the library is not there, or refuses.
    """

    name = "nccl"

    def __init__(self, communicator, backend):
        self._backend = backend
        library = _attempted(communicator, lambda: _library(backend))
        identity = _attempted(communicator, lambda: library.new_identity() if communicator.rank == 0 else None)
        identity = communicator.broadcast(identity)
        self._ranks = _attempted(communicator, lambda: library.join(identity, communicator.size, communicator.rank))

    def lines(self, neighbours, plans, buffers):
        """One group of sends and receives each."""
        room = Room(self._backend, plans)
        packings = [Packing(self._backend, plan, buffer, room) for plan, buffer in zip(plans, buffers, strict=True)]
        return tuple(self._line(neighbours, *pair) for pair in zip(packings, plans, strict=True))

    def trust(self):
        """NCCL delivers or reports an error."""

    def _line(self, neighbours, packing: Packing, plan) -> Line:
        outgoing = messages(packing.outgoing, plan.pack_start, self._backend)
        incoming = messages(packing.incoming, plan.unpack_start, self._backend)
        try:
            exchange = self._ranks.bind_exchange(neighbours, outgoing, incoming)
        except RuntimeError as error:
            raise TransportFailure(str(error)) from error
        return Line(packing.pack, [Task("exchange", ON_EDGE, exchange)], packing.unpack)


def _library(backend):
    if backend.on_host:
        raise RuntimeError(f"backend {backend.name} has no device memory")
    return backend.nccl()


def _attempted(communicator, work):
    """What ``work()`` returns, if it succeeds on every rank; a rank that waits in vain would wait for ever."""
    result, failure = None, None
    try:
        result = work()
    except Exception as error:  # a missing package, a missing library and a refusal come as many types
        failure = f"{type(error).__name__}: {error}"
    agree(communicator, failure)
    return result
