"""The flows that every backend must compute alike: 100 steps through a random geometry with walls, two openings, a force.

Run as a program, ``python -m tests.parity.cases BACKEND FILE``, it writes the results of one backend: the way to Numba's
CUDA simulator, which must be chosen before numba is imported.
"""

import sys
from dataclasses import replace

import numpy as np

from geometry.nodes import build_nodes
from muphy_lb.domain import STREAMINGS, build_local_domain
from muphy_lb.engine import Engine
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.operators import COLLISIONS, MACROSCOPIC, OPENINGS
from muphy_lb.parallel import SerialCommunicator
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
# A GPU and a CPU fuse operations differently: PHYSICS of 100 steps at round-off; measured below 1e-14 and 1e-7.
BOUND = {np.float64: 1e-12, np.float32: 2e-6}
# Threads of a block that do nothing cost the simulator as much as those that work.
SIMULATED_BLOCK = 32


def setups():
    """Every combination of lattice, streaming and precision."""
    for lattice in LATTICES:
        for streaming in STREAMINGS:
            for real in REALS:
                force = FORCE[lattice.dimension]
                yield Setup(lattice, real=real, streaming=streaming, force=force, conditions=THROUGH_FLOW)


def name(setup: Setup) -> str:
    """Such as ``D3Q19-pull-float64``."""
    return f"{setup.lattice.name}-{setup.streaming}-{setup.real.__name__}"


def geometry(lattice):
    """Between 60 and 130 nodes, few enough for the simulator; periodic in y."""
    shape = (4, 5, 7) if lattice.dimension == 3 else (1, 8, 11)
    return build_nodes(with_openings(random_voxels(shape, seed=1, periodic=(False, True, False))))


def compute(setup: Setup) -> tuple[np.ndarray, np.ndarray]:
    """(Q, n) populations and (4, n) moments after the steps, in node-list order."""
    engine = advance(start_at_rest(build_engine(geometry(setup.lattice), setup)), STEPS)
    return in_node_order(engine, engine.populations()), in_node_order(engine, engine.moments())


def write_results(backend: str, path: str) -> None:
    """Compute every setup on a backend and write one .npz file."""
    results = {}
    for setup in setups():
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
