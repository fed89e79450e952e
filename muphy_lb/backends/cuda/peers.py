"""Kernels that write to the memory of other GPUs of the machine, and the flags by which GPUs wait for each other."""

from typing import NamedTuple

import numpy as np

from muphy_lb.backends.cuda.device import cuda
from muphy_lb.backends.cuda.vectors import load_acquire, store_release, store_to

# A poll of a flag takes about a microsecond; a neighbour may still be compiling.
TRIAL_POLLS = 60_000_000
NO_LIMIT = 1 << 62
STORED_AS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


class Signal(NamedTuple):
    """Flags between a rank and its neighbours, on the device.

    Attributes:
        flags: (k,) uint32, raised by the neighbours.
        there: (k,) uint64 addresses of the flags that this rank raises.
        sent, awaited: (1,) uint32 number of sends and of waits so far.
        blocks: (1,) uint32 number of blocks of the current launch that have sent their share.
        limit: (1,) uint64 number of polls after which waiting times out.
        failed: (1,) uint32 1 after a timeout.
    """

    flags: object
    there: object
    sent: object
    awaited: object
    blocks: object
    limit: object
    failed: object


@cuda.jit(device=True)
def raise_flags(signal):
    """Write the number of messages sent so far to the neighbours' flags."""
    signal.blocks[0] = 0
    number = np.uint32(signal.sent[0] + np.uint32(1))
    signal.sent[0] = number
    cuda.threadfence_system()
    for j in range(signal.there.size):
        store_release(signal.there[j], number)


@cuda.jit
def send(buffer, addresses, targets, signal):
    """Write the message, one thread per population; the last block to finish raises the flags."""
    i = cuda.grid(1)
    if i < addresses.size:
        store_to(targets[i], buffer[addresses[i]])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence_system()  # covers what the other threads of the block stored before the barrier
        if cuda.atomic.add(signal.blocks, 0, np.uint32(1)) == cuda.gridDim.x - 1:
            raise_flags(signal)


@cuda.jit
def wait(signal):
    """Wait for the flags, one thread per neighbour."""
    j = cuda.threadIdx.x
    number = np.uint32(signal.awaited[0] + np.uint32(1))
    polls, limit = np.uint64(0), signal.limit[0]
    if j < signal.flags.size:
        while np.int32(load_acquire(signal.flags, j) - number) < 0 and polls < limit:
            polls += np.uint64(1)
        if polls >= limit:
            signal.failed[0] = 1
    cuda.syncthreads()
    if j == 0:
        signal.awaited[0] = number
