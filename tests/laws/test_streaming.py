"""Every population arrives where the geometry says. Without collision (omega = 0) a step is streaming alone."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.domain import STREAMINGS
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLUID, Voxels
from muphy_lb.lattice import D2Q9, D3Q19
from tests.support import (
    CLOSED_OPENINGS,
    Ranks,
    Setup,
    advance,
    box_shape,
    build_engine,
    distinguishable_populations,
    in_node_order,
    random_nodes,
    random_owner,
    random_populations,
    random_voxels,
)

pytestmark = pytest.mark.pairs

# Whole numbers differ by one; the NumPy specification adds and subtracts w_q, which costs round-off.
HALF_A_NUMBER = 0.01
EVERY_STREAMING = pytest.mark.parametrize("streaming", STREAMINGS)
LATTICES = pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "cpu"])
BOXES = {"closed": (False,) * 3, "periodic": (True,) * 3, "mixed": (True, False, False)}


def streamed(flags, periodic, lattice, before):
    """One streaming step in plain loops over voxels, from the definition; ``before`` is (Q, nz, ny, nx)."""
    after = before.copy()
    size = np.array(flags.shape[::-1])
    for z, y, x in np.argwhere(flags == FLUID):
        for q, c in enumerate(lattice.c):
            source = np.array((x, y, z)) - c
            source = np.where(periodic, source % size, source)
            inside = np.all((source >= 0) & (source < size))
            i, j, k = source
            comes_from_fluid = inside and flags[k, j, i] == FLUID
            after[q, z, y, x] = before[q, k, j, i] if comes_from_fluid else before[lattice.opposite[q], z, y, x]
    return after


def expected_step(voxels, nodes, lattice, populations):
    """(Q, n) populations in node-list order after one brute-force step."""
    boxed = np.zeros((lattice.q, voxels.flags.size))
    boxed[:, nodes.voxel] = populations
    after = streamed(voxels.flags, voxels.periodic, lattice, boxed.reshape(lattice.q, *voxels.shape))
    return after.reshape(lattice.q, -1)[:, nodes.voxel]


def stream_only(nodes, setup, populations, n_steps=1):
    """(Q, n) populations in node-list order after steps without collision."""
    engine = build_engine(nodes, replace(setup, rates=(0.0,)))
    engine.set_populations(populations[:, engine.domain.number])
    return in_node_order(engine, advance(engine, n_steps).populations())


@LATTICES
@EVERY_STREAMING
@BACKENDS
@pytest.mark.parametrize("box", BOXES)
def test_every_population_arrives_where_the_geometry_says(lattice, streaming, backend, box):
    voxels = random_voxels(box_shape(lattice), seed=3, fluid=0.7, periodic=BOXES[box])
    nodes = build_nodes(voxels)
    before = distinguishable_populations(lattice, nodes.n_nodes)
    after = stream_only(nodes, Setup(lattice, backend, streaming=streaming), before)
    assert np.abs(after - expected_step(voxels, nodes, lattice, before)).max() < HALF_A_NUMBER


@LATTICES
@EVERY_STREAMING
def test_an_opening_at_rest_is_a_wall(lattice, streaming):
    nodes = random_nodes(lattice)
    walls = replace(nodes, openings=(), label_voxel=nodes.label_voxel[:0], label_number=nodes.label_number[:0])
    before = distinguishable_populations(lattice, nodes.n_nodes)
    setup = Setup(lattice, streaming=streaming, conditions=CLOSED_OPENINGS)
    behind_openings = stream_only(nodes, setup, before, n_steps=3)
    behind_walls = stream_only(walls, replace(setup, conditions=()), before, n_steps=3)
    assert np.abs(behind_openings - behind_walls).max() < HALF_A_NUMBER


@LATTICES
@EVERY_STREAMING
def test_a_population_comes_back_from_a_wall_after_twice_the_way_to_it(lattice, streaming):
    """Half-way bounce-back: the walls of a row of n nodes lie n apart, and the way there and back takes 2 n steps."""
    n = 5
    nodes = build_nodes(random_voxels((1, 1, n), fluid=1.0))
    before = distinguishable_populations(lattice, n)
    after = stream_only(nodes, Setup(lattice, streaming=streaming), before, n_steps=2 * n)
    assert np.abs(after - before).max() < HALF_A_NUMBER


@LATTICES
@EVERY_STREAMING
def test_a_periodic_box_returns_every_population_after_its_length(lattice, streaming):
    edge = 4
    shape = (edge if lattice.dimension == 3 else 1, edge, edge)
    nodes = build_nodes(random_voxels(shape, fluid=1.0, periodic=(True,) * 3))
    before = distinguishable_populations(lattice, nodes.n_nodes)
    after = stream_only(nodes, Setup(lattice, streaming=streaming), before, n_steps=edge)
    assert np.abs(after - before).max() < HALF_A_NUMBER


@LATTICES
@EVERY_STREAMING
@pytest.mark.parametrize("n_ranks", [2, 3, 8])
def test_all_ranks_together_stream_like_one(lattice, streaming, n_ranks):
    voxels = random_voxels(box_shape(lattice), seed=5, periodic=(True, False, True))
    nodes = build_nodes(voxels)
    before = distinguishable_populations(lattice, nodes.n_nodes)
    ranks = Ranks(nodes, Setup(lattice, streaming=streaming, rates=(0.0,)), random_owner(nodes, n_ranks))
    ranks.set_populations(before)
    ranks.step(1)
    assert np.abs(ranks.populations() - expected_step(voxels, nodes, lattice, before)).max() < HALF_A_NUMBER


@LATTICES
@EVERY_STREAMING
@BACKENDS
def test_closed_flow_keeps_its_mass(lattice, streaming, backend):
    """Bound per node: 100 steps of one bit of w_q; measured 7e-15."""
    nodes = random_nodes(lattice, openings=False)
    engine = build_engine(nodes, Setup(lattice, backend, streaming=streaming, force=(1e-4, 0.0, 0.0)))
    engine.set_populations(random_populations(lattice, nodes.n_nodes))
    before = engine.totals().mass
    assert abs(advance(engine, 100).totals().mass - before) < 2e-14 * nodes.n_nodes


@LATTICES
@EVERY_STREAMING
@BACKENDS
def test_uniform_flow_stays_uniform(lattice, streaming, backend):
    shape = (4 if lattice.dimension == 3 else 1, 5, 6)
    nodes = build_nodes(Voxels(np.full(shape, FLUID, np.uint8), periodic=(True,) * 3))
    velocity = np.array([[0.05], [-0.03], [0.02 if lattice.dimension == 3 else 0.0]])
    engine = build_engine(nodes, Setup(lattice, backend, streaming=streaming))
    engine.start_from(np.full(1, 1.02), velocity)
    expected = np.concatenate(([[0.02]], velocity))
    assert np.abs(advance(engine, 50).moments() - expected).max() < 1e-13
