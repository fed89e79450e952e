"""Slotted walls: at half the way all are half-way walls, and linear flow meets them where they are."""

from dataclasses import fields, replace

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import FP64
from muphy_lb.boundaries.wall_motion import HALF_WAY, WallMotion, linkwise_coefficients, treat_walls
from muphy_lb.domain import STREAMINGS, WARP, build_local_domain
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels, wall_flag
from muphy_lb.lattice import D2Q9, D3Q19, LATTICES
from muphy_lb.operators import STOKES, TRT, WALL_RULES, WALLS, link_momentum
from tests.laws.walled import (
    INTERPOLATED,
    MOVING,
    STEADY,
    SameDistance,
    ScatteredDistances,
    after_walls,
    channel,
    random_walls,
    walled_nodes,
)
from tests.parity.plain_python import PlainPython
from tests.support import Ranks, Setup, advance, build_engine, in_node_order, random_owner, random_populations

pytestmark = pytest.mark.pairs

EVERY_STREAMING = pytest.mark.parametrize("streaming", STREAMINGS)
EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
TWO_LATTICES = pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
RULES = pytest.mark.parametrize("rule", WALL_RULES)
BETWEEN = pytest.mark.parametrize("rule", INTERPOLATED)
FORCE = (1e-5, 2e-5, 0.0)
# Round-off of the steps below on populations; compilers fuse operations differently.
ROUND_OFF, COMPILED = 1e-13, 1e-12
SPEED, HEIGHT = 0.05, 6


def populations_after(nodes, setup, n_steps=30):
    """(Q, n) populations in node-list order, from a random state."""
    engine = build_engine(nodes, setup)
    engine.set_populations(random_populations(setup.lattice, nodes.n_nodes)[:, engine.domain.number])
    return in_node_order(engine, advance(engine, n_steps).populations())


def halfway_and_folded(lattice, rule, backend):
    """Populations beside walls that a rule puts half-way, and beside walls of the address table."""
    nodes = walled_nodes(lattice, SameDistance(0.5))
    setup = Setup(lattice, backend, force=FORCE)
    return populations_after(nodes, replace(setup, wall_rule=rule)), populations_after(nodes, setup)


@EVERY_LATTICE
@BETWEEN
def test_every_rule_at_half_the_way_is_half_way_bounce_back(lattice, rule):
    found, expected = halfway_and_folded(lattice, rule, "numpy")
    assert np.abs(found - expected).max() < ROUND_OFF


@TWO_LATTICES
@BETWEEN
def test_every_compiled_rule_at_half_the_way_is_half_way_bounce_back_bit_by_bit(lattice, rule):
    assert np.array_equal(*halfway_and_folded(lattice, rule, "cpu"))


@EVERY_LATTICE
@EVERY_STREAMING
def test_a_wall_that_moves_at_speed_zero_is_a_wall_at_rest(lattice, streaming):
    """The scheduled value of the moving wall is zero."""
    nodes, setup = walled_nodes(lattice), Setup(lattice, streaming=streaming, force=FORCE)
    engine = build_engine(nodes, replace(setup, motions=MOVING))
    engine.set_populations(random_populations(lattice, nodes.n_nodes)[:, engine.domain.number])
    engine.set_present(np.array([0.0, 1.0, 1.0, 0.0, 0.0, 0.0]))
    found = in_node_order(engine, advance(engine, 30).populations())
    assert engine.domain.linkwise.n_links and np.abs(found - populations_after(nodes, setup)).max() < ROUND_OFF


@RULES
def test_a_rule_returns_what_it_meets_everywhere(rule):
    """So a uniform density stays uniform, and the rule holds for deviations from w_q."""
    setup = Setup(D3Q19, wall_rule=rule, motions=(WallMotion(), WallMotion()))
    nodes = walled_nodes(D3Q19, ScatteredDistances())
    uniform = np.broadcast_to(random_populations(D3Q19, 1)[D3Q19.opposite] + random_populations(D3Q19, 1), (19, 1))
    engine = build_engine(nodes, setup)
    engine.set_populations(uniform)
    engine.boundary_links.bind_walls(0)() if rule != HALF_WAY else None
    linkwise = engine.addresses.linkwise[0]
    buffer = engine.buffers[0]
    assert np.abs(buffer[linkwise.incoming] - buffer[linkwise.outgoing]).max(initial=0.0) < 1e-15
    assert np.abs(engine.populations() - uniform).max() < 1e-15


@pytest.mark.parametrize("keeps_mass", [True, False])
def test_the_node_function_of_walls_is_the_specified_one(keeps_mass):
    walls, (met, left) = random_walls(D3Q19, 20, keeps_mass), np.random.default_rng(5).normal(size=(2, 19, 20))
    found, bits = after_walls(walls, D3Q19, FP64, met, left)
    specified = met.copy()
    changed = WALLS.reference(specified, left, walls, D3Q19, lambda f: f)
    assert np.array_equal(bits >> np.arange(19)[:, None] & 1, changed) and np.array_equal(
        found[0] != met[0], changed[0]
    )
    assert np.array_equal(found[0] != met[0], changed[0]) and changed[0].all() == keeps_mass
    assert np.abs(found - specified).max() < ROUND_OFF


