"""A run continues wherever its folder and its files lie now, and by whatever a message says, typed literally."""

import re
import shlex
import shutil

import h5py
import numpy as np
import pytest

from muphy_lb import Simulation
from muphy_lb.base.errors import InputError
from muphy_lb.base.files.sealed import seal
from muphy_lb.case.toml import toml_lines
from muphy_lb.run.checkpoint import KIND, VERSION, checkpoint_path, newest, restore, write_checkpoint
from muphy_lb.run.solver import Solver
from tests.vessel import command, vessel, write_case

QUICK = {"backend": "numpy"}
OFTEN = {"checkpoint_every_steps": 10}
BOX = (4, 8, 5)
TABLE = {
    "geometry": {"file": "rock.npy", "spacing_m": 1e-3, "periodic": ["x"]},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-5},
    "flow": {"acceleration_m_s2": [1e-3, 0.0, 0.0], "waveform": {"file": "beat.csv"}},
    "initial": {"velocity_file": "start.npy"},
    "lattice": {"time_step_s": 1e-2},
    "compute": QUICK,
    "run": {"steps": 20, "ramp_steps": 0, "check_interval_steps": 10},
    "output": OFTEN | {"picture": False, "vtk": False, "report": False},
}


def duct(n_solid=1):
    """An image of a duct along x: solid at its other faces, and some voxels more."""
    image = np.zeros(BOX, np.uint8)
    image[[0, -1]] = image[:, [0, -1]] = 1
    image[1, 1, :n_solid] = 1
    return image


@pytest.fixture
def stopped(tmp_path):
    """The output folder of a run half-way, far from the files of its case, which lie in ``project/files``."""
    project = tmp_path / "project" / "files"
    project.mkdir(parents=True)
    np.save(project / "rock.npy", duct())
    np.save(project / "start.npy", np.full((*BOX, 3), 1e-4))
    (project / "beat.csv").write_text("time_s,factor\n0,1\n0.03,0.5\n0.06,0.5\n0.1,1\n")
    (project / "case.toml").write_text("\n".join(toml_lines(TABLE)))
    command("run", project / "case.toml", "-o", project.parent / "out" / "a", "--set", "run.steps=10")
    return project.parent / "out" / "a"


def typed(message: str, *changes: tuple[str, str]) -> int:
    """What a message says to type, with the user's own paths."""
    line = re.search(r"muphy-lb (resume .*?)(, and change|$)", message)[1]
    for old, new in changes:
        line = line.replace(old, new)
    return command(*shlex.split(line))


def test_a_folder_that_was_moved_goes_on_by_what_the_message_says(stopped, tmp_path):
    moved, files = tmp_path / "else where" / "a", str(tmp_path / "project" / "files")
    shutil.copytree(stopped, moved)
    with pytest.raises(InputError, match="files of the case are not there: .*; if the folder .* moved") as told:
        command("resume", moved)
    keys = [part.partition("=")[0] for part in shlex.split(str(told.value)) if "=/path/to/" in part]
    assert keys == ["geometry.file", "flow.waveform.file"]
    remedy = ("/path/to", files), ("--set initial=", "--set initial= --set run.steps=20")
    assert typed(str(told.value), *remedy) in (0, 6)
    assert command("resume", stopped, "--set", "run.steps=20") in (0, 6)
    of_both = [(folder / "checkpoints" / "step_000000000020.h5") for folder in (stopped, moved)]
    with h5py.File(of_both[0]) as one, h5py.File(of_both[1]) as other:
        assert np.array_equal(one["populations"][...], other["populations"][...])
    assert command("resume", moved, "--set", "run.steps=30") in (0, 6)  # its case says where the files are


def test_a_moved_folder_is_loaded_by_what_the_message_says(stopped, tmp_path):
    moved = tmp_path / "elsewhere" / "deeper" / "a"
    shutil.copytree(stopped, moved)
    with pytest.raises(InputError, match=r"Simulation\.load\(") as told:
        Simulation.load(moved)
    call = re.search(r"Simulation\.load\(.*\]\)", str(told.value))[0]
    with eval(call.replace("/path/to", str(tmp_path / "project" / "files"))) as simulation:
        assert simulation.step_number == 10
        simulation.step(2)


