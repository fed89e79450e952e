"""Particles and bonds from the files that a user names; CSV files with a line of headings are read here."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.waveform import COMMAS
from muphy_lb.case.section import did_you_mean
from muphy_lb.geometry.limits import shown
from muphy_lb.physics.particles.files.extxyz import read_extxyz_particles
from muphy_lb.physics.particles.files.lammps import read_lammps_particles
from muphy_lb.physics.particles.files.table import BondedInteractions, ParticleTable
from muphy_lb.physics.particles.files.text import (
    FileUnits,
    Rows,
    ask_for_text,
    check_reach,
    check_width,
    numbered_lines,
)

CSV, XYZ, LAMMPS = (".csv",), (".xyz", ".extxyz"), (".data", ".lmp")
SUFFIXES = (*CSV, *XYZ, *LAMMPS)  # endings of the files that are read

POSITION = ("x_m", "y_m", "z_m")
VELOCITY = ("vx_m_s", "vy_m_s", "vz_m_s")
PARTICLE_COLUMNS = (*POSITION, "id", *VELOCITY, "kind")
BOND_ENDS = ("id_1", "id_2")
BOND_COLUMNS = (*BOND_ENDS, "kind")


def read_particles(
    path,
    spacing_m: float,
    length_unit_m: float | None = None,
    time_unit_s: float | None = None,
    frame: int = 0,
    velocities: bool = True,
) -> ParticleTable:
    """Particles of a file, by the ending of its name.

    ``.csv``: headings x_m, y_m, z_m, and if wanted id, vx_m_s, vy_m_s, vz_m_s, kind; bonds are in a file of their own
    (:func:`read_bonds`). ``.xyz``, ``.extxyz``: a frame of an extended XYZ file. ``.data``, ``.lmp``: a LAMMPS data
    file with atoms of style atomic, bond, molecular or full.

    Args:
        spacing_m: edge of a voxel, by which a wrong unit of length is noticed [m].
        length_unit_m: metres in a unit of length of the file, such as 1e-10 for angstroms. Needed unless the file
            states it, as CSV files do by their headings and extended XYZ files of this program do.
        time_unit_s: seconds in a unit of time of the file, likewise; needed where the file holds velocities.
        frame: number of the frame of an XYZ file from 0 on; negative ones count from the end.
        velocities: whether velocities are read; those of a file of another program need a unit of time.

    Raises InputError: the file cannot be read, is of another form, or its particles are not sound.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"particles in {path}: unknown ending {shown(suffix)}; {did_you_mean(suffix, SUFFIXES)}")
    units = FileUnits(length_unit_m, time_unit_s)
    if frame != 0 and suffix not in XYZ:
        raise InputError(f"particles in {path}: frame is {frame}; only files {' and '.join(XYZ)} have frames")
    if suffix in CSV:
        units.agreed(FileUnits(1.0, 1.0), path)
        table = _read_csv(path)
    elif suffix in XYZ:
        table = read_extxyz_particles(path, units, frame, velocities)
    else:
        table = read_lammps_particles(path, units, velocities)
    check_reach(table.position_m, spacing_m, table.source)
    return table


def _read_csv(path) -> ParticleTable:
    """Particles of a CSV file: columns x_m, y_m, z_m, and if wanted id, vx_m_s, vy_m_s, vz_m_s, kind, in any order.

    Without a column ``id``, particles are numbered from 0 on in the order of the file. Empty lines and those that start
    with ``#`` are skipped.

    Raises GeometryError: there is no such file, or not enough memory; InputError: a heading that is unknown, missing or
    there twice, a row that has not a value for each heading, or a value that is not what its heading says; and as
    :class:`ParticleTable` does.
    """
    column, rows = _table(path, PARTICLE_COLUMNS, POSITION)
    has_velocities = any(name in column for name in VELOCITY)
    if has_velocities:
        _require(path, column, VELOCITY)
    return ParticleTable(
        id=rows.integers([column["id"]], "the id")[:, 0] if "id" in column else np.arange(len(rows.lines)),
        position_m=rows.reals([column[name] for name in POSITION], "a position"),
        velocity_m_s=rows.reals([column[name] for name in VELOCITY], "a velocity") if has_velocities else None,
        kind=rows.names(column["kind"], "the kind") if "kind" in column else None,
        source=str(path),
        lines=rows.lines,
    )


def read_bonds(path) -> BondedInteractions:
    """Bonds of a CSV file: headings id_1, id_2, and if wanted kind; for :meth:`ParticleTable.with_bonds`. Raises
    GeometryError: there is no such file, or not enough memory; InputError: another ending, and as :func:`_read_csv` for
    particles."""
    suffix = Path(path).suffix.lower()
    if suffix not in CSV:
        raise InputError(f"bonds in {path}: unknown ending {shown(suffix)}; allowed: {', '.join(CSV)}")
    column, rows = _table(path, BOND_COLUMNS, BOND_ENDS)
    ids = rows.integers([column[name] for name in BOND_ENDS], "the id of a bond")
    kind = rows.names(column["kind"], "the kind") if "kind" in column else None
    return BondedInteractions(ids, kind, str(path), rows.lines)


def _table(path, known: Sequence[str], required: Sequence[str]) -> tuple[Mapping[str, int], Rows]:
    """(position of each column by its heading, rows) of a CSV file; one row at least."""
    ask_for_text(path)
    headings: list[str] = []
    lines, table = [], []
    for number, line in numbered_lines(path):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        words = _words(path, number, line)
        if not headings:
            headings = words
            _check_headings(path, number, headings, known)
            continue
        check_width(path, number, words, (len(headings),), ",".join(headings))
        lines.append(number)
        table.append(words)
    _require(path, headings, required)
    if not table:
        raise InputError(f"{path} has headings and no rows; there must be one row or more")
    return {name: column for column, name in enumerate(headings)}, Rows(str(path), lines, table)


def _words(path, number: int, line: str) -> list[str]:
    """The values of a line; InputError where quotation marks or letters are those of no table."""
    try:
        return [word.strip() for word in next(csv.reader([line], strict=True))]
    except csv.Error as error:
        raise InputError(f"{path}, line {number}: {shown(line)} is not a line of CSV ({error})") from error


def _check_headings(path, number: int, headings: Sequence[str], known: Sequence[str]) -> None:
    if len(headings) == 1 and ";" in headings[0]:
        raise InputError(f"{path}, line {number}: {shown(headings[0])}; {COMMAS}")
    for name in headings:
        if name not in known:
            raise InputError(f"{path}, line {number}: unknown heading {shown(name)}; {did_you_mean(name, known)}")
        if headings.count(name) > 1:
            raise InputError(f"{path}, line {number}: the heading {name} is there twice; name each column once")


def _require(path, headings, required: Sequence[str]) -> None:
    missing = [name for name in required if name not in headings]
    if missing:
        raise InputError(
            f"{path} has no column {missing[0]}; its first line must be headings, {', '.join(required)} among them"
        )
