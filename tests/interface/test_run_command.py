"""``muphy-lb run`` and ``info``: what they write, what they say, how they end."""

import csv
import json
from html import escape

import h5py
import numpy as np
import pytest

from muphy_lb.base.phases import DRAWING, IMPORTS, LOOKING, PHASES, STEPPING, WRITING
from muphy_lb.domain import ROW, TILE
from muphy_lb.geometry.__main__ import main as geometry
from muphy_lb.partition.__main__ import main as partition
from muphy_lb.run.verdict import DOUBTFUL_EXIT_CODE
from tests.vessel import STARTING, command, write_case

QUICK = {"backend": "numpy", "precision": "fp64"}
SUMMARY_KEYS = {
    "ranks", "backend", "device", "precision", "streaming", "n_fluid", "steps", "wall_time_s", "mflups",
    "mass_relative_drift", "converged", "openings",
}  # fmt: skip
OPENINGS = ["inlet", "outlet_1", "outlet_2"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory, mpirun):
    """The finished command on two ranks, and its output folder."""
    folder = tmp_path_factory.mktemp("run")
    case = write_case(folder, compute=QUICK, output={"picture": True, "vtk": True, "progress_every_s": 0.001})
    done = mpirun(2, ["-m", "muphy_lb", "run", case, "-o", folder / "out", "--profile"])
    assert done.returncode == STARTING, done.stderr
    return done, folder / "out"


@pytest.fixture(scope="module")
def summary(finished):
    return json.loads((finished[1] / "summary.json").read_text())


def test_summary_tells_how_the_flow_was_computed(summary):
    assert summary.keys() >= SUMMARY_KEYS
    found = {key: summary[key] for key in ("ranks", "backend", "precision", "streaming", "steps", "converged")}
    assert found == {
        "ranks": 2, "backend": "numpy", "precision": "fp64", "streaming": "pull", "steps": 60, "converged": False,
    }  # fmt: skip


def test_summary_and_series_describe_every_opening(finished, summary):
    assert list(summary["openings"]) == OPENINGS
    for state in summary["openings"].values():
        assert state.keys() == {"kind", "area_m2", "flow_rate_m3_s", "mean_pressure_pa"}
    inlet = summary["openings"]["inlet"]
    assert inlet["kind"] == "inlet" and inlet["flow_rate_m3_s"] == pytest.approx(0.02 * inlet["area_m2"], rel=1e-12)
    rows = list(csv.DictReader((finished[1] / "openings.csv").open()))
    assert [int(row["step"]) for row in rows] == [10, 20, 30, 40, 50, 60]
    names = [f"{name}_{quantity}" for name in OPENINGS for quantity in ("flow_rate_m3_s", "pressure_pa")]
    assert list(rows[0]) == ["step", "time_s", *names]
    found = [float(rows[-1][f"{name}_flow_rate_m3_s"]) for name in OPENINGS]
    assert found == [state["flow_rate_m3_s"] for state in summary["openings"].values()]


def test_the_profile_tells_every_phase_on_every_rank(finished, summary):
    profile, done = summary["profile"], finished[0]
    assert list(profile["phases_s"]) == list(PHASES)
    for seconds in profile["phases_s"].values():
        assert len(seconds) == 2 and min(seconds) >= 0.0
    for name in (IMPORTS, STEPPING, LOOKING, WRITING):
        assert min(profile["phases_s"][name]) > 0.0
    assert profile["phases_s"][DRAWING][0] > 0.0 == profile["phases_s"][DRAWING][1]
    totals = np.sum(list(profile["phases_s"].values()), axis=0)
    assert totals == pytest.approx(profile["wall_s"]) and max(totals) > summary["wall_time_s"]
    assert profile["phases_s"][STEPPING][0] == pytest.approx(summary["stepping_time_s"], rel=0.2)
    assert "rank 0    rank 1" in done.stdout and "stepping [s]" in done.stdout


def test_no_pictures_draws_none_whatever_the_case_says(tmp_path):
    output = {
        "picture": True,
        "picture_format": "svg",
        "frames_every_steps": 1,
        "frames_field": "pressure",
        "film": True,
    }
    case = write_case(tmp_path, compute=QUICK, run={"steps": 2}, output=output)
    assert command("run", case, "-o", tmp_path / "out", "--no-pictures") in (0, DOUBTFUL_EXIT_CODE)
    names = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert not [name for name in names if name.endswith((".png", ".svg", ".gif"))]


