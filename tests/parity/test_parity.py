"""Specification, plain Python, compiled CPU code, CUDA simulator and GPU compute the same flow."""

import os
import subprocess
import sys
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest

from geometry.nodes import build_nodes
from muphy_lb.domain import STREAMINGS, build_local_domain
from muphy_lb.lattice import D3Q19
from muphy_lb.operators import BGK, collision
from tests.conftest import ROOT
from tests.parity.cases import BOUND, LATTICES, REALS, compute, name, setups, simulated_setups
from tests.parity.kinds import KINDS
from tests.parity.plain_python import PlainPython
from tests.support import (
    THROUGH_FLOW,
    Setup,
    advance,
    engine_on,
    in_node_order,
    random_voxels,
    start_at_rest,
    with_openings,
)

ALL = pytest.mark.parametrize("setup", list(setups()), ids=name)
DEVICES = pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])


@cache
def specified(setup):
    """Populations and moments of the NumPy backend in double precision."""
    return compute(replace(setup, real=np.float64))


def distance(found, setup) -> float:
    """Largest difference of populations or moments from the specification."""
    return max(float(np.abs(a - b).max()) for a, b in zip(found, specified(setup), strict=True))


def distance_of_populations(found, setup) -> float:
    """Largest difference of populations from the specification."""
    return float(np.abs(found[0] - specified(setup)[0]).max())


@pytest.fixture(scope="session")
def simulated(tmp_path_factory):
    """Results of the CUDA backend in Numba's simulator, in a process of its own."""
    path = tmp_path_factory.mktemp("simulated") / "results.npz"
    env = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.parity.cases", "cuda", str(path)]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return np.load(path)


@ALL
def test_the_specification_flows(setup):
    """The comparison means nothing in a fluid at rest."""
    populations, moments = specified(setup)
    assert np.isfinite(populations).all() and 0.01 < np.abs(moments[1:]).max() < 0.2


@ALL
def test_the_compiled_cpu_code_agrees(setup):
    assert distance_of_populations(compute(replace(setup, backend="cpu")), setup) < BOUND[setup.real]


@ALL
def test_the_specification_in_its_own_precision_agrees(setup):
    assert distance_of_populations(compute(setup), setup) < BOUND[setup.real]


@ALL
def test_the_node_functions_in_plain_python_agree(setup):
    plain = PlainPython(**{field.name: getattr(setup, field.name) for field in fields(setup)})
    assert distance_of_populations(compute(plain), setup) < BOUND[setup.real]


@pytest.mark.parametrize("setup", simulated_setups(), ids=name)
def test_the_cuda_kernels_agree_in_the_simulator(setup, simulated):
    found = [simulated[f"{name(setup)}-{what}"] for what in ("populations", "moments")]
    assert distance(found, setup) < BOUND[setup.real]


@ALL
@pytest.mark.gpu
def test_the_cuda_kernels_agree_on_a_gpu(setup):
    assert distance_of_populations(compute(replace(setup, backend="cuda")), setup) < BOUND[setup.real]


@DEVICES
@pytest.mark.parametrize("streaming", STREAMINGS)
@pytest.mark.parametrize("real", REALS, ids=lambda real: real.__name__)
def test_edge_beside_interior_gives_the_bits_of_one_launch(backend, streaming, real):
    nodes = build_nodes(with_openings(random_voxels((24, 24, 64), seed=2, fluid=0.9, periodic=(False, True, False))))
    setup = Setup(D3Q19, backend, real, streaming, force=(1e-5, 2e-5, 0.0), conditions=THROUGH_FLOW)
    split = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, D3Q19)
    assert 0 < split.n_edge < split.n_nodes
    found = []
    for domain in (split, replace(split, n_edge=split.n_nodes)):
        engine = advance(start_at_rest(engine_on(domain, nodes, setup)), 60)
        found.append(in_node_order(engine, engine.populations()))
    assert np.array_equal(*found) and np.isfinite(found[0]).all()


@pytest.mark.parametrize("kind", ["mrt-smagorinsky", "power-law", "D3Q27-mrt"])
def test_every_kind_of_collision_agrees_on_the_cpu(kind):
    setup = KINDS[kind]
    assert distance_of_populations(compute(replace(setup, backend="cpu")), setup) < BOUND[setup.real]


@pytest.mark.gpu
@pytest.mark.parametrize("real", REALS, ids=lambda real: real.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_collision_agrees_on_a_gpu_and_stays_in_registers(kind, real):
    from muphy_lb.backends.cuda import skeletons

    setup = replace(KINDS[kind], real=real)
    assert distance_of_populations(compute(replace(setup, backend="cuda")), setup) < BOUND[real]
    kernel = skeletons.stream_collide(setup.model().collision, setup.streaming, setup.lattice, real)
    used = kernel.get_local_mem_per_thread()
    assert used and set(used.values()) == {0}


@pytest.mark.gpu
@pytest.mark.parametrize("lattice", LATTICES, ids=lambda lattice: lattice.name)
@pytest.mark.parametrize("streaming", STREAMINGS)
@pytest.mark.parametrize("real", REALS, ids=lambda real: real.__name__)
def test_the_populations_of_a_node_stay_in_registers(lattice, streaming, real):
    from muphy_lb.backends.cuda import skeletons

    setup = next(s for s in setups() if (s.lattice, s.streaming, s.real) == (lattice, streaming, real))
    compute(replace(setup, backend="cuda"))
    kernel = skeletons.stream_collide(collision(BGK), streaming, lattice, real)
    used = kernel.get_local_mem_per_thread()
    assert used and set(used.values()) == {0}