MIXED = [
    (lattice, rule, streaming)
    for lattice in (D2Q9, D3Q19)
    for rule in WALL_RULES
    for streaming in STREAMINGS
    if rule == HALF_WAY or streaming != "push"
]


@pytest.mark.parametrize(("lattice", "rule", "streaming"), MIXED, ids=lambda value: getattr(value, "name", value))
def test_specification_node_functions_and_compiled_code_agree_at_moving_walls(lattice, rule, streaming):
    nodes = walled_nodes(lattice, ScatteredDistances())
    setup = Setup(lattice, streaming=streaming, force=FORCE, wall_rule=rule, motions=MOVING)
    plain = PlainPython(**{field.name: getattr(setup, field.name) for field in fields(setup)})
    specified = populations_after(nodes, setup, 10)
    others = [populations_after(nodes, other, 10) for other in (replace(setup, backend="cpu"), plain)]
    assert max(np.abs(other - specified).max() for other in others) < COMPILED
    assert np.isfinite(specified).all()


def test_padding_of_the_last_warp_overwrites_nothing():
    """Padding has the address of the first node, whose population at rest is balanced here in the same warp."""
    nodes = walled_nodes(D2Q9, ScatteredDistances(), shape=(1, 5, 6))
    setup = Setup(D2Q9, force=FORCE, wall_rule="bouzidi", motions=MOVING)
    compiled, specified = (build_engine(nodes, replace(setup, backend=backend)) for backend in ("cpu", "numpy"))
    at_walls = np.unique(compiled.domain.linkwise.node)
    assert at_walls[0] == 0 and 1 < at_walls.size < WARP
    for engine in (compiled, specified):
        engine.set_populations(random_populations(D2Q9, nodes.n_nodes))
        engine.boundary_links.bind_walls(0)()
    assert np.abs(compiled.populations() - specified.populations()).max() < COMPILED


@pytest.mark.gpu
@pytest.mark.parametrize(("lattice", "rule", "streaming"), MIXED, ids=lambda value: getattr(value, "name", value))
def test_a_gpu_agrees_with_the_specification_at_moving_walls(lattice, rule, streaming):
    nodes = walled_nodes(lattice, ScatteredDistances())
    setup = Setup(lattice, streaming=streaming, force=FORCE, wall_rule=rule, motions=MOVING)
    found, expected = (populations_after(nodes, replace(setup, backend=name), 10) for name in ("cuda", "numpy"))
    assert np.abs(found - expected).max() < COMPILED


@pytest.mark.parametrize(("lattice", "rule", "streaming"), MIXED, ids=lambda value: getattr(value, "name", value))
def test_compiled_flow_at_moving_walls_does_not_depend_on_the_ranks_bit_by_bit(lattice, rule, streaming):
    nodes = walled_nodes(lattice, ScatteredDistances())
    setup = Setup(lattice, "cpu", streaming=streaming, force=FORCE, wall_rule=rule, motions=MOVING)
    found = []
    for owner in (np.zeros(nodes.n_nodes, int), random_owner(nodes, 3)):
        ranks = Ranks(nodes, setup, owner)
        ranks.set_populations(random_populations(lattice, nodes.n_nodes))
        ranks.step(30)
        found.append(ranks.populations())
    assert np.array_equal(*found) and np.isfinite(found[0]).all()


@EVERY_LATTICE
def test_all_streamings_agree_at_moving_half_way_walls(lattice):
    nodes, found = walled_nodes(lattice), []
    for streaming in STREAMINGS:
        engine = build_engine(nodes, Setup(lattice, streaming=streaming, force=FORCE, motions=MOVING))
        engine.start_from(np.ones(1), np.zeros((3, 1)))
        found.append(in_node_order(engine, advance(engine, 100).moments()))
    assert np.ptp(found, axis=0).max() < ROUND_OFF and np.abs(found[0][1:]).max() > 1e-3


def couette(lattice, setup, low=0.5, high=0.5):
    """Velocity along x over the exact one of every node, once the flow under a moving top wall is steady."""
    nodes = channel(lattice, HEIGHT, low, high)
    motions = (WallMotion(), WallMotion((SPEED, 0.0, 0.0)))
    engine = build_engine(nodes, replace(setup, lattice=lattice, motions=motions))
    engine.start_from(np.ones(1), np.zeros((3, 1)))
    velocity = in_node_order(engine, advance(engine, 700).moments())[1:]
    exact = SPEED * (nodes.coordinates()[:, 1] - 1 + low) / (HEIGHT - 1 + low + high)
    return velocity, np.stack((exact, 0 * exact, 0 * exact))


@STEADY
def test_couette_flow_between_half_way_walls_is_linear(lattice, streaming):
    setup = Setup(lattice, streaming=streaming, relaxation=TRT, rates=(1.0, 3 / 16))
    found, exact = couette(lattice, setup)
    assert np.abs(found - exact).max() < 1e-13


