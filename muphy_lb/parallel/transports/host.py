"""host: messages are copied to page-locked memory of the host, sent by any MPI, and copied back. The three steps of M.
Bernaschi et al., Concurrency Computat.: Pract. Exper. 22, 1 (2010); the reference for all others. Requests are made
once and started again in every step; a long message is cut into pieces, one of which is sent while the next is copied.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from muphy_lb.parallel.task import ON_EDGE, ON_HOST, Task, ordering
from muphy_lb.parallel.transports.transport import ExchangeTasks, Packing, pack_in_shared_buffers

PIECE_BYTES = 1 << 19
"""Longest piece of a message: of shorter ones the start of copies and messages takes longer than what overlaps."""


class Piece(NamedTuple):
    """A piece of the message to or from a neighbour: places in the array of all messages, the rank of the neighbour,
    and the number of the piece in the message."""

    first: int
    last: int
    rank: int
    number: int


def pieces(start: Sequence[int], ranks: Sequence[int], most: int) -> list[Piece]:
    """The pieces of at most ``most`` populations of messages that begin at ``start``; those without any are left out.
    Both ends of a message find the same ones."""
    return [
        Piece(at, min(at + most, int(end)), rank, number)
        for first, end, rank in zip(start[:-1], start[1:], ranks, strict=True)
        for number, at in enumerate(range(int(first), int(end), most))
    ]


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
        """Return at once: MPI delivers or ends the run."""

    def _bind_one(self, neighbours, packing: Packing, plan, send, receive) -> ExchangeTasks:
        most = max(1, PIECE_BYTES // packing.outgoing.dtype.itemsize)
        outgoing, incoming = (pieces(start, neighbours, most) for start in (plan.pack_start, plan.unpack_start))
        if self._backend.on_host:
            post, complete = self._messages(outgoing, incoming, packing.outgoing, packing.incoming, [_nothing], [])
            return ExchangeTasks([*packing.pack, post], [complete], packing.unpack)
        send, receive = send[: plan.n_pack], receive[: plan.n_unpack]
        down, is_down = self._downloads(outgoing, packing.outgoing, send)
        up, unpack = self._uploads(incoming, receive, packing.incoming)
        post, complete = self._messages(outgoing, incoming, send, receive, is_down, up)
        return ExchangeTasks([*packing.pack, *down], [post, complete], [*unpack, *packing.unpack])

    def _downloads(self, outgoing: list[Piece], device, host) -> tuple[list[Task], list[Callable]]:
        """The tasks that copy what is sent, and for each piece what waits until it is there; after the first of these
        calls what came last has left the host, too. All are copied at once, and waited for, unless a message is
        cut."""
        backend, tasks, waits = self._backend, list[Task](), list[Callable]()
        cut = outgoing if _is_cut(outgoing) else []
        for piece in cut[:-1]:
            mark, wait = backend.edge_mark()
            tasks += [self._copy("pack", backend.download, device, host, piece), ordering(mark)]
            waits.append(wait)
        rest = slice(cut[-1].first if cut else 0, len(host))
        tasks.append(Task("pack", ON_EDGE, backend.download(backend.view(device, rest.start, rest.stop), host[rest])))
        return tasks, [*waits, backend.finish_edge]

    def _uploads(self, incoming: list[Piece], host, device) -> tuple[list[Callable], list[Task]]:
        """For each piece what copies it as soon as it has arrived, and the task that copies all at once, unless a
        message is cut."""
        backend = self._backend
        if _is_cut(incoming):
            return [self._copy("unpack", backend.upload, host, device, piece).run for piece in incoming], []
        return [], [Task("unpack", ON_EDGE, backend.upload(host, device))]

    def _copy(self, stage: str, copy: Callable, source, target, piece: Piece) -> Task:
        view = self._backend.view
        return Task(stage, ON_EDGE, copy(*(view(array, piece.first, piece.last) for array in (source, target))))

    def _messages(self, outgoing, incoming, send, receive, waits, up) -> tuple[Task, Task]:
        """Tasks that send each piece when it is there, and take each that arrives. ``waits``, ``up``: for the first
        pieces, what waits for them, and what copies them when they have arrived; nothing for the others."""
        view = self._backend.view
        messages = self._communicator.kept_messages(
            [(view(receive, piece.first, piece.last), piece.rank, piece.number) for piece in incoming],
            [(view(send, piece.first, piece.last), piece.rank, piece.number) for piece in outgoing],
        )

        def post() -> None:
            waits[0]()
            messages.start_receiving()
            for number in range(len(outgoing)):
                if 0 < number < len(waits):
                    waits[number]()
                messages.start_sending(number)

        def complete() -> None:
            if up:
                for number in messages.arrivals():
                    up[number]()
            messages.complete()

        return Task("exchange", ON_HOST, post), Task("exchange", ON_HOST, complete)


def _is_cut(found: list[Piece]) -> bool:
    return any(piece.number for piece in found)


def _nothing() -> None:
    """Task without work."""
