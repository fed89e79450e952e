"""Fields over time for ParaView: VTKHDF 2.0, an unstructured grid of voxels, the mesh written once.

Common parts of all VTKHDF files that grow with a run: their head, tables of time steps, and how they are continued.

Format: VTK file formats documentation, "VTKHDF File Format", version 2.0.

Unstructured mesh of the fluid voxels: one cube per node, corners shared.

Format: VTK file formats documentation, "VTKHDF File Format", version 2.0 (temporal unstructured grid).

Snapshots read back from the ``.vtkhdf`` files of a run: where its voxels are, and the values of its fields.
"""

import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.base.errors import InputError, OutputError
from muphy_lb.base.files.atomic import DAMAGED, LINK_REMEDY, atomic_write, check_writable, output_errors, reserve_space
from muphy_lb.base.files.hdf5 import opened
from muphy_lb.base.kept.functions import njit
from muphy_lb.base.narrow import triple
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates

LOG = logging.getLogger(__name__)
FORMAT_VERSION = (2, 0)
MAX_CHUNK_ROWS = 2**26  # a chunk of HDF5 must stay below 4 GiB
ROWS_PER_STEP_CHUNK = 256
TABLE_BYTES = 2**20  # more than the step tables and the indices of HDF5 grow by in one snapshot


def create_root(file: h5py.File, vtk_type: str) -> h5py.Group:
    """The group that VTK reads, of a type such as ``"UnstructuredGrid"``."""
    root = file.create_group("VTKHDF")
    root.attrs["Version"] = FORMAT_VERSION
    root.attrs["Type"] = np.bytes_(vtk_type)  # older VTK reads fixed-length ASCII only
    return root


def create_provenance(file: h5py.File, case_text: str) -> h5py.Group:
    """The group that VTK ignores: the case, and the step number of each snapshot."""
    own = file.create_group("muphy_lb")
    own.create_dataset("case", data=case_text, dtype=h5py.string_dtype())
    create_growing(own, "step", (), np.int64)
    return own


def create_steps(root: h5py.Group) -> h5py.Group:
    """An empty table of time steps: times and numbers of parts."""
    steps = root.create_group("Steps")
    steps.attrs["NSteps"] = np.int64(0)
    create_growing(steps, "Values", (), np.float64).attrs["unit"] = "s"
    create_growing(steps, "NumberOfParts", (), np.int64)
    return steps


def create_growing(group: h5py.Group, name: str, width: tuple[int, ...], dtype, **options) -> h5py.Dataset:
    """An empty dataset of rows of shape ``width`` that can grow; ``rows`` is the length of its chunks."""
    rows = options.pop("rows", ROWS_PER_STEP_CHUNK)
    return group.create_dataset(
        name, shape=(0, *width), maxshape=(None, *width), chunks=(rows, *width), dtype=dtype, **options
    )


