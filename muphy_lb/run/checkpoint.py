"""Checkpoints: HDF5 files that any number of ranks can continue from, bit for bit.

Layout (version 7): a header with length and checksum of the raw bytes (:mod:`muphy_lb.files.sealed`); dataset
``populations`` (Q, n) in node-list order, one row per direction, deviations from w_q in the form that the streaming
stores; dataset ``fields`` (F, n), one row per field that is part of the state; groups ``particles/SET`` with one
dataset a column, by ascending id; groups ``actions/NAME`` with the arrays that each action remembers; group
``links/openings`` with what has left through openings, where the streaming keeps it beside the populations
(:mod:`muphy_lb.engine.leaving`), and group ``links/walls`` with the stress beside walls, where a run records it
(:mod:`muphy_lb.measure.recorded_stress`); dataset ``case`` (TOML); attributes step, initial_mass, feedback (JSON: state
and value of each condition with feedback), wall_forces (JSON: measured from two steps, of which the state holds one),
one for each observer with a memory (JSON; its arrays in the group ``observers/NAME``), such as watch, what the
steady-state criterion remembers, and what the state belongs to: lattice, streaming, precision, fields and particles
(names), voxel_digest, and the units of its numbers, time_step_s, spacing_m and density_kg_m3.
"""

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isclose
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.case.changes import changed_keys, listed
from muphy_lb.engine.leaving import leaving_populations, restore_leaving
from muphy_lb.errors import InputError
from muphy_lb.files.atomic import atomic_write, output_errors
from muphy_lb.files.hdf5 import opened
from muphy_lb.files.hdf5_input import elsewhere, oversized
from muphy_lb.files.sealed import HEADER_BYTES, DamagedFileError, seal, verify, version_of
from muphy_lb.measure.flow_view import on_root
from muphy_lb.parallel import agreed_on_root
from muphy_lb.physics.table import PHYSICS
from muphy_lb.run.early import PATTERN
from muphy_lb.run.moved_state import restore_stress, stress_record
from muphy_lb.run.simulation import Simulation

