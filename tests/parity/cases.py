"""The flows that every backend must compute alike: many steps in a random geometry with walls, two openings, a force.

Run as ``python -m tests.parity.cases BACKEND FILE DIMENSION`` it writes the results of one backend on lattices of a
dimension: the way to Numba's CUDA simulator, which must be chosen before numba is imported.
"""

import os
import subprocess
import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from muphy_lb.base.precision import FP16, FP32, FP64
from muphy_lb.boundaries.wall_motion import WallMotion
from muphy_lb.domain import STREAMINGS, AddressTable, compress
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.lattice import D2Q9, D3Q19, LATTICES
from muphy_lb.operators import CUMULANT, RECURSIVE_REGULARISED
from tests.conftest import HANGS_S, ROOT
from tests.laws.walled import INTERPOLATED, MOVING, ScatteredDistances, walled_nodes
from tests.support import (
    PULSATING,
    THROUGH_FLOW,
    Ranks,
    Setup,
    advance,
    build_engine,
    in_node_order,
    pulsating_rows,
    random_owner,
    random_populations,
    random_voxels,
    start_at_rest,
    with_openings,
)

STEPS, SIMULATED_STEPS = 100, 4
FORCE = {2: (1e-5, 2e-5, 0.0), 3: (1e-5, 2e-5, -1e-5)}
PRECISIONS = (FP64, FP32)
# Compilers fuse operations differently: round-off of 100 steps on populations; measured 2e-15 and 3e-8. In half
# precision numbers near the largest deviation, 0.22, are 1.2e-4 apart: three of these. Measured: 2.2e-4 (MRT on an
# H200), where half precision itself is up to 2.7e-4 away from single.
BOUND = {FP64: 1e-12, FP32: 2e-6, FP16: 3 * 2.0**-13}
# Threads of a block that do nothing cost the simulator as much as those that work.
SIMULATED_BLOCK = 32
# Exit code of a program that lacks what it needs, so that its tests are skipped.
CANNOT_RUN = 3


def printed_by(*words, seconds: float = HANGS_S, simulator: bool = False) -> str:
    """Output of ``python -m ...`` in a process of its own, in or outside the simulator of GPUs; the test is skipped
    where the program lacks what it needs."""
    env = os.environ | {"NUMBA_ENABLE_CUDASIM": str(int(simulator)), "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", *map(str, words)]
    done = subprocess.run(line, env=env, cwd=ROOT, capture_output=True, text=True, timeout=seconds)
    if done.returncode == CANNOT_RUN:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def setups(precisions=PRECISIONS):
    """Every combination of lattice, streaming and precision."""
    for lattice in (D2Q9, D3Q19):
        for streaming in STREAMINGS:
            for precision in precisions:
                force = FORCE[lattice.dimension]
                yield Setup(lattice, precision=precision, streaming=streaming, force=force, conditions=THROUGH_FLOW)


def on_gpu():
    """Those that a GPU computes."""
    return list(setups((*PRECISIONS, FP16)))


def simulated_setups():
    """Those that the simulator computes; the longest are left to the GPU in single and half precision."""
    return [setup for setup in on_gpu() if setup.lattice is D2Q9 or setup.precision is FP64]


def wide_setups():
    """Those that the simulator computes once more with wide addresses: one for each way to give nodes to threads."""
    chosen = (("pull", FP64), ("aa", FP32), ("pull", FP16))
    return [s for s in simulated_setups() if s.lattice is D2Q9 and (s.streaming, s.precision) in chosen]


def name(setup: Setup) -> str:
    """Such as ``D3Q19-pull-fp64``."""
    return f"{setup.lattice.name}-{setup.streaming}-{setup.precision.name}"


def geometry(lattice):
    """Less than a hundred nodes, few enough for the simulator, and more than one of its blocks; periodic in y."""
    shape = (4, 5, 7) if lattice.dimension == 3 else (1, 8, 11)
    return build_nodes(with_openings(random_voxels(shape, seed=1, periodic=(False, True, False))))


def compute(setup: Setup, n_steps=STEPS) -> tuple[np.ndarray, np.ndarray]:
    """(Q, n) populations and (4, n) moments after the steps, in node-list order."""
    engine = build_engine(geometry(setup.lattice), setup)
    shrink_blocks(engine)
    advance(start_at_rest(engine), n_steps)
    return in_node_order(engine, engine.populations()), in_node_order(engine, engine.moments())


def central_setups():
    """Setups of collisions of central moments, by name; D3Q27 would take the simulator minutes."""
    force, central = FORCE[D2Q9.dimension], (RECURSIVE_REGULARISED, CUMULANT)
    for relaxation, precision in product(central, PRECISIONS):
        setup = Setup(D2Q9, precision=precision, relaxation=relaxation, force=force, conditions=THROUGH_FLOW)
        yield f"D2Q9-{relaxation.name}-{precision.name}", setup


