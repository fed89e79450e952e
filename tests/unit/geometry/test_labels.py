"""Laws of labels picked by a box: solid voxels inside it, all of them and no others."""

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.labels import label_box
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, WALL, Opening, Voxels, opening_flag, wall_flag

SPACING_M, ORIGIN_M = 1e-3, (0.01, 0.02, 0.03)
ENDS = (Opening("in", "inlet", ORIGIN_M, (1, 0, 0)),)


def image(**changes):
    """5 x 4 x 3 voxels of all kinds at random, some of a wall that has its label."""
    kinds = np.array([SOLID, FLUID, WALL, opening_flag(0), wall_flag(0)], FLAG_DTYPE)
    flags = kinds[np.random.default_rng(2).integers(kinds.size, size=(3, 4, 5))]
    return Voxels(flags, SPACING_M, ORIGIN_M, openings=ENDS, walls=("old",), **changes)


def box_m(low, high):
    """Corners [m] of a box given in voxel coordinates."""
    return tuple(tuple(np.array(ORIGIN_M) + SPACING_M * np.array(corner)) for corner in (low, high))


def test_every_unlabelled_solid_voxel_in_the_box_gets_the_label():
    """And all others, and the image itself, stay as they were; a new name comes after those that are there."""
    before = image()
    after = label_box(before, "new", *box_m((0.5, 0.5, -9.0), (3.2, 2.9, 1.0)))
    z, y, x = np.indices(before.shape)
    inside = (x >= 1) & (x <= 3) & (y >= 1) & (y <= 2) & (z <= 1)
    chosen = inside & np.isin(before.flags, (SOLID, WALL))
    assert chosen.any() and set(before.flags[inside]) == {SOLID, FLUID, WALL, opening_flag(0), wall_flag(0)}
    assert np.array_equal(after.flags, np.where(chosen, wall_flag(1), before.flags)) and after.walls == ("old", "new")
    assert np.array_equal(before.flags, image().flags)


def test_voxels_on_the_border_of_the_box_belong_to_it():
    solid = Voxels(np.full((1, 1, 5), SOLID, FLAG_DTYPE), SPACING_M, ORIGIN_M)
    labelled = label_box(solid, "part", *box_m((1, 0, 0), (3, 0, 0)))
    assert (labelled.flags.ravel() == wall_flag(0)).tolist() == [False, True, True, True, False]


def test_a_name_that_is_there_grows():
    before = image()
    after = label_box(before, "old", *box_m((0, 0, 0), (4, 3, 2)))
    grown = np.isin(before.flags, (SOLID, WALL, wall_flag(0)))
    assert after.walls == ("old",) and np.array_equal(after.flags == wall_flag(0), grown)


@pytest.mark.parametrize(("low", "high"), [((9, 0, 0), (10, 1, 1)), ((3, 3, 2), (1, 1, 0)), ((0.2, 0, 0), (0.8, 3, 2))])
def test_a_box_without_solid_voxels_is_refused(low, high):
    with pytest.raises(GeometryError, match=r"walls.new: its box from .* holds no solid voxel; the image extends from"):
        label_box(image(), "new", *box_m(low, high))
