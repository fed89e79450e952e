"""surface.vtkhdf holds the surface of every snapshot, as often as asked for, and is cut where a run is resumed."""

import h5py
import numpy as np
import pytest

from tests.unit.muphy_lb.physics.free_surface.cases import dam, run

ASKED = "surface_every_steps = 5"


def content(path):
    """All datasets of a file by name."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[()]} if isinstance(item, h5py.Dataset) else {}))
        return found | {"NSteps": file["VTKHDF/Steps"].attrs["NSteps"]}


@pytest.mark.parametrize(("width", "kind", "corners"), [(1, "Lines", 2), (4, "Polygons", 3)])
def test_snapshots_hold_the_surface_in_metres(tmp_path, width, kind, corners):
    run(dam(tmp_path, ASKED, width), tmp_path / "out")
    found = content(tmp_path / "out" / "surface.vtkhdf")
    assert found["NSteps"] == 4 and found["muphy_lb/step"].tolist() == [5, 10, 15, 20]
    counts = found[f"VTKHDF/{kind}/NumberOfCells"]
    assert np.all(counts > 8 * width) and len(found[f"VTKHDF/{kind}/Connectivity"]) == corners * counts.sum()
    points, velocity = found["VTKHDF/Points"], found["VTKHDF/PointData/velocity"]
    assert points.shape == velocity.shape and np.isfinite(velocity).all()
    low, high = points.min(axis=0), points.max(axis=0)
    assert np.allclose(low[:2], -0.5e-3) and 7.5e-3 < high[0] < 12e-3 and 4e-3 < high[1] < 5.5e-3
    assert velocity[:, 0].max() > 0.02  # the front moves


def test_a_resumed_run_writes_the_same_file(tmp_path):
    case = dam(tmp_path, ASKED)
    run(case, tmp_path / "whole")
    run(case, tmp_path / "parts", ["run.steps=15"])
    (tmp_path / "parts" / "summary.json").unlink()
    run(case, tmp_path / "parts", resume=True)  # from step 10
    whole, parts = (content(tmp_path / name / "surface.vtkhdf") for name in ("whole", "parts"))
    assert whole.keys() == parts.keys()
    for name in whole.keys() - {"muphy_lb/case"}:
        assert np.array_equal(whole[name], parts[name]), name


def test_nothing_is_written_unless_asked_for(tmp_path):
    run(dam(tmp_path), tmp_path / "out")
    assert not (tmp_path / "out" / "surface.vtkhdf").exists()
