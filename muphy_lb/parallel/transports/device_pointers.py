"""cuda-aware: MPI is given device pointers and transfers the messages itself. An MPI library without CUDA support
crashes on device pointers, so only one that declares the support is tried."""

from muphy_lb.parallel.task import ON_HOST, Task
from muphy_lb.parallel.transports.transport import (
    ExchangeTasks,
    Packing,
    TransportFailure,
    messages,
    pack_in_shared_buffers,
)


class DevicePointers:
    """See :class:`muphy_lb.parallel.transports.transport.Transport`. Raises TransportFailure: the MPI library does not
    declare CUDA support."""

    name = "cuda-aware"

    def __init__(self, communicator, backend):
        if not communicator.is_cuda_aware:
            raise TransportFailure(f"the MPI library ({communicator.library}) does not declare that it is CUDA-aware")
        self._communicator, self._backend = communicator, backend

    def bind(self, neighbours, plans, buffers):
        """Bind messages from device memory to device memory."""
        packings = pack_in_shared_buffers(self._backend, plans, buffers)
        return tuple(self._bind_one(neighbours, *pair) for pair in zip(packings, plans, strict=True))

    def confirm(self):
        """Return at once: MPI delivers or ends the run."""

    def _bind_one(self, neighbours, packing: Packing, plan) -> ExchangeTasks:
        communicator, backend = self._communicator, self._backend
        incoming = list(zip(messages(packing.incoming, plan.unpack_start, backend), neighbours, strict=True))
        outgoing = list(zip(messages(packing.outgoing, plan.pack_start, backend), neighbours, strict=True))

        def exchange():
            requests = [communicator.start_receive(part, rank) for part, rank in incoming]
            requests += [communicator.start_send(part, rank) for part, rank in outgoing]
            communicator.wait_all(requests)

        packed = Task("pack", ON_HOST, backend.finish_edge)
        return ExchangeTasks(packing.pack, [packed, Task("exchange", ON_HOST, exchange)], packing.unpack)
