"""``muphy-lb examples`` and ``muphy-lb slurm``: what an installed package has beside the solver."""

import os
import subprocess

import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import load_case
from muphy_lb.new.examples import FOLDER
from tests.vessel import command


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*words) -> str:
    """The message that a command ends with."""
    with pytest.raises(InputError) as error:
        command(*words)
    return str(error.value)


def test_all_examples_are_listed_with_what_they_show(capsys):
    assert command("examples") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(list(FOLDER.rglob("*.toml"))) > 10
    assert ["vessel", "Blood through a small artery that splits twice."] in [line.split(maxsplit=1) for line in lines]


@pytest.mark.parametrize(("name", "verb"), [("vessel", "run"), ("compare/cavity", "compare")])
def test_an_example_is_copied_with_its_comments_and_its_own_name(folder, capsys, name, verb):
    assert command("examples", name, "-o", "mine.toml") == 0
    text = (folder / "mine.toml").read_text()
    assert f"Run: muphy-lb {verb} mine.toml" in text and "examples/" not in text
    assert f"run it with: muphy-lb {verb} mine.toml" in capsys.readouterr().out
    if verb == "run":
        assert load_case("mine.toml").title


def test_an_example_is_not_copied_over_a_file_and_a_wrong_name_is_told(folder):
    (folder / "vessel.toml").write_text("mine")
    assert "vessel.toml exists; give another name" in refused("examples", "vessel")
    assert "did you mean 'vessel'" in refused("examples", "vesel")
    assert "needs the NAME" in refused("examples", "-o", "a.toml")


def slurm_script(folder, *words) -> str:
    command("examples", "vessel")
    assert command("slurm", "vessel.toml", "-o", "job.sh", *words) == 0
    return (folder / "job.sh").read_text()


def test_a_script_asks_for_what_the_options_say(folder):
    lines = slurm_script(folder, "--nodes", "3", "--gpus-per-node", "2", "--time", "12:00:00").splitlines()
    asked = {line.removeprefix("#SBATCH --") for line in lines if line.startswith("#SBATCH")}
    assert {"nodes=3", "ntasks-per-node=2", "gpus-per-node=2", "time=12:00:00", "signal=USR1@300"} <= asked


def test_a_script_runs_the_case_and_submitted_again_goes_on(folder):
    assert "gpu" not in slurm_script(folder, "--gpus-per-node", "0", "--ranks-per-node", "4", "--time", "00:10:00")
    (folder / "srun").write_text('#!/bin/sh\nshift; echo "$@" $NUMBA_NUM_THREADS\n')
    (folder / "srun").chmod(0o755)
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "SLURM_CPUS_PER_TASK": "8"}
    done = subprocess.run(["bash", "job.sh"], capture_output=True, text=True, env=environment)
    assert done.stdout == "-m muphy_lb run vessel.toml -o out/vessel 8\n", done.stderr
    (folder / "out/vessel/checkpoints").mkdir(parents=True)
    (folder / "out/vessel/checkpoints/step_000000000100.h5").touch()
    done = subprocess.run(["bash", "job.sh"], capture_output=True, text=True, env=environment)
    assert done.stdout == "-m muphy_lb resume out/vessel 8\n", done.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--nodes", "0"], "--nodes is 0; give 1 or more"),
        (["--time", "4h"], "--time is '4h'; give HH:MM:SS"),
        (["--ranks-per-node", "2"], "goes with --gpus-per-node 0"),
        ([], "vessel.toml does not exist"),
    ],
)
def test_what_no_job_can_be_is_refused(words, text):
    assert text in refused("slurm", "vessel.toml", *words)
