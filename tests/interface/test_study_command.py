"""``muphy-lb study``: members, failures, results; killed at any moment, it continues to the same table."""

import csv
import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest

from muphy_lb import Simulation, Study
from muphy_lb.apps.study import running
from muphy_lb.apps.study.running import Workers
from muphy_lb.base.errors import InputError
from muphy_lb.boundaries import wall_balance
from muphy_lb.case.toml import toml_lines
from muphy_lb.measure.shear import wall_nodes
from muphy_lb.run.loop import STOPPED_EXIT_CODE
from tests import vessel
from tests.channel import OPEN, changed
from tests.vessel import command, command_on
from tests.waiting import wait_for

PARAMETERS = [
    {"name": "inflow", "key": "openings.inlet.velocity_m_s", "normal": [1.0, 0.1], "relative": True},
    {"name": "viscosity", "key": "fluid.kinematic_viscosity_m2_s", "uniform": [0.9e-5, 1.1e-5]},
]
STUDY = {"samples": 6, "answers": ["pressure_drops_pa.*", "openings.*.flow_rate_m3_s"], "parameters": PARAMETERS}
CHECKED = {"output": {"checkpoint_every_steps": 10}}


def written(folder, case=None, **study):
    """A channel with a study as a file."""
    path = folder / "channel.toml"
    table = {**changed(OPEN, walls=[], **(case or {})), "study": STUDY | study}
    path.write_text("\n".join(toml_lines(table)) + "\n")
    return path


def counted(monkeypatch, module, name: str) -> list:
    """A list that grows by the calls of a function."""
    calls, function = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given: (calls.append(name), function(*given))[1])
    return calls


def rows(folder) -> list[dict]:
    return list(csv.DictReader((folder / "members.csv").open()))


def test_a_study_writes_table_answers_and_report(tmp_path, capsys):
    path, out = written(tmp_path), tmp_path / "out"
    assert command("study", path, "-o", out) == 0
    told = capsys.readouterr().out
    assert "6 of 6 members ended, 0 failed" in told and "a band of 6 members holds 71 %" in told
    assert [row["status"] for row in rows(out)] == ["ended"] * 6
    answers = json.loads((out / "answers.json").read_text())["answers"]
    band = answers["openings.inlet.flow_rate_m3_s"]["band"]
    inflow = [float(row["inflow"]) for row in rows(out)]
    flow = [float(row["openings.inlet.flow_rate_m3_s"]) for row in rows(out)]
    assert flow == pytest.approx([factor * flow[0] / inflow[0] for factor in inflow], rel=1e-6)
    assert band["low"] == pytest.approx(min(flow)) and band["n"] == 6
    report = (out / "report.html").read_text()
    assert report.count("<img") >= 4 and "inflow alone explains 100 % of the variance" in report
    assert not list(out.glob("members/*/*.png")) and not list(out.glob("members/*/checkpoints/*"))
    assert command("study", path, "-o", out) == 0
    assert "member 0 of" not in capsys.readouterr().out, "what has ended is not run again"


def test_members_run_one_by_one_as_in_an_array(tmp_path, capsys, monkeypatch):
    """Together they share what follows from their geometry, here that of interpolated walls and of their stress."""
    case = {"lattice": {"walls": "bouzidi"}, "output": {"wall_shear": True}}
    path, out, whole = written(tmp_path, case, samples=3), tmp_path / "array", tmp_path / "whole"
    measured, shared = counted(monkeypatch, wall_nodes, "wall_areas"), counted(monkeypatch, wall_balance, "gap_shares")
    for number in range(3):
        assert command("study", path, "-o", out, "--member", number) == 0
    assert "2 members have not ended yet" in capsys.readouterr().out
    command("study", path, "-o", whole)
    assert len(measured) == len(shared) == 3 + 1
    assert (out / "members.csv").read_bytes() == (whole / "members.csv").read_bytes()
    assert (out / "answers.json").read_bytes() == (whole / "answers.json").read_bytes()


