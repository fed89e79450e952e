"""NCCL through nccl4py: the only module that imports it."""

from cuda.core import Buffer
from nccl.core import Communicator, UniqueId, get_unique_id, group


def new_identity() -> bytes:
    """What all ranks need to find each other, made by one of them."""
    return get_unique_id().as_bytes


class NcclRanks:
    """The ranks of a run.

    Args:
        communicator: of NCCL.
        stream: where its work is enqueued.
    """

    def __init__(self, communicator: Communicator, stream):
        self._communicator, self._stream = communicator, stream

    def bind_exchange(self, neighbours, outgoing, incoming):
        """Launch that sends and receives one message (device array) to and from each neighbour, in one group.

        Raises:
            RuntimeError: the messages do not lie on the GPU that NCCL works on.
        """
        communicator, stream = self._communicator, int(self._stream)
        sends, receives = ([*zip(map(_bytes, each), neighbours, strict=True)] for each in (outgoing, incoming))
        for message, _ in sends + receives:
            if message.device_id != communicator.device.device_id:
                raise RuntimeError(f"a message lies on GPU {message.device_id}, NCCL works on {communicator.device}")

        def exchange():
            with group():
                for message, rank in sends:
                    communicator.send(message, rank, stream=stream)
                for message, rank in receives:
                    communicator.recv(message, rank, stream=stream)

        return exchange


def join(identity: bytes, n_ranks: int, rank: int, stream) -> NcclRanks:
    """Join the ranks that share an identity; collective."""
    return NcclRanks(Communicator.init(n_ranks, rank, UniqueId.from_bytes(identity)), stream)


def _bytes(array) -> Buffer:
    """The memory of a device array; the interface of arrays would not say on which GPU it lies."""
    return Buffer.from_handle(array.device_ctypes_pointer.value, array.nbytes, owner=array)
