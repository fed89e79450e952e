"""Messages between GPUs of a machine are read before the next ones come, however far a rank is ahead of another.

The device is replaced by memory of this process, its queues by lists of tasks: a rank runs until it has to wait.
"""

import ctypes
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from muphy_lb.domain import Exchange
from muphy_lb.parallel.transports.peer import Peer

N_VALUES, N_MESSAGES = 5, 4
START = np.array([0, N_VALUES])
IN_PLACE = Exchange(slice(0, N_VALUES), START, slice(N_VALUES, 2 * N_VALUES), START)
ACKNOWLEDGED = Exchange(np.arange(N_VALUES), START, np.arange(N_VALUES, 2 * N_VALUES), START, acknowledged=True)


class Blocked(Exception):
    """A flag has not been raised."""


class Memory:
    """What ``Peer`` asks of a device, at once and on this thread."""

    on_host, has_peers, name = False, True, "memory"

    def zeros(self, size, dtype):
        return np.zeros(size, dtype)

    def array(self, values):
        return np.array(values)

    def view(self, array, first, last):
        return array[first:last]

    def bind(self, name, source, target, addresses):
        assert name in ("gather", "scatter")  # the messages are gathered by ``send``
        return lambda: target.__setitem__(addresses, source)

    def opened_shared(self):
        return frozenset()

    def share(self, array, first):
        return array.ctypes.data + first * array.itemsize

    def open_shared(self, handle):
        return handle

    def make_signal(self, flags, there, neighbours, is_confirmed, first_passes=False):
        return SimpleNamespace(flags=flags, there=there, n_sent=0, n_awaited=-1 if first_passes else 0)

    def send(self, buffer, addresses, targets, filled, emptied=None):
        words = buffer.view(np.uint8).reshape(buffer.size, -1)

        def run():
            if emptied:
                self.await_flags(emptied)()
            for row, target in zip(words[addresses], targets, strict=True):
                ctypes.memmove(int(target), row.tobytes(), row.size)
            raise_flags(filled)

        return run

    def await_flags(self, filled):
        def run():
            if (filled.flags.astype(np.int64) < filled.n_awaited + 1).any():
                raise Blocked
            filled.n_awaited += 1

        return run

    def empty(self, mailbox, buffer, addresses, filled, emptied, accumulates=False):
        assert not accumulates

        def run():
            self.await_flags(filled)()
            buffer[addresses] = mailbox
            raise_flags(emptied)

        return run


class Careless(Memory):
    """Sends whether or not the mailbox is empty."""

    def send(self, buffer, addresses, targets, filled, emptied=None):
        return super().send(buffer, addresses, targets, filled)


def raise_flags(signal) -> None:
    signal.n_sent += 1
    for address in signal.there:
        ctypes.c_uint32.from_address(int(address)).value = signal.n_sent


class Rank:
    """One of two ranks: its values, their own and those received, in one field or in two that take turns, and what it
    has received so far."""

    def __init__(self, number, dtype, memory, together, plan=ACKNOWLEDGED):
        n_fields = 1 if plan.acknowledged else 2
        self.number, self.received = number, []
        self.fields = [np.zeros(2 * N_VALUES, dtype) for _ in range(n_fields)]
        transport = Peer(SimpleNamespace(swap=together.swap_of(number)), memory)
        self.exchanges = transport.bind((1 - number,), (plan, plan), (self.fields[0], self.fields[-1]))[:n_fields]
        self.tasks = [task for message in range(N_MESSAGES) for task in self.message(message)]

    def message(self, k):
        """Fill the field, exchange it, note what came."""
        field = self.fields[k % len(self.fields)]
        yield lambda: field.__setitem__(slice(0, N_VALUES), 10 * (k + 1) + self.number)
        yield from (task.run for task in self.exchanges[k % len(self.exchanges)].tasks)
        yield lambda: self.received.append(int(field[-1]))

    def run(self, most=None):
        """Run until a task has to wait, or some tasks are done."""
        for _ in range(len(self.tasks) if most is None else most):
            try:
                self.tasks[0]()
            except (Blocked, IndexError):
                return
            del self.tasks[0]


class Together:
    """Lets both ranks swap what each sends to the other."""

    def __init__(self):
        self.sent, self.barrier = {}, threading.Barrier(2, timeout=20)

    def swap_of(self, number):
        def swap(messages):
            self.sent[number] = messages[1 - number]
            self.barrier.wait()
            return {1 - number: self.sent[1 - number]}

        return swap


def two_ranks(dtype, memory, plans=(ACKNOWLEDGED, ACKNOWLEDGED)) -> list[Rank]:
    together, ranks = Together(), {}

    def make(number):
        ranks[number] = Rank(number, dtype, memory, together, plans[number])

    threads = [threading.Thread(target=make, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [ranks[0], ranks[1]]


def play(ranks, pace) -> None:
    """One rank goes as far as it can whenever the other has done so many tasks."""
    fast, slow = ranks
    for _ in range(len(slow.tasks) + 1):
        fast.run()
        slow.run(pace)
    assert not fast.tasks and not slow.tasks


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float64])
@pytest.mark.parametrize("pace", [1, 2, 3, 100])
@pytest.mark.parametrize("first", [0, 1])
def test_a_message_that_repeats_waits_until_the_last_one_was_read(dtype, pace, first):
    ranks = two_ranks(dtype, Memory())
    play(ranks[:: 1 - 2 * first], pace)
    for rank in ranks:
        assert rank.received == [10 * (k + 1) + 1 - rank.number for k in range(N_MESSAGES)]


def test_without_waiting_it_would_be_lost():
    ranks = two_ranks(np.uint8, Careless())
    play(ranks, 1)
    assert ranks[1].received != [10 * (k + 1) for k in range(N_MESSAGES)]


@pytest.mark.parametrize("pace", [1, 2, 3, 100])
@pytest.mark.parametrize("first", [0, 1])
def test_one_end_may_have_a_mailbox_where_the_other_has_none(pace, first):
    """A rank with further neighbours, by other transports, takes a part of its exchange."""
    ranks = two_ranks(np.float64, Memory(), (IN_PLACE, IN_PLACE.part([0])))
    play(ranks[:: 1 - 2 * first], pace)
    for rank in ranks:
        assert rank.received == [10 * (k + 1) + 1 - rank.number for k in range(N_MESSAGES)]
