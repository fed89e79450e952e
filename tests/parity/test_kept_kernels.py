"""Kernels for GPUs are kept on disk; tested on machines without one, too."""

import os
import subprocess
import sys

import pytest

from muphy_lb.base.kept.code_digest import NoDigestError
from tests.conftest import HANGS_S, ROOT
from tests.parity.cases import CANNOT_RUN


def found(environment: dict[str, str]) -> list[list[str]]:
    """Origin, name and digest of the machine code of each kernel in a new process."""
    line = [sys.executable, "-m", "tests.parity.kept_kernels"]
    given = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": HANGS_S, "env": os.environ | environment}
    done = subprocess.run(line, **given)
    if done.returncode == CANNOT_RUN:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def test_the_second_start_loads_what_the_first_has_compiled(tmp_path):
    first, second = (found({"NUMBA_CACHE_DIR": str(tmp_path)}) for _ in range(2))
    assert [origin for origin, *_ in first] == ["compiled", "compiled"]
    assert [origin for origin, *_ in second] == ["loaded", "loaded"]
    assert [code for _, *code in first] == [code for _, *code in second]


@pytest.mark.night
def test_other_settings_of_the_compiler_have_kernels_of_their_own(tmp_path):
    kept = {"NUMBA_CACHE_DIR": str(tmp_path)}
    for settings in ({}, {"NUMBA_OPT": "2"}):
        assert [origin for origin, *_ in found(kept | settings)] == ["compiled", "compiled"]


def test_kernels_of_compilers_that_cannot_be_told_apart_are_not_kept(monkeypatch):
    kernel_store = pytest.importorskip("muphy_lb.backends.cuda.kept")

    def missing(library):
        raise RuntimeError("it is nowhere")

    monkeypatch.setattr(kernel_store.pathfinder, "load_nvidia_dynamic_lib", missing)
    with pytest.raises(NoDigestError, match="the library nvvm: it is nowhere"):
        kernel_store.surroundings()


RUN = """
import hashlib, logging
from muphy_lb.lattice import D2Q9
from tests.laws.test_in_place import run_of

logging.basicConfig(level="INFO")
ranks = run_of(D2Q9, "openings", "pull", "cuda")
ranks.step(4)
print(hashlib.sha256(ranks.populations().tobytes()).hexdigest())
"""


@pytest.mark.gpu
def test_a_run_whose_kernels_are_loaded_or_compiled_by_helpers_has_the_same_bits(tmp_path):
    given = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": HANGS_S}
    runs = []
    for folder, threads in (("one", "1"), ("one", "1"), ("other", "4")):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / folder), "NUMBA_NUM_THREADS": threads}
        runs.append(subprocess.run([sys.executable, "-c", RUN], **given, env=environment))
    first, second, helped = runs
    assert "compiling kernels" in first.stderr and "compiling kernels" not in second.stderr
    assert first.stdout == second.stdout == helped.stdout and not any(run.returncode for run in runs)
