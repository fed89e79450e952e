"""The output folder of a run: its checkpoint files, its lock, and the early refusals of a resume.

The newest checkpoint of a folder is the last one that is as it was written: HDF5 reads no byte of a file whose seal
(:mod:`muphy_lb.base.files.sealed`) has not been verified, and no content is believed before its place, shape and type
are checked.
"""

import fcntl
import json
import logging
import os
import socket
import tomllib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.base.errors import InputError, OutputError
from muphy_lb.base.files import PREPARED
from muphy_lb.base.files.atomic import no_link, output_errors, refuse_linked_folder
from muphy_lb.base.files.hdf5_input import elsewhere, oversized
from muphy_lb.base.files.sealed import DamagedFileError, verify, version_of
from muphy_lb.case.case import Case
from muphy_lb.geometry.limits import shown
from muphy_lb.output.drawing import FRAMES_FOLDER

LOG = logging.getLogger(__name__)
KIND = "muphy_lb checkpoint"
VERSION = 7
PATTERN = "step_*.h5"  # names of checkpoints in their folder
SETS = ("populations", "fields")
PARTICLES, SUMS, OBSERVERS, ACTIONS, LINKS = "particles", "sums", "observers", "actions", "links"
OPENINGS, WALLS = "openings", "walls"
GEOMETRY = "voxel_digest"
UNITS = ("time_step_s", "spacing_m", "density_kg_m3")
IDENTITY = ("lattice", "streaming", "precision", "fields", "particles", GEOMETRY, *UNITS)
"""Attributes that say what a state belongs to."""

JSON_TABLES = ("feedback", "wall_forces")
TYPES = {
    **dict.fromkeys(IDENTITY, str),
    **dict.fromkeys(UNITS, Real),
    "step": Integral,
    "initial_mass": Real,
    **dict.fromkeys(JSON_TABLES, str),
}
"""Types of the attributes; all others are states of observers, as JSON."""

Expected = Mapping[str, tuple[tuple[int | None, ...], np.dtype]]
"""Shape (None: any number) and type of datasets by their place in the file; those of a group that have any number of
values have as many as each other."""


@dataclass(frozen=True)
class Checkpoint:
    """The header of a checkpoint: its ``path``, ``step``, ``initial_mass``, ``stride``, the states of conditions with
    ``feedback``, the records of ``wall_forces``, the ``states`` of observers by name, the text of its ``case``, and the
    ``identity`` of the flow that its state belongs to, by attribute."""

    path: Path
    step: int
    initial_mass: float
    stride: int
    feedback: dict[str, list[float]]
    wall_forces: dict[str, dict]
    states: dict[str, dict]
    case: str
    identity: dict[str, str | float]


def newest(
    folder: Path,
    check: Callable[[Checkpoint, h5py.File], None] = lambda _checkpoint, _file: None,
    tell: Callable[..., None] = LOG.warning,
) -> Checkpoint:
    """The newest checkpoint of a folder that is as it was written; any other file is named and passed over.

    Args:
        check: looks at each candidate, and raises an exception for one that is to be passed over, or an InputError.
        tell: a function of a logger, for what is skipped.

    Raises InputError: there is none, or the newest was written by another version of this program.
    """
    found, first = sorted(Path(folder).glob(PATTERN), reverse=True), None
    for path in found:
        try:
            return _read(path, check)
        except InputError:
            raise
        except Exception as error:  # whatever a file holds, it must not keep a run from an older checkpoint
            first = first or f", the newest since {error}"
            tell("checkpoint %s is skipped: %s", path, error)
    raise InputError(
        f"{folder} holds no valid checkpoint ({len(found)} skipped){first or ''}; set"
        " output.checkpoint_every_steps, or stop the run with SIGUSR1, a wall_time or a STOP file, which all write one"
    )


def check_datasets(file: h5py.File, expected: Expected) -> None:
    """Refuse a file that lacks a dataset, or holds one of another shape or type. Raises ValueError: the message names
    it."""
    lengths = defaultdict(set)
    for place, (shape, dtype) in expected.items():
        found = _dataset(file, place)
        fits = len(found.shape) == len(shape) and all(n in (m, None) for m, n in zip(found.shape, shape, strict=True))
        if found.dtype != dtype or not fits:
            asked = f"({', '.join('any' if n is None else str(n) for n in shape)})"
            raise ValueError(
                f"its dataset {place!r} has shape {found.shape} and type {found.dtype}, this run needs {asked} and"
                f" {dtype}"
            )
        if None in shape:
            lengths[place.rpartition("/")[0]].add(found.shape[shape.index(None)])
    for group, numbers in lengths.items():
        if len(numbers) > 1:
            raise ValueError(f"the datasets of its group {group!r} have different lengths: {sorted(numbers)}")


