"""What the GPU's compiler makes of collisions other than BGK, in single precision; needs no GPU."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import HANGS_S, ROOT
from tests.parity.cases import CANNOT_RUN


@pytest.fixture(scope="module")
def kernels():
    """Findings about every kernel of the sample."""
    env = os.environ | {"NUMBA_ENABLE_CUDASIM": "0", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.parity.ptx_collisions"]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=HANGS_S)
    if done.returncode == CANNOT_RUN:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "finding", ["in_local_memory", "calls", "double_operations", "surplus_loads", "surplus_stores"]
)
def test_collisions_are_straight_lines_in_registers_and_single_precision(kernels, finding):
    sample = kernels["all"]
    assert sample and {kernel["name"]: kernel[finding] for kernel in sample if kernel[finding]} == {}


@pytest.mark.parametrize("finding", ["free_products", "fused"])
def test_a_strict_collision_rounds_every_product_by_itself(kernels, finding):
    sample = kernels["strict"]
    assert sample and {kernel["name"]: kernel[finding] for kernel in sample if kernel[finding]} == {}
