"""Points and cells of VTKHDF PolyData: parts, one for each new set of cells, which time steps may share.

Format: VTK file formats documentation, "VTKHDF File Format", version 2.0 (temporal poly data).

Versions of VTK look for the offsets of a part's cells at two rows: at ``CellOffsets[step] + part``, or at
``CellOffsets[step]`` plus the number of parts that begin before that cell. The two are the same as long as every part
has cells; therefore a part without cells takes the room of one empty cell.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import h5py
import numpy as np

from muphy_lb.output.vtkhdf import chunk_rows, create_growing, set_row

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
    """Whether the last part has these cells of one kind."""
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
