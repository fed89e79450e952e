"""How many threads a launch is worth."""

import numba

# Below this a barrier between threads costs more than it saves, most of all on a busy machine.
NODES_PER_THREAD = 4096


def on_threads(n_nodes: int, work):
    """The work on as many threads as its nodes are worth."""
    n_threads = max(1, min(numba.config.NUMBA_NUM_THREADS, n_nodes // NODES_PER_THREAD))

    def launch():
        numba.set_num_threads(n_threads)
        work()

    return launch
