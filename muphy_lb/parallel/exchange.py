"""Halo exchange: one packed message per neighbour and step, staged through host buffers, started and finished apart."""

from muphy_lb.domain import AddressTable, HaloPlan


class HaloExchange:
    """Start/finish exchange of the crossing populations of one buffer.

    Pull gathers the populations that leave and receives straight into the halo slots; push sends straight from the
    halo slots and scatters what arrives.

    Args:
        communicator: the ranks.
        backend: device of the buffer.
        plan: who sends what to whom.
        addresses: where it lies in the buffer.
        buffer: the population buffer to exchange.
        staging: see :class:`Staging`, shared by the exchanges of all buffers.
    """

    def __init__(self, communicator, backend, plan: HaloPlan, addresses: AddressTable, buffer, staging):
        self._communicator, self._backend, self._plan, self._staging = communicator, backend, plan, staging
        slots = slice(addresses.halo_start, addresses.halo_start + addresses.n_halo)
        pull = addresses.streaming == "pull"
        leaving, arriving = (staging.crossing, slots) if pull else (slots, staging.crossing)
        self._pack = backend.bind_pack(buffer, leaving, staging.packed, staging.send)
        self._unpack = backend.bind_unpack(staging.receive, staging.packed, buffer, arriving)
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
        plan, staging = self._plan, self._staging
        receives = [
            self._communicator.start_receive(staging.receive[plan.receive_start[j] : plan.receive_start[j + 1]], rank)
            for j, rank in enumerate(plan.neighbours)
        ]
        sends = [
            self._communicator.start_send(staging.send[plan.send_start[j] : plan.send_start[j + 1]], rank)
            for j, rank in enumerate(plan.neighbours)
        ]
        self._requests = receives + sends


class Staging:
    """Buffers between device and messages: page-locked send and receive buffers, a packed device buffer, addresses."""

    def __init__(self, backend, plan: HaloPlan, addresses: AddressTable, dtype):
        self.send = backend.host_buffer(plan.n_send, dtype)
        self.receive = backend.host_buffer(plan.n_receive, dtype)
        self.packed = backend.zeros(addresses.crossing.size, dtype)
        self.crossing = backend.array(addresses.crossing.astype(addresses.table.dtype))
