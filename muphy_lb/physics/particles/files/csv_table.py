"""Particles and bonds in CSV files with a line of headings."""

import csv
from collections.abc import Mapping, Sequence

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.waveform import COMMAS
from muphy_lb.case.section import did_you_mean
from muphy_lb.geometry.limits import shown
from muphy_lb.physics.particles.files.table import BondedInteractions, ParticleTable
from muphy_lb.physics.particles.files.text import Rows, ask_for_text, check_width, numbered_lines

POSITION = ("x_m", "y_m", "z_m")
VELOCITY = ("vx_m_s", "vy_m_s", "vz_m_s")
PARTICLE_COLUMNS = (*POSITION, "id", *VELOCITY, "kind")
BOND_ENDS = ("id_1", "id_2")
BOND_COLUMNS = (*BOND_ENDS, "kind")


def read_csv_particles(path) -> ParticleTable:
    """Particles of a CSV file: columns x_m, y_m, z_m, and if wanted id, vx_m_s, vy_m_s, vz_m_s, kind, in any order.

    Without a column ``id``, particles are numbered from 0 on in the order of the file. Empty lines and those that start
    with ``#`` are skipped.

    Raises:
        GeometryError: there is no such file, or not enough memory.
        InputError: a heading that is unknown, missing or there twice, a row that has not a value for each heading, or a
            value that is not what its heading says; and as :class:`ParticleTable` does.
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
    """Bonds of a CSV file: columns id_1, id_2, and if wanted kind.

    Raises:
        GeometryError: there is no such file, or not enough memory.
        InputError: as :func:`read_csv_particles` for particles.
    """
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
        raise InputError(f"{path}, line {number}: {shown(line)} is no line of CSV ({error})") from error


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
