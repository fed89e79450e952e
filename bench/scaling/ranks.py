"""Idle waiting: ranks that do not take part in a measurement sleep until it ends."""

import time

import numpy as np

POLL_S = 0.02


def wait_for_ranks(communicator, n_ranks: int) -> None:
    """Wait until the first ``n_ranks`` ranks have finished, polling with sleeps instead of busy waiting; collective."""
    token = np.zeros(1, dtype=np.int8)
    if communicator.rank == 0:
        for rank in range(n_ranks, communicator.size):
            communicator.send(token, rank)
    elif communicator.rank >= n_ranks:
        request = communicator.start_receive(token, 0)
        while not request.Test():
            time.sleep(POLL_S)
