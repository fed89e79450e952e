"""Particles over time for ParaView: VTKHDF 2.0, poly data with a vertex for each particle and a line for each bond.

Format: VTK file formats documentation, "VTKHDF File Format", version 2.0 (temporal poly data). ParaView 5.12 or newer.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.errors import OutputError
from muphy_lb.files.atomic import atomic_write, check_writable, output_errors, reserve_space
from muphy_lb.files.hdf5 import opened
from muphy_lb.output.vtkhdf_tables import (
    TABLE_BYTES,
    Kept,
    check_same_fields,
    chunk_rows,
    continued,
    create_growing,
    create_provenance,
    create_root,
    create_steps,
    set_row,
    steps_until,
)
from muphy_lb.physics.particles.files.polydata_parts import (
    LEAST_CHUNK_ROWS,
    Cells,
    append_part,
    create_parts,
    extent_of,
    last_part_is,
    lines,
    part_lengths,
    vertices,
    write_rows,
)
from muphy_lb.physics.particles.files.snapshot import Snapshot

OWN_FIELDS = ("id", "velocity", "kind")
OFFSETS = {"PartOffsets": (), "PointOffsets": (), "CellOffsets": (4,), "ConnectivityIdOffsets": (4,)}
"""Tables that say where a time step begins, with the shape of a row."""

BYTES_PER_CELL = 48
"""What a vertex or a line takes at most: its offset, its points, the table of its part."""


@dataclass(frozen=True)
class PolyDataSeries:
    """One ``.vtkhdf`` file with all snapshots of a set of particles; closed, hence readable, between two appends.

    Points carry id, velocity, the number of the kind, and the further scalars of the snapshots. Cells are written again
    only when the number of particles or the bonds change. The file comes into being with its first snapshot.

    Attributes:
        path: the file.
        kinds: name of each kind, stored beside the numbers.
        case_text: stored in ``/muphy_lb/case``.
        units: unit of each further scalar by name, stored as attribute ``unit``.
        compress: gzip the points, the cells and their fields.
        resume_step: None starts the file anew; a number keeps the snapshots of an existing file up to that step. A file
            that cannot be read is renamed ``NAME.damaged`` then.
        last_step: step of the last snapshot that was kept; None without one.

    Raises:
        OutputError: the file cannot be written, or holds other particles when resuming.
    """

    path: str | os.PathLike
    kinds: Sequence[str] = ()
    case_text: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    compress: bool = False
    resume_step: int | None = None
    last_step: int | None = field(default=None, init=False)

    def __post_init__(self):
        path = Path(self.path)
        if self.resume_step is not None and path.exists():
            object.__setattr__(self, "last_step", continued(path, partial(self._kept, self.resume_step)))
        if self.last_step is None:
            with output_errors(path):
                path.unlink(missing_ok=True)
                check_writable(path.parent)

    def append(self, snapshot: Snapshot) -> None:
        """Add one snapshot. Every snapshot has the same fields; the number of particles and the bonds may change.

        Raises:
            OutputError: a field has another shape or was not in the first snapshot, or the disk refuses.
        """
        fields, bonds = self._fields(snapshot), lines(bond_rows(snapshot))
        n_bytes = sum(values.nbytes for values in fields.values()) + 24 * len(snapshot.id)
        if not Path(self.path).exists():
            self._create(snapshot, fields, bonds)
            return
        reserve_space(self.path, TABLE_BYTES + n_bytes + BYTES_PER_CELL * (len(snapshot.id) + bonds.n_cells))
        with output_errors(self.path), opened(self.path) as file:
            if file["VTKHDF/Steps"].attrs["NSteps"] > 0:
                check_same_fields(self.path, file["VTKHDF/PointData"], fields)
            self._append(file, snapshot, fields, bonds)

    def _create(self, snapshot: Snapshot, fields: Mapping[str, np.ndarray], bonds: Cells) -> None:
        """Write empty tables and the first snapshot, whole or not at all."""
        with atomic_write(self.path) as temporary, opened(temporary, "w") as file:
            create_provenance(file, self.case_text).attrs["kinds"] = list(self.kinds) or h5py.Empty("S1")
            root = create_root(file, "PolyData")
            create_parts(root, len(snapshot.id), self._compression)
            steps = create_steps(root)
            for name, width in OFFSETS.items():
                create_growing(steps, name, width, np.int64)
            steps.create_group("PointDataOffsets")
            for name, values in fields.items():
                self._create_field(root, name, values)
            self._append(file, snapshot, fields, bonds)

    def _create_field(self, root: h5py.Group, name: str, values: np.ndarray) -> None:
        """Create an empty growing field of points and its table of offsets."""
        options = {"rows": max(LEAST_CHUNK_ROWS, chunk_rows(len(values))), "compression": self._compression}
        dataset = create_growing(root["PointData"], name, values.shape[1:], values.dtype, **options)
        dataset.attrs["unit"] = {"velocity": "m/s"}.get(name, self.units.get(name, ""))
        create_growing(root["Steps/PointDataOffsets"], name, (), np.int64)

    def _append(self, file: h5py.File, snapshot: Snapshot, fields: Mapping[str, np.ndarray], bonds: Cells) -> None:
        root, n_points = file["VTKHDF"], len(snapshot.id)
        extent = extent_of(root, int(root["Steps"].attrs["NSteps"]))
        row = {"Values": snapshot.time_s, "NumberOfParts": 1, "PointOffsets": extent.n_points}
        if last_part_is(root, extent, n_points, bonds):
            shared = {name: root["Steps"][name][extent.n_steps - 1] for name in OFFSETS if name != "PointOffsets"}
        else:
            append_part(root, extent, n_points, {"Vertices": vertices(n_points), "Lines": bonds})
            shared = {
                "PartOffsets": extent.n_parts,
                "CellOffsets": extent.offset_rows - extent.n_parts,
                "ConnectivityIdOffsets": extent.connectivity_rows,
            }
        write_rows(root["Points"], extent.n_points, snapshot.position_m)
        for name, values in fields.items():
            write_rows(root["PointData"][name], extent.n_points, values)
        # raw values reach the disk before the step table names them: a crash in between costs this snapshot only
        file.flush()
        row |= shared | {f"PointDataOffsets/{name}": extent.n_points for name in fields}
        for name, value in row.items():
            set_row(root["Steps"][name], extent.n_steps, value)
        set_row(file["muphy_lb/step"], extent.n_steps, snapshot.step)
        root["Steps"].attrs["NSteps"] = np.int64(extent.n_steps + 1)

    def _fields(self, snapshot: Snapshot) -> dict[str, np.ndarray]:
        """The fields of the points by name: whole numbers as int64, others as float32."""
        given = {"id": snapshot.id, "velocity": snapshot.velocity_m_s, "kind": snapshot.kind}
        fields = {name: np.asarray(values) for name, values in given.items() if values is not None}
        for name, values in snapshot.scalars.items():
            if name in OWN_FIELDS or not name or set(name) & set("/."):
                raise OutputError(
                    f"{self.path}: a scalar is named {name!r}; allowed are names without / and ., other than"
                    f" {', '.join(OWN_FIELDS)}"
                )
            fields[name] = np.asarray(values)
        n = len(fields["id"])
        for name, values in ({"positions": np.asarray(snapshot.position_m)} | fields).items():
            if values.shape not in ((n,), (n, 3)) or (name == "positions" and values.ndim == 1):
                raise OutputError(
                    f"{self.path}: {name!r} has shape {values.shape}; allowed are ({n},) and ({n}, 3) for {n} particles"
                )
        return {name: _stored(values) for name, values in fields.items()}

    def _kept(self, resume_step: int, file: h5py.File) -> Kept:
        """What is kept of an existing file: the snapshots up to a step."""
        if "muphy_lb" not in file or file["VTKHDF"].attrs["Type"] != b"PolyData":
            raise OutputError(f"cannot continue {self.path}: this solver did not write it; move the file away")
        own, root = file["muphy_lb"], file["VTKHDF"]
        kinds = own.attrs["kinds"]
        kinds = [] if isinstance(kinds, h5py.Empty) else list(kinds)
        if kinds != list(self.kinds):
            raise OutputError(
                f"cannot continue {self.path}: its kinds of particles are {kinds}, those of this run"
                f" {list(self.kinds)}; move the file away"
            )
        n_steps, last_step = steps_until(file, resume_step)
        steps = root["Steps"]
        tables = [steps[name] for name in ("Values", "NumberOfParts", *OFFSETS)]
        tables = [(table, n_steps) for table in (own["step"], *tables, *steps["PointDataOffsets"].values())]
        return Kept(n_steps, last_step, [*tables, *part_lengths(root, extent_of(root, n_steps))])

    @property
    def _compression(self) -> str | None:
        return "gzip" if self.compress else None


def bond_rows(snapshot: Snapshot) -> np.ndarray:
    """(m, 2) rows of the particles that each bond joins; bonds of particles that are not there are left out."""
    ids, bonds = np.asarray(snapshot.id), np.asarray(snapshot.bonds).reshape(-1, 2)
    if not ids.size or not bonds.size:
        return np.empty((0, 2), dtype=np.int64)
    order = np.argsort(ids)
    rows = order[np.minimum(np.searchsorted(ids[order], bonds), len(ids) - 1)]
    return rows[(ids[rows] == bonds).all(axis=1)]


def _stored(values: np.ndarray) -> np.ndarray:
    """Values in the number format of the file."""
    return values.astype(np.int64 if values.dtype.kind in "iub" else np.float32)
