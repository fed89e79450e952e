"""Planes that count particles: crossings between places, images, planes that nothing can cross."""

from types import SimpleNamespace

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.physics.particles.measures import PlaneCounts

SPACING_M = 1e-3


def counts(
    point_m=(4e-3, 0.0, 0.0), normal=(1.0, 0.0, 0.0), periodic=(False, False, False), dimension=3
) -> PlaneCounts:
    """One plane in a box of eight voxels along x and y, and of eight or one along z."""
    depth = 8 if dimension == 3 else 1
    header = SimpleNamespace(
        shape=(depth, 8, 8), periodic=periodic, spacing_m=SPACING_M, origin_m=np.array([0.1, 0.2, 0.3])
    )
    plane = SimpleNamespace(name="cut", point_m=tuple(np.array(point_m) + header.origin_m), normal=normal)
    return PlaneCounts(SimpleNamespace(name="dye", planes=(plane,)), header, dimension)


def places(*xyz_m) -> np.ndarray:
    """(n, 3) positions in the coordinates of the box."""
    return np.array(xyz_m, dtype=float) + [0.1, 0.2, 0.3]


def test_crossings_against_the_normal_are_taken_off():
    now = places([5e-3, 0, 0], [6e-3, 0, 0], [1e-3, 0, 0], [7e-3, 0, 0])
    come = np.array([[2e-3, 0, 0], [3e-3, 1e-3, 0], [-4e-3, 0, 0], [1e-3, 0, 0]])
    assert counts().numbers(now, come) == [2 - 1]
    assert counts(normal=(-3.0, 0.0, 0.0)).numbers(now, come) == [1 - 2]


def test_images_of_a_plane_count_in_a_periodic_box():
    periodic = counts(periodic=(True, True, False))
    assert periodic.numbers(places([3e-3, 0, 0]), np.array([[20e-3, 0, 0]])) == [2]
    assert periodic.numbers(places([5e-3, 0, 0]), np.array([[-14e-3, 0, 0]])) == [-1]


def test_a_particle_that_starts_in_the_plane_has_not_crossed_it_however_its_place_is_rounded():
    random = np.random.default_rng(5)
    come = np.column_stack((random.uniform(1e-4, 3e-3, 400), np.zeros((400, 2))))
    start = np.tile(places([4e-3, 0, 0]), (400, 1))
    assert counts().numbers(start + come, come) == [0]
    assert counts().numbers(start - come, -come) == [-400]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"normal": (1.0, 0.0, 2.0), "periodic": (True, False, False)}, "inclined to the periodic axis x"),
        ({"normal": (0.0, 0.0, 1.0), "dimension": 2, "point_m": (0, 0, 0)}, "along which no particle of a plane flow"),
        ({"point_m": (9e-3, 0.0, 0.0)}, "planes.cut is outside the box of the geometry"),
    ],
)
def test_planes_that_cannot_be_are_refused(keys, words):
    with pytest.raises(InputError, match=words):
        counts(**keys)
