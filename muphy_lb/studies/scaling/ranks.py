"""The first ranks of an mpirun work while the others wait without taking time from them."""

import time

import numpy as np

POLL_S = 0.02


def meet_again(communicator, n_ranks: int) -> None:
    """End of the work of the first ``n_ranks`` ranks: the others sleep until then; collective."""
    word = np.zeros(1, dtype=np.int8)
    if communicator.rank == 0:
        for rank in range(n_ranks, communicator.size):
            communicator.send(word, rank)
    elif communicator.rank >= n_ranks:
        request = communicator.start_receive(word, 0)
        while not request.Test():
            time.sleep(POLL_S)
