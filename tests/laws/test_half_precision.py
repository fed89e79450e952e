"""Half precision: what it stores of a flow is exact or rounded once, and the rest of the laws hold bit by bit.

CPUs do not offer it; here the specification and the node functions in plain Python round what they store.
"""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.backends import make_backend
from muphy_lb.base.errors import BackendError
from muphy_lb.base.precision import FP16, FP64
from muphy_lb.boundaries.opening_geometry import Condition
from muphy_lb.case.case import case_from_dict
from muphy_lb.domain import STREAMINGS
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import Voxels
from muphy_lb.lattice import D2Q9, D3Q19, LATTICES
from muphy_lb.measure.permeability import measured_permeability
from muphy_lb.measure.rounding import LARGEST, hidden_by_rounding, lost_to_rounding, rounding_warnings
from muphy_lb.operators import PRESSURE, VELOCITY
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver
from muphy_lb.run.verdict import judge
from tests.laws.walled import MOVING, walled_nodes
from tests.parity.plain_python import PlainPython
from tests.support import (
    THROUGH_FLOW,
    Ranks,
    Setup,
    advance,
    build_engine,
    in_node_order,
    random_nodes,
    random_owner,
    random_populations,
    start_at_rest,
)

pytestmark = pytest.mark.pairs

EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
TWO_LATTICES = pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
EVERY_STREAMING = pytest.mark.parametrize("streaming", STREAMINGS)
BACKENDS = pytest.mark.parametrize("backend", ["numpy", pytest.param("cuda", marks=pytest.mark.gpu)])
# Half an ulp of a number with 11 significant bits.
UNIT_ROUND_OFF = 2.0**-11
STEPS = 20
CLOSED = (Condition(VELOCITY, 0.0), Condition(PRESSURE, 0.0))


def states(setup, nodes):
    """(STEPS + 1, Q, n) populations in node-list order before and after every step, and the engine."""
    engine = build_engine(nodes, setup)
    start = random_populations(setup.lattice, nodes.n_nodes).astype(np.float16)
    engine.set_populations(start.astype(float)[:, engine.domain.number])
    found = [in_node_order(engine, engine.populations())]
    for _ in range(STEPS):
        found.append(in_node_order(engine, advance(engine, 1).populations()))
    return np.array(found), engine


@EVERY_LATTICE
@EVERY_STREAMING
@BACKENDS
def test_moments_are_off_by_no_more_than_one_rounding_of_the_deviations_a_step(lattice, streaming, backend):
    """Neither collision (omega between 0 and 2) nor streaming makes errors grow, so that the roundings of the steps add
    up at most; a moment's error is then that of the sum of the absolute values of a node's deviations."""
    nodes = random_nodes(lattice)
    setup = Setup(lattice, backend, streaming=streaming, force=(1e-5, 2e-5, 0.0), conditions=THROUGH_FLOW)
    exact, reference = states(setup, nodes)
    _, rounded = states(replace(setup, precision=FP16), nodes)
    difference = np.abs(rounded.moments() - reference.moments()).max()
    bound = UNIT_ROUND_OFF * np.abs(exact).sum(axis=1).max(axis=1).sum()
    assert 1e-7 < difference < bound < 0.01


@EVERY_LATTICE
@EVERY_STREAMING
@BACKENDS
def test_a_fluid_at_rest_stays_at_rest_exactly(lattice, streaming, backend):
    """The specification adds and subtracts w_q; the node functions do not."""
    setup = Setup(lattice, backend, FP16, streaming, conditions=CLOSED)
    setup = PlainPython.of(setup) if backend == "numpy" else setup
    engine = advance(start_at_rest(build_engine(random_nodes(lattice), setup)), 4)
    assert not engine.populations().any() and not engine.moments().any()


@EVERY_LATTICE
@EVERY_STREAMING
@BACKENDS
@pytest.mark.parametrize("middle", [7, 8])
def test_a_run_begun_again_in_the_middle_ends_with_the_same_bits(lattice, streaming, backend, middle):
    """The populations that are read are those that are stored."""
    nodes = random_nodes(lattice)
    setup = Setup(lattice, backend, FP16, streaming, force=(1e-5, 2e-5, 0.0), conditions=THROUGH_FLOW)
    found, engine = states(setup, nodes)
    engine.set_populations(found[middle][:, engine.domain.number])
    assert np.array_equal(in_node_order(engine, engine.populations()), found[middle])
    assert np.array_equal(in_node_order(engine, advance(engine, STEPS - middle).populations()), found[-1])


@EVERY_LATTICE
def test_what_is_stored_is_in_half_precision(lattice):
    """Populations times the unit are numbers that half precision holds."""
    found, _ = states(Setup(lattice, precision=FP16, conditions=THROUGH_FLOW), random_nodes(lattice))
    stored = found.astype(np.float64) * FP16.unit
    assert np.array_equal(stored.astype(np.float16), stored) and np.abs(stored).max() > 1.0


