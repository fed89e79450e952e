"""Every kernel of particles, free surfaces, species and two fluids compiles for GPUs, on machines without one, too."""

import subprocess
import sys

import pytest

from tests.conftest import HANGS_S, ROOT

N_STAGES, N_OF_MOVING = 36, 11


def test_kernels_of_particles_compile():
    line = [sys.executable, "-m", "tests.parity.ptx_particles"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=HANGS_S)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == N_STAGES + N_OF_MOVING


def test_kernels_of_a_free_surface_compile():
    line = [sys.executable, "-m", "tests.parity.ptx_surface"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=HANGS_S)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1 + 2 * 15


@pytest.mark.night
def test_kernels_of_species_dispersion_and_two_fluids_compile():
    line = [sys.executable, "-m", "tests.parity.ptx_species"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=HANGS_S)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2 * 14