def test_half_of_the_members_fail_and_the_rest_is_told_apart(tmp_path, capsys):
    """Beyond the largest Mach number: refused ahead of the flow, or on its way."""
    parameters = [{"name": "fastest", "key": "run.max_mach", "values": [0.5, 0.004]}, PARAMETERS[0]]
    path, out = written(tmp_path, parameters=parameters, samples=8), tmp_path / "out"
    assert command("study", path, "-o", out) == 0
    told = capsys.readouterr().out
    assert "4 of 8 members ended, 4 failed" in told and "they say nothing of values that make a flow fail" in told
    failed = [row for row in rows(out) if row["status"] == "failed"]
    assert all("Mach number" in row["reason"] and row["fastest"] == "0.004" for row in failed) and len(failed) == 4
    assert "4 failed" in (out / "report.html").read_text()


def test_a_study_of_failures_alone_says_so(tmp_path, capsys):
    path = written(tmp_path, parameters=[{"name": "fastest", "key": "run.max_mach", "values": [0.004, 0.003]}])
    assert command("study", path, "-o", tmp_path / "out") == 1
    assert "0 of 6 members ended, 6 failed" in capsys.readouterr().out


@pytest.mark.night
def test_processes_share_the_members(tmp_path):
    path = written(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "muphy_lb", "study", path, "-o", tmp_path / "two", "--jobs", "2"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    command("study", path, "-o", tmp_path / "one")
    assert (tmp_path / "two" / "members.csv").read_bytes() == (tmp_path / "one" / "members.csv").read_bytes()


def sleeping(monkeypatch, seconds: float) -> list:
    """Further processes that sleep in place of working; returns the list of them."""
    begun, popen = [], subprocess.Popen

    def other(_, **options):
        begun.append(popen([sys.executable, "-c", f"import time; time.sleep({seconds})"], **options))
        return begun[-1]

    monkeypatch.setattr(running.subprocess, "Popen", other)
    return begun


def test_members_that_another_process_left_run_behind_it(tmp_path, monkeypatch):
    """It holds the claim of a member, and dies."""
    path, out = written(tmp_path, samples=2), tmp_path / "out"
    claim = Study(path, out).members.claimed(0)
    sleeping(monkeypatch, 0.0)
    wait = Workers.wait

    def released(workers):
        monkeypatch.setattr(Workers, "wait", wait)
        claim.__exit__(None, None, None)
        return workers.wait()

    monkeypatch.setattr(Workers, "wait", released)
    claim.__enter__()
    assert command("study", path, "-o", out, "--jobs", "2") == 0
    assert [row["status"] for row in rows(out)] == ["ended"] * 2


def test_members_that_another_process_is_at_are_told_by_the_exit_code(tmp_path, capsys):
    path, out = written(tmp_path, samples=2), tmp_path / "out"
    with Study(path, out).members.claimed(0):
        assert command("study", path, "-o", out) == STOPPED_EXIT_CODE
    assert "1 members have not ended yet" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("owner", "name"), [(running, "_claimed"), (subprocess.Popen, "poll")], ids=["in a member", "after the last"]
)
def test_a_stop_signal_ends_further_processes(tmp_path, monkeypatch, owner, name):
    path, out = written(tmp_path, samples=2), tmp_path / "out"
    begun, before = sleeping(monkeypatch, 300.0), getattr(owner, name)

    def signalled(*given):
        monkeypatch.setattr(owner, name, before)
        signal.raise_signal(signal.SIGTERM)
        return before(*given)

    monkeypatch.setattr(owner, name, signalled)
    assert command("study", path, "-o", out, "--jobs", "2") == STOPPED_EXIT_CODE
    assert [process.returncode for process in begun] == [-signal.SIGTERM]