@EVERY_LATTICE
@BACKENDS
def test_in_place_leaves_the_bits_of_pull(lattice, backend):
    nodes = random_nodes(lattice)
    setup = Setup(lattice, backend, FP16, force=(1e-5, 2e-5, 0.0), conditions=THROUGH_FLOW)
    assert np.array_equal(*(states(replace(setup, streaming=streaming), nodes)[0] for streaming in ("pull", "aa")))


@TWO_LATTICES
@EVERY_STREAMING
@pytest.mark.parametrize("geometry", ["openings", "moving walls"])
def test_populations_do_not_depend_on_the_ranks_bit_by_bit(lattice, streaming, geometry):
    walled = geometry == "moving walls"
    nodes = walled_nodes(lattice) if walled else random_nodes(lattice)
    what = {"motions": MOVING} if walled else {"conditions": THROUGH_FLOW}
    setup = PlainPython.of(Setup(lattice, precision=FP16, streaming=streaming, force=(1e-5, 2e-5, 0.0), **what))
    found = []
    for owner in (np.zeros(nodes.n_nodes, int), random_owner(nodes, 3)):
        ranks = Ranks(nodes, setup, owner)
        ranks.set_populations(random_populations(lattice, nodes.n_nodes))
        ranks.step(5)
        found.append(ranks.populations())
    assert np.array_equal(*found) and np.abs(found[0]).max() > 1e-3


def test_a_cpu_refuses_half_precision():
    with pytest.raises(BackendError, match="precision 'fp16' needs a GPU, .*use fp32 or fp64, or backend = 'cuda'"):
        make_backend("cpu", D3Q19, FP16)


def test_the_specification_in_double_precision_rounds_nothing_of_this():
    """The bounds above would mean little if double precision met them no better than half."""
    found, _ = states(Setup(D2Q9, precision=FP64, conditions=THROUGH_FLOW), random_nodes(D2Q9))
    stored = found[-1] * FP16.unit
    assert np.mean(stored.astype(np.float16) == stored) < 0.2


@pytest.mark.parametrize(("viscosity", "steps"), [(0.02, 3000), (0.1, 700)])
def test_what_is_rounded_away_of_a_flow_is_told(viscosity, steps):
    """A force of 1 / 400 and 1 / 80 of the momentum: 4.5 and 0.9 % were missing, and the run was sound."""
    speed = {}
    for precision in ("fp64", "fp16"):
        table = {
            "geometry": {"shape": "channel", "spacing_m": 1.0, "options": {"length": 3, "height": 8, "width": 1}},
            "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": viscosity},
            "flow": {"acceleration_m_s2": [0.037 / 8.0 * viscosity, 0.0, 0.0]},
            "lattice": {"name": "D2Q9", "time_step_s": 1.0, "collision": "trt"},
            "compute": {"backend": "numpy", "precision": precision},
            "run": {"steps": steps, "ramp_steps": 0},
        }
        flow = Solver(case_from_dict(table))
        flow.step(steps)
        speed[precision], told = flow.mean_velocity_m_s()[0], lost_to_rounding(flow)
        objected = [text for text in judge(flow, (), "").objections if "half precision" in text]
        warned = [text for text in measured_permeability(flow).warnings if "half precision" in text]
        assert objected == warned and bool(warned) == (told > LARGEST and precision == "fp16")
    assert told == pytest.approx(1.0 - speed["fp16"] / speed["fp64"], rel=0.5)


def test_a_velocity_that_the_rounding_of_the_pressure_hides_is_told():
    """A slit of a voxel between chambers, 200 voxels long: the velocity was off by 29 %."""
    chambers = np.ones((1, 9, 200), dtype=np.uint8)
    chambers[:, [0, -1]] = 0
    chambers[:, :, 20:180] = 0
    chambers[:, 4, 20:180] = 1
    flows = {}
    for precision in ("fp32", "fp16"):
        table = {
            "geometry": {"shape": "channel", "spacing_m": 1.0},
            "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.5},
            "flow": {"acceleration_m_s2": [1e-6, 0.0, 0.0]},
            "lattice": {"name": "D2Q9", "time_step_s": 1.0, "collision": "trt"},
            "compute": {"backend": "numpy", "precision": precision},
            "run": {"steps": 4000, "ramp_steps": 0},
        }
        nodes = build_nodes(Voxels(chambers, periodic=(True, False, True)))
        flows[precision] = Solver(case_from_dict(table), SerialCommunicator(), nodes)
        flows[precision].step(4000)
    exact, rounded = (flow.velocity_m_s() for flow in flows.values())
    off = np.sqrt(((rounded - exact) ** 2).sum(axis=1).mean()) / np.linalg.norm(exact, axis=1).mean()
    told = hidden_by_rounding(flows["fp16"])
    assert off > told > LARGEST
    assert not rounding_warnings(flows["fp32"])
    assert any("more pressure than velocity" in text for text in rounding_warnings(flows["fp16"]))
