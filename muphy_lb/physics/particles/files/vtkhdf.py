"""Particles over time for ParaView: their snapshots, and path lines of chosen ones, which are read from these. Format:
VTK file formats documentation, "VTKHDF File Format", version 2.0 (poly data). ParaView 5.12 or newer."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import h5py
import numpy as np
from numpy.typing import ArrayLike

from muphy_lb.base.errors import InputError, OutputError
from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.base.files.hdf5 import opened
from muphy_lb.geometry.limits import ask_for
from muphy_lb.output.polydata import (
    Cells,
    PolyData,
    PolyDataSeries,
    append_part,
    cells_of,
    create_parts,
    extent_of,
    write_rows,
)
from muphy_lb.output.vtkhdf import create_growing, create_provenance, create_root
from muphy_lb.physics.particles.files.table import Snapshot

OWN_FIELDS = ("id", "velocity", "kind")


@dataclass(frozen=True)
class ParticleSeries:
    """One ``.vtkhdf`` file with all snapshots of a set of particles; closed, hence readable, between two appends.

    Points carry id, velocity, the number of the kind, and the further scalars of the snapshots. Cells are written again
    only when the number of particles or the bonds change. The file comes into being with its first snapshot.

    Raises OutputError: the file cannot be written, or holds other particles when resuming.
    """

    path: str | os.PathLike  #: the file
    kinds: Sequence[str] = ()  #: name of each kind, stored beside the numbers
    case_text: str = ""  #: stored in ``/muphy_lb/case``
    #: unit of each further scalar by name, stored as attribute ``unit``
    units: Mapping[str, str] = field(default_factory=dict)
    compress: bool = False  #: gzip the points, the cells and their fields
    #: None begins a new file; a number keeps the snapshots of an existing file up to that step. A file that cannot
    #: be read is renamed ``NAME.damaged`` then.
    resume_step: int | None = None
    _series: PolyDataSeries = field(init=False)

    def __post_init__(self):
        units, labels = {**self.units, "velocity": "m/s"}, {"kinds": self.kinds}
        series = PolyDataSeries(self.path, self.case_text, units, labels, self.compress, self.resume_step)
        object.__setattr__(self, "_series", series)

    @property
    def last_step(self) -> int | None:
        """Step of the last snapshot that was kept; None without one."""
        return self._series.last_step

    def append(self, snapshot: Snapshot) -> None:
        """Add one snapshot. Every snapshot has the same fields; the number of particles and the bonds may change.
        Raises OutputError: a field has another shape or was not in the first snapshot, or the disk refuses."""
        n, shape = len(snapshot.id), np.shape(snapshot.position_m)
        if shape != (n, 3):
            raise OutputError(f"{self.path}: 'positions' has shape {shape}; allowed are ({n}, 3) for {n} particles")
        vertices = cells_of(np.arange(n)[:, None])
        cells = {"Vertices": vertices, "Lines": cells_of(bond_rows(snapshot))}
        data = PolyData(snapshot.step, snapshot.time_s, snapshot.position_m, cells, self._fields(snapshot))
        self._series.append(data)

    def _fields(self, snapshot: Snapshot) -> dict[str, np.ndarray]:
        given = {"id": snapshot.id, "velocity": snapshot.velocity_m_s, "kind": snapshot.kind}
        fields = {name: np.asarray(values) for name, values in given.items() if values is not None}
        for name, values in snapshot.scalars.items():
            if name in OWN_FIELDS or not name or set(name) & set("/."):
                raise OutputError(
                    f"{self.path}: a scalar is named {name!r}; allowed are names without / and ., other than"
                    f" {', '.join(OWN_FIELDS)}"
                )
            fields[name] = np.asarray(values)
        return fields


def bond_rows(snapshot: Snapshot) -> np.ndarray:
    """(m, 2) rows of the particles that each bond joins; bonds of particles that are not there are left out."""
    ids, bonds = np.asarray(snapshot.id), np.asarray(snapshot.bonds).reshape(-1, 2)
    if not ids.size or not bonds.size:
        return np.empty((0, 2), dtype=np.int64)
    order = np.argsort(ids)
    rows = order[np.minimum(np.searchsorted(ids[order], bonds), len(ids) - 1)]
    return rows[(ids[rows] == bonds).all(axis=1)]


@dataclass(frozen=True, eq=False)
class Paths:
    """Positions of some particles over time."""

    ids: np.ndarray  #: (k,) int64
    time_s: np.ndarray  #: (t,) times, ascending [s]
    position_m: np.ndarray  #: (t, k, 3) positions [m]; NaN where a particle was not there


def read_paths(path: str | os.PathLike, ids: ArrayLike) -> Paths:
    """Paths of particles in the snapshots of a :class:`ParticleSeries`. ``path``: the file of snapshots; ``ids``: the
    particles wanted, each once. Raises GeometryError: the paths do not fit into memory; InputError: the file cannot be
    read, or one of the particles is in no snapshot or asked for twice."""
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

    Raises OutputError: the file cannot be written.
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
