"""Fields over time for ParaView: an unstructured grid of voxels, one cube per node, whose mesh is written once.

:class:`GrowingFile` is common to all files that grow with a run; :class:`Snapshot` is read back from such a file.

Format: VTK file formats documentation, "VTKHDF File Format", version 2.0 (temporal unstructured grid).
"""

import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import h5py
import numba
import numpy as np

from muphy_lb.base.errors import InputError, OutputError
from muphy_lb.base.files.atomic import DAMAGED, LINK_REMEDY, atomic_write, check_writable, output_errors, reserve_space
from muphy_lb.base.files.hdf5 import opened
from muphy_lb.base.kept.functions import njit
from muphy_lb.base.narrow import triple
from muphy_lb.base.phases import WRITING, spent_on
from muphy_lb.geometry.nodes import NodeList

LOG = logging.getLogger(__name__)
FORMAT_VERSION = (2, 0)
MAX_CHUNK_ROWS = 2**26  # a chunk of HDF5 must stay below 4 GiB
ROWS_PER_STEP_CHUNK = 256
TABLE_BYTES = 2**20  # more than the step tables and the indices of HDF5 grow by in one snapshot
NO_UNITS: Mapping[str, str] = MappingProxyType({})


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


def create_growing(group: h5py.Group, name: str, width: tuple[int, ...], dtype, **options) -> h5py.Dataset:
    """An empty dataset of rows of shape ``width`` that can grow; ``rows`` is the length of its chunks."""
    rows = options.pop("rows", ROWS_PER_STEP_CHUNK)
    return group.create_dataset(
        name, shape=(0, *width), maxshape=(None, *width), chunks=(rows, *width), dtype=dtype, **options
    )


