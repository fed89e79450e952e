"""partition.halo: loads are those found link by link."""

import numpy as np
import pytest

from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.halo import NEAREST, Exchange, count_loads
from muphy_lb.partition.voxels import graph_from_voxels

CUBE = np.array([v for v in np.ndindex(3, 3, 3) if v != (1, 1, 1)]) - 1


def random_graph(periodic=(True, False, True)):
    rng = np.random.default_rng(5)
    voxel = rng.permutation(np.flatnonzero(rng.random(9 * 8 * 7) < 0.7))
    return graph_from_voxels(voxel, (9, 8, 7), periodic, 2 * rng.integers(1, 4, voxel.size))


def loads_by_definition(graph, owner, n_parts, vectors):
    """Populations and neighbours of each part, and which nodes are edge nodes."""
    pairs, edge = np.zeros((n_parts, n_parts), dtype=int), np.zeros(graph.n_nodes, dtype=bool)
    for vector in vectors:
        for n, far in enumerate(graph.neighbours(vector).tolist()):
            if far >= 0 and owner[far] != owner[n]:
                pairs[owner[n], owner[far]] += 1
                edge[n] = True
    return pairs.sum(axis=1), (pairs > 0).sum(axis=1), edge


def test_default_vectors_are_the_moving_directions_of_d3q19():
    assert len(NEAREST) == 18 and set(np.abs(NEAREST).sum(axis=1).tolist()) == {1, 2}


@pytest.mark.parametrize("vectors", [NEAREST, CUBE, 2 * NEAREST], ids=["D3Q19", "D3Q27", "far"])
@pytest.mark.parametrize("periodic", [(False,) * 3, (True,) * 3])
def test_loads_are_those_of_every_directed_link(vectors, periodic):
    graph = random_graph(periodic)
    owner = np.random.default_rng(6).integers(0, 5, graph.n_nodes)
    (load,) = count_loads(graph, [owner], 5, Exchange(vectors))
    populations, neighbours, edge = loads_by_definition(graph, owner, 5, vectors)
    assert load.populations.tolist() == populations.tolist()
    assert load.neighbours.tolist() == neighbours.tolist()
    assert load.edge_nodes == edge.sum()
    assert load.edge_work.tolist() == np.bincount(owner[edge], graph.weights[edge] / 2, 5).tolist()


def test_work_is_counted_in_nodes_of_the_lightest_kind():
    graph = random_graph()
    (load,) = count_loads(graph, [np.zeros(graph.n_nodes, dtype=int)], 1, Exchange())
    assert load.work.tolist() == [graph.weights.sum() / 2]


def test_partitionings_counted_together_are_as_counted_alone():
    graph = random_graph()
    owners = [np.random.default_rng(k).integers(0, 3, graph.n_nodes) for k in range(3)]
    together = count_loads(graph, owners, 3, Exchange())
    alone = [count_loads(graph, [owner], 3, Exchange())[0] for owner in owners]
    assert [load.populations.tolist() for load in together] == [load.populations.tolist() for load in alone]


@pytest.mark.parametrize("vectors", [[(1, 0, 0)], [(0, 0, 0)]])
def test_vector_without_its_opposite_is_an_error(vectors):
    with pytest.raises(PartitionError, match="has no opposite"):
        Exchange(np.array(vectors))
