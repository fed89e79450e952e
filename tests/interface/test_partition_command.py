"""The command ``muphy-lb partition``: what it stores, what it prints, how it fails."""

import json
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from muphy_lb.base.files.hdf5 import CHECKSUMMED
from muphy_lb.partition.__main__ import main
from muphy_lb.partition.methods import METHODS
from muphy_lb.partition.store import list_partitions, read_partition

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def case(tmp_path):
    """A CASE.h5 with a box of 8 x 6 x 4 nodes, periodic along x; the last z plane is opening group 1."""
    path = tmp_path / "case.h5"
    with h5py.File(path, "w", libver=CHECKSUMMED) as file:
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
    main([case, "4", "--method", "Z", "--weights", "1:1"])
    # Between planes of 8 x 6 nodes, periodic along x: 48 straight links, 96 oblique ones along x, 80 along y.
    assert capsys.readouterr().out == (
        f"{case}: Z-4: 4 parts, imbalance 1.0000, edge cut 144, neighbours 1.5 (at most 2),"
        f" halo bytes per step {6 * 224 * 4} (at most {2 * 224 * 4} per rank), boundary nodes 192\n"
    )


def test_halo_bytes_follow_the_precision(case, capsys):
    main([case, "4", "--method", "Z", "--weights", "1:1", "--precision", "fp64"])
    assert f"halo bytes per step {6 * 224 * 8} " in capsys.readouterr().out


@pytest.mark.parametrize("more", [[], ["--weights", "1:3"], ["--weights", "1:1", "--shares", "3", "1"]])
def test_weights_of_groups_and_shares_move_the_cut(case, more):
    """Nodes at openings weigh more unless told otherwise."""
    main([case, "2", "--method", "Z", *more])
    assert np.bincount(read_partition(case, "Z-2")).tolist() == [144, 48]


def test_automatic_choice_says_what_it_took_and_stores_it(case, capsys):
    main([case, "4", "--method", "auto"])
    (stored,) = list_partitions(case)
    assert stored.name == "auto-4" and f"partition: {stored.method}, predicted step" in capsys.readouterr().out


def test_several_numbers_of_parts_are_stored_one_by_one(case):
    main([case, "2,3", "--method", "curve"])
    assert [(p.name, p.n_parts) for p in list_partitions(case)] == [("curve-2", 2), ("curve-3", 3)]


def test_name_can_be_given(case):
    main([case, "2", "--method", "curve", "--name", "mine"])
    assert [(p.name, p.method) for p in list_partitions(case)] == [("mine", "curve")]


def test_list_names_what_is_stored_if_anything(case, capsys):
    main([case, "--list"])
    assert "has no partitioning" in capsys.readouterr().out
    main([case, "3", "--method", "XY"])
    main([case, "2", "--method", "Z"])
    capsys.readouterr()
    main([case, "--list"])
    assert capsys.readouterr().out == "XY-3: 3 parts by XY\nZ-2: 2 parts by Z\n"


def test_compare_prints_a_line_for_each_method_and_stores_nothing(case, capsys):
    main([case, "4", "--compare"])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["method", *METHODS]
    assert list_partitions(case) == ()


def test_compare_marks_one_method_for_each_number_of_parts(case, capsys):
    main([case, "2,4", "--compare"])
    marked = [line.split() for line in capsys.readouterr().out.splitlines() if line.endswith("<- auto")]
    assert [words[1] for words in marked] == ["2", "4"]


def test_compare_writes_what_it_prints(case, tmp_path, capsys):
    main([case, "4", "--compare", "--json", str(tmp_path / "table.json")])
    record = json.loads((tmp_path / "table.json").read_text())
    found = record["parts"]["4"]
    printed = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines()[1:]}
    assert record["nodes"] == 192 and printed[found["auto"]][-1] == "auto"
    assert {name: words[3] for name, words in printed.items()} == {
        name: str(row["edge_cut"]) for name, row in found["methods"].items()
    }


def test_costs_of_a_machine_move_the_predicted_step(case, tmp_path):
    file = tmp_path / "table.json"
    main([case, "4", "--compare", "--json", str(file), "--costs", "1e-9", "1.0", "1e9"])
    # Latency alone counts: a second for each neighbour.
    steps = json.loads(file.read_text())["parts"]["4"]["methods"]
    assert steps["Z"]["step_us"] == pytest.approx(1e6 * steps["Z"]["max_neighbours"], rel=1e-3)


def test_a_table_that_cannot_be_written_is_one_line_and_code_4(case, capsys):
    assert main([case, "4", "--compare", "--json", "absent/table.json"]) == 4
    error = capsys.readouterr().err
    assert "cannot write absent/table.json" in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["4", "--method", "metes"], "did you mean 'metis'"),
        ([], "the number of parts is missing"),
        (["4", "--name", "a/b"], "bad name 'a/b'"),
        (["2,3", "--name", "mine"], "--name mine cannot name 2 partitionings"),
        (["4", "--weights", "7:2"], "there is no group 7"),
        (["4", "--costs", "0", "1", "1"], "costs of a step are 0.0 s a node"),
        (["4", "--compare", "--costs", "1", "-1", "1"], "they must be finite and positive"),
        (["4", "--method", "auto", "--shares", "1", "2", "0", "1"], "part 2 has share 0.0"),
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


def test_the_remedy_for_a_file_that_is_no_geometry_does_not_overwrite_it(tmp_path, capsys):
    (tmp_path / "case.toml").write_text("title = 'mine'")
    for words in (["4"], []):
        assert main([str(tmp_path / "case.toml"), *words]) == 2
        error = capsys.readouterr().err
        assert "is no prepared geometry, which ends with .h5" in error and "geometry INPUT CASE.h5" in error
