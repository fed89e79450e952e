"""The neighbour table against its definition, voxel by voxel."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.neighbours import (
    FIRST_OPENING_LINK,
    FIRST_WALL_LINK,
    WALL_LINK,
    NeighbourSearch,
    neighbour_table,
)
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import (
    FIRST_OPENING,
    FIRST_WALL,
    FLAG_DTYPE,
    FLUID,
    MAX_WALLS,
    SOLID,
    WALL,
    Opening,
    Voxels,
    wall_flag,
)

QUICK = settings(max_examples=60, deadline=None)
ALL_VECTORS = np.array(list(product((-1, 0, 1), repeat=3)))
LONG_VECTORS = np.array([(3, 0, 0), (-3, 0, 0), (2, -2, 0), (0, 3, -3), (-2, 2, 2), (1, 0, 3), (3, -3, 3), (0, 0, 0)])
THIN = [(1, 4, 7), (4, 1, 7), (4, 7, 1), (1, 1, 9), (1, 9, 1), (9, 1, 1), (1, 1, 1), (3, 4, 5)]
OPENINGS = tuple(Opening(name, "inlet", (0, 0, 0), (1, 0, 0)) for name in ("first", "second", "third"))
WALLS = ("lid", "body")
KINDS = [SOLID, FLUID, FLUID, FLUID, WALL, *(FIRST_OPENING + k for k in range(3)), *(FIRST_WALL + k for k in range(2))]
FLAGS = st.sampled_from(KINDS)


@st.composite
def images(draw):
    """Voxels with every kind of flag and at least one fluid voxel."""
    shape = draw(st.tuples(*[st.integers(1, 5)] * 3))
    flags = draw(arrays(FLAG_DTYPE, shape, elements=FLAGS))
    flags[tuple(draw(st.integers(0, n - 1)) for n in shape)] = FLUID
    periodic = draw(st.tuples(st.booleans(), st.booleans(), st.booleans()))
    return Voxels(flags, periodic=periodic, openings=OPENINGS, walls=WALLS)


def by_definition(voxels, nodes, vectors):
    """(Q, n) table in plain loops."""
    number = {tuple(place): n for n, place in enumerate(nodes.coordinates())}
    size = np.array(voxels.shape[::-1])
    table = np.full((len(vectors), nodes.n_nodes), WALL_LINK)
    for (q, vector), (n, place) in product(enumerate(vectors), enumerate(nodes.coordinates())):
        target = np.where(voxels.periodic, (place + vector) % size, place + vector)
        if np.any(target < 0) or np.any(target >= size):
            continue
        flag = int(voxels.flags[tuple(target[::-1])])
        if flag == FLUID:
            table[q, n] = number[tuple(target)]
        elif flag >= FIRST_WALL:
            table[q, n] = FIRST_WALL_LINK - (flag - FIRST_WALL)
        elif flag >= FIRST_OPENING:
            table[q, n] = FIRST_OPENING_LINK - (flag - FIRST_OPENING)
    return table


def porous(shape=(24, 25, 26), seed=0):
    """More nodes than one chunk of the search holds."""
    flags = (np.random.default_rng(seed).random(shape) < 0.6).astype(FLAG_DTYPE)
    return Voxels(flags, periodic=(True, False, True))


@QUICK
@given(images())
def test_every_link_leads_where_the_image_says(voxels):
    nodes = build_nodes(voxels)
    assert np.array_equal(neighbour_table(nodes, ALL_VECTORS), by_definition(voxels, nodes, ALL_VECTORS))


@pytest.mark.parametrize("shape", THIN)
@pytest.mark.parametrize("periodic", list(product((False, True), repeat=3)))
def test_links_of_a_thin_box_lead_where_the_image_says(shape, periodic):
    flags = np.random.default_rng(sum(shape)).choice(np.array(KINDS, dtype=FLAG_DTYPE), shape)
    flags[0, 0, 0] = FLUID
    voxels = Voxels(flags, periodic=periodic, openings=OPENINGS, walls=WALLS)
    nodes = build_nodes(voxels)
    assert np.array_equal(neighbour_table(nodes, ALL_VECTORS), by_definition(voxels, nodes, ALL_VECTORS))


@QUICK
@given(images())
def test_long_links_lead_where_the_image_says(voxels):
    nodes = build_nodes(voxels)
    found, expected = neighbour_table(nodes, LONG_VECTORS), by_definition(voxels, nodes, LONG_VECTORS)
    # A labelled voxel that far away may touch no fluid; the node list does not hold it.
    lost = (found == WALL_LINK) & (expected <= FIRST_OPENING_LINK)
    assert np.array_equal(found[~lost], expected[~lost])


def test_links_of_sparse_rows_and_of_a_large_image_lead_where_the_image_says():
    """Gaps between the nodes of a row that are shorter and longer than those the search looks over."""
    flags = (np.random.default_rng(0).random((3, 4, 3000)) < 0.04).astype(FLAG_DTYPE)
    sparse, large = Voxels(flags, periodic=(True, True, False)), porous()
    assert large.n_fluid > 2 * 4096
    for voxels, vectors in ((sparse, ALL_VECTORS), (large, ALL_VECTORS[::5])):
        nodes = build_nodes(voxels)
        assert np.array_equal(neighbour_table(nodes, vectors), by_definition(voxels, nodes, vectors))


@QUICK
@given(images(), st.data())
def test_a_subset_and_a_slice_are_the_columns_of_the_whole(voxels, data):
    nodes = build_nodes(voxels)
    whole = neighbour_table(nodes, ALL_VECTORS)
    subset = np.array(data.draw(st.lists(st.integers(0, nodes.n_nodes - 1), max_size=9)), dtype=np.int64)
    assert np.array_equal(neighbour_table(nodes, ALL_VECTORS, subset), whole[:, subset])
    part = data.draw(st.slices(nodes.n_nodes))
    assert np.array_equal(NeighbourSearch(nodes).table(ALL_VECTORS, part), whole[:, part])


def test_a_shuffled_subset_of_many_nodes_and_parts_written_to_columns_are_those_of_the_whole():
    nodes = build_nodes(porous())
    search, whole = NeighbourSearch(nodes), neighbour_table(nodes, ALL_VECTORS)
    subset = np.random.default_rng(1).permutation(nodes.n_nodes)
    assert np.array_equal(search.table(ALL_VECTORS, subset), whole[:, subset])
    found = np.zeros((len(ALL_VECTORS), nodes.n_nodes + 5), dtype=np.int32)
    for first in range(0, nodes.n_nodes, 1000):
        part = slice(first, min(first + 1000, nodes.n_nodes))
        search.table(ALL_VECTORS, part, found[:, part])
    assert np.array_equal(found[:, : nodes.n_nodes], whole) and not found[:, nodes.n_nodes :].any()


def test_an_array_of_another_shape_is_refused():
    nodes = build_nodes(porous((2, 3, 4)))
    with pytest.raises(GeometryError, match="out has shape"):
        NeighbourSearch(nodes).table(ALL_VECTORS, slice(2), np.empty((len(ALL_VECTORS), 1), dtype=np.int32))


def test_no_vectors_and_no_nodes_give_empty_tables():
    nodes = build_nodes(porous((2, 3, 4)))
    assert neighbour_table(nodes, []).shape == (0, nodes.n_nodes)
    assert neighbour_table(nodes, ALL_VECTORS, []).shape == (len(ALL_VECTORS), 0)


@pytest.mark.parametrize(("n_nodes", "dtype"), [(2**31 - 1, np.int32), (2**31, np.int64)])
def test_node_numbers_are_as_wide_as_they_must_be(n_nodes, dtype):
    few = build_nodes(porous((2, 3, 4)))
    many = replace(few, voxel=np.broadcast_to(np.int64(0), n_nodes), group_start=np.array([0, n_nodes]))
    assert NeighbourSearch(many).table(ALL_VECTORS, slice(0)).dtype == dtype


def test_the_last_wall_number_has_a_link_code_of_its_own():
    names = tuple(str(k) for k in range(MAX_WALLS))
    nodes = build_nodes(Voxels(np.array([[[FLUID, wall_flag(MAX_WALLS - 1)]]], FLAG_DTYPE), walls=names))
    assert neighbour_table(nodes, [(1, 0, 0)]).tolist() == [[FIRST_WALL_LINK - (MAX_WALLS - 1)]]
