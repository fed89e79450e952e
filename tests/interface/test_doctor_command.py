"""``muphy-lb doctor``: it says what is there, names remedies, and ends well wherever the solver runs."""

import json
import signal
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest

from muphy_lb.__main__ import main
from muphy_lb.doctor import command, findings, trial
from muphy_lb.doctor.findings import BROKEN, MISSING, NOTE, OK, Finding

NEW_GPU = "NVIDIA H200, 143771, 580.159.04, 9.0"
OLD_GPU = "Tesla V100-SXM2-32GB, 32768, 550.54.15, 7.0"
AMONG_GPUS = {
    "library": "MPICH Version:      5.0.2",
    "is_cuda_aware": False,
    "ranks": 2,
    "machines": 1,
    "device": "cuda",
    "share_gpus": False,
    "transports": {"host": "", "cuda-aware": "the MPI library does not declare it", "nccl": "no nccl4py", "peer": ""},
}


@pytest.fixture
def answers(monkeypatch):
    """Answers of the trials by name, which are given without a process of their own."""
    given = {"cpu": {"processor": "znver4"}, "gpu": {"n": 1, "free_bytes": 2**37}, "ranks": AMONG_GPUS}
    monkeypatch.setattr(findings, "answer_of", lambda name, *_: given[name])
    monkeypatch.setenv("MUPHY_MPIRUN", "true")
    monkeypatch.delenv(findings.HIDING, raising=False)
    for name in command.RANK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return given


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    """Function ``show(*lines)``: a driver that lists these GPUs; without a call there is none."""
    monkeypatch.setenv("PATH", str(tmp_path))

    def show(*lines):
        path = tmp_path / "nvidia-smi"
        path.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines))
        path.chmod(0o755)

    return show


@pytest.fixture
def versions(monkeypatch):
    """Versions of the packages that pip knows, by name; the real ones where nothing is said."""
    given: dict[str, str] = {}
    real = findings.version
    monkeypatch.setattr(findings, "version", lambda name: given.get(name) or real(name))
    return given


def by_topic(findings) -> dict[str, Finding]:
    return {finding.topic: finding for finding in findings}


@pytest.mark.mpi
def test_the_whole_command_looks_at_this_machine_and_ends_well(capsys):
    assert main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["can_run"] is True
    states = {finding["topic"]: finding["state"] for finding in told["findings"]}
    assert {"Python", "numpy", "numba", "CPU compiler", "memory", "compiled kernels"} <= states.keys()
    assert states["CPU compiler"] == states["numpy"] == OK
    if findings.find_launcher():
        assert states["MPI"] == states["transport host"] == OK


def test_each_finding_is_a_line_and_the_last_is_the_verdict(answers, nvidia_smi, capsys):
    assert main(["doctor"]) == 0
    first, *lines, last = capsys.readouterr().out.splitlines()
    assert first.startswith("muphy-lb ") and last == "the solver can run here"
    assert all(line.split()[0] in (OK, MISSING, BROKEN, NOTE) for line in lines)


def test_it_fails_where_the_solver_cannot_run(answers, nvidia_smi, capsys):
    answers["cpu"] = {"failure": "ImportError: no llvmlite"}
    assert main(["doctor"]) == command.CANNOT_RUN_EXIT_CODE
    out = capsys.readouterr().out
    assert "broken  CPU compiler" in out and "pip install --force-reinstall" in out and "CANNOT" in out


def test_without_a_gpu_the_cpu_is_used(answers, nvidia_smi):
    (found,) = findings.gpus()
    assert found.state == NOTE and "no driver; the CPU is used" in found.text and found.remedy


