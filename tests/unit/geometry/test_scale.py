"""A place far outside the box is told the unit that it seems to be given in."""

import pytest

from muphy_lb.geometry.openings.carve import unit_hint

BOX = {"origin_m": (0.01, 0.0, 0.0), "shape": (50, 20, 20), "spacing_m": 1e-3}


@pytest.mark.parametrize(("point", "words"), [([20.0, 10.0, 25.0], "mm"), ([2.0, 1.0, 2.5], "cm")])
def test_the_unit_is_named_with_the_place_in_metres(point, words):
    hint = unit_hint(point, **BOX)
    assert f"looks like {words}" in hint and "[0.02, 0.01, 0.025]" in hint


@pytest.mark.parametrize("point", [[0.02, 0.01, 0.025], [0.06, 0.01, 0.025], [1e9, 0.0, 0.0]])
def test_of_other_places_nothing_is_said(point):
    assert unit_hint(point, **BOX) == ""
