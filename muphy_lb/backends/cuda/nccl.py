"""NCCL through nccl4py: the only module that imports it."""

import weakref

from cuda.core import Buffer
from nccl.core import Communicator, UniqueId, get_unique_id, group

# Communicators whose ranks are garbage. To end one, all ranks must do so, and graphs that use it must be gone: both
# hold when the ranks next join, which follows a collection on all of them.
_abandoned: list[Communicator] = []


def new_identity() -> bytes:
    """Create the identity by which all ranks join; on one of them."""
    return get_unique_id().as_bytes


class NcclRanks:
    """The ranks of a run as an NCCL communicator. ``communicator``: the NCCL communicator; ``stream``: stream on which
    its work is enqueued."""

    def __init__(self, communicator: Communicator, stream):
        self._communicator, self._stream = communicator, stream
        weakref.finalize(self, _abandoned.append, communicator).atexit = False  # type: ignore[misc]  # a slot in the stubs

    def bind_exchange(self, neighbours, outgoing, incoming):
        """Launch that sends one message (device array) to, and receives one from, each neighbour, in one group. Raises
        RuntimeError: the messages are not in the memory of the GPU that NCCL uses."""
        communicator, stream = self._communicator, int(self._stream)
        sends, receives = ([*zip(map(_bytes, each), neighbours, strict=True)] for each in (outgoing, incoming))
        for message, _ in sends + receives:
            if message.device_id != communicator.device.device_id:
                raise RuntimeError(f"a message is on GPU {message.device_id}, NCCL uses {communicator.device}")

        def exchange():
            with group():
                for message, rank in sends:
                    communicator.send(message, rank, stream=stream)
                for message, rank in receives:
                    communicator.recv(message, rank, stream=stream)

        exchange.uses = self  # the communicator must not end before what launches this
        return exchange


def join(identity: bytes, n_ranks: int, rank: int, stream) -> NcclRanks:
    """Join the ranks that share an identity; collective. Communicators of earlier simulations are ended."""
    while _abandoned:
        _abandoned.pop().abort()
    return NcclRanks(Communicator.init(n_ranks, rank, UniqueId.from_bytes(identity)), stream)


def _bytes(array) -> Buffer:
    """The memory of a device array; unlike the array interface, a Buffer knows its GPU."""
    return Buffer.from_handle(array.device_ctypes_pointer.value, array.nbytes, owner=array)
