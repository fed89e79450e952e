"""The width of a pore is the distance between its walls, whatever their direction."""

import numpy as np
import pytest

from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.porous.pores import pore_widths
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels


def widths(fluid, periodic=(True, True, True)):
    """Widths of the pores of a box of truth values (z, y, x)."""
    flags = np.where(fluid, FLUID, SOLID).astype(FLAG_DTYPE)
    return pore_widths(build_nodes(Voxels(flags, periodic=periodic)))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("width", [1, 2, 5])
def test_between_plates_it_is_their_distance(axis, width):
    fluid = np.zeros((8, 9, 10), bool)
    fluid[tuple(slice(2, 2 + width) if other == axis else slice(None) for other in range(3))] = True
    np.testing.assert_array_equal(widths(fluid), width)


def test_between_diagonal_plates_it_is_their_distance():
    z, y, x = np.mgrid[:2, :12, :12]
    np.testing.assert_allclose(widths((x + y) % 12 < 6), 3 * np.sqrt(2.0), rtol=1e-6)


def test_across_a_periodic_face_a_pore_goes_on_and_at_a_closed_one_it_ends():
    fluid = np.ones((1, 1, 7), bool)
    fluid[..., 3] = False
    np.testing.assert_array_equal(widths(fluid), 6.0)
    np.testing.assert_array_equal(widths(fluid, (False, True, True)), 3.0)


def test_without_walls_there_is_no_width():
    assert np.isinf(widths(np.ones((3, 3, 3), bool))).all()
