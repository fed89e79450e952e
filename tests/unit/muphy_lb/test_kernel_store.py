"""Kernels are kept on disk by what they compute, and what is wrong with a file only costs a compilation."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import njit, prange

from muphy_lb.backends.cpu import kernel_store
from muphy_lb.backends.cpu.code_digest import NoDigestError, digest

FACTOR = 3.0
ONES = np.ones(8)


def scaled(factor, jit=njit):
    """Node function that multiplies by a constant of its closure."""
    return jit(lambda x: factor * x)


def summing(node, jit):
    """Kernel with an injected node function."""

    @jit
    def kernel(values):
        total = 0.0
        for i in range(values.size):
            total += FACTOR * node(values[i])
        return total

    return kernel


def plus_one(x):
    """A node function without a closure."""
    return x + 1.0


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The folder of kernels."""
    monkeypatch.setattr(kernel_store, "folder", lambda: tmp_path / "kernels" / "version")
    return tmp_path / "kernels" / "version"


def fresh(factor=2.0):
    """A kernel as a new process would make it."""
    return summing(scaled(factor), kernel_store.stored(njit))


def is_loaded(kernel) -> bool:
    """Whether a kernel gives its sum without being compiled."""
    compiled = []
    compile_ = kernel._compiler.compile
    kernel._compiler.compile = lambda *arguments: compiled.append(1) or compile_(*arguments)
    assert kernel(ONES) == pytest.approx(48.0)
    return not compiled


def test_the_digest_is_that_of_what_is_computed():
    assert digest(fresh()) == digest(fresh()) != digest(fresh(2.5))
    assert digest(fresh()) != digest(summing(njit(plus_one), njit))
    assert digest(scaled(2)) != digest(scaled(2.0)) != digest(scaled(np.float32(2.0)))
    assert digest(scaled(2.0)) != digest(scaled(2.0, njit(error_model="numpy")))


def test_a_changed_global_changes_the_digest(monkeypatch):
    before = digest(fresh())
    monkeypatch.setitem(globals(), "FACTOR", 4.0)
    assert digest(fresh()) != before


def test_what_is_no_data_has_no_digest_and_is_not_kept(store):
    with pytest.raises(NoDigestError, match="object"):
        digest(scaled(object()))
    unknown = kernel_store.stored(njit)(lambda values: values.sum() if isinstance(values, Unknown) else values[0])
    with pytest.raises(NoDigestError, match="Unknown"):
        digest(unknown)


class Unknown:
    """A class outside the package, whose text no digest covers."""


def test_a_kernel_that_was_kept_is_loaded(store):
    assert not is_loaded(fresh())
    assert is_loaded(fresh())
    assert not is_loaded(summing(scaled(2), kernel_store.stored(njit)))


def test_a_parallel_kernel_that_was_kept_is_loaded(store):
    def kernel(values):
        total = 0.0
        for i in prange(values.size):
            total += 6.0 * values[i]
        return total

    make = kernel_store.stored(njit(parallel=True))
    assert not is_loaded(make(kernel)) and is_loaded(make(kernel))


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_a_damaged_file_is_replaced(store, damage):
    fresh()(ONES)
    (path,) = store.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] + b"\0" + whole[-8:] if damage is None else damage)
    assert not is_loaded(fresh()) and is_loaded(fresh())


def test_a_folder_that_cannot_be_made_stops_no_kernel(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(kernel_store, "folder", lambda: tmp_path / "file" / "version")
    assert not is_loaded(fresh()) and not is_loaded(fresh())


def test_old_versions_are_removed(store):
    for k in range(6):
        (store.parent / f"old_{k}").mkdir(parents=True)
    fresh()(ONES)
    assert store.is_dir() and len(list(store.parent.iterdir())) == kernel_store.MOST_FOLDERS


def test_numbers_of_functions_differ_between_processes():
    kernel = fresh()
    kernel(ONES)
    (compiled,) = kernel.overloads.values()
    assert compiled.fndesc.uid > 2**32  # by chance smaller once in 2^28 runs


ALONE = """
import numpy as np
from muphy_lb.backends.cpu.skeletons import sweep_jit

@sweep_jit
def kernel(n):
    return np.ones(n).sum()

print(kernel(8), kernel._cache_hits)
"""


def test_a_kernel_is_loaded_as_the_first_thing_in_a_process(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    for hits in ("Counter()", "Counter({(int64,): 1})"):
        done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, env=environment)
        assert done.stdout.strip() == f"8.0 {hits}", done.stderr