@EVERY_LATTICE
@BETWEEN
@pytest.mark.parametrize(("low", "high"), [(0.2, 0.9), (0.7, 0.4), (1.0, 0.05)])
def test_couette_flow_between_walls_anywhere_is_linear(lattice, rule, low, high):
    setup = Setup(lattice, wall_rule=rule, relaxation=TRT, rates=(1.0, 3 / 16), equilibrium=STOKES)
    found, exact = couette(lattice, setup, low, high)
    assert np.abs(found - exact).max() < 1e-12


def test_half_way_walls_do_not_know_where_the_wall_is():
    """The test above would mean little if any rule passed it."""
    found, exact = couette(D2Q9, Setup(D2Q9, relaxation=TRT, rates=(1.0, 3 / 16)), 0.2, 0.9)
    assert np.abs(found - exact).max() > 0.01 * SPEED


def under_a_lid(corner):
    """Nodes, domain, motions: 3 x 3 nodes under a moving lid with corners of a flag; on the left a labelled wall."""
    flags = np.full((1, 5, 5), SOLID, FLAG_DTYPE)
    flags[:, 1:-1, 1:-1] = FLUID
    flags[:, :, 0] = wall_flag(1)
    flags[:, -1, 1:-1] = wall_flag(0)
    flags[:, -1, [0, -1]] = corner
    nodes = build_nodes(Voxels(flags, walls=("lid", "left")))
    motions = (WallMotion((SPEED, 0.0, 0.0)), WallMotion())
    return nodes, build_local_domain(nodes, np.zeros(9, int), 0, D2Q9, treat_walls(HALF_WAY, motions)), motions


@pytest.mark.parametrize("corner", [SOLID, wall_flag(0)], ids=["corner at rest", "corner of the lid"])
def test_a_diagonal_link_past_a_wall_at_rest_carries_no_velocity(corner):
    nodes, domain, motions = under_a_lid(corner)
    coefficients, _ = linkwise_coefficients(nodes, domain, HALF_WAY, motions)
    links, c = domain.linkwise, D2Q9.c
    x = nodes.coordinates(domain.number[links.node])[:, 0]
    outwards = ((x == 1) & (c[links.q, 0] == -1)) | ((x == 3) & (c[links.q, 0] == 1))
    expected = link_momentum(D2Q9, links.q, np.full((links.n_links, 3), (SPEED, 0.0, 0.0)))
    expected[outwards] = 0.0
    assert np.array_equal(coefficients[2], expected) and np.count_nonzero(expected) == 4


def test_a_turning_wall_carries_its_local_velocity():
    nodes, domain, _ = under_a_lid(SOLID)
    motion = WallMotion((0.01, 0.0, 0.0), (0.0, 0.0, 0.1), (2.0, 4.0, 0.0))
    coefficients, _ = linkwise_coefficients(nodes, domain, HALF_WAY, (motion, WallMotion()))
    straight = np.abs(D2Q9.c[domain.linkwise.q]).sum(axis=1) == 1
    x = nodes.coordinates(domain.number[domain.linkwise.node])[straight, 0]
    upwards = 0.1 * (x - 2.0)
    assert coefficients[2][straight] == pytest.approx(-2 * 3 / 9 * upwards, abs=1e-16)


@BETWEEN
def test_links_between_two_walls_fall_back_to_half_way_and_are_counted(rule):
    """A slit one node wide: nothing lies behind any of its 6 links a node; in one two nodes wide, all have a node."""
    counts = []
    for height in (1, 2):
        nodes = channel(D2Q9, height, 0.2, 0.2)
        motions = (WallMotion(),) * 2
        domain = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, D2Q9, treat_walls(rule, motions))
        coefficients, n_fallback = linkwise_coefficients(nodes, domain, rule, motions)
        is_half_way = (coefficients == 0.0).all(axis=0)
        assert is_half_way.sum() == n_fallback
        counts.append((n_fallback, domain.linkwise.n_links))
    assert counts == [(24, 24), (0, 24)]


@BETWEEN
def test_interpolation_without_distances_is_refused(rule):
    with pytest.raises(InputError, match=f"lattice.walls is '{rule}', which needs the distance to the wall .*half-way"):
        build_engine(walled_nodes(D2Q9), Setup(D2Q9, wall_rule=rule))


@BETWEEN
def test_links_that_meet_no_wall_are_taken_half_way(rule):
    """The shape does not know of the wall: its distances are missing, and the run is that of half-way walls."""

    class Nowhere:
        def distances(self, start, vector):
            return np.full(len(start), np.nan)

    nodes = cut_links(walled_nodes(D2Q9), Nowhere())
    found = populations_after(nodes, Setup(D2Q9, wall_rule=rule, force=FORCE))
    assert nodes.cuts.n_missed == nodes.cuts.n_links > 0
    assert np.abs(found - populations_after(nodes, Setup(D2Q9, force=FORCE))).max() < ROUND_OFF
