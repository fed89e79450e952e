"""Path lines lead through the positions of their particles, and are broken where these were not or jumped."""

import h5py
import numpy as np
import pytest

from muphy_lb.base.errors import InputError, OutputError
from muphy_lb.physics.particles.files.table import Snapshot
from muphy_lb.physics.particles.files.vtkhdf import ParticleSeries, Paths, read_paths, write_path_lines


def lines_of(path):
    """(times, x of the points, ids) of every polyline of a file."""
    with h5py.File(path) as file:
        root = file["VTKHDF"]
        group, n_cells = root["Lines"], int(root["Lines/NumberOfCells"][0])
        assert root.attrs["Type"] == b"PolyData" and "Steps" not in root
        assert root["NumberOfPoints"][0] == len(root["Points"]) == len(root["PointData/time"])
        assert len(group["Connectivity"]) == group["NumberOfConnectivityIds"][0]
        offsets, connectivity = group["Offsets"][: n_cells + 1], group["Connectivity"][:]
        assert offsets[-1] == len(connectivity)
        cells = [connectivity[a:b] for a, b in zip(offsets, offsets[1:], strict=False)]
        time, x, ids = root["PointData/time"][:], root["Points"][:, 0], root["PointData/id"][:]
        return [(time[cell].tolist(), x[cell].tolist(), set(ids[cell].tolist())) for cell in cells]


def paths(*x):
    """Paths along x, one row of positions a particle; ids from 5 on."""
    position_m = np.stack([np.array(x, dtype=float).T] * 3, axis=2)
    return Paths(5 + np.arange(len(x)), 0.1 * np.arange(len(x[0])), position_m)


def test_every_particle_has_its_line(tmp_path):
    write_path_lines(tmp_path / "a.vtkhdf", paths([0, 1, 2], [7, 6, 5]), case_text="title = 'x'")
    time = pytest.approx([0.0, 0.1, 0.2])
    assert lines_of(tmp_path / "a.vtkhdf") == [(time, [0, 1, 2], {5}), (time, [7, 6, 5], {6})]


def test_lines_are_broken_where_a_particle_is_missing(tmp_path):
    nan = np.nan
    write_path_lines(tmp_path / "a.vtkhdf", paths([0, 1, nan, 3, nan, 5, 6, 7], [nan] * 7 + [1], [nan] * 6 + [1, 2]))
    assert [x for _, x, _ in lines_of(tmp_path / "a.vtkhdf")] == [[0, 1], [5, 6, 7], [1, 2]]


@pytest.mark.parametrize("period_m", [(10.0, np.inf, np.inf), (10.0, 0.0, 0.0)])
def test_lines_are_broken_at_the_edges_of_a_periodic_box(tmp_path, period_m):
    write_path_lines(tmp_path / "a.vtkhdf", paths([7, 8, 9.5, 0.5, 2, 1, 9, 8]), period_m)
    assert [x for _, x, _ in lines_of(tmp_path / "a.vtkhdf")] == [[7, 8, 9.5], [0.5, 2, 1], [9, 8]]


def test_without_positions_there_are_no_lines(tmp_path):
    write_path_lines(tmp_path / "a.vtkhdf", paths([np.nan, np.nan]))
    assert lines_of(tmp_path / "a.vtkhdf") == []


def test_paths_are_found_in_the_snapshots(tmp_path):
    series, random = ParticleSeries(tmp_path / "a.vtkhdf"), np.random.default_rng(1)
    for step, ids in enumerate(([3, 1, 2], [2, 3, 1], [1, 2], [9, 1, 3, 2])):
        position = np.array(ids)[:, None] + 0.1 * step + np.zeros(3)
        series.append(Snapshot(step, 0.5 * step, random.permutation(ids), position[random.permutation(len(ids))]))
        series.append(Snapshot(step, 0.5 * step + 0.25, np.array(ids), position))
    found = read_paths(tmp_path / "a.vtkhdf", [3, 2])
    assert found.time_s.tolist() == [0.25 * k for k in range(8)] and found.ids.tolist() == [3, 2]
    assert found.position_m[1::2, 0, 0] == pytest.approx([3.0, 3.1, np.nan, 3.3], nan_ok=True)
    assert found.position_m[1::2, 1, 2] == pytest.approx([2.0, 2.1, 2.2, 2.3])


def test_particles_that_were_never_there_are_named(tmp_path):
    ParticleSeries(tmp_path / "a.vtkhdf").append(Snapshot(0, 0.0, np.array([4]), np.zeros((1, 3))))
    with pytest.raises(InputError, match="has no particle 8; the ids of path lines"):
        read_paths(tmp_path / "a.vtkhdf", [4, 8])
    with pytest.raises(InputError, match="particle 4 is asked for twice"):
        read_paths(tmp_path / "a.vtkhdf", [4, 4])


@pytest.mark.parametrize("content", [None, b"no HDF5"])
def test_files_without_snapshots_are_refused(tmp_path, content):
    if content:
        (tmp_path / "a.vtkhdf").write_bytes(content)
    with pytest.raises(InputError, match="cannot read the particles of .*a.vtkhdf"):
        read_paths(tmp_path / "a.vtkhdf", [4])


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(OutputError, match="none"):
        write_path_lines(tmp_path / "none" / "a.vtkhdf", paths([0, 1]))


def test_vtk_reads_the_lines_back(tmp_path):
    reader_module = pytest.importorskip("vtkmodules.vtkIOHDF", reason="the package vtk is not installed")
    to_numpy = pytest.importorskip("vtkmodules.util.numpy_support").vtk_to_numpy
    write_path_lines(tmp_path / "a.vtkhdf", paths([0, 1, np.nan, 2, 3], [5, 6, 7, 8, 9]))
    reader = reader_module.vtkHDFReader()
    reader.SetFileName(str(tmp_path / "a.vtkhdf"))
    reader.Update()
    data = reader.GetOutputDataObject(0)
    assert data.GetNumberOfLines() == 3 and data.GetNumberOfPoints() == 9
    x = to_numpy(data.GetPoints().GetData())[:, 0]
    assert x[to_numpy(data.GetLines().GetConnectivityArray())].tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert to_numpy(data.GetPointData().GetArray("id")).tolist() == [5] * 4 + [6] * 5
