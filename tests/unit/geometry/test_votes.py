"""Voxels by votes along three axes agree with those of the clean surface, and tell what was doubtful."""

import re

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.surfaces.mend import close_roughly, mend
from muphy_lb.geometry.surfaces.surface import Surface, voxelise
from muphy_lb.geometry.surfaces.votes import voxelise_by_votes
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
