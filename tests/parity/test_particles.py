"""The CUDA kernels of particles, in Numba's simulator, against the specification."""

import numpy as np
import pytest

from tests.parity.cases import printed_by
from tests.parity.particle_cases import CASES, state


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    path = tmp_path_factory.mktemp("simulated") / "particles.npz"
    printed_by("tests.parity.particle_cases", path, simulator=True)
    return np.load(path)


@pytest.mark.parametrize("label", CASES)
def test_the_cuda_kernels_agree_in_the_simulator(label, simulated):
    specified = state(label, "numpy")
    assert simulated[label].shape == specified.shape
    assert np.abs(simulated[label] - specified).max() < 1e-14
