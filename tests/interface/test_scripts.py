"""run_mpi.sh and scripts/bootstrap, in a copy whose solver only tells how it was started."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.terminal import shown_on_terminal

ROOT = Path(__file__).resolve().parents[2]
DRIVER_WORDS = ("MUPHY_", "SLURM_", "OMPI_", "PRTE_", "MPI4PY_", "NUMBA_", "CUDA_VISIBLE")
STUB = """
import json, os, signal, sys, time
from mpi4py import MPI
world = MPI.COMM_WORLD
if "wait" in sys.argv:
    def stop(*_):
        print("rank stopped", flush=True)
        world.Barrier()  # mpirun may end all ranks as soon as one has gone: all must have had their say by then
        time.sleep(1)  # and mpirun have passed it on
        os._exit(0)
    signal.signal(signal.SIGUSR1, stop)
    world.Barrier()
    if world.rank == 0:
        print("ready", flush=True)
    time.sleep(600)
names = ("NUMBA_NUM_THREADS", "MPI4PY_MPIABI", "OMPI_ALLOW_RUN_AS_ROOT", "SLURM_MPI_TYPE", "MUPHY_TERMINAL")
seen = {"arguments": sys.argv[1:], "ranks": world.size, "folder": os.getcwd()}
if world.rank == 0:
    print(json.dumps(seen | {name: os.environ.get(name) for name in names}))
"""


@pytest.fixture
def project(tmp_path) -> Path:
    """A copy of the scripts in a folder with a space in its name, around a solver that prints how it was called."""
    root = tmp_path / "a project"
    shutil.copytree(ROOT / "scripts", root / "scripts")
    for name in ("run_mpi.sh", "setup.cfg", "pyproject.toml"):
        shutil.copy2(ROOT / name, root)
    (root / "muphy_lb").mkdir()
    (root / "muphy_lb" / "__init__.py").touch()
    (root / "muphy_lb" / "__main__.py").write_text(STUB)
    return root


@pytest.fixture
def commands(tmp_path):
    """Function ``commands(name=text)``: a folder of shell scripts to put in front of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def write(**texts):
        for name, text in texts.items():
            path = folder / name.replace("_", "-")
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
        return folder

    return write


def clean_environment(path=None, **more) -> dict[str, str]:
    """This environment without what steers the scripts, then ``more``; ``path`` goes in front of PATH."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith(DRIVER_WORDS)}
    environment["PATH"] = f"{path}{os.pathsep}{environment['PATH']}" if path else environment["PATH"]
    return environment | {"MUPHY_PYTHON": sys.executable, "CUDA_VISIBLE_DEVICES": ""} | more


def call(command, cwd=None, **environment) -> subprocess.CompletedProcess:
    """Run a script to its end with a clean environment."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        timeout=120,
    )


