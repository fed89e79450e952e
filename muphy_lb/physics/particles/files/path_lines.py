"""Path lines of chosen particles: read from their snapshots, written as polylines for ParaView.

Format: VTK file formats documentation, "VTKHDF File Format", version 2.0 (poly data). ParaView 5.12 or newer.
"""

import os
from dataclasses import dataclass

import h5py
import numpy as np
from numpy.typing import ArrayLike

from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.base.files.hdf5 import opened
from muphy_lb.geometry.limits import ask_for
from muphy_lb.output.polydata import Cells, append_part, create_parts, extent_of, write_rows
from muphy_lb.output.vtkhdf import create_growing, create_provenance, create_root


@dataclass(frozen=True, eq=False)
class Paths:
    """Where some particles were.

    Attributes:
        ids: (k,) int64.
        time_s: (t,) times, ascending [s].
        position_m: (t, k, 3) positions [m]; NaN where a particle was not there.
    """

    ids: np.ndarray
    time_s: np.ndarray
    position_m: np.ndarray


def read_paths(path: str | os.PathLike, ids: ArrayLike) -> Paths:
    """Paths of particles in the snapshots of a :class:`~muphy_lb.physics.particles.files.polydata.ParticleSeries`.

    Args:
        path: the file of snapshots.
        ids: the particles wanted, each once.

    Raises:
        GeometryError: the paths do not fit into memory.
        InputError: the file cannot be read, or one of the particles is in no snapshot or asked for twice.
    """
    wanted = np.asarray(ids, dtype=np.int64).reshape(-1)
    unique, count = np.unique(wanted, return_counts=True)
    if np.any(count > 1):
        raise InputError(f"path lines: particle {unique[count > 1][0]} is asked for twice; name each once")
    try:
        with h5py.File(path, "r") as file:
            paths = _read(file["VTKHDF"], wanted)
    except (OSError, KeyError) as error:
        raise InputError(f"cannot read the particles of {path}: {error}; name a file of snapshots of them") from error
    never = wanted[np.isnan(paths.position_m).all(axis=(0, 2))]
    if never.size:
        raise InputError(f"{path} has no particle {never[0]}; the ids of path lines must be among its particles")
    return paths


def write_path_lines(
    path: str | os.PathLike, paths: Paths, period_m: ArrayLike | None = None, case_text: str = ""
) -> None:
    """Write one polyline for each particle, with time and id at its points, into a ``.vtkhdf`` file.

    A line is broken where its particle was missing, and where it jumped across a periodic box.

    Args:
        path: the file; whole or not at all.
        paths: of the particles.
        period_m: (3,) lengths of the box along its periodic axes, infinity or 0 along the others; None if positions are
            unwrapped or nothing is periodic.
        case_text: stored in ``/muphy_lb/case``.

    Raises:
        OutputError: the file cannot be written.
    """
    n_times, n_paths = paths.position_m.shape[:2]
    position_m = paths.position_m.transpose(1, 0, 2)
    is_there = ~np.isnan(position_m).any(axis=2)
    cells = _polylines(is_there, _is_joined(position_m, is_there, period_m))
    fields = {
        "time": np.tile(np.asarray(paths.time_s, dtype=np.float64), n_paths)[is_there.ravel()],
        "id": np.repeat(np.asarray(paths.ids, dtype=np.int64), n_times)[is_there.ravel()],
    }
    points_m = position_m[is_there]
    with atomic_write(path) as temporary, opened(temporary, "w") as file:
        create_provenance(file, case_text)
        root = create_root(file, "PolyData")
        create_parts(root, len(points_m))
        append_part(root, extent_of(root, 0), len(points_m), {"Lines": cells})
        write_rows(root["Points"], 0, points_m)
        for name, values in fields.items():
            dataset = create_growing(root["PointData"], name, (), values.dtype, rows=root["Points"].chunks[0])
            dataset.attrs["unit"] = "s" if name == "time" else ""
            write_rows(dataset, 0, values)


def _read(root: h5py.Group, wanted: np.ndarray) -> Paths:
    """Look for the wanted particles in every snapshot."""
    steps = root["Steps"]
    n_steps = int(steps.attrs["NSteps"])
    ask_for(24 * n_steps * len(wanted), f"paths of {len(wanted)} particles", "choose fewer of them")
    position_m = np.full((n_steps, len(wanted), 3), np.nan)
    for k in range(n_steps):
        first = int(steps["PointOffsets"][k])
        end = first + int(root["NumberOfPoints"][int(steps["PartOffsets"][k])])
        ids = root["PointData/id"][first:end]
        _, row, column = np.intersect1d(ids, wanted, assume_unique=True, return_indices=True)
        position_m[k, column] = root["Points"][first:end][row]
    return Paths(wanted, steps["Values"][:n_steps], position_m)


def _is_joined(position_m: np.ndarray, is_there: np.ndarray, period_m: ArrayLike | None) -> np.ndarray:
    """(k, t - 1) whether a line leads from each position of a particle to its next."""
    is_joined = is_there[:, 1:] & is_there[:, :-1]
    if period_m is not None:
        period = np.asarray(period_m, dtype=np.float64)
        half = np.where(period > 0.0, 0.5 * period, np.inf)
        with np.errstate(invalid="ignore"):  # NaN where a particle is missing
            is_joined &= (np.abs(np.diff(position_m, axis=1)) <= half).all(axis=2)
    return is_joined


def _polylines(is_there: np.ndarray, is_joined: np.ndarray) -> Cells:
    """Polylines of two points or more through those points that are there, numbered particle by particle."""
    number = np.cumsum(is_there.ravel()).reshape(is_there.shape) - 1
    no_join = np.zeros((len(is_there), 1), dtype=bool)
    follows = np.concatenate([no_join, is_joined], axis=1)
    goes_on = np.concatenate([is_joined, no_join], axis=1)
    connectivity = number[follows | goes_on]
    is_first = (goes_on & ~follows)[follows | goes_on]
    return Cells(connectivity, np.append(np.flatnonzero(is_first), len(connectivity)))
