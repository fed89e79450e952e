"""host: messages are copied to page-locked memory of the host, sent by any MPI, and copied back. The three steps of M.
Bernaschi et al., Concurrency Computat.: Pract. Exper. 22, 1 (2010); the reference for all others."""

from muphy_lb.parallel.task import ON_EDGE, ON_HOST, Task
from muphy_lb.parallel.transports.transport import ExchangeTasks, Packing, messages, pack_in_shared_buffers


class HostStaged:
    """See :class:`muphy_lb.parallel.transports.transport.Transport`."""

    name = "host"

    def __init__(self, communicator, backend):
        self._communicator, self._backend = communicator, backend

    def bind(self, neighbours, plans, buffers):
        """Both exchanges share the buffers on host and device, since they happen one after the other."""
        backend, storage = self._backend, buffers[0].dtype
        sizes = max(plan.n_pack for plan in plans), max(plan.n_unpack for plan in plans)
        staging = [None, None] if backend.on_host else [backend.host_buffer(size, storage) for size in sizes]
        pairs = zip(pack_in_shared_buffers(backend, plans, buffers), plans, strict=True)
        return tuple(self._bind_one(neighbours, packing, plan, *staging) for packing, plan in pairs)

    def confirm(self):
        """Nothing to check: MPI delivers or ends the run."""

    def _bind_one(self, neighbours, packing: Packing, plan, send, receive) -> ExchangeTasks:
        if self._backend.on_host:
            post, complete = self._messages(neighbours, plan, packing.outgoing, packing.incoming)
            return ExchangeTasks([*packing.pack, post], [complete], packing.unpack)
        send, receive = send[: plan.n_pack], receive[: plan.n_unpack]
        post, complete = self._messages(neighbours, plan, send, receive)
        down = Task("pack", ON_EDGE, self._backend.download(packing.outgoing, send))
        up = Task("unpack", ON_EDGE, self._backend.upload(receive, packing.incoming))
        packed = Task("pack", ON_HOST, self._backend.finish_edge)
        return ExchangeTasks([*packing.pack, down], [packed, post, complete], [up, *packing.unpack])

    def _messages(self, neighbours, plan, send, receive) -> tuple[Task, Task]:
        communicator = self._communicator
        requests: list = []
        incoming = list(zip(messages(receive, plan.unpack_start, self._backend), neighbours, strict=True))
        outgoing = list(zip(messages(send, plan.pack_start, self._backend), neighbours, strict=True))

        def post():
            requests[:] = [communicator.start_receive(part, rank) for part, rank in incoming]
            requests.extend(communicator.start_send(part, rank) for part, rank in outgoing)

        return Task("exchange", ON_HOST, post), Task("exchange", ON_HOST, lambda: communicator.wait_all(requests))
