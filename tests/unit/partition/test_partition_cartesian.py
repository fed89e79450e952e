"""partition.methods: nested cuts at weight quantiles."""

import numpy as np
import pytest

from muphy_lb.partition.methods import cartesian_cut, parts_per_axis
from muphy_lb.partition.voxels import graph_from_voxels


def box(nx, ny, nz):
    return graph_from_voxels(np.arange(nx * ny * nz), (nz, ny, nx), (False, False, False))


@pytest.mark.parametrize("i, axis", list(enumerate("xyz")))
def test_cut_along_one_axis_makes_slabs(i, axis):
    graph = box(8, 8, 8)
    assert cartesian_cut(graph, 4, axes=axis).tolist() == (graph.coordinates[:, i] // 2).tolist()


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (1, 2)])
def test_cut_along_two_axes_makes_columns(axes):
    graph = box(8, 8, 8)
    first, second = (graph.coordinates[:, i] // 4 for i in axes)
    owner = cartesian_cut(graph, 4, axes="".join("xyz"[i] for i in axes))
    assert owner.tolist() == (2 * first + second).tolist()


def test_cut_along_three_axes_makes_blocks():
    graph = box(8, 8, 8)
    x, y, z = graph.coordinates.T // 4
    assert cartesian_cut(graph, 8, axes="xyz").tolist() == (4 * x + 2 * y + z).tolist()


def test_cut_follows_the_weights():
    weights = np.array([3, 1, 1, 1])
    graph = graph_from_voxels(np.arange(4), (1, 1, 4), (False, False, False), weights)
    assert cartesian_cut(graph, 2, axes="x").tolist() == [0, 1, 1, 1]


def test_first_axis_follows_the_shares_of_its_slabs():
    owner = cartesian_cut(box(4, 4, 12), 4, [4.0, 2.0, 3.0, 3.0], axes="zx")
    assert np.bincount(owner).tolist() == [64, 32, 48, 48]


def test_heavy_first_node_leaves_nodes_for_every_nested_part():
    graph = graph_from_voxels(np.arange(8), (2, 2, 2), (False, False, False), np.array([1000, 1, 1, 1, 1, 1, 1, 1]))
    assert sorted(cartesian_cut(graph, 8, axes="xyz")) == list(range(8))


def test_parts_per_axis_are_near_equal_in_a_cube():
    assert sorted(parts_per_axis(12, (10, 10, 10))) == [2, 2, 3]


def test_parts_per_axis_follow_a_long_box():
    assert parts_per_axis(8, (1000, 10, 10)) == (8, 1, 1)


def test_prime_number_of_parts_cuts_the_longest_axis():
    assert parts_per_axis(7, (10, 30, 20)) == (1, 7, 1)
