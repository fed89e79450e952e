"""Text tables read without trust: bounded lines, numbers whose errors name the line, units that files do not state."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.limits import ask_for, cut, regular_file, shown
from muphy_lb.geometry.options import LARGEST, SMALLEST

MAX_LINE = 2**16  # longest line [letters]
MAX_WORD = 100  # longest word of a column of names [characters]
BYTES_OF_TEXT = 40  # memory that the words of a text and their numbers take for each of its bytes, at most
MAX_VOXELS = 2**31  # largest distance of a particle from the origin [voxels]


def numbered_lines(path) -> Iterator[tuple[int, str]]:
    """(number from 1 on, text) of the lines of a regular file, read one at a time, whatever ends them (LF, CR LF, CR).
    Raises GeometryError: there is no such file; InputError: it cannot be read, is no text in UTF-8, or has a line that
    no table has."""
    with _readable(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE + 1), ""), 1):
            if len(line) > MAX_LINE:
                raise InputError(f"{path}, line {number}: it is longer than {MAX_LINE} letters: this is not a table")
            yield number, line.rstrip("\n")


def ask_for_text(path) -> None:
    """Ask for the memory that all words of a file take; GeometryError if it is not there."""
    ask_for(BYTES_OF_TEXT * regular_file(path).stat().st_size, f"the text of {path}", "split the file")


@dataclass(frozen=True)
class Rows:
    """Rows of words of a file, all of the same number of words."""

    path: str  #: the file
    lines: Sequence[int]  #: number of the line of each row
    words: Sequence[Sequence[str]]  #: the words of each row

    def reals(self, columns: Sequence[int], what: str) -> np.ndarray:
        """(n, len(columns)) float64; words that say NaN or infinity are numbers here. Raises InputError: a word that is
        no number, or one beyond LARGEST; the message names the line and ``what`` it should be."""
        values = np.stack([self._column(column, float, what) for column in columns], axis=1)
        too_large = np.argwhere(np.isfinite(values) & (np.abs(values) > LARGEST))
        if too_large.size:
            row, column = too_large[0]
            raise InputError(f"{self.location(row)}: {what} is {values[row, column]}; it must be at most {LARGEST:g}")
        return values

    def integers(self, columns: Sequence[int], what: str) -> np.ndarray:
        """(n, len(columns)) int64; InputError for a word that is no whole number below 2^63."""
        return np.stack([self._column(column, int, what) for column in columns], axis=1)

    def names(self, column: int, what: str) -> np.ndarray:
        """(n,) words; InputError for one that is too long for a name."""
        words = [row[column].strip() for row in self.words]
        for row, word in enumerate(words):
            if len(word) > MAX_WORD:
                raise InputError(
                    f"{self.location(row)}: {what} is {shown(word)}; it must have at most {MAX_WORD} characters"
                )
        return np.array(words, dtype=str)

    def location(self, row: int) -> str:
        """Position of a row in the file, for messages."""
        return f"{self.path}, line {self.lines[row]}"

    def _column(self, column: int, kind: type, what: str) -> np.ndarray:
        dtype = np.int64 if kind is int else np.float64
        try:
            return np.array([kind(row[column]) for row in self.words], dtype=dtype)
        except (ValueError, OverflowError):
            row = next(row for row, words in enumerate(self.words) if not _reads_as(words[column], dtype))
        wanted = "a whole number" if kind is int else "a number"
        raise InputError(f"{self.location(row)}: {what} is {shown(self.words[row][column])}; it must be {wanted}")


def check_width(path, number: int, words: Sequence[str], allowed: Sequence[int], meaning: str) -> None:
    """Raise InputError unless a line has one of the allowed numbers of words; ``meaning`` says what they are."""
    if len(words) not in allowed:
        counts = " or ".join(map(str, allowed))
        raise InputError(f"{path}, line {number}: {len(words)} columns; there must be {counts}: {cut(meaning, 300)}")


def check_reach(position_m: np.ndarray, spacing_m: float, source: str) -> None:
    """Raise InputError if a position is too far from the origin to be in any box: the unit of length is wrong.
    Positions that are not finite are left to :class:`~muphy_lb.physics.particles.files.table.ParticleTable`."""
    farthest = np.max(np.abs(position_m), initial=0.0, where=np.isfinite(position_m))
    if farthest > min(LARGEST, MAX_VOXELS * spacing_m):
        raise InputError(
            f"{source}: a particle is {farthest:.3g} m from the origin, {farthest / spacing_m:.3g} voxels of"
            f" {spacing_m:g} m; check the unit of length: no box has more than {MAX_VOXELS:.3g} voxels along an axis"
        )


@contextmanager
def _readable(path) -> Iterator[TextIO]:
    """A regular file of text, open; what goes wrong with it is an InputError."""
    try:
        with open(regular_file(path), encoding="utf-8-sig") as file:
            yield file
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read {path}: it is not text in UTF-8; convert it") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


def _reads_as(word: str, dtype) -> bool:
    try:
        np.array([int(word) if dtype is np.int64 else float(word)], dtype=dtype)
    except (ValueError, OverflowError):
        return False
    return True


@dataclass(frozen=True)
class FileUnits:
    """Units of the numbers of a file; None where they are not stated. Raises InputError: a unit that is no number above
    zero."""

    length_m: float | None = None  #: metres in a unit of length
    time_s: float | None = None  #: seconds in a unit of time; velocities are in units of length over those of time

    def __post_init__(self):
        for name, value in (("length_unit_m", self.length_m), ("time_unit_s", self.time_s)):
            if value is not None and not SMALLEST <= value <= LARGEST:
                raise InputError(f"{name} is {value}; it must be a number above zero, from {SMALLEST:g} to {LARGEST:g}")

    def agreed(self, stated: "FileUnits", path) -> "FileUnits":
        """These units, as the caller gives them, with what a file states of its own where the caller is silent. Raises
        InputError: both are given and differ."""
        pairs = {"length_unit_m": (self.length_m, stated.length_m), "time_unit_s": (self.time_s, stated.time_s)}
        for name, (given, own) in pairs.items():
            if given is not None and own is not None and not np.isclose(given, own, rtol=1e-9, atol=0.0):
                raise InputError(f"{path} states {name} = {own:g}, and {name} = {given:g} is given; leave it out")
        return FileUnits(*(own if given is None else given for given, own in pairs.values()))

    def metres(self, path) -> float:
        """Metres in a unit of length; InputError if it is not stated."""
        if self.length_m is None:
            raise InputError(
                f"{path} does not state its unit of length; give length_unit_m, such as 1e-10 for angstroms, or 1.0 for"
                " metres"
            )
        return self.length_m

    def metres_per_second(self, path) -> float:
        """Metres a second in a unit of velocity; InputError if it is not stated."""
        if self.time_s is None:
            raise InputError(
                f"{path} holds velocities and does not state their unit of time; give time_unit_s, such as 1e-15 for"
                " femtoseconds, or take the velocities out of the file"
            )
        return self.metres(path) / self.time_s