def chunk_rows(n_rows: int) -> int:
    """Length of the chunks of a dataset that grows by ``n_rows`` at a time: equal parts of it, none too large."""
    return max(1, -(-n_rows // max(1, -(-n_rows // MAX_CHUNK_ROWS))))


def write_rows(dataset: h5py.Dataset, start: int, values) -> None:
    """Let the dataset end with these values from row ``start`` on."""
    dataset.resize(start + len(values), axis=0)
    dataset[start:] = values


class Kept(NamedTuple):
    """The part of a file that is kept: number of snapshots, step of the last of them (None without one), and the
    datasets that grow with the number of rows that each keeps."""

    n_steps: int
    last_step: int | None
    lengths: list[tuple[h5py.Dataset, int]]


class GrowingFile:
    """Base of a ``.vtkhdf`` file with all snapshots of a run; closed, hence readable, between two appends.

    The file comes into being with its first snapshot, whole or not at all: making its datasets changes HDF5's own
    records in many places, and a crash in between would leave a file that cannot be opened. Later snapshots only let it
    grow.

    Args:
        case_text: stored in ``/muphy_lb/case``.
        units: unit of each field by name, stored as attribute ``unit``.
        compress: gzip the mesh and the fields.
        resume_step: None begins a new file; a number keeps the snapshots of an existing file up to that step. A
            file that cannot be read is renamed ``NAME.damaged`` then.

    Attributes:
        last_step: step of the last snapshot that was kept; None without one.

    Raises OutputError: the file cannot be written, or holds something else when resuming.
    """

    vtk_type: str
    data: str
    """name of the group of the fields"""
    offsets: Mapping[str, tuple[int, ...]]
    """tables that say where a time step begins, with the shape of a row"""

    def __init__(
        self,
        path: str | os.PathLike,
        case_text: str = "",
        units: Mapping[str, str] = NO_UNITS,
        compress: bool = False,
        resume_step: int | None = None,
    ):
        self.path, self._case_text, self._units, self._resume_step = Path(path), case_text, units, resume_step
        self._compression = "gzip" if compress else None
        self.last_step = self._continued() if resume_step is not None and self.path.exists() else None
        if self.last_step is None:
            with output_errors(path):
                self.path.unlink(missing_ok=True)
                check_writable(self.path.parent)

    @spent_on(WRITING)
    def _add(
        self, fields: Mapping[str, np.ndarray], n_bytes: int, create: Callable[[h5py.Group], None], write: Callable
    ) -> None:
        """Add a snapshot of so many bytes by ``write(file)``, to a new file after ``create(root)``."""
        if not self.path.exists():
            with atomic_write(self.path) as temporary, opened(temporary, "w") as file:
                self._describe(create_provenance(file, self._case_text))
                create(create_root(file, self.vtk_type))
                self._create_steps(file["VTKHDF"], fields)
                write(file)
            return
        reserve_space(self.path, TABLE_BYTES + n_bytes)
        with output_errors(self.path), opened(self.path) as file:
            self._check_same_fields(file["VTKHDF"][self.data], fields)
            write(file)

    def _describe(self, own: h5py.Group) -> None:
        """Store further attributes, which VTK ignores."""
        raise NotImplementedError

    def _create_steps(self, root: h5py.Group, fields: Mapping[str, np.ndarray]) -> None:
        """Create the empty fields and the empty table of time steps."""
        steps = root.create_group("Steps")
        steps.attrs["NSteps"] = np.int64(0)
        create_growing(steps, "Values", (), np.float64).attrs["unit"] = "s"
        for name, width in ({"NumberOfParts": ()} | dict(self.offsets)).items():
            create_growing(steps, name, width, np.int64)
        group, starts = root.require_group(self.data), steps.create_group(f"{self.data}Offsets")
        for name, values in fields.items():
            options = {"rows": self._chunk_rows(len(values)), "compression": self._compression}
            dataset = create_growing(group, name, values.shape[1:], values.dtype, **options)
            dataset.attrs["unit"] = self._units.get(name, "")
            create_growing(starts, name, (), np.int64)

    def _chunk_rows(self, n_rows: int) -> int:
        return chunk_rows(n_rows)

    def _write_fields(self, root: h5py.Group, start: int, fields: Mapping[str, np.ndarray]) -> dict[str, int]:
        """Write fields from a row on, which is returned as the entries of the table of time steps."""
        for name, values in fields.items():
            write_rows(root[self.data][name], start, values)
        return {f"{self.data}Offsets/{name}": start for name in fields}

    def _end_step(self, file: h5py.File, time_s: float, step: int, row: Mapping) -> None:
        """Name a snapshot in the table of time steps, once its raw values are on the disk: a crash in between costs
        this snapshot only."""
        file.flush()
        steps = file["VTKHDF/Steps"]
        number = int(steps.attrs["NSteps"])
        for name, value in {"Values": time_s, "NumberOfParts": 1, **row}.items():
            write_rows(steps[name], number, [value])
        write_rows(file["muphy_lb/step"], number, [step])
        steps.attrs["NSteps"] = np.int64(number + 1)

    def _check_same_fields(self, known: Iterable[str], given: Iterable[str]) -> None:
        if set(known) != set(given):
            raise OutputError(
                f"{self.path}: the snapshot has the fields {sorted(given)}, the earlier ones have {sorted(known)};"
                " write the same fields, or start a new file"
            )

    def _continued(self) -> int | None:
        """Forget the snapshots of an existing file that are not kept; the step of the last of the others.

        A file that has no more is not written, for which a disk might be too full; neither is one of which nothing is
        kept. A file that cannot be read is renamed ``NAME.damaged``; the result is then None.

        Raises OutputError: the file may not be written, or is another one, or the disk is full; the file is unchanged.
        """
        path = self.path
        if os.path.islink(path):
            raise OutputError(f"cannot continue {path}: it is a symbolic link, and none is followed; {LINK_REMEDY}")
        if not os.access(path, os.R_OK | os.W_OK):
            raise OutputError(f"cannot continue {path}: it may not be written; change its permissions or move it away")
        try:
            with h5py.File(path, "r") as file:
                found = self._kept(file)
                has_more = any(len(dataset) != rows for dataset, rows in found.lengths)
                has_more = has_more or file["VTKHDF/Steps"].attrs["NSteps"] != found.n_steps
            if found.last_step is not None and has_more:
                reserve_space(path, TABLE_BYTES)
                self._shorten()
            return found.last_step
        except OutputError:
            raise
        except Exception as error:  # HDF5 and h5py have many ways of saying that a file is not whole
            aside = path.with_name(path.name + DAMAGED)
            LOG.warning("%s is damaged (%s); it is kept as %s, and a new one begun", path, error, aside.name)
            with output_errors(path):
                path.replace(aside)
            return None

    def _shorten(self) -> None:
        with opened(self.path) as file:
            found = self._kept(file)
            file["VTKHDF/Steps"].attrs["NSteps"] = found.n_steps
            for dataset, rows in found.lengths:
                dataset.resize(rows, axis=0)

    def _kept(self, file: h5py.File) -> Kept:
        """The part that is kept: the snapshots up to a step."""
        if "muphy_lb" not in file or file["VTKHDF"].attrs["Type"] != self.vtk_type.encode():
            raise OutputError(f"cannot continue {self.path}: this solver did not write it; move the file away")
        own, root = file["muphy_lb"], file["VTKHDF"]
        self._refuse_another(own, root)
        steps = root["Steps"]
        done = own["step"][: steps.attrs["NSteps"]]
        n_steps = int(np.count_nonzero(done <= int(self._resume_step or 0)))
        tables = [own["step"], *(steps[name] for name in ("Values", "NumberOfParts", *self.offsets))]
        tables += steps[f"{self.data}Offsets"].values()
        last_step = int(done[n_steps - 1]) if n_steps else None
        return Kept(n_steps, last_step, [*((table, n_steps) for table in tables), *self._lengths(root, n_steps)])

    def _refuse_another(self, own: h5py.Group, root: h5py.Group) -> None:
        """Raise an OutputError if the file is of another flow."""
        raise NotImplementedError

    def _lengths(self, root: h5py.Group, n_steps: int) -> list[tuple[h5py.Dataset, int]]:
        """Points, cells and fields, and the rows of each in the first ``n_steps`` snapshots."""
        raise NotImplementedError


N_CORNERS = 8
FLOAT32_MAX_VOXELS = 2**15  # beyond this distance float32 no longer resolves 1/256 of a voxel


@dataclass(frozen=True)
class VoxelMesh:
    """Cubes in node order."""

    #: (n_points, 3) corner coordinates (x, y, z) [m], sorted by (z, y, x); float32 where precise enough
    points_m: np.ndarray
    #: (n, 8) corner numbers of each cube, x fastest, then y, then z (the order of VTK_VOXEL); int32 when it fits, else
    #: int64
    connectivity: np.ndarray


def voxel_mesh(nodes: NodeList) -> VoxelMesh:
    """Mesh of cubes of edge ``spacing_m`` centred on the nodes. Layers of corners are numbered side by side, in
    threads."""
    nz, ny, nx = nodes.shape
    order = None if np.all(nodes.voxel[:-1] < nodes.voxel[1:]) else np.argsort(nodes.voxel, kind="stable")
    voxel = nodes.voxel if order is None else nodes.voxel[order]
    start = np.searchsorted(voxel, np.arange(nz + 2) * (nx * ny))  # of the nodes of each layer of voxels, and beyond
    n_threads = numba.get_num_threads()
    bounds = np.searchsorted(start[:-1], np.linspace(0, len(voxel), n_threads + 1)[1:-1])
    parts = list(pairwise((0, *(int(layer) for layer in bounds), nz + 1)))
    first = np.zeros(nz + 2, dtype=np.int64)
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda part: count_corners(voxel, start, (ny, nx), part, first[1:]), parts))
        np.cumsum(first, out=first)
        fits = N_CORNERS * nodes.n_nodes <= np.iinfo(np.int32).max
        connectivity = np.empty((nodes.n_nodes, N_CORNERS), dtype=np.int32 if fits else np.int64)
        origin_m = np.asarray(nodes.origin_m) - 0.5 * nodes.spacing_m  # corner (0, 0, 0)
        ends_m = np.array([origin_m, origin_m + nodes.spacing_m * np.array([nx, ny, nz])])
        is_far = np.abs(ends_m).max() > FLOAT32_MAX_VOXELS * nodes.spacing_m
        points_m = np.empty((first[-1], 3), dtype=np.float64 if is_far else np.float32)
        given, grid = (voxel, start, (ny, nx)), (origin_m, nodes.spacing_m)
        list(pool.map(lambda part: number_corners(*given, part, first, connectivity, grid, points_m), parts))
    if order is not None:
        connectivity[order] = connectivity.copy()
    return VoxelMesh(points_m, connectivity)


