"""Points and cells over time for ParaView: VTKHDF 2.0, poly data.

Points and cells of VTKHDF PolyData: parts, one for each new set of cells, which time steps may share.

Format: VTK file formats documentation, "VTKHDF File Format", version 2.0 (temporal poly data).

Versions of VTK look for the offsets of a part's cells at two rows: at ``CellOffsets[step] + part``, or at
``CellOffsets[step]`` plus the number of parts that begin before that cell. The two are the same as long as every part
has cells; therefore a part without cells takes the room of one empty cell.

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

TOPOLOGIES = ("Vertices", "Lines", "Polygons", "Strips")
"""The kinds of cells of PolyData, in the order of the columns of its tables."""

LEAST_CHUNK_ROWS = 1024


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of one kind: ``connectivity`` lists the points of all, those of cell i from ``offsets[i]`` on."""

    connectivity: np.ndarray
    offsets: np.ndarray

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.offsets) - 1

    @property
    def stored_offsets(self) -> np.ndarray:
        """The offsets as they are written, at least two."""
        return self.offsets if self.n_cells else np.zeros(2, dtype=np.int64)


NO_CELLS = Cells(np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64))


def cells_of(points: np.ndarray) -> Cells:
    """Cells from (m, k) numbers of their points: vertices (k = 1), lines (2), triangles (3)."""
    return Cells(np.ravel(points), points.shape[1] * np.arange(len(points) + 1))


@dataclass(frozen=True, eq=False)
class WrittenExtent:
    """How much of each dataset the time steps so far use: where the next part and the next step begin.

    Attributes:
        n_steps: number of time steps.
        n_parts: number of parts.
        n_points: number of points.
        offset_rows: (4,) rows of the offsets of each kind of cells.
        connectivity_rows: (4,) rows of the connectivity of each kind.
    """

    n_steps: int
    n_parts: int
    n_points: int
    offset_rows: np.ndarray
    connectivity_rows: np.ndarray


def extent_of(root: h5py.Group, n_steps: int) -> WrittenExtent:
    """The extent of the first ``n_steps`` steps of a file."""
    if n_steps == 0:
        return WrittenExtent(0, 0, 0, np.zeros(4, dtype=np.int64), np.zeros(4, dtype=np.int64))
    steps, last = root["Steps"], n_steps - 1
    part = int(steps["PartOffsets"][last])
    n_cells = np.array([root[name]["NumberOfCells"][part] for name in TOPOLOGIES])
    n_connected = np.array([root[name]["NumberOfConnectivityIds"][part] for name in TOPOLOGIES])
    return WrittenExtent(
        n_steps,
        part + 1,
        int(steps["PointOffsets"][last] + root["NumberOfPoints"][part]),
        steps["CellOffsets"][last] + part + np.maximum(n_cells, 1) + 1,
        steps["ConnectivityIdOffsets"][last] + n_connected,
    )


def create_parts(root: h5py.Group, n_points: int, compression: str | None = None) -> None:
    """Create the empty datasets of points and cells; ``n_points`` is how many there will be in a part, about."""
    options = {"rows": max(LEAST_CHUNK_ROWS, chunk_rows(n_points)), "compression": compression}
    create_growing(root, "NumberOfPoints", (), np.int64)
    create_growing(root, "Points", (3,), np.float64, **options).attrs["unit"] = "m"
    for name in TOPOLOGIES:
        group = root.create_group(name)
        create_growing(group, "NumberOfCells", (), np.int64)
        create_growing(group, "NumberOfConnectivityIds", (), np.int64)
        create_growing(group, "Offsets", (), np.int64, **options)
        create_growing(group, "Connectivity", (), np.int64, **options)
    root.create_group("PointData")


def append_part(root: h5py.Group, extent: WrittenExtent, n_points: int, cells: Mapping[str, Cells]) -> None:
    """Add a part of so many points behind the others; kinds of cells that are not named have none."""
    set_row(root["NumberOfPoints"], extent.n_parts, n_points)
    for column, name in enumerate(TOPOLOGIES):
        group, own = root[name], cells.get(name, NO_CELLS)
        set_row(group["NumberOfCells"], extent.n_parts, own.n_cells)
        set_row(group["NumberOfConnectivityIds"], extent.n_parts, len(own.connectivity))
        write_rows(group["Offsets"], int(extent.offset_rows[column]), own.stored_offsets)
        write_rows(group["Connectivity"], int(extent.connectivity_rows[column]), own.connectivity)


def last_part_is(root: h5py.Group, extent: WrittenExtent, n_points: int, cells: Mapping[str, Cells]) -> bool:
    """Whether the last part has so many points and these cells, so that the next step can share it."""
    if extent.n_parts == 0 or root["NumberOfPoints"][extent.n_parts - 1] != n_points:
        return False
    return all(
        _last_cells_are(root[name], extent, column, cells.get(name, NO_CELLS)) for column, name in enumerate(TOPOLOGIES)
    )


def _last_cells_are(group: h5py.Group, extent: WrittenExtent, column: int, cells: Cells) -> bool:
    n_connected = len(cells.connectivity)
    if group["NumberOfCells"][extent.n_parts - 1] != cells.n_cells:
        return False
    if group["NumberOfConnectivityIds"][extent.n_parts - 1] != n_connected:
        return False
    end, end_of_offsets = int(extent.connectivity_rows[column]), int(extent.offset_rows[column])
    offsets = group["Offsets"][end_of_offsets - len(cells.stored_offsets) : end_of_offsets]
    connectivity = group["Connectivity"][end - n_connected : end]
    return np.array_equal(offsets, cells.stored_offsets) and np.array_equal(connectivity, cells.connectivity)


def part_lengths(root: h5py.Group, extent: WrittenExtent) -> list[tuple[h5py.Dataset, int]]:
    """The datasets of points and cells, and how long each is where the extent ends."""
    lengths = [(root["NumberOfPoints"], extent.n_parts)]
    lengths += [(dataset, extent.n_points) for dataset in (root["Points"], *root["PointData"].values())]
    for column, name in enumerate(TOPOLOGIES):
        group = root[name]
        lengths += [(group[count], extent.n_parts) for count in ("NumberOfCells", "NumberOfConnectivityIds")]
        lengths.append((group["Offsets"], int(extent.offset_rows[column])))
        lengths.append((group["Connectivity"], int(extent.connectivity_rows[column])))
    return lengths


def write_rows(dataset: h5py.Dataset, start: int, values: np.ndarray) -> None:
    """Let the dataset end with these values from row ``start`` on."""
    dataset.resize(start + len(values), axis=0)
    dataset[start:] = values


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
        cells: cells by the name of their kind, of :data:`muphy_lb.output.polydata.TOPOLOGIES`.
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
    return values.astype(np.int64 if values.dtype.kind in "iub" else np.float32)
