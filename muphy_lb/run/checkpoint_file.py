"""What a checkpoint file holds, and the newest one of a folder that is as it was written.

HDF5 looks at no byte of a file whose seal (:mod:`muphy_lb.base.files.sealed`) has not been verified, and nothing that a
sealed file holds is believed before its place, shape and type are checked.
"""

import json
import logging
import os
import tomllib
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.files.hdf5_input import elsewhere, oversized
from muphy_lb.base.files.sealed import DamagedFileError, verify, version_of

LOG = logging.getLogger(__name__)
KIND = "muphy_lb checkpoint"
VERSION = 7
PATTERN = "step_*.h5"
"""Names of checkpoints in their folder."""

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
    """What a checkpoint says of itself: its ``path``, ``step``, ``initial_mass``, the states of conditions with
    ``feedback``, the records of ``wall_forces``, the ``states`` of observers by name, the text of its ``case``, and the
    ``identity`` of what its state belongs to, by attribute."""

    path: Path
    step: int
    initial_mass: float
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
        folder: of the checkpoints.
        check: looks at each candidate, and raises an exception for one that is to be passed over, or an InputError.
        tell: a function of a logger, for what is passed over.

    Raises:
        InputError: there is none, or the newest was written by another version of this program.
    """
    found, first = sorted(Path(folder).glob(PATTERN), reverse=True), None
    for path in found:
        try:
            return _read(path, check)
        except InputError:
            raise
        except Exception as error:  # whatever a file holds, it must not keep a run from an older checkpoint
            first = first or f", the newest since {error}"
            tell("checkpoint %s is passed over: %s", path, error)
    raise InputError(
        f"{folder} holds no valid checkpoint ({len(found)} passed over){first or ''}; set"
        " output.checkpoint_every_steps, or stop the run with SIGUSR1, a wall_time or a STOP file, which all write one"
    )


def check_datasets(file: h5py.File, expected: Expected) -> None:
    """Refuse a file that lacks a dataset, or holds one of another shape or type.

    Raises:
        ValueError: the message names it.
    """
    lengths = defaultdict(set)
    for place, (shape, dtype) in expected.items():
        found = _dataset(file, place)
        if found.dtype != dtype or not _fits(found.shape, shape):
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
    """Refuse a dataset of numbers of nodes that are not ascending, or not among 0 ... ``count`` - 1.

    Raises:
        ValueError: the message names it.
    """
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
    """What a sealed file says of itself.

    Raises:
        ValueError, LookupError, TypeError: it does not say that.
    """
    for name in SETS:
        rows = _dataset(file, name)
        if rows.ndim != 2 or rows.dtype.kind != "f":
            raise ValueError(f"it has no rows of numbers {name!r}")
    attributes = dict(file.attrs)
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
    return Checkpoint(path, step, mass, feedback, forces, tables, case, identity)


def _table(name: str, text: str) -> dict:
    """An attribute of JSON that is a table."""
    table = json.loads(text)
    if not isinstance(table, dict):
        raise ValueError(f"its attribute {name!r} is no table")
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


def _fits(found: tuple[int, ...], asked: tuple[int | None, ...]) -> bool:
    return len(found) == len(asked) and all(b in (a, None) for a, b in zip(found, asked, strict=True))


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
