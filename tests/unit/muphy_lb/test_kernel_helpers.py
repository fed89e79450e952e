"""Helpers compile kernels that are asked for beside this process; what they cannot do stays to it."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from numba import njit, types

from muphy_lb.base.kept import cpu_store, helpers, store
from muphy_lb.base.kept.helpers import Helpers
from tests.conftest import HANGS_S, ROOT

VECTOR = (types.float64[::1],)
RUN = """
import sys
from pathlib import Path
from numba.core.sigutils import normalize_signature
from muphy_lb.base.kept import helpers

usual = []
helpers.usually = lambda kernel, types, subject: usual.append((kernel, normalize_signature(types)[0], subject))
from muphy_lb import Simulation
from muphy_lb.geometry.load import load_voxels
from tests.fingerprints import tube_stl

changes = ["geometry.spacing_m=3e-4", "run.steps=2", "run.time_s=", "run.steady_tolerance=", "output.picture=false"]
Simulation.from_case("examples/vessel.toml", [*changes, "compute.backend=cpu"]).run(folder=sys.argv[1])
missed = [kernel.py_func.__name__ for kernel, types, subject in usual if not subject and types not in kernel.overloads]
surface = Path(sys.argv[1]) / "tube.stl"
surface.write_text(tube_stl(0.4, 2.0))
load_voxels(surface, unit="mm", spacing_m=1e-4)
missed += [kernel.py_func.__name__ for kernel, types, subject in usual if subject and types not in kernel.overloads]
print(len(usual), missed)
"""


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Two helpers and an empty folder."""
    monkeypatch.setattr(cpu_store, "folder", lambda: tmp_path / "kernels" / "version")
    both = Helpers(2)
    monkeypatch.setattr(helpers, "_helpers", both)
    monkeypatch.setattr(helpers, "_waiting", None)
    monkeypatch.setattr(helpers, "n_helpers", lambda: 2)
    yield both
    both._end()


def scaled(factor):
    """A kernel that calls a node function with a constant in its closure, as a new process would make it."""
    node = njit(lambda x: factor * x)
    return cpu_store.stored(njit)(lambda values: node(values).sum())


def wait_for(path) -> bool:
    """Whether a file appears."""
    until = time.monotonic() + HANGS_S
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.02)
    return path.exists()


def is_loaded(kernel, value) -> bool:
    """Whether a kernel gives a value without being compiled."""
    compiled, compile_ = [], kernel._compiler.compile
    kernel._compiler.compile = lambda *arguments: compiled.append(1) or compile_(*arguments)
    assert kernel(np.ones(4)) == value
    return not compiled


def test_helpers_with_nothing_to_do_load_what_they_will_need(two, tmp_path):
    helpers.ahead(scaled(2.5), (np.ones(4),))
    helpers.load(partial(Path.touch, tmp_path / "loaded"))
    assert wait_for(tmp_path / "loaded")


def test_a_kernel_that_will_be_launched_is_compiled_by_a_helper(two):
    kernel = scaled(2.0)
    path = kernel._cache.lacking(VECTOR)
    helpers.ahead(kernel, (np.ones(4),))
    assert wait_for(path) and is_loaded(kernel, 8.0)
    helpers.ahead(kernel, (np.ones(4),))
    assert len(two._processes) == 1  # it is kept: nobody is asked for it


def test_a_helper_goes_on_after_ctrl_c(two):
    two._most = 1
    for factor in (10.0, 11.0):
        kernel = scaled(factor)
        path = kernel._cache.lacking(VECTOR)
        helpers.ahead(kernel, (np.ones(4),))
        assert wait_for(path)
        two._processes[0].send_signal(signal.SIGINT)


def test_nobody_is_asked_for_what_cannot_be_kept(two, tmp_path, monkeypatch):
    """In a folder that others may write, and in one that this user may not."""
    folder = tmp_path / "foreign" / "version"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    monkeypatch.setattr(cpu_store, "folder", lambda: folder)
    helpers.ahead(scaled(7.0), (np.ones(4),))
    monkeypatch.setattr(cpu_store, "folder", lambda: tmp_path / "away" / "version")
    monkeypatch.setattr(store.os, "access", lambda *asked: False)
    helpers.ahead(scaled(8.0), (np.ones(4),))
    assert not two._processes