def test_a_gpu_on_which_a_kernel_ran_is_told_with_its_memory(answers, nvidia_smi, versions):
    nvidia_smi(NEW_GPU, NEW_GPU)
    versions |= {"numba-cuda": "0.30.4", "cuda-bindings": "13.5.0"}
    found = by_topic(findings.gpus())
    assert found["GPU 1"].text == "NVIDIA H200, 140 GiB, compute capability 9.0"
    assert found["driver"].text == "580.159.04"
    assert found["CUDA"].state == OK and "128.0 GiB free" in found["CUDA"].text


@pytest.mark.parametrize(("line", "extra"), [(NEW_GPU, "gpu"), (OLD_GPU, "cuda12")])
def test_the_extra_suits_the_driver_and_the_gpu(answers, nvidia_smi, versions, line, extra):
    nvidia_smi(line)
    versions |= {"numba-cuda": "0.30.4", "cuda-bindings": "13.5.0"}
    answers["gpu"] = {"n": 0}
    found = by_topic(findings.gpus())["CUDA"]
    assert found.state == BROKEN and f'pip install "muphy_lb[{extra}]"' in found.remedy
    answers["gpu"] = {"failure": "no libnvrtc.so"}
    assert "no libnvrtc.so" in by_topic(findings.gpus())["CUDA"].text


def test_a_missing_cuda_package_is_named(answers, nvidia_smi, monkeypatch):
    nvidia_smi(NEW_GPU)
    monkeypatch.setattr(findings, "version", lambda name: version(f"no-such-{name}"))
    found = by_topic(findings.gpus())["CUDA"]
    assert found.state == MISSING and "numba-cuda is not installed" in found.text


def test_transports_that_do_not_work_say_why():
    found = by_topic(findings.among(AMONG_GPUS))
    assert found["MPI"].text == "MPICH Version: 5.0.2, 2 ranks; not CUDA-aware, which is not needed"
    assert found["transport peer"].state == found["transport host"].state == OK
    assert found["transport nccl"].state == NOTE and "no nccl4py" in found["transport nccl"].text
    assert "muphy_lb[nccl]" in found["transport nccl"].remedy


def test_nccl_is_not_blamed_where_ranks_share_a_gpu():
    answer = AMONG_GPUS | {"share_gpus": True, "transports": {"nccl": "NCCLError: invalid usage"}}
    found = by_topic(findings.among(answer))["transport nccl"]
    assert found.state == NOTE and "a GPU for each rank" in found.text and not found.remedy


def test_hidden_gpus_are_told(answers, nvidia_smi, versions, monkeypatch):
    nvidia_smi(NEW_GPU)
    versions |= {"numba-cuda": "0.30.4", "cuda-bindings": "13.5.0"}
    answers["gpu"] = {"n": 0}
    monkeypatch.setenv(findings.HIDING, "")
    found = by_topic(findings.gpus())["CUDA"]
    assert found.state == BROKEN and found.remedy.startswith(f"unset {findings.HIDING}")


def test_a_launcher_that_is_missing_or_of_another_mpi_has_a_remedy(answers, nvidia_smi, monkeypatch):
    answers["ranks"] = {"failure": "ranks that do not see each other"}
    assert by_topic(findings.ranks())["MPI"].state == BROKEN
    monkeypatch.delenv("MUPHY_MPIRUN")
    monkeypatch.setattr(sys, "executable", "nowhere/python")
    (found,) = findings.ranks()
    assert found.state == MISSING and "muphy_lb[mpi]" in found.remedy


def test_packages_are_judged_by_what_this_one_requires(monkeypatch):
    lines = ["numpy<2", "no-such-package>=1", "h5py", 'no-such-viewer; extra == "view"', 'numpy; extra == "nccl"']
    monkeypatch.setattr(findings, "requires", lambda _: lines)
    found = by_topic(findings.packages())
    assert found["numpy"].state == NOTE and found["numpy"].remedy == 'pip install "numpy<2"'
    assert found["no-such-package"].is_fatal and found["h5py"].state == OK
    assert found["extra view"].state == MISSING and not found["extra view"].is_fatal
    assert found["extra nccl"].state == OK


