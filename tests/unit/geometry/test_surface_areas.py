"""The area of a wall around points of it, also of a few triangles much larger than a voxel."""

import numpy as np
import pytest

from muphy_lb.geometry.surfaces import surface_areas
from muphy_lb.geometry.surfaces.surface_areas import areas_around


def test_large_triangles_are_cut_up_a_few_at_a_time(monkeypatch):
    size, side = np.array([12.0, 10.0, 8.0]), np.array([[0.0, 0.0], [11.0, 0.0], [0.0, 9.0], [11.0, 9.0]]) - 0.5
    x, y = np.meshgrid(np.arange(11.0), np.arange(9.0))
    corners = np.insert(side[[[0, 1, 2], [3, 2, 1]]], 2, 3.25, axis=2)
    points = np.stack((x.ravel(), y.ravel(), np.full(x.size, 3.0)), axis=1)
    whole = areas_around(points, corners, size)
    assert whole.sum() == pytest.approx(11.0 * 9.0, rel=0.02)
    made, cut_up = [], surface_areas._cut_up

    def counted(chunk, step, size, pieces):
        made.append(len(pieces))
        return cut_up(chunk, step, size, pieces)

    monkeypatch.setattr(surface_areas, "MOST_PIECES", 300)
    monkeypatch.setattr(surface_areas, "_cut_up", counted)
    np.testing.assert_allclose(areas_around(points, corners, size), whole)
    assert np.count_nonzero(made) == 2 and sum(made) > surface_areas.MOST_PIECES
