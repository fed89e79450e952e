"""Tiers of the suite, and what every test may use: real data, mpirun, the rule for tests that need a GPU."""

import contextlib
import gc
import os
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.pairs import leave_products_to_the_night
from tests.ranks import WaitingRanks

ROOT = Path(__file__).resolve().parents[1]
HANGS_S = 600.0
"""What has not ended by then, beside whatever else this machine does, never will."""

OPEN_MPI_SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}

os.environ.setdefault("MPLBACKEND", "Agg")
# Further threads of BLAS would wait for the small products of tests by turning round, beside other workers and ranks.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Tests start the program hundreds of times: each would compile all modules that it imports, half a second, if they may
# not be kept.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What scripts/check runs: files and folders whose tests are quick and would notice most mistakes.
CHECKED = (
    "structure",
    "unit/partition",
    "unit/muphy_lb/lattice",
    "unit/muphy_lb/case/test_case.py",
    "unit/muphy_lb/test_fluid.py",
    "unit/muphy_lb/test_forcing.py",
    "unit/muphy_lb/test_mrt.py",
    "unit/muphy_lb/test_number_formats.py",
    "unit/muphy_lb/test_preflight.py",
    "unit/muphy_lb/case/test_sections.py",
    "unit/muphy_lb/test_units.py",
    "unit/muphy_lb/test_unroll.py",
    "unit/geometry/test_clean.py",
    "unit/geometry/test_neighbours.py",
    "unit/geometry/test_nodes.py",
    "unit/geometry/test_openings.py",
    "unit/geometry/test_store.py",
    "unit/geometry/test_tagged.py",
    "unit/geometry/test_vicinity.py",
    "unit/files/test_atomic.py",
    "unit/output/test_series.py",
    "laws/test_closures.py",
    "laws/test_collision.py",
    "laws/test_hermite.py",
    "laws/test_streaming.py",
    "interface/test_case_errors.py",
    "interface/test_command_line.py",
)

# What only scripts/test --night runs, beside single tests that are marked night: they take longest, and show for many
# settings, or against publications, what others show for one.
NIGHT = (
    "interface/test_versions.py",
    "interface/test_view_browser.py",
    "parallel/test_shared_cases.py",
    "parity/test_ptx_collisions.py",
    "parity/test_ptx_particles.py",
    "parity/test_ptx_streamings.py",
    "physics/test_channel_turbulence.py",
    "physics/test_divergence_remedies.py",
    "physics/test_flow_validation.py",
    "physics/test_steady_creeping_flow.py",
    "physics/test_vortex_studies.py",
    "physics/test_wall_shear_validation.py",
    "physics/test_walls_validation.py",
)


def pytest_collection_modifyitems(items):
    """Mark the tests of ``scripts/check`` and those of the night."""
    for item in items:
        if _lies_in(item.path, CHECKED):
            item.add_marker("check")
        if _lies_in(item.path, NIGHT):
            item.add_marker("night")
    leave_products_to_the_night(items)


@cache
def _lies_in(path: Path, places: tuple[str, ...]) -> bool:
    return any(path.is_relative_to(ROOT / "tests" / name) for name in places)


# Ranks that wait would poll: where ranks outnumber cores, they would take the time of those that compute.
os.environ.setdefault("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")

# Compilers make objects by the million and few cycles: looking for those every 700 objects is a tenth of the time.
gc.set_threshold(100_000, 20, 100)


@pytest.fixture(autouse=True, scope="module")
def _keep_the_collector_quick():
    """What compilers leave behind is millions of objects: later collections need not look at them again."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def _wait_for_nothing():
    """No test sees whether a file has reached its disk, or how fast more than the caches is copied."""
    from muphy_lb.backends import copying
    from muphy_lb.setup.advice import costs

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        patch.setattr(copying, "COPY_BYTES_ON_HOST", 1 << 16)
        patch.setattr(costs, "COPY_BYTES", 1 << 16)
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of real vessels and rocks: $MUPHY_DATA, else ../shared/data beside the repository."""
    folder = Path(os.environ.get("MUPHY_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set MUPHY_DATA")
    return folder


@pytest.fixture(scope="session")
def mpirun():
    """Function ``run(n, arguments, env=None, timeout=HANGS_S)``: python with ``arguments`` on ``n`` ranks.

    Returns a CompletedProcess with text output. One Numba thread per rank; ``env`` adds to the environment.
    Raises subprocess.TimeoutExpired, after stopping every rank, when ``timeout`` [s] has passed.
    """
    launcher = _launcher()

    def run(n, arguments, env=None, timeout=HANGS_S):
        command = [launcher, "-n", str(n), sys.executable, *map(str, arguments)]
        return run_and_stop(command, os.environ | launcher_settings(launcher) | (env or {}), timeout)

    return run


@pytest.fixture(scope="session")
def on_ranks(tmp_path_factory):
    """Function ``on_ranks(n, function, *arguments)``: what ``function(communicator, *arguments)`` of a test's module
    returns on rank 0 of n, in processes that all tests of the session share."""
    launcher = _launcher()

    def launch(n, arguments, messages):
        command = [launcher, "-n", str(n), sys.executable, *map(str, arguments)]
        environment = os.environ | launcher_settings(launcher)
        how = {"cwd": ROOT, "stdin": subprocess.DEVNULL, "stdout": messages, "stderr": messages}
        return subprocess.Popen(command, env=environment, start_new_session=True, **how)

    ranks = WaitingRanks(launch, stop_group, tmp_path_factory.mktemp("waiting"), HANGS_S)
    yield ranks
    ranks.close()


def _launcher() -> str:
    launcher = find_launcher()
    if launcher is None:
        pytest.skip(f"no mpirun beside {sys.executable} nor on PATH; pip install 'muphy_lb[mpi]'")
    return launcher


def find_launcher() -> str | None:
    """mpirun as run_mpi.sh finds it: the one named, the one beside this python, the one on PATH."""
    beside = Path(sys.executable).parent / "mpirun"
    return os.environ.get("MUPHY_MPIRUN") or (str(beside) if beside.exists() else shutil.which("mpirun"))


@cache
def launcher_settings(launcher: str) -> dict[str, str]:
    """Environment variables that ranks started by ``launcher`` need."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    settings = {"NUMBA_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    version = subprocess.run([launcher, "--version"], capture_output=True, text=True).stdout
    if "Open MPI" in version or "OpenRTE" in version:
        settings |= OPEN_MPI_SETTINGS | {"MPI4PY_MPIABI": os.environ.get("MPI4PY_MPIABI", "openmpi")}
    return settings


def run_and_stop(command, env, timeout) -> subprocess.CompletedProcess:
    """Like subprocess.run, but a timeout stops the whole process group, so that no rank is left behind."""
    with subprocess.Popen(
        command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            if process.poll() is None:
                stop_group(process)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def stop_group(process) -> None:
    """End a launcher and its ranks: SIGTERM lets it stop ranks that left its group, SIGKILL is for the rest."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=2)


def pytest_runtest_setup(item):
    """Skip tests marked ``gpu`` where there is no GPU."""
    if item.get_closest_marker("gpu") and (reason := why_no_gpu()):
        pytest.skip(reason)


@cache
def why_no_gpu() -> str:
    """Why GPU tests cannot run here; empty if they can. Asked in a child process, to keep CUDA out of this one."""
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        return "NUMBA_ENABLE_CUDASIM is set: the CUDA simulator is no GPU"
    question = "import sys; from numba import cuda; sys.exit(not cuda.is_available())"
    child = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True)
    return "" if child.returncode == 0 else "no CUDA GPU that numba-cuda can use"
