"""A physics of one's own, through the contract alone: tracers that move with the flow of their nearest node."""

from dataclasses import dataclass, replace
from math import floor

import numpy as np
import pytest

from muphy_lb.domain.lookup import WALL, look_up, look_up_node
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.model.isothermal import Fluid, isothermal
from muphy_lb.model.model import LOOKUP, MIGRATE, POSITION, Field, FieldValue, ParticleSet, Stage
from muphy_lb.model.settle import SETTLE
from muphy_lb.operators import STORE_VELOCITY, UNIFORM, VELOCITY_FIELDS, Operator, in_turn, named
from tests.support import Ranks, Setup, build_engine, random_nodes, random_owner

(VX, VY, VZ), OFFSETS = POSITION


def move(i, lattice, parameters):
    """With the velocity of the node, unless that leads out of the fluid: the specification."""
    voxel = np.stack([parameters[name][i] for name in POSITION[0]])
    node = look_up(parameters["lookup"], *voxel)
    pairs = zip(OFFSETS, VELOCITY_FIELDS, strict=True)
    target = np.stack([parameters[o][i] + 1.0 * parameters[u][node] for o, u in pairs])
    there = voxel + np.floor(target + 0.5).astype(np.int64)
    stays = look_up(parameters["lookup"], *there) == WALL
    for name, values in zip(OFFSETS, target, strict=True):
        parameters[name][i] = np.where(stays, parameters[name][i], values)


def move_node(lattice, precision, jit, at):
    """The same for one tracer."""
    find, lookup = look_up_node(jit), at["lookup"]
    vx, vy, vz, ox, oy, oz, ux, uy, uz = (at[name] for name in (*POSITION[0], *OFFSETS, *VELOCITY_FIELDS))

    def update(i, parameters):
        x, y, z = parameters[vx][i], parameters[vy][i], parameters[vz][i]
        n = find(parameters[lookup], x, y, z)
        tx, ty, tz = (
            parameters[ox][i] + 1.0 * parameters[ux][n],
            parameters[oy][i] + 1.0 * parameters[uy][n],
            parameters[oz][i] + 1.0 * parameters[uz][n],
        )
        sx, sy, sz = np.int64(floor(tx + 0.5)), np.int64(floor(ty + 0.5)), np.int64(floor(tz + 0.5))
        if find(parameters[lookup], x + sx, y + sy, z + sz) != WALL:
            parameters[ox][i], parameters[oy][i], parameters[oz][i] = tx, ty, tz

    return jit(update)


MOVE = Operator("move", move, move_node, named("lookup", *POSITION[0], *OFFSETS, *VELOCITY_FIELDS))
COLUMNS = {name: FieldValue(f"tracers.{name}") for name in (*POSITION[0], *OFFSETS)}
VALUES = {"lookup": LOOKUP, **COLUMNS, **{name: FieldValue(name) for name in VELOCITY_FIELDS}}
STAGES = (Stage("move", (in_turn(MOVE, SETTLE),), VALUES, over="tracers", kernel=MIGRATE),)
TRACERS = ParticleSet("tracers", capacity=600)


# Beyond the toy: what must hold of it.
@dataclass(frozen=True)
class TracerSetup(Setup):
    """A flow that a force drives, with tracers."""

    def model(self):
        """Isothermal flow, and tracers behind it."""
        stored = {name: FieldValue(name) for name in VELOCITY_FIELDS}
        values = stored | {"force_x": 3e-3, "force_y": 1e-3, "force_z": 0.0}
        flow = isothermal(self.lattice, Fluid(self.rates), self.streaming, values, UNIFORM, STORE_VELOCITY)
        fields = tuple(Field(name) for name in VELOCITY_FIELDS)
        return replace(flow, fields=fields, after=STAGES, particles=(TRACERS,))


def tracers_on(nodes) -> dict:
    """Two tracers a node, somewhere in its voxel."""
    place = np.repeat(nodes.coordinates(), 2, axis=0)
    offset = np.random.default_rng(2).uniform(-0.5, 0.5, (3, len(place)))
    columns = {"id": np.arange(len(place))[::-1]}
    columns |= dict(zip(POSITION[0], place.T, strict=True))
    return columns | dict(zip(OFFSETS, offset, strict=True))


def run(nodes, setup, owner, n_steps=60, start=None):
    """All tracers by id, and how many each rank has had."""
    ranks = Ranks(nodes, setup, owner)
    for engine in ranks.engines:
        engine.particles.set("tracers", start or tracers_on(nodes))
        engine.start_from(np.ones(1), np.zeros((3, 1)))
    before = [engine.particles.get("tracers")["id"].size for engine in ranks.engines]
    ranks.step(n_steps)
    after = [engine.particles.get("tracers")["id"].size for engine in ranks.engines]
    return ranks.particles("tracers"), (before, after)


PERIODIC = {"openings": False, "periodic": (True, True, True)}
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])


@BACKENDS
@pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
def test_tracers_cross_ranks_and_none_is_lost(lattice, backend):
    nodes = random_nodes(lattice, **PERIODIC)
    setup = TracerSetup(lattice, backend=backend)
    alone, _ = run(nodes, setup, np.zeros(nodes.n_nodes, int))
    assert np.array_equal(alone["id"], np.arange(2 * nodes.n_nodes))
    moved = sum(np.abs(alone[name] - tracers_on(nodes)[name][::-1]) for name in POSITION[0])
    assert np.count_nonzero(moved) > 20
    for n_ranks in (2, 3):
        shared, (before, after) = run(nodes, setup, random_owner(nodes, n_ranks))
        assert all(np.array_equal(alone[name], shared[name]) for name in alone)
        assert before != after and sum(before) == sum(after) == 2 * nodes.n_nodes


@pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_tracers_are_compiled_as_they_are_specified(backend):
    nodes = random_nodes(D2Q9, **PERIODIC)
    everywhere = np.zeros(nodes.n_nodes, int)
    specified, compiled = (run(nodes, TracerSetup(D2Q9, backend=b), everywhere, 30)[0] for b in ("numpy", backend))
    assert all(np.abs(specified[name] - compiled[name]).max() < 1e-12 for name in specified)


class CorneredSetup(Setup):
    """A field of the corner layer, and no particles."""

    def model(self):
        """Isothermal flow, and the field."""
        return replace(super().model(), fields=(Field("mark", corners=True),))


def test_a_field_of_the_corner_layer_needs_particles():
    with pytest.raises(ValueError, match="'mark' asks for the corner layer, which only particles have"):
        build_engine(random_nodes(D2Q9, openings=False), CorneredSetup(D2Q9))
