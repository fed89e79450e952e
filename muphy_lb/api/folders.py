"""Folders of a simulation: what is saved and loaded, and a run that writes all its files."""

import logging
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import h5py

from muphy_lb.api.inputs import moved_into
from muphy_lb.api.records import Outcome
from muphy_lb.api.running import Interruption
from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import check_writable, output_errors, write_text
from muphy_lb.base.files.hdf5_input import DAMAGE
from muphy_lb.case.case import Case, as_case, load_case
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.source import Geometry
from muphy_lb.measure.field_snapshots import FieldSnapshots
from muphy_lb.parallel import agreed_on_root, from_root
from muphy_lb.run.checkpoint import checkpoint_path, geometry_of, restore, write_checkpoint
from muphy_lb.run.folder import (
    CASE_FILE,
    CHECKPOINTS,
    PATTERN,
    Checkpoint,
    FolderLock,
    refuse_missing_files,
    refuse_to_resume_other,
    results_of_hours,
)
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver

if TYPE_CHECKING:
    from muphy_lb.api.simulation import Simulation

LOG = logging.getLogger(__name__)
FIELDS_FILE = FieldSnapshots.file


def named_folder(folder: str | PathLike) -> Path:
    """The folder that a user names.

    Raises:
        InputError: it is no path.
    """
    if not isinstance(folder, str | PathLike):
        raise InputError(f"a folder is {shown(folder)}, of type {type(folder).__name__}; give its path")
    return Path(folder)


def resolved(folder: str | PathLike) -> str:
    """The name of a folder by which it is known again."""
    return str(Path(folder).absolute())


def saved(core: Solver, geometry: Geometry | None, folder: str | PathLike, may_replace: bool) -> None:
    """Write case, geometry and checkpoint; collective. See :meth:`muphy_lb.api.simulation.Simulation.save`."""
    core.health()
    path = Path(folder)
    case = moved_into(path, core.case, geometry)
    lock = agreed_on_root(core.communicator, lambda: _prepared(path, may_replace))
    core.case = case
    try:
        agreed_on_root(core.communicator, lambda: _write_case(path, case, geometry))
        written = checkpoint_path(path / CHECKPOINTS, core.step_number)
        write_checkpoint(written, core, {})
        agreed_on_root(core.communicator, lambda: _remove_others(written))
    finally:
        if lock:
            lock.release()


def _prepared(folder: Path, may_replace: bool) -> FolderLock:
    """The lock of a folder that may be written to."""
    check_writable(folder)
    if (folder / CASE_FILE).exists() and not may_replace:
        raise InputError(
            f"save: {folder} is the folder of another run, which has a {CASE_FILE}; give another folder, or"
            " overwrite=True to replace that and its checkpoints"
        )
    return FolderLock(folder)


def _remove_others(written: Path) -> None:
    """Remove checkpoints of earlier saves and of another run, which a load could take for the newest."""
    with output_errors(written.parent):
        for other in written.parent.glob(PATTERN):
            if other != written:
                other.unlink()


def _write_case(folder: Path, case: Case, geometry: Geometry | None) -> None:
    with output_errors(folder):
        if geometry is not None:
            geometry.write(folder)
    write_text(folder / CASE_FILE, case.to_toml(folder))


def loaded(folder: str | PathLike, overrides: Sequence[str], communicator) -> Solver:
    """The simulation of a folder, as it was left there; collective.

    Raises:
        InputError: the folder holds no state.
    """
    path = from_root(communicator, lambda: named_folder(folder))
    case, checkpoint, step = from_root(communicator, lambda: _what_to_load(path, overrides))
    if step is not None:
        return _from_fields(path, case, step, communicator)
    core = Solver(case, communicator, geometry_of(checkpoint, case, communicator))
    restore(path / CHECKPOINTS, core)
    return core


def _what_to_load(folder: Path, overrides: Sequence[str]) -> tuple[Case, Checkpoint | None, int | None]:
    """The case of a folder, and its newest checkpoint or the step of the last snapshot of its fields."""
    if not (folder / CASE_FILE).is_file():
        raise InputError(f"load: {folder} has no {CASE_FILE}; give a folder of save(), or the output folder of a run")
    case = load_case(folder / CASE_FILE, overrides)
    refuse_missing_files(case, lambda changes: f"Simulation.load({str(folder)!r}, overrides={changes})")
    if any((folder / CHECKPOINTS).glob(PATTERN)):
        return case, refuse_to_resume_other(folder, case), None
    if not (folder / FIELDS_FILE).is_file():
        raise InputError(
            f"load: {folder} holds neither a checkpoint nor {FIELDS_FILE}; run with output.checkpoint_every_steps, or"
            " save()"
        )
    return case, None, _last_step(folder / FIELDS_FILE)


def _last_step(path: Path) -> int:
    """The step of the last snapshot of a field file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        with h5py.File(path, "r") as file:
            return int(file["muphy_lb/step"][int(file["VTKHDF/Steps"].attrs["NSteps"]) - 1])
    except DAMAGE as error:
        raise InputError(f"load: {path} cannot be read ({shown(error)}); load a folder with a checkpoint") from error


def _from_fields(folder: Path, case: Case, step: int, communicator) -> Solver:
    """The simulation that starts from the last snapshot of a field file."""
    LOG.warning(
        "warning: %s has no checkpoint; going on from %s, in single precision: what it does not hold or [initial] does"
        " not take (fields of a physics, particles, states of outlets, averages) begins anew",
        folder,
        FIELDS_FILE,
    )
    core = Solver(as_case(case, ["initial=", f'initial.file="{FIELDS_FILE}"']), communicator)
    core.case = case
    core.state.restart_from(core.engine.populations(), step, core.state.initial_mass, core.state.fields())
    return core


def started(simulation: "Simulation", folder: str | PathLike) -> Run:
    """A run to the end of the case that writes all that ``muphy-lb run`` writes; collective."""
    core, path = simulation.core, Path(folder)
    case = moved_into(path, core.case, simulation.geometry)
    agreed_on_root(core.communicator, lambda: _before_run(path, simulation.geometry))
    core.case = case
    run = Run(core, path, shows_progress=simulation.progress)
    run.observers += [simulation.settling, *simulation.callbacks]
    return run


def executed(simulation: "Simulation", run: Run) -> Outcome:
    """What a run came to, which is made now; collective."""
    with Interruption() as interruption:
        ended, summary = run.execute(interruption)
    core = simulation.core
    found = core.communicator.broadcast(summary)
    return Outcome(
        ended=ended,
        is_steady=found["steadiness"]["is_reached"] if found["steadiness"] else None,
        step_number=core.step_number,
        time_s=core.time_s,
        wall_time_s=found["wall_time_s"],
        mflups=found["mflups"],
        verdict=run.verdict,
        statements=tuple(found["statements"]),
        objections=tuple(found["objections"]),
        not_judged=tuple(found["not_judged"]),
    )


def _before_run(folder: Path, geometry: Geometry | None) -> None:
    """Refuse the folder of a run whose checkpoints or long work would go, and write a geometry that is in memory."""
    check_writable(folder)
    if any((folder / CHECKPOINTS).glob(PATTERN)):
        raise InputError(
            f"run: {folder} holds checkpoints of an earlier run; give another folder, or go on with"
            " Simulation.load(folder)"
        )
    if results := results_of_hours(folder):
        raise InputError(f"run: {folder} holds {results}; give another folder, or move it away")
    if geometry is not None:
        with output_errors(folder):
            geometry.write(folder)
