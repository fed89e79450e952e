"""partition.methods: nested cuts at weight quantiles."""

import numpy as np
import pytest

from muphy_lb.partition.methods import cartesian_cut, parts_per_axis
from muphy_lb.partition.voxels import graph_from_voxels


def box(nx, ny, nz):
    return graph_from_voxels(np.arange(nx * ny * nz), (nz, ny, nx), (False, False, False))


@pytest.mark.parametrize("axes", ["x", "y", "z", "xy", "xz", "yz", "xyz"])
def test_cuts_along_axes_make_slabs_columns_and_blocks(axes):
    graph, expected = box(8, 8, 8), 0
    for axis in axes:
        expected = 2 * expected + graph.coordinates[:, "xyz".index(axis)] // 4
    assert cartesian_cut(graph, 2 ** len(axes), axes=axes).tolist() == expected.tolist()


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


def test_parts_per_axis_follow_the_box():
    assert sorted(parts_per_axis(12, (10, 10, 10))) == [2, 2, 3]
    assert parts_per_axis(8, (1000, 10, 10)) == (8, 1, 1)
    assert parts_per_axis(7, (10, 30, 20)) == (1, 7, 1)
