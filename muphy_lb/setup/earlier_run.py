"""The last snapshot of the field file of an earlier run (:mod:`muphy_lb.output.vtkhdf`)."""

from pathlib import Path

import h5py
import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.files.hdf5_input import DAMAGE, shown
from muphy_lb.geometry.limits import regular_file
from muphy_lb.setup.other_grid import OtherGrid

ENDING = ".vtkhdf"


def read_snapshot(path: Path, key: str, name: str) -> OtherGrid:
    """One field of the last snapshot of a file.

    Args:
        path: the file.
        key: of the case, for messages.
        name: of the field.

    Raises:
        InputError: this program did not write the file, it is damaged, or holds no such field.
    """
    try:
        with h5py.File(regular_file(path), "r") as file:
            _check_field(file, path, key, name)
            return _grid(file, path, name)
    except DAMAGE as error:
        raise InputError(f"{key}: cannot read {path} ({shown(error)}); give the fields.vtkhdf of a run") from error


def fields_of(path: Path, key: str) -> tuple[str, ...]:
    """Names of the fields of a file.

    Raises:
        InputError: as :func:`read_snapshot`.
    """
    try:
        with h5py.File(regular_file(path), "r") as file:
            return tuple(file["VTKHDF/CellData"])
    except DAMAGE as error:
        raise InputError(f"{key}: cannot read {path} ({shown(error)}); give the fields.vtkhdf of a run") from error


def _check_field(file: h5py.File, path: Path, key: str, name: str) -> None:
    if "muphy_lb" not in file or "spacing_m" not in file["muphy_lb"].attrs:
        raise InputError(f"{key}: {path} is no field file of this program; give the fields.vtkhdf of a run")
    names = tuple(file["VTKHDF/CellData"])
    if name not in names or not int(file["VTKHDF/Steps"].attrs["NSteps"]):
        raise InputError(
            f"{key}: {path} has no snapshot of {name}; it has {', '.join(names) or 'none'}: name it in output.fields of"
            " that run"
        )


def _grid(file: h5py.File, path: Path, name: str) -> OtherGrid:
    grid, own = file["VTKHDF"], file["muphy_lb"].attrs
    n_cells, spacing_m = int(grid["NumberOfCells"][0]), float(own["spacing_m"])
    first = int(grid[f"Steps/CellDataOffsets/{name}"][int(grid["Steps"].attrs["NSteps"]) - 1])
    values = np.asarray(grid[f"CellData/{name}"][first : first + n_cells], dtype=np.float64).reshape(n_cells, -1)
    lowest_corner = grid["Connectivity"][:].reshape(n_cells, -1)[:, 0]
    centre_m = np.asarray(grid["Points"][:], dtype=np.float64)[lowest_corner] + 0.5 * spacing_m
    origin_m = np.asarray(own.get("origin_m", centre_m.min(axis=0)), dtype=np.float64)
    place = np.rint((centre_m - origin_m) / spacing_m).astype(np.int64)
    has_box = "origin_m" in own  # files of earlier versions do not tell where their box begins
    counts = np.array(own["shape_zyx"])[::-1] if has_box else place.max(axis=0) + 1
    return OtherGrid(path, values, place, counts, np.full(3, spacing_m), origin_m)
