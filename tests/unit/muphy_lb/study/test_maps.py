"""Bands of fields at every point, over the members of a study."""

import json

import numpy as np
import pytest

from muphy_lb import Study
from muphy_lb.apps.study.answers import band_of
from muphy_lb.apps.study.maps import statistics
from muphy_lb.output.vtkhdf import find_snapshot
from tests.channel import OPEN, changed

INFLOW = {"name": "inflow", "key": "openings.inlet.velocity_m_s", "values": [0.8, 1.0, 1.2], "relative": True}


def test_the_statistics_at_a_point_are_those_of_an_answer():
    values = np.random.default_rng(3).lognormal(size=(50, 4))
    values[7:, 1], values[:, 2], values[1:, 3] = np.nan, np.nan, np.nan
    found = statistics(values)
    for point in (0, 1):
        band = band_of(values[:, point])
        assert found[:, point] == pytest.approx([band.mean, band.deviation, band.low, band.high], rel=1e-12)
    assert np.isnan(found[:, 2:]).all()


def test_members_that_write_fields_have_bands_at_every_point(tmp_path):
    case = changed(OPEN, walls=[], output={"wall_shear": True, "vtk": True, "fields": ["velocity"]})
    study = {"sampler": "list", "keep_files": True, "parameters": [INFLOW]}
    work = Study({"case": case, "study": study}, tmp_path)
    work.run()
    told = work.write(with_pictures=False)
    shear = [find_snapshot(work.members.path(k) / "wall_shear.vtkhdf").values("wall_shear_stress") for k in range(3)]
    sizes = np.linalg.norm(shear, axis=2)
    bands = find_snapshot(tmp_path / "bands_wall_shear.vtkhdf")
    assert bands.values("wall_shear_stress_magnitude_mean") == pytest.approx(sizes.mean(axis=0), rel=1e-6)
    assert bands.values("wall_shear_stress_magnitude_high") == pytest.approx(sizes.max(axis=0), rel=1e-6)
    assert bands.units["wall_shear_stress_magnitude_low"] == "Pa"
    fields = find_snapshot(tmp_path / "bands_fields.vtkhdf")
    assert fields.values("velocity_magnitude_deviation").max() > 0.0
    assert any(line.startswith("bands_wall_shear.vtkhdf: wall_shear_stress_magnitude: mean") for line in told)
    means = json.loads((tmp_path / "answers.json").read_text())["maps"]["bands_fields.vtkhdf"]
    assert means["velocity_magnitude"]["low"] < means["velocity_magnitude"]["mean"]


def test_walls_that_move_are_compared_with_the_nearest_point(tmp_path):
    case = changed(OPEN, walls=[], output={"wall_shear": True})
    width = {"name": "width", "key": "geometry.options.height", "values": [6, 7]}
    study = {"sampler": "list", "parameters": [width]}
    work = Study({"case": case, "study": study}, tmp_path)
    work.run()
    work.write(with_pictures=False)
    snapshots = [find_snapshot(work.members.path(k) / "wall_shear.vtkhdf") for k in range(2)]
    top = [
        values[snapshot.nodes().coordinates()[:, 1] > 3]
        for snapshot, values in ((each, np.linalg.norm(each.values("wall_shear_stress"), axis=1)) for each in snapshots)
    ]
    bands = find_snapshot(tmp_path / "bands_wall_shear.vtkhdf")
    found = bands.values("wall_shear_stress_magnitude_mean")[bands.nodes().coordinates()[:, 1] > 3]
    assert found == pytest.approx(np.mean(top, axis=0), rel=1e-6)
