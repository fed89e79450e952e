"""Specification, plain Python, compiled CPU code, CUDA simulator and GPU compute the same flow."""

from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from muphy_lb.base.precision import FP16, FP64
from muphy_lb.domain import STREAMINGS, build_local_domain
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.lattice import D3Q19
from tests.parity.cases import (
    BOUND,
    PRECISIONS,
    SIMULATED_STEPS,
    STEPS,
    central_setups,
    compute,
    geometry,
    in_place_setups,
    interpolated_setups,
    measured,
    name,
    on_gpu,
    printed_by,
    setups,
    simulated_setups,
    wide_setups,
)
from tests.parity.kinds import KINDS
from tests.parity.plain_python import PlainPython
from tests.support import (
    THROUGH_FLOW,
    Setup,
    advance,
    build_engine,
    engine_on,
    in_node_order,
    random_voxels,
    start_at_rest,
    with_openings,
)

ALL = pytest.mark.parametrize("setup", list(setups()), ids=name)
ON_GPU = pytest.mark.parametrize("setup", on_gpu(), ids=name)


@cache
def specified(setup, n_steps=STEPS):
    """Populations and moments of the NumPy backend in double precision."""
    return compute(replace(setup, precision=FP64), n_steps)


def distance(found, setup, n_steps) -> float:
    """Largest difference of populations or moments from the specification."""
    return max(float(np.abs(a - b).max()) for a, b in zip(found, specified(setup, n_steps), strict=True))


def distance_of_populations(found, setup) -> float:
    """Largest difference of populations from the specification."""
    return float(np.abs(found[0] - specified(setup)[0]).max())


