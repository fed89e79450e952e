"""Bands of fields at every point, over the members of a study."""

import json

import numpy as np
import pytest

from muphy_lb import InputError, Study
from muphy_lb.apps.study.answers import band_of
from muphy_lb.apps.study.maps import maps_of_table, statistics
from muphy_lb.apps.study.members import Outcome
from muphy_lb.geometry.load import load_content
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.output.vtkhdf import VtkHdfSeries, find_snapshot
from muphy_lb.setup.geometry import load_nodes, rotation_of
from tests import vessel
from tests.channel import OPEN, SPACING_M, changed

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


def of_channel(folder, output, parameters, **study) -> Study:
    """A study of the channel with openings that has run."""
    case = changed(OPEN, walls=[], output=output)
    work = Study(
        {"case": case, "study": {"sampler": "list", "parameters": parameters, **study}}, folder, overwrite=True
    )
    work.run()
    return work


def test_means_over_the_wall_are_those_of_the_members(tmp_path):
    """At fixed walls the mean over points and members does not depend on the order: it is that of the runs' own means,
    which leave out what lies near openings."""
    name = "wall_shear.magnitude_pa.mean"
    study = {"sampler": "list", "parameters": [INFLOW], "answers": [name]}
    work = Study({"case": vessel.changed(output={"wall_shear": True}), "study": study}, tmp_path)
    work.run()
    (maps,) = maps_of_table(work.table)
    counted = find_snapshot(work.members.path(0) / "wall_shear.vtkhdf").values("counted")
    assert maps.found[0].means["mean"] == pytest.approx(work.columns()[name].mean(), rel=1e-5)
    assert 0.5 < counted.mean() < 1.0 and np.array_equal(maps.found[0].weight > 0.0, counted > 0.0)


def plate(folder, number, width, values, spacing_m=1e-3, **further) -> None:
    """The file of a member whose wall is a square plate, with a vector along z of given lengths."""
    nodes = load_content(np.zeros((1, width, width), np.uint8), fluid_value=0, spacing_m=spacing_m)
    nodes = build_nodes(nodes.voxels)
    path = folder / "members" / f"{number:05d}" / "wall_shear.vtkhdf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    stress = np.outer(values(nodes.positions_m()), [0.0, 0.0, 1.0])
    fields = {"wall_shear_stress": stress, **{name: own(nodes.positions_m()) for name, own in further.items()}}
    VtkHdfSeries(path, nodes, "", dict.fromkeys(fields, "Pa")).append(0.0, 0, fields)


def test_bands_are_those_of_a_direct_computation(tmp_path):
    """Of members with a smaller wall, a coarser one, one that failed, and one without a field: each point has the
    nearest value of the others within two voxels, found here by all distances."""

    def model(values):
        if values["k"] == 3:
            raise InputError("failed")
        return {"y": values["k"]}

    parameters = [{"name": "k", "key": "run.k", "values": [0, 1, 2, 3, 4]}]
    work = Study({"study": {"sampler": "list", "parameters": parameters}}, tmp_path, model=model)
    work.run()
    values = [lambda x, k=k: 1.0 + k + 1e3 * x[:, 0] + 1e6 * (k + 1) * x[:, 1] ** 2 for k in range(5)]
    widths, spacings_m = (12, 12, 6, 12, 5), (1e-3, 1e-3, 0.9e-3, 1e-3, 1.9e-3)
    for k, (width, spacing_m) in enumerate(zip(widths, spacings_m, strict=True)):
        plate(tmp_path, k, width, values[k], spacing_m, **({"osi": values[k]} if k != 1 else {}))
    (maps,) = maps_of_table(work.table)
    places_m, rows = maps.nodes.positions_m(), []
    for k in (0, 1, 2, 4):
        own = build_nodes(
            load_content(np.zeros((1, widths[k], widths[k]), np.uint8), fluid_value=0, spacing_m=spacings_m[k]).voxels
        )
        apart = np.linalg.norm(places_m[:, None] - own.positions_m()[None], axis=2)
        reach_m = 2.0 * max(1e-3, spacings_m[k])
        rows.append(np.where(apart.min(axis=1) < reach_m, values[k](own.positions_m())[apart.argmin(axis=1)], np.nan))
    for name, chosen in (("wall_shear_stress_magnitude", rows), ("osi", [rows[0], *rows[2:]])):
        found = next(each for each in maps.found if each.name == name)
        table = np.array(chosen)
        assert np.array_equal(found.n_answers, np.isfinite(table).sum(axis=0))
        enough = found.n_answers > 1
        table, statistics_there = table[:, enough], found.statistics[:, enough]
        assert np.isnan(found.statistics[:, ~enough]).all() and enough.sum() > 130
        assert statistics_there[0] == pytest.approx(np.nanmean(table, axis=0), rel=1e-6)
        assert statistics_there[1] == pytest.approx(np.nanstd(table, axis=0, ddof=1), rel=1e-5)
        ends = [np.quantile(each[np.isfinite(each)], (0.025, 0.975), method="weibull") for each in table.T]
        assert statistics_there[2:] == pytest.approx(np.array(ends).T, rel=1e-6)
        assert "some of the 4 members have no value" in found.told
    assert maps.found[0].n_answers.min() < 4


def test_members_that_are_rotated_are_compared_where_they_are_in_the_input(tmp_path):
    """A bent duct in four orientations, with the distance along an edge of its image in place of the stress."""
    solid = np.ones((14, 16, 18), np.uint8)
    solid[3:7, 3:8, 3:15] = solid[3:11, 3:8, 3:7] = 0
    np.save(tmp_path / "duct.npy", solid)
    geometry = {"file": str(tmp_path / "duct.npy"), "shape": None, "options": {"fluid_value": 0}}
    case = changed(OPEN, walls=[], geometry=geometry, lattice={"name": "D3Q19"})
    del case["openings"]
    angle = {"name": "angle", "key": "geometry.options.rotation_deg", "values": [0.0, 90.0, 180.0, 20.0]}
    work = Study({"case": case, "study": {"sampler": "list", "parameters": [angle]}}, tmp_path / "out")
    for k in range(4):
        member = work.members.case(k)
        nodes, path = load_nodes(member)[0], work.members.path(k) / "wall_shear.vtkhdf"
        path.parent.mkdir(parents=True, exist_ok=True)
        along_m = rotation_of(member).turned_back(nodes.positions_m())[:, 0]
        VtkHdfSeries(path, nodes, "", {"along": "m"}).append(0.0, 0, {"along": along_m})
        work.members.keep(k, Outcome({"y": float(k)}))
    (maps,) = maps_of_table(work.table)
    (found,) = maps.found
    assert found.n_answers.min() == 4
    assert np.abs(found.statistics[0] - maps.nodes.positions_m()[:, 0]).max() < 0.3 * SPACING_M
    assert found.statistics[1].max() < 0.6 * SPACING_M


def test_a_study_without_fields_does_not_take_those_of_the_study_before(tmp_path):
    of_channel(tmp_path, {"wall_shear": True}, [INFLOW]).write()
    assert len([*tmp_path.glob("band*")]) == 3
    of_channel(tmp_path, {"wall_shear": False}, [INFLOW]).write(with_pictures=False)
    assert not [*tmp_path.glob("band*")]