CORNERS = "int64[::1], int64[::1], UniTuple(int64, 2), UniTuple(int64, 2), int64[::1]"
"""Types of the arguments of :func:`count_corners`."""


@njit(cache=True, nogil=True)
def mark_corners(voxel, start, size, layer, is_there):
    """Mark the corners of a layer, (ny + 1) (nx + 1) of them, that belong to a voxel above or below."""
    is_there[:] = False
    ny, nx = size
    for k in range(start[max(layer - 1, 0)], start[layer + 1]):
        in_layer = voxel[k] % (ny * nx)
        low = in_layer // nx * (nx + 1) + in_layer % nx
        is_there[low] = is_there[low + 1] = is_there[low + nx + 1] = is_there[low + nx + 2] = True


@njit(cache=True, nogil=True, usually=f"({CORNERS})")
def count_corners(voxel, start, size, layers, count):
    """Count the corners of some layers.

    Args:
        voxel: (n,) ascending voxel ids.
        start: (nz + 2,) number of the first voxel of each layer of them, and n.
        size: voxels along y and x.
        layers: the first layer of corners, and the one behind the last.
        count: (nz + 1,) filled with the number of corners of each.
    """
    is_there = np.zeros((size[0] + 1) * (size[1] + 1), dtype=np.bool_)
    for layer in range(layers[0], layers[1]):
        if start[max(layer - 1, 0)] < start[layer + 1]:
            mark_corners(voxel, start, size, layer, is_there)
            count[layer] = is_there.sum()