def check_numbers(file: h5py.File, place: str, count: int) -> None:
    """Refuse a dataset of numbers of nodes that are not ascending, or not among 0 ... ``count`` - 1. Raises ValueError:
    the message names it."""
    numbers = _dataset(file, place)[...]
    is_ascending = np.all(numbers[1:] > numbers[:-1])
    if not is_ascending or np.any(numbers < 0) or np.any(numbers >= count):
        raise ValueError(f"its dataset {place!r} does not hold ascending numbers from 0 to {count - 1}")


def groups(file: h5py.File, kind: str) -> dict[str, dict[str, np.ndarray]]:
    """Arrays by name, of each group of a kind."""
    found = file[kind].items() if kind in file else ()
    return {name: {key: values[...] for key, values in group.items()} for name, group in found}


def _read(path: Path, check: Callable[[Checkpoint, h5py.File], None]) -> Checkpoint:
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
        checkpoint = _described(path, file)
        check(checkpoint, file)
    return checkpoint


def _described(path: Path, file: h5py.File) -> Checkpoint:
    """The header of a sealed file; ValueError, LookupError or TypeError if it has none."""
    for name in SETS:
        rows = _dataset(file, name)
        if rows.ndim != 2 or rows.dtype.kind != "f":
            raise ValueError(f"it has no rows of numbers {name!r}")
    attributes = dict(file.attrs)
    stride = int(attributes.pop("stride", 1))  # earlier ones have none
    for name, kind in TYPES.items():
        if not isinstance(attributes.get(name), kind):
            raise ValueError(f"its attribute {name!r} is {attributes.get(name)!r}, and no {kind.__name__}")
    tables = {name: _table(name, text) for name, text in attributes.items() if name not in TYPES or name in JSON_TABLES}
    case = file["case"].asstr()[()]
    tomllib.loads(case)
    feedback, forces = (tables.pop(name) for name in JSON_TABLES)
    for name, arrays in groups(file, OBSERVERS).items():
        tables[name] = tables[name] | arrays
    identity = {name: float(attributes[name]) if name in UNITS else attributes[name] for name in IDENTITY}
    step, mass = int(attributes["step"]), float(attributes["initial_mass"])
    return Checkpoint(path, step, mass, stride, feedback, forces, tables, case, identity)


def _table(name: str, text: str) -> dict:
    table = json.loads(text)
    if not isinstance(table, dict):
        raise ValueError(f"its attribute {name!r} is not a table")
    return table


def _dataset(file: h5py.File, place: str) -> h5py.Dataset:
    """A dataset of numbers that lies in the file itself, whole."""
    parts = place.split("/")
    links = (file.get("/".join(parts[: k + 1]), getlink=True) for k in range(len(parts)))
    is_here = all(isinstance(link, h5py.HardLink) for link in links)
    values = file[place] if is_here else None
    if not isinstance(values, h5py.Dataset) or values.shape is None:
        raise ValueError(f"it has no dataset {place!r}")
    if problem := elsewhere(values) or oversized(values, os.path.getsize(file.filename)):
        raise ValueError(f"its dataset {place!r} {problem}")
    return values


