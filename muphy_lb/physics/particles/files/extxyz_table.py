"""Particles of one frame of an XYZ or extended XYZ file."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.limits import ask_for, regular_file, shown
from muphy_lb.physics.particles.files.extxyz_columns import (
    ID,
    KIND,
    POSITION,
    VELOCITY,
    column_table,
    find_column,
    keys_and_values,
    stated_units,
)
from muphy_lb.physics.particles.files.table import ParticleTable
from muphy_lb.physics.particles.files.text import Rows, check_width, numbered_lines
from muphy_lb.physics.particles.files.units import FileUnits

BYTES_PER_ROW = 1000
"""Memory that the words of a row take, about."""


def read_extxyz_particles(path, units: FileUnits, frame: int = 0, velocities: bool = True) -> ParticleTable:
    """Particles of a frame: columns ``pos``, and if the file has them ``species``, ``velo`` and ``id``; others are
    left out. A plain XYZ file has species and positions.

    Files that this program wrote state their units. Without a column ``id``, particles are numbered from 0 on in the
    order of the frame.

    Args:
        path: the file.
        units: what lengths and velocities of the file mean, as far as the caller knows.
        frame: its number from 0 on; negative ones count from the end.
        velocities: whether velocities are read.

    Raises:
        GeometryError: there is no such file, or not enough memory.
        InputError: a frame that is not there or not whole, columns other than ``Properties`` says, units that nobody
            states; and as :class:`ParticleTable` does.
    """
    lines = numbered_lines(path)
    count = _skip_to(path, lines, _from_start(path, frame))
    ask_for(count * BYTES_PER_ROW, f"a frame of {count} particles of {path}", "split the file")
    number, comment = next(lines, (0, ""))
    values, location = keys_and_values(comment), f"{path}, line {number}"
    columns, width = column_table(values, location)
    rows = _rows(path, lines, count, width)
    where = {
        "pos": find_column(columns, POSITION, "R", 3, location),
        "velo": find_column(columns, VELOCITY, "R", 3, location),
        "id": find_column(columns, ID, "I", 1, location),
        "kind": find_column(columns, KIND, "SI", 1, location),
    }
    if where["pos"] is None:
        raise InputError(f"{location}: Properties has no column pos:R:3; it holds the positions")
    units = units.agreed(stated_units(values, location), path)
    velocity = None
    if velocities and where["velo"] is not None:
        velocity = rows.reals(where["velo"], "a velocity") * units.metres_per_second(path)
    return ParticleTable(
        id=rows.integers(where["id"], "the id")[:, 0] if where["id"] else np.arange(count),
        position_m=rows.reals(where["pos"], "a position") * units.metres(path),
        velocity_m_s=velocity,
        kind=rows.names(where["kind"][0], "the species") if where["kind"] else None,
        source=str(path),
        lines=rows.lines,
    )


def _from_start(path, frame: int) -> int:
    """The number of a frame from the start; negative ones count from the end."""
    if frame >= 0:
        return frame
    lines, n_frames = numbered_lines(path), 0
    while (count := _count(path, lines)) is not None:
        _skip(path, lines, count)
        n_frames += 1
    if -frame > n_frames:
        raise InputError(f"{path} has {n_frames} frames; frame {frame} is not among them")
    return n_frames + frame


def _skip_to(path, lines: Iterator[tuple[int, str]], frame: int) -> int:
    """Number of particles of a frame; the lines before its comment are consumed."""
    n_before = 0
    while (count := _count(path, lines)) is not None:
        if n_before == frame:
            return count
        _skip(path, lines, count)
        n_before += 1
    raise InputError(f"{path} has {n_before} frames; frame {frame} is not among them: they count from 0 on")


def _count(path, lines: Iterator[tuple[int, str]]) -> int | None:
    """The number of particles in the first line of a frame; None at the end of the file."""
    number, text = next(((number, text) for number, text in lines if text.strip()), (0, ""))
    if not number:
        return None
    words = text.split()
    if len(words) != 1 or not (words[0].isascii() and words[0].isdecimal()) or len(words[0]) > 15:
        raise InputError(f"{path}, line {number}: {shown(text)}; a frame must begin with its number of particles")
    count, size = int(words[0]), regular_file(path).stat().st_size
    if count > size:
        raise InputError(
            f"{path}, line {number}: a frame of {count} particles, in a file of {size} bytes; it is truncated, or"
            " this is not the number of particles"
        )
    return count


def _skip(path, lines: Iterator[tuple[int, str]], count: int) -> None:
    n_found = sum(1 for _ in islice(lines, count + 1))
    if n_found < count + 1:
        raise InputError(f"{path}: its last frame ends after {max(0, n_found - 1)} of {count} particles; cut it off")


def _rows(path, lines: Iterator[tuple[int, str]], count: int, width: int) -> Rows:
    """The rows of a frame behind its comment."""
    numbers, words = [], []
    for number, text in islice(lines, count):
        numbers.append(number)
        words.append(text.split())
        check_width(path, number, words[-1], (width,), "as Properties says")
    if len(numbers) < count:
        raise InputError(f"{path}: the frame ends after {len(numbers)} of {count} particles; it is truncated")
    return Rows(str(path), numbers, words)
