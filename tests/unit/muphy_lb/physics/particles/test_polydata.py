"""The poly data hold particles, bonds and fields of every snapshot, as every version of VTK looks for them."""

import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest

from muphy_lb.base.errors import OutputError
from muphy_lb.physics.particles.files.table import Snapshot
from muphy_lb.physics.particles.files.vtkhdf import ParticleSeries

TOPOLOGIES = ("Vertices", "Lines", "Polygons", "Strips")
KINDS = ("red", "blue")


APPEND_FOR_EVER = """
import sys
import numpy as np
from muphy_lb.physics.particles.files.vtkhdf import ParticleSeries
from muphy_lb.physics.particles.files.table import Snapshot
series = ParticleSeries(sys.argv[1])
for step in range(10**9):
    n = 1000 + step % 2
    series.append(Snapshot(step, float(step), np.arange(n), np.full((n, 3), step), bonds=np.array([[0, step % 3]])))
    print(step, flush=True)
"""


def snapshot(step, n=4, bonds=((10, 11), (13, 12))):
    """Distinguishable particles of a step, ids from 10 on in shuffled order."""
    random = np.random.default_rng(step)
    velocity = random.random((n, 3), dtype=np.float32)
    kind, heat = random.integers(2, size=n), random.random(n, dtype=np.float32)
    bonds = np.array(bonds, dtype=int).reshape(-1, 2)
    return Snapshot(
        step, 0.5 * step, 10 + random.permutation(n), random.random((n, 3)), velocity, kind, bonds, {"load": heat}
    )


def write(path, snapshots, **options):
    """Append snapshots; return the series."""
    series = ParticleSeries(path, KINDS, "title = 'x'", {"load": "N"}, **options)
    for each in snapshots:
        series.append(each)
    return series


def rows_before(n_cells, first_cell):
    """Parts that begin before a cell, as VTK 9.4 counts them."""
    begins = np.concatenate([[0], np.cumsum(n_cells)])[:-1]
    reached = np.flatnonzero(begins >= first_cell)
    return int(reached[0]) if reached.size else len(n_cells)


def read_step(root, k, by_part):
    """(time, points, cells by kind, fields) of step ``k``, as VTK reads it: by the number of the part (VTK 9.3)
    or of the parts that begin before its first cell (VTK 9.4)."""
    steps = root["Steps"]
    part, first = int(steps["PartOffsets"][k]), int(steps["PointOffsets"][k])
    assert steps["NumberOfParts"][k] == 1
    n = int(root["NumberOfPoints"][part])
    cells = {}
    for column, name in enumerate(TOPOLOGIES):
        group, cell = root[name], int(steps["CellOffsets"][k, column])
        n_cells, n_ids = int(group["NumberOfCells"][part]), int(group["NumberOfConnectivityIds"][part])
        start = cell + (part if by_part else rows_before(group["NumberOfCells"][:part], cell))
        offsets = group["Offsets"][start : start + n_cells + 1]
        at = int(steps["ConnectivityIdOffsets"][k, column])
        connectivity = group["Connectivity"][at : at + n_ids]
        assert len(offsets) == n_cells + 1 and len(connectivity) == n_ids and offsets[-1] == n_ids and offsets[0] == 0
        cells[name] = [connectivity[a:b].tolist() for a, b in zip(offsets, offsets[1:], strict=False)]
    fields = {name: data[steps["PointDataOffsets"][name][k] :][:n] for name, data in root["PointData"].items()}
    return steps["Values"][k], root["Points"][first : first + n], cells, fields


def check(path, snapshots, by_part=True):
    """Every snapshot is in the file, and nothing else."""
    with h5py.File(path) as file:
        root = file["VTKHDF"]
        assert root["Steps"].attrs["NSteps"] == len(snapshots)
        assert file["muphy_lb/step"][:].tolist() == [each.step for each in snapshots]
        for k, each in enumerate(snapshots):
            time_s, points, cells, fields = read_step(root, k, by_part)
            assert time_s == each.time_s and np.array_equal(points, each.position_m)
            assert np.array_equal(fields["id"], each.id) and np.array_equal(fields["kind"], each.kind)
            assert np.array_equal(fields["velocity"], each.velocity_m_s)
            assert np.array_equal(fields["load"], each.scalars["load"])
            assert cells["Vertices"] == [[i] for i in range(len(each.id))]
            there = [bond for bond in each.bonds.tolist() if set(bond) <= set(each.id.tolist())]
            assert [each.id[line].tolist() for line in cells["Lines"]] == there
            assert not cells["Polygons"] and not cells["Strips"]


