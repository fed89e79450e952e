"""A trajectory keeps every number, survives crashes and continues where the run resumes."""

import resource

import numpy as np
import pytest

from muphy_lb.base.errors import OutputError
from muphy_lb.physics.particles.files.extxyz import ExtxyzSeries
from muphy_lb.physics.particles.files.read import read_particles
from muphy_lb.physics.particles.files.table import Snapshot

KINDS = ("red", "blue")


def snapshot(step, n=3):
    """Distinguishable particles of a step."""
    random = np.random.default_rng(step)
    ids = 10 + random.permutation(n)
    return Snapshot(step, 0.1 * step, ids, random.random((n, 3)), random.random((n, 3)), random.integers(2, size=n))


def write(path, steps, **options):
    """Append a frame per step; return the series."""
    series = ExtxyzSeries(path, KINDS, **options)
    for step in steps:
        series.append(snapshot(step))
    return series


def steps_of(path):
    """Steps in the comments of a file."""
    return [int(line.split("step=")[1].split()[0]) for line in path.read_text().splitlines() if "step=" in line]


def test_numbers_come_back_bit_for_bit(tmp_path):
    write(tmp_path / "a.extxyz", [0, 10])
    table, original = read_particles(tmp_path / "a.extxyz", 1.0, frame=1), snapshot(10)
    assert np.array_equal(table.position_m, original.position_m) and table.id.tolist() == original.id.tolist()
    assert np.array_equal(table.velocity_m_s, original.velocity_m_s)
    assert table.kind.tolist() == [KINDS[k] for k in original.kind]


def test_other_units_come_back_too(tmp_path):
    write(tmp_path / "a.extxyz", [4], length_unit_m=1e-6, time_unit_s=1e-3)
    table, original = read_particles(tmp_path / "a.extxyz", 1.0), snapshot(4)
    np.testing.assert_allclose(table.position_m, original.position_m, rtol=1e-14)
    np.testing.assert_allclose(table.velocity_m_s, original.velocity_m_s, rtol=1e-14)
    assert "Time=400.0 step=4 length_unit_m=1e-06 time_unit_s=0.001" in (tmp_path / "a.extxyz").read_text()


def test_a_frame_as_other_programs_read_it(tmp_path):
    series = ExtxyzSeries(tmp_path / "a.extxyz", length_unit_m=0.5)
    series.append(Snapshot(3, 1.5, np.array([7]), np.array([[1.0, 2.0, 3.25]])))
    assert (tmp_path / "a.extxyz").read_text() == (
        "1\nProperties=species:S:1:pos:R:3:id:I:1 Time=1.5 step=3 length_unit_m=0.5 time_unit_s=1.0\nX 2.0 4.0 6.5 7\n"
    )


def test_the_box_is_the_cell_of_other_programs(tmp_path):
    box = {"box_m": np.array([[-0.5, 0.0, 1.0], [1.5, 3.0, 5.0]]), "periodic": (True, False, True)}
    write(tmp_path / "a.extxyz", [4], length_unit_m=0.5, **box)
    cell = 'Lattice="4.0 0.0 0.0 0.0 6.0 0.0 0.0 0.0 8.0" Origin="-1.0 0.0 2.0" pbc="T F T" Properties=species:S:1:pos'
    assert (tmp_path / "a.extxyz").read_text().splitlines()[1].startswith(cell)
    assert read_particles(tmp_path / "a.extxyz", 1.0).position_m == pytest.approx(snapshot(4).position_m)
    write(tmp_path / "a.extxyz", [6], length_unit_m=0.5, resume_step=5, **box)
    assert steps_of(tmp_path / "a.extxyz") == [4, 6]


def test_no_particles_are_a_frame_too(tmp_path):
    series = ExtxyzSeries(tmp_path / "a.extxyz")
    series.append(Snapshot(3, 1.5, np.empty(0, int), np.empty((0, 3))))
    write(tmp_path / "a.extxyz", [5], resume_step=4)
    assert steps_of(tmp_path / "a.extxyz") == [3, 5]


def test_a_new_series_starts_empty(tmp_path):
    write(tmp_path / "a.extxyz", [1, 2])
    write(tmp_path / "a.extxyz", [])
    assert (tmp_path / "a.extxyz").read_text() == ""


def test_resuming_cuts_later_frames_away(tmp_path):
    path = tmp_path / "a.extxyz"
    write(path, [0, 10, 20, 30])
    series = write(path, [15], resume_step=10)
    assert series.last_step == 10 and steps_of(path) == [0, 10, 15]
    whole = write(tmp_path / "b.extxyz", [0, 10, 15])
    assert path.read_bytes() == (tmp_path / "b.extxyz").read_bytes() and whole.last_step is None


@pytest.mark.parametrize("resume_step", [5, 100])
def test_resuming_without_a_file_starts_anew(tmp_path, resume_step):
    assert write(tmp_path / "a.extxyz", [7], resume_step=resume_step).last_step is None
    assert steps_of(tmp_path / "a.extxyz") == [7]


@pytest.mark.parametrize("n_lost", [1, 30, 150, 300])
def test_resuming_cuts_a_frame_that_a_crash_cut_short(tmp_path, n_lost):
    path = tmp_path / "a.extxyz"
    write(path, [0, 10])
    kept = path.read_bytes()
    write(tmp_path / "b.extxyz", [20])
    path.write_bytes(kept + (tmp_path / "b.extxyz").read_bytes()[:-n_lost])
    assert write(path, [], resume_step=30).last_step == 10
    assert path.read_bytes() == kept and not (tmp_path / "a.extxyz.damaged").exists()


@pytest.mark.parametrize("damage", [b"garbage\n", b"\0" * 100000, b"3\n" + b"\0" * 100000, b"\xff\xfe\n"])
def test_what_is_no_frame_is_set_aside(tmp_path, damage, caplog):
    path = tmp_path / "a.extxyz"
    write(path, [0, 10])
    with open(path, "ab") as file:
        file.write(damage)
    before = path.read_bytes()
    write(path, [30], resume_step=20)
    assert steps_of(path) == [0, 10, 30]
    assert (tmp_path / "a.extxyz.damaged").read_bytes() == before and "not a frame" in caplog.text


def test_resuming_a_file_of_others_is_refused(tmp_path):
    (tmp_path / "a.extxyz").write_text("1\na crystal\nC 0 0 0\n")
    with pytest.raises(OutputError, match="this solver did not write it; move the file away"):
        write(tmp_path / "a.extxyz", [], resume_step=5)


def test_resuming_in_other_units_is_refused(tmp_path):
    write(tmp_path / "a.extxyz", [0])
    with pytest.raises(OutputError, match="it has length_unit_m=1.0 .* this run writes length_unit_m=1e-06"):
        write(tmp_path / "a.extxyz", [], resume_step=5, length_unit_m=1e-6)


def test_a_full_disk_leaves_the_earlier_frames(tmp_path):
    path = tmp_path / "a.extxyz"
    series = write(path, [0, 10])
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, limits[1]))
    try:
        with pytest.raises(OutputError, match=r"cannot write .*a\.extxyz: File too large"):
            series.append(snapshot(20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before


def test_a_file_that_vanishes_is_an_error(tmp_path):
    series = write(tmp_path / "a.extxyz", [0])
    (tmp_path / "a.extxyz").unlink()
    with pytest.raises(OutputError, match="No such file"):
        series.append(snapshot(1))


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(OutputError, match="none"):
        ExtxyzSeries(tmp_path / "none" / "a.extxyz")
