"""A new vessel of which something is hardly meant is told."""

from dataclasses import replace
from math import pi
from pathlib import Path

import pytest

from muphy_lb.geometry.openings.find import FoundOpening
from muphy_lb.geometry.voxels import Opening
from muphy_lb.new.kinds import vessel_doubts
from muphy_lb.new.options import CaseOptions

ARTERY = FoundOpening(Opening("inlet", "inlet", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), pi * 1e-4, "flat cap")


@pytest.fixture
def surface(tmp_path):
    """Options with a surface that is there."""
    path = tmp_path / "vessel.stl"
    path.touch()
    return CaseOptions("vessel", file=path, fluid="blood", unit="mm")


def test_nothing_is_said_of_an_artery(surface):
    assert not list(vessel_doubts(surface, [ARTERY, ARTERY], 0.3))


def test_a_vessel_of_the_wrong_unit_is_told(surface):
    for scale, unit in ((1e6, "m"), (1e-8, "um")):
        found = replace(ARTERY, area_m2=ARTERY.area_m2 * scale)
        (text,) = vessel_doubts(replace(surface, unit=unit), [found, found], 0.3)
        assert "m across, and vessels are 3e-06 to 0.1 m wide: check --unit " + unit in text


def test_blood_that_is_too_fast_is_told_but_water_is_not(surface):
    (text,) = vessel_doubts(surface, [ARTERY, ARTERY], 20.0)
    assert "blood of 20 m/s is faster" in text and "--velocity '20 cm/s'" in text
    assert not list(vessel_doubts(replace(surface, fluid="water"), [ARTERY, ARTERY], 20.0))


def test_an_image_that_is_open_all_round_may_be_a_rock(tmp_path):
    path = Path(tmp_path / "rock.npy")
    path.touch()
    sources = [f"face of the box at {end} {axis}" for end in ("low", "high") for axis in "xyz"]
    found = [replace(ARTERY, source=source) for source in sources]
    requested = CaseOptions("vessel", file=path, fluid="blood")
    (text,) = vessel_doubts(requested, found, 0.3)
    assert "meets 6 faces of the box, as that of a rock does" in text and f"muphy-lb new rock {path}" in text
    assert not list(vessel_doubts(requested, found[:2], 0.3))