READERS = pytest.mark.parametrize("by_part", [True, False], ids=["VTK 9.3", "VTK 9.4"])


@READERS
@pytest.mark.parametrize("compress", [False, True])
def test_every_value_comes_back(tmp_path, by_part, compress):
    snapshots = [snapshot(step) for step in (0, 10, 20)]
    write(tmp_path / "a.vtkhdf", snapshots, compress=compress)
    check(tmp_path / "a.vtkhdf", snapshots, by_part)


@READERS
@pytest.mark.parametrize("counts", [(4, 6, 6, 2), (0, 4, 0, 0, 3), (3, 0, 5), (0, 0, 1), (5, 0, 3, 2)])
def test_the_number_of_particles_may_change(tmp_path, by_part, counts):
    snapshots = [snapshot(step, n) for step, n in enumerate(counts)]
    write(tmp_path / "a.vtkhdf", snapshots)
    check(tmp_path / "a.vtkhdf", snapshots, by_part)


@READERS
def test_bonds_may_break_and_form(tmp_path, by_part):
    bonds = ((), ((10, 11),), ((10, 11), (12, 13)), (), (), ((13, 10),))
    snapshots = [snapshot(step, bonds=each) for step, each in enumerate(bonds)]
    write(tmp_path / "a.vtkhdf", snapshots)
    check(tmp_path / "a.vtkhdf", snapshots, by_part)


def test_cells_that_stay_are_written_once(tmp_path):
    still = {"id": np.arange(5), "position_m": np.ones((5, 3)), "bonds": np.array([[0, 1]])}
    series = ParticleSeries(tmp_path / "a.vtkhdf")
    for step in range(20):
        series.append(Snapshot(step, float(step), **still))
    with h5py.File(tmp_path / "a.vtkhdf") as file:
        root = file["VTKHDF"]
        assert len(root["NumberOfPoints"]) == 1 and len(root["Vertices/Connectivity"]) == 5
        assert not root["Steps/PartOffsets"][:].any() and not root["Steps/CellOffsets"][:].any()
        assert len(root["Points"]) == 100


def test_a_bond_of_a_particle_that_has_left_is_not_drawn(tmp_path):
    snapshots = [snapshot(0, bonds=((10, 99), (11, 12)))]
    write(tmp_path / "a.vtkhdf", snapshots)
    check(tmp_path / "a.vtkhdf", snapshots)


def test_head_case_kinds_and_units(tmp_path):
    write(tmp_path / "a.vtkhdf", [snapshot(0)])
    with h5py.File(tmp_path / "a.vtkhdf") as file:
        root = file["VTKHDF"]
        assert root.attrs["Version"].tolist() == [2, 0] and root.attrs["Type"] == b"PolyData"
        assert file["muphy_lb/case"].asstr()[()] == "title = 'x'"
        assert list(file["muphy_lb"].attrs["kinds"]) == list(KINDS)
        units = {name: data.attrs["unit"] for name, data in root["PointData"].items()}
        assert units == {"id": "", "kind": "", "velocity": "m/s", "load": "N"}
        assert root["Points"].dtype == np.float64 and root["PointData/id"].dtype == np.int64
        assert root["Steps/CellOffsets"].shape == (1, 4)


@READERS
def test_resuming_cuts_later_snapshots_away(tmp_path, by_part):
    path, all_bonds = tmp_path / "a.vtkhdf", ((10, 11), (13, 12))
    before = [snapshot(0, 4, all_bonds), snapshot(10, 6, all_bonds), snapshot(20, 6, ()), snapshot(30, 3, all_bonds)]
    write(path, before)
    behind = [snapshot(15, 6, all_bonds), snapshot(25, 2, ())]
    assert write(path, behind, resume_step=10).last_step == 10
    check(path, before[:2] + behind, by_part)


def test_resuming_before_the_first_snapshot_starts_anew(tmp_path):
    write(tmp_path / "a.vtkhdf", [snapshot(10)])
    series = ParticleSeries(tmp_path / "a.vtkhdf", KINDS, resume_step=5)
    series.append(Snapshot(7, 0.1, np.array([1]), np.zeros((1, 3))))
    with h5py.File(tmp_path / "a.vtkhdf") as file:
        assert series.last_step is None and list(file["VTKHDF/PointData"]) == ["id"]


