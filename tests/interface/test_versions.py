"""setup.cfg resolves, installs and imports on every Python that it names (throw-away environments; needs an index)."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("muphy_lb",)
FILES = ("setup.cfg", "pyproject.toml", "LICENSE")
PROBE = """
import muphy_lb.geometry, muphy_lb.partition
import numpy, numba, pymetis, meshio, h5py, pydantic, matplotlib.pyplot
from mpi4py import MPI
assert numba.njit(lambda x: x + 1)(1) == 2
print(MPI.Get_library_version().split()[0])
"""


def run(*command, cwd) -> str:
    """Standard output of a command; the test fails with its messages if the command does."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def interpreter(name: str) -> str:
    """Path of a python that answers; skips where there is none."""
    path = shutil.which(name)
    if path is None or subprocess.run([path, "--version"], capture_output=True).returncode != 0:
        pytest.skip(f"no working {name} on PATH")
    return path


@pytest.fixture
def workplace(tmp_path):
    """An empty folder that is removed at once: an environment takes half a gigabyte."""
    yield tmp_path
    shutil.rmtree(tmp_path)


@pytest.fixture
def source(workplace) -> Path:
    """A copy of what a wheel is built from, so that building leaves nothing in the checkout."""
    root = workplace / "source"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy2(ROOT / name, root)
    return root


@pytest.mark.night
@pytest.mark.parametrize("name", ["python3.11", "python3.12", "python3.13"])
def test_everything_installs_and_imports(name, source, workplace):
    run(interpreter(name), "-m", "venv", "venv", cwd=workplace)
    python = workplace / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--only-binary", "numpy,numba,llvmlite", f"{source}[mpi]", cwd=workplace)
    assert run(python, "-c", PROBE, cwd=workplace).startswith("MPICH")
