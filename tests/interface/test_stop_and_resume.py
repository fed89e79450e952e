"""A run that is stopped, however, continues as if it had never been."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest

from muphy_lb import Simulation as Python
from muphy_lb.base.errors import InputError, OutputError
from muphy_lb.base.files.sealed import seal
from muphy_lb.run import checkpoint as checkpoint_module
from muphy_lb.run import stop_signals
from muphy_lb.run.loop import STOPPED_EXIT_CODE, Run
from muphy_lb.run.solver import Solver
from muphy_lb.run.stop_signals import StopSignals
from muphy_lb.run.verdict import DOUBTFUL_EXIT_CODE
from tests.channel import periodic_channel
from tests.conftest import find_launcher, launcher_settings, stop_group
from tests.vessel import STARTING, command, vessel, write_case
from tests.waiting import wait_for

CPU = {"backend": "cpu"}  # NumPy's sums depend on the size of the arrays, hence on the ranks
REGULAR = {"checkpoint_every_steps": 20}
PATIENCE_S = 60.0


def checkpoints(folder):
    return sorted((folder / "checkpoints").glob("step_*.h5"))


def state(folder):
    """Step and populations of the newest checkpoint."""
    with h5py.File(checkpoints(folder)[-1]) as file:
        return int(file.attrs["step"]), file["populations"][...]


def series_steps(folder):
    return [int(row["step"]) for row in csv.DictReader((folder / "openings.csv").open())]


def snapshot_steps(folder):
    with h5py.File(folder / "fields.vtkhdf") as file:
        return file["muphy_lb/step"][...].tolist()


def summary(folder):
    return json.loads((folder / "summary.json").read_text())


def undisturbed(folder, n_steps):
    """Populations after ``n_steps`` in one go, computed in ``folder``."""
    simulation = Solver(vessel(compute=CPU, run={"steps": n_steps}, output={"checkpoint_every_steps": n_steps}))
    Run(simulation, folder).execute()
    return state(folder)[1]


@pytest.fixture
def case(tmp_path):
    return write_case(tmp_path, compute=CPU, output=REGULAR)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture(scope="module")
def end(tmp_path_factory):
    """Populations after 60 steps in one go."""
    return undisturbed(tmp_path_factory.mktemp("undisturbed"), 60)


def stop_by_file(out, monkeypatch):
    advance = Solver.advance
    monkeypatch.setattr(Solver, "advance", lambda *arguments: (advance(*arguments), (out / "STOP").touch())[0])


def stop_by_wall_time(out, monkeypatch):
    return "run.wall_time='00:00:00'"


def stop_by_signal(number):
    def stop(out, monkeypatch):
        advance = Solver.advance
        monkeypatch.setattr(Solver, "advance", lambda *arguments: (advance(*arguments), signal.raise_signal(number))[0])

    return stop


STOPS = {
    "STOP file": stop_by_file,
    "wall time": stop_by_wall_time,
    "signal SIGUSR1": stop_by_signal(signal.SIGUSR1),
    "signal SIGTERM": stop_by_signal(signal.SIGTERM),
}


@pytest.mark.parametrize("reason", STOPS)
def test_a_stopped_run_continues_bit_for_bit(case, out, end, monkeypatch, capsys, reason):
    with monkeypatch.context() as patch:
        setting = STOPS[reason](out, patch)
        arguments = ["--set", setting] if setting else []
        assert command("run", case, "-o", out, *arguments) == STOPPED_EXIT_CODE
    text = capsys.readouterr().out
    assert f"stopped by {reason}" in text and "verdict: doubtful" in text
    assert re.search(
        rf"  - the run was stopped by {reason}.* before its end; continue with: muphy-lb resume {out}\n", text
    )
    assert state(out)[0] == 10
    assert command("resume", out, "--set", "run.wall_time=") == STARTING
    assert np.array_equal(state(out)[1], end)


@pytest.mark.parametrize(("usual", "received"), [(signal.SIG_DFL, signal.SIGHUP), (signal.SIG_IGN, 0)])
def test_a_hangup_is_a_stop_signal_unless_nohup_has_it_ignored(usual, received):
    before = signal.signal(signal.SIGHUP, usual)
    try:
        with StopSignals() as signals:
            signal.raise_signal(signal.SIGHUP)
        assert signals.received == received and signal.getsignal(signal.SIGHUP) == usual
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_signal_ends_a_forked_child_and_stops_no_run():
    with StopSignals() as signals:
        child = os.fork()
        if child == 0:
            signal.raise_signal(signal.SIGTERM)
            os._exit(0)
        _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM and signals.received == 0


def test_during_set_up_the_first_ctrl_c_is_told_of_and_the_second_stops(monkeypatch, caplog):
    with caplog.at_level("INFO", logger="muphy_lb"), StopSignals() as signals:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)  # the same press, passed on
        assert caplog.text.count("stopping at the next check of the flow; Ctrl-C again to stop now") == 1
        monkeypatch.setattr(stop_signals, "SAME_PRESS_S", 0.0)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        signals.set_up()
        signal.raise_signal(signal.SIGINT)
    assert signals.received == signal.SIGINT


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGUSR1, marks=pytest.mark.night)], ids=str)
def test_a_signal_to_mpirun_stops_all_ranks_with_a_checkpoint(tmp_path, out, number):
    case = write_case(tmp_path, compute=CPU, run={"steps": 10**6})
    check_that_a_signal_stops(["run", case, "-o", out], out, number)
    assert len(checkpoints(out)) == 1
    check_the_end(tmp_path, out)


def test_two_ranks_continue_what_one_began_until_a_signal_stops_them(tmp_path, out):
    case = write_case(tmp_path, compute=CPU, output=REGULAR)
    command("run", case, "-o", out, "--set", "run.steps=40")
    check_that_a_signal_stops(["resume", out, "--set", "run.steps=1000000"], out, signal.SIGTERM, begun=40)
    check_the_end(tmp_path, out)


def check_that_a_signal_stops(words, out, number, begun=0):
    """A command on two ranks ends as it should when mpirun gets a signal after the first new row of the series."""
    done = stopped_ranks(words, out, number, begun)
    assert (done.returncode, done.stderr) == (STOPPED_EXIT_CODE, ""), done.stdout
    assert f"stopped by signal {number.name}; continue with: muphy-lb resume {out}" in done.stdout
    assert state(out)[0] > begun


def check_the_end(folder, out):
    """What one rank makes of the newest checkpoint is what it is without a stop."""
    step, _ = state(out)
    command("resume", out, "--set", f"run.steps={step + 20}", "--set", "output.checkpoint_every_steps=1000000")
    assert np.array_equal(state(out)[1], undisturbed(folder / "reference", step + 20))


def stopped_ranks(words, out, number, begun):
    """The finished command on two ranks, to whose mpirun a signal was sent after a row of the series past a step."""
    launcher = find_launcher()
    if launcher is None:
        pytest.skip("no mpirun")
    line = [launcher, "-n", "2", sys.executable, "-m", "muphy_lb", *map(str, words)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(line, env=os.environ | launcher_settings(launcher), **pipes) as process:
        try:
            series = out / "openings.csv"
            wait_for(
                lambda: process.poll() is not None or (series.exists() and max(series_steps(out), default=0) > begun)
            )
            process.send_signal(number)
            told = process.communicate(timeout=PATIENCE_S)
        finally:
            if process.poll() is None:
                stop_group(process)
    return subprocess.CompletedProcess(line, process.returncode, *told)


def test_resume_drops_later_rows_and_snapshots(case, out):
    often = ["--set", "output.vtk=true", "--set", "output.fields_every_steps=10"]
    command("run", case, "-o", out, *often)
    checkpoints(out)[-1].unlink()
    command("resume", out, "--set", "run.steps=50", "--set", "output.fields_every_steps=25")
    assert series_steps(out) == [10, 20, 30, 40, 50]
    assert snapshot_steps(out)[:4] == [10, 20, 30, 40]
    assert 60 not in snapshot_steps(out)


def test_the_end_is_one_snapshot(case, out):
    command("run", case, "-o", out, "--set", "output.vtk=true", "--set", "output.fields_every_steps=20")
    assert snapshot_steps(out) == [20, 40, 60]


def test_the_last_two_checkpoints_are_kept(case, out):
    command("run", case, "-o", out)
    assert [int(path.stem[5:]) for path in checkpoints(out)] == [40, 60]


def test_a_new_run_forgets_the_checkpoints_of_an_earlier_one(case, out):
    command("run", case, "-o", out)
    command("run", case, "-o", out, "--overwrite", "--set", "run.steps=20")
    assert [int(path.stem[5:]) for path in checkpoints(out)] == [20]


def test_a_new_run_refuses_to_remove_checkpoints_unasked(case, out):
    command("run", case, "-o", out)
    with pytest.raises(InputError, match="resume .*or give --overwrite"):
        command("run", case, "-o", out)
    assert len(checkpoints(out)) == 2


def test_a_new_run_refuses_to_replace_results_of_hours_unasked(case, out):
    once = ["run", case, "-o", out, "--set", "output.checkpoint_every_steps=0", "--set", "run.steps=10"]
    for _ in range(2):  # what took a moment may go
        command(*once)
        shutil.rmtree(out / "checkpoints")  # of a flow that has just started
    took_long = summary(out) | {"wall_time_s": 7200.0}
    (out / "summary.json").write_text(json.dumps(took_long))
    with pytest.raises(InputError, match="holds the results of a run that took 120 min; give --overwrite"):
        command(*once)
    with Python(case) as simulation, pytest.raises(InputError, match="results of a run that took 120 min; give anoth"):
        simulation.run(folder=out)
    command(*once, "--overwrite")
    assert summary(out)["wall_time_s"] < 600.0


def test_resuming_a_finished_run_leaves_its_summary_and_checkpoints(case, out):
    command("run", case, "-o", out)
    before = [path.read_bytes() for path in (out / "summary.json", *checkpoints(out))]
    assert command("resume", out) == STARTING
    assert [path.read_bytes() for path in (out / "summary.json", *checkpoints(out))] == before


@pytest.mark.parametrize("missing", ["summary.json", "openings.csv", "both"])
def test_a_run_that_died_behind_its_last_step_writes_what_is_missing(case, out, missing):
    """Nothing of it is stepped again; an old summary, of an earlier step, counts as missing."""
    last = ["--set", "output.vtk=true", "--set", "output.series_every_steps=35"]
    command("run", case, "-o", out, *last)
    whole = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    (out / "summary.json").unlink()
    if missing != "summary.json":
        rows = (out / "openings.csv").read_text().splitlines(keepends=True)
        (out / "openings.csv").write_text("".join(rows[:-1]))
    if missing == "both":
        (out / "fields.vtkhdf").unlink()
    assert command("resume", out) == STARTING
    assert series_steps(out) == [35, 60] and snapshot_steps(out) == [60] and summary(out)["steps"] == 60
    assert (out / "openings.csv").read_bytes() == whole["openings.csv"]


def test_a_steady_run_that_died_behind_its_last_step_is_not_stepped_on(tmp_path, out):
    steady = {"steps": 10**5, "ramp_steps": 0, "steady_tolerance": 0.1, "steady_interval_steps": 20}
    case = write_case(tmp_path, compute=CPU, output=REGULAR, run=steady)
    command("run", case, "-o", out)
    before = summary(out)
    (out / "summary.json").unlink()
    assert command("resume", out) == DOUBTFUL_EXIT_CODE  # such a tolerance is met long before anything has left
    assert summary(out)["ended"] == before["ended"] == "steady" and summary(out)["steps"] == before["steps"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ("lattice.lattice_velocity=0.01", r"time step \[s\] .*: lattice.lattice_velocity was 0.015, is 0.01"),
        ("openings.inlet.velocity_m_s=0.04", r"time step \[s\] .*: openings.inlet.velocity_m_s was 0.02, is 0.04"),
        ("fluid.density_kg_m3=1000", r"density \[kg/m3\] .*: fluid.density_kg_m3 was 1060.0, is 1000.0"),
    ],
)
def test_a_state_is_not_taken_into_other_units(case, out, changed, told):
    command("run", case, "-o", out, "--set", "run.steps=20")
    with pytest.raises(InputError, match=f"checkpoint .* belongs to another {told}; resume without that change"):
        command("resume", out, "--set", changed)


def test_a_state_is_not_taken_into_another_image(tmp_path, out):
    image = np.ones((1, 4, 6), np.uint8)
    np.save(tmp_path / "image.npy", image)
    read = {"file": "image.npy", "spacing_m": 1e-3, "periodic": "xy", "shape": None, "options": None}
    case = periodic_channel(tmp_path, geometry=read, walls=[], output=REGULAR)
    (tmp_path / "case.toml").write_text(case.to_toml(tmp_path))
    command("run", tmp_path / "case.toml", "-o", out)
    image[0, 0, 0] = 0
    np.save(tmp_path / "image.npy", image)
    with pytest.raises(InputError, match="another geometry: no key of .* has changed, but perhaps .* a file that"):
        command("resume", out)


def test_what_else_has_changed_is_told(case, out, caplog):
    command("run", case, "-o", out, "--set", "run.steps=20")
    with caplog.at_level("INFO", logger="muphy_lb"):
        command("resume", out, "--set", "lattice.collision='trt'")
    assert "changed since the checkpoint: lattice.collision was 'bgk', is 'trt'\n" in caplog.text


def test_a_checkpoint_of_another_version_is_refused_and_kept(case, out):
    command("run", case, "-o", out, "--set", "run.steps=40")
    path = checkpoints(out)[-1]
    another = checkpoint_module.VERSION + 1
    seal(path, "muphy_lb checkpoint", another)
    for text in (f"of version {another}", "0.5 or earlier"):
        before = path.read_bytes()
        with pytest.raises(InputError, match=f"was written by muphy_lb .*{text}"):
            command("resume", out)
        assert path.read_bytes() == before
        path.write_bytes(before[512:])


def test_a_checkpoint_that_was_passed_over_is_not_removed(case, out):
    command("run", case, "-o", out, "--set", "run.steps=60")
    last = checkpoints(out)[-1]
    last.write_bytes(last.read_bytes()[:1000])
    command("resume", out, "--set", "run.steps=50")
    assert last.stat().st_size == 1000 and state_at(out, 50)


def state_at(out, step):
    """Whether the folder holds a checkpoint of a step."""
    return (out / "checkpoints" / f"step_{step:012d}.h5").exists()


def test_a_folder_belongs_to_one_run(case, out):
    command("run", case, "-o", out, "--set", "run.steps=20")
    holder = "import sys, time; from muphy_lb.run.folder import FolderLock; lock = FolderLock(sys.argv[1])"
    line = [sys.executable, "-c", f"{holder}; print('held', flush=True); time.sleep(60)", out]
    process = subprocess.Popen(line, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(OutputError, match=f"{out} is in use by process {process.pid} on "):
            command("resume", out)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert command("resume", out) == STARTING  # the lock has died with its holder


def test_a_run_that_could_not_begin_lets_others_have_the_folder(case, out):
    simulation = Solver(case)
    with pytest.raises(InputError, match="no valid checkpoint") as kept:
        Run(simulation, out, resume=True)
    run = Run(simulation, out)
    assert kept.value.__traceback__ is not None  # the frames of what failed live on
    with pytest.raises(OutputError, match=f"{out} is in use by another run of this process"):
        Run(simulation, out)
    run.execute()


def test_files_that_are_no_checkpoints_are_not_taken_for_some(case, out):
    (out / "checkpoints").mkdir(parents=True)
    (out / "checkpoints" / "z_notes.h5").touch()
    assert command("run", case, "-o", out) == STARTING
    for path in checkpoints(out):
        path.unlink()
    with pytest.raises(InputError, match="holds no checkpoint to continue from"):
        command("resume", out)


def test_the_command_to_go_on_can_be_copied(case, tmp_path, capsys):
    assert command("run", case, "-o", tmp_path / "my out", "--set", 'run.wall_time="0:00:00"') == STOPPED_EXIT_CODE
    assert f"continue with: muphy-lb resume '{tmp_path / 'my out'}'" in capsys.readouterr().out


def test_a_stale_stop_file_stops_no_run(case, out, caplog):
    out.mkdir()
    (out / "STOP").touch()
    assert command("run", case, "-o", out) == STARTING
    assert not (out / "STOP").exists() and "left from before this run" in caplog.text


def test_a_stop_folder_stops_nothing(case, out):
    (out / "STOP").mkdir(parents=True)
    assert command("run", case, "-o", out) == STARTING


def test_a_write_that_fails_leaves_the_earlier_checkpoint(case, out, end, monkeypatch):
    class Interrupted(Exception):
        pass

    def interrupt(*_):
        raise Interrupted

    with monkeypatch.context() as patch:
        write = checkpoint_module.opened
        patch.setattr(
            checkpoint_module,
            "opened",
            lambda path, mode, **options: interrupt() if "00040" in path.name else write(path, mode, **options),
        )
        with pytest.raises(Interrupted):
            command("run", case, "-o", out)
    assert [path.name for path in (out / "checkpoints").iterdir()] == ["step_000000000020.h5"]
    command("resume", out)
    assert np.array_equal(state(out)[1], end)


FULL_DISK = """
import resource, sys
from muphy_lb.__main__ import main
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
main(sys.argv[1:])
"""


def test_a_full_disk_is_one_message_and_costs_no_checkpoint(case, out, end):
    command("run", case, "-o", out, "--set", "run.steps=40")
    line = [sys.executable, "-c", FULL_DISK, "resume", out, "--set", "run.steps=60"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == OutputError.exit_code
    assert done.stderr.startswith(f"muphy-lb: error: cannot write {checkpoints(out)[-1].parent}")
    assert "File too large" in done.stderr and done.stderr.count("\n") == 1
    command("resume", out, "--set", "run.steps=60")
    assert np.array_equal(state(out)[1], end)


def test_what_a_killed_write_left_is_removed(case, out):
    (out / "checkpoints").mkdir(parents=True)
    left_over = out / "checkpoints" / ".step_000000000010.h5.1.tmp"
    left_over.touch()
    command("run", case, "-o", out, "--set", "run.steps=20")
    assert not left_over.exists()


def test_resume_without_a_checkpoint_says_how_to_get_one(tmp_path, out):
    (tmp_path / "channel.toml").write_text(periodic_channel().to_toml())
    assert command("run", tmp_path / "channel.toml", "-o", out) == 0
    with pytest.raises(InputError, match="holds no checkpoint.*checkpoint_every_steps"):
        command("resume", out)


def test_resume_with_another_streaming_is_refused(case, out):
    command("run", case, "-o", out)
    with pytest.raises(InputError, match="another streaming .*: compute.streaming was 'pull', is 'push'"):
        command("resume", out, "--set", "compute.streaming=push")


def test_a_diverged_flow_takes_no_checkpoint_away(case, out):
    command("run", case, "-o", out, "--set", "run.steps=40")
    with pytest.raises(Exception, match="diverged at step 60"):
        command(
            "resume",
            out,
            "--set",
            "run.max_mach=0.04",
            "--set",
            "run.check_interval_steps=1000",
            "--set",
            "run.steps=80",
        )
    assert state(out)[0] == 40


STEADY = ["--set", "run.steady_tolerance=0.002", "--set", "run.steady_interval_steps=20", "--set", "run.steps=3000"]


def test_a_stop_does_not_move_the_steady_step(case, out, tmp_path):
    assert command("run", case, "-o", out, *STEADY) == 0
    found = summary(out)
    assert (found["ended"], found["converged"]) == ("steady", True) and 60 < found["steps"] < 3000
    other = tmp_path / "other"
    command("run", case, "-o", other, *STEADY, "--set", "run.wall_time='00:00:00'")
    command("resume", other, "--set", "run.wall_time=")
    assert summary(other)["steps"] == found["steps"]
