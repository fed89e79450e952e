"""partition.graph: links are what shares a face, each stored from both ends and once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.graph import Graph, graph_from_neighbours
from muphy_lb.partition.voxels import graph_from_voxels

OPEN = (False, False, False)


def links(graph):
    """All directed links as sorted pairs of coordinates."""
    graph = getattr(graph, "links", graph)
    source = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    return sorted(map(tuple, np.hstack((graph.coordinates[source], graph.coordinates[graph.indices])).tolist()))


def links_by_definition(voxel, shape, periodic):
    """The same pairs found voxel by voxel."""
    size = shape[::-1]
    points = {(v % size[0], v // size[0] % size[1], v // (size[0] * size[1])) for v in voxel.tolist()}
    found = set()
    for point in points:
        for i in range(3):
            for step in (-1, 1):
                other = list(point)
                other[i] += step
                if periodic[i]:
                    other[i] %= size[i]
                if tuple(other) in points and tuple(other) != point:
                    found.add((*point, *other))
    return sorted(found)


@st.composite
def voxel_boxes(draw):
    shape = draw(st.tuples(*[st.integers(1, 5)] * 3))
    ids = draw(st.lists(st.integers(0, np.prod(shape).item() - 1), min_size=1, unique=True))
    return np.array(ids), shape, draw(st.tuples(*[st.booleans()] * 3))


@settings(max_examples=100, deadline=None)
@given(voxel_boxes())
def test_links_join_the_voxels_that_share_a_face(box):
    assert links(graph_from_voxels(*box)) == links_by_definition(*box)


def test_links_are_right_beyond_one_chunk():
    voxel = np.flatnonzero(np.random.default_rng(0).random(20 * 25 * 30) < 0.6)
    box = voxel[::-1], (20, 25, 30), (True, False, True)
    assert links(graph_from_voxels(*box)) == links_by_definition(*box)


def test_node_numbers_are_positions_in_the_voxel_list():
    graph = graph_from_voxels(np.array([23, 0, 5]), (2, 3, 4), OPEN)
    assert graph.coordinates.tolist() == [[3, 2, 1], [0, 0, 0], [1, 1, 0]]


def test_arrays_are_what_metis_takes_without_a_copy():
    graph = graph_from_voxels(np.arange(8, dtype=np.int32), (2, 2, 2), OPEN, np.full(8, 3, dtype=np.uint8)).links
    assert {array.dtype for array in (graph.indptr, graph.indices, graph.weights)} == {np.dtype(np.int64)}


def test_weights_are_ones_by_default():
    assert graph_from_voxels(np.arange(3), (1, 1, 3), OPEN).weights.tolist() == [1, 1, 1]


def test_table_and_voxels_give_the_same_graph():
    table = np.array([[-1, 0, 1], [1, 2, -2]], dtype=np.int32)
    coordinates = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    assert links(graph_from_neighbours(table, coordinates)) == links(graph_from_voxels(np.arange(3), (1, 1, 3), OPEN))


def test_one_way_link_is_an_error_that_names_it():
    with pytest.raises(PartitionError, match="node 0 has neighbour 2, .* opposite"):
        graph_from_neighbours(np.array([[2, -1, -1]]), np.zeros((3, 3), dtype=int))


def test_neighbour_beyond_the_last_node_is_an_error():
    with pytest.raises(PartitionError, match="number 3, but nodes are 0 to 2"):
        graph_from_neighbours(np.array([[3, -1, -1]]), np.zeros((3, 3), dtype=int))


@pytest.mark.parametrize(
    ("voxel", "weights", "message"),
    [
        ([0, -1], None, "-1 lies outside the box of 24 voxels"),
        ([0, 24], None, "24 lies outside the box of 24 voxels"),
        ([7, 1, 7], None, "voxel id 7 appears twice"),
        ([0, 1], [1, 0], "node 1 has weight 0"),
        ([0, 1], [1.5, 2.5], "type float64"),
    ],
)
def test_voxels_and_weights_that_cannot_be_are_an_error(voxel, weights, message):
    with pytest.raises(PartitionError, match=message):
        graph_from_voxels(np.array(voxel), (2, 3, 4), OPEN, weights and np.array(weights))


def test_arrays_of_different_length_are_an_error():
    with pytest.raises(PartitionError, match=r"allowed are \(2, 3\) and \(2,\)"):
        Graph(np.zeros(3, dtype=int), np.zeros(0, dtype=int), np.zeros((2, 3), dtype=int), np.ones(5, dtype=int))
