"""What all VTKHDF files that grow with a run share: their head, tables of time steps, and how they are continued.

Format: VTK file formats documentation, "VTKHDF File Format", version 2.0.
"""

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.base.errors import OutputError
from muphy_lb.base.files.atomic import DAMAGED, LINK_REMEDY, check_writable, output_errors, reserve_space
from muphy_lb.base.files.hdf5 import opened

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
    """What is kept of a file.

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
