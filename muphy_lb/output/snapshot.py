"""Snapshots read back from the ``.vtkhdf`` files of a run: where its voxels are, and the values of its fields."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.output.mesh import N_CORNERS


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
            shape = tuple(int(n) for n in said["shape_zyx"])
            spacing_m, origin_m = float(said["spacing_m"]), tuple(float(x) for x in said["origin_m"])
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
