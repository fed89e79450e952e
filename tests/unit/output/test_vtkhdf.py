"""The VTKHDF file holds the cubes of the nodes and every snapshot, whatever happens."""

import resource
from contextlib import contextmanager

import h5py
import numpy as np
import pytest

from muphy_lb.base.errors import OutputError
from muphy_lb.output.vtkhdf import VTK_VOXEL, VtkHdfSeries, voxel_mesh

CORNERS = np.array([[c & 1, c >> 1 & 1, c >> 2] for c in range(8)]) - 0.5


def fields_at(nodes, step):
    """Distinguishable fields of a step."""
    random = np.random.default_rng(step)
    vectors = random.random((nodes.n_nodes, 3), dtype=np.float32)
    return {"pressure": vectors[:, 0] + step, "velocity": vectors}


def write(path, nodes, steps, **options):
    """Append a snapshot per step; return the series."""
    series = VtkHdfSeries(path, nodes, "title = 'x'", {"velocity": "m/s"}, **options)
    for step in steps:
        series.append(0.5 * step, step, fields_at(nodes, step))
    return series


def recorded_steps(path):
    """Step numbers in the file."""
    with h5py.File(path) as file:
        return file["muphy_lb/step"][: file["VTKHDF/Steps"].attrs["NSteps"]].tolist()


@pytest.mark.parametrize("geometry", ["blob", "sheet"])
def test_every_cell_is_the_cube_around_its_node(geometry, request):
    nodes = request.getfixturevalue(geometry)
    mesh = voxel_mesh(nodes)
    cubes_m = nodes.positions_m()[:, None, :] + nodes.spacing_m * CORNERS
    np.testing.assert_allclose(mesh.points_m[mesh.connectivity], cubes_m, atol=1e-3 * nodes.spacing_m)


def test_points_are_shared(blob):
    corners = (blob.coordinates()[:, None, :] + CORNERS).reshape(-1, 3)
    assert len(voxel_mesh(blob).points_m) == len(np.unique(corners, axis=0))


def test_far_from_the_origin_points_keep_their_precision(blob):
    far = type(blob)(**{**vars(blob), "origin_m": (1e3, 0.0, 0.0)})
    mesh = voxel_mesh(far)
    assert np.ptp(mesh.points_m[mesh.connectivity[0], 0]) == pytest.approx(far.spacing_m, rel=1e-6)


def test_head_step_table_case_and_units_are_in_the_file(tmp_path, blob):
    write(tmp_path / "a.vtkhdf", blob, [0, 10, 20])
    n = blob.n_nodes
    with h5py.File(tmp_path / "a.vtkhdf") as file:
        grid, steps = file["VTKHDF"], file["VTKHDF/Steps"]
        assert grid.attrs["Version"].tolist() == [2, 0] and grid.attrs["Type"] == b"UnstructuredGrid"
        assert grid["NumberOfCells"][:].tolist() == [n] and grid["NumberOfConnectivityIds"][:].tolist() == [8 * n]
        assert grid["Offsets"][:].tolist() == list(range(0, 8 * n + 1, 8))
        assert set(grid["Types"][:].tolist()) == {VTK_VOXEL} and len(grid["Types"]) == n
        assert grid["NumberOfPoints"][0] == len(grid["Points"]) == grid["Connectivity"][:].max() + 1
        assert steps.attrs["NSteps"] == 3 and steps["Values"][:].tolist() == [0.0, 5.0, 10.0]
        assert steps["CellDataOffsets/velocity"][:].tolist() == [0, n, 2 * n]
        assert steps["CellOffsets"].shape == (3, 1) and steps["NumberOfParts"][:].tolist() == [1, 1, 1]
        assert file["muphy_lb/case"].asstr()[()] == "title = 'x'"
        assert grid["CellData/velocity"].attrs["unit"] == "m/s"


@pytest.mark.parametrize("compress", [False, True])
def test_values_come_back(tmp_path, blob, compress):
    write(tmp_path / "a.vtkhdf", blob, [0, 10], compress=compress)
    with h5py.File(tmp_path / "a.vtkhdf") as file:
        velocity = file["VTKHDF/CellData/velocity"][blob.n_nodes :]
    np.testing.assert_array_equal(velocity, fields_at(blob, 10)["velocity"])


def test_resuming_drops_later_snapshots(tmp_path, blob):
    path = tmp_path / "a.vtkhdf"
    write(path, blob, [0, 10, 20, 30])
    write(path, blob, [25], resume_step=10)
    assert recorded_steps(path) == [0, 10, 25]
    with h5py.File(path) as file:
        pressure = file["VTKHDF/CellData/pressure"][:].reshape(3, -1)
    np.testing.assert_array_equal(pressure, [fields_at(blob, step)["pressure"] for step in (0, 10, 25)])


