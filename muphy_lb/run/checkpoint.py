"""Checkpoints: HDF5 files that any number of ranks can continue from, bit for bit.

Layout (version 7): a header with length and checksum of the raw bytes (:mod:`muphy_lb.base.files.sealed`); dataset
``populations`` (Q, n) in node-list order, one row per direction, deviations from w_q in the form that the streaming
stores; dataset ``fields`` (F, n), one row per field that is part of the state; groups ``particles/SET`` with one
dataset a column, by ascending id; groups ``sums/FIELD`` with the sums that the last collision has read, at the nodes
where there are any (:mod:`muphy_lb.engine.sums`); groups ``actions/NAME`` with the arrays that each action remembers;
group ``links/openings`` with what has left through openings, where the streaming keeps it beside the populations
(:mod:`muphy_lb.engine.transfers`), and group ``links/walls`` with the stress beside walls, where a run records it
(:mod:`muphy_lb.measure.shear.stress`); dataset ``case`` (TOML); attributes step, initial_mass, stride (steps of a
frozen flow that one of what it carries takes), feedback (JSON: state and value of each condition with feedback),
wall_forces (JSON: measured from two steps, of which the state holds one), one for each observer with a memory (JSON;
its arrays in the group ``observers/NAME``), such as watch, what the steady-state criterion remembers, and what the
state belongs to: lattice, streaming, precision, fields and particles (names), voxel_digest, and the units of its
numbers, time_step_s, spacing_m and density_kg_m3.
"""

import json
import logging
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import isclose
from os import PathLike
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import atomic_write, check_writable, output_errors, write_text
from muphy_lb.base.files.hdf5 import opened
from muphy_lb.base.files.hdf5_input import DAMAGE
from muphy_lb.base.files.sealed import HEADER_BYTES, seal
from muphy_lb.base.registry import PHYSICS
from muphy_lb.case.case import Case, as_case, case_from_dict, changed_keys, listed, load_case
from muphy_lb.case.toml import as_override
from muphy_lb.engine.sums import NODE, VALUE, last_sums
from muphy_lb.engine.transfers import LINK, POPULATION, leaving_populations
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.source import Geometry
from muphy_lb.measure.field_snapshots import FieldSnapshots
from muphy_lb.measure.records import WallForce
from muphy_lb.parallel import agreed, agreed_on_root, from_root
from muphy_lb.run.changes import TIME_STEP, refuse_frozen
from muphy_lb.run.folder import (
    ACTIONS,
    CASE_FILE,
    CHECKPOINTS,
    GEOMETRY,
    KIND,
    LINKS,
    OBSERVERS,
    OPENINGS,
    PARTICLES,
    PATTERN,
    SETS,
    SUMS,
    UNITS,
    VERSION,
    WALLS,
    Checkpoint,
    Expected,
    FolderLock,
    check_datasets,
    check_numbers,
    groups,
    newest,
    refuse_missing_files,
    refuse_to_resume_other,
)
from muphy_lb.run.solver import Solver
from muphy_lb.run.state import StateRecord
from muphy_lb.setup.distribute import DistributedGeometry

LOG = logging.getLogger(__name__)
LEFT_OVER = ".step_*.tmp"
SAME_STEP = {f"lattice.{key}" for key in TIME_STEP}  # which of them gives the time step, that is compared by itself
SCALES = ("geometry", "lattice", "openings", "walls", "fluid")  # a velocity of the case may fix the time step
BELONGS_TO = {  # what a state belongs to, as text, and the sections of the case that say so
    "lattice": ("velocity set", ("lattice",)),
    "streaming": ("streaming", ("compute",)),
    "precision": ("precision", ("compute",)),
    "fields": ("set of fields", PHYSICS),
    "particles": ("set of particles", PHYSICS),
    GEOMETRY: ("geometry", ("geometry", "openings")),
    "time_step_s": ("time step [s]", SCALES),
    "spacing_m": ("voxel edge [m]", ("geometry",)),
    "density_kg_m3": ("density [kg/m3]", ("fluid",)),
}
SAME = 1e-9  # relative difference of units that rounding in another release may make
FIELDS_FILE = FieldSnapshots.file
CHUNK = 1 << 20  # values of a row read at once


def checkpoint_path(folder: Path, step: int) -> Path:
    """The file that holds the state after ``step`` steps."""
    return folder / f"step_{step:012d}.h5"


