"""Interpolated walls keep the mass: of every node and its neighbours along the wall, hence of every box."""

import numpy as np
import pytest

from muphy_lb.base.precision import FP32, FP64
from muphy_lb.boundaries.wall_balance import LARGEST_SHARE, wall_balance
from muphy_lb.boundaries.wall_motion import HALF_WAY, WallMotion, treat_walls
from muphy_lb.domain import build_local_domain
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.benchmark_shapes import annulus
from muphy_lb.lattice import D2Q9, D3Q15, D3Q19, LATTICES
from muphy_lb.parallel import SerialCommunicator
from tests.laws.walled import INTERPOLATED, MOVING, SameDistance, ScatteredDistances, walled_nodes
from tests.support import Setup, advance, build_engine, random_populations

EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
BETWEEN = pytest.mark.parametrize("rule", INTERPOLATED)
FORCE = (1e-5, 2e-5, 0.0)
VELOCITY = {2: (0.03, -0.02, 0.0), 3: (0.03, -0.02, 0.01)}
# Round-off of sums over a few hundred nodes, and of what 50 steps add up to.
ROUND_OFF, OF_STEPS = 1e-14, {FP64: 1e-11, FP32: 1e-6}


def balance_of(nodes, lattice, rule, motions=MOVING):
    """(domain, balance) of one rank."""
    domain = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, lattice, treat_walls(rule, motions))
    return domain, wall_balance(domain, rule, motions, SerialCommunicator())


def random_engine(setup, keeps_mass=True):
    """An engine between walls of random voxels, with distances all over the links, in a random state."""
    nodes = walled_nodes(setup.lattice, ScatteredDistances())
    engine = build_engine(nodes, setup, keeps_mass=keeps_mass)
    engine.set_populations(random_populations(setup.lattice, nodes.n_nodes)[:, engine.domain.number])
    return engine


@BETWEEN
@EVERY_LATTICE
def test_a_box_gains_what_its_walls_push_in_and_nothing_else(lattice, rule):
    engine = random_engine(Setup(lattice, force=FORCE, wall_rule=rule, motions=MOVING))
    pushed_in = wall_balance(engine.domain, rule, MOVING, SerialCommunicator()).inflow.sum()
    for _ in range(3):
        before = engine.populations().sum()
        gained = advance(engine, 1).populations().sum() - before
        assert abs(gained - pushed_in) < ROUND_OFF * engine.domain.n_nodes
    assert abs(pushed_in) > 1e-3


@pytest.mark.parametrize("precision", [FP64, FP32], ids=lambda precision: precision.name)
@BETWEEN
def test_a_closed_box_keeps_its_mass(rule, precision):
    engine = random_engine(Setup(D3Q19, precision=precision, force=FORCE, wall_rule=rule))
    before = engine.populations().sum(dtype=np.float64)
    assert abs(advance(engine, 50).populations().sum(dtype=np.float64) - before) < OF_STEPS[precision]


@BETWEEN
def test_links_by_themselves_would_not(rule):
    """The laws above would mean little if the rules conserved mass."""
    engine = random_engine(Setup(D3Q19, wall_rule=rule), keeps_mass=False)
    before = engine.populations().sum()
    assert abs(advance(engine, 1).populations().sum() - before) > 1e-3


@BETWEEN
@EVERY_LATTICE
def test_what_a_node_gains_from_a_neighbour_along_the_wall_the_neighbour_loses(lattice, rule):
    nodes = walled_nodes(lattice, ScatteredDistances())
    domain, balance = balance_of(nodes, lattice, rule)
    far = domain.neighbours(lattice.c, balance.node)[balance.q, np.arange(balance.q.size)]
    number = {pair: k for k, pair in enumerate(zip(balance.node.tolist(), balance.q.tolist(), strict=True))}
    other = [number[pair] for pair in zip(far.tolist(), lattice.opposite[balance.q].tolist(), strict=True)]
    assert np.array_equal(balance.share[other], balance.share)
    assert np.array_equal(balance.wall[other], balance.wall)
    assert np.abs(balance.inflow_along[other] + balance.inflow_along).max(initial=0.0) < 1e-17
    assert (np.abs(balance.share) <= LARGEST_SHARE).all() and (lattice is D3Q15 or np.ptp(balance.share) > 0.1)


@BETWEEN
@EVERY_LATTICE
def test_a_node_returns_what_it_receives_but_for_what_passes_along_the_wall(lattice, rule):
    """Slots, populations at rest and exchanges of one launch, node by node."""
    engine = random_engine(Setup(lattice, wall_rule=rule, motions=MOVING))
    buffer, links, addresses = engine.buffers[0], engine.domain.linkwise, engine.addresses
    balance, before = wall_balance(engine.domain, rule, MOVING, SerialCommunicator()), engine.buffers[0].copy()
    engine.boundary_links.bind_walls(0)()
    n, moves = engine.domain.n_nodes, [1.0, 0.0]
    returned = buffer[addresses.linkwise[0].incoming] - before[addresses.linkwise[0].outgoing]
    gained = np.bincount(links.node, returned - balance.inflow * np.take(moves, links.boundary), n)
    rest = engine.populations()[0] - random_populations(lattice, n)[0, engine.domain.number]
    arriving = before[addresses.at(lattice.opposite[balance.q], balance.node)]
    passed = balance.share * (arriving - random_populations(lattice, n)[balance.q, engine.domain.number[balance.node]])
    along = np.bincount(balance.node, passed + balance.inflow_along * np.take(moves, balance.wall), n)
    assert np.abs(gained + rest - along).max() < ROUND_OFF
    assert abs(along.sum()) < ROUND_OFF * n and np.abs(gained).max() > 1e-3


@BETWEEN
@EVERY_LATTICE
def test_a_fluid_that_moves_with_its_walls_does_not_notice_them(lattice, rule):
    velocity = VELOCITY[lattice.dimension]
    nodes = walled_nodes(lattice, ScatteredDistances())
    engine = build_engine(nodes, Setup(lattice, wall_rule=rule, motions=(WallMotion(velocity),) * 2))
    engine.start_from(np.ones(1), np.array(velocity)[:, None])
    density, *found = advance(engine, 20).moments()
    assert np.abs(density).max() < 1e-13 and np.abs(np.array(found) - np.array(velocity)[:, None]).max() < 1e-13


@BETWEEN
def test_a_turning_cylinder_pushes_nothing_in(rule):
    voxels = annulus(5.3, 9.7)
    nodes = cut_links(build_nodes(voxels), voxels.wall_shape)
    turning = WallMotion((0.01, 0.02, 0.0), (0.0, 0.0, 0.01), (3.0, 2.0, 0.0))
    _, balance = balance_of(nodes, D2Q9, rule, (turning, WallMotion()))
    assert abs(balance.inflow.sum()) < 1e-15 < 1e-3 < np.abs(balance.inflow).max()


@BETWEEN
def test_nothing_passes_along_walls_of_voxels(rule):
    _, balance = balance_of(walled_nodes(D3Q19, SameDistance(0.5)), D3Q19, rule)
    assert balance.share.size and not balance.share.any() and not balance.inflow_along.any()


def test_half_way_walls_need_no_balance():
    assert balance_of(walled_nodes(D3Q19), D3Q19, HALF_WAY)[1] is None
