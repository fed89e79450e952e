"""What the voxels make of an opening is told where it is not what was asked for."""

from types import SimpleNamespace

from muphy_lb.geometry.voxels import Opening
from muphy_lb.setup.advice.plausibility import resolution_warnings

SPACING_M = 1e-3


def told(across, radius_m=float("inf")):
    """The warnings of an opening with so many voxels across, of a disc of that radius."""
    opening = Opening("outlet", "outlet", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), radius_m)
    return list(resolution_warnings([opening], [SimpleNamespace(radius=0.5 * across)], SPACING_M))


def test_nothing_is_said_of_enough_voxels_and_a_disc_as_large_as_its_opening():
    assert told(8.0) == told(10.0, 5e-3) == told(10.0, 4.4e-3) == []


def test_few_voxels_are_told_with_the_edge_that_would_do():
    (text,) = told(6.0)
    assert "few voxels across openings: outlet 6.0; 8 or more" in text and "geometry.spacing_m = 0.00075" in text


def test_a_disc_of_half_the_radius_whose_opening_is_whole_is_told():
    *_, text = told(6.0, 1.5e-3)
    assert "openings.outlet: radius_m = 0.0015 is less than what opens: a disc of radius 0.003 m" in text
