"""Which transport serves which neighbour: the one that the case asks for, or the fastest that passes a trial."""

import gc
import logging
from types import MappingProxyType

import numpy as np

from muphy_lb.base.errors import BackendError
from muphy_lb.domain import Exchange
from muphy_lb.parallel.exchange import NO_EXCHANGE, Halo, HaloExchange, bind_exchanges, bind_on_host, exchange_seconds
from muphy_lb.parallel.transports import (
    DevicePointers,
    HostStaged,
    Nccl,
    Peer,
    Transport,
    TransportFailure,
    collectively,
)

LOG = logging.getLogger(__name__)
AUTO, PEER, HOST = "auto", Peer.name, HostStaged.name
MAKERS = MappingProxyType({kind.name: kind for kind in (HostStaged, DevicePointers, Nccl, Peer)})
TRANSPORTS = (AUTO, *MAKERS)
# For neighbours on other machines, fastest first.
FAR = (Nccl.name, DevicePointers.name, HOST)
TRIAL_WORDS, TRIAL_ROUNDS = 8, 10


class HaloConnector:
    """Chooses and binds the transports by which a rank exchanges halos. ``wanted``: one of ``TRANSPORTS``; ``"peer"``
    is for neighbours on the same machine; others get the fastest."""

    def __init__(self, communicator, wanted: str = HOST):
        self.communicator, self._wanted = communicator, wanted

    def connect(self, backend, halo: Halo) -> HaloExchange:
        """Bind the exchanges of a rank; collective. Raises BackendError: the transport that was asked for does not work
        here; the message gives the reason."""
        if self.communicator.size == 1:
            return NO_EXCHANGE
        if self._wanted == HOST or (self._wanted == AUTO and backend.on_host):
            return bind_on_host(self.communicator, backend, halo)
        search = _Search(self.communicator, backend, halo)
        found, text = search.fastest() if self._wanted == AUTO else search.asked_for(self._wanted)
        LOG.info("halo exchange: %s", text)
        return found


def try_transports(communicator, backend) -> dict[str, str]:
    """Why each transport does not work between every two of the ranks (``peer``: of one machine); empty where it does.
    Collective."""
    others = tuple(rank for rank in range(communicator.size) if rank != communicator.rank)
    starts = np.zeros(len(others) + 1, dtype=int)
    nothing = Exchange(slice(0, 0), starts, slice(0, 0), starts)
    return _Search(communicator, backend, Halo(others, (nothing, nothing), ())).reasons()


class _Search:
    """Tries transports. All methods are collective, and every rank comes to the same conclusion."""

    def __init__(self, communicator, backend, halo: Halo):
        gc.collect()  # closes shared memory that an earlier simulation had opened, before its owners free it
        communicator.barrier()
        self._communicator, self._backend, self._halo = communicator, backend, halo
        on_machine = communicator.machine_ranks
        self._near = [j for j, rank in enumerate(halo.neighbours) if rank in on_machine]
        self._far = [j for j, rank in enumerate(halo.neighbours) if rank not in on_machine]
        self._has_far = communicator.maximum(len(self._far)) > 0
        self._working: dict[str, Transport] = {}
        self._reasons: dict[str, str] = {}

    def asked_for(self, name: str) -> tuple[HaloExchange, str]:
        far = self._first_working(FAR) if name == PEER and self._has_far else name
        chosen = self._near if name == PEER else self._near + self._far
        try:
            if self._works(name, chosen):
                return self._bound(name, far), name if far == name else f"{name} inside a machine, {far} between them"
        except TransportFailure as failure:
            self._reasons[name] = str(failure)
        raise BackendError(
            f"compute.transport is {name!r}, which does not work here: {self._reasons[name]}; use 'auto', which takes"
            " the fastest that works, or 'host', which always does"
        )

    def fastest(self) -> tuple[HaloExchange, str]:
        far = self._first_working(FAR) if self._has_far else HOST
        near = next((name for name in (PEER, *FAR[:-1]) if self._works(name, self._near)), HOST)
        self._works(HOST, self._near)
        bound = {}
        for name in dict.fromkeys((near, far, HOST)):
            try:
                bound[name] = self._bound(name, far)
            except TransportFailure as failure:
                self._reasons[name] = str(failure)
        refused = "; ".join(f"{name} does not work here: {why}" for name, why in self._reasons.items())
        if not bound:
            raise BackendError(
                f"compute.transport is 'auto', and none works: {refused}; check the MPI with muphy-lb doctor"
            )
        ranks, backend = self._communicator, self._backend
        seconds = {name: exchange_seconds(ranks, backend, found, TRIAL_ROUNDS) for name, found in bound.items()}
        best = min(seconds, key=seconds.__getitem__)
        timed = ", ".join(f"{name} {1e6 * seconds[name]:.0f}" for name in seconds)
        text = f"{best}; microseconds an exchange: {timed}" + (f"; {far} between machines" if self._has_far else "")
        return bound[best], f"{text}; {refused}" if refused else text

    def reasons(self) -> dict[str, str]:
        for name in MAKERS:
            self._works(name, self._near if name == PEER else self._near + self._far)
        return {name: self._reasons.get(name, "") for name in MAKERS}

    def _first_working(self, names) -> str:
        return next(name for name in names if self._works(name, self._near + self._far))

    def _works(self, name: str, chosen: list[int]) -> bool:
        """Whether a transport can be made, and transfers a trial message to and from some of the neighbours."""
        if name in self._working or name in self._reasons:
            return name in self._working
        try:
            transport = self._collectively(lambda: MAKERS[name](self._communicator, self._backend))
            self._try(transport, sorted(chosen))
        except TransportFailure as failure:
            self._reasons[name] = str(failure)
            return False
        self._working[name] = transport
        return True

    def _try(self, transport: Transport, chosen: list[int]) -> None:
        """Every rank sends its number to some of its neighbours, after all have bound it: some transports wait."""
        backend, neighbours = self._backend, np.array(self._halo.neighbours, dtype=int)[chosen]
        n, start = TRIAL_WORDS * neighbours.size, TRIAL_WORDS * np.arange(neighbours.size + 1)
        plan = Exchange(slice(0, n), start, slice(n, 2 * n), start)
        own = np.append(np.full(n, _mark(self._communicator.rank)), np.zeros(n)).astype(backend.precision.storage)
        buffers = tuple(backend.array(own) for _ in range(2))
        to_bind = (lambda: transport.bind(tuple(neighbours.tolist()), (plan, plan), buffers)) if n else tuple
        exchanges = self._collectively(to_bind)

        def exchange_marks():
            for exchange in exchanges:
                exchange.run()
            backend.synchronise()
            transport.confirm()
            expected = np.repeat(_mark(neighbours), TRIAL_WORDS)
            if not all(np.array_equal(backend.to_host(buffer)[n:], expected) for buffer in buffers):
                raise TransportFailure("a trial message did not arrive as it was sent")

        self._collectively(exchange_marks)

    def _collectively(self, work):
        return collectively(self._communicator, work)

    def _bound(self, near: str, far: str) -> HaloExchange:
        # Messages to other machines are sent first, so that those inside the machine do not delay them.
        shares = {far: self._far, near: self._near} if near != far else {near: sorted(self._near + self._far)}
        return self._collectively(
            lambda: bind_exchanges(self._halo, [(self._working[name], chosen) for name, chosen in shares.items()])
        )


def _mark(rank):
    """A number derived from the rank that half precision represents exactly."""
    return 1 + rank % 1000
