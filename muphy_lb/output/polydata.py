"""Points and cells over time for ParaView: VTKHDF 2.0, poly data.

Format: VTK file formats documentation, "VTKHDF File Format", version 2.0 (temporal poly data). ParaView 5.12 or newer.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.base.errors import OutputError
from muphy_lb.base.files.atomic import atomic_write, output_errors, reserve_space
from muphy_lb.base.files.hdf5 import opened
from muphy_lb.output.polydata_parts import (
    LEAST_CHUNK_ROWS,
    Cells,
    append_part,
    create_parts,
    extent_of,
    last_part_is,
    part_lengths,
    write_rows,
)
from muphy_lb.output.vtkhdf import (
    TABLE_BYTES,
    Kept,
    check_same_fields,
    chunk_rows,
    continued_or_anew,
    create_growing,
    create_provenance,
    create_root,
    create_steps,
    set_row,
    steps_until,
)

OFFSETS = {"PartOffsets": (), "PointOffsets": (), "CellOffsets": (4,), "ConnectivityIdOffsets": (4,)}
"""Tables that say where a time step begins, with the shape of a row."""

BYTES_PER_NUMBER = 8


@dataclass(frozen=True, eq=False)
class PolyData:
    """Points and cells of one time step.

    Attributes:
        step: time step.
        time_s: physical time [s].
        points_m: (n, 3) positions [m].
        cells: cells by the name of their kind, of :data:`muphy_lb.output.polydata_parts.TOPOLOGIES`.
        fields: (n,) or (n, 3) values at the points by name; whole numbers are stored as int64, others as float32.
    """

    step: int
    time_s: float
    points_m: np.ndarray
    cells: Mapping[str, Cells]
    fields: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class PolyDataSeries:
    """One ``.vtkhdf`` file with points and cells of many time steps; closed, hence readable, between two appends.

    Cells are written again only when they change. The file comes into being with its first snapshot.

    Attributes:
        path: the file.
        case_text: stored in ``/muphy_lb/case``.
        units: unit of each field by name, stored as attribute ``unit``.
        labels: lists of names by what they are names of, stored as attributes of ``/muphy_lb``; those of a file that is
            continued must be the same.
        compress: gzip the points, the cells and their fields.
        resume_step: None starts the file anew; a number keeps the snapshots of an existing file up to that step. A file
            that cannot be read is renamed ``NAME.damaged`` then.
        last_step: step of the last snapshot that was kept; None without one.

    Raises:
        OutputError: the file cannot be written, or has other labels when resuming.
    """

    path: str | os.PathLike
    case_text: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    compress: bool = False
    resume_step: int | None = None
    last_step: int | None = field(default=None, init=False)

    def __post_init__(self):
        last_step = continued_or_anew(Path(self.path), self.resume_step, self._kept)
        object.__setattr__(self, "last_step", last_step)

    def append(self, data: PolyData) -> None:
        """Add one time step. Every step has the same fields; points and cells may change.

        Raises:
            OutputError: a field has another shape or was not in the first step, or the disk refuses.
        """
        self._check(data)
        fields = {name: _stored(np.asarray(values)) for name, values in data.fields.items()}
        if not Path(self.path).exists():
            self._create(data, fields)
            return
        of_cells = sum(len(cells.connectivity) + len(cells.stored_offsets) for cells in data.cells.values())
        n_bytes = sum(values.nbytes for values in fields.values()) + BYTES_PER_NUMBER * (
            3 * len(data.points_m) + of_cells
        )
        reserve_space(self.path, TABLE_BYTES + n_bytes)
        with output_errors(self.path), opened(self.path) as file:
            if file["VTKHDF/Steps"].attrs["NSteps"] > 0:
                check_same_fields(self.path, file["VTKHDF/PointData"], fields)
            self._append(file, data, fields)

    def _create(self, data: PolyData, fields: Mapping[str, np.ndarray]) -> None:
        """Write empty tables and the first time step, whole or not at all."""
        with atomic_write(self.path) as temporary, opened(temporary, "w") as file:
            own = create_provenance(file, self.case_text)
            for name, texts in self.labels.items():
                own.attrs[name] = list(texts) or h5py.Empty("S1")
            root = create_root(file, "PolyData")
            create_parts(root, len(data.points_m), self._compression)
            steps = create_steps(root)
            for name, width in OFFSETS.items():
                create_growing(steps, name, width, np.int64)
            steps.create_group("PointDataOffsets")
            for name, values in fields.items():
                self._create_field(root, name, values)
            self._append(file, data, fields)

    def _create_field(self, root: h5py.Group, name: str, values: np.ndarray) -> None:
        """Create an empty growing field of points and its table of offsets."""
        options = {"rows": max(LEAST_CHUNK_ROWS, chunk_rows(len(values))), "compression": self._compression}
        dataset = create_growing(root["PointData"], name, values.shape[1:], values.dtype, **options)
        dataset.attrs["unit"] = self.units.get(name, "")
        create_growing(root["Steps/PointDataOffsets"], name, (), np.int64)

    def _append(self, file: h5py.File, data: PolyData, fields: Mapping[str, np.ndarray]) -> None:
        root, n_points = file["VTKHDF"], len(data.points_m)
        extent = extent_of(root, int(root["Steps"].attrs["NSteps"]))
        row = {"Values": data.time_s, "NumberOfParts": 1, "PointOffsets": extent.n_points}
        if last_part_is(root, extent, n_points, data.cells):
            shared = {name: root["Steps"][name][extent.n_steps - 1] for name in OFFSETS if name != "PointOffsets"}
        else:
            append_part(root, extent, n_points, data.cells)
            shared = {
                "PartOffsets": extent.n_parts,
                "CellOffsets": extent.offset_rows - extent.n_parts,
                "ConnectivityIdOffsets": extent.connectivity_rows,
            }
        write_rows(root["Points"], extent.n_points, data.points_m)
        for name, values in fields.items():
            write_rows(root["PointData"][name], extent.n_points, values)
        # raw values reach the disk before the step table names them: a crash in between costs this snapshot only
        file.flush()
        row |= shared | {f"PointDataOffsets/{name}": extent.n_points for name in fields}
        for name, value in row.items():
            set_row(root["Steps"][name], extent.n_steps, value)
        set_row(file["muphy_lb/step"], extent.n_steps, data.step)
        root["Steps"].attrs["NSteps"] = np.int64(extent.n_steps + 1)

    def _check(self, data: PolyData) -> None:
        """Raise OutputError unless there is one row per point."""
        n, n_coordinates = np.shape(data.points_m)
        if n_coordinates != 3:
            raise OutputError(f"{self.path}: points have {n_coordinates} coordinates; give x, y and z")
        for name, values in data.fields.items():
            shape = np.shape(values)
            if shape not in ((n,), (n, 3)):
                raise OutputError(
                    f"{self.path}: {name!r} has shape {shape}; allowed are ({n},) and ({n}, 3) for {n} points"
                )

    def _kept(self, file: h5py.File) -> Kept:
        """What is kept of an existing file: the snapshots up to a step."""
        if "muphy_lb" not in file or file["VTKHDF"].attrs["Type"] != b"PolyData":
            raise OutputError(f"cannot continue {self.path}: this solver did not write it; move the file away")
        own, root = file["muphy_lb"], file["VTKHDF"]
        for name, texts in self.labels.items():
            stored = own.attrs[name]
            found = [] if isinstance(stored, h5py.Empty) else list(stored)
            if found != list(texts):
                raise OutputError(
                    f"cannot continue {self.path}: its {name} are {found}, those of this run {list(texts)}; move the"
                    " file away"
                )
        n_steps, last_step = steps_until(file, int(self.resume_step or 0))
        steps = root["Steps"]
        tables = [steps[name] for name in ("Values", "NumberOfParts", *OFFSETS)]
        tables = [(table, n_steps) for table in (own["step"], *tables, *steps["PointDataOffsets"].values())]
        return Kept(n_steps, last_step, [*tables, *part_lengths(root, extent_of(root, n_steps))])

    @property
    def _compression(self) -> str | None:
        return "gzip" if self.compress else None


def _stored(values: np.ndarray) -> np.ndarray:
    """Values in the number format of the file."""
    return values.astype(np.int64 if values.dtype.kind in "iub" else np.float32)
