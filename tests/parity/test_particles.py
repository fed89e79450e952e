"""The CUDA kernels of particles, in Numba's simulator, against the specification."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.conftest import HANGS_S, ROOT
from tests.parity.particle_cases import CASES, state


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    path = tmp_path_factory.mktemp("simulated") / "particles.npz"
    env = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.parity.particle_cases", str(path)]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=HANGS_S)
    assert done.returncode == 0, done.stderr[-3000:]
    return np.load(path)


@pytest.mark.parametrize("label", CASES)
def test_the_cuda_kernels_agree_in_the_simulator(label, simulated):
    specified = state(label, "numpy")
    assert simulated[label].shape == specified.shape
    assert np.abs(simulated[label] - specified).max() < 1e-14