def test_an_mpi_of_the_machine_makes_the_one_from_pypi_unnecessary(monkeypatch):
    monkeypatch.setattr(findings, "requires", lambda _: ['no-such-mpi; extra == "mpi"'])
    monkeypatch.setattr(findings, "find_launcher", lambda: "mpirun")
    assert next(findings.packages()).state == NOTE
    monkeypatch.setattr(findings, "find_launcher", lambda: None)
    assert next(findings.packages()).state == MISSING


def test_what_is_missing_is_listed_where_nothing_reads_requirements(monkeypatch):
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)
    monkeypatch.setattr(
        findings, "requires", lambda _: ["numpy<2", "no-such-package>=1", 'no-such-viewer; extra == "view"']
    )
    (found,) = findings.packages()
    assert found.topic == "no-such-package" and found.is_fatal and found.remedy == 'pip install "no-such-package"'


def test_a_folder_that_is_not_installed_says_itself_what_it_needs(monkeypatch):
    installed = findings._lines()

    def unknown(_):
        raise PackageNotFoundError(findings.PACKAGE)

    monkeypatch.setattr(findings, "requires", unknown)
    found = by_topic(findings.packages())
    assert found["h5py"].state == OK and "extra view" in found
    monkeypatch.setattr(findings, "requires", lambda _: installed)
    assert list(found) == [finding.topic for finding in findings.packages()]


def test_a_folder_for_kernels_that_cannot_be_written_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("MUPHY_CACHE", "not/absolute")
    (tmp_path / "muphy_lb-kernels").mkdir()
    (tmp_path / "muphy_lb-kernels" / "kernel").write_bytes(bytes(2**20))
    found = by_topic(findings.caches())
    assert found["compiled kernels"].state == OK and "1.0 MiB" in found["compiled kernels"].text
    assert found["tuned launches"].state == NOTE and "MUPHY_CACHE" in found["tuned launches"].remedy


def test_a_trial_that_hangs_or_dies_is_an_answer(tmp_path):
    def answer(script, wait_s=60.0):
        launcher = tmp_path / "launcher"
        launcher.write_text(f"#!/bin/sh\n{script}\n")
        launcher.chmod(0o755)
        return trial.answer_of("cpu", wait_s, (str(launcher),))["failure"]

    assert answer("sleep 600", wait_s=0.5) == "no answer within 0.5 s"
    assert answer("echo 'the driver is broken' >&2; exit 3") == "the driver is broken"
    assert answer("exit 3") == "it ended with code 3"
    assert "cannot be started" in trial.answer_of("cpu", 1.0, ("no-such-launcher",))["failure"]


def test_a_trial_takes_no_module_from_the_callers_folder(tmp_path, monkeypatch):
    for name in ("json.py", "numbers.py", "muphy_lb.py"):
        (tmp_path / name).write_text("raise RuntimeError('not mine')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert "failure" not in trial.answer_of("cpu", 120.0)


def test_a_trial_ends_with_the_doctor(monkeypatch):
    begun = []

    def interrupted(process, **_):
        begun.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(trial.subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trial.answer_of("cpu", 60.0, ("sh", "-c", "sleep 60"))
    assert begun[0].wait(60) == -signal.SIGKILL


def test_one_fault_does_not_hide_the_others(answers, nvidia_smi, monkeypatch, capsys):
    monkeypatch.setattr(findings, "requires", lambda _: ["not a requirement at all"])
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "cannot be examined" in out and "CPU compiler" in out


@pytest.mark.mpi
def test_under_a_launcher_all_ranks_take_part_and_one_speaks(mpirun):
    done = mpirun(2, ["-m", "muphy_lb", "doctor", "--json"])
    assert done.returncode == 0, done.stderr
    topics = {finding["topic"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert "2 ranks" in topics["MPI"]["text"] and topics["transport host"]["state"] == OK
