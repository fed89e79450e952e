"""partition.curve: the Hilbert curve visits every point once and steps to a neighbour."""

import numpy as np
import pytest

from muphy_lb.partition.curve import hilbert_index


def cube_points(n_axes, n_bits):
    return np.stack(np.meshgrid(*[np.arange(1 << n_bits)] * n_axes, indexing="ij"), -1).reshape(-1, n_axes)


@pytest.mark.parametrize("n_axes, n_bits", [(1, 4), (2, 4), (3, 1), (3, 4)])
def test_index_numbers_the_points_of_a_cube_from_neighbour_to_neighbour(n_axes, n_bits):
    index = hilbert_index(cube_points(n_axes, n_bits))
    assert sorted(index) == list(range(1 << n_axes * n_bits))
    points = cube_points(n_axes, n_bits)
    path = points[np.argsort(hilbert_index(points))]
    assert np.all(np.abs(np.diff(path, axis=0)).sum(axis=1) == 1)


def test_plane_gets_the_curve_of_two_dimensions():
    plane = cube_points(2, 4)
    assert np.array_equal(hilbert_index(np.insert(plane, 2, 7, axis=1)), hilbert_index(plane))


def test_index_bears_any_origin_and_extent():
    points = cube_points(3, 2)
    assert np.array_equal(hilbert_index(points - 1000), hilbert_index(points))
    assert hilbert_index(np.array([[0, 0, 0], [2**40, 2**40, 2**40], [2**40, 0, 3]])).min() == 0
    assert hilbert_index(np.array([[4, 5, 6]])).tolist() == [0]
