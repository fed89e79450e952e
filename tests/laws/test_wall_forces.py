"""What the walls gain the fluid loses: momentum exchange closes the balance of every step, in any state."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.boundaries.wall_motion import HALF_WAY, WallMotion
from muphy_lb.domain import STREAMINGS
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, Voxels, wall_flag
from muphy_lb.lattice import D2Q9, D3Q15, D3Q19, LATTICES
from muphy_lb.operators import TRT, WALL_RULES
from tests.laws.walled import INTERPOLATED, MOVING, STEADY, ScatteredDistances, channel, walled_nodes
from tests.support import Ranks, Setup, advance, box_shape, build_engine, momentum, random_owner, random_populations

pytestmark = pytest.mark.pairs

EVERY_STREAMING = pytest.mark.parametrize("streaming", STREAMINGS)
EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
QUICK = (D2Q9, D3Q19)  # on CPUs; compiling for the others takes far longer than their flows
FORCE = {2: (1e-4, 2e-4, 0.0), 3: (1e-4, 2e-4, -1e-4)}
SLIPPING = (WallMotion(slips=True), WallMotion())


def marks(lattice, backend) -> list:
    """Of the tests of a lattice on a backend."""
    if backend == "cpu" and lattice not in QUICK:
        return [pytest.mark.night]
    return [pytest.mark.gpu] if backend == "cuda" else []


BACKENDS = [
    pytest.param(lattice, backend, id=f"{backend}-{name}", marks=marks(lattice, backend))
    for name, lattice in LATTICES.items()
    for backend in ("numpy", "cpu", "cuda")
]
# D3Q15 cannot slip.
HALF_WAY_CASES = [
    pytest.param(*place.values, motions, id=f"{place.id}-{what}", marks=place.marks)
    for place in BACKENDS
    for what, motions in (("at rest", ()), ("slip", SLIPPING), ("moving", MOVING))
    if not (place.values[0] is D3Q15 and motions is SLIPPING)
]
STEPS = 5
SETTLED = 700  # steps in which shear spreads across six voxels but for 1e-14
# Round-off of sums over the links of a few hundred nodes.
ROUND_OFF = 1e-13


def force_on(engine, wall=None):
    """(3,) force on all walls together, or on one of them."""
    links = engine.domain.linkwise.join(engine.domain.in_table)
    chosen = slice(None) if wall is None else links.boundary == wall
    return engine.wall_exchange()[chosen] @ engine.domain.lattice.c[links.q[chosen]]


def imbalance(setup, nodes):
    """Largest violation, over some steps, of: force on the walls = force on the fluid - gain of momentum."""
    engine = build_engine(nodes, setup)
    engine.set_populations(random_populations(setup.lattice, nodes.n_nodes))
    worst = 0.0
    for _ in range(STEPS):
        before, force = momentum(engine), force_on(engine)
        advance(engine, 1)
        assert np.abs(force).max() > 1e-3
        gained = momentum(engine) - before
        worst = max(worst, np.abs(force - (nodes.n_nodes * np.array(setup.force) - gained)).max())
    return worst


@pytest.mark.parametrize(("lattice", "backend", "motions"), HALF_WAY_CASES)
@EVERY_STREAMING
def test_the_force_on_half_way_walls_balances_the_momentum(lattice, streaming, backend, motions):
    setup = Setup(lattice, backend, streaming=streaming, force=FORCE[lattice.dimension], motions=motions)
    assert imbalance(setup, walled_nodes(lattice)) < ROUND_OFF


@pytest.mark.parametrize(("lattice", "backend"), BACKENDS)
@pytest.mark.parametrize("rule", INTERPOLATED)
@pytest.mark.parametrize("motions", [(), MOVING], ids=["at rest", "moving"])
def test_the_force_on_interpolated_walls_balances_the_momentum(lattice, backend, rule, motions):
    setup = Setup(lattice, backend, force=FORCE[lattice.dimension], wall_rule=rule, motions=motions)
    assert imbalance(setup, walled_nodes(lattice, ScatteredDistances())) < ROUND_OFF


@pytest.mark.parametrize("streaming", ["pull", "aa"])
@pytest.mark.parametrize("rule", INTERPOLATED)
def test_the_force_on_walls_without_a_name_balances_the_momentum(rule, streaming):
    """Interpolated walls all have slots, those without a label too."""
    nodes = walled_nodes(D2Q9, ScatteredDistances())
    plain = replace(nodes, walls=(), label_voxel=nodes.label_voxel[:0], label_number=nodes.label_number[:0])
    assert imbalance(Setup(D2Q9, wall_rule=rule, streaming=streaming), plain) < ROUND_OFF


def closed_nodes(lattice):
    """Nodes of a random box inside a shell of labelled wall, with distances to it; nothing repeats."""
    inner = np.where(np.random.default_rng(3).random(box_shape(lattice)) < 0.8, FLUID, wall_flag(1))
    thickness = [(1, 1) if extent > 1 else (0, 0) for extent in inner.shape]
    flags = np.pad(inner, thickness, constant_values=wall_flag(0)).astype(FLAG_DTYPE)
    return cut_links(build_nodes(Voxels(flags, walls=("one", "other"))), ScatteredDistances())


@EVERY_LATTICE
@pytest.mark.parametrize("rule", WALL_RULES)
def test_the_torque_on_the_walls_balances_the_angular_momentum(lattice, rule):
    """A link pulls along itself: where on it the wall lies does not change its torque."""
    nodes = closed_nodes(lattice)
    engine = build_engine(nodes, Setup(lattice, wall_rule=rule, motions=MOVING))
    engine.set_populations(random_populations(lattice, nodes.n_nodes))
    place = nodes.coordinates(engine.domain.number)
    links = engine.domain.linkwise.join(engine.domain.in_table)
    spins = []
    for _ in range(2):
        spins.append(np.cross(place, engine.populations().T @ lattice.c).sum(axis=0))
        force = engine.wall_exchange()[:, None] * lattice.c[links.q]
        torque = np.cross(place[links.node] + 0.3 * lattice.c[links.q], force).sum(axis=0)
        engine.step()
    spins.append(np.cross(place, engine.populations().T @ lattice.c).sum(axis=0))
    assert np.abs(torque + spins[2] - spins[1]).max() < 10 * ROUND_OFF and np.abs(torque).max() > 1e-3


@EVERY_LATTICE
@pytest.mark.parametrize("ahead", ["pull", "aa"])
@pytest.mark.parametrize("motions", [(), MOVING], ids=["at rest", "moving"])
def test_every_streaming_tells_the_force_of_the_step_ahead(lattice, motions, ahead):
    nodes, forces = walled_nodes(lattice), []
    for streaming, n_steps in ((ahead, 20), ("push", 20)):
        setup = Setup(lattice, streaming=streaming, force=FORCE[lattice.dimension], motions=motions)
        engine = build_engine(nodes, setup)
        engine.start_from(np.full(1, 1.01), np.array([[0.02], [0.01], [0.0]]))
        forces.append(force_on(advance(engine, n_steps)))
    assert np.abs(forces[0] - forces[1]).max() < ROUND_OFF and np.abs(forces[0]).max() > 1e-3


def exchange_of(ranks):
    """What each labelled wall's links exchange, sorted by wall, voxel and direction."""
    found = ranks.each(lambda engine: engine.wall_exchange())
    links = [engine.domain.linkwise.join(engine.domain.in_table) for engine in ranks.engines]
    wall, voxel, q = (np.concatenate([getattr(part, name) for part in links]) for name in ("boundary", "voxel", "q"))
    return np.concatenate(found)[np.lexsort((q, voxel, wall))]