def test_other_kinds_are_refused_when_resuming(tmp_path):
    write(tmp_path / "a.vtkhdf", [snapshot(0)])
    with pytest.raises(OutputError, match=r"its kinds are \['red', 'blue'\], those of this run \[\]"):
        ParticleSeries(tmp_path / "a.vtkhdf", resume_step=5)


def test_other_fields_than_before_are_refused(tmp_path):
    series = write(tmp_path / "a.vtkhdf", [snapshot(0)])
    with pytest.raises(OutputError, match=r"has the fields \['id'\], the earlier ones have \['id', 'kind', 'load'"):
        series.append(Snapshot(1, 0.1, np.array([1]), np.zeros((1, 3))))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"position_m": np.zeros((1, 3))}, r"'positions' has shape \(1, 3\); allowed are"),
        ({"velocity_m_s": np.zeros((2, 2))}, r"'velocity' has shape \(2, 2\)"),
        ({"scalars": {"id": np.zeros(2)}}, "a scalar is named 'id'"),
        ({"scalars": {"a/b": np.zeros(2)}}, "a scalar is named 'a/b'"),
    ],
)
def test_fields_that_do_not_fit_are_refused(tmp_path, changes, message):
    given = {"id": np.arange(2), "position_m": np.zeros((2, 3))} | changes
    with pytest.raises(OutputError, match=message):
        ParticleSeries(tmp_path / "a.vtkhdf").append(Snapshot(0, 0.0, **given))


def test_what_a_failed_append_left_is_written_over(tmp_path, monkeypatch):
    path = tmp_path / "a.vtkhdf"
    series = write(path, [snapshot(0), snapshot(10, 7)])
    flush = h5py.File.flush
    monkeypatch.setattr(h5py.File, "flush", lambda file: (flush(file), (_ for _ in ()).throw(OSError("stopped"))))
    with pytest.raises(OutputError, match="stopped"):
        series.append(snapshot(20, 9))
    monkeypatch.undo()
    series.append(snapshot(30, 5))
    check(path, [snapshot(0), snapshot(10, 7), snapshot(30, 5)])


def test_a_kill_while_appending_leaves_the_earlier_snapshots(tmp_path):
    path = tmp_path / "a.vtkhdf"
    process = subprocess.Popen([sys.executable, "-c", APPEND_FOR_EVER, str(path)], stdout=subprocess.PIPE, text=True)
    while int(process.stdout.readline()) < 20:
        pass
    time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    last_step = ParticleSeries(path, resume_step=10**9).last_step
    assert last_step >= 20
    with h5py.File(path) as file:
        for k in range(last_step + 1):
            time_s, points, cells, fields = read_step(file["VTKHDF"], k, by_part=False)
            assert time_s == k and len(points) == 1000 + k % 2 and np.all(points == k)
            assert fields["id"].tolist() == list(range(len(points))) and cells["Lines"] == [[0, k % 3]]


def test_vtk_reads_every_value_back(tmp_path):
    reader_module = pytest.importorskip("vtkmodules.vtkIOHDF", reason="the package vtk is not installed")
    to_numpy = pytest.importorskip("vtkmodules.util.numpy_support").vtk_to_numpy
    snapshots = [snapshot(step, n) for step, n in enumerate((4, 4, 0, 6, 2))]
    write(tmp_path / "a.vtkhdf", snapshots)
    reader = reader_module.vtkHDFReader()
    reader.SetFileName(str(tmp_path / "a.vtkhdf"))
    reader.UpdateInformation()
    assert reader.GetNumberOfSteps() == len(snapshots)
    for k, each in enumerate(snapshots):
        reader.SetStep(k)
        reader.Update()
        data = reader.GetOutputDataObject(0)
        n = len(each.id)
        assert data.GetNumberOfPoints() == n and data.GetNumberOfVerts() == n
        if n:
            np.testing.assert_array_equal(to_numpy(data.GetPoints().GetData()), each.position_m)
            np.testing.assert_array_equal(to_numpy(data.GetPointData().GetArray("id")), each.id)
            ends = to_numpy(data.GetLines().GetConnectivityArray()).reshape(-1, 2)
            there = [bond for bond in each.bonds.tolist() if set(bond) <= set(each.id.tolist())]
            assert each.id[ends].tolist() == there