def test_members_on_two_ranks_are_those_of_one(tmp_path, on_ranks):
    path = tmp_path / "vessel.toml"
    case = vessel.changed(lattice={"lattice_velocity": None, "time_step_s": 2e-4})
    study = STUDY | {"pack": 3, "samples": 3, "parameters": PARAMETERS[:1]}
    path.write_text("\n".join(toml_lines({**case, "study": study})) + "\n")
    code, said = on_ranks(2, command_on, "study", path, "-o", tmp_path / "two")
    assert code == 0 and "3 members together" in said
    command("study", path, "-o", tmp_path / "one")
    assert (tmp_path / "two" / "members.csv").read_bytes() == (tmp_path / "one" / "members.csv").read_bytes()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--jobs", "0"], "--jobs is 0; allowed: 1 to 1024"),
        (["--jobs", "2", "--member", "1"], "and there is --member; leave one out"),
        (["--member", "1", "--overwrite"], "removes the outcomes of all members, and --member 1 runs one"),
        (["--member", "6"], "there is no member 6; members have the numbers 0 to 5"),
    ],
)
def test_impossible_options_are_refused(tmp_path, words, told):
    with pytest.raises(InputError, match=re.escape(told)):
        command("study", written(tmp_path), "-o", tmp_path / "out", *words)


def test_a_case_without_a_study_is_refused(tmp_path):
    path = tmp_path / "channel.toml"
    path.write_text("\n".join(toml_lines(OPEN)) + "\n")
    with pytest.raises(InputError, match=r"has no table \[study\]"):
        command("study", path)


def test_members_go_on_from_a_given_flow(tmp_path):
    """Of a start on the same nodes; with another time step it is refused, as of any run, and told member by member."""
    later = {"run": {"steps": 31}}
    given = {"case": changed(OPEN, walls=[], **later), "study": STUDY | {"start": str(tmp_path / "start")}}
    with Simulation(changed(OPEN, walls=[])) as simulation:
        simulation.run(steps=20)
        simulation.save(tmp_path / "start")
        Study(given, tmp_path / "out")
        simulation.run(steps=10)
        simulation.save(tmp_path / "start", overwrite=True)
    with pytest.raises(InputError, match="holds members of another study"):
        Study(given, tmp_path / "out")
    study = Study(given, tmp_path / "out", overwrite=True)
    study.run()
    assert study.table.has_ended.all() and all(outcome.steps == 31 for outcome in study.table.outcomes)
    short = changed(OPEN, walls=[], run={"steps": 30})
    done = Study({"case": short, "study": STUDY | {"start": str(tmp_path / "start")}}, tmp_path / "done")
    done.run()
    assert "study.start has made 30 steps, and the run ends after 30" in done.table.failures[0]
    relaxed = changed(OPEN, walls=[], lattice={"time_step_s": None, "relaxation_time": 0.8}, **later)
    other = Study({"case": relaxed, "study": STUDY | {"start": str(tmp_path / "start")}}, tmp_path / "other")
    other.run()
    assert len(other.table.failures) == 6 and "belongs to another time step" in other.table.failures[0]


@pytest.mark.parametrize("n_kills", [1, pytest.param(10, marks=pytest.mark.night)])
def test_a_study_killed_at_random_has_the_same_table(tmp_path, n_kills):
    path = written(tmp_path, {**CHECKED, "run": {"steps": 300}})
    begun = time.perf_counter()
    whole = Study(path, tmp_path / "whole")
    whole.run()
    seconds = time.perf_counter() - begun
    whole.write(with_pictures=False)
    moments, n_left = random.Random(11), []
    context = multiprocessing.get_context("forkserver")  # compiled loops do not survive a plain fork
    context.set_forkserver_preload(["muphy_lb.apps.study.study", "tests.vessel"])
    for _ in range(n_kills):
        process = context.Process(target=command, args=("study", path, "-o", tmp_path / "killed", "--no-results"))
        process.start()
        wait_for(lambda: (tmp_path / "killed" / "members").exists())
        time.sleep(moments.uniform(0.02, 0.3) * seconds)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        n_left.append(Study(path, tmp_path / "killed").table.n_missing)
    killed = Study(path, tmp_path / "killed")
    killed.run()
    killed.write(with_pictures=False)
    assert n_left[0] > 0, "the first kill came after the end"
    assert (tmp_path / "killed" / "members.csv").read_bytes() == (tmp_path / "whole" / "members.csv").read_bytes()


def test_parquet_needs_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'muphy_lb\[study\]'"):
        command("study", written(tmp_path, samples=2), "-o", tmp_path / "out", "--parquet")