def test_a_helper_runs_nothing_of_the_folder_that_this_process_is_in(two, tmp_path, monkeypatch):
    (tmp_path / "muphy_lb").mkdir()
    (tmp_path / "muphy_lb" / "__init__.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    kernel = scaled(9.0)
    path = kernel._cache.lacking(VECTOR)
    helpers.ahead(kernel, (np.ones(4),))
    assert wait_for(path)


def test_a_helper_without_jobs_ends_and_another_one_takes_its_place(two, monkeypatch):
    monkeypatch.setattr(helpers, "IDLE_S", 0.1)
    two.ask(b"no job")
    (first,) = two._processes
    first.wait(HANGS_S)
    assert not two._processes
    two.ask(b"no job")
    assert len(two._processes) == 1


def test_usual_functions_are_asked_for_with_the_first_kernel_that_is_compiled(two, monkeypatch):
    monkeypatch.setattr(helpers, "_waiting", [])
    monkeypatch.setattr(helpers, "Helpers", lambda most: two)
    usual, other = scaled(3.0), scaled(4.0)
    helpers.usually(usual, "void(float64[::1])")
    path = usual._cache.lacking(VECTOR)
    assert not two._processes
    assert not is_loaded(other, 16.0) and wait_for(path) and is_loaded(usual, 12.0)


def test_what_a_helper_cannot_do_is_done_here(two):
    two.ask(b"no job")
    assert not is_loaded(scaled(5.0), 20.0)
    two.ask(b"no job")
    for process in two._processes:
        process.kill()
        process.wait()
    kernel = scaled(6.0)
    helpers.ahead(kernel, (np.ones(4),))
    assert not is_loaded(kernel, 24.0)


def test_functions_are_called_with_the_types_that_are_usual(tmp_path):
    given = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": HANGS_S, "check": True}
    done = subprocess.run([sys.executable, "-c", RUN, str(tmp_path / "out")], **given)
    assert done.stdout.splitlines()[-1] == "22 []"


@pytest.mark.parametrize(("n_cores", "n_threads", "n"), [(2, 2, 0), (3, 3, 0), (64, 64, 11), (64, 1, 0), (64, 4, 3)])
def test_helpers_leave_cores_to_others(monkeypatch, n_cores, n_threads, n):
    monkeypatch.setattr(helpers.os, "sched_getaffinity", lambda process: range(n_cores))
    monkeypatch.setattr(helpers.os, "cpu_count", lambda: 64)
    monkeypatch.setattr(helpers.config, "NUMBA_NUM_THREADS", n_threads)
    assert helpers.n_helpers() == n


@pytest.mark.parametrize(
    ("variable", "said", "n_own", "n"),
    [
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "8", 64, 7),  # not bound
        ("MPI_LOCALNRANKS", "8", 8, 7),  # bound
        ("SLURM_STEP_TASKS_PER_NODE", "16(x2),15", 64, 3),
        ("SLURM_STEP_TASKS_PER_NODE", "1(x2)", 64, 11),
        ("MPI_LOCALNRANKS", "64", 64, 0),
        ("MPI_LOCALNRANKS", "", 64, 11),
    ],
)
def test_ranks_of_a_machine_share_its_cores(monkeypatch, variable, said, n_own, n):
    monkeypatch.setattr(helpers.os, "sched_getaffinity", lambda process: range(n_own))
    monkeypatch.setattr(helpers.os, "cpu_count", lambda: 64)
    monkeypatch.setattr(helpers.config, "NUMBA_NUM_THREADS", 64)
    monkeypatch.setenv(variable, said)
    assert helpers.n_helpers() == n


def test_compiling_is_told_before_another_process_is_waited_for(two, monkeypatch, caplog):
    store._tell_that_it_takes_time.cache_clear()
    caplog.set_level("INFO")
    kernel = scaled(13.0)
    path = kernel._cache.lacking(VECTOR)
    told = []

    def turn(path, waits):
        told.append("compiling kernels" in caplog.text)
        return store_turn(path, waits)

    store_turn = store.Turn
    monkeypatch.setattr(store, "Turn", turn)
    helpers.ahead(kernel, (np.ones(4),))
    assert wait_for(path.with_name(f"{path.name}.lock")) and is_loaded(kernel, 52.0) and all(told)


@pytest.mark.parametrize(("load", "policy"), [(0.0, None), (1000.0, "passive")])
def test_threads_sleep_at_barriers_on_a_busy_machine(load, policy):
    line = f"import os; os.getloadavg = lambda: ({load},); import muphy_lb.backends.cpu.skeletons"
    line += "; print(os.environ.get('OMP_WAIT_POLICY'))"
    given = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    done = subprocess.run([sys.executable, "-c", line], env=given, capture_output=True, text=True, timeout=HANGS_S)
    assert done.stdout.split() == [str(policy)], done.stderr
