"""Memory and time that a case needs, before anything of it is computed."""

import numba
import numpy as np

from muphy_lb.backends import make_backend, resolve_backend
from muphy_lb.backends.copying import copy_bandwidth_tb_s, host_copy_tb_s
from muphy_lb.base.errors import BackendError
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.base.registry import packages
from muphy_lb.base.units import time_in_words
from muphy_lb.case.case import Case
from muphy_lb.domain import ROW, TILE
from muphy_lb.domain.streaming import streaming_named
from muphy_lb.lattice import Lattice, lattice_named

# Of the run table per node and direction: 0.34 to 0.44 in vessels and sphere packs, more in pores a few voxels wide.
BYTES_PER_DIRECTION = 0.5


def bytes_per_node(case: Case, lattice: Lattice) -> float:
    """Estimated memory of one node [bytes]: two copies of its populations (one in place), its share of the address
    table, the fields of other physics, and the instants of a beat that is replayed."""
    beat = 3 * (case.run.replayed_instants or 0) * np.dtype(PRECISIONS[case.compute.precision].real).itemsize
    return beat + _bytes(case, lattice, 1 if streaming_named(case.compute.streaming).in_place else 2)


def bytes_per_update(case: Case, lattice: Lattice) -> float:
    """Estimate of what a step moves for each node [bytes]: the populations that it reads and writes, and the rest of
    what there is."""
    return _bytes(case, lattice, 2)


def _bytes(case: Case, lattice: Lattice, copies: int) -> float:
    stored = np.dtype(PRECISIONS[case.compute.precision].storage).itemsize * ROW / TILE
    populations = lattice.q * copies * stored + (lattice.q - 1) * BYTES_PER_DIRECTION
    return populations + sum(physics.bytes_per_node(case, lattice) for physics in packages(case))


SHARE_OF_COPY = {"cuda": 0.9, "cpu": 0.65, "numpy": 0.01}
"""Of the bandwidth of a copy, what steps reach with simple collisions (benchmarks/README.md); others may take twice as
long."""

SIMPLE = ("bgk", "trt", "regularised", "recursive-regularised")  # collisions that are as fast as the memory

COPY_BYTES = 1 << 27
COPY_BYTES_ON_GPU = 1 << 29


def duration(case: Case, n_nodes: int, n_steps: int, n_ranks: int, bytes_per_update: float) -> str:
    """How long the steps of a run take, in one sentence; measures the bandwidth of this machine, in less than a second.

    Args:
        n_steps: at most.
        n_ranks: number of ranks, all of them on this machine.
        bytes_per_update: what a node's update moves.
    """
    try:
        backend = resolve_backend(case.compute.backend)
        copy_tb_s, device = _copy_tb_s(case, backend, n_ranks)
    except BackendError as error:
        return f"the time cannot be estimated here: {error}"
    mflups = SHARE_OF_COPY[backend] * copy_tb_s * 1e6 / bytes_per_update
    by = f"from the bandwidth of its memory, {1e3 * copy_tb_s:.3g} GB/s"
    computing = [each for each in packages(case) if backend == "cpu" and each.cpu_ns]
    thread_ns, n_threads = sum(each.cpu_ns for each in computing), n_ranks * numba.config.NUMBA_NUM_THREADS
    if thread_ns * mflups > 1e3 * n_threads:
        mflups = 1e3 * n_threads / thread_ns
        by = f"of some {thread_ns:g} ns a node on a thread with {', '.join(f'[{each.name}]' for each in computing)}"
    at_most = "at most " if case.run.may_end_early else ""
    time = time_in_words(n_steps * n_nodes / (1e6 * mflups))
    # What keeps steps from being as fast as the memory.
    further = ["a law of viscosity"] if case.fluid.law else []
    further += [] if case.lattice.collision in SIMPLE else [f"collision = {case.lattice.collision!r}"]
    further += [f"[{physics.name}]" for physics in packages(case) if physics not in computing]
    slower = f"; {', '.join(further)} may take several times as long" if further else ""
    return (
        f"the steps of a simple flow like this take {at_most}about {time} on this machine ({device}): {n_steps:,} steps"
        f" at about {mflups:.3g} MFLUPS, {by}{slower}; set-up, looks at the flow and pictures come on top (a run shows"
        " a measured time, with all of it, once it has begun)"
    )


def _copy_tb_s(case: Case, backend: str, n_ranks: int) -> tuple[float, str]:
    """The bandwidth of a copy by all ranks together [TB/s], and the device in words."""
    if backend == "cuda":
        device = make_backend(backend, lattice_named(case.lattice.name), PRECISIONS[case.compute.precision])
        n_gpus = "a GPU" if n_ranks == 1 else f"{n_ranks} GPUs, if there are as many"
        return n_ranks * copy_bandwidth_tb_s(device, COPY_BYTES_ON_GPU), f"{n_gpus}: {device.device}"
    n_threads = n_ranks * (1 if backend == "numpy" else numba.config.NUMBA_NUM_THREADS)
    return host_copy_tb_s(n_threads, COPY_BYTES), f"{n_threads} {'thread' if n_threads == 1 else 'threads'}"