def test_fields_hold_a_finite_cell_a_node_beside_a_picture(finished, summary):
    with h5py.File(finished[1] / "fields.vtkhdf") as file:
        cells = file["VTKHDF/CellData"]
        assert {name: data.shape[0] for name, data in cells.items()} == dict.fromkeys(
            ("density", "velocity", "pressure"), summary["n_fluid"]
        )
        assert np.isfinite(cells["velocity"][...]).all()
    assert (finished[1] / "picture.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_case_written_back_runs_again_to_the_same_flow(finished, summary, tmp_path):
    command("run", finished[1] / "case.toml", "-o", tmp_path, "--set", "output.picture=false")
    again = json.loads((tmp_path / "summary.json").read_text())
    assert len(summary["openings"]) > 1
    for name, state in summary["openings"].items():
        for key in ("area_m2", "flow_rate_m3_s", "mean_pressure_pa"):
            assert again["openings"][name][key] == pytest.approx(state[key], rel=1e-9, abs=1e-15)


def test_rank_0_tells_the_progress_once(finished):
    done, _ = finished
    of_steps = ("step 10/60 (16.7 %)", "MFLUPS", "ETA", "max velocity", "m/s", "inflow - outflow")
    of_the_end = ("ended: completed at step 60", "balance: ", "steadiness: not asked for", "verdict: doubtful")
    missing = [text for text in (*of_steps, *of_the_end, "density: largest relative") if text not in done.stdout]
    assert not missing and done.stdout.count("step 10/60") == 1 and done.stderr == ""


def test_a_doubtful_run_completes_with_an_exit_code_of_its_own_and_says_why(tmp_path, capsys, caplog):
    case = write_case(tmp_path, compute=QUICK, output={"progress_every_s": 0.001})
    steady = ["--set", "run.steady_tolerance=1e-9", "--set", "run.steady_interval_steps=20"]
    with caplog.at_level("INFO", logger="muphy_lb"):
        assert command("run", case, "-o", tmp_path / "out", *steady) == DOUBTFUL_EXIT_CODE == 6
    text = capsys.readouterr().out
    assert "verdict: doubtful" in text and "the flow is NOT steady" in text
    found = json.loads((tmp_path / "out" / "summary.json").read_text())
    report = (tmp_path / "out" / "report.html").read_text()
    for sentence in (*found["statements"], *found["objections"]):
        assert sentence in text and escape(sentence) in report
    assert "ETA at most" in caplog.text and "change not yet known (steady at 1e-09)" in caplog.text
    more = "run.steps=70", "run.steady_tolerance="
    assert command("resume", tmp_path / "out", *(word for key in more for word in ("--set", key))) == STARTING


def test_default_output_folder_has_the_name_of_the_case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("run", write_case(tmp_path, compute=QUICK), "--set", "run.steps=10") == STARTING
    assert (tmp_path / "out" / "vessel" / "summary.json").is_file()


def test_a_failing_run_leaves_no_summary_of_an_earlier_one(tmp_path):
    case = write_case(tmp_path, compute=QUICK)
    command("run", case, "-o", tmp_path / "out", "--set", "run.steps=10")
    with pytest.raises(Exception, match="diverged"):
        change = "--set", "run.max_mach=0.04", "--set", "run.ramp_steps=0"
        command("run", case, "-o", tmp_path / "out", "--overwrite", *change)
    assert not (tmp_path / "out" / "summary.json").exists()


def test_info_describes_a_case_and_counts_its_memory(tmp_path, capsys):
    command("info", write_case(tmp_path))
    told = capsys.readouterr().out
    mebibytes = 1908 * (2 * 19 * 4 * ROW / TILE + 18 * 0.5) / 2**20
    of_case = ("1,908 fluid nodes", "inlet: area 4.5e-05 m2", "mean velocity 0.02 m/s", "outlet_2: area", " 0 Pa")
    assert not [text for text in of_case if text not in told]
    assert f"memory per rank     {mebibytes:.1f} MiB on 1 rank\n" in told


def test_info_describes_a_prepared_geometry(tmp_path, capsys):
    path = str(tmp_path / "pipe.h5")
    geometry(["shape:pipe", path, "--spacing-m", "1", "--shape-option", "ends='open'"])
    partition([path, "2"])
    partition([path, "3"])
    _, measured = capsys.readouterr().out.rsplit("-3: ", 1)
    command("info", path)
    text = capsys.readouterr().out
    for expected in (
        "box 17 x 17 x 40 voxels of 1 m, periodic: no axis",
        "6,176 fluid nodes, 53.43 % of the box",
        "nodes by group (0: touching no opening): 5790, 193, 193",
        "outlet: centre (8 8 31.5) m, normal (0 0 -1), the whole plane",
        "partitioning metis-2 by metis: 2 parts, imbalance 1.0000",
        measured,
    ):
        assert expected in text


def mebibytes_said(capsys):
    """The memory per rank that a command has just told."""
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("memory per rank"))
    return float(line.split()[3])


def test_info_foretells_the_memory_of_a_run(tmp_path, capsys):
    """A domain this small has scratch memory that is not much smaller than its populations."""
    case = write_case(tmp_path, compute={"backend": "cpu"}, geometry={"spacing_m": 5e-4})
    command("info", case)
    foretold = mebibytes_said(capsys)
    command("run", case, "-o", tmp_path / "out", "--set", "run.steps=10")
    assert foretold < mebibytes_said(capsys) < 2 * foretold


def test_a_run_names_the_files_that_it_has_written_and_no_others(tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").touch()
    command("run", write_case(tmp_path, compute={"backend": "numpy"}, run={"steps": 10}), "-o", out)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("written to")]
    assert line == f"written to {out}: case.toml, openings.csv, report.html, summary.json"
