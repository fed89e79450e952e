"""partition.tiles: tiles sum up what their nodes have, whatever the chunks in which nodes come."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muphy_lb.partition import tiles
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.methods import tile_cut
from muphy_lb.partition.quality import quality
from muphy_lb.partition.tiles import tile_graph, tile_side
from muphy_lb.partition.voxels import graph_from_voxels


def tile_links_by_definition(graph, side):
    """{(tile, other tile): faces} between the coordinates of tiles, from the links of the nodes."""
    links, place = graph.links, graph.coordinates // side
    source = np.repeat(np.arange(graph.n_nodes), np.diff(links.indptr))
    found = {}
    for one, other in zip(place[source].tolist(), place[links.indices].tolist(), strict=True):
        if one != other:
            found[*one, *other] = found.get((*one, *other), 0) + 1
    return found


def tile_links(tiled):
    graph = tiled.graph
    source = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    ends = np.hstack((graph.coordinates[source], graph.coordinates[graph.indices])).tolist()
    return {tuple(pair): weight for pair, weight in zip(ends, graph.link_weights.tolist(), strict=True)}


def tiled(graph, side, chunk=10**9):
    """Tiles of a graph whose nodes come in chunks of a given size."""
    chunks = (
        (graph.ordered[i : i + chunk], graph.weights[graph.order[i : i + chunk]])
        for i in range(0, graph.n_nodes, chunk)
    )
    return tile_graph(chunks, graph.shape, graph.periodic, side)


@st.composite
def graphs(draw):
    # Not two voxels: a periodic axis of two links a pair twice over, which the node graph lists once, tiles twice.
    shape = draw(st.tuples(*[st.sampled_from([1, 3, 4, 5, 6, 7])] * 3))
    voxel = draw(st.lists(st.integers(0, np.prod(shape).item() - 1), min_size=1, unique=True))
    weights = draw(st.lists(st.integers(1, 9), min_size=len(voxel), max_size=len(voxel)))
    return graph_from_voxels(np.array(voxel), shape, draw(st.tuples(*[st.booleans()] * 3)), np.array(weights))


@settings(max_examples=150, deadline=None)
@given(graphs(), st.integers(1, 4), st.integers(1, 20))
def test_link_weights_are_the_faces_between_tiles(graph, side, chunk):
    assert tile_links(tiled(graph, side, chunk)) == tile_links_by_definition(graph, side)


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(1, 4), st.integers(1, 20))
def test_tile_weights_are_sums_over_their_nodes(graph, side, chunk):
    graph_of_tiles = tiled(graph, side, chunk).graph
    expected = {}
    for place, weight in zip((graph.coordinates // side).tolist(), graph.weights.tolist(), strict=True):
        expected[tuple(place)] = expected.get(tuple(place), 0) + weight
    found = zip(map(tuple, graph_of_tiles.coordinates.tolist()), graph_of_tiles.weights.tolist(), strict=True)
    assert dict(found) == expected


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(1, 4))
def test_nodes_inherit_the_owner_of_their_tile(graph, side):
    tiles_of = tiled(graph, side)
    tile_owner = np.arange(tiles_of.tile.size, dtype=np.int32)
    owner = tiles_of.owner_of_voxels(tile_owner, graph.voxel)
    assert np.array_equal(tiles_of.graph.coordinates[owner], graph.coordinates // side)


@pytest.mark.parametrize("ids", [[[0, 2], [2, 3]], [[0, 3, 2]], [[4], [1]]])
def test_ids_that_do_not_ascend_are_an_error(ids):
    chunks = ((np.array(part), np.ones(len(part), dtype=int)) for part in ids)
    with pytest.raises(PartitionError, match="do not ascend, or one appears twice"):
        tile_graph(chunks, (1, 1, 5), (False,) * 3, 2)


@pytest.mark.parametrize("n_nodes, n_parts", [(10**9, 8), (10**11, 4096), (10**6, 64), (5, 5), (10**8, 2)])
def test_there_are_enough_tiles_a_part_whatever_the_geometry(n_nodes, n_parts):
    side = tile_side(n_nodes, n_parts)
    assert side == 1 or n_nodes / side**3 >= tiles.TILES_PER_PART * n_parts


def test_coarse_tiles_cut_little_more_than_single_nodes(monkeypatch):
    graph = graph_from_voxels(np.flatnonzero(np.random.default_rng(0).random(40**3) < 0.7), (40, 40, 40), (True,) * 3)
    fine = quality(graph, tile_cut(graph, 4), 4)
    monkeypatch.setattr(tiles, "TARGET_TILES", 0)
    coarse = quality(graph, tile_cut(graph, 4), 4)
    assert tile_side(graph.n_nodes, 4) > 1 and coarse.imbalance < 1.03
    assert coarse.edge_cut < 1.3 * fine.edge_cut


def test_the_links_of_nodes_are_never_listed():
    graph = graph_from_voxels(np.arange(1000), (10, 10, 10), (False,) * 3)
    tile_cut(graph, 4)
    assert "links" not in vars(graph) and "coordinates" not in vars(graph)
