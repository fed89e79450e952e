"""Beads: friction that conserves momentum, bonds, excluded volume; on every backend, on any ranks."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from muphy_lb.base.errors import DivergedError
from muphy_lb.base.precision import FP32
from muphy_lb.engine.step import StepBinder, StepKind
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, Voxels
from muphy_lb.lattice import D2Q9, D3Q19, Lattice
from muphy_lb.model.isothermal import Fluid
from muphy_lb.physics.fluctuating.package import fluctuating
from muphy_lb.physics.particles.beads.forces import Interactions
from muphy_lb.physics.particles.beads.model import AT_REST, ONE_WAY, Beads, table, with_beads
from muphy_lb.physics.particles.beads.motion import FORCE, OFFSET, TRAVELLED, VELOCITY, VOXEL
from tests.support import Ranks, Setup, plain_flow, random_nodes, random_owner, random_populations

KT = 1e-4
CLEARANCE = 0.25 * np.array(list(product((-1, 1), repeat=3)))
WALLS = {"wall_a": KT, "wall_b": 0.3, "wall_range2": (0.3 * 2 ** (1 / 6)) ** 2}
SINGLE = Beads(
    "beads", 40, mass=2.0, friction=0.3, kt=KT, seed=3, interactions=Interactions(walls=True), constants=WALLS
)


def chain_constants(n_chains: int, length: int) -> dict:
    """Bonds and bends of chains whose ids follow each other."""
    ids = np.arange(n_chains * length).reshape(n_chains, length)
    pairs = np.concatenate((ids[:, :-1].reshape(-1, 1), ids[:, 1:].reshape(-1, 1)), axis=1)
    partners = [[*pairs[pairs[:, 0] == i, 1], *pairs[pairs[:, 1] == i, 0]] for i in range(ids.size)]
    triples = np.stack((ids[:, :-2], ids[:, 1:-1], ids[:, 2:]), axis=-1).reshape(-1, 3)
    of_bead = [triples[(triples == i).any(axis=1)] for i in range(ids.size)]
    return {
        "bond_start": table(np.cumsum([0, *map(len, partners)]), np.int64),
        "bond_partner": table([j for each in partners for j in each], np.int64),
        "bend_start": table(np.cumsum([0, *map(len, of_bead)]), np.int64),
        "bend_ids": table(np.concatenate(of_bead).reshape(-1), np.int64),
    }


CHAINS = replace(
    SINGLE,
    interactions=Interactions("harmonic", "soft", bends=True, walls=True, pulls=True),
    constants=chain_constants(4, 10)
    | {"bond_a": 0.02, "bond_b": 0.6, "bend_a": 1e-3, "pair_a": KT, "pair_b": 0.5, **WALLS}
    | {"pulled": table(np.arange(40) % 10 == 0, np.uint8), "pull": table([1e-5, 0.0, 0.0])}
    | {"pull_box": table([-np.inf, -np.inf, -np.inf, 3.3, np.inf, np.inf])},
    range=0.5 * 2 ** (1 / 6),
    substeps=2,
)


@dataclass(frozen=True)
class BeadSetup(Setup):
    """A fluctuating flow with beads."""

    beads: Beads = SINGLE
    kt: float = KT

    def model(self):
        """The flow, what makes it fluctuate, and the beads in it."""
        flow = plain_flow(self.lattice, Fluid(self.rates), self.streaming, self.force)
        flow = fluctuating(flow, self.kt, 7) if self.kt else flow
        return with_beads(flow, self.beads).model()


def start_on(nodes, beads: Beads, lattice: Lattice) -> dict:
    """Chains of ten beads, each on a walk with steps of half a voxel that keeps to the fluid; velocities of theirs."""
    random, axes = np.random.default_rng(4), np.arange(3) < lattice.dimension
    size, fluid = np.array(nodes.shape[::-1]), {tuple(voxel) for voxel in nodes.coordinates()}
    place = np.empty((beads.count, 3))
    for i in range(beads.count):
        while True:
            place[i] = nodes.coordinates()[random.integers(nodes.n_nodes)]
            if i % 10 == 0:
                break
            step = random.standard_normal(3) * axes
            place[i] = (place[i - 1] + 0.5 * step / np.linalg.norm(step) + 0.5) % size - 0.5
            around = np.floor(place[i] + CLEARANCE * axes + 0.5).astype(int) % size
            if all(tuple(voxel) in fluid for voxel in around):
                break
    voxel = np.floor(place + 0.5).astype(np.int64)
    speed = 0.01 * random.standard_normal((beads.count, 3)) * axes
    columns = {"id": np.arange(beads.count)} | dict(zip(VOXEL, (voxel % size).T, strict=True))
    return columns | dict(zip(OFFSET, (place - voxel).T, strict=True)) | dict(zip(VELOCITY, speed.T, strict=True))


def run(nodes, setup, owner, n_steps=30, start=None):
    """Columns of all beads by id, and the populations."""
    ranks = Ranks(nodes, setup, owner)
    for engine in ranks.engines:
        engine.particles.set("beads", start or start_on(nodes, setup.beads, setup.lattice))
    ranks.set_populations(random_populations(setup.lattice, nodes.n_nodes))
    ranks.step(n_steps)
    return ranks.particles("beads"), ranks.populations()


MANY = replace(SINGLE, many=True)
EVERY_KIND = {"single": SINGLE, "point": replace(SINGLE, kernel="point"), "chains": CHAINS, "many": MANY}
OPEN = {"openings": False, "periodic": (True, True, True)}
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
COMPILED = pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])


def momentum(populations, columns, beads: Beads, lattice: Lattice):
    """(3,) of fluid and beads together."""
    own = np.array([columns[name].sum() for name in VELOCITY])
    return lattice.c.T @ populations.sum(axis=1) + beads.mass * own


@BACKENDS
@pytest.mark.parametrize("beads", EVERY_KIND.values(), ids=EVERY_KIND)
def test_beads_do_not_depend_on_ranks(beads, backend):
    nodes = random_nodes(D3Q19, **OPEN)
    setup = BeadSetup(D3Q19, backend=backend, beads=beads)
    alone, flow = run(nodes, setup, np.zeros(nodes.n_nodes, int))
    assert max(np.abs(alone[name]).max() for name in TRAVELLED) > 0.1
    for n_ranks in (2, 3):
        shared, shared_flow = run(nodes, setup, random_owner(nodes, n_ranks))
        assert all(np.array_equal(alone[name], shared[name]) for name in alone)
        assert np.array_equal(flow, shared_flow)


@BACKENDS
def test_whether_the_velocity_of_all_nodes_is_taken_changes_no_bit(backend):
    nodes = random_nodes(D3Q19, **OPEN)
    owner = random_owner(nodes, 2)
    found = [run(nodes, BeadSetup(D3Q19, backend=backend, beads=beads), owner) for beads in (SINGLE, MANY)]
    (few, flow), (many, same_flow) = found
    assert all(np.array_equal(few[name], many[name]) for name in few) and np.array_equal(flow, same_flow)


@pytest.mark.parametrize(("beads", "n_ranks", "is_taken"), [(SINGLE, 1, False), (SINGLE, 2, True), (MANY, 1, True)])
def test_the_velocity_at_the_border_is_taken_only_for_other_ranks(beads, n_ranks, is_taken):
    nodes = random_nodes(D3Q19, **OPEN)
    for engine in Ranks(nodes, BeadSetup(D3Q19, beads=beads), random_owner(nodes, n_ranks)).engines:
        stages = {task.stage for task in StepBinder(engine).bind(StepKind(parity=0))}
        assert ("arriving" in stages, "beads friction" in stages) == (is_taken, True)


@pytest.mark.gpu
def test_every_launch_shape_gives_the_same_bits_with_beads():
    nodes, setup = random_nodes(D3Q19, **OPEN), BeadSetup(D3Q19, backend="cuda", beads=SINGLE, precision=FP32)
    found = []
    for k in range(6):
        ranks = Ranks(nodes, setup, np.zeros(nodes.n_nodes, int))
        (engine,) = ranks.engines
        engine.use_shape(engine.backend.launch_shapes(engine.addresses.patterns[0])[k])
        engine.particles.set("beads", start_on(nodes, SINGLE, D3Q19))
        ranks.set_populations(random_populations(D3Q19, nodes.n_nodes))
        ranks.step(20)
        found.append(ranks.populations())
    assert all(np.array_equal(found[0], other) for other in found)


@COMPILED
@pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
def test_beads_are_compiled_as_they_are_specified(lattice, backend):
    nodes = random_nodes(lattice, **OPEN)
    everywhere = np.zeros(nodes.n_nodes, int)
    found = [run(nodes, BeadSetup(lattice, backend=b, beads=CHAINS), everywhere, 20) for b in ("numpy", backend)]
    (specified, flow), (compiled, compiled_flow) = found
    assert all(np.abs(specified[name] - compiled[name]).max() < 1e-11 for name in specified)
    assert np.abs(flow - compiled_flow).max() < 1e-11


@COMPILED
@pytest.mark.parametrize("kernel", ["linear", "point"])
def test_momentum_of_fluid_and_beads_is_constant(kernel, backend):
    nodes = build_nodes(Voxels(np.full((5, 6, 7), FLUID, FLAG_DTYPE), periodic=(True, True, True)))
    beads = replace(SINGLE, kernel=kernel, friction=0.5)
    setup = BeadSetup(D3Q19, backend=backend, beads=beads)
    start = start_on(nodes, beads, D3Q19)
    before = momentum(random_populations(D3Q19, nodes.n_nodes), start, beads, D3Q19)
    columns, populations = run(nodes, setup, random_owner(nodes, 2), 200, start)
    after = momentum(populations, columns, beads, D3Q19)
    assert np.abs(after - before).max() < 1e-12
    assert np.ptp([columns[name] for name in TRAVELLED]) > 0.5


@dataclass(frozen=True)
class TwoKinds(BeadSetup):
    """Further beads of another mass in the same flow."""

    others: Beads = replace(SINGLE, name="others", mass=5.0, friction=1.0, seed=9)

    def model(self):
        """The flow with both."""
        flow = plain_flow(self.lattice, Fluid(self.rates), self.streaming, self.force)
        return with_beads(with_beads(flow, self.beads), self.others).model()


def test_two_kinds_of_beads_push_the_fluid_once_each():
    nodes = build_nodes(Voxels(np.full((5, 6, 7), FLUID, FLAG_DTYPE), periodic=(True, True, True)))
    setup = TwoKinds(D3Q19, backend="numpy", beads=SINGLE, kt=0.0)
    ranks, start = Ranks(nodes, setup, random_owner(nodes, 2)), start_on(nodes, SINGLE, D3Q19)
    for engine in ranks.engines:
        for name in ("beads", "others"):
            engine.particles.set(name, start)
    ranks.set_populations(random_populations(D3Q19, nodes.n_nodes))
    both = [momentum(random_populations(D3Q19, nodes.n_nodes), start, replace(SINGLE, mass=7.0), D3Q19)]
    ranks.step(20)
    found = [engine.particles.get("others") for engine in ranks.engines]
    others = np.array([sum(each[name].sum() for each in found) for name in VELOCITY])
    both.append(momentum(ranks.populations(), ranks.particles("beads"), SINGLE, D3Q19) + 5.0 * others)
    assert np.abs(both[1] - both[0]).max() < 1e-12


def test_without_the_force_of_beads_momentum_is_not_conserved():
    nodes = build_nodes(Voxels(np.full((5, 6, 7), FLUID, FLAG_DTYPE), periodic=(True, True, True)))
    beads = replace(SINGLE, coupling=ONE_WAY)
    start = start_on(nodes, beads, D3Q19)
    before = momentum(random_populations(D3Q19, nodes.n_nodes), start, beads, D3Q19)
    columns, populations = run(nodes, BeadSetup(D3Q19, backend="numpy", beads=beads), np.zeros(nodes.n_nodes, int), 20)
    assert np.abs(momentum(populations, columns, beads, D3Q19) - before).max() > 1e-3


def test_beads_go_on_from_their_columns():
    nodes, setup = random_nodes(D3Q19, **OPEN), BeadSetup(D3Q19, backend="numpy", beads=CHAINS)
    ranks = Ranks(nodes, setup, np.zeros(nodes.n_nodes, int))
    (engine,) = ranks.engines
    engine.particles.set("beads", start_on(nodes, CHAINS, D3Q19))
    ranks.set_populations(random_populations(D3Q19, nodes.n_nodes))
    ranks.step(20)
    columns, populations = ranks.particles("beads"), ranks.populations()
    ranks.step(10)
    again = Ranks(nodes, setup, random_owner(nodes, 2))
    for each in again.engines:
        each.particles.set("beads", columns)
        each.set_step_number(20)
    again.set_populations(populations)
    again.step(10)
    whole, parts = ranks.particles("beads"), again.particles("beads")
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)
    assert np.array_equal(ranks.populations(), again.populations())


def test_forces_between_beads_cancel_and_follow_from_the_potential():
    nodes = build_nodes(Voxels(np.full((6, 6, 6), FLUID, FLAG_DTYPE), periodic=(True, True, True)))
    beads = replace(
        CHAINS,
        mass=1e6,  # beads on top of each other must not move by a voxel
        friction=1e-30,
        kt=0.0,
        interactions=Interactions("fene", "wca", bends=True),
        constants=CHAINS.constants | {"bond_a": 30 * KT, "bond_b": 1.5, "pair_b": 0.5},
        coupling=AT_REST,
    )
    start = start_on(nodes, beads, D3Q19)
    columns, _ = run(nodes, BeadSetup(D3Q19, backend="cpu", beads=beads, kt=0.0), random_owner(nodes, 2), 1, start)
    total = np.array([columns[name].sum() for name in FORCE])
    largest = np.abs([columns[name] for name in FORCE]).max()
    assert np.abs(total).max() < 1e-13 * max(1.0, largest)


@BACKENDS
@pytest.mark.parametrize("beads", [SINGLE, CHAINS], ids=["single", "chains"])
def test_beads_that_are_lost_are_told_however_many_steps_later(beads, backend):
    nodes = build_nodes(Voxels(np.full((6, 7, 8), FLUID, FLAG_DTYPE), periodic=(True, False, False)))
    start = start_on(nodes, beads, D3Q19)
    start[VELOCITY[0]][:20], start[VELOCITY[1]][5:], start[VELOCITY[2]][7] = 7.3, -80.0, 300.0
    with pytest.raises(DivergedError, match="particle 39 of the set 'beads' has moved more than a voxel in a step"):
        run(nodes, BeadSetup(D3Q19, backend=backend, beads=beads), np.zeros(nodes.n_nodes, int), 40, start)