def test_resuming_before_the_first_snapshot_allows_other_fields(tmp_path, blob):
    write(tmp_path / "a.vtkhdf", blob, [10])
    series = VtkHdfSeries(tmp_path / "a.vtkhdf", blob, resume_step=5)
    series.append(0.0, 8, {"density": np.ones(blob.n_nodes)})
    assert recorded_steps(tmp_path / "a.vtkhdf") == [8]


def test_resuming_another_geometry_is_refused(tmp_path, blob, sheet):
    write(tmp_path / "a.vtkhdf", blob, [0])
    with pytest.raises(OutputError, match="another geometry"):
        write(tmp_path / "a.vtkhdf", sheet, [], resume_step=5)


def test_resuming_a_file_of_others_is_refused(tmp_path, blob):
    h5py.File(tmp_path / "a.vtkhdf", "w").close()
    with pytest.raises(OutputError, match="did not write it"):
        write(tmp_path / "a.vtkhdf", blob, [], resume_step=5)


def test_a_field_of_wrong_length_is_refused(tmp_path, blob):
    series = write(tmp_path / "a.vtkhdf", blob, [])
    with pytest.raises(OutputError, match=r"'speed' has shape \(3,\)"):
        series.append(0.0, 0, {"speed": np.ones(3)})


def test_other_fields_than_before_are_refused(tmp_path, blob):
    series = write(tmp_path / "a.vtkhdf", blob, [0])
    with pytest.raises(OutputError, match="speed.*pressure"):
        series.append(0.0, 1, {"speed": np.ones(blob.n_nodes)})


def test_a_refusing_disk_leaves_the_earlier_snapshots(tmp_path, blob, monkeypatch):
    series = write(tmp_path / "a.vtkhdf", blob, [0, 10])
    monkeypatch.setattr("muphy_lb.output.vtkhdf.TABLE_BYTES", 2**62)
    with pytest.raises(OutputError, match=r"a\.vtkhdf"):
        series.append(0.0, 20, fields_at(blob, 20))
    assert recorded_steps(tmp_path / "a.vtkhdf") == [0, 10]


@contextmanager
def no_space():
    """No file may be written, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_that_ends_at_the_resume_step_is_not_written(tmp_path, blob):
    path = tmp_path / "a.vtkhdf"
    write(path, blob, [0, 10])
    with no_space():
        assert write(path, blob, [], resume_step=10).last_step == 10
    assert recorded_steps(path) == [0, 10]


def test_a_file_that_a_full_disk_keeps_from_being_shortened_is_not_damaged(tmp_path, blob):
    path = tmp_path / "a.vtkhdf"
    write(path, blob, [0, 10, 20])
    before = path.read_bytes()
    with no_space(), pytest.raises(OutputError, match=r"a\.vtkhdf.*too large"):
        write(path, blob, [], resume_step=10)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("geometry", ["blob", "sheet"])
def test_vtk_reads_every_value_back(tmp_path, geometry, request):
    reader_module = pytest.importorskip("vtkmodules.vtkIOHDF", reason="the package vtk is not installed")
    to_numpy = pytest.importorskip("vtkmodules.util.numpy_support").vtk_to_numpy
    nodes = request.getfixturevalue(geometry)
    write(tmp_path / "a.vtkhdf", nodes, [0, 10])
    reader = reader_module.vtkHDFReader()
    reader.SetFileName(str(tmp_path / "a.vtkhdf"))
    reader.UpdateInformation()
    assert reader.GetNumberOfSteps() == 2
    for k, step in enumerate((0, 10)):
        reader.SetStep(k)
        reader.Update()
        grid = reader.GetOutputDataObject(0)
        assert reader.GetTimeValue() == 0.5 * step and grid.GetCellType(0) == VTK_VOXEL
        for name, values in fields_at(nodes, step).items():
            np.testing.assert_array_equal(to_numpy(grid.GetCellData().GetArray(name)), values)
        points_m = to_numpy(grid.GetPoints().GetData())[to_numpy(grid.GetCells().GetConnectivityArray())]
        centres_m = points_m.reshape(-1, 8, 3).mean(axis=1)
        np.testing.assert_allclose(centres_m, nodes.positions_m(), atol=1e-3 * nodes.spacing_m)


def test_a_file_comes_into_being_with_its_first_snapshot(tmp_path, blob):
    series = write(tmp_path / "a.vtkhdf", blob, [])
    assert list(tmp_path.iterdir()) == []
    series.append(0.0, 0, fields_at(blob, 0))
    assert recorded_steps(tmp_path / "a.vtkhdf") == [0]


def test_a_damaged_file_is_set_aside(tmp_path, blob, caplog):
    path = tmp_path / "a.vtkhdf"
    write(path, blob, [0, 10])
    path.write_bytes(path.read_bytes()[:5000])
    series = write(path, blob, [20], resume_step=10)
    assert series.last_step is None and recorded_steps(path) == [20]
    assert (tmp_path / "a.vtkhdf.damaged").stat().st_size == 5000 and "is damaged" in caplog.text