def _is_earlier(path: Path) -> bool:
    """Whether a file without a header begins as HDF5 files do: those of earlier releases did."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(8) == b"\x89HDF\r\n\x1a\n"


def _other_version(path: Path, which: str) -> str:
    return (
        f"checkpoint {path} was written by muphy_lb {which}; finish the run with that release, or move the file away to"
        " continue from an older one, or start again with muphy-lb run"
    )


CASE_FILE = "case.toml"
SUMMARY_FILE = "summary.json"
CHECKPOINTS = "checkpoints"
KEPT_S = 600.0  # wall time from which on the results of a run are not replaced unasked
READING = ("unit", "spacing_m", "keep", "options")
"""How the file of a geometry is read; another file may need other values for the same voxels."""

BELONGING = {
    **{("geometry", key): "geometry" for key in ("shape", "periodic", *READING)},
    ("lattice", "name"): "lattice",
    ("compute", "precision"): "precision",
    ("compute", "streaming"): "streaming",
}
"""The flow that a state belongs to, by section and key: with other values, its numbers are those of another flow."""


def results_of_hours(folder: Path) -> str | None:
    """In words, the results in a folder of a run so long that no mistake may replace them; None if there
    are none."""
    try:
        took_s = float(json.loads((folder / SUMMARY_FILE).read_text(encoding="utf-8"))["wall_time_s"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return f"the results of a run that took {took_s / 60.0:,.0f} min" if took_s >= KEPT_S else None


def refuse_to_resume_nothing(folder: Path) -> None:
    """Refuse a folder without checkpoints. Raises InputError: it is none of a run, or the run left no checkpoint."""
    if not folder.is_dir():
        raise InputError(f"{shown(str(folder))} is not a folder; give the output folder of the run to continue")
    if not (folder / CASE_FILE).is_file():
        raise InputError(f"{folder} is not the output folder of a run: it has no {CASE_FILE}; give that of the run")
    if not any((folder / CHECKPOINTS).glob(PATTERN)):
        raise InputError(
            f"{folder} holds no checkpoint to continue from; start again with muphy-lb run, and set"
            " output.checkpoint_every_steps, or stop the run with Ctrl-C, SIGUSR1, a wall_time or a STOP file, which"
            " all write one"
        )


def refuse_missing_files(case: Case, remedy: Callable[[Sequence[str]], str]) -> None:
    """Refuse to continue with a case that names files which are not there, as after a move of its folder. ``remedy``:
    the command or call that takes changes of keys. Raises InputError: the message names the keys."""
    missing = {key: path for key, path in case.files.items() if not path.exists()}
    if not missing:
        return
    there = ", ".join(f"{key} = {shown(str(path))}" for key, path in missing.items())
    unnamed = [key for key in missing if "[" in key]
    # What the flow started from is needed no more.
    changes = [
        "initial=" if key.startswith("initial.") else f"{key}=/path/to/{path.name}"
        for key, path in missing.items()
        if key not in unnamed
    ]
    remedies = [remedy(list(dict.fromkeys(changes)))] if changes else []
    remedies += [f"change {key} in {case.folder / CASE_FILE}" for key in unnamed]
    raise InputError(
        f"files of the case are not there: {there}; if the folder or the files were moved, say where they are:"
        f" {', and '.join(remedies)}"
    )


def refuse_to_resume_other(folder: Path, case: Case) -> Checkpoint:
    """The newest whole checkpoint of a folder, which a case may continue as far as its keys say. Raises InputError: a
    key has another value, or there is no whole checkpoint."""
    found = newest(folder / CHECKPOINTS, tell=LOG.debug)  # reading its state reports those that are skipped
    old, new = (tomllib.loads(text) for text in (found.case, case.to_toml(folder / CHECKPOINTS)))
    left_to_voxels = _left_to_voxels(old, new)
    for (section, key), what in BELONGING.items():
        then, now = (_text(table.get(section, {}).get(key)) for table in (old, new))
        if then != now and key not in left_to_voxels:
            values = "" if what == "geometry" else f" ({then}; this run: {now})"
            raise InputError(
                f"checkpoint {found.path} belongs to another {what}{values}: {section}.{key} was {then}, is {now};"
                " resume without that change, or start again with muphy-lb run"
            )
    return found


def _left_to_voxels(old: dict, new: dict) -> tuple[str, ...]:
    """The keys of the geometry that say nothing of two cases with files of different names."""
    names = [Path(table["geometry"].get("file", "")) for table in (old, new)]
    if names[0].name == names[1].name:
        return ()
    return (*READING, "periodic") if any(name.suffix == PREPARED for name in names) else READING


def _text(value) -> str:
    return "not set" if value is None else shown(value)


LOCK_FILE = ".lock"
OWN_FOLDERS = (CHECKPOINTS, FRAMES_FOLDER)  # folders in an output folder


class FolderLock:
    """Held on a folder from the making of the object until :meth:`release`, or until the process ends in any way.
    Raises OutputError: another process holds the lock, the folder cannot be written, or the lock or a folder that a run
    makes in it is a symbolic link."""

    def __init__(self, folder: Path):
        path, own = Path(folder) / LOCK_FILE, f"process {os.getpid()} on {socket.gethostname()}"
        for name in OWN_FOLDERS:
            refuse_linked_folder(Path(folder) / name)
        with output_errors(path):
            self._file = open(path, "a+", encoding="utf-8", opener=no_link)  # open for as long as the lock is held
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            holder = self._file.read(200).strip() or "another process"
            holder = "another run of this process" if holder == own else holder
            self._file.close()
            raise OutputError(
                f"{folder} is in use by {holder}; wait for that run, stop it, or choose another output folder with -o"
            ) from None
        except OSError as error:  # some network file systems have no locks
            LOG.warning("%s cannot be locked (%s): make sure that no other run writes there", folder, error.strerror)
            return
        self._file.truncate(0)
        self._file.write(f"{own}\n")
        self._file.flush()

    def release(self) -> None:
        """Let others have the folder."""
        self._file.close()
