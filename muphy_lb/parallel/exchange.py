"""Halo exchange: one packed message per neighbour and step, staged through host buffers, started and finished apart."""

from muphy_lb.domain import Exchange


class HaloExchange:
    """Start/finish exchange of the crossing populations of one buffer.

    Args:
        communicator: the ranks.
        backend: device of the buffer.
        neighbours: ranks, ascending.
        plan: what is sent and received.
        buffer: the population buffer to exchange.
        staging: see :class:`Staging`, shared by all exchanges of a rank.
    """

    def __init__(self, communicator, backend, neighbours, plan: Exchange, buffer, staging: "Staging"):
        self._communicator, self._backend, self._neighbours, self._plan = communicator, backend, neighbours, plan
        self._send, self._receive = staging.send[: plan.n_pack], staging.receive[: plan.n_unpack]
        self._pack = backend.bind_pack(buffer, *staging.on_device(plan.pack, plan.n_pack), self._send)
        addresses, packed = staging.on_device(plan.unpack, plan.n_unpack)
        self._unpack = backend.bind_unpack(self._receive, packed, buffer, addresses)
        self._requests = []

    def start(self) -> None:
        """Pack; on a host backend also post the messages."""
        self._pack()
        if self._backend.on_host:
            self._post()

    def finish(self) -> None:
        """Complete the messages and unpack."""
        if not self._backend.on_host:
            self._backend.finish_pack()
            self._post()
        self._communicator.wait_all(self._requests)
        self._unpack()

    def _post(self) -> None:
        receives = self._messages(self._communicator.start_receive, self._receive, self._plan.unpack_start)
        sends = self._messages(self._communicator.start_send, self._send, self._plan.pack_start)
        self._requests = receives + sends

    def _messages(self, post, buffer, start) -> list:
        return [post(buffer[start[j] : start[j + 1]], rank) for j, rank in enumerate(self._neighbours)]


class Staging:
    """Buffers between device and messages: page-locked send and receive buffers, and a packed device buffer.

    Args:
        backend: the device.
        plans: all exchanges that use them, one at a time.
    """

    def __init__(self, backend, plans: tuple[Exchange, ...]):
        storage = backend.precision.storage
        self._backend = backend
        self.send = backend.host_buffer(max(plan.n_pack for plan in plans), storage)
        self.receive = backend.host_buffer(max(plan.n_unpack for plan in plans), storage)
        self._packed = backend.zeros(max(self.send.size, self.receive.size), storage)
        self._addresses = {}

    def on_device(self, addresses, n: int) -> tuple:
        """Addresses where the device can read them, copied once, and room for as many packed populations; a slice needs
        neither."""
        if isinstance(addresses, slice):
            return addresses, None
        if id(addresses) not in self._addresses:
            self._addresses[id(addresses)] = self._backend.array(addresses)
        return self._addresses[id(addresses)], self._backend.view(self._packed, 0, n)