@njit(cache=True, nogil=True, usually=f"({CORNERS}, int32[:,::1], Tuple((float64[::1], float64)), float32[:,::1])")
def number_corners(voxel, start, size, layers, first, connectivity, grid, points_m):
    """Number the corners of some layers in ascending order of their ids; the first arguments are those of
    :func:`count_corners`.

    Args:
        first: (nz + 2,) the number of the first corner of each layer.
        connectivity: (n, 8) filled with the number of every corner of the voxels.
        grid: (3,) position of the corner with id 0, and distance of corners [m].
        points_m: (n_points, 3) filled with the positions of the corners [m].
    """
    (ny, nx), (origin_m, spacing_m) = size, grid
    area = (ny + 1) * (nx + 1)
    is_there, number = np.zeros(area, dtype=np.bool_), np.zeros(area, dtype=np.int64)
    for layer in range(layers[0], layers[1]):
        if start[max(layer - 1, 0)] >= start[layer + 1]:
            continue
        mark_corners(voxel, start, size, layer, is_there)
        last = first[layer]
        for place in range(area):
            if is_there[place]:
                number[place] = last
                points_m[last, 0] = origin_m[0] + spacing_m * (place % (nx + 1))
                points_m[last, 1] = origin_m[1] + spacing_m * (place // (nx + 1))
                points_m[last, 2] = origin_m[2] + spacing_m * layer
                last += 1
        for k in range(start[max(layer - 1, 0)], start[layer + 1]):
            in_layer = voxel[k] % (ny * nx)
            low, c = in_layer // nx * (nx + 1) + in_layer % nx, 4 if k < start[layer] else 0
            connectivity[k, c], connectivity[k, c + 1] = number[low], number[low + 1]
            connectivity[k, c + 2], connectivity[k, c + 3] = number[low + nx + 1], number[low + nx + 2]


VTK_VOXEL = 11


class VtkHdfSeries(GrowingFile):
    """The fields of a run, one cubic cell per node, in the order of the nodes. ``path``, ``case_text``, ``units``,
    ``compress``, ``resume_step``: as of :class:`GrowingFile`. Raises OutputError: the file cannot be written, or holds
    another geometry when resuming."""

    vtk_type, data = "UnstructuredGrid", "CellData"
    offsets = MappingProxyType(  # always 0: the mesh never changes
        {"PartOffsets": (), "PointOffsets": (), "CellOffsets": (1,), "ConnectivityIdOffsets": (1,)}
    )

    def __init__(
        self,
        path: str | os.PathLike,
        nodes: NodeList,
        case_text: str = "",
        units: Mapping[str, str] = NO_UNITS,
        compress: bool = False,
        resume_step: int | None = None,
    ):
        self.nodes = nodes
        super().__init__(path, case_text, units, compress, resume_step)

    def append(self, time_s: float, step: int, fields: Mapping[str, np.ndarray]) -> None:
        """Add one snapshot. ``fields``: (n,) arrays, (n, 3) vectors, (n, 6) or (n, 9) tensors by name, in the
        order of the nodes; stored as float32. Every snapshot has the same fields. Raises OutputError: a field has
        another shape or was not in the first snapshot, or the disk refuses."""
        arrays = {name: self._checked(name, values) for name, values in fields.items()}

        def write(file: h5py.File) -> None:
            root = file["VTKHDF"]
            starts = self._write_fields(root, int(root["Steps"].attrs["NSteps"]) * self.nodes.n_nodes, arrays)
            self._end_step(file, time_s, step, dict.fromkeys(self.offsets, 0) | starts)

        self._add(arrays, sum(values.nbytes for values in arrays.values()), self._write_mesh, write)

    def _describe(self, own: h5py.Group) -> None:
        own.attrs["geometry_digest"] = _digest(self.nodes)
        own.attrs["spacing_m"] = self.nodes.spacing_m
        own.attrs["origin_m"] = self.nodes.origin_m
        own.attrs["shape_zyx"] = self.nodes.shape

    def _write_mesh(self, root: h5py.Group) -> None:
        mesh, n_nodes = voxel_mesh(self.nodes), self.nodes.n_nodes
        arrays = {
            "NumberOfPoints": np.array([len(mesh.points_m)], dtype=np.int64),
            "NumberOfCells": np.array([n_nodes], dtype=np.int64),
            "NumberOfConnectivityIds": np.array([N_CORNERS * n_nodes], dtype=np.int64),
            "Points": mesh.points_m,
            "Connectivity": mesh.connectivity.ravel(),
            "Offsets": N_CORNERS * np.arange(n_nodes + 1, dtype=mesh.connectivity.dtype),
            "Types": np.full(n_nodes, VTK_VOXEL, dtype=np.uint8),
        }
        for name, values in arrays.items():
            root.create_dataset(name, data=values, compression=self._compression if values.size > 1 else None)
        root["Points"].attrs["unit"] = "m"

    def _refuse_another(self, own: h5py.Group, root: h5py.Group) -> None:
        if own.attrs["geometry_digest"] != _digest(self.nodes):
            raise OutputError(
                f"cannot continue {self.path}: it holds {root['NumberOfCells'][0]} cells of another geometry,"
                f" this run has {self.nodes.n_nodes}; move the file away"
            )

    def _lengths(self, root: h5py.Group, n_steps: int) -> list[tuple[h5py.Dataset, int]]:
        return [(column, n_steps * self.nodes.n_nodes) for column in root[self.data].values()]

    def _checked(self, name: str, values: np.ndarray) -> np.ndarray:
        values = np.asarray(values, dtype=np.float32)
        n_nodes = self.nodes.n_nodes
        if not is_field(values.shape, n_nodes):
            raise OutputError(f"{self.path}: field {name!r} has shape {values.shape}; allowed are {shapes(n_nodes)}")
        return values


WIDTHS = (3, 6, 9)  # components of a vector, a symmetric tensor and a tensor


def is_field(shape: tuple[int, ...], n: int) -> bool:
    """Whether an array of that shape is a field at n points."""
    return shape == (n,) or shape in [(n, width) for width in WIDTHS]


def shapes(n: int) -> str:
    """The shapes of fields at n points, for messages."""
    return ", ".join((f"({n},)", *(f"({n}, {width})" for width in WIDTHS)))


def _digest(nodes: NodeList) -> str:
    digest = hashlib.sha256(repr((nodes.shape, nodes.spacing_m)).encode())
    digest.update(np.ascontiguousarray(nodes.voxel).data)
    return digest.hexdigest()


@dataclass(frozen=True)
class Snapshot:
    """A snapshot in a file of :class:`muphy_lb.output.vtkhdf.VtkHdfSeries`."""

    path: Path  #: the file
    number: int  #: which of its snapshots, from 0
    #: step, time_s: when it was taken
    step: int
    time_s: float
    units: Mapping[str, str]  #: unit of each of its fields by name

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
    """The snapshot of a file that is nearest to a time [s]; without one the last. Raises InputError: the file is none
    that a run has written, or holds no snapshot, or the time lies far from all."""
    try:
        with h5py.File(path, "r") as file:
            times_s = file["VTKHDF/Steps/Values"][: int(file["VTKHDF/Steps"].attrs["NSteps"])]
            steps, cells = file["muphy_lb/step"][:], file["VTKHDF/CellData"]
            units = {name: str(cells[name].attrs.get("unit", "")) for name in cells}
    except (OSError, KeyError) as error:
        raise InputError(f"{path} is not a complete field file of this solver: {error}") from error
    if not times_s.size:
        raise InputError(f"{path} holds no snapshot; let the run come to its end")
    number = times_s.size - 1 if time_s is None else int(np.abs(times_s - time_s).argmin())
    nearest = float(times_s[number])
    if time_s is not None and abs(time_s - nearest) > max(float(np.ptp(times_s)), nearest):
        raise InputError(
            f"{path} has snapshots from {times_s[0]:g} to {times_s[-1]:g} s, far from {time_s:g} s; give a time there"
        )
    return Snapshot(Path(path), number, int(steps[number]), float(times_s[number]), units)
