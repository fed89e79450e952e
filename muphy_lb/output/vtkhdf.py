"""Fields over time for ParaView: VTKHDF 2.0, an unstructured grid of voxels, the mesh written once.

Format: VTK file formats documentation, "VTKHDF File Format", version 2.0 (temporal unstructured grid).
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.base.errors import OutputError
from muphy_lb.base.files.atomic import atomic_write, output_errors, reserve_space
from muphy_lb.base.files.hdf5 import opened
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.output.mesh import N_CORNERS, voxel_mesh
from muphy_lb.output.vtkhdf_tables import (
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
            time_s: physical time [s].
            step: time step.
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
        """Write the mesh, the step table and the first snapshot."""
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
        """Write points and cells, one part."""
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
        """Add the values of one field behind those of the completed snapshots."""
        start = int(grid["Steps"].attrs["NSteps"]) * self.nodes.n_nodes
        dataset = grid["CellData"].get(name)
        if dataset is None:
            dataset = self._create_field(grid, name, values)
        dataset.resize(start + len(values), axis=0)
        dataset[start:] = values

    def _create_field(self, grid: h5py.Group, name: str, values: np.ndarray) -> h5py.Dataset:
        """Create an empty growing field and its table of offsets."""
        options = {"rows": chunk_rows(len(values)), "compression": self._compression}
        dataset = create_growing(grid["CellData"], name, values.shape[1:], np.float32, **options)
        dataset.attrs["unit"] = self.units.get(name, "")
        create_growing(grid["Steps/CellDataOffsets"], name, (), np.int64)
        return dataset

    def _kept(self, file: h5py.File) -> Kept:
        """What is kept of an existing file."""
        if "muphy_lb" not in file:
            raise OutputError(f"cannot continue {self.path}: this solver did not write it; move the file away")
        own, grid = file["muphy_lb"], file["VTKHDF"]
        if own.attrs["geometry_digest"] != _digest(self.nodes):
            raise OutputError(
                f"cannot continue {self.path}: it holds {grid['NumberOfCells'][0]} cells of another geometry,"
                f" this run has {self.nodes.n_nodes}; move the file away"
            )
        n_steps, last_step = steps_until(file, self.resume_step)
        tables = [(table, n_steps) for table in (own["step"], *_step_tables(grid))]
        columns = [(column, n_steps * self.nodes.n_nodes) for column in grid["CellData"].values()]
        return Kept(n_steps, last_step, [*tables, *columns])

    def _checked(self, name: str, values: np.ndarray) -> np.ndarray:
        """``values`` as float32; raise OutputError unless there is one row per node."""
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
    """Create the empty tables of where a step begins."""
    for name, width in STATIC_OFFSETS.items():
        create_growing(steps, name, width, np.int64)
    steps.create_group("CellDataOffsets")


def _append_step(file: h5py.File, time_s: float, step: int, names) -> None:
    """Name the snapshot just written in the step table; the count comes last."""
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
    """All datasets with one row per time step."""
    steps = grid["Steps"]
    return [steps[name] for name in ("Values", "NumberOfParts", *STATIC_OFFSETS)] + list(
        steps["CellDataOffsets"].values()
    )


def _digest(nodes: NodeList) -> str:
    """Hexadecimal digest of the nodes and the box, the name of the geometry."""
    digest = hashlib.sha256(repr((nodes.shape, nodes.spacing_m)).encode())
    digest.update(np.ascontiguousarray(nodes.voxel))
    return digest.hexdigest()
