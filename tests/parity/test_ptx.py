"""What the GPU's compiler makes of the stream kernels; needs no GPU."""

import json
import os
import subprocess
import sys

import pytest

from muphy_lb.lattice import D3Q19
from tests.conftest import ROOT
from tests.parity.cases import CANNOT_RUN


@pytest.fixture(scope="module")
def kernels():
    """Findings about every kernel: streamings, precisions, compute capabilities."""
    env = os.environ | {"NUMBA_ENABLE_CUDASIM": "0", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.parity.ptx"]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=300)
    if done.returncode == CANNOT_RUN:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def names_where(kernels, condition) -> list[str]:
    """Names of the kernels that meet a condition."""
    return [kernel["name"] for kernel in kernels if condition(kernel)]


def test_no_population_lives_in_local_memory(kernels):
    assert not names_where(kernels, lambda kernel: kernel["in_local_memory"])


def test_single_precision_kernels_compute_in_single_precision(kernels):
    singles = [kernel for kernel in kernels if kernel["precision"] == "float32"]
    assert singles and not names_where(singles, lambda kernel: kernel["double_operations"])


def test_the_count_of_double_operations_sees_them(kernels):
    doubles = [kernel for kernel in kernels if kernel["precision"] == "float64"]
    assert doubles and not names_where(doubles, lambda kernel: kernel["double_operations"] < D3Q19.q)


def test_a_node_loads_its_populations_and_their_addresses_once(kernels):
    assert not names_where(kernels, lambda kernel: kernel["loads"] != 2 * D3Q19.q - 1)


def test_a_node_stores_its_populations_once(kernels):
    assert not names_where(kernels, lambda kernel: kernel["stores"] != D3Q19.q)
