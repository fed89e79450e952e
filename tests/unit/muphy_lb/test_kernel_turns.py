"""Of several processes that lack the same kernel, one compiles it; a process that ends lets others continue."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from numba import njit

from muphy_lb.base.kept import cpu_store, turns
from muphy_lb.base.kept.turns import Turn
from tests.conftest import HANGS_S, ROOT

N_PROCESSES = 3
KERNEL = """
import sys, time
import numpy as np
from numba import njit
from muphy_lb.base.kept import cpu_store

kernel = cpu_store.stored(njit)(lambda values: 2.0 * values.sum())
compile_ = kernel._compiler.compile
def slowly(*arguments):
    print("compiles", flush=True)
    time.sleep(1.0)
    return compile_(*arguments)
kernel._compiler.compile = slowly
print("ready", flush=True)
sys.stdin.readline()
print(kernel(np.ones(8)), flush=True)
"""
HOLDER = """
import sys, time
from pathlib import Path
from muphy_lb.base.kept.turns import Turn

turn = Turn(Path(sys.argv[1]))
print("holds", flush=True)
time.sleep(600.0)
"""


def started(script: str, *arguments, **environment) -> subprocess.Popen:
    """A process that runs a script."""
    given = {"cwd": ROOT, "text": True, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)], env=os.environ | environment, **given)


def test_one_process_compiles_and_the_others_load(tmp_path):
    processes = [started(KERNEL, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(N_PROCESSES)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    texts = []
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        texts.append(process.communicate(timeout=HANGS_S)[0].split())
    assert sorted(texts) == sorted([["compiles", "16.0"], *[["16.0"]] * (N_PROCESSES - 1)])
    assert not list(tmp_path.rglob("*.lock"))


def test_a_killed_process_lets_others_compile(tmp_path):
    holder = started(HOLDER, tmp_path / "kernel")
    assert holder.stdout.readline() == "holds\n"
    waiting = started(HOLDER, tmp_path / "kernel")
    time.sleep(0.2)
    assert waiting.poll() is None
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    assert waiting.stdout.readline() == "holds\n"
    waiting.kill()
    waiting.communicate()


def test_a_process_that_compiles_for_too_long_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "LONGEST_WAIT_S", 0.1)
    first = Turn(tmp_path / "kernel")
    second = Turn(tmp_path / "kernel")
    assert not second.may_be_kept
    second.end()
    assert (tmp_path / "kernel.lock").exists()
    first.end()
    assert not (tmp_path / "kernel.lock").exists()


def test_who_has_waited_for_a_kernel_that_is_not_kept_compiles_beside_others(tmp_path):
    first = Turn(tmp_path / "kernel")
    threading.Timer(0.2, first.end).start()
    second = Turn(tmp_path / "kernel")
    began = time.monotonic()
    third = Turn(tmp_path / "kernel")
    assert not second.may_be_kept and not third.may_be_kept
    assert time.monotonic() - began < turns.LONGEST_WAIT_S / 2
    third.end()
    second.end()


def test_a_file_system_without_locks_stops_nobody(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(turns.fcntl, "flock", refused)
    one, other = Turn(tmp_path / "kernel"), Turn(tmp_path / "kernel")
    one.end()
    other.end()


def test_a_kernel_that_cannot_be_compiled_leaves_its_turn(tmp_path, monkeypatch):
    monkeypatch.setattr(cpu_store, "folder", lambda: tmp_path / "kernels" / "version")
    broken = cpu_store.stored(njit)(lambda values: values.no_such_attribute)
    for _ in range(2):
        with pytest.raises(Exception, match="no_such_attribute"):
            broken(np.ones(8))
    assert not list(tmp_path.rglob("*.lock"))
