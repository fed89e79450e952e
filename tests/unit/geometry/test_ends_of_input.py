from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.geometry.clean import clean
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.openings.find import (
    describe_ends,
    end_states,
    end_warnings,
    openings_of_surface,
    openings_of_voxels,
    with_image_ends,
    with_surface_ends,
)
from muphy_lb.geometry.surfaces.mend import mend
from muphy_lb.geometry.surfaces.surface import voxelise
from muphy_lb.geometry.voxels import FLUID, Voxels
from tests.unit.geometry.surfaces import rotated, tube

SPACING = 0.125  # 16 voxels across a tube of radius 1


def states(voxels, openings):
    carved = carve(voxels, openings) if openings else voxels
    nodes, _ = clean(build_nodes(carved), "openings" if openings else "all")
    return end_states(carved, nodes)


def turned_tube(ends):
    mended = mend(rotated(tube(ends=ends))[0])
    voxels = with_surface_ends(voxelise(mended.surface, SPACING), mended)
    return voxels, [item.opening for item in openings_of_surface(mended)]


@pytest.mark.parametrize("ends", [("open", "open"), ("flat", "flat")])
def test_ends_with_openings_are_named_and_not_warned_of(ends):
    voxels, openings = turned_tube(ends)
    found = states(voxels, openings)
    assert list(end_warnings(found)) == []
    assert describe_ends(found) == "2 ends of the input: opened by inlet, outlet_1"


@pytest.mark.parametrize("ends", [("open", "open"), ("flat", "flat")])
def test_an_end_without_an_opening_is_warned_of_with_place_area_and_remedy(ends):
    voxels, openings = turned_tube(ends)
    found = states(voxels, openings[:1])
    (text,) = end_warnings(found)
    centre = ", ".join(f"{round(c, 12) + 0.0:.5g}" for c in openings[1].centre_m)
    for part in (f"at ({centre}) m", "of 3.106 m2", "has no opening: it is a wall", f"centre_m = [{centre}]"):
        assert part in text
    assert "1 without an opening" in describe_ends(found)


def test_a_disc_smaller_than_its_end_is_warned_of_with_the_share_that_is_walled():
    voxels, openings = turned_tube(("open", "open"))
    radius = 0.5 - 1.5 * SPACING  # openings reach 1.5 voxels beyond their disc
    small = replace(openings[1], radius_m=radius)
    found = states(voxels, [openings[0], small])
    (text,) = end_warnings(found)
    assert f"in part by {small.name}" in text and "enlarge radius_m to 1" in text
    assert max(state.walled for state in found) == pytest.approx(0.75, abs=0.05)


def test_an_end_behind_an_opening_that_lies_further_inside_is_not_warned_of():
    voxels, openings = turned_tube(("open", "open"))
    inside = replace(openings[1], centre_m=tuple(np.add(openings[1].centre_m, np.multiply(2.0, openings[1].normal))))
    found = states(voxels, [openings[0], inside])
    assert list(end_warnings(found)) == []
    assert "1 behind an opening" in describe_ends(found)


def test_open_ends_are_warned_of_without_any_opening_but_flat_ends_are_not():
    for ends, n in ((("open", "open"), 2), (("flat", "flat"), 0)):
        assert len(list(end_warnings(states(turned_tube(ends)[0], [])))) == n


def test_a_section_of_an_image_at_its_box_is_warned_of_unless_an_opening_lies_there():
    flags = np.zeros((10, 12, 14), np.uint8)
    flags[4:6, 3:7, :] = FLUID
    voxels = with_image_ends(Voxels(flags, 0.5, (1.0, 2.0, 3.0)))
    openings = [item.opening for item in openings_of_voxels(voxels)]
    assert list(end_warnings(states(voxels, openings))) == []
    (text,) = end_warnings(states(voxels, openings[:1]))
    assert "face of the box at high x" in text and "of 2 m2" in text


def test_fluid_in_parts_that_cleaning_drops_is_not_warned_of():
    flags = np.zeros((10, 12, 14), np.uint8)
    flags[2:4, 3:5, :] = flags[6:8, 8:10, :] = FLUID
    voxels = with_image_ends(Voxels(flags))
    openings = [item.opening for item in openings_of_voxels(voxels) if item.opening.centre_m[2] < 5]
    assert len(voxels.ends) == 4 and len(openings) == 2
    assert list(end_warnings(states(voxels, openings))) == []


def test_whole_faces_of_a_rock_are_named_but_not_warned_of():
    pores = np.random.default_rng(1).random((24, 24, 24)) < 0.15
    found = states(
        with_image_ends(Voxels(np.where(pores, FLUID, 0).astype(np.uint8), periodic=(True, False, True))), []
    )
    assert describe_ends(found) == "2 ends of the input: walls at the faces of the box at high y, low y"
    assert list(end_warnings(found)) == []
