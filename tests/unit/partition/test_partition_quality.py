"""partition.quality: the numbers of partitionings that can be counted by hand."""

import numpy as np
import pytest

from partition.graph import graph_from_voxels
from partition.quality import BYTES_PER_LINK, quality, quality_table

OPEN = (False, False, False)


def square():
    """4 x 4 nodes in a plane, four quarters as parts."""
    graph = graph_from_voxels(np.arange(16), (1, 4, 4), OPEN)
    x, y, _ = graph.coordinates.T
    return graph, (x // 2 + 2 * (y // 2)).astype(np.int32)


@pytest.fixture
def quarters():
    return quality(*square(), 4)


def test_equal_parts_have_imbalance_one(quarters):
    assert quarters.imbalance == 1.0


def test_imbalance_is_the_heaviest_part_over_the_mean():
    graph = graph_from_voxels(np.arange(3), (1, 1, 3), OPEN, np.array([1, 1, 4]))
    assert quality(graph, np.array([0, 0, 1]), 2).imbalance == pytest.approx(4 / 3)


def test_each_cut_link_counts_once(quarters):
    assert quarters.edge_cut == 8


def test_neighbours_share_a_face(quarters):
    assert (quarters.mean_neighbours, quarters.max_neighbours) == (2.0, 2)


def test_halo_counts_each_cut_link_in_both_directions(quarters):
    assert (quarters.halo_bytes, quarters.max_halo_bytes) == (16 * BYTES_PER_LINK, 4 * BYTES_PER_LINK)


def test_halo_is_in_proportion_to_the_bytes_per_link():
    assert quality(*square(), 4, bytes_per_link=40).halo_bytes == 16 * 40


def test_boundary_nodes_touch_another_part(quarters):
    assert quarters.boundary_nodes == 12


def test_one_part_cuts_nothing():
    graph, owner = square()
    alone = quality(graph, np.zeros_like(owner), 1)
    assert (alone.edge_cut, alone.max_neighbours, alone.halo_bytes, alone.boundary_nodes) == (0, 0, 0, 0)


def test_text_names_every_number(quarters):
    assert str(quarters) == (
        "4 parts, imbalance 1.0000, edge cut 8, neighbours 2.0 (at most 2),"
        " halo bytes per step 128 (at most 32 a rank), boundary nodes 12"
    )


def test_table_lines_have_equal_width(quarters):
    lines = quality_table({"a": quarters, "a longer name": quarters}).splitlines()
    assert len(lines) == 3 and len(set(map(len, lines))) == 1
