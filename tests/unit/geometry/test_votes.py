"""Voxels by votes along three axes agree with those of the clean surface, and tell what was doubtful."""

import re

import numpy as np
import pytest
from matplotlib.image import imread

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.openings.preview import draw_surface_openings
from muphy_lb.geometry.surfaces.mend import close_roughly, mend
from muphy_lb.geometry.surfaces.surface import Surface, odd_rows, voxelise, voxelise_by_votes
from tests.unit.geometry.surfaces import sphere, tube

EDGE = 0.05


def broken(surface, n):
    """A surface of which many triangles are missing, and many have a fin on an edge: too many to be cut out."""
    random = np.random.default_rng(1)
    chosen = random.choice(len(surface.triangles), n + n // 3, replace=False)
    missing, finned = chosen[n:], chosen[:n]
    points = np.vstack((surface.points, surface.points[surface.triangles[finned, 2]] * 0.999))
    fins = np.column_stack((surface.triangles[finned, :2], len(surface.points) + np.arange(n)))
    return Surface(points, np.vstack((np.delete(surface.triangles, missing, axis=0), fins)), 1.0)


@pytest.mark.parametrize("surface", [sphere(1.0, 4), tube(n_sides=48, n_rings=40)], ids=["sphere", "tube"])
def test_a_clean_surface_has_the_same_voxels_by_votes(surface):
    voxels, note = voxelise_by_votes(surface, EDGE)
    np.testing.assert_array_equal(voxels.flags, voxelise(surface, EDGE).flags)
    assert " 0 of " in note


@pytest.mark.parametrize(
    ("surface", "n"), [(sphere(1.0, 4), 50), (tube(n_sides=48, n_rings=40), 150)], ids=["sphere", "tube"]
)
def test_a_badly_broken_surface_has_nearly_the_voxels_of_the_clean_one(surface, n):
    damaged = broken(surface, n)
    with pytest.raises(GeometryError, match=r"cannot be mended.*or take the option vote = true"):
        mend(damaged)
    voxels, note = voxelise_by_votes(close_roughly(damaged).surface, EDGE)
    clean = voxelise(surface, EDGE)
    assert voxels.shape == clean.shape
    assert np.count_nonzero(voxels.flags != clean.flags) < 1e-3 * clean.n_fluid
    assert int(re.search(r"(\d+) of \d+ rows", note)[1]) > 0


def test_a_surface_with_too_many_doubtful_rows_is_refused():
    surface = sphere(1.0, 2)
    gone = Surface(surface.points, surface.triangles[::2], 1.0)
    with pytest.raises(GeometryError, match="cross it an odd number of times"):
        voxelise_by_votes(gone, EDGE)


def test_the_rows_that_give_no_vote_are_where_triangles_are_missing():
    surface = sphere(1.0, 4)
    centre = surface.points[surface.triangles].mean(axis=1)
    hole = int(np.argmin(np.linalg.norm(centre - centre[np.argmax(centre[:, 2])], axis=1)))
    damaged = Surface(surface.points, np.delete(surface.triangles, hole, axis=0), 1.0)
    rows = odd_rows(damaged, 0.01)
    seen = rows.seen((0, 1, 2))
    y, x = np.nonzero(seen)
    at = rows.origin_m[:2] + 0.01 * np.stack((x, y), axis=1)
    corners = surface.points[surface.triangles[hole]][:, :2]
    assert rows.count == rows.odd[2].sum() + rows.odd[0].sum() + rows.odd[1].sum() and len(at) > 10
    assert np.all(at >= corners.min(axis=0) - 0.01) and np.all(at <= corners.max(axis=0) + 0.01)
    assert odd_rows(surface, EDGE).count == 0


def test_the_preview_shows_the_rows_that_give_no_vote(tmp_path):
    surface = sphere(1.0, 3)
    odd = odd_rows(Surface(surface.points, surface.triangles[:-9], 1.0), EDGE)
    draw_surface_openings(tmp_path / "preview.png", surface, (), "sphere", odd)
    red, green, blue = np.moveaxis(imread(tmp_path / "preview.png")[..., :3], -1, 0)
    assert np.count_nonzero((red > 0.8) & (green < 0.1) & (blue > 0.7)) > 20
