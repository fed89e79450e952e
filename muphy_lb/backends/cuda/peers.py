"""Kernels that write to the memory of other GPUs of the machine, and the flags by which GPUs wait for each other."""

from typing import NamedTuple

import numpy as np

from muphy_lb.backends.cuda.device import cuda
from muphy_lb.backends.cuda.kept import kernel_jit
from muphy_lb.backends.cuda.vectors import load_acquire, store_release, store_to
from muphy_lb.base.errors import BackendError

# A poll of a flag takes about a microsecond; a neighbour may still be compiling.
TRIAL_POLLS = 60_000_000
# Half an hour: a neighbour that writes files may take long, one that is gone never comes.
RUN_POLLS = 1_800_000_000
# Blocks that wait for messages hold their place on the device, which the interior needs meanwhile.
EMPTYING_BLOCKS = 256
# Few particles cross in a step, of the many that messages have room for.
ROW_BLOCKS = 64
STORED_AS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Signal(NamedTuple):
    """Flags between a rank and its neighbours, on the device."""

    flags: object  #: (k,) uint32, raised by the neighbours
    there: object  #: (k,) uint64 addresses of the flags that this rank raises
    #: sent, awaited: (1,) uint32 how often each has happened
    sent: object
    awaited: object
    blocks: object  #: (1,) uint32 blocks of the present launch that have done their share
    limit: object  #: (1,) uint64 polls after which waiting is given up
    failed: object  #: (1,) uint32 1 once it was
    late: object  #: (k,) uint64 addresses of uint32 on the host, set to 1 for each neighbour whose flag did not come


class Awaited(NamedTuple):
    """The waiting for some neighbours, as the host sees it."""

    neighbours: tuple[int, ...]  #: their ranks
    late: np.ndarray  #: (k,) uint32 page-locked, 1 for each whose flag did not come in time
    is_confirmed: bool  #: whether all flags must come

    def check(self) -> None:
        """Refuse to continue without a halo. Raises BackendError: one that must come did not."""
        if self.is_confirmed and self.late.any():
            ranks = ", ".join(str(rank) for rank, is_late in zip(self.neighbours, self.late, strict=True) if is_late)
            raise BackendError(
                f"compute.transport 'peer': the halo of rank {ranks} has not come for about {1e-6 * RUN_POLLS / 60:.0f}"
                " minutes: it has ended, hangs, or writes files for longer than that; continue from the newest"
                " checkpoint with muphy-lb resume, or use compute.transport = 'host', which waits without limit"
            )


@cuda.jit(device=True)
def await_flags(signal):
    """Every block waits, with one thread a neighbour, until each has raised its flag once more than at the last wait.
    After a wait that was given up, the next ones end at once: nothing is left to save.

    Returns:
        uint32: how often the flags have now been awaited; one block stores it when all have begun.
    """
    j = cuda.threadIdx.x
    number = np.uint32(signal.awaited[0] + np.uint32(1))
    polls, limit = np.uint64(0), signal.limit[0]
    if j < signal.flags.size:
        while np.int32(load_acquire(signal.flags, j) - number) < 0 and polls < limit:
            polls += np.uint64(1)
        if polls >= limit and limit > np.uint64(0):
            signal.failed[0] = 1
            signal.limit[0] = 0
            store_release(signal.late[j], np.uint32(1))
    cuda.syncthreads()
    return number


@cuda.jit(device=True)
def is_last_block(signal):
    """Called by one thread of each block when the others have passed a barrier: whether all other blocks did so before;
    what they have stored is then visible to every GPU."""
    cuda.threadfence_system()
    return cuda.atomic.add(signal.blocks, 0, np.uint32(1)) == cuda.gridDim.x - 1


@cuda.jit(device=True)
def raise_flags(signal):
    """Write the number of messages sent so far to the neighbours' flags."""
    signal.blocks[0] = 0
    number = np.uint32(signal.sent[0] + np.uint32(1))
    signal.sent[0] = number
    cuda.threadfence_system()
    for j in range(signal.there.size):
        store_release(signal.there[j], number)


@kernel_jit
def send(buffer, addresses, targets, filled):
    """Write the message, one thread per value; the last block to finish raises the flags."""
    i = cuda.grid(1)
    if i < addresses.size:
        store_to(targets[i], buffer[addresses[i]])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and is_last_block(filled):
        raise_flags(filled)


@kernel_jit
def send_rows(messages, length, row, targets, filled):
    """Write of each message its number n, and the first n values of each of its rows."""
    for j in range(targets.size):
        first = j * length
        n = min(np.int64(messages[first]), row)
        n_rows = (length - 1) // row
        for k in range(cuda.grid(1), 1 + n_rows * n, cuda.gridsize(1)):
            place = 0 if k == 0 else 1 + (k - 1) // n * row + (k - 1) % n
            store_to(targets[j] + np.uint64(place * messages.itemsize), messages[first + place])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and is_last_block(filled):
        raise_flags(filled)


@kernel_jit
def send_to_mailbox(buffer, addresses, targets, filled, emptied):
    """Write the message like :func:`send`, once the neighbours have emptied their mailboxes."""
    number = await_flags(emptied)
    i = cuda.grid(1)
    if i < addresses.size:
        store_to(targets[i], buffer[addresses[i]])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and is_last_block(filled):
        emptied.awaited[0] = number
        raise_flags(filled)


@kernel_jit
def wait(filled):
    """Wait for messages that arrive in place; a single block."""
    number = await_flags(filled)
    if cuda.threadIdx.x == 0:
        filled.awaited[0] = number


@kernel_jit
def empty_mailbox(mailbox, buffer, addresses, filled, emptied):
    """Wait for messages and copy them to their addresses; the last block to finish raises the flags."""
    number = await_flags(filled)
    for i in range(cuda.grid(1), mailbox.size, cuda.gridsize(1)):
        buffer[addresses[i]] = mailbox[i]
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and is_last_block(emptied):
        filled.awaited[0] = number
        raise_flags(emptied)


@kernel_jit
def add_from_mailbox(mailbox, buffer, addresses, filled, emptied):
    """The same, adding integers to those at the addresses."""
    number = await_flags(filled)
    for i in range(cuda.grid(1), mailbox.size, cuda.gridsize(1)):
        cuda.atomic.add(buffer, addresses[i], mailbox[i])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0 and is_last_block(emptied):
        filled.awaited[0] = number
        raise_flags(emptied)