RULES = [
    (rule, streaming) for rule in WALL_RULES for streaming in STREAMINGS if rule == HALF_WAY or streaming != "push"
]


@pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
@pytest.mark.parametrize(("rule", "streaming"), RULES)
@pytest.mark.parametrize("motions", [SLIPPING, MOVING], ids=["slip", "moving"])
def test_the_exchange_with_every_wall_link_does_not_depend_on_the_ranks_bit_by_bit(lattice, rule, streaming, motions):
    nodes, found = walled_nodes(lattice, ScatteredDistances()), []
    setup = Setup(lattice, "cpu", streaming=streaming, wall_rule=rule, motions=motions)
    for owner in (np.zeros(nodes.n_nodes, int), random_owner(nodes, 3)):
        ranks = Ranks(nodes, setup, owner)
        ranks.set_populations(random_populations(lattice, nodes.n_nodes))
        ranks.step(STEPS)
        found.append(exchange_of(ranks))
    assert np.array_equal(*found) and np.abs(found[0]).max() > 1e-4


@pytest.mark.parametrize(("rule", "streaming"), RULES)
def test_measuring_the_force_does_not_disturb_the_flow(rule, streaming):
    nodes, states = walled_nodes(D2Q9, ScatteredDistances()), []
    for is_measured in (False, True):
        engine = build_engine(nodes, Setup(D2Q9, streaming=streaming, wall_rule=rule, motions=MOVING))
        engine.set_populations(random_populations(D2Q9, nodes.n_nodes)[:, engine.domain.number])
        for _ in range(STEPS):
            if is_measured:
                engine.wall_exchange()
            engine.step()
        states.append(engine.populations())
    assert np.array_equal(*states)