def write_checkpoint(path: Path, simulation: Solver, states: Mapping[str, dict]) -> None:
    """Write the state of a simulation, and that of observers by name; collective. Raises OutputError: the disk refuses;
    earlier checkpoints stay."""
    forces = simulation.state.forces_record()
    state = _state(simulation)

    def write() -> None:
        with output_errors(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as temporary:
            with opened(temporary, "w", userblock_size=HEADER_BYTES) as file:
                _write_state(file, simulation, state)
                for name, record in states.items():
                    arrays = {key: value for key, value in record.items() if isinstance(value, np.ndarray)}
                    _write_groups(file, OBSERVERS, {name: arrays} if arrays else {})
                    file.attrs[name] = json.dumps({key: value for key, value in record.items() if key not in arrays})
                file.attrs["wall_forces"] = json.dumps(forces)
                file.attrs.update(_identity(simulation))
                file.create_dataset("case", data=simulation.case.to_toml(path.parent), dtype=h5py.string_dtype())
            seal(temporary, KIND, VERSION)

    def work() -> None:
        try:
            if simulation.communicator.rank == 0:
                write()
        finally:  # the other ranks send the rest in any case
            for _ in state:
                pass

    agreed(simulation.communicator, work)


def _state(simulation: Solver) -> Iterator[Any]:
    """The state from which the next step follows, on rank 0, piece by piece: rows of populations and fields, particles,
    sums, amounts that have left through openings, and the stress beside walls; each is collective."""
    yield from simulation.populations()
    for values in simulation.state.fields().values():
        yield simulation.collect(values)
    yield simulation.particles()
    yield last_sums(simulation.engine, simulation.communicator)
    yield leaving_populations(simulation.engine, simulation.communicator)
    yield simulation.state.stress_record()


def _write_state(file: h5py.File, simulation: Solver, state: Iterator[Any]) -> None:
    """Write all data from which the next step follows."""
    for name, (shape, dtype) in _expected_sets(simulation).items():
        rows = file.create_dataset(name, shape, dtype=dtype)
        for k in range(len(rows)):
            rows[k] = next(state)
    _write_groups(file, PARTICLES, next(state))
    _write_groups(file, SUMS, next(state))
    _write_groups(file, LINKS, {OPENINGS: next(state), WALLS: next(state)})
    _write_groups(file, ACTIONS, simulation.engine.actions.record())
    feedback = simulation.engine.feedback
    file.attrs["step"], file.attrs["initial_mass"] = simulation.step_number, simulation.state.initial_mass
    file.attrs["stride"] = simulation.stride
    file.attrs["feedback"] = json.dumps(feedback.record() if feedback else {})


def _write_groups(file: h5py.File, kind: str, found: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    for name, arrays in found.items():
        group = file.create_group(f"{kind}/{name}")
        for key, values in arrays.items():
            group.create_dataset(key, data=values)


def keep_only(paths: Sequence[Path], folder: Path) -> None:
    """Remove the checkpoints that came before these, and what interrupted writes left in their folder.

    A later one was skipped: it may be whole, and unreadable for the moment only. Without ``paths``, remove all.
    """
    oldest = min((path.name for path in paths), default=None)
    with output_errors(folder):
        for other in folder.glob(LEFT_OVER):
            other.unlink()
        for other in folder.glob(PATTERN):
            if (oldest is None or other.name < oldest) and (other.is_file() or other.is_symlink()):
                other.unlink()


def geometry_of(checkpoint: Checkpoint | None, case: Case, communicator) -> DistributedGeometry:
    """The geometry of a case that is to continue from a checkpoint, given on rank 0; collective.

    Its voxels determine whether it is the same, not the name and location of its file.

    Raises InputError: its voxels are others.
    """
    geometry = DistributedGeometry(case, communicator)

    def refuse_another() -> None:
        if checkpoint and geometry.voxel_digest != checkpoint.identity[GEOMETRY]:
            found = checkpoint.identity[GEOMETRY]
            raise InputError(_another(GEOMETRY, found, geometry.voxel_digest, checkpoint, case))

    agreed_on_root(communicator, refuse_another)
    return geometry


def newest_for(folder: Path, simulation: Solver) -> Checkpoint:
    """The newest valid checkpoint of a folder, from which a simulation can continue; collective. Raises InputError:
    there is no valid checkpoint, or it belongs to another geometry, lattice, streaming or precision, or to other
    units."""
    expected = _expected(simulation)

    def check(checkpoint: Checkpoint, file: h5py.File) -> None:
        _refuse_another(checkpoint, simulation)
        check_datasets(file, expected)
        for name in simulation.engine.fields.sums:
            check_numbers(file, f"{SUMS}/{name}/{NODE}", simulation.header.n_nodes)
        for record in checkpoint.wall_forces.values():
            WallForce.from_record(record)
        if changes := changed_keys(checkpoint.case, simulation.case.to_toml(checkpoint.path.parent)):
            for path in {change.split(" was ")[0] for change in changes} - SAME_STEP:
                refuse_frozen(simulation, checkpoint.step, path)
            LOG.info("changed since the checkpoint: %s", listed(changes))

    return from_root(simulation.communicator, lambda: newest(folder, check))


def restore(folder: Path, simulation: Solver) -> Checkpoint:
    """Continue a simulation from the newest valid checkpoint of a folder; every rank reads its own nodes. Raises
    InputError: as of :func:`newest_for`."""
    communicator, checkpoint = simulation.communicator, newest_for(folder, simulation)
    populations, rows, sets, sums, actions, links = agreed(communicator, partial(_arrays, checkpoint.path, simulation))
    fields = dict(zip(simulation.engine.fields.evolving, rows, strict=True))
    record = StateRecord(
        step=checkpoint.step,
        initial_mass=checkpoint.initial_mass,
        populations=populations,
        fields=fields,
        feedback=checkpoint.feedback,
        particles=sets,
        sums=sums,
        forces=checkpoint.wall_forces,
        actions=actions,
        leaving=links.get(OPENINGS, {}),
        stress=links.get(WALLS, {}),
        stride=checkpoint.stride,
    )
    simulation.state.go_on_from(record)
    return checkpoint


def restore_memory(checkpoint: Checkpoint, name: str, take: Callable[[dict], None]) -> None:
    """Let an observer take what it remembered, if it did. Raises InputError: it remembered something else."""
    if name not in checkpoint.states:
        return
    try:
        take(checkpoint.states[name])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"checkpoint {checkpoint.path} holds something else for {name!r} than this program writes ({error!r}); move"
            " the file away to continue from an older one, or start again with muphy-lb run"
        ) from error


def _expected_sets(simulation: Solver) -> dict[str, tuple[tuple[int, int], np.dtype]]:
    """Shape and type of the rows of populations and of fields."""
    engine, n = simulation.engine, simulation.header.n_nodes
    return {
        "populations": ((simulation.lattice.q, n), np.dtype(engine.real)),
        "fields": ((len(engine.fields.evolving), n), engine.fields.state_dtype),
    }


def _expected(simulation: Solver) -> Expected:
    engine = simulation.engine
    n_links = simulation.communicator.total(int(engine.domain.links.node.size))
    found: dict[str, tuple[tuple[int | None, ...], np.dtype]] = {**_expected_sets(simulation)}
    if engine.model.streaming.stores_before_collision:
        found |= {
            f"{LINKS}/{OPENINGS}/{LINK}": ((n_links,), np.dtype(np.int64)),
            f"{LINKS}/{OPENINGS}/{POPULATION}": ((n_links,), np.dtype(np.float64)),
        }
    for name, n_components in engine.fields.sums.items():
        found[f"{SUMS}/{name}/{NODE}"] = (None,), np.dtype(np.int64)
        found[f"{SUMS}/{name}/{VALUE}"] = (None, n_components), np.dtype(np.int64)
    for each in engine.model.particles:
        columns = engine.particle_sets.get(each.name)
        found |= {f"{PARTICLES}/{each.name}/{name}": ((None,), values.dtype) for name, values in columns.items()}
    for action in engine.model.actions:
        for name, values in action.state().items():
            shape = values.shape if name in action.single else (None, *values.shape[1:])
            found[f"{ACTIONS}/{action.name}/{name}"] = shape, values.dtype
    return found


def _arrays(path: Path, simulation: Solver) -> tuple:
    """Populations and fields of the own nodes, and by name the arrays of particles, sums, actions and links; InputError
    if this rank cannot read the file."""
    try:
        with h5py.File(path, "r") as file:
            rows = [_columns(file[name], simulation.domain.number) for name in SETS]
            return *rows, *(groups(file, kind) for kind in (PARTICLES, SUMS, ACTIONS, LINKS))
    except OSError as error:
        raise InputError(f"cannot read checkpoint {path}: {error}; every rank must see the output folder") from error


def _columns(dataset, number: np.ndarray) -> np.ndarray:
    """(Q, m) columns ``number`` of a (Q, n) dataset, of which one stretch of a row after the other is in memory."""
    columns = np.empty((dataset.shape[0], number.size), dataset.dtype)
    order = np.argsort(number, kind="stable")
    for first in range(0, dataset.shape[1], CHUNK):
        wanted = order[slice(*np.searchsorted(number, (first, first + CHUNK), sorter=order))]
        for q in range(dataset.shape[0]) if wanted.size else ():
            columns[q, wanted] = dataset[q, first : first + CHUNK][number[wanted] - first]
    return columns


def _identity(simulation: Solver) -> dict:
    engine, units = simulation.engine, simulation.units
    return {
        "lattice": simulation.lattice.name,
        "streaming": engine.model.streaming.name,
        "precision": simulation.case.compute.precision,
        "fields": ", ".join(engine.fields.evolving),
        "particles": ", ".join(each.name for each in engine.model.particles),
        "voxel_digest": simulation.geometry.voxel_digest,
        "time_step_s": units.time_step_s,
        "spacing_m": simulation.header.spacing_m,
        "density_kg_m3": units.density_kg_m3,
    }


def _refuse_another(checkpoint: Checkpoint, simulation: Solver) -> None:
    for name, expected in _identity(simulation).items():
        found: Any = checkpoint.identity[name]
        is_same = isclose(found, expected, rel_tol=SAME) if name in UNITS else found == expected
        if not is_same:
            raise InputError(_another(name, found, expected, checkpoint, simulation.case))


def _another(name: str, found, expected, checkpoint: Checkpoint, case: Case) -> str:
    """The refusal of a state that belongs to something else, the keys of the case that make the difference, and what
    helps."""
    what, sections = BELONGS_TO[name]
    was, now = (f"{each:.6g}" if isinstance(each, float) else repr(each) for each in (found, expected))
    values = "" if name == GEOMETRY else f" ({was}; this run: {now})"
    why = ", with which its numbers would mean other velocities and pressures" if name in UNITS else ""
    changes = listed(changed_keys(checkpoint.case, case.to_toml(checkpoint.path.parent), sections))
    none = f"no key of {' or '.join(sections)} has changed, but perhaps this program, or a file that the case names"
    cause = changes or none
    kept = ""
    if name == "time_step_s":
        others = [key for key in TIME_STEP if key != name and getattr(case.lattice, key) is not None]
        sets = [*(as_override(f"lattice.{key}", None) for key in others), f"lattice.time_step_s={found!r}"]
        kept = f", or keep the time step: {' '.join(f'--set {change}' for change in sets)}"
    return (
        f"checkpoint {checkpoint.path} belongs to another {what}{values}{why}: {cause}; resume without that change"
        f"{kept}, or start again with muphy-lb run"
    )


def saved(core: Solver, geometry: Geometry | None, folder: str | PathLike, may_replace: bool) -> None:
    """Write case, geometry and checkpoint; collective. See :meth:`muphy_lb.run.simulation.Simulation.save`."""
    core.health()
    path = Path(folder)
    case = moved_into(path, core.case, geometry)
    written = checkpoint_path(path / CHECKPOINTS, core.step_number)

    def prepared() -> FolderLock:
        check_writable(path)
        if (path / CASE_FILE).exists() and not may_replace:
            raise InputError(
                f"save: {path} is the folder of another run, which has a {CASE_FILE}; give another folder, or"
                " overwrite=True to replace that and its checkpoints"
            )
        return FolderLock(path)

    def write_case() -> None:
        with output_errors(path):
            if geometry is not None:
                geometry.write(path)
        write_text(path / CASE_FILE, case.to_toml(path))

    def remove_others() -> None:
        """Checkpoints of earlier saves and of another run, which a load could take for the newest."""
        with output_errors(written.parent):
            for other in written.parent.glob(PATTERN):
                if other != written:
                    other.unlink()

    lock = agreed_on_root(core.communicator, prepared)
    core.case = case
    try:
        agreed_on_root(core.communicator, write_case)
        write_checkpoint(written, core, {})
        agreed_on_root(core.communicator, remove_others)
    finally:
        if lock:
            lock.release()


def loaded(folder: str | PathLike, overrides: Sequence[str], communicator) -> Solver:
    """The simulation of a folder, as it was left there; collective. Raises InputError: the folder holds no state."""
    path = Path(folder)
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
    try:
        with h5py.File(path, "r") as file:
            return int(file["muphy_lb/step"][int(file["VTKHDF/Steps"].attrs["NSteps"]) - 1])
    except DAMAGE as error:
        raise InputError(f"load: {path} cannot be read ({shown(error)}); load a folder with a checkpoint") from error


def _from_fields(folder: Path, case: Case, step: int, communicator) -> Solver:
    """The simulation that starts from the last snapshot of a field file."""
    LOG.warning(
        "warning: %s has no checkpoint; going on from %s, in single precision: what it does not hold or [initial] does"
        " not take (fields of a physics, particles, states of outlets, averages) begins again",
        folder,
        FIELDS_FILE,
    )
    core = Solver(as_case(case, ["initial=", f'initial.file="{FIELDS_FILE}"']), communicator)
    core.case = case
    core.state.restart_from(core.engine.populations(), step, core.state.initial_mass, core.state.fields())
    return core


def moved_into(folder: Path, case: Case, geometry: Geometry | None) -> Case:
    """The case as it is to be written to a folder, where the file of a geometry in memory will lie."""
    if geometry is None or geometry.content is None:
        return case
    table = tomllib.loads(case.to_toml(folder))
    table["geometry"]["file"] = geometry.table["file"]
    return case_from_dict(table, folder)