def started(command, **options) -> dict:
    """What the stub solver says about how it was started."""
    done = call(command, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


needs_own_mpi = pytest.mark.skipif(
    not (Path(sys.executable).parent / "mpirun").exists(), reason=f"no mpirun beside {sys.executable}"
)
pytestmark = [pytest.mark.mpi, needs_own_mpi]


@pytest.mark.parametrize(
    ("given", "passed_on"),
    [
        (["case.toml"], ["run", "case.toml"]),
        (["folder/case", "--set", "run.steps=2"], ["run", "folder/case", "--set", "run.steps=2"]),
        (["resume", "out dir"], ["resume", "out dir"]),
        (["run", "case.toml"], ["run", "case.toml"]),
    ],
    ids=["case", "options", "verb", "run"],
)
def test_words_reach_the_solver_unchanged(project, given, passed_on):
    assert started([project / "run_mpi.sh", *given])["arguments"] == passed_on


def test_the_default_case_is_the_vessel(project):
    assert started([project / "run_mpi.sh", "--quiet"])["arguments"] == [
        "run",
        str(project / "examples" / "vessel.toml"),
        "--quiet",
    ]


@pytest.mark.parametrize("words", [["-n", "3", "case.toml"], ["case.toml", "-n", "3"]], ids=["before", "after"])
def test_more_ranks_than_cores_may_be_asked_for(project, words):
    assert started([project / "run_mpi.sh", *words])["ranks"] == 3


@pytest.mark.parametrize("ranks", ["0", "two", "-1", "1.5", None])
def test_a_wrong_rank_count_is_refused(project, ranks):
    done = call([project / "run_mpi.sh", "-n", *([ranks, "case.toml"] if ranks else [])])
    assert done.returncode == 2 and f"-n is {ranks or 'none'}; it must be a whole number" in done.stderr


def test_the_ranks_are_told_how_wide_the_terminal_is(project):
    code, text = shown_on_terminal([project / "run_mpi.sh", "case.toml"], clean_environment(), n_columns=77)
    assert code == 0 and json.loads(text.splitlines()[-1])["MUPHY_TERMINAL"] == "77"
    assert started([project / "run_mpi.sh", "case.toml"])["MUPHY_TERMINAL"] is None


def test_the_folder_of_the_caller_is_kept_through_a_symlink(project, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(project / "run_mpi.sh")
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    assert started([link, "case.toml"], cwd=elsewhere)["folder"] == str(elsewhere)


def test_the_line_that_runs_is_printed_and_can_be_pasted(project):
    done = call([project / "run_mpi.sh", "case with space.toml"])
    pasted = call(["bash", "-c", done.stderr.strip().splitlines()[-1]], cwd=project)
    assert json.loads(pasted.stdout)["arguments"] == json.loads(done.stdout)["arguments"]


@pytest.mark.parametrize(("n_cores", "n_ranks", "n_threads"), [(8, 3, "2"), (1, 2, "1")])
def test_cores_are_shared_between_ranks_of_one_thread_at_least(project, commands, n_cores, n_ranks, n_threads):
    path = commands(nproc=f"echo {n_cores}")
    found = started([project / "run_mpi.sh", "-n", n_ranks, "case.toml"], path=path)
    assert found["NUMBA_NUM_THREADS"] == n_threads


def test_a_given_thread_count_is_kept(project):
    assert started([project / "run_mpi.sh", "case.toml"], NUMBA_NUM_THREADS="5")["NUMBA_NUM_THREADS"] == "5"


@pytest.mark.skipif(shutil.which("script") is None, reason="no script(1) to make a terminal")
def test_one_rank_is_started_per_gpu(project, commands):
    path = commands(nvidia_smi="echo 'GPU 0: A'; echo '  MIG 1'; echo 'GPU 1: A'")
    environment = clean_environment(path=path)
    del environment["CUDA_VISIBLE_DEVICES"]
    done = subprocess.run([project / "run_mpi.sh", "x.toml"], env=environment, capture_output=True, text=True)
    assert json.loads(done.stdout)["ranks"] == 2


def test_hidden_gpus_are_not_counted(project):
    assert started([project / "run_mpi.sh", "x.toml"], CUDA_VISIBLE_DEVICES="3,5")["ranks"] == 2


@pytest.mark.parametrize(
    ("gpus", "extras"),
    [
        ("580.65.06, 9.0", "mpi,cuda"),
        ("570.10, 8.0", "mpi,cuda12"),
        ("590.1, 9.0\n590.1, 7.0", "mpi,cuda12"),
        ("", "mpi"),
    ],
    ids=["new", "old driver", "old gpu", "none"],
)
def test_the_cuda_wheels_fit_driver_and_gpu(project, commands, gpus, extras):
    path = commands(nvidia_smi=f"echo '{gpus}'")
    (project / "scripts" / "bootstrap").write_text('#!/bin/sh\necho "extras: $1" >&2\nexit 1\n')
    assert f"extras: {extras}\n" in call([project / "run_mpi.sh", "x.toml"], path=path).stderr


def test_a_named_launcher_is_used(project, commands):
    launcher = commands(mpirun="case $1 in --version) echo HYDRA;; *) echo named $1 $2;; esac") / "mpirun"
    done = call([project / "run_mpi.sh", "-n", "2", "case.toml"], MUPHY_MPIRUN=str(launcher))
    assert done.stdout == "named -n 2\n"


def test_open_mpi_is_told_that_root_and_many_ranks_are_fine(project, commands):
    answer = "case $1 in --version) echo 'mpirun (Open MPI) 5.0.11';; *) env;; esac"
    launcher = commands(mpirun=answer) / "mpirun"
    environment = call([project / "run_mpi.sh", "case.toml"], MUPHY_MPIRUN=str(launcher)).stdout.splitlines()
    assert {
        "OMPI_ALLOW_RUN_AS_ROOT=1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
        "OMPI_MCA_rmaps_base_oversubscribe=1",
        "MPI4PY_MPIABI=openmpi",
    } <= set(environment)


def test_slurm_starts_the_ranks_of_its_job(project, commands):
    path = commands(srun='case $1 in --version) echo slurm 24;; *) echo "$1 $2 $SLURM_MPI_TYPE";; esac')
    done = call([project / "run_mpi.sh", "case.toml"], path=path, SLURM_JOB_ID="7", SLURM_NTASKS="6")
    assert done.stdout == "-n 6 pmi2\n"


def test_a_launcher_that_is_no_program_is_refused(project):
    done = call([project / "run_mpi.sh", "case.toml"], MUPHY_MPIRUN="no-such-mpirun")
    assert done.returncode != 0 and "MUPHY_MPIRUN is no-such-mpirun" in done.stderr


def test_no_launcher_at_all_names_the_extra(project, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "readlink", "env", "awk", "grep", "nproc", "basename", "true"):
        (tools / name).symlink_to(shutil.which(name))
    python = tools / "python3"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    done = call([project / "run_mpi.sh", "case.toml"], PATH=str(tools), MUPHY_PYTHON=str(python))
    assert "pip install 'muphy_lb[mpi]'" in done.stderr


def test_sigusr1_reaches_every_rank(project):
    run = subprocess.Popen(
        [project / "run_mpi.sh", "-n", "2", "wait"], env=clean_environment(), stdout=subprocess.PIPE, text=True
    )
    run.stdout.readline()
    run.send_signal(signal.SIGUSR1)
    assert run.communicate(timeout=120)[0].count("rank stopped") == 2


def test_help_shows_the_usage_and_starts_nothing(project):
    done = call([project / "run_mpi.sh", "--help"], MUPHY_PYTHON="no-such-python")
    assert done.returncode == 0 and done.stdout.startswith("Usage: ./run_mpi.sh")


def test_a_python_that_is_no_program_is_refused(project):
    done = call([project / "scripts" / "bootstrap", "mpi"], MUPHY_PYTHON="no-such-python")
    assert done.returncode == 1 and "MUPHY_PYTHON is no-such-python" in done.stderr


FAKE_PYTHON = """
case "$*" in
    *-m\\ venv*) for last; do :; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python" ;;
    *-m\\ pip*) echo "$*" >>"$(dirname "$0")/pip-calls"; sleep 0.3; test -z "${PIP_FAILS:-}" ;;
esac
"""


def bootstrap(project, commands, **environment) -> subprocess.CompletedProcess:
    """Call scripts/bootstrap with a python that only writes down what is asked of it."""
    return call(
        [project / "scripts" / "bootstrap", "mpi"], path=commands(python3=FAKE_PYTHON), MUPHY_PYTHON="", **environment
    )


def pip_calls(project) -> list[str]:
    """The pip command lines that the fake python was given."""
    return (project / ".venv" / "bin" / "pip-calls").read_text().splitlines()


def test_bootstrap_installs_the_extras_editable_and_again_only_when_setup_cfg_changed(project, commands, tmp_path):
    assert bootstrap(project, commands).stdout == f"{project}/.venv/bin/python\n"
    assert [line.partition("-e ")[2] for line in pip_calls(project)] == [f"{project}[mpi]"]
    again = partial(call, [project / "scripts" / "bootstrap", "mpi"], path=tmp_path / "bin", MUPHY_PYTHON="")
    assert (again().stderr, len(pip_calls(project))) == ("", 1)
    with (project / "setup.cfg").open("a") as file:
        file.write("# changed\n")
    again()
    assert len(pip_calls(project)) == 2


@pytest.mark.skipif(shutil.which("flock") is None, reason="no flock(1)")
def test_two_bootstraps_at_once_install_once(project, commands):
    environment = clean_environment(path=commands(python3=FAKE_PYTHON), MUPHY_PYTHON="")
    both = [
        subprocess.Popen([project / "scripts" / "bootstrap", "mpi"], env=environment, stderr=subprocess.DEVNULL)
        for _ in range(2)
    ]
    assert [run.wait(timeout=120) for run in both] == [0, 0] and len(pip_calls(project)) == 1


def test_a_failed_install_shows_the_command_and_is_tried_again(project, commands, tmp_path):
    failed = bootstrap(project, commands, PIP_FAILS="1")
    again = call([project / "scripts" / "bootstrap", "mpi"], path=tmp_path / "bin", MUPHY_PYTHON="")
    assert (failed.returncode, "pip install" in failed.stderr, again.returncode) == (1, True, 0)


def test_no_python_at_all_names_the_remedy(project, commands):
    refusing = dict.fromkeys(("python3", "python3.13", "python3.12", "python3.11"), "exit 1")
    done = call([project / "scripts" / "bootstrap", "mpi"], path=commands(**refusing), MUPHY_PYTHON="")
    assert done.returncode == 1 and "no Python 3.11 to 3.13" in done.stderr


def test_bootstrap_and_setup_cfg_name_the_same_pythons():
    minors = re.findall(r"3[.,] ?(\d+)", re.search(r"python_requires.*", (ROOT / "setup.cfg").read_text()).group())
    bounds = re.search(r"\(3, (\d+)\) <= sys.version_info < \(3, (\d+)\)", (ROOT / "scripts/bootstrap").read_text())
    assert list(bounds.groups()) == minors


@pytest.mark.parametrize(
    ("subject", "objection"),
    [
        ("Add the cumulant in two dimensions", ""),
        ("Bring the circulation to its mean pressure", ""),
        ("Pass the sizes of a vessel plainly", ""),
        ("fixup! Add the cumulant in two dimensions", ""),
        ("A" + 71 * "d", ""),
        ("A" + 72 * "d", "has 73 characters"),
        ("Added the cumulant", "begins with no imperative"),
        ("Adds the cumulant", "begins with no imperative"),
        ("What moving walls push in counts", "begins with no imperative"),
        ("add the cumulant", "begins with no imperative"),
    ],
)
def test_the_subject_of_a_commit_is_an_imperative_of_72_characters(tmp_path, subject, objection):
    (tmp_path / "message").write_text(f"# a comment\n{subject}\n\n{100 * 'a'}\n")
    command = [ROOT / "scripts" / "commit_subject", tmp_path / "message"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert objection in done.stderr and (done.returncode == 1) == bool(objection)
