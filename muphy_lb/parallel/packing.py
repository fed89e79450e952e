"""Packing: messages as contiguous device arrays, and the tasks that fill and empty them."""

import numpy as np

from muphy_lb.domain import Exchange
from muphy_lb.parallel.task import ON_EDGE, Task


def _unpacking(plan: Exchange) -> str:
    """Kernel that puts what arrives where it belongs."""
    return "scatter_add" if plan.accumulates else "scatter"


class Room:
    """Device memory for the messages of exchanges that happen one after the other.

    Args:
        backend: the device.
        plans: all exchanges that use it.
        storage: what a number is stored as.
    """

    def __init__(self, backend, plans: tuple[Exchange, ...], storage):
        self._backend = backend
        gathered = [plan.n_pack for plan in plans if not isinstance(plan.pack, slice)]
        scattered = [plan.n_unpack for plan in plans if not isinstance(plan.unpack, slice)]
        self._outgoing, self._incoming = (backend.zeros(max(n, default=0), storage) for n in (gathered, scattered))
        self._addresses = {}

    def outgoing(self, n: int):
        """Room for n populations that leave."""
        return self._backend.view(self._outgoing, 0, n)

    def incoming(self, n: int):
        """Room for n populations that arrive."""
        return self._backend.view(self._incoming, 0, n)

    def addresses(self, host: np.ndarray):
        """Addresses where the device can read them, copied once."""
        if id(host) not in self._addresses:
            self._addresses[id(host)] = self._backend.array(host)
        return self._addresses[id(host)]


class Packing:
    """The messages of one exchange of one buffer.

    Args:
        backend: the device.
        plan: what leaves and arrives.
        buffer: the population buffer.
        room: where messages lie that are not contiguous in the buffer.

    Attributes:
        outgoing, incoming: (n_pack,) and (n_unpack,) device arrays, message after message; parts of the buffer where
            that holds them in this order.
        pack, unpack: tasks that fill the one and empty the other.
    """

    def __init__(self, backend, plan: Exchange, buffer, room: Room):
        self.pack, self.unpack = [], []
        if isinstance(plan.pack, slice):
            self.outgoing = backend.view(buffer, plan.pack.start, plan.pack.stop)
        else:
            self.outgoing = room.outgoing(plan.n_pack)
            gather = backend.bind("gather", buffer, room.addresses(plan.pack), self.outgoing)
            self.pack.append(Task("pack", ON_EDGE, gather))
        if isinstance(plan.unpack, slice):
            self.incoming = backend.view(buffer, plan.unpack.start, plan.unpack.stop)
        else:
            self.incoming = room.incoming(plan.n_unpack)
            scatter = backend.bind(_unpacking(plan), self.incoming, buffer, room.addresses(plan.unpack))
            self.unpack.append(Task("unpack", ON_EDGE, scatter))


def pack_in_one_room(backend, plans: tuple[Exchange, Exchange], buffers) -> list[Packing]:
    """The messages of exchanges that happen one after the other."""
    room = Room(backend, plans, buffers[0].dtype)
    return [Packing(backend, plan, buffer, room) for plan, buffer in zip(plans, buffers, strict=True)]


def messages(array, start, backend) -> list:
    """The parts of a contiguous array of messages."""
    return [backend.view(array, int(a), int(b)) for a, b in zip(start[:-1], start[1:], strict=True)]
