"""What cannot work is refused before what takes long is begun; and what reads the output may stop reading."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import load_case
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.description import describe_case, more_ranks_than_cores
from muphy_lb.run.solver import Solver
from muphy_lb.setup import distribute
from tests.vessel import STARTING, TABLE, command, write_case

PROBE = 'probes=[{name="p", point_m=[1.0, 1.0, 1.0]}]'
HEAVY = ("matplotlib", "skimage", "vtk", "pyvista", "numba.cuda", "mpi4py")


@pytest.fixture
def nothing_is_read(monkeypatch):
    """Whoever reads a geometry fails."""
    monkeypatch.setattr(distribute, "load_nodes", lambda case: pytest.fail("a geometry was read"))


@pytest.fixture
def nothing_is_compiled(monkeypatch):
    """Whoever builds an engine fails."""
    monkeypatch.setattr(Solver, "_build_engine", lambda self: pytest.fail("kernels were compiled"))


@pytest.fixture
def stopped(tmp_path):
    """The output folder of a run that has left a checkpoint."""
    out = tmp_path / "out"
    settings = ["--set", "run.steps=10", "--set", "output.checkpoint_every_steps=10", "--set", "compute.backend=numpy"]
    command("run", write_case(tmp_path), "-o", out, *settings)
    return out


def test_a_probe_outside_the_fluid_is_refused_before_kernels_are_compiled(tmp_path, nothing_is_compiled):
    with pytest.raises(InputError, match=r"probes\.p: no point of it lies in the fluid"):
        command("run", write_case(tmp_path), "-o", tmp_path / "out", "--set", PROBE)


@pytest.mark.parametrize("verb", ["run", "info"])
def test_physics_that_cannot_be_computed_together_are_refused_before_a_geometry_is_read(
    tmp_path, nothing_is_read, verb
):
    particles = '[{name = "dye", kind = "tracers", count = 3}]'
    settings = ("--set", f"particles={particles}", "--set", "dissipation={}")
    with pytest.raises(InputError, match=r"has \[particles\] and \[dissipation\], which cannot be computed together"):
        command(verb, write_case(tmp_path), *settings)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "geometry.spacing_m=0.002",
            r"another geometry: geometry\.spacing_m was 0\.001, is 0\.002; resume without that change, or start again",
        ),
        ("compute.precision=fp64", r"compute\.precision was 'fp32', is 'fp64'"),
    ],
)
def test_a_changed_geometry_is_refused_before_it_is_read(stopped, request, change, words):
    request.getfixturevalue("nothing_is_read")
    with pytest.raises(InputError, match=words):
        command("resume", stopped, "--set", change)


def test_a_folder_without_a_run_is_refused(tmp_path, nothing_is_read):
    with pytest.raises(InputError, match="is not a folder; give the output folder"):
        command("resume", tmp_path / "nowhere")
    with pytest.raises(InputError, match="is not the output folder of a run"):
        command("resume", tmp_path)


def test_a_simulation_takes_a_file_or_tables_and_says_what_it_is(tmp_path):
    changes = ["compute.backend=numpy"]
    from_file, from_tables = (Solver.from_case(given, changes) for given in (str(write_case(tmp_path)), TABLE))
    assert repr(from_file) == repr(from_tables)
    assert "small vessel" in repr(from_file) and "nodes of 0.001 m" in repr(from_file)
    with pytest.raises(InputError, match="a case is 3, of type int; give the path"):
        Solver(3)


def test_a_reader_that_stops_reading_stops_no_run(tmp_path):
    case, out = write_case(tmp_path, compute={"backend": "numpy"}), tmp_path / "out"
    run = [sys.executable, "-m", "muphy_lb", "run", str(case), "-o", str(out), "--set", "run.steps=20"]
    with subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith("muphy-lb ")
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == STARTING and (out / "summary.json").exists()


def test_a_python_without_the_packages_is_told_in_a_line():
    done = subprocess.run([sys.executable, "-S", "-m", "muphy_lb", "--version"], capture_output=True, text=True)
    assert done.returncode == 0
    done = subprocess.run([sys.executable, "-S", "-m", "muphy_lb", "info", "x"], capture_output=True, text=True)
    assert done.returncode == 1 and "has no package" in done.stderr and "Traceback" not in done.stderr


def test_nothing_heavy_is_imported_before_it_is_needed():
    """By the loop of a run and by every physics."""
    physics = "from muphy_lb.base.registry import PHYSICS, package; [package(name) for name in PHYSICS]"
    code = f"import sys, muphy_lb.run.loop; {physics}; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_an_opening_of_few_voxels_is_warned_of_before_the_run_and_by_info(tmp_path):
    case = write_case(tmp_path, compute={"backend": "numpy"})
    texts = [describe_case(load_case(case)), Solver(case).describe()]
    for text in texts:
        assert "warning: few voxels across openings: inlet 7.6, outlet_1 6.0, outlet_2 4.7; 8 or more" in text
        assert "geometry.spacing_m = 0.00058 or finer" in text


def test_an_inlet_through_which_fluid_leaves_is_warned_of_before_the_run_and_by_info(tmp_path):
    (inlet, *outlets), backwards = TABLE["openings"], {"velocity_m_s": -TABLE["openings"][0]["velocity_m_s"]}
    case = write_case(tmp_path, compute={"backend": "numpy"}, openings=[inlet | backwards, *outlets])
    for text in (describe_case(load_case(case)), Solver(case).describe()):
        assert "warning: openings.inlet: fluid leaves by this inlet" in text


def test_info_takes_the_changes_of_keys_that_a_run_takes(tmp_path, capsys):
    case = write_case(tmp_path, compute={"backend": "numpy"})
    assert command("info", case, "--set", "openings.inlet.velocity_m_s=1 cm/s", "--set", "run.steps=77") == 0
    text = capsys.readouterr().out
    assert "mean velocity 0.01 m/s" in text and "steps               77" in text
    with pytest.raises(InputError, match="prepared geometry and has no keys; leave it out"):
        command("info", "prepared.h5", "--set", "run.steps=77")


def test_more_ranks_than_cores_are_warned_of():
    crowded = SimpleNamespace(size=10_000, machine_ranks=frozenset(range(10_000)))
    (text,) = more_ranks_than_cores(crowded, "cpu")
    assert "10000 ranks share" in text and "start at most" in text
    assert more_ranks_than_cores(crowded, "cuda") == more_ranks_than_cores(SerialCommunicator(), "cpu") == []


def test_voxels_larger_than_the_vessel_are_named(tmp_path):
    with pytest.raises(GeometryError, match="holds none, with a voxel edge of 1 m; give a finer one"):
        command("run", write_case(tmp_path), "-o", tmp_path / "out", "--set", "geometry.spacing_m=1.0")
