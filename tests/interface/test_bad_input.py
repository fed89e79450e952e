"""Every error is reported once, with a helpful message, and ends all ranks with an exit code that identifies it."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from muphy_lb.base.errors import BackendError, DivergedError, InputError, MuphyError, OutputError
from muphy_lb.geometry.__main__ import main as geometry
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.parallel import communicator as communicator_module
from muphy_lb.partition.errors import PartitionError
from tests.vessel import command, command_on, write_case

QUICK = {"backend": "numpy"}
NO_OPENINGS = {
    "openings": [],
    "flow": {"acceleration_m_s2": [0.1, 0.0, 0.0]},
    "lattice": {"lattice_velocity": None, "relaxation_time": 0.8},
}
SOON_S = 120.0  # with the start of all ranks on a busy machine; a rank that waits for a dead one would wait for ever


def case_of(folder, keys):
    """A case without openings whose geometry is a file; QUICK."""
    return write_case(folder, geometry={"shape": None, "spacing_m": None, "options": None} | keys, **NO_OPENINGS)


def leaky_surface(folder):
    """A tetrahedron without one of its faces."""
    corners = ((0, 0, 0), (9, 0, 0), (0, 9, 0), (0, 0, 9))
    facets = [[corners[k] for k in face] for face in ((0, 2, 1), (0, 1, 3), (0, 3, 2))]
    text = "".join(
        "facet normal 0 0 0\nouter loop\n{}endloop\nendfacet\n".format(
            "".join("vertex {} {} {}\n".format(*corner) for corner in facet)
        )
        for facet in facets
    )
    (folder / "leaky.stl").write_text(f"solid s\n{text}endsolid s\n")
    return case_of(folder, {"file": "leaky.stl", "unit": "mm", "spacing_m": 1e-3})


def truncated_prepared(folder):
    path = folder / "cut.h5"
    geometry(["shape:pipe", str(path), "--spacing-m", "1"])
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return case_of(folder, {"file": "cut.h5"})


def unknown_key(folder):
    path = write_case(folder)
    path.write_text(path.read_text().replace("kinematic_viscosity_m2_s", "kinematic_viscosity_m2s"))
    return path


def opening_beside_the_fluid(folder):
    opening = {"name": "far", "kind": "outlet", "centre_m": [1.0, 1.0, 1.0], "normal": [1, 0, 0], "radius_m": 1e-3}
    shape = {"shape": "pipe", "spacing_m": 1e-3, "options": {}}
    return write_case(folder, geometry=shape, openings=[opening | {"velocity_m_s": 0.02}])


def no_gpu(folder):
    return write_case(folder, compute={"backend": "cuda"})


def one_node(folder):
    flags = np.ones((4, 4, 4), np.uint8)
    flags[1, 1, 1] = 0
    np.save(folder / "few.npy", flags)
    return case_of(folder, {"file": "few.npy", "spacing_m": 1e-3, "options": {"fluid_value": 0}})


def diverging(folder):
    lattice = {"lattice_velocity": 0.28, "smagorinsky": 0.01}
    return write_case(folder, lattice=lattice, fluid={"kinematic_viscosity_m2_s": 1e-9})


MISTAKES = {
    "unknown_key": (
        unknown_key,
        InputError,
        "fluid.kinematic_viscosity_m2s is an unknown key; did you mean 'kinematic_viscosity_m2_s'",
    ),
    "truncated_prepared": (truncated_prepared, GeometryError, r"cut.h5 is not a readable HDF5 file .*truncated file"),
    "leaky_surface": (leaky_surface, GeometryError, r"leaky.stl.* 3 boundary edges .*\(0.003, 0.003, 0.003\) m"),
    "opening_beside_the_fluid": (
        opening_beside_the_fluid,
        GeometryError,
        "opening 'far' touches no fluid.*nearest fluid voxel",
    ),
    "diverging": (
        diverging,
        DivergedError,
        r"diverged at step \d+: the Mach number .* at voxel \(\d+, \d+, \d+\), x = \(.*\) m",
    ),
    "one_node": (one_node, PartitionError, "more ranks than nodes"),
}
# One for each place at which a run may end, by what rank 0 or all ranks find.
ON_RANK_0, ON_ALL = (
    ("unknown_key", "leaky_surface"),
    ("truncated_prepared", "opening_beside_the_fluid", "diverging", "one_node"),
)


def run_on_ranks(mpirun, folder, case, *arguments, n_ranks=2):
    """The command, which must have come to its end on all ranks."""
    return mpirun(n_ranks, ["-m", "muphy_lb", "run", case, "-o", folder / "out", *arguments], timeout=SOON_S)


def errors_on(communicator, *words) -> list[tuple[int, str]]:
    """Exit code and text of the error with which a command ends on each rank, on rank 0."""
    with pytest.raises(MuphyError) as caught:
        command_on(communicator, *words)
    return communicator.gather((caught.value.exit_code, str(caught.value)))


@pytest.mark.parametrize("name", ON_ALL)
def test_all_ranks_have_the_same_error(tmp_path, on_ranks, name):
    make, error, message = MISTAKES[name]
    one, other = on_ranks(2, errors_on, "run", make(tmp_path), "-o", tmp_path / "out", "--set", "compute.backend=numpy")
    assert one == other and one[0] == error.exit_code and re.search(message, one[1], re.DOTALL)


@pytest.mark.parametrize(
    "name", [name if name in ON_RANK_0 else pytest.param(name, marks=pytest.mark.night) for name in MISTAKES]
)
def test_all_ranks_end_with_one_message(tmp_path, mpirun, name):
    make, error, message = MISTAKES[name]
    done = run_on_ranks(mpirun, tmp_path, make(tmp_path), "--set", "compute.backend=numpy")
    assert done.returncode == getattr(error, "exit_code", InputError.exit_code), done.stderr
    assert re.search(message, done.stderr), done.stderr
    assert done.stderr.count("muphy-lb: error") == 1
    assert "Traceback" not in done.stderr


def test_a_missing_gpu_is_told_once(tmp_path, mpirun):
    hidden = {"CUDA_VISIBLE_DEVICES": ""}
    done = mpirun(2, ["-m", "muphy_lb", "run", no_gpu(tmp_path), "-o", tmp_path / "out"], env=hidden, timeout=SOON_S)
    assert done.returncode == BackendError.exit_code
    assert "backend 'cuda' was requested, but no CUDA GPU can be used here" in done.stderr
    assert done.stderr.count("muphy-lb: error") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rum"], "invalid choice: 'rum'"),
        (["run"], "the following arguments are required: case"),
        (["run", "a.toml", "--sett", "x=1"], "run does not take '--sett x=1'; a key of the case is changed by --set"),
        (["new", "vessel", "--velocty", "2"], "new does not take '--velocty 2'"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_a_wrong_command_line_is_told_with_the_usage(arguments, message):
    done = subprocess.run([sys.executable, "-m", "muphy_lb", *arguments], capture_output=True, text=True)
    assert done.returncode == InputError.exit_code
    assert message in done.stderr and "usage: muphy-lb" in done.stderr
    assert done.stderr.count("muphy-lb: error") == 1 and "Traceback" not in done.stderr


def test_a_wrong_command_line_on_two_ranks_is_told_once(mpirun):
    done = mpirun(2, ["-m", "muphy_lb", "rum"], timeout=SOON_S)
    assert done.returncode == InputError.exit_code
    assert done.stderr.count("muphy-lb: error") == 1


def test_a_file_in_the_way_of_the_output_folder_is_told_before_the_run(tmp_path, capsys):
    (tmp_path / "out").write_text("in the way")
    with pytest.raises(OutputError, match="cannot write .*out: .*out is a file.*give another output folder"):
        command("run", write_case(tmp_path, compute=QUICK), "-o", tmp_path / "out")
    assert "reading the geometry" not in capsys.readouterr().out


def test_an_unwritable_output_folder_ends_all_ranks(tmp_path, mpirun):
    (tmp_path / "out").write_text("in the way")
    done = run_on_ranks(mpirun, tmp_path, write_case(tmp_path, compute=QUICK))
    assert done.returncode == OutputError.exit_code
    assert "give another output folder" in done.stderr and done.stderr.count("muphy-lb: error") == 1


DRIVER = """
import os, signal, sys
from muphy_lb.__main__ import main
from muphy_lb.run.solver import Solver
advance = Solver.advance
def fail(self, *arguments):
    updates = advance(self, *arguments)
    if self.communicator.rank == 1 and self.step_number >= 20:
        {failure}
    return updates