@cache
def simulated(dimension: int):
    """Results of the CUDA backend on lattices of a dimension in Numba's simulator, in a process of its own."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "results.npz"
        printed_by("tests.parity.cases", "cuda", path, dimension, simulator=True)
        return dict(np.load(path))


def planar_first(setups) -> list:
    """(label, setup) as parameters; flows in space take the simulator long, and are left to the night."""
    marks = {2: (), 3: (pytest.mark.night,)}
    return [pytest.param(label, setup, id=label, marks=marks[setup.lattice.dimension]) for label, setup in setups]


def named(setups) -> list:
    """The same of setups, each with its name."""
    return planar_first((name(setup), setup) for setup in setups)


@ALL
def test_the_specification_flows(setup):
    """The comparison means nothing in a fluid at rest."""
    populations, moments = specified(setup)
    assert np.isfinite(populations).all() and 0.01 < np.abs(moments[1:]).max() < 0.2


@ALL
def test_the_compiled_cpu_code_agrees(setup):
    assert distance_of_populations(compute(replace(setup, backend="cpu")), setup) < BOUND[setup.precision]


@ON_GPU
def test_the_specification_in_its_own_precision_agrees(setup):
    assert distance_of_populations(compute(setup), setup) < BOUND[setup.precision]


@ON_GPU
def test_the_node_functions_in_plain_python_agree(setup):
    plain = PlainPython(**{field.name: getattr(setup, field.name) for field in fields(setup)})
    assert distance_of_populations(compute(plain), setup) < BOUND[setup.precision]


@pytest.mark.parametrize(("label", "setup"), named(simulated_setups()))
def test_the_cuda_kernels_agree_in_the_simulator(label, setup):
    found = [simulated(setup.lattice.dimension)[f"{label}-{what}"] for what in ("populations", "moments")]
    assert distance(found, setup, SIMULATED_STEPS) < BOUND[setup.precision]


@pytest.mark.parametrize(("label", "setup"), planar_first(central_setups()))
def test_collisions_of_central_moments_agree_in_the_simulator_and_on_the_cpu(label, setup):
    for found in (simulated(2)[label], compute(replace(setup, backend="cpu"), SIMULATED_STEPS)[0]):
        assert np.abs(found - specified(setup, SIMULATED_STEPS)[0]).max() < BOUND[setup.precision]


@pytest.mark.parametrize("setup", wide_setups(), ids=name)
def test_wide_addresses_give_the_bits_of_narrow_ones_in_the_simulator(setup):
    assert np.array_equal(simulated(2)[f"{name(setup)}-wide"], simulated(2)[f"{name(setup)}-populations"])


@pytest.mark.parametrize(("label", "setup"), planar_first(interpolated_setups()))
def test_interpolated_walls_agree_in_the_simulator(label, setup):
    pull, in_place = (simulated(setup.lattice.dimension)[f"{label}-{streaming}"] for streaming in ("pull", "aa"))
    assert np.abs(pull - measured(replace(setup, backend="cpu"), 2)).max() < BOUND[FP64]
    assert np.array_equal(pull, in_place)


def test_profiles_that_change_their_shape_agree_in_the_simulator():
    setup = dict(in_place_setups())["D2Q9-pulsating"]
    of_nodes = slice(0, (setup.lattice.q + 4) * geometry(setup.lattice).n_nodes)  # sums of speeds round to integers
    for backend in ("numpy", "cpu"):
        found = measured(replace(setup, backend=backend), 1)[of_nodes]
        assert np.abs(found - simulated(2)["D2Q9-pulsating-pull"][of_nodes]).max() < BOUND[FP64]


@pytest.mark.parametrize(("label", "setup"), planar_first(in_place_setups()))
def test_in_place_on_three_ranks_gives_the_bits_of_pull_on_one_in_the_simulator(label, setup):
    pull, in_place = (simulated(setup.lattice.dimension)[f"{label}-{streaming}"] for streaming in ("pull", "aa"))
    assert np.array_equal(pull, in_place) and np.isfinite(pull).all() and np.abs(pull).max() > 1e-3


@ON_GPU
@pytest.mark.gpu
def test_the_cuda_kernels_agree_on_a_gpu(setup):
    assert distance_of_populations(compute(replace(setup, backend="cuda")), setup) < BOUND[setup.precision]


def edge_and_interior(setup):
    """Populations after 60 steps of edge beside interior, and of all nodes in one launch."""
    nodes = build_nodes(with_openings(random_voxels((24, 24, 64), seed=2, fluid=0.9, periodic=(False, True, False))))
    setup = replace(setup, force=(1e-5, 2e-5, 0.0), conditions=THROUGH_FLOW)
    split = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, D3Q19)
    assert 0 < split.n_edge < split.n_nodes
    for domain in (split, replace(split, n_edge=split.n_nodes)):
        engine = advance(start_at_rest(engine_on(domain, nodes, setup)), 60)
        yield in_node_order(engine, engine.populations())


DEVICES = [
    *(pytest.param("cpu", precision, id=f"cpu-{precision.name}") for precision in PRECISIONS),
    *(pytest.param("cuda", p, id=f"cuda-{p.name}", marks=pytest.mark.gpu) for p in (*PRECISIONS, FP16)),
]


@pytest.mark.parametrize(("backend", "precision"), DEVICES)
@pytest.mark.parametrize("streaming", STREAMINGS)
def test_edge_beside_interior_gives_the_bits_of_one_launch(backend, precision, streaming):
    split, whole = edge_and_interior(Setup(D3Q19, backend, precision, streaming))
    assert np.array_equal(split, whole) and np.isfinite(split).all()


@pytest.mark.parametrize(("backend", "precision"), DEVICES)
def test_in_place_gives_the_bits_of_pull(backend, precision):
    pull, in_place = (next(edge_and_interior(Setup(D3Q19, backend, precision, s))) for s in ("pull", "aa"))
    assert np.array_equal(pull, in_place)


@pytest.mark.parametrize("kind", ["mrt-smagorinsky", "power-law", "D3Q27-mrt"])
def test_every_kind_of_collision_agrees_on_the_cpu(kind):
    setup = KINDS[kind]
    assert distance_of_populations(compute(replace(setup, backend="cpu")), setup) < BOUND[setup.precision]


@pytest.mark.gpu
@pytest.mark.parametrize("precision", (*PRECISIONS, FP16), ids=lambda precision: precision.name)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_collision_agrees_on_a_gpu_and_stays_in_registers(kind, precision):
    setup = replace(KINDS[kind], backend="cuda", precision=precision)
    reflects = 2.0 if precision == FP16 and "medium" in kind else 1.0  # a medium like a wall keeps what was rounded
    assert distance_of_populations(compute(setup), replace(setup, backend="numpy")) < reflects * BOUND[precision]
    assert usages(setup) == {0}


def usages(setup):
    """Bytes of local memory that a thread of the kernel needs, in every launch shape."""
    engine = build_engine(geometry(setup.lattice), setup)
    shapes = engine.backend.launch_shapes(engine.addresses.patterns[0])
    found = set()
    for shape in shapes:
        engine.use_shape(shape)
        advance(start_at_rest(engine), 2)
        found.add(engine.stream_usage().local_bytes)
    return found


@ON_GPU
@pytest.mark.gpu
def test_the_populations_of_a_node_stay_in_registers(setup):
    assert usages(replace(setup, backend="cuda")) == {0}


@ON_GPU
@pytest.mark.gpu
def test_every_launch_shape_gives_the_same_bits_on_a_gpu(setup):
    engine = build_engine(geometry(setup.lattice), replace(setup, backend="cuda"))
    found = []
    for shape in engine.backend.launch_shapes(engine.addresses.patterns[0]):
        engine.use_shape(shape)
        found.append(advance(start_at_rest(engine), 20).populations())
    assert len(found) > 2 and all(np.array_equal(found[0], other) for other in found)
