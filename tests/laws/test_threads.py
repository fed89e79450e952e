"""Threads change no bit, and neither does the compiler's treatment of loops that several threads share.

A process with one thread compiles its loops for one (:mod:`muphy_lb.backends.cpu.skeletons`), and scripts/test gives
every process one: so all other tests run serial loops, and these compare them with parallel ones. The domains have
several chunks, the unit of work of a thread.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

from muphy_lb.backends.cpu import skeletons
from muphy_lb.domain import TILE
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.lattice import D2Q9
from muphy_lb.physics.free_surface.cells import CELL, MASS
from muphy_lb.physics.free_surface.start import BoxRegion
from muphy_lb.physics.thermal.model import DIFFERENCES, POPULATION_METHOD
from tests.conftest import HANGS_S, ROOT
from tests.free_surface import SurfaceSetup, Tank, tank
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
from tests.thermal import between_walls, cavity_engine, cavity_setup, temperature

SHAPE = (1, 110, 120)
N_THREADS, N_STEPS = 3, 6
PARALLEL = "loops are parallel"


def flow() -> list[np.ndarray]:
    """Through openings, between walls, under a force: populations, moments, sums, what crosses the openings."""
    nodes = build_nodes(with_openings(random_voxels(SHAPE, fluid=0.9, periodic=(False, True, False))))
    engine = build_engine(nodes, Setup(D2Q9, "cpu", force=(1e-5, 2e-5, 0.0), conditions=THROUGH_FLOW))
    assert engine.domain.n_nodes > 2 * TILE
    advance(start_at_rest(engine), N_STEPS)
    totals = engine.totals()
    sums = [np.array(value) for value in (totals.mass, totals.speed, totals.flow)]
    return [in_node_order(engine, engine.populations()), engine.moments(), *sums, *engine.link_fluxes()]


def surface() -> list[np.ndarray]:
    """A column that collapses among obstacles: populations, cells, masses."""
    nodes, (_, ny, nx) = tank(SHAPE, 0.1), SHAPE
    column = BoxRegion(np.zeros(3), np.full(3, -1.0), np.array([0.4 * nx, 0.6 * ny, 1.0]))
    pool = Tank(nodes, SurfaceSetup(D2Q9, rates=(1.9,), force=(1e-4, -1e-3, 0.0), backend="cpu"), [column])
    pool.ranks.step(N_STEPS)
    return [pool.ranks.populations(), pool.field(CELL), pool.field(MASS)]


def cavity(method: str) -> list[np.ndarray]:
    """Heated from the side: populations, moments, temperatures."""
    engine = cavity_engine(between_walls(SHAPE), cavity_setup(D2Q9, 100, 1e5, up=1, method=method))
    advance(engine, N_STEPS)
    return [engine.populations(), engine.moments(), temperature(engine)]


FLOWS = {
    "flow": flow,
    "surface": surface,
    "cavity by differences": lambda: cavity(DIFFERENCES),
    "cavity by populations": lambda: cavity(POPULATION_METHOD),
}


def write(path: str) -> None:
    """All of them, on as many threads as this process has."""
    skeletons.NODES_PER_THREAD = 1
    values = {f"{name} {k}": array for name, work in FLOWS.items() for k, array in enumerate(work())}
    np.savez(path, **values, **{PARALLEL: skeletons.clear.targetoptions.get("parallel", False)})


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What one thread and several have computed, each in a process of its own."""
    folder, results = tmp_path_factory.mktemp("threads"), []
    for n_threads in (1, N_THREADS):
        path = folder / f"{n_threads}.npz"
        line = [sys.executable, "-c", f"from tests.laws.test_threads import write; write({str(path)!r})"]
        env = os.environ | {"NUMBA_NUM_THREADS": str(n_threads), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(line, env=env, cwd=ROOT, capture_output=True, text=True, timeout=HANGS_S)
        assert done.returncode == 0, done.stderr[-3000:]
        results.append(dict(np.load(path)))
    return results


def test_loops_are_compiled_for_the_threads_of_the_process(found):
    assert [bool(each.pop(PARALLEL)) for each in found] == [False, True]


@pytest.mark.parametrize("name", FLOWS)
def test_threads_change_no_bit(name, found):
    one, several = ([each[key] for key in sorted(each) if key.startswith(f"{name} ")] for each in found)
    assert len(one) >= 2 and [a.tobytes() for a in one] == [a.tobytes() for a in several]
    assert all(np.isfinite(a).all() for a in one) and np.abs(one[0]).max() > 1e-6