def body_in_a_box(lattice):
    """A lump of random solid, labelled, in the middle of a periodic box."""
    size = 9
    shape = (size if lattice.dimension == 3 else 1, size, size)
    flags = np.full(shape, FLUID, FLAG_DTYPE)
    middle = tuple(slice(2, -2) if extent > 1 else slice(None) for extent in shape)
    lump = np.random.default_rng(5).random(flags[middle].shape) < 0.6
    flags[middle][lump] = wall_flag(0)
    return build_nodes(Voxels(flags, periodic=(True,) * 3, walls=("body",)))


@EVERY_LATTICE
@EVERY_STREAMING
def test_a_closed_body_in_a_uniform_pressure_feels_no_force(lattice, streaming):
    nodes = body_in_a_box(lattice)
    engine = build_engine(nodes, Setup(lattice, streaming=streaming))
    engine.start_from(np.full(1, 1.05), np.zeros((3, 1)))
    advance(engine, 1)
    assert np.abs(engine.wall_exchange()).max() > 1e-4 and np.abs(force_on(engine)).max() < 1e-15


@STEADY
def test_couette_flow_drags_at_both_walls_with_viscosity_times_shear(lattice, streaming):
    speed, height = 0.05, 6
    nodes = channel(lattice, height)
    motions = (WallMotion(), WallMotion((speed, 0.0, 0.0)))
    setup = Setup(lattice, streaming=streaming, relaxation=TRT, rates=(1.0, 3 / 16), motions=motions)
    engine = build_engine(nodes, setup)
    engine.start_from(np.ones(1), np.zeros((3, 1)))
    advance(engine, SETTLED)
    area = nodes.n_nodes / height
    drag = 1 / 6 * speed / height * area
    found = [force_on(engine, wall)[0] for wall in (0, 1)]
    assert found == pytest.approx([drag, -drag], rel=1e-10)


@EVERY_LATTICE
@pytest.mark.parametrize("rule", INTERPOLATED)
def test_couette_flow_drags_at_walls_anywhere_with_viscosity_times_shear(lattice, rule):
    """Two consecutive steps are averaged: the central linear rule leaves an oscillation."""
    speed, height, low, high = 0.05, 6, 0.2, 0.7
    nodes = channel(lattice, height, low, high)
    motions = (WallMotion(), WallMotion((speed, 0.0, 0.0)))
    engine = build_engine(nodes, Setup(lattice, relaxation=TRT, rates=(1.0, 3 / 16), wall_rule=rule, motions=motions))
    engine.start_from(np.ones(1), np.zeros((3, 1)))
    advance(engine, SETTLED)
    drag = 1 / 6 * speed / (height - 1 + low + high) * nodes.n_nodes / height
    found = [[force_on(engine, wall)[0] for wall in (0, 1)] for engine in (engine, advance(engine, 1))]
    assert np.mean(found, axis=0) == pytest.approx([drag, -drag], rel=1e-9)
