"""What the voxels make of an opening is told where it is not what was asked for."""

from types import SimpleNamespace

import pytest

from muphy_lb.base.units import Units
from muphy_lb.boundaries.opening_geometry import PRESSURE, VELOCITY, Condition, opening_frames
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.geometry.voxels import Opening
from muphy_lb.lattice import D3Q19
from muphy_lb.setup.advice.plausibility import accuracy_of_stairs, resolution_warnings, slowness_warnings
from tests.channel import open_channel

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


def test_what_stairs_of_a_round_vessel_cost_is_told():
    """Half-way pipes of radius 4 to 6 carry 0.75 to 1.15 of Poiseuille's flow, as they lie in the grid."""
    opening = Opening("outlet", "outlet", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 1.0)
    coarse, fine, flat = (
        list(accuracy_of_stairs([opening], [SimpleNamespace(radius=radius, is_round=is_round)]))
        for radius, is_round in ((5.0, True), (10.0, True), (5.0, False))
    )
    assert "10.0 voxels across, as at outlet" in coarse[0] and "off by some 10 %" in coarse[0]
    assert fine == flat == []


@pytest.mark.parametrize(("shape", "is_round"), [("pipe", True), ("square_duct", False), ("channel", False)])
def test_openings_with_walls_along_the_axes_are_not_round(shape, is_round):
    options = {"pipe": {"radius": 4.3, "axis": "x"}, "square_duct": {"side": 8}, "channel": {"height": 8, "width": 4}}
    nodes = build_nodes(build_shape(shape, length=12, ends="open", **options[shape]))
    assert {frame.is_round for frame in opening_frames(nodes, D3Q19)} == {is_round}


def test_a_disc_of_half_the_radius_whose_opening_is_whole_is_told():
    *_, text = told(6.0, 1.5e-3)
    assert "openings.outlet: radius_m = 0.0015 is less than what opens: a disc of radius 0.003 m" in text


def told_of_drives(force_m_s2, *conditions, precision="fp32"):
    """The warnings of a channel that is driven so, in units in which a voxel and a time step are 1."""
    case = open_channel(flow={"acceleration_m_s2": [force_m_s2, 0.0, 0.0]}, compute={"precision": precision})
    header = SimpleNamespace(periodic=(True, True, True), spacing_m=1.0, shape=(1, 9, 9))
    return list(slowness_warnings(case, header, conditions, SimpleNamespace(units=Units(1.0, 1.0, 1.0))))


@pytest.mark.parametrize(("precision", "force"), [("fp32", 1e-20), ("fp64", 1e-29)])
def test_a_force_that_rounding_hides_is_told(precision, force):
    """Permeability of a channel of nanometres of glycerol in a field of 1 m/s2 was 10 % too small in fp32."""
    (text,) = told_of_drives(force, precision=precision)
    assert f"rounding errors of {precision} hide the flow" in text
    assert told_of_drives(10.0 * force, precision=precision) == told_of_drives(0.0, precision=precision) == []


@pytest.mark.parametrize("conditions", [[Condition(VELOCITY, -1e-12)], [Condition(PRESSURE, x) for x in (0.0, 1e-12)]])
def test_a_flow_that_whole_numbers_of_its_rates_hide_is_told(conditions):
    (text,) = told_of_drives(0.0, *conditions)
    assert "flow rates are counted" in text
    assert told_of_drives(1e-3, *conditions) == told_of_drives(0.0, Condition(PRESSURE, 0.0)) == []
