"""Gauges tell the level over a point and the pressure there."""

import json

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.output.series import read_series
from muphy_lb.physics.free_surface.observers import placed_gauge
from muphy_lb.physics.free_surface.section import GaugeSection
from tests.unit.muphy_lb.physics.free_surface.cases import dam, run
from tests.unit.muphy_lb.physics.free_surface.test_isosurface import ORIGIN_M, SPACING_M, below, box

UP = np.array([0.0, 1.0, 0.0])
GAUGES = (
    "gauges = [{ name = 'deep', position_m = [4e-3, 1e-3, 0.0] }, { name = 'gas', position_m = [4e-3, 8e-3, 0.0] }]"
)


def gauge(nodes, voxels, up=UP):
    """A gauge at a place in voxels from the first centre."""
    position_m = tuple(np.asarray(ORIGIN_M) + SPACING_M * np.array(voxels))
    return placed_gauge(GaugeSection(name="g", position_m=position_m), nodes, np.array(up, dtype=float))


@pytest.mark.parametrize("height", [2.5, 3.0, 3.2])
@pytest.mark.parametrize("turned", [False, True])
def test_the_level_is_where_the_surface_is(height, turned):
    nodes = box((3, 8, 7), lambda x, y, z: (y == 0) & (x > 2))
    filling = below(nodes, height)
    if turned:  # gravity along +y: what was gas lies at the bottom
        filling, up, sign = 1.0 - filling, -UP, -1.0
    else:
        up, sign = UP, 1.0
    level_m = sign * (ORIGIN_M[1] + SPACING_M * height)
    for place in ((1, 2, 1), (5, 2.3, 0.8), (5, 7.4, 2)):
        assert gauge(nodes, place, up).level_m(filling) == pytest.approx(level_m)


def test_the_level_under_tilted_gravity_is_the_height_of_the_surface_over_the_point():
    nodes, up = box((3, 8, 7)), np.array([0.6, 0.8, 0.0])
    surface_m = np.array([ORIGIN_M[0] + 2 * SPACING_M, ORIGIN_M[1] + 4.0 * SPACING_M, 0.0])
    assert gauge(nodes, (2, 1, 1), up).level_m(below(nodes, 4.0)) == pytest.approx(up @ surface_m)


def test_a_ceiling_ends_the_column():
    nodes = box((3, 9, 7), lambda x, y, z: y == 4)
    assert gauge(nodes, (2, 1, 1)).level_m(np.ones(nodes.n_nodes)) == pytest.approx(ORIGIN_M[1] + 3.5 * SPACING_M)


def test_the_pressure_is_that_of_the_liquid_and_not_a_number_in_gas():
    nodes = box((3, 8, 7))
    filling, y = below(nodes, 5.5), nodes.coordinates()[:, 1]
    pressure = np.where(filling > 0.0, 100.0 - 10.0 * y, 1e9)
    assert gauge(nodes, (2, 1.25, 1)).pressure_pa(filling, pressure) == pytest.approx(87.5)
    assert gauge(nodes, (2, -0.4, 1)).pressure_pa(filling, pressure) == pytest.approx(100.0)  # beside the wall
    assert gauge(nodes, (2, 5.2, 1)).pressure_pa(filling, pressure) == pytest.approx(50.0)  # beside gas
    assert np.isnan(gauge(nodes, (2, 5.8, 1)).pressure_pa(filling, pressure))


@pytest.mark.parametrize("place", [(2, 8, 1), (-0.6, 2, 1), (5, 0, 1), (1e9, 0, 0)])
def test_a_gauge_outside_the_fluid_is_refused(place):
    nodes = box((3, 8, 7), lambda x, y, z: (y == 0) & (x > 2))
    with pytest.raises(InputError, match=r"free_surface.gauges.g: position_m is \(.*not in the fluid.*move it"):
        gauge(nodes, place)


def test_a_run_writes_a_column_for_each_quantity(tmp_path):
    pool = "level_m = 4.5e-3"
    run(dam(tmp_path, GAUGES, liquid=pool), tmp_path / "out")
    series = read_series(tmp_path / "out" / "gauges.csv")
    names = ["deep_level_m", "deep_pressure_pa", "gas_level_m", "gas_pressure_pa"]
    assert list(series) == ["step", "time_s", *names] and series["step"].tolist() == [10, 20]
    assert series["deep_level_m"] == pytest.approx([4.5e-3] * 2, rel=1e-3)
    assert series["deep_pressure_pa"] == pytest.approx([1000.0 * 9.81 * 3.5e-3] * 2, rel=0.1)  # the start can be heard
    assert np.isnan(series["gas_pressure_pa"]).all()
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["gauges"]["gas"]["pressure_pa"] is None
    assert summary["gauges"]["deep"]["level_m"] == pytest.approx(4.5e-3, rel=1e-3)


def test_without_gravity_there_is_no_level(tmp_path):
    run(dam(tmp_path, GAUGES, gravity="[0.0, 0.0, 0.0]"), tmp_path / "out")
    assert list(read_series(tmp_path / "out" / "gauges.csv"))[2:] == ["deep_pressure_pa", "gas_pressure_pa"]


def test_two_gauges_of_one_name_are_refused(tmp_path):
    with pytest.raises(InputError, match="has two gauges named 'deep'"):
        run(dam(tmp_path, GAUGES.replace("gas", "deep")), tmp_path / "out")
