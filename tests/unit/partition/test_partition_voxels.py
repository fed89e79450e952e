"""partition.voxels: places and neighbours of nodes, and their stream in ascending order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muphy_lb.partition import voxels
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.voxels import graph_from_voxels


def neighbour_by_definition(voxel, shape, periodic, vector):
    """Position of each neighbour in the voxel list, found one by one."""
    size, number = shape[::-1], {v: n for n, v in enumerate(voxel.tolist())}
    found = []
    for v in voxel.tolist():
        x = [v % size[0] + vector[0], v // size[0] % size[1] + vector[1], v // (size[0] * size[1]) + vector[2]]
        x = [a % s if wraps else a for a, s, wraps in zip(x, size, periodic, strict=True)]
        inside = all(0 <= a < s for a, s in zip(x, size, strict=True))
        found.append(number.get((x[2] * size[1] + x[1]) * size[0] + x[0], -1) if inside else -1)
    return found


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_neighbours_lie_one_vector_away(data):
    shape = data.draw(st.tuples(*[st.integers(1, 5)] * 3))
    voxel = np.array(data.draw(st.lists(st.integers(0, np.prod(shape).item() - 1), min_size=1, unique=True)))
    periodic = data.draw(st.tuples(*[st.booleans()] * 3))
    vector = data.draw(st.tuples(*[st.integers(-2, 2)] * 3))
    found = graph_from_voxels(voxel, shape, periodic).neighbours(vector)
    assert found.tolist() == neighbour_by_definition(voxel, shape, periodic, vector)


def test_diagonal_neighbours_are_right_beyond_one_chunk():
    voxel = np.flatnonzero(np.random.default_rng(0).random(20 * 25 * 30) < 0.6)[::-1]
    frame = (20, 25, 30), (True, False, True)
    expected = neighbour_by_definition(voxel, *frame, (1, -1, 1))
    assert graph_from_voxels(voxel, *frame).neighbours((1, -1, 1)).tolist() == expected


@pytest.mark.parametrize("n_runs", [1, 3, 1000])
def test_chunks_hold_every_node_in_ascending_order(monkeypatch, n_runs):
    monkeypatch.setattr(voxels, "CHUNK_NODES", 700)
    rng = np.random.default_rng(n_runs)
    voxel = np.flatnonzero(rng.random(20 * 20 * 20) < 0.5)
    run = rng.integers(0, n_runs, voxel.size)
    voxel = voxel[np.argsort(run, kind="stable")]
    graph = graph_from_voxels(voxel, (20, 20, 20), (False,) * 3, 1 + voxel % 7)
    ids, weights = (np.concatenate(parts) for parts in zip(*graph.chunks(), strict=True))
    assert ids.tolist() == sorted(voxel) and weights.tolist() == (1 + ids % 7).tolist()


def test_weights_of_another_length_are_an_error():
    with pytest.raises(PartitionError, match=r"weights of shape \(3,\) for 2 nodes"):
        graph_from_voxels(np.arange(2), (1, 1, 2), (False,) * 3).with_weights(np.ones(3, dtype=int))