def test_another_file_of_the_same_voxels_does(stopped, tmp_path):
    np.savez(tmp_path / "other.npz", rock=duct())
    assert command("resume", stopped, "--set", f"geometry.file={tmp_path / 'other.npz'}", "--set", "run.steps=20") in (
        0,
        6,
    )


@pytest.mark.parametrize("name", ["rock.npy", "other.npy"])
def test_a_file_of_other_voxels_is_another_geometry_before_anything_is_compiled(stopped, tmp_path, monkeypatch, name):
    monkeypatch.setattr(Solver, "_build_engine", lambda self: pytest.fail("kernels were compiled"))
    np.save(tmp_path / name, duct(2))
    for load in (
        lambda change: command("resume", stopped, "--set", change),
        lambda change: Simulation.load(stopped, overrides=[change]),
    ):
        with pytest.raises(InputError, match=r"another geometry: geometry\.file was '.*rock\.npy', is "):
            load(f"geometry.file={tmp_path / name}")


def test_a_run_that_has_made_its_steps_and_more_says_how_to_go_on(tmp_path, caplog):
    case, out = write_case(tmp_path, compute=QUICK, output=OFTEN), tmp_path / "out"
    command("run", case, "-o", out, "--set", "run.steps=40")
    before = (out / "case.toml").read_bytes()
    with caplog.at_level("INFO", logger="muphy_lb"):
        command("resume", out, "--set", "run.steps=10")
    assert "has made 40 steps, more than its 10; to continue: " in caplog.text
    assert (out / "case.toml").read_bytes() == before
    assert typed(caplog.text.rstrip()) in (0, 6) and newest(out / "checkpoints").step == 80


def test_an_inflow_changes_with_the_time_step_that_the_message_keeps(tmp_path):
    case, out = write_case(tmp_path, compute=QUICK, output=OFTEN), tmp_path / "out"
    command("run", case, "-o", out, "--set", "run.steps=10")
    change = ["resume", out, "--set", "openings.inlet.velocity_m_s=0.01"]
    with pytest.raises(InputError, match=r"keep the time step: (.*), or start again") as told:
        command(*change)
    kept = shlex.split(re.search(r"keep the time step: (.*), or start again", str(told.value))[1])
    assert kept[:2] == ["--set", "lattice.lattice_velocity="]
    assert command(*change, *kept, "--set", "run.steps=20") in (0, 6)
    assert newest(out / "checkpoints").step == 20


def _changed(name, values):
    def change(file):
        del file[name]
        file[name] = values

    return change


LEAVING = "links/openings/population"
STRUCTURES = {
    "no links": (lambda file: file.__delitem__("links"), "it has no dataset 'links/openings/link'"),
    "fewer links": (_changed(LEAVING, np.zeros(3)), f"its dataset '{LEAVING}' has shape"),
    "links of another type": (_changed(LEAVING, np.zeros(3, np.int16)), "and type int16"),
    "another type": (lambda file: _changed("populations", file["populations"][...].astype("f8"))(file), "type float64"),
    "no case": (lambda file: file.__delitem__("case"), "case"),
    "no time step": (lambda file: file.attrs.__delitem__("time_step_s"), "its attribute 'time_step_s' is None"),
    "wall forces of another form": (lambda file: file.attrs.__setitem__("wall_forces", '{"a": {}}'), "force_n"),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_sealed_checkpoint_of_another_form_is_passed_over(tmp_path, caplog, name):
    change, told = STRUCTURES[name]
    simulation = Solver(vessel(compute=QUICK | {"streaming": "push"}))
    for _ in range(2):
        simulation.step(1)
        write_checkpoint(checkpoint_path(tmp_path, simulation.step_number), simulation, {})
    last = checkpoint_path(tmp_path, 2)
    with h5py.File(last, "r+") as file:
        change(file)
    seal(last, KIND, VERSION)
    assert restore(tmp_path, simulation).step == 1
    (record,) = (record for record in caplog.records if "is skipped" in record.getMessage())
    assert told in record.getMessage() and "\n" not in record.getMessage()
