"""The number of threads of a launch."""

import numba

# With fewer nodes the barrier between threads costs more than parallel work saves.
NODES_PER_THREAD = 4096


def on_threads(n_nodes: int, work):
    """Launch of work on a number of threads that suits its number of nodes."""
    n_threads = max(1, min(numba.config.NUMBA_NUM_THREADS, n_nodes // NODES_PER_THREAD))

    def launch():
        numba.set_num_threads(n_threads)
        work()

    return launch
