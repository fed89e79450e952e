"""A series keeps every number, survives crashes and continues where the run resumes."""

import numpy as np
import pytest

from muphy_lb.base.errors import OutputError
from muphy_lb.output.series import CsvSeries, read_series

COLUMNS = ("step", "time_s", "mass_flow_kg_s")


def write(path, steps, resume_step=None):
    """Append one row per step."""
    series = CsvSeries(path, COLUMNS, resume_step)
    for step in steps:
        series.append({"step": step, "time_s": 0.1 * step, "mass_flow_kg_s": 1 / (step + 3)})


def test_numbers_come_back_bit_for_bit_and_a_new_series_starts_empty(tmp_path):
    write(tmp_path / "a.csv", range(5))
    assert read_series(tmp_path / "a.csv")["mass_flow_kg_s"].tolist() == [1 / (step + 3) for step in range(5)]
    write(tmp_path / "a.csv", [])
    assert read_series(tmp_path / "a.csv")["step"].size == 0


def test_numpy_numbers_and_nan_are_written_as_numbers(tmp_path):
    series = CsvSeries(tmp_path / "a.csv", COLUMNS)
    series.append({"step": np.int64(4), "time_s": np.float32(0.5), "mass_flow_kg_s": np.nan})
    assert (tmp_path / "a.csv").read_text().split("\n")[1] == "4,0.5,nan"


def test_resuming_drops_later_rows(tmp_path):
    write(tmp_path / "a.csv", [0, 10, 20, 30])
    write(tmp_path / "a.csv", [15], resume_step=10)
    assert read_series(tmp_path / "a.csv")["step"].tolist() == [0, 10, 15]


def test_resuming_drops_a_line_that_a_crash_cut(tmp_path):
    write(tmp_path / "a.csv", [0, 10])
    with open(tmp_path / "a.csv", "a") as file:
        file.write("2")
    write(tmp_path / "a.csv", [30], resume_step=20)
    assert read_series(tmp_path / "a.csv")["step"].tolist() == [0, 10, 30]


def test_resuming_without_a_file_starts_anew(tmp_path):
    write(tmp_path / "a.csv", [5], resume_step=3)
    assert read_series(tmp_path / "a.csv")["step"].tolist() == [5]


def test_resuming_other_columns_is_refused(tmp_path):
    write(tmp_path / "a.csv", [0])
    with pytest.raises(OutputError, match="its columns are step,time_s,mass_flow_kg_s"):
        CsvSeries(tmp_path / "a.csv", ("step", "force_n"), resume_step=5)


def test_a_row_with_a_missing_column_is_refused(tmp_path):
    series = CsvSeries(tmp_path / "a.csv", COLUMNS)
    with pytest.raises(OutputError, match="mass_flow_kg_s"):
        series.append({"step": 1, "time_s": 0.0})


def test_a_name_with_a_comma_stays_one_column(tmp_path):
    CsvSeries(tmp_path / "a.csv", ("step", "left, upper_pa")).append({"step": 1, "left, upper_pa": 2.0})
    assert read_series(tmp_path / "a.csv")["left, upper_pa"].tolist() == [2.0]


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(OutputError, match="none"):
        CsvSeries(tmp_path / "none" / "a.csv", COLUMNS)


@pytest.mark.parametrize(
    "line", [b"garbage", b"20,\0\0,1.0", bytes(50), b"20,1.0", b"20,1.0,x", "\u00b2,1.0,1.0".encode(), b"\xff\xfe"]
)
def test_lines_that_are_no_rows_are_set_aside(tmp_path, line, caplog):
    path = tmp_path / "a.csv"
    write(path, [0, 10])
    with open(path, "ab") as file:
        file.write(line + b"\n")
    before = path.read_bytes()
    write(path, [30], resume_step=20)
    assert read_series(path)["step"].tolist() == [0, 10, 30]
    assert (tmp_path / "a.csv.damaged").read_bytes() == before and "1 lines that are not rows" in caplog.text


def test_a_series_that_vanishes_is_an_error(tmp_path):
    series = CsvSeries(tmp_path / "a.csv", COLUMNS)
    (tmp_path / "a.csv").unlink()
    with pytest.raises(OutputError, match="cannot write .*a.csv: No such file"):
        series.append({"step": 1, "time_s": 0.1, "mass_flow_kg_s": 1.0})
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: path.write_text(""), "has no header"),
        (lambda path: path.write_text("0,0.0,0.5\n1,0.1,0.25\n"), "has no header"),
        (lambda path: path.mkdir(), "is a folder"),
    ],
)
def test_what_is_no_series_at_all_is_kept_and_the_rows_begin_anew(tmp_path, caplog, make, told):
    path = tmp_path / "a.csv"
    make(path)
    was_folder = path.is_dir()
    write(path, [5], resume_step=4)
    assert read_series(path)["step"].tolist() == [5]
    assert (tmp_path / "a.csv.damaged").is_dir() == was_folder and told in caplog.text
