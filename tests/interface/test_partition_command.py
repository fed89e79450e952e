"""python -m partition: what it stores, what it prints, how it fails."""

import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from partition.__main__ import main
from partition.partition import METHODS
from partition.store import list_partitions, read_partition

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def case(tmp_path):
    """A CASE.h5 with a box of 8 x 6 x 4 nodes, periodic along x; the last z plane is opening group 1."""
    path = tmp_path / "case.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("geometry")
        group.attrs.update(version=1, shape=(4, 6, 8), periodic=(True, False, False))
        group["voxel"] = np.arange(192)
        group["group_start"] = np.array([0, 144, 192])
    return str(path)


def test_command_runs_as_a_module(case):
    done = subprocess.run([sys.executable, "-m", "partition", case, "4"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_default_is_metis_under_the_default_name(case):
    main([case, "4"])
    assert np.unique(read_partition(case, "metis-4")).tolist() == [0, 1, 2, 3]


def test_report_names_the_partitioning_and_its_quality(case, capsys):
    main([case, "4", "--method", "Z"])
    assert capsys.readouterr().out == (
        f"{case}: Z-4: 4 parts, imbalance 1.0000, edge cut 144, neighbours 1.5 (at most 2),"
        " halo bytes per step 2304 (at most 768 a rank), boundary nodes 192\n"
    )


def test_halo_bytes_follow_the_option(case, capsys):
    main([case, "4", "--method", "Z", "--bytes-per-link", "40"])
    assert "halo bytes per step 11520 " in capsys.readouterr().out


def test_name_can_be_given(case):
    main([case, "2", "--method", "curve", "--name", "mine"])
    assert [(p.name, p.method) for p in list_partitions(case)] == [("mine", "curve")]


def test_heavy_groups_move_the_cut(case):
    main([case, "2", "--method", "Z", "--weights", "1:3"])
    assert np.bincount(read_partition(case, "Z-2")).tolist() == [144, 48]


def test_list_names_what_is_stored(case, capsys):
    main([case, "3", "--method", "XY"])
    main([case, "2", "--method", "Z"])
    capsys.readouterr()
    main([case, "--list"])
    assert capsys.readouterr().out == "XY-3: 3 parts by XY\nZ-2: 2 parts by Z\n"


def test_list_says_when_nothing_is_stored(case, capsys):
    main([case, "--list"])
    assert "has no partitioning" in capsys.readouterr().out


def test_compare_prints_a_line_for_each_method(case, capsys):
    main([case, "4", "--compare"])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["method", *METHODS]


def test_compare_stores_nothing(case):
    main([case, "4", "--compare"])
    assert list_partitions(case) == ()


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["4", "--method", "metes"], "did you mean 'metis'"),
        (["0"], "number of parts is 0"),
        (["193"], "more ranks than nodes: 193 parts of a graph of 192 nodes"),
        ([], "the number of parts is missing"),
        (["4", "--name", "a/b"], "bad name 'a/b'"),
        (["4", "--weights", "7:2"], "there is no group 7"),
        (["4", "--weights", "1:-2"], "group 1 costs -2.0"),
    ],
)
def test_bad_input_is_one_line_and_code_2(case, capsys, arguments, text):
    assert main([case, *arguments]) == 2
    error = capsys.readouterr().err
    assert text in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["many"], "invalid int value: 'many'"),
        (["4", "--weights", "1=2"], "'1=2' is not GROUP:COST"),
        (["4", "--metod", "X"], "unrecognized arguments: --metod"),
    ],
)
def test_bad_usage_is_one_line_and_code_2(case, capsys, arguments, text):
    with pytest.raises(SystemExit) as stop:
        main([case, *arguments])
    error = capsys.readouterr().err
    assert stop.value.code == 2 and text in error and error.count("\n") == 1


def test_missing_file_is_one_line_and_code_2(tmp_path, capsys):
    assert main([str(tmp_path / "absent.h5"), "4"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
