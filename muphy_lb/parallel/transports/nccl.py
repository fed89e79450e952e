"""nccl: NVIDIA's library moves device memory to device memory, inside a machine and between machines. The tasks only
enqueue work on the device, so that whole steps can be recorded."""

from muphy_lb.parallel.task import ON_EDGE, Task
from muphy_lb.parallel.transports.transport import (
    ExchangeTasks,
    Packing,
    TransportFailure,
    collectively,
    messages,
    pack_in_shared_buffers,
)


class Nccl:
    """See :class:`muphy_lb.parallel.transports.transport.Transport`. Making one is collective among all ranks. Raises
    TransportFailure: the library is not there, or refuses."""

    name = "nccl"

    def __init__(self, communicator, backend):
        def attempt(work):  # a missing package, a missing library and a refusal come as many types
            return collectively(communicator, work, Exception)

        self._backend, rank = backend, communicator.rank
        library = attempt(lambda: _library(backend))
        identity = communicator.broadcast(attempt(lambda: library.new_identity() if rank == 0 else None))
        self._ranks = attempt(lambda: library.join(identity, communicator.size, rank))

    def bind(self, neighbours, plans, buffers):
        """Bind each exchange as one group of sends and receives."""
        packings = pack_in_shared_buffers(self._backend, plans, buffers)
        return tuple(self._bind_one(neighbours, *pair) for pair in zip(packings, plans, strict=True))

    def confirm(self):
        """Return at once: NCCL delivers or reports an error."""

    def _bind_one(self, neighbours, packing: Packing, plan) -> ExchangeTasks:
        outgoing = messages(packing.outgoing, plan.pack_start, self._backend)
        incoming = messages(packing.incoming, plan.unpack_start, self._backend)
        try:
            exchange = self._ranks.bind_exchange(neighbours, outgoing, incoming)
        except RuntimeError as error:
            raise TransportFailure(str(error)) from error
        return ExchangeTasks(packing.pack, [Task("exchange", ON_EDGE, exchange)], packing.unpack)


def _library(backend):
    if backend.on_host:
        raise RuntimeError(f"backend {backend.name} has no device memory")
    return backend.nccl()
