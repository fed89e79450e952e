"""Checkpoints: HDF5 files that any number of ranks can continue from, bit for bit.

Layout (version 1): dataset ``populations`` (Q, n) in node-list order, one row per direction, deviations from w_q in the
form that the streaming stores; attributes version, step, initial_mass, lattice, streaming, precision, voxel_digest and
case (TOML) and watch (what the steady-state criterion remembers, JSON).
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.errors import InputError
from muphy_lb.output.atomic import atomic_write, output_errors
from muphy_lb.output.hdf5 import opened

VERSION = 2
PATTERN = "step_*.h5"
LEFT_OVER = ".step_*.tmp"


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint says of itself: its ``path``, ``step``, ``initial_mass`` and the ``watch`` record."""

    path: Path
    step: int
    initial_mass: float
    watch: dict


def checkpoint_path(folder: Path, step: int) -> Path:
    """The file that holds the state after ``step`` steps."""
    return folder / f"step_{step:012d}.h5"


def write_checkpoint(path: Path, simulation, watch: dict) -> None:
    """Write the state of a simulation; collective.

    Raises:
        OutputError: the disk refuses; earlier checkpoints stay.
    """
    if simulation.communicator.rank:
        for _ in simulation.populations():
            pass
        return
    with output_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as temporary, opened(temporary, "w") as file:
        shape = (simulation.lattice.q, simulation.nodes.n_nodes)
        rows = file.create_dataset("populations", shape, dtype=simulation.engine.real)
        for q, row in enumerate(simulation.populations()):
            rows[q] = row
        file.attrs.update(_identity(simulation))
        file.attrs.update(
            {"step": simulation.step_number, "initial_mass": simulation.initial_mass, "watch": json.dumps(watch)}
        )
        file.attrs["case"] = simulation.case.to_toml(path.parent)


def keep_only(paths: Sequence[Path], folder: Path) -> None:
    """Remove all other checkpoints of a folder, and what interrupted writes left there."""
    with output_errors(folder):
        for other in {*folder.glob(PATTERN), *folder.glob(LEFT_OVER)} - set(paths):
            other.unlink()


def restore(folder: Path, simulation) -> Checkpoint:
    """Continue a simulation from the newest valid checkpoint of a folder; every rank reads its own nodes.

    Raises:
        InputError: there is no valid checkpoint, or it belongs to another geometry, lattice, streaming or precision.
    """
    communicator = simulation.communicator
    checkpoint = communicator.broadcast(newest(folder) if communicator.rank == 0 else None)
    with h5py.File(checkpoint.path, "r") as file:
        _check_identity(checkpoint.path, dict(file.attrs), simulation)
        rows = [row[simulation.domain.number] for row in _rows(file["populations"])]
    simulation.restart_from(np.stack(rows), checkpoint.step, checkpoint.initial_mass)
    return checkpoint


def newest(folder: Path) -> Checkpoint:
    """The newest checkpoint of a folder that can be read whole.

    Raises:
        InputError: there is none.
    """
    found = sorted(Path(folder).glob(PATTERN), reverse=True)
    for path in found:
        checkpoint = _read(path)
        if checkpoint:
            return checkpoint
    raise InputError(
        f"{folder} holds no valid checkpoint ({len(found)} unreadable); set output.checkpoint_every_steps, or stop the"
        " run with SIGUSR1, a wall_time or a STOP file, which all write one"
    )


def _read(path: Path) -> Checkpoint | None:
    try:
        with h5py.File(path, "r") as file:
            if file.attrs["version"] != VERSION or "populations" not in file:
                return None
            attributes = file.attrs
            watch = json.loads(attributes["watch"])
            return Checkpoint(path, int(attributes["step"]), float(attributes["initial_mass"]), watch)
    except (OSError, KeyError, ValueError):
        return None


def _rows(dataset):
    return (dataset[q] for q in range(dataset.shape[0]))


def _identity(simulation) -> dict:
    return {
        "version": VERSION,
        "lattice": simulation.lattice.name,
        "streaming": simulation.engine.model.streaming,
        "precision": simulation.case.compute.precision,
        "voxel_digest": hashlib.sha256(simulation.nodes.voxel.tobytes()).hexdigest(),
    }


def _check_identity(path: Path, found: dict, simulation) -> None:
    for name, expected in _identity(simulation).items():
        if found.get(name) != expected:
            raise InputError(
                f"checkpoint {path} has {name} = {found.get(name)}, this run has {expected};"
                " resume with the case that wrote it"
            )
