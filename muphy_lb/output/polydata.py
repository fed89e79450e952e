"""Points and cells over time for ParaView: poly data, in parts that time steps may share.

Versions of VTK look for the offsets of a part's cells at two rows: at ``CellOffsets[step] + part``, or at
``CellOffsets[step]`` plus the number of parts that begin before that cell. The two are the same as long as every part
has cells; therefore a part without cells takes the room of one empty cell.

Format: VTK file formats documentation, "VTKHDF File Format", version 2.0 (temporal poly data). ParaView 5.12 or newer.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import h5py
import numpy as np

from muphy_lb.base.errors import OutputError
from muphy_lb.output.vtkhdf import NO_UNITS, GrowingFile, chunk_rows, create_growing, is_field, shapes, write_rows

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
    """How much of each dataset the time steps so far use: where the next part and the next step begin. ``offset_rows``
    and ``connectivity_rows``: (4,) rows of the offsets and of the connectivity of each kind of cells."""

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
    write_rows(root["NumberOfPoints"], extent.n_parts, [n_points])
    for column, name in enumerate(TOPOLOGIES):
        group, own = root[name], cells.get(name, NO_CELLS)
        write_rows(group["NumberOfCells"], extent.n_parts, [own.n_cells])
        write_rows(group["NumberOfConnectivityIds"], extent.n_parts, [len(own.connectivity)])
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


BYTES_PER_NUMBER = 8


@dataclass(frozen=True, eq=False)
class PolyData:
    """Points and cells of one time step."""

    step: int  #: time step
    time_s: float  #: physical time [s]
    points_m: np.ndarray  #: (n, 3) positions [m]
    cells: Mapping[str, Cells]  #: cells by the name of their kind, of :data:`muphy_lb.output.polydata.TOPOLOGIES`
    #: (n,) or (n, 3) values at the points by name; whole numbers are stored as int64, others as float32
    fields: Mapping[str, np.ndarray]


class PolyDataSeries(GrowingFile):
    """Points and cells of many time steps. Cells are written again only when they change.

    Args:
        path, case_text, units, compress, resume_step: as of :class:`muphy_lb.output.vtkhdf.GrowingFile`.
        labels: lists of names by what they are names of, stored as attributes of ``/muphy_lb``; those of a file that is
            continued must be the same.

    Raises OutputError: the file cannot be written, or has other labels when resuming.
    """

    vtk_type, data = "PolyData", "PointData"
    offsets = MappingProxyType(
        {"PartOffsets": (), "PointOffsets": (), "CellOffsets": (4,), "ConnectivityIdOffsets": (4,)}
    )

    def __init__(
        self,
        path: str | os.PathLike,
        case_text: str = "",
        units: Mapping[str, str] = NO_UNITS,
        labels: Mapping[str, Sequence[str]] = MappingProxyType({}),
        compress: bool = False,
        resume_step: int | None = None,
    ):
        self._labels = labels
        super().__init__(path, case_text, units, compress, resume_step)

    def append(self, data: PolyData) -> None:
        """Add one time step. Every step has the same fields; points and cells may change. Raises OutputError: a field
        has another shape or was not in the first step, or the disk refuses."""
        self._check(data)
        fields = {name: _stored(np.asarray(values)) for name, values in data.fields.items()}
        of_cells = sum(len(cells.connectivity) + len(cells.stored_offsets) for cells in data.cells.values())
        of_fields = sum(values.nbytes for values in fields.values())
        self._add(
            fields,
            of_fields + BYTES_PER_NUMBER * (3 * len(data.points_m) + of_cells),
            lambda root: create_parts(root, len(data.points_m), self._compression),
            lambda file: self._write(file, data, fields),
        )

    def _describe(self, own: h5py.Group) -> None:
        for name, texts in self._labels.items():
            own.attrs[name] = list(texts) or h5py.Empty("S1")

    def _chunk_rows(self, n_rows: int) -> int:
        return max(LEAST_CHUNK_ROWS, chunk_rows(n_rows))

    def _write(self, file: h5py.File, data: PolyData, fields: Mapping[str, np.ndarray]) -> None:
        root, n_points = file["VTKHDF"], len(data.points_m)
        extent = extent_of(root, int(root["Steps"].attrs["NSteps"]))
        if last_part_is(root, extent, n_points, data.cells):
            row = {name: root["Steps"][name][extent.n_steps - 1] for name in self.offsets}
        else:
            append_part(root, extent, n_points, data.cells)
            row = {
                "PartOffsets": extent.n_parts,
                "CellOffsets": extent.offset_rows - extent.n_parts,
                "ConnectivityIdOffsets": extent.connectivity_rows,
            }
        write_rows(root["Points"], extent.n_points, data.points_m)
        starts = self._write_fields(root, extent.n_points, fields)
        self._end_step(file, data.time_s, data.step, row | {"PointOffsets": extent.n_points} | starts)

    def _check(self, data: PolyData) -> None:
        n, n_coordinates = np.shape(data.points_m)
        if n_coordinates != 3:
            raise OutputError(f"{self.path}: points have {n_coordinates} coordinates; give x, y and z")
        for name, values in data.fields.items():
            shape = np.shape(values)
            if not is_field(shape, n):
                raise OutputError(f"{self.path}: {name!r} has shape {shape}; allowed are {shapes(n)} for {n} points")

    def _refuse_another(self, own: h5py.Group, root: h5py.Group) -> None:
        for name, texts in self._labels.items():
            stored = own.attrs[name]
            found = [] if isinstance(stored, h5py.Empty) else list(stored)
            if found != list(texts):
                raise OutputError(
                    f"cannot continue {self.path}: its {name} are {found}, those of this run {list(texts)}; move the"
                    " file away"
                )

    def _lengths(self, root: h5py.Group, n_steps: int) -> list[tuple[h5py.Dataset, int]]:
        return part_lengths(root, extent_of(root, n_steps))


def _stored(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int64 if values.dtype.kind in "iub" else np.float32)