Solver.advance = fail
main(sys.argv[1:])
"""


def test_an_exception_on_one_rank_ends_all_and_names_it(tmp_path, mpirun):
    driver = DRIVER.format(failure="raise ValueError('the test broke rank 1')")
    done = mpirun(2, ["-c", driver, "run", write_case(tmp_path, compute=QUICK), "-o", tmp_path / "out"], timeout=SOON_S)
    assert done.returncode == 1
    assert "ValueError: the test broke rank 1" in done.stderr and "[rank 1 of 2]" in done.stderr
    assert done.stderr.count("muphy-lb: unexpected error") == 1


def test_too_little_memory_on_one_rank_is_one_message(tmp_path, mpirun):
    driver = DRIVER.format(failure="raise MemoryError('no room for 56 GiB')")
    done = mpirun(2, ["-c", driver, "run", write_case(tmp_path, compute=QUICK), "-o", tmp_path / "out"], timeout=SOON_S)
    assert done.returncode == 5
    assert done.stderr.count("there is not enough memory (no room for 56 GiB); use fewer particles") == 1
    assert "Traceback" not in done.stderr


@pytest.fixture
def under_slurm(monkeypatch):
    """Function: set the variables of a task of srun, and no other launcher's."""
    for name in communicator_module.LAUNCHER_VARIABLES:
        monkeypatch.delenv(name, raising=False)

    def enter(**variables):
        monkeypatch.setenv("SLURM_PROCID", "0")
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return enter


def test_srun_with_an_mpi_that_it_does_not_know_is_refused(under_slurm):
    under_slurm(SLURM_NTASKS="4")
    done = subprocess.run([sys.executable, "-m", "muphy_lb", "info", "x.toml"], capture_output=True, text=True)
    assert done.returncode == InputError.exit_code
    assert "SLURM has 4 tasks, but this MPI sees one rank" in done.stderr
    assert done.stderr.count("\n") == 1


def test_one_task_of_srun_in_a_larger_job_is_allowed(under_slurm):
    under_slurm(SLURM_NTASKS="4", SLURM_STEP_NUM_TASKS="1")
    line = [sys.executable, "-c", "from muphy_lb.parallel import connect; print(connect().size)"]
    assert subprocess.run(line, capture_output=True, text=True, env=os.environ).stdout == "1\n"
