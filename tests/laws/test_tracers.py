"""Tracers: the same on every backend and number of ranks, none lost, uniform where they are reflected, counted where
they leave."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from muphy_lb.boundaries.opening_geometry import Condition
from muphy_lb.boundaries.profiles import plug
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, Voxels
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.lattice.layout import RECORD
from muphy_lb.model.isothermal import Fluid
from muphy_lb.model.model import POSITION, Field, FieldValue
from muphy_lb.operators import PRESSURE, STORE_VELOCITY, VELOCITY, VELOCITY_FIELDS, VELOCITY_VECTOR
from muphy_lb.physics.particles.openings import END, END_STEP, STUCK, UNDER_WAY, WAITING
from muphy_lb.physics.particles.tracers.species import OVERSHOOT, with_tracers
from muphy_lb.physics.particles.tracers.walk import ORIGIN, travelled
from tests.support import Ranks, Setup, plain_flow, random_nodes, random_owner

PERIODIC = {"openings": False, "periodic": (True, True, True)}
FLOWING = (Condition(VELOCITY, 0.05, plug), Condition(PRESSURE, 0.0))
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
COMPILED = pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
PER_NODE = 4


@dataclass(frozen=True)
class TracerSetup(Setup):
    """A flow that a force drives, with tracers."""

    count: int = 0
    diffusivity: float = 0.02
    sticks: bool = False

    def model(self):
        """Tracers behind isothermal flow."""
        flow = plain_flow(self.lattice, Fluid(self.rates), self.streaming, self.force)
        return with_tracers(flow, "dye", self.count, self.diffusivity, 7, self.sticks).model()


class ObservedTwice(TracerSetup):
    """A flow with tracers, and another physics that reads the velocity as three fields."""

    def model(self):
        """Isothermal flow with both observers."""
        flow = plain_flow(self.lattice, Fluid(self.rates), self.streaming, self.force)
        stored = {name: FieldValue(name) for name in VELOCITY_FIELDS}
        flow = flow.observed_by(STORE_VELOCITY, stored).with_fields(*map(Field, VELOCITY_FIELDS))
        return with_tracers(flow, "dye", self.count, self.diffusivity, 7).model()


def spread(nodes) -> dict:
    """Some tracers a node, anywhere in its voxel."""
    place = np.repeat(nodes.coordinates(), PER_NODE, axis=0)
    is_thick = np.array(nodes.shape[::-1]) > 1
    offset = np.random.default_rng(2).uniform(-0.5, 0.5, place.shape) * is_thick
    columns = {"id": np.arange(len(place))[::-1], END: np.full(len(place), WAITING)}
    places = (*place.T, *offset.T, *(place + offset).T)
    return columns | dict(zip((*POSITION[0], *POSITION[1], *ORIGIN), places, strict=True))


def setup_for(nodes, lattice, **options) -> TracerSetup:
    """For tracers of :func:`spread`."""
    options = {"force": (3e-3, 1e-3, 0.0)} | options
    return TracerSetup(lattice, count=PER_NODE * nodes.n_nodes, **options)


def run(nodes, setup, owner=None, n_steps=40, start=None) -> dict:
    """All tracers by id, some steps later."""
    ranks = Ranks(nodes, setup, np.zeros(nodes.n_nodes, int) if owner is None else owner)
    for engine in ranks.engines:
        engine.particles.set("dye", start or spread(nodes))
        engine.start_from(np.ones(1), np.zeros((3, 1)))
        engine.set_step_number(0)
    ranks.step(n_steps)
    return ranks.particles("dye")


def same(one: dict, other: dict) -> bool:
    """Whether all columns are equal bit by bit."""
    return all(np.array_equal(one[name], other[name]) for name in one)


@BACKENDS
@pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
def test_tracers_are_the_same_on_any_ranks_and_none_is_lost(lattice, backend):
    nodes = random_nodes(lattice, **PERIODIC)
    setup = setup_for(nodes, lattice, backend=backend)
    alone = run(nodes, setup)
    assert np.array_equal(alone["id"], np.arange(setup.count))
    assert all(same(alone, run(nodes, setup, random_owner(nodes, n_ranks))) for n_ranks in (2, 3))


@BACKENDS
def test_sorting_puts_tracers_of_neighbouring_nodes_side_by_side_and_changes_none(backend):
    nodes = random_nodes(D3Q19, **PERIODIC)
    owner = np.zeros(nodes.n_nodes, int)
    ranks = Ranks(nodes, setup_for(nodes, D3Q19, backend=backend, diffusivity=0.08), owner)
    (engine,) = ranks.engines
    engine.particles.set("dye", spread(nodes))
    engine.start_from(np.ones(1), np.zeros((3, 1)))
    ranks.step(30)
    node_of = {tuple(place): n for n, place in enumerate(nodes.coordinates().tolist())}
    before, runs = ranks.particles("dye"), []
    for _ in range(2):
        place = engine.particles.columns("dye", POSITION[0])
        voxels = np.stack([place[name] for name in POSITION[0]], axis=1).tolist()
        node = np.array([node_of[tuple(voxel)] for voxel in voxels])
        runs.append((1 + np.count_nonzero(np.diff(node)), np.unique(node).size))
        engine.particles.sort()
    (mixed, n_visited), (together, _) = runs
    assert mixed > 2 * n_visited
    assert together == n_visited
    assert same(before, ranks.particles("dye"))


@BACKENDS
def test_two_observers_of_a_collision_store_the_same_velocity(backend):
    nodes = random_nodes(D3Q19, **PERIODIC)
    setup = ObservedTwice(D3Q19, count=1, force=(3e-3, 1e-3, 0.0), backend=backend)
    (engine,) = Ranks(nodes, setup, np.zeros(nodes.n_nodes, int)).engines
    engine.start_from(np.ones(1), np.zeros((3, 1)))
    for _ in range(10):
        engine.step()
    vector = engine.fields.get(VELOCITY_VECTOR, 0).reshape(-1, RECORD)
    for k, name in enumerate(VELOCITY_FIELDS):
        stored = engine.fields.get(name, 0)
        assert np.abs(stored).max() > 0.0
        assert np.array_equal(stored, vector[: stored.size, k])


@COMPILED
@pytest.mark.parametrize("sticks", [False, True])
@pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
def test_tracers_are_compiled_as_they_are_specified(lattice, sticks, backend):
    nodes = random_nodes(lattice, openings=not sticks, periodic=(sticks, True, sticks))
    options = {"conditions": () if sticks else FLOWING, "sticks": sticks}
    n_steps = 30 if sticks else 90
    one, other = (
        run(nodes, setup_for(nodes, lattice, backend=b, **options), n_steps=n_steps) for b in ("numpy", backend)
    )
    assert all(np.abs(one[name] - other[name]).max() < 1e-11 for name in one)
    assert np.count_nonzero(one[END]) > 20


@cache
def walked(sticks: bool) -> tuple:
    """Tracers that do nothing but diffuse among random solids, and the nodes."""
    nodes = random_nodes(D3Q19, **PERIODIC)
    start = spread(nodes)
    setup = setup_for(nodes, D3Q19, backend="cpu", diffusivity=0.08, sticks=sticks, force=(0.0, 0.0, 0.0))
    return nodes, run(nodes, setup, n_steps=200, start=start)


def test_reflected_random_walks_keep_a_uniform_density():
    nodes, found = walked(False)
    x, y, z = (found[name] for name in POSITION[0])
    _, counts = np.unique((z * nodes.shape[1] + y) * nodes.shape[2] + x, return_counts=True)
    assert counts.sum() == PER_NODE * nodes.n_nodes
    n_empty = nodes.n_nodes - counts.size
    chi_squared = (((counts - PER_NODE) ** 2).sum() + n_empty * PER_NODE**2) / PER_NODE / nodes.n_nodes
    assert abs(chi_squared - 1.0) < 5.0 * np.sqrt(2.0 / nodes.n_nodes)
    offsets = np.concatenate([found[name] for name in POSITION[1]])
    density, _ = np.histogram(offsets, 5, (-0.5, 0.5))
    assert np.abs(density / density.mean() - 1.0).max() < 5.0 * np.sqrt(5.0 / offsets.size)


def test_tracers_that_stick_stay_at_the_walls_that_they_met():
    _, found = walked(True)
    stuck = found[END] == STUCK
    assert 0.5 < stuck.mean() and (found[END_STEP][stuck] > 0).all()
    at_face = np.max([np.abs(found[name][stuck]) for name in POSITION[1]], axis=0)
    assert np.allclose(at_face, 0.5, atol=1e-8)


def test_walls_that_stick_seem_further_away_by_half_a_random_step():
    """Between plates: as many are under way as an exact walk has between plates so much further apart."""
    height, diffusivity, n_steps = 10, 0.08, 400
    nodes = build_nodes(build_shape("channel", length=40, height=height, width=40))
    setup = setup_for(nodes, D3Q19, backend="cpu", diffusivity=diffusivity, sticks=True, force=(0.0, 0.0, 0.0))
    share = (run(nodes, setup, n_steps=n_steps)[END] == UNDER_WAY).mean()
    wide = height + 2.0 * OVERSHOOT * np.sqrt(2.0 * diffusivity)
    odd, lag = np.arange(1, 40, 2), 0.5 * (wide - height)
    rate = (odd * np.pi / wide) ** 2 * diffusivity  # of sin(k y), of a start that is even between the true plates
    exact = (
        8.0 * wide / height * np.cos(odd * np.pi * lag / wide) / (odd * np.pi) ** 2 * np.exp(-rate * n_steps)
    ).sum()
    assert share == pytest.approx(exact, abs=4.0 * np.sqrt(exact / setup.count))


def test_a_walk_has_the_diffusivity_that_was_asked_for():
    nodes = build_nodes(Voxels(np.full((8, 8, 8), FLUID, FLAG_DTYPE), periodic=(True, True, True)))
    n_steps, diffusivity = 50, 0.07
    setup = setup_for(nodes, D3Q19, backend="cpu", diffusivity=diffusivity, force=(0.0, 0.0, 0.0))
    found = run(nodes, setup, n_steps=n_steps)
    for along in travelled(found):
        variance = along.var()
        assert variance == pytest.approx(2.0 * diffusivity * n_steps, rel=5.0 * np.sqrt(2.0 / setup.count))


def test_tracers_that_leave_are_counted_at_the_opening_and_stay_where_they_left():
    nodes = random_nodes(D2Q9)
    setup = setup_for(nodes, D2Q9, backend="cpu", conditions=FLOWING, force=(0.0, 0.0, 0.0))
    found, later = (run(nodes, setup, n_steps=n) for n in (150, 200))
    assert {UNDER_WAY, 2} == set(found[END].tolist()) and (found[END] == 2).sum() > 10  # none against the inflow
    gone = found[END] != UNDER_WAY
    names = (*POSITION[0], *POSITION[1], *ORIGIN, END, END_STEP)
    assert all(np.array_equal(found[name][gone], later[name][gone]) for name in names)
    assert (found["voxel_x"][found[END] == 2] == nodes.shape[2] - 2).all()
