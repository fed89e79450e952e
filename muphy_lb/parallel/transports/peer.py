"""peer: each GPU writes its messages straight into the memory of the GPUs beside it, and raises a flag there.

The GPUs of one machine access each other's memory (CUDA IPC). Pull writes into the neighbour's halo slots (where all
neighbours are reached so), in place and push into a mailbox that the neighbour empties. There are two of either, for
even and odd exchanges, so no acknowledgement is needed that the last message was read: the sender of exchange k + 2 has
the neighbour's message k + 1, which that neighbour sent behind its use of message k. Fields cross through mailboxes by
exchanges that may follow themselves, within a step or after an even number of them (``Exchange.acknowledged``): a
second flag says that a mailbox is empty, and who sends the next message waits for it. (Where a measurement repeats one
without that flag, there is a barrier: ``Engine`` has it.) All tasks only enqueue work on the device, so that whole
steps can be recorded.
The wait for a neighbour has a limit on the device; the host learns of it when it next synchronises, and ends the run.
"""

import numpy as np

from muphy_lb.domain import Exchange
from muphy_lb.parallel.task import ON_EDGE, Task
from muphy_lb.parallel.transports.transport import ExchangeTasks, MessageBuffers, Packing, TransportFailure


class Peer:
    """See :class:`muphy_lb.parallel.transports.transport.Transport`. Raises TransportFailure: the backend has no memory
    that others could reach."""

    name = "peer"

    def __init__(self, communicator, backend):
        if backend.on_host or not backend.has_peers:
            raise TransportFailure(f"backend {backend.name} has no memory that other ranks could write to")
        self._communicator, self._backend = communicator, backend
        self._signals, self._is_confirmed = [], False
        self._opened_before = backend.opened_shared()

    def bind(self, neighbours, plans, buffers):
        """Ranks exchange, once, the addresses of their message buffers."""
        backend = self._backend
        packings = [
            Packing(backend, plan, buffer, MessageBuffers(backend, (plan,), buffer.dtype))
            for plan, buffer in zip(plans, buffers, strict=True)
        ]
        filled, emptied = (backend.zeros(len(neighbours), np.uint32) for _ in range(2))
        addresses = self._swap_addresses(neighbours, packings, plans, (filled, emptied))
        signals = [
            backend.make_signal(flags, np.array(there, dtype=np.uint64), neighbours, self._is_confirmed, first_passes)
            for flags, there, first_passes in (
                (filled, [each[-2] for each in addresses], False),
                (emptied, [each[-1] for each in addresses], True),
            )
        ]
        self._signals += signals
        whole = enumerate(zip(packings, plans, buffers, strict=True))
        return tuple(self._bind_one(*one, signals, [each[k] for each in addresses]) for k, one in whole)

    def confirm(self):
        """During the trial, waiting for flags is limited to a few seconds; from now on to half an hour."""
        timed_out = any(self._backend.has_timed_out(signal) for signal in self._signals)
        # The messages of the trial, before their memory is freed; not those of halos that were bound before.
        self._backend.close_shared(but=self._opened_before)
        self._signals, self._is_confirmed = [], True
        if timed_out:
            raise TransportFailure("a flag that a neighbour should have raised did not come")

    def _swap_addresses(self, neighbours, packings, plans, flags) -> list:
        """Per neighbour: the addresses of its two buffers for our messages, and of our two flags there."""
        sent, failure = dict.fromkeys(neighbours), None
        try:
            for j, rank in enumerate(neighbours):
                starts = [(p.incoming, int(plan.unpack_start[j])) for p, plan in zip(packings, plans, strict=True)]
                places = [(each, j) for each in flags]
                sent[rank] = [self._backend.share(array, first) for array, first in (*starts, *places)]
        except Exception as error:  # the driver's refusals have no type of their own
            failure = error
        received = self._communicator.swap(sent)  # also after a failure: the neighbours wait for an answer
        if failure or not all(received.values()):
            raise TransportFailure(f"memory cannot be shared: {failure or 'refused to a neighbour'}") from failure
        try:
            return [[self._backend.open_shared(handle) for handle in received[rank]] for rank in neighbours]
        except Exception as error:
            raise TransportFailure(f"the memory of a neighbour cannot be reached: {error}") from error

    def _bind_one(self, packing: Packing, plan: Exchange, buffer, signals, bases) -> ExchangeTasks:
        backend, (filled, emptied) = self._backend, signals
        if plan.row and isinstance(plan.pack, slice) and isinstance(plan.unpack, slice):
            messages = backend.view(buffer, plan.pack.start, plan.pack.stop)
            send = backend.send_rows(messages, plan.row, backend.array(np.array(bases, dtype=np.uint64)), filled)
            return _alternating(send, backend.await_flags(filled), packing.unpack)
        itemsize = buffer.dtype.itemsize
        within = np.arange(plan.n_pack) - np.repeat(plan.pack_start[:-1], np.diff(plan.pack_start))
        base = np.repeat(np.array(bases, dtype=np.uint64), np.diff(plan.pack_start))
        targets = base + within.astype(np.uint64) * np.uint64(itemsize)
        leaving = np.arange(plan.pack.start, plan.pack.stop) if isinstance(plan.pack, slice) else plan.pack
        message = buffer, backend.array(leaving), backend.array(targets)
        if plan.acknowledged:
            send = backend.send(*message, filled, emptied)
            empty = backend.empty(
                packing.incoming, buffer, backend.array(plan.unpack), filled, emptied, plan.accumulates
            )
            return ExchangeTasks([Task("pack", ON_EDGE, send)], [], [Task("exchange", ON_EDGE, empty)])
        return _alternating(backend.send(*message, filled), backend.await_flags(filled), packing.unpack)


def _alternating(send, receive, unpack: list[Task]) -> ExchangeTasks:
    """Tasks of an exchange without acknowledgements of messages."""
    return ExchangeTasks([Task("pack", ON_EDGE, send)], [Task("exchange", ON_EDGE, receive)], unpack)