LOG = logging.getLogger(__name__)
KIND = "muphy_lb checkpoint"
VERSION = 7
LEFT_OVER = ".step_*.tmp"
SETS = ("populations", "fields")
PARTICLES, OBSERVERS, ACTIONS, LINKS = "particles", "observers", "actions", "links"
OPENINGS, WALLS = "openings", "walls"
UNITS = ("time_step_s", "spacing_m", "density_kg_m3")
GEOMETRY = "voxel_digest"
SCALES = ("geometry", "lattice", "openings", "walls", "fluid")  # a velocity of the case may fix the time step
BELONGS_TO = {  # what a state belongs to, in words, and the sections of the case that say so
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
IDENTITY = tuple(BELONGS_TO)
OWN_ATTRIBUTES = {*IDENTITY, "step", "initial_mass", "feedback", "wall_forces"}  # the others are states of observers
SAME = 1e-9  # relative difference of units that rounding in another release may make
CHUNK = 1 << 20  # values of a row read at once


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint says of itself: its ``path``, ``step``, ``initial_mass``, the states of conditions with
    ``feedback``, the records of ``wall_forces``, the ``states`` of observers by name, and the text of its ``case``."""

    path: Path
    step: int
    initial_mass: float
    feedback: dict[str, list[float]]
    wall_forces: dict[str, dict]
    states: dict[str, dict]
    case: str


def checkpoint_path(folder: Path, step: int) -> Path:
    """The file that holds the state after ``step`` steps."""
    return folder / f"step_{step:012d}.h5"


def write_checkpoint(path: Path, simulation: Simulation, states: Mapping[str, dict]) -> None:
    """Write the state of a simulation, and that of observers by name; collective.

    Raises:
        OutputError: the disk refuses; earlier checkpoints stay.
    """
    forces = simulation.wall_forces() if simulation.header.walls else None
    if simulation.communicator.rank:
        for _ in _rows(simulation):
            pass
        simulation.particles()
        leaving_populations(simulation.engine, simulation.communicator)
        stress_record(simulation)
        return
    with output_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as temporary:
        with opened(temporary, "w", userblock_size=HEADER_BYTES) as file:
            _write_state(file, simulation)
            for name, record in states.items():
                _write_memory(file, name, record)
            file.attrs["wall_forces"] = json.dumps({name: asdict(force) for name, force in (forces or {}).items()})
            file.attrs.update(_identity(simulation))
            file.create_dataset("case", data=simulation.case.to_toml(path.parent), dtype=h5py.string_dtype())
        seal(temporary, KIND, VERSION)


def _write_state(file: h5py.File, simulation: Simulation) -> None:
    """Everything that the next step follows from."""
    n, names = simulation.header.n_nodes, simulation.engine.fields.evolving
    sizes = {"populations": simulation.lattice.q, "fields": len(names)}
    sets = [file.create_dataset(name, (size, n), dtype=simulation.engine.real) for name, size in sizes.items()]
    targets = [(rows, k) for rows in sets for k in range(len(rows))]
    for (rows, k), row in zip(targets, _rows(simulation), strict=True):
        rows[k] = row
    _write_groups(file, PARTICLES, on_root(simulation.particles()))
    leaving = leaving_populations(simulation.engine, simulation.communicator)
    _write_groups(file, LINKS, {OPENINGS: leaving, WALLS: stress_record(simulation)})
    _write_groups(file, ACTIONS, simulation.engine.actions.record())
    feedback = simulation.engine.feedback
    file.attrs["step"], file.attrs["initial_mass"] = simulation.step_number, simulation.initial_mass
    file.attrs["feedback"] = json.dumps(feedback.record() if feedback else {})


def _write_groups(file: h5py.File, kind: str, found: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Arrays by name, of each group of a kind."""
    for name, arrays in found.items():
        group = file.create_group(f"{kind}/{name}")
        for key, values in arrays.items():
            group.create_dataset(key, data=values)


def _write_memory(file: h5py.File, name: str, record: Mapping) -> None:
    """What an observer remembers: arrays as datasets, the rest as JSON."""
    arrays = {key: value for key, value in record.items() if isinstance(value, np.ndarray)}
    for key, values in arrays.items():
        file.create_dataset(f"{OBSERVERS}/{name}/{key}", data=values)
    file.attrs[name] = json.dumps({key: value for key, value in record.items() if key not in arrays})


def _rows(simulation: Simulation) -> Iterator[np.ndarray | None]:
    """All rows of the state, on rank 0; collective."""
    yield from simulation.populations()
    for values in simulation.evolving().values():
        yield simulation.collect(values)


def keep_only(paths: Sequence[Path], folder: Path) -> None:
    """Remove the checkpoints that came before these, and what interrupted writes left in their folder.

    A later one was passed over: it may be whole, and unreadable for the moment only. Without ``paths``, remove all.
    """
    oldest = min((path.name for path in paths), default=None)
    with output_errors(folder):
        for other in folder.glob(LEFT_OVER):
            other.unlink()
        for other in folder.glob(PATTERN):
            if (oldest is None or other.name < oldest) and (other.is_file() or other.is_symlink()):
                other.unlink()


def restore(folder: Path, simulation: Simulation) -> Checkpoint:
    """Continue a simulation from the newest valid checkpoint of a folder; every rank reads its own nodes.

    Raises:
        InputError: there is no valid checkpoint, or it belongs to another geometry, lattice, streaming or precision, or
            to other units.
    """
    communicator = simulation.communicator
    checkpoint = communicator.broadcast(agreed_on_root(communicator, lambda: newest(folder)))
    path = checkpoint.path
    refusal = None
    if communicator.rank == 0:
        with _readable(path) as file:
            refusal = _refusal(checkpoint, file, simulation)
        if refusal is None:
            _tell_changes(checkpoint, simulation)
    if refusal := communicator.broadcast(refusal):
        raise InputError(refusal)
    with _readable(path) as file:
        populations, rows = (_columns(file[name], simulation.domain.number) for name in SETS)
        sets, actions, links = (_groups(file, kind) for kind in (PARTICLES, ACTIONS, LINKS))
    fields = dict(zip(simulation.engine.fields.evolving, rows, strict=True))
    simulation.restart_from(populations, checkpoint.step, checkpoint.initial_mass, fields)
    simulation.restart_others(checkpoint.feedback, sets, checkpoint.wall_forces)
    simulation.engine.actions.restore(actions)
    restore_leaving(simulation.engine, links.get(OPENINGS, {}))
    restore_stress(simulation, links.get(WALLS, {}))
    return checkpoint


def newest(folder: Path) -> Checkpoint:
    """The newest checkpoint of a folder that is as it was written; any other file is named in a warning and passed
    over.

    Raises:
        InputError: there is none, or the newest was written by another version of this program.
    """
    found = sorted(Path(folder).glob(PATTERN), reverse=True)
    for path in found:
        try:
            return _read(path)
        except InputError:
            raise
        except Exception as error:  # whatever a file holds, it must not keep a run from an older checkpoint
            LOG.warning("checkpoint %s is passed over: %s", path, error)
    raise InputError(
        f"{folder} holds no valid checkpoint ({len(found)} passed over); set output.checkpoint_every_steps, or stop the"
        " run with SIGUSR1, a wall_time or a STOP file, which all write one"
    )


def _read(path: Path) -> Checkpoint:
    try:
        version = version_of(path, KIND)
    except DamagedFileError:
        if _is_earlier(path):
            raise InputError(_other_version(path, "0.5 or earlier")) from None
        raise
    if version != VERSION:
        raise InputError(_other_version(path, f"with checkpoints of version {version} (this one: {VERSION})"))
    verify(path, KIND)
    with h5py.File(path, "r") as file:
        for name in SETS:
            _check_rows(file, name)
        attributes = dict(file.attrs)
        case = file["case"].asstr()[()]
        states = {name: json.loads(text) for name, text in attributes.items() if name not in OWN_ATTRIBUTES}
        for name, group in file[OBSERVERS].items() if OBSERVERS in file else ():
            states[name] |= {key: values[...] for key, values in group.items()}
    feedback, forces = (json.loads(attributes[name]) for name in ("feedback", "wall_forces"))
    return Checkpoint(path, int(attributes["step"]), float(attributes["initial_mass"]), feedback, forces, states, case)


def _check_rows(file: h5py.File, name: str) -> None:
    """Refuse rows that are not in the file itself, whole."""
    is_here = isinstance(file.get(name, getlink=True), h5py.HardLink)
    rows = file[name] if is_here else None
    if not isinstance(rows, h5py.Dataset) or rows.ndim != 2 or rows.dtype.kind != "f":
        raise ValueError(f"it has no rows of numbers {name!r}")
    if problem := elsewhere(rows) or oversized(rows, os.path.getsize(file.filename)):
        raise ValueError(f"its dataset {name!r} {problem}")


def _is_earlier(path: Path) -> bool:
    """Whether a file without a header begins as HDF5 files do: those of earlier releases did."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(8) == b"\x89HDF\r\n\x1a\n"


def _other_version(path: Path, which: str) -> str:
    return (
        f"checkpoint {path} was written by muphy_lb {which}; finish the run with that release, or move the file away to"
        " go on from an older one, or start anew with muphy-lb run"
    )


def _readable(path: Path) -> h5py.File:
    """A verified checkpoint, on any rank.

    Raises:
        InputError: this rank cannot read it.
    """
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise InputError(f"cannot read checkpoint {path}: {error}; every rank must see the output folder") from error


def _groups(file: h5py.File, kind: str) -> dict[str, dict[str, np.ndarray]]:
    """Arrays by name, of each group of a kind."""
    found = file[kind].items() if kind in file else ()
    return {name: {key: values[...] for key, values in group.items()} for name, group in found}


def _columns(dataset, number: np.ndarray) -> np.ndarray:
    """(Q, m) columns ``number`` of a (Q, n) dataset, of which one stretch of a row after the other is in memory."""
    columns = np.empty((dataset.shape[0], number.size), dataset.dtype)
    order = np.argsort(number, kind="stable")
    for first in range(0, dataset.shape[1], CHUNK):
        wanted = order[slice(*np.searchsorted(number, (first, first + CHUNK), sorter=order))]
        for q in range(dataset.shape[0]) if wanted.size else ():
            columns[q, wanted] = dataset[q, first : first + CHUNK][number[wanted] - first]
    return columns


def _identity(simulation: Simulation) -> dict:
    """What a state belongs to; on rank 0, which alone knows the geometry."""
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


def _refusal(checkpoint: Checkpoint, file: h5py.File, simulation: Simulation) -> str | None:
    """Why a checkpoint cannot be continued, if so."""
    path = checkpoint.path
    for name, expected in _identity(simulation).items():
        found = file.attrs.get(name)
        is_same = isclose(found, expected, rel_tol=SAME) if name in UNITS else found == expected
        if not is_same:
            return _another(name, found, expected, checkpoint, simulation)
    engine, n = simulation.engine, simulation.header.n_nodes
    shapes = {"populations": (simulation.lattice.q, n), "fields": (len(engine.fields.evolving), n)}
    for name, shape in shapes.items():
        if file[name].shape != shape or file[name].dtype != engine.real:
            return f"checkpoint {path} holds {name} of shape {file[name].shape}, this run needs {shape}; move it away"
    return None


def _another(name: str, found, expected, checkpoint: Checkpoint, simulation: Simulation) -> str:
    """The refusal of a state that belongs to something else, and the keys of the case that make the difference."""
    what, sections = BELONGS_TO[name]
    values = "" if name == GEOMETRY else f" ({_shown(found)}; this run: {_shown(expected)})"
    why = ", with which its numbers would mean other velocities and pressures" if name in UNITS else ""
    changes = listed(changed_keys(checkpoint.case, _case_text(checkpoint, simulation), sections))
    cause = changes or f"no key of {' or '.join(sections)} has changed, but perhaps a file that the case names"
    return (
        f"checkpoint {checkpoint.path} belongs to another {what}{values}{why}: {cause}; resume without that change, or"
        " start anew with muphy-lb run"
    )


def _shown(value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def _tell_changes(checkpoint: Checkpoint, simulation: Simulation) -> None:
    """Name the keys of the case that the checkpoint was written with other values of."""
    changes = changed_keys(checkpoint.case, _case_text(checkpoint, simulation))
    if changes:
        LOG.info("changed since the checkpoint: %s", listed(changes))


def _case_text(checkpoint: Checkpoint, simulation: Simulation) -> str:
    return simulation.case.to_toml(checkpoint.path.parent)