def in_place_setups():
    """Setups to compute in place and by pull, by name: borders with openings, or with two walls of which one moves or
    slips and the other rests. The smallest and the largest lattice in space are left to one of them."""
    borders = {
        "openings": {"conditions": THROUGH_FLOW},
        "moving": {"motions": MOVING},
        "slip": {"motions": (WallMotion(slips=True), WallMotion())},
    }
    yield "D2Q9-pulsating", Setup(D2Q9, conditions=PULSATING)
    for lattice in LATTICES.values():
        for border in borders if lattice in (D2Q9, D3Q19) else ("moving",):
            yield f"{lattice.name}-{border}", Setup(lattice, force=FORCE[lattice.dimension], **borders[border])


def interpolated_setups():
    """Setups with interpolated walls, one of which moves, by name."""
    for lattice in (D2Q9, D3Q19):
        for rule in INTERPOLATED:
            setup = Setup(lattice, force=FORCE[lattice.dimension], motions=MOVING, wall_rule=rule)
            yield f"{lattice.name}-{rule}", setup


def measured(setup: Setup, n_ranks: int) -> np.ndarray:
    """All that can be asked of three steps, in an order that does not depend on the ranks, in one array."""
    small = (4, 5, 6) if setup.lattice.dimension == 3 else (1, 8, 11)
    cuts = ScatteredDistances() if setup.wall_rule in INTERPOLATED else None
    nodes = walled_nodes(setup.lattice, cuts, fluid=0.5, shape=small) if setup.motions else geometry(setup.lattice)
    ranks = Ranks(nodes, setup, random_owner(nodes, n_ranks))
    for engine in ranks.engines:
        shrink_blocks(engine)
    ranks.set_populations(random_populations(setup.lattice, nodes.n_nodes))
    if setup.conditions is PULSATING:
        for engine in ranks.engines:
            engine.schedule(pulsating_rows(4))
    ranks.step(3)
    exchanged = ranks.each(lambda engine: engine.wall_exchange())
    found, moments = [], np.empty((4, nodes.n_nodes))
    for engine, exchange in zip(ranks.engines, exchanged, strict=True):
        walls = engine.domain.linkwise.join(engine.domain.in_table)
        found += of_links(engine.domain.links, *engine.link_fluxes()) + of_links(walls, exchange)
        moments[:, engine.domain.number] = engine.moments()
    totals = [engine.totals() for engine in ranks.engines]
    sums = [max(total.speed for total in totals)]
    sums += np.sum([total.flow for total in totals], axis=0).tolist()
    return np.concatenate((ranks.populations().ravel(), moments.ravel(), sums, *sorted(found)))


def of_links(links, *values) -> list[tuple]:
    """A record for each link: where it is, and the values."""
    return list(zip(links.boundary, links.voxel, links.q, *values, strict=True))


def shrink_blocks(engine) -> None:
    """In the simulator, launch no more threads than needed."""
    if engine.backend.name != "cuda":
        return
    from muphy_lb.backends.cuda import backend, device

    if device.SIMULATOR:
        backend.BLOCK = SIMULATED_BLOCK
        shape = engine.backend.launch_shapes(engine.addresses.patterns[0])[0]
        engine.use_shape(shape._replace(block=SIMULATED_BLOCK))


def widen_addresses() -> None:
    """Tables as of buffers with more than 2^32 populations."""
    AddressTable.runs = lambda table, phase: compress(table.chunks(phase), len(table.patterns[phase].directions), 2**33)


def write_results(backend: str, path: str, dimension: str) -> None:
    """Compute the simulator's setups on lattices of a dimension on a backend and write one .npz file."""
    results = {}

    def chosen(labelled):
        for label, setup in labelled:
            if setup.lattice.dimension == int(dimension):
                yield label, replace(setup, backend=backend)

    for label, setup in chosen((name(setup), setup) for setup in simulated_setups()):
        results[f"{label}-populations"], results[f"{label}-moments"] = compute(setup, SIMULATED_STEPS)
    for label, setup in chosen(central_setups()):
        results[label], _ = compute(setup, SIMULATED_STEPS)
    for alone, setups_of in ((1, in_place_setups()), (2, interpolated_setups())):
        for label, setup in chosen(setups_of):
            for streaming, n_ranks in (("pull", alone), ("aa", 3)):
                results[f"{label}-{streaming}"] = measured(replace(setup, streaming=streaming), n_ranks)
    widen_addresses()
    for label, setup in chosen((name(setup), setup) for setup in wide_setups()):
        results[f"{label}-wide"], _ = compute(setup, SIMULATED_STEPS)
    np.savez(path, **results)


if __name__ == "__main__":
    from tests.simulator import take_turns

    take_turns()
    write_results(*sys.argv[1:])