def chunk_rows(n_rows: int) -> int:
    """Length of the chunks of a dataset that grows by ``n_rows`` at a time: equal parts of it, none too large."""
    return max(1, -(-n_rows // max(1, -(-n_rows // MAX_CHUNK_ROWS))))


def set_row(table: h5py.Dataset, number: int, value) -> None:
    """Set row ``number``, which becomes the last one."""
    table.resize(number + 1, axis=0)
    table[number] = value


def check_same_fields(path, known: Iterable[str], given: Iterable[str]) -> None:
    """Raise OutputError unless the fields of a snapshot are those of the earlier ones."""
    if set(known) != set(given):
        raise OutputError(
            f"{path}: the snapshot has the fields {sorted(given)}, the earlier ones have {sorted(known)};"
            " write the same fields, or start a new file"
        )


def steps_until(file: h5py.File, resume_step: int) -> tuple[int, int | None]:
    """(number of the snapshots up to a step, the step of the last of them or None)."""
    done = file["muphy_lb/step"][: file["VTKHDF/Steps"].attrs["NSteps"]]
    n_steps = int(np.count_nonzero(done <= resume_step))
    return n_steps, int(done[n_steps - 1]) if n_steps else None


@dataclass(frozen=True)
class Kept:
    """The part of a file that is kept.

    Attributes:
        n_steps: number of snapshots.
        last_step: step of the last of them; None without one.
        lengths: all datasets that grow, and how many rows of each are kept.
    """

    n_steps: int
    last_step: int | None
    lengths: Sequence[tuple[h5py.Dataset, int]]


def continued_or_anew(path: Path, resume_step: int | None, kept: Callable[[h5py.File], Kept]) -> int | None:
    """Get a file ready for more snapshots: an existing one is continued behind those that are ``kept``, unless there is
    no ``resume_step`` or nothing to continue; then it is removed. The step of the last snapshot kept; None without one.

    Raises:
        OutputError: as of :func:`continued`; a new file cannot be written.
    """
    last_step = continued(path, kept) if resume_step is not None and path.exists() else None
    if last_step is None:
        with output_errors(path):
            path.unlink(missing_ok=True)
            check_writable(path.parent)
    return last_step


def continued(path: Path, kept: Callable[[h5py.File], Kept]) -> int | None:
    """Forget what lies behind the snapshots of an existing file that are ``kept``; the step of the last of them.

    A file that has no more is not written, for which a disk might be too full; neither is one of which nothing is kept.
    A file that cannot be read is renamed ``NAME.damaged``; the result is then None.

    Raises:
        OutputError: the file may not be written, or ``kept`` refuses it, or the disk is full; the file is unchanged.
    """
    if os.path.islink(path):
        raise OutputError(f"cannot continue {path}: it is a symbolic link, and none is followed; {LINK_REMEDY}")
    if not os.access(path, os.R_OK | os.W_OK):
        raise OutputError(f"cannot continue {path}: it may not be written; change its permissions or move it away")
    try:
        with h5py.File(path, "r") as file:
            found = kept(file)
            goes_on = found.last_step is not None
            has_more = any(len(dataset) != rows for dataset, rows in found.lengths)
            has_more = has_more or file["VTKHDF/Steps"].attrs["NSteps"] != found.n_steps
        if goes_on and has_more:
            reserve_space(path, TABLE_BYTES)
            _shorten(path, kept)
        return found.last_step
    except OutputError:
        raise
    except Exception as error:  # HDF5 and h5py have many ways of saying that a file is not whole
        aside = path.with_name(path.name + DAMAGED)
        LOG.warning("%s is damaged (%s); it is kept as %s, and a new one begun", path, error, aside.name)
        with output_errors(path):
            path.replace(aside)
        return None


def _shorten(path: Path, kept: Callable[[h5py.File], Kept]) -> None:
    with opened(path) as file:
        found = kept(file)
        file["VTKHDF/Steps"].attrs["NSteps"] = found.n_steps
        for dataset, rows in found.lengths:
            dataset.resize(rows, axis=0)


N_CORNERS = 8
FLOAT32_MAX_VOXELS = 2**15  # beyond this distance float32 no longer resolves 1/256 of a voxel


@dataclass(frozen=True)
class VoxelMesh:
    """Cubes in node order.

    Attributes:
        points_m: (n_points, 3) corner coordinates (x, y, z) [m], sorted by (z, y, x); float32 where precise enough.
        connectivity: (n, 8) corner numbers of each cube, x fastest, then y, then z (the order of VTK_VOXEL);
            int32 when it fits, else int64.
    """

    points_m: np.ndarray
    connectivity: np.ndarray


def voxel_mesh(nodes: NodeList) -> VoxelMesh:
    """Mesh of cubes of edge ``spacing_m`` centred on the nodes."""
    nz, ny, nx = nodes.shape
    corner_shape = (nz + 1, ny + 1, nx + 1)
    steps = np.array([1, nx + 1, (nx + 1) * (ny + 1)])
    offset = ((np.arange(N_CORNERS)[:, None] >> np.arange(3)) & 1) @ steps
    first = nodes.coordinates() @ steps
    order = np.argsort(first, kind="stable")
    fits = N_CORNERS * nodes.n_nodes <= np.iinfo(np.int32).max
    connectivity = np.empty((nodes.n_nodes, N_CORNERS), dtype=np.int32 if fits else np.int64)
    n_points = number_corners(first[order], order, offset, connectivity)
    corner = np.empty(n_points, dtype=np.int64)
    for c in range(N_CORNERS):
        corner[connectivity[:, c]] = first + offset[c]
    return VoxelMesh(_corner_positions(nodes, voxel_coordinates(corner, corner_shape)), connectivity)


@njit(cache=True)
def number_corners(first, order, offset, connectivity):
    """Number the distinct corner ids ``first[k] + offset[c]`` in ascending order by merging the sorted streams.

    Args:
        first: (n,) ascending int64 id of corner 0 of each cube.
        order: (n,) row of ``connectivity`` that belongs to each entry of ``first``.
        offset: (8,) distance of corner c from corner 0.
        connectivity: (n, 8) filled with the number of every corner.

    Returns:
        The number of distinct corners.
    """
    n_cubes = first.size
    head = np.zeros(offset.size, dtype=np.int64)
    number = 0
    while head[0] < n_cubes or head[-1] < n_cubes:
        lowest = np.iinfo(np.int64).max
        for c in range(offset.size):
            if head[c] < n_cubes:
                lowest = min(lowest, first[head[c]] + offset[c])
        for c in range(offset.size):
            if head[c] < n_cubes and first[head[c]] + offset[c] == lowest:
                connectivity[order[head[c]], c] = number
                head[c] += 1
        number += 1
    return number


def _corner_positions(nodes: NodeList, coordinates: np.ndarray) -> np.ndarray:
    """(n_points, 3) positions [m] of corner coordinates; corner (0, 0, 0) lies half a voxel before the origin."""
    origin_m = np.asarray(nodes.origin_m) - 0.5 * nodes.spacing_m
    points_m = origin_m + nodes.spacing_m * coordinates
    far = np.abs(points_m).max(initial=0.0) > FLOAT32_MAX_VOXELS * nodes.spacing_m
    return points_m if far else points_m.astype(np.float32)


VTK_VOXEL = 11
STATIC_OFFSETS = {  # first entry of the mesh used by a step, always 0: the mesh never changes
    "PartOffsets": (),
    "PointOffsets": (),
    "CellOffsets": (1,),
    "ConnectivityIdOffsets": (1,),
}


@dataclass(frozen=True)
class VtkHdfSeries:
    """One ``.vtkhdf`` file with all snapshots of a run; closed, hence readable, between two appends.

    The file comes into being with its first snapshot, whole or not at all: making its datasets changes HDF5's own
    records in many places, and a crash in between would leave a file that nobody can open. Later snapshots only let it
    grow.

    Attributes:
        path: the file.
        nodes: one cubic cell is written per node, in this order.
        case_text: stored beside the grid, in ``/muphy_lb/case``.
        units: unit of each field by name, stored as attribute ``unit``.
        compress: gzip the mesh and the fields.
        resume_step: None starts the file anew; a number keeps the snapshots of an existing file up to that step. A file
            that cannot be read is renamed ``NAME.damaged`` then.
        last_step: step of the last snapshot that was kept; None without one.

    Raises:
        OutputError: the file cannot be written, or holds another geometry when resuming.
    """

    path: str | os.PathLike
    nodes: NodeList
    case_text: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    compress: bool = False
    resume_step: int | None = None
    last_step: int | None = field(default=None, init=False)

    def __post_init__(self):
        last_step = continued_or_anew(Path(self.path), self.resume_step, self._kept)
        object.__setattr__(self, "last_step", last_step)

    def append(self, time_s: float, step: int, fields: Mapping[str, np.ndarray]) -> None:
        """Add one snapshot.

        Args:
            fields: (n,) or (n, 3) arrays by name, in the order of the nodes; stored as float32. Every snapshot
                has the same fields.

        Raises:
            OutputError: a field has another shape or was not in the first snapshot, or the disk refuses.
        """
        arrays = {name: self._checked(name, values) for name, values in fields.items()}
        if not Path(self.path).exists():
            self._create(time_s, step, arrays)
            return
        reserve_space(self.path, TABLE_BYTES + sum(values.nbytes for values in arrays.values()))
        with output_errors(self.path), opened(self.path) as file:
            if file["VTKHDF/Steps"].attrs["NSteps"] > 0:
                check_same_fields(self.path, file["VTKHDF/CellData"], arrays)
            self._append(file, time_s, step, arrays)

    def _append(self, file: h5py.File, time_s: float, step: int, arrays: Mapping[str, np.ndarray]) -> None:
        for name, values in arrays.items():
            self._append_field(file["VTKHDF"], name, values)
        # raw values reach the disk before the step table names them: a crash in between costs this snapshot only
        file.flush()
        _append_step(file, time_s, step, arrays)

    def _create(self, time_s: float, step: int, arrays: Mapping[str, np.ndarray]) -> None:
        mesh = voxel_mesh(self.nodes)
        with atomic_write(self.path) as temporary, opened(temporary, "w") as file:
            self._write_provenance(file)
            grid = create_root(file, "UnstructuredGrid")
            self._write_mesh(grid, mesh)
            grid.create_group("CellData")
            _create_offsets(create_steps(grid))
            self._append(file, time_s, step, arrays)

    def _write_provenance(self, file: h5py.File) -> None:
        """Write what VTK ignores: the case, the step numbers and what identifies the geometry."""
        own = create_provenance(file, self.case_text)
        own.attrs["geometry_digest"] = _digest(self.nodes)
        own.attrs["spacing_m"] = self.nodes.spacing_m
        own.attrs["origin_m"] = self.nodes.origin_m
        own.attrs["shape_zyx"] = self.nodes.shape

    def _write_mesh(self, grid: h5py.Group, mesh) -> None:
        n_nodes, n_points = self.nodes.n_nodes, len(mesh.points_m)
        index_dtype = mesh.connectivity.dtype
        arrays = {
            "NumberOfPoints": np.array([n_points], dtype=np.int64),
            "NumberOfCells": np.array([n_nodes], dtype=np.int64),
            "NumberOfConnectivityIds": np.array([N_CORNERS * n_nodes], dtype=np.int64),
            "Points": mesh.points_m,
            "Connectivity": mesh.connectivity.ravel(),
            "Offsets": N_CORNERS * np.arange(n_nodes + 1, dtype=index_dtype),
            "Types": np.full(n_nodes, VTK_VOXEL, dtype=np.uint8),
        }
        for name, values in arrays.items():
            grid.create_dataset(name, data=values, compression=self._compression if values.size > 1 else None)
        grid["Points"].attrs["unit"] = "m"

    def _append_field(self, grid: h5py.Group, name: str, values: np.ndarray) -> None:
        start = int(grid["Steps"].attrs["NSteps"]) * self.nodes.n_nodes
        dataset = grid["CellData"].get(name)
        if dataset is None:
            dataset = self._create_field(grid, name, values)
        dataset.resize(start + len(values), axis=0)
        dataset[start:] = values

    def _create_field(self, grid: h5py.Group, name: str, values: np.ndarray) -> h5py.Dataset:
        options = {"rows": chunk_rows(len(values)), "compression": self._compression}
        dataset = create_growing(grid["CellData"], name, values.shape[1:], np.float32, **options)
        dataset.attrs["unit"] = self.units.get(name, "")
        create_growing(grid["Steps/CellDataOffsets"], name, (), np.int64)
        return dataset

    def _kept(self, file: h5py.File) -> Kept:
        if "muphy_lb" not in file:
            raise OutputError(f"cannot continue {self.path}: this solver did not write it; move the file away")
        own, grid = file["muphy_lb"], file["VTKHDF"]
        if own.attrs["geometry_digest"] != _digest(self.nodes):
            raise OutputError(
                f"cannot continue {self.path}: it holds {grid['NumberOfCells'][0]} cells of another geometry,"
                f" this run has {self.nodes.n_nodes}; move the file away"
            )
        n_steps, last_step = steps_until(file, int(self.resume_step or 0))
        tables = [(table, n_steps) for table in (own["step"], *_step_tables(grid))]
        columns = [(column, n_steps * self.nodes.n_nodes) for column in grid["CellData"].values()]
        return Kept(n_steps, last_step, [*tables, *columns])

    def _checked(self, name: str, values: np.ndarray) -> np.ndarray:
        values = np.asarray(values, dtype=np.float32)
        n_nodes = self.nodes.n_nodes
        if values.shape not in ((n_nodes,), (n_nodes, 3)):
            raise OutputError(
                f"{self.path}: field {name!r} has shape {values.shape}; allowed are ({n_nodes},) and ({n_nodes}, 3)"
            )
        return values

    @property
    def _compression(self) -> str | None:
        return "gzip" if self.compress else None


def _create_offsets(steps: h5py.Group) -> None:
    for name, width in STATIC_OFFSETS.items():
        create_growing(steps, name, width, np.int64)
    steps.create_group("CellDataOffsets")


def _append_step(file: h5py.File, time_s: float, step: int, names) -> None:
    grid = file["VTKHDF"]
    steps = grid["Steps"]
    number = int(steps.attrs["NSteps"])
    first_row = number * int(grid["NumberOfCells"][0])
    row = {name: 0 for name in STATIC_OFFSETS} | {"Values": time_s, "NumberOfParts": 1}
    row |= {f"CellDataOffsets/{name}": first_row for name in names}
    for name, value in row.items():
        set_row(steps[name], number, value)
    set_row(file["muphy_lb/step"], number, step)
    steps.attrs["NSteps"] = np.int64(number + 1)


def _step_tables(grid: h5py.Group) -> list[h5py.Dataset]:
    steps = grid["Steps"]
    return [steps[name] for name in ("Values", "NumberOfParts", *STATIC_OFFSETS)] + list(
        steps["CellDataOffsets"].values()
    )


def _digest(nodes: NodeList) -> str:
    digest = hashlib.sha256(repr((nodes.shape, nodes.spacing_m)).encode())
    digest.update(np.ascontiguousarray(nodes.voxel).data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Snapshot:
    """A snapshot in a file of :class:`muphy_lb.output.vtkhdf.VtkHdfSeries`.

    Attributes:
        path: the file.
        number: which of its snapshots, from 0.
        step, time_s: when it was taken.
        units: unit of each of its fields by name.
    """

    path: Path
    number: int
    step: int
    time_s: float
    units: Mapping[str, str]

    def values(self, name: str) -> np.ndarray:
        """(n, ...) values of a field."""
        with h5py.File(self.path, "r") as file:
            n_nodes = int(file["VTKHDF/NumberOfCells"][0])
            return file["VTKHDF/CellData"][name][self.number * n_nodes : (self.number + 1) * n_nodes]

    def nodes(self) -> NodeList:
        """The voxels as bare nodes, in the order of the values; the file does not know of openings."""
        with h5py.File(self.path, "r") as file:
            said = file["muphy_lb"].attrs
            shape = triple(int(n) for n in said["shape_zyx"])
            spacing_m, origin_m = float(said["spacing_m"]), triple(float(x) for x in said["origin_m"])
            first = file["VTKHDF/Points"][:][file["VTKHDF/Connectivity"][:][::N_CORNERS]]
        place = np.rint((first - np.array(origin_m)) / spacing_m + 0.5).astype(np.int64)
        none = np.empty(0, dtype=np.int64)
        return NodeList(
            voxel=place @ np.array([1, shape[2], shape[2] * shape[1]]),
            group_start=np.array([0, len(place)]),
            shape=shape,
            spacing_m=spacing_m,
            origin_m=origin_m,
            periodic=(False, False, False),
            openings=(),
            label_voxel=none,
            label_number=none.astype(np.uint8),
        )


def find_snapshot(path: str | os.PathLike, time_s: float | None = None) -> Snapshot:
    """The snapshot of a file that is nearest to a time [s]; without one the last.

    Raises:
        InputError: the file is none that a run has written, or holds no snapshot.
    """
    try:
        with h5py.File(path, "r") as file:
            times_s = file["VTKHDF/Steps/Values"][: int(file["VTKHDF/Steps"].attrs["NSteps"])]
            steps, cells = file["muphy_lb/step"][:], file["VTKHDF/CellData"]
            units = {name: str(cells[name].attrs.get("unit", "")) for name in cells}
    except (OSError, KeyError) as error:
        raise InputError(f"{path} is no field file that a run of this solver has written whole: {error}") from error
    if not times_s.size:
        raise InputError(f"{path} holds no snapshot; let the run come to its end")
    number = times_s.size - 1 if time_s is None else int(np.abs(times_s - time_s).argmin())
    return Snapshot(Path(path), number, int(steps[number]), float(times_s[number]), units)
