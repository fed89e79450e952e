"""A fluctuating fluid: the same noise on every backend, rank and streaming, and nothing but noise."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import FP32, FP64
from muphy_lb.case.case import case_from_dict
from muphy_lb.domain import STREAMINGS
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.lattice import D2Q9, D3Q19, LATTICES
from muphy_lb.operators import BGK, TRT, mrt_for
from muphy_lb.run.solver import Solver
from tests.fluctuating import KT, FluctuatingSetup
from tests.parity.plain_python import PlainPython
from tests.support import (
    THROUGH_FLOW,
    Ranks,
    advance,
    box_shape,
    build_engine,
    random_nodes,
    random_owner,
    random_populations,
    random_voxels,
    start_at_rest,
)

pytestmark = pytest.mark.pairs

EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
EVERY_STREAMING = pytest.mark.parametrize("streaming", STREAMINGS)
N_STEPS = 5
# Round-off of the steps on populations whose fluctuations are about 1e-2.
BOUND = {FP64: 1e-14, FP32: 1e-7}
FLAT = FluctuatingSetup(D2Q9)


class NodeFunctions(PlainPython, FluctuatingSetup):
    """A fluctuating flow by its node functions in plain Python."""


def closed_box(lattice):
    """A periodic box without walls."""
    return build_nodes(random_voxels(box_shape(lattice), fluid=1.0, periodic=(True, True, True)))


def populations_after(nodes, setup, n_steps=N_STEPS, n_ranks=1):
    """(Q, n) populations in node-list order, some steps after a random state."""
    ranks = Ranks(nodes, setup, random_owner(nodes, n_ranks))
    ranks.set_populations(0.1 * random_populations(setup.lattice, nodes.n_nodes))
    ranks.step(n_steps)
    return ranks.populations()


def momentum(lattice, populations) -> np.ndarray:
    """(4,) mass deviation and momentum of all nodes."""
    of_directions = populations.sum(axis=1, dtype=np.float64)
    return np.array([of_directions.sum(), *lattice.c.T @ of_directions])


@EVERY_LATTICE
@pytest.mark.parametrize("precision", BOUND, ids=lambda precision: precision.name)
def test_node_functions_add_the_noise_of_the_specification(lattice, precision):
    relaxation, rates = mrt_for(lattice)
    setup = FluctuatingSetup(lattice, rates=(1.7, *rates), relaxation=relaxation, conditions=THROUGH_FLOW)
    nodes = random_nodes(lattice)
    specified = populations_after(nodes, setup, 2)
    found = populations_after(nodes, NodeFunctions.of(replace(setup, precision=precision)), 2)
    assert np.abs(found - specified).max() < BOUND[precision]
    assert np.abs(specified - populations_after(nodes, replace(setup, kt=1e-20), 2)).max() > 1e-3


BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "setup",
    [
        pytest.param(FluctuatingSetup(D2Q9, conditions=THROUGH_FLOW), id="D2Q9-bgk"),
        pytest.param(FluctuatingSetup(D3Q19, rates=(1.7, 0.1), relaxation=TRT, force=(1e-4, 0, 0)), id="D3Q19-trt"),
    ],
)
def test_compiled_code_adds_the_noise_of_the_specification(setup, backend):
    nodes = random_nodes(setup.lattice, openings=bool(setup.conditions))
    specified, found = (populations_after(nodes, replace(setup, backend=name)) for name in ("numpy", backend))
    assert np.abs(found - specified).max() < BOUND[FP64]


@pytest.mark.gpu
@EVERY_LATTICE
@EVERY_STREAMING
@pytest.mark.parametrize("precision", BOUND, ids=lambda precision: precision.name)
def test_a_gpu_adds_the_noise_of_the_specification(lattice, streaming, precision):
    relaxation, rates = mrt_for(lattice)
    setup = FluctuatingSetup(lattice, rates=(1.7, *rates), relaxation=relaxation, streaming=streaming)
    nodes = random_nodes(lattice, openings=False)
    specified = populations_after(nodes, setup)
    found = populations_after(nodes, replace(setup, backend="cuda", precision=precision))
    assert np.abs(found - specified).max() < BOUND[precision]


@pytest.mark.gpu
def test_steps_that_a_gpu_replays_have_noise_of_their_own():
    """Recorded cycles of steps and single ones give the same bits."""
    engines = [build_engine(closed_box(D3Q19), FluctuatingSetup(D3Q19, backend="cuda")) for _ in range(2)]
    for engine in engines:
        engine.warm_up()
        engine.set_step_number(0)
        start_at_rest(engine)
    engines[0].advance(70)
    advance(engines[1], 70)
    assert np.array_equal(*(engine.populations() for engine in engines))


@EVERY_STREAMING
@pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
def test_populations_do_not_depend_on_the_ranks_bit_by_bit(lattice, streaming):
    """Of node functions in plain Python, which round alike in arrays of any shape."""
    nodes = random_nodes(lattice)
    setup = NodeFunctions.of(FluctuatingSetup(lattice, streaming=streaming, conditions=THROUGH_FLOW))
    alone, *shared = (populations_after(nodes, setup, 3, n_ranks) for n_ranks in (1, 2, 3))
    assert np.isfinite(alone).all() and np.array_equal(alone, shared[0]) and np.array_equal(alone, shared[1])


@EVERY_LATTICE
def test_specified_populations_do_not_depend_on_the_ranks(lattice):
    nodes = random_nodes(lattice)
    setup = FluctuatingSetup(lattice, conditions=THROUGH_FLOW)
    alone, shared = (populations_after(nodes, setup, 20, n_ranks) for n_ranks in (1, 3))
    assert np.abs(alone - shared).max() < 1e-14


@pytest.mark.parametrize("n_steps", [1, 2, 5])
def test_in_place_has_the_bits_of_pull(n_steps):
    nodes, setup = random_nodes(D2Q9), NodeFunctions.of(replace(FLAT, conditions=THROUGH_FLOW))
    found = [populations_after(nodes, replace(setup, streaming=streaming), n_steps) for streaming in ("pull", "aa")]
    assert np.array_equal(*found) and np.abs(found[0]).max() > 1e-3


def collided(engine, state):
    """Populations behind the collision of those ahead of it."""
    model, n = engine.model, np.arange(state.shape[1])
    return model.collision.reference(state, n, model.lattice, engine.host_parameters())


@EVERY_LATTICE
def test_push_gives_the_flow_of_pull(lattice):
    """Push collides at the beginning of a step where pull does so at the end of the step before: it starts with the
    noise that pull adds to the state that it starts from."""
    nodes = random_nodes(lattice, openings=False)
    state, found = 0.1 * random_populations(lattice, nodes.n_nodes), []
    for streaming, first_step in (("pull", 0), ("push", -1)):
        engine = build_engine(nodes, FluctuatingSetup(lattice, streaming=streaming))
        engine.set_step_number(first_step)
        engine.set_populations(state if streaming == "push" else collided(engine, state))
        found.append(advance(engine, N_STEPS).moments())
    assert np.abs(found[0] - found[1]).max() < 1e-14 and np.abs(found[0][1:]).max() > 1e-2


@EVERY_LATTICE
@pytest.mark.parametrize("relaxation", [BGK, TRT], ids=lambda relaxation: relaxation.name)
def test_noise_conserves_mass_and_momentum(lattice, relaxation):
    nodes = closed_box(lattice)
    setup = FluctuatingSetup(lattice, rates=(1.7, 0.1)[: len(relaxation.parameters)], relaxation=relaxation)
    start = 0.1 * random_populations(lattice, nodes.n_nodes)
    change = momentum(lattice, populations_after(nodes, setup, 50)) - momentum(lattice, start)
    assert np.abs(change).max() < 1e-16 * 50 * nodes.n_nodes


def test_noise_in_single_precision_leaves_the_mass_to_the_rest_population():
    """Weights of single precision do not add up to one; populations are 1e-2, and 6e-8 of that is a rounding."""
    nodes = closed_box(D2Q9)
    engine = start_at_rest(build_engine(nodes, NodeFunctions.of(replace(FLAT, precision=FP32))))
    change = momentum(D2Q9, advance(engine, 50).populations())[0]
    assert abs(change) < 4.0 * 6e-10 * np.sqrt(50 * D2Q9.q * nodes.n_nodes)


def test_seeds_give_other_noise_and_the_same_seed_the_same():
    nodes = random_nodes(D2Q9)
    setups = [replace(FLAT, seed=seed, conditions=THROUGH_FLOW) for seed in (1, 1, 2, 1 + 2**32)]
    first, again, *others = (populations_after(nodes, setup) for setup in setups)
    assert np.array_equal(first, again)
    assert all(np.abs(first - other).max() > 1e-3 for other in others)


def test_a_run_begun_again_in_the_middle_has_the_noise_of_its_steps():
    nodes = random_nodes(D2Q9)
    setup = replace(FLAT, backend="cpu", conditions=THROUGH_FLOW)
    whole, first, second = (build_engine(nodes, setup) for _ in range(3))
    for engine in (whole, first):
        start_at_rest(engine)
    advance(whole, 9), advance(first, 4)
    second.set_populations(first.populations())
    second.set_step_number(4)
    assert np.array_equal(advance(second, 5).populations(), whole.populations())
    second.set_populations(first.populations())
    second.set_step_number(0)
    assert np.abs(advance(second, 5).populations() - whole.populations()).max() > 1e-3


def test_across_a_throat_of_one_voxel_momentum_stays_what_it_was():
    """It changes its sign in every step, and no collision changes it: a run from rest has none."""
    nodes = build_nodes(random_voxels((1, 1, 17), fluid=1.0, periodic=(False, False, True)))
    engine = advance(start_at_rest(build_engine(nodes, FLAT)), 50)
    _, along, across, _ = engine.moments()
    assert np.abs(across).max() < 1e-14 and np.abs(along).max() > 0.1 * np.sqrt(KT)


CASE = {
    "geometry": {"shape": "channel", "spacing_m": 1e-8, "options": {"length": 9, "height": 7}},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6, "temperature_k": 300.0},
    "fluctuating": {"seed": 3},
    "lattice": {"name": "D2Q9", "relaxation_time": 1.0},
    "compute": {"backend": "numpy", "precision": "fp64"},
    "run": {"steps": 40, "ramp_steps": 0},
    "output": {"checkpoint_every_steps": 20, "picture": False},
}


def case_with(**changes):
    """The case with keys of its tables replaced; what becomes None is left out."""
    tables = {name: {**CASE.get(name, {}), **(changes.get(name) or {})} for name in CASE}
    kept = {name: {key: value for key, value in table.items() if value is not None} for name, table in tables.items()}
    return case_from_dict({name: table for name, table in kept.items() if changes.get(name, {}) is not None})


CARREAU = {
    "zero_viscosity_m2_s": 2e-6,
    "infinite_viscosity_m2_s": 1e-6,
    "relaxation_time_s": 1.0,
    "index": 0.5,
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"compute": {"precision": "fp16"}}, "compute.precision is 'fp16' with .fluctuating.*allowed: 'fp32', 'fp64'"),
        ({"lattice": {"walls": "bouzidi"}}, "lattice.walls is 'bouzidi' with .fluctuating.*allowed: 'half-way'"),
        (
            {"lattice": {"collision": "recursive-regularised"}},
            "lattice.collision is 'recursive-regularised' with .fluctuating.*linear.*allowed: .*'trt'",
        ),
        ({"lattice": {"smagorinsky": 0.1}}, "lattice.smagorinsky is given with .fluctuating"),
        ({"fluid": {"carreau_yasuda": CARREAU}}, "fluid.carreau_yasuda is given with .fluctuating"),
        ({"fluid": {"temperature_k": None}}, "has .fluctuating. but no fluid.temperature_k; give the temperature"),
        ({"fluctuating": None}, "has fluid.temperature_k but no .fluctuating. that reads it"),
        ({"fluid": {"temperature_k": -1.0}}, "fluid.temperature_k is -1.0: must be greater than 0"),
        ({"fluctuating": {"seed": -1}}, "fluctuating.seed is -1: must be greater than or equal to 0"),
        ({"fluid": {"temperature_k": 3e7}}, "fluid.temperature_k is 3e.07: .*time step of at most .*or larger voxels"),
        (
            {
                "lattice": {
                    "name": "D3Q19",
                    "collision": "mrt",
                    "rates": {"bulk": 0.02, "energy_square": 1.98},
                },
                "geometry": {"options": {"length": 9, "height": 7, "width": 3}},
            },
            "no noise balances a collision with these rates .*rate_bulk 0.02.*or lattice.collision = 'trt'",
        ),
    ],
)
def test_what_would_have_another_temperature_is_refused(changes, message):
    with pytest.raises(InputError, match=message) as caught:
        Solver(case_with(**changes))
    assert len(str(caught.value).splitlines()) <= 2
