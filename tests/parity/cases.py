"""The flows that every backend must compute alike: 100 steps in a random geometry with walls, two openings, a force.

Run as ``python -m tests.parity.cases BACKEND FILE`` it writes the results of one backend: the way to Numba's CUDA
simulator, which must be chosen before numba is imported.
"""

import sys
from dataclasses import replace

import numpy as np

from geometry.nodes import build_nodes
from muphy_lb.domain import STREAMINGS
from muphy_lb.lattice import D2Q9, D3Q19
from tests.support import (
    THROUGH_FLOW,
    Setup,
    advance,
    build_engine,
    in_node_order,
    random_voxels,
    start_at_rest,
    with_openings,
)

STEPS = 100
FORCE = {2: (1e-5, 2e-5, 0.0), 3: (1e-5, 2e-5, -1e-5)}
LATTICES = (D2Q9, D3Q19)
REALS = (np.float64, np.float32)
# Compilers fuse operations differently: round-off of 100 steps on populations; measured 2e-15 and 3e-8.
BOUND = {np.float64: 1e-12, np.float32: 2e-6}
# Threads of a block that do nothing cost the simulator as much as those that work.
SIMULATED_BLOCK = 32
# Exit code of a program that lacks what it needs, so that its tests are skipped.
CANNOT_RUN = 3


def setups():
    """Every combination of lattice, streaming and precision."""
    for lattice in LATTICES:
        for streaming in STREAMINGS:
            for real in REALS:
                force = FORCE[lattice.dimension]
                yield Setup(lattice, real=real, streaming=streaming, force=force, conditions=THROUGH_FLOW)


def simulated_setups():
    """Those that the simulator computes; the longest are left to the GPU in single precision."""
    return [setup for setup in setups() if setup.lattice is D2Q9 or setup.real is np.float64]


def name(setup: Setup) -> str:
    """Such as ``D3Q19-pull-float64``."""
    return f"{setup.lattice.name}-{setup.streaming}-{setup.real.__name__}"


def geometry(lattice):
    """Less than a hundred nodes, few enough for the simulator, and more than one of its blocks; periodic in y."""
    shape = (4, 5, 7) if lattice.dimension == 3 else (1, 8, 11)
    return build_nodes(with_openings(random_voxels(shape, seed=1, periodic=(False, True, False))))


def compute(setup: Setup) -> tuple[np.ndarray, np.ndarray]:
    """(Q, n) populations and (4, n) moments after the steps, in node-list order."""
    engine = advance(start_at_rest(build_engine(geometry(setup.lattice), setup)), STEPS)
    return in_node_order(engine, engine.populations()), in_node_order(engine, engine.moments())


def write_results(backend: str, path: str) -> None:
    """Compute the simulator's setups on a backend and write one .npz file."""
    results = {}
    for setup in simulated_setups():
        results[f"{name(setup)}-populations"], results[f"{name(setup)}-moments"] = compute(
            replace(setup, backend=backend)
        )
    np.savez(path, **results)


def shrink_blocks() -> None:
    """In the simulator, launch no more threads than needed."""
    from muphy_lb.backends.cuda import backend, device

    if device.SIMULATOR:
        backend.BLOCK = SIMULATED_BLOCK


if __name__ == "__main__":
    shrink_blocks()
    write_results(*sys.argv[1:])
