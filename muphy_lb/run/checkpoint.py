"""Checkpoints: HDF5 files that any number of ranks can continue from, bit for bit.

Layout (version 4): dataset ``populations`` (Q, n) in node-list order, one row per direction, deviations from w_q in the
form that the streaming stores; dataset ``fields`` (F, n), one row per field that is part of the state; attributes
version, step, initial_mass, lattice, streaming, precision, fields (names), voxel_digest and case (TOML), one for each
observer with a memory (JSON), such as watch, what the steady-state criterion remembers, and checksum: CRC-32 (zlib's)
of the other attributes and the rows, so that a file that a crash or a disk has damaged is not continued from.
"""

import json
import logging
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.errors import InputError
from muphy_lb.files.atomic import atomic_write, output_errors
from muphy_lb.files.hdf5 import opened
from muphy_lb.run.simulation import Simulation

LOG = logging.getLogger(__name__)
VERSION = 4
PATTERN = "step_*.h5"
LEFT_OVER = ".step_*.tmp"
DAMAGE = (OSError, KeyError, RuntimeError, TypeError, ValueError)  # what HDF5 raises of files that are not whole
SETS = ("populations", "fields")
IDENTITY = ("version", "lattice", "streaming", "precision", "fields", "voxel_digest")
OWN_ATTRIBUTES = {*IDENTITY, "step", "initial_mass", "case", "checksum"}  # the others are states of observers
CHUNK = 1 << 20  # values of a row read at once


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint says of itself: its ``path``, ``step``, ``initial_mass`` and the ``states`` of observers by
    name."""

    path: Path
    step: int
    initial_mass: float
    states: dict[str, dict]


def checkpoint_path(folder: Path, step: int) -> Path:
    """The file that holds the state after ``step`` steps."""
    return folder / f"step_{step:012d}.h5"


def write_checkpoint(path: Path, simulation: Simulation, states: Mapping[str, dict]) -> None:
    """Write the state of a simulation, and that of observers by name; collective.

    Raises:
        OutputError: the disk refuses; earlier checkpoints stay.
    """
    if simulation.communicator.rank:
        for _ in _rows(simulation):
            pass
        return
    with output_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as temporary, opened(temporary, "w") as file:
        n, names = simulation.outline.n_nodes, simulation.engine.fields.evolving
        sizes = {"populations": simulation.lattice.q, "fields": len(names)}
        sets = [file.create_dataset(name, (size, n), dtype=simulation.engine.real) for name, size in sizes.items()]
        state = {"step": simulation.step_number, "initial_mass": simulation.initial_mass}
        memory = {name: json.dumps(record) for name, record in states.items()}
        file.attrs.update(_identity(simulation) | state | memory | {"case": simulation.case.to_toml(path.parent)})
        checksum = _checksum(file.attrs, sets)
        places = [(rows, k) for rows in sets for k in range(len(rows))]
        for (rows, k), row in zip(places, _rows(simulation), strict=True):
            rows[k] = row
            checksum = zlib.crc32(np.ascontiguousarray(row, rows.dtype), checksum)
        file.attrs["checksum"] = checksum


def _rows(simulation: Simulation):
    """All rows of the state, on rank 0; collective."""
    yield from simulation.populations()
    for values in simulation.evolving().values():
        yield simulation.collect(values)


def keep_only(paths: Sequence[Path], folder: Path) -> None:
    """Remove all other checkpoints of a folder, and what interrupted writes left there."""
    with output_errors(folder):
        for other in {*folder.glob(PATTERN), *folder.glob(LEFT_OVER)} - set(paths):
            other.unlink()


def restore(folder: Path, simulation: Simulation) -> Checkpoint:
    """Continue a simulation from the newest valid checkpoint of a folder; every rank reads its own nodes.

    Raises:
        InputError: there is no valid checkpoint, or it belongs to another geometry, lattice, streaming or precision.
    """
    communicator = simulation.communicator
    checkpoint = communicator.broadcast(newest(folder) if communicator.rank == 0 else None)
    with h5py.File(checkpoint.path, "r") as file:
        refusal = _refusal(checkpoint.path, dict(file.attrs), simulation) if communicator.rank == 0 else None
        if refusal := communicator.broadcast(refusal):
            raise InputError(refusal)
        populations, rows = (_columns(file[name], simulation.domain.number) for name in SETS)
    fields = dict(zip(simulation.engine.fields.evolving, rows, strict=True))
    simulation.restart_from(populations, checkpoint.step, checkpoint.initial_mass, fields)
    return checkpoint


def newest(folder: Path) -> Checkpoint:
    """The newest checkpoint of a folder that is as it was written; a damaged one is told of and passed over.

    Raises:
        InputError: there is none.
    """
    found = sorted(Path(folder).glob(PATTERN), reverse=True)
    for path in found:
        try:
            return _read(path)
        except DAMAGE as error:
            LOG.warning("checkpoint %s is passed over: %s", path, error)
    raise InputError(
        f"{folder} holds no valid checkpoint ({len(found)} passed over); set output.checkpoint_every_steps, or stop the"
        " run with SIGUSR1, a wall_time or a STOP file, which all write one"
    )


def _read(path: Path) -> Checkpoint:
    with h5py.File(path, "r") as file:
        attributes = dict(file.attrs)
        if attributes["version"] != VERSION:
            raise ValueError(f"it has version {attributes['version']}, this program reads {VERSION}")
        sets = [file[name] for name in SETS]
        checksum = _checksum(attributes, sets)
        for piece in chain.from_iterable(map(_pieces, sets)):
            checksum = zlib.crc32(piece, checksum)
    if checksum != attributes["checksum"]:
        raise ValueError("it is damaged, its checksum does not match")
    states = {name: json.loads(text) for name, text in attributes.items() if name not in OWN_ATTRIBUTES}
    return Checkpoint(path, int(attributes["step"]), float(attributes["initial_mass"]), states)


def _pieces(rows):
    """The values of a dataset, row after row, a stretch at a time."""
    for row, first in product(range(rows.shape[0]), range(0, rows.shape[1], CHUNK)):
        yield rows[row, first : first + CHUNK]


def _checksum(attributes, sets) -> int:
    """CRC-32 of all that a checkpoint says beside the values of its rows, as HDF5 gives it back."""
    said = sorted((name, str(value)) for name, value in attributes.items() if name != "checksum")
    return zlib.crc32(repr((said, *((rows.shape, rows.dtype.str) for rows in sets))).encode())


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
    values = (
        VERSION,
        simulation.lattice.name,
        simulation.engine.model.streaming.name,
        simulation.case.compute.precision,
        ", ".join(simulation.engine.fields.evolving),
        simulation.geometry.voxel_digest,
    )
    return dict(zip(IDENTITY, values, strict=True))


def _refusal(path: Path, found: dict, simulation: Simulation) -> str | None:
    """Why a checkpoint cannot be continued, if so; on rank 0, which alone knows the geometry."""
    for name, expected in _identity(simulation).items():
        if found.get(name) != expected:
            return (
                f"checkpoint {path} has {name} = {found.get(name)}, this run has {expected};"
                " resume with the case that wrote it"
            )
    return None
