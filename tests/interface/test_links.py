"""Nothing that a run writes, continues, or takes for its own follows a symbolic link out of the output folder."""

import os
import shutil
from pathlib import Path

import pytest

from muphy_lb.apps.rock.settled_flow import forget_flow
from muphy_lb.base.errors import InputError, OutputError
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.folder import LOCK_FILE, OWN_FOLDERS
from muphy_lb.run.loop import STOP_FILE, Run
from muphy_lb.run.solver import Solver
from tests.channel import open_channel

OUTPUT = {"checkpoint_every_steps": 10, "vtk": True, "picture": True, "film": True, "frames_every_steps": 10}
TRACERS = [{"name": "dye", "kind": "tracers", "count": 4, "snapshots_every_steps": 10, "extxyz": True}]
CONTINUED = (
    "openings.csv",
    "walls.csv",
    "fields.vtkhdf",
    "particles_dye.csv",
    "particles_dye.vtkhdf",
    "particles_dye.xyz",
)
PRECIOUS = "nobody may touch this\n"


def run(folder: Path, steps: int = 20, resume: bool = False) -> None:
    case = open_channel(run={"steps": steps}, output=OUTPUT | {"wall_shear": True}, particles=TRACERS)
    Run(Solver(case, SerialCommunicator()), folder, resume).execute()


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Path:
    """The folder of a run that was stopped after 20 steps."""
    folder = tmp_path_factory.mktemp("links") / "out"
    run(folder)
    return folder


@pytest.fixture
def out(done, tmp_path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(done, tmp_path / "out"))


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def laid_out(path: Path, content: bytes = PRECIOUS.encode()) -> Path:
    """A file elsewhere, to which ``path`` now is a link."""
    victim = path.parents[1] / f"victim of {path.name}" if path.parent.name == "out" else path.parents[2] / path.name
    victim.write_bytes(content)
    path.unlink(missing_ok=True)
    path.symlink_to(victim)
    return victim


def test_a_new_run_replaces_links_in_the_place_of_its_files(out):
    """Of all files but the lock, which is refused; STOP is removed."""
    (out / LOCK_FILE).unlink()
    there = files(out)
    assert {path.suffix for path in there} >= {".csv", ".vtkhdf", ".xyz", ".png", ".gif", ".npz", ".h5", ".toml"}
    victims = [laid_out(path) for path in (*there, out / STOP_FILE)]
    run(out)
    assert {victim.read_text() for victim in victims} == {PRECIOUS}
    assert not any(path.is_symlink() for path in files(out)) and not (out / STOP_FILE).exists()


def test_a_lock_that_is_a_link_is_refused(out):
    victim = laid_out(out / LOCK_FILE)
    for resume in (False, True):
        with pytest.raises(OutputError, match=r"\.lock: it is a symbolic link"):
            run(out, 30, resume)
    assert victim.read_text() == PRECIOUS


@pytest.mark.parametrize("folder", OWN_FOLDERS)
def test_folders_that_lead_to_those_of_another_run_are_refused(out, done, folder):
    shutil.rmtree(out / folder)
    (out / folder).symlink_to(done / folder)
    before = files(done)
    for resume in (False, True):
        with pytest.raises(OutputError, match=f"{folder} is a symbolic link to .*, and a run follows none"):
            run(out, 30, resume)
    assert files(done) == before


def test_the_checkpoints_of_another_flow_are_not_forgotten(out, done):
    shutil.rmtree(out / "checkpoints")
    (out / "checkpoints").symlink_to(done / "checkpoints")
    with pytest.raises(OutputError, match="checkpoints is a symbolic link"):
        forget_flow(out)
    assert any((done / "checkpoints").iterdir())


def test_a_resumed_run_refuses_links_in_the_place_of_what_it_continues(out):
    """Even if what they lead to is what it would have continued."""
    for path in (out / name for name in CONTINUED):
        whole = path.read_bytes()
        victim = laid_out(path, whole)
        with pytest.raises(OutputError, match=f"{path.name}: it is a symbolic link"):
            run(out, 30, resume=True)
        assert victim.read_bytes() == whole
        path.unlink()
        path.write_bytes(whole)


def test_a_resumed_run_replaces_links_in_the_place_of_all_else(out, caplog):
    """Of pictures and records, of what is kept of damaged files, and a checkpoint is not read through one."""
    damaged = [out / name for name in CONTINUED]
    for path in damaged:
        whole, damage = path.read_bytes(), b"no row, and no frame\n"
        path.write_bytes(whole + damage if path.suffix == ".csv" else damage + whole)
    kept = [Path(f"{path}.damaged") for path in damaged]
    others = [path for path in files(out) if path.suffix in (".png", ".gif", ".npz", ".json", ".html")]
    victims = [laid_out(path) for path in (*kept, *others)]
    newest = max((out / "checkpoints").iterdir())
    laid_out(newest, newest.read_bytes())
    run(out, 20, resume=True)
    assert {victim.read_text() for victim in victims} == {PRECIOUS}
    assert all(b"no row" in path.read_bytes() and not path.is_symlink() for path in kept)
    assert f"{newest} is skipped: it is a symbolic link" in caplog.text


def test_a_pipe_in_the_place_of_a_series_is_refused_and_not_waited_for(out):
    (out / "openings.csv").unlink()
    os.mkfifo(out / "openings.csv")
    with pytest.raises((OutputError, InputError), match="not a regular file"):
        run(out, 30, resume=True)
