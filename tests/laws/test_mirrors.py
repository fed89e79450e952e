"""Free slip: a wall that reflects like a mirror loses nothing and drags at nothing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.wall_motion import WallMotion
from muphy_lb.case.case import case_from_dict
from muphy_lb.domain import IN_TABLE, SPECULAR, STREAMINGS, WallTreatment, build_addresses, build_local_domain
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels, wall_flag
from muphy_lb.lattice import D2Q9, D3Q15, D3Q19, D3Q27
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver
from tests.laws.walled import channel, walled_nodes
from tests.support import Ranks, Setup, advance, build_engine, in_node_order, random_owner, random_populations
from tests.tables import are_permutations, whole_map

pytestmark = pytest.mark.pairs

EVERY_STREAMING = pytest.mark.parametrize("streaming", STREAMINGS)
LATTICES = pytest.mark.parametrize("lattice", [D2Q9, D3Q19, D3Q27], ids=lambda lattice: lattice.name)
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
PERIODIC = st.tuples(st.booleans(), st.booleans(), st.booleans())
KINDS = st.sampled_from([SOLID, FLUID, FLUID, wall_flag(0), wall_flag(1)])
SLIP, STICK = WallMotion(slips=True), WallMotion()
HEIGHT = 5
# Round-off of up to 100 steps on populations, and per node on their sums: the specification adds and subtracts w_q.
ROUND_OFF, PER_NODE = 1e-13, 2e-14


def some_flags(shapes):
    """Strategy: voxel flags of such a shape, among them walls that slip and walls that do not."""
    flags = shapes.flatmap(lambda shape: arrays(FLAG_DTYPE, shape, elements=KINDS))
    return flags.filter(lambda array: (array == FLUID).any())


SPACE = some_flags(st.tuples(*[st.integers(1, 5)] * 3))
PLANE = some_flags(st.tuples(st.just(1), st.integers(1, 7), st.integers(1, 7)))
DOMAINS = st.tuples(PLANE, st.just(D2Q9)) | st.tuples(SPACE, st.sampled_from([D3Q19, D3Q27]))


def tables(flags, periodic, lattice):
    """Addresses of each streaming in a box in which the first of two labelled walls slips."""
    nodes = build_nodes(Voxels(flags, periodic=periodic, walls=("slip", "stick")))
    domain = build_local_domain(
        nodes, np.zeros(nodes.n_nodes, int), 0, lattice, WallTreatment((SPECULAR, IN_TABLE), IN_TABLE)
    )
    return {name: build_addresses(domain, streaming) for name, streaming in STREAMINGS.items()}


def slip_channel(lattice, backend="numpy", streaming="pull"):
    """Engine of a channel between two walls that slip, in a random state."""
    nodes = channel(lattice, HEIGHT)
    engine = build_engine(nodes, Setup(lattice, backend, streaming=streaming, motions=(SLIP, SLIP)))
    engine.set_populations(random_populations(lattice, nodes.n_nodes))
    return engine


def across(lattice):
    """(Q,) the direction that a mirror across y makes of each."""
    return np.array([lattice.vectors.index((x, -y, z)) for x, y, z in lattice.vectors])


@settings(max_examples=100, deadline=None)
@given(DOMAINS, PERIODIC)
def test_the_table_of_a_closed_domain_with_slip_walls_is_a_permutation_and_pull_undoes_push(domain, periodic):
    flags, lattice = domain
    found = tables(flags, periodic, lattice)
    assert all(map(are_permutations, found.values()))
    pull, push = whole_map(found["pull"]), whole_map(found["push"])
    assert np.array_equal(pull[push], np.arange(pull.size))


@LATTICES
@EVERY_STREAMING
@BACKENDS
def test_the_flow_along_a_slip_wall_is_half_of_the_flow_in_a_mirrored_box(lattice, streaming, backend):
    """A box twice as high, periodic, in a state that is its own mirror image."""
    engine = slip_channel(lattice, backend, streaming)
    shape = (lattice.q, 3 if lattice.dimension == 3 else 1, HEIGHT, 4)
    half = in_node_order(engine, engine.populations()).reshape(shape)
    whole = np.concatenate((half, half[across(lattice)][:, :, ::-1]), axis=2)
    nodes = build_nodes(Voxels(np.full(whole.shape[1:], FLUID, FLAG_DTYPE), periodic=(True,) * 3))
    twice = build_engine(nodes, Setup(lattice, backend, streaming=streaming))
    twice.set_populations(whole.reshape(lattice.q, -1))
    expected = in_node_order(twice, advance(twice, 50).populations()).reshape(whole.shape)[:, :, :HEIGHT]
    found = in_node_order(engine, advance(engine, 50).populations()).reshape(shape)
    assert np.abs(found - expected).max() < ROUND_OFF and np.abs(expected).max() > 1e-4


@LATTICES
@EVERY_STREAMING
def test_a_flat_slip_wall_feels_no_tangential_force(lattice, streaming):
    engine = advance(slip_channel(lattice, streaming=streaming), 5)
    links = engine.domain.in_table
    force = [
        engine.wall_exchange()[links.boundary == wall] @ lattice.c[links.q[links.boundary == wall]] for wall in (0, 1)
    ]
    assert np.abs(force)[:, [0, 2]].max() < ROUND_OFF and np.abs(force)[:, 1].min() > 1e-3


@LATTICES
@EVERY_STREAMING
def test_compiled_flow_along_slip_walls_does_not_depend_on_the_ranks_bit_by_bit(lattice, streaming):
    nodes = walled_nodes(lattice, fluid=0.7)
    setup = Setup(lattice, "cpu", streaming=streaming, force=(1e-5, 2e-5, 0.0), motions=(SLIP, STICK))
    found = []
    for owner in (np.zeros(nodes.n_nodes, int), random_owner(nodes, 3)):
        ranks = Ranks(nodes, setup, owner)
        ranks.set_populations(random_populations(lattice, nodes.n_nodes))
        ranks.step(30)
        found.append(ranks.populations())
    assert np.array_equal(*found) and np.isfinite(found[0]).all()


@LATTICES
def test_all_streamings_agree_along_slip_walls(lattice):
    nodes, found = walled_nodes(lattice, fluid=0.7), []
    for streaming in STREAMINGS:
        setup = Setup(lattice, streaming=streaming, force=(1e-4, 2e-4, 0.0), motions=(SLIP, STICK))
        engine = build_engine(nodes, setup)
        engine.start_from(np.full(1, 1.01), np.array([[0.02], [0.01], [0.0]]))
        found.append(in_node_order(engine, advance(engine, 100).moments()))
    assert np.ptp(found, axis=0).max() < ROUND_OFF and np.abs(found[0][1:]).max() > 1e-4


@pytest.mark.parametrize("lattice", [D2Q9, D3Q19, D3Q27], ids=lambda lattice: lattice.name)
def test_slip_makes_a_difference(lattice):
    """The tests above would mean little if walls that slip were walls that do not."""
    nodes, flows = channel(lattice, HEIGHT), []
    for motion in (SLIP, STICK):
        engine = build_engine(nodes, Setup(lattice, force=(1e-5, 0.0, 0.0), motions=(motion, motion)))
        engine.start_from(np.ones(1), np.zeros((3, 1)))
        flows.append(advance(engine, 200).moments()[1].mean())
    assert flows[0] == pytest.approx(200 * 1e-5, rel=0.01) and flows[1] < 0.5 * flows[0]


@EVERY_STREAMING
def test_a_slip_wall_is_refused_where_the_lattice_lacks_tangential_links(streaming):
    with pytest.raises(InputError, match="D3Q15 cannot do: it has no face diagonals; use D3Q19 or D3Q27"):
        build_engine(channel(D3Q15, HEIGHT), replace(Setup(D3Q15, motions=(SLIP, STICK)), streaming=streaming))


@EVERY_STREAMING
@LATTICES
def test_a_plug_flow_between_slipping_plates_passes_openings_unchanged(lattice, streaming):
    plates = [{"name": name, "box_m": [[-1, y, -9], [30, y, 9]], "slip": True} for name, y in (("low", 0), ("high", 9))]
    simulation = Solver(
        case_from_dict(
            {
                "geometry": {
                    "shape": "channel",
                    "spacing_m": 1.0,
                    "options": {"length": 12, "height": 8, "ends": "open"},
                },
                "openings": [{"name": "inlet", "velocity_m_s": 0.02}, {"name": "outlet", "velocity_m_s": -0.02}],
                "walls": plates,
                "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.1},
                "lattice": {"name": lattice.name, "time_step_s": 1.0},
                "compute": {"backend": "numpy", "precision": "fp64", "streaming": streaming},
                "run": {"steps": 1, "ramp_steps": 0},
            }
        ),
        SerialCommunicator(),
    )
    n_nodes = simulation.nodes.n_nodes
    simulation.engine.start_from(np.ones(n_nodes), np.repeat([[0.02], [0.0], [0.0]], n_nodes, axis=1))
    simulation.step(50)
    assert np.abs(simulation.velocity_m_s() - (0.02, 0.0, 0.0)).max() < 1e-14
