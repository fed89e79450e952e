"""Extended XYZ files: a frame is read as particles; a run writes one frame per snapshot, which no crash loses. Sources:
libAtoms/extxyz, specification of the format; OVITO user manual, "XYZ file reader"."""

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from muphy_lb.base.errors import InputError, OutputError
from muphy_lb.base.files.atomic import no_link, output_errors, set_aside, write_text
from muphy_lb.geometry.limits import ask_for, regular_file, shown
from muphy_lb.physics.particles.files.table import ParticleTable, Snapshot
from muphy_lb.physics.particles.files.text import MAX_LINE, FileUnits, Rows, check_width, numbered_lines

PAIR = re.compile(r'([A-Za-z_][\w-]*)\s*=\s*(?:"([^"]*)"|(\S+))')
PLAIN = "species:S:1:pos:R:3"  # columns of a plain XYZ file

#: Names of the columns that are read, as OVITO and ASE write them.
KIND, POSITION, VELOCITY, ID = ("species", "element", "type"), ("pos",), ("velo", "velocities", "vel"), ("id",)
MAX_COMPONENTS = 1000  # largest number of components of a column
BYTES_PER_ROW = 1000  # memory that the words of a row take, about

LOG = logging.getLogger(__name__)
NO_KIND = "X"  # species of particles without a kind, as in other programs


def keys_and_values(comment: str) -> dict[str, str]:
    """Values of a comment line by key, without their quotation marks."""
    return {key: quoted or plain for key, quoted, plain in PAIR.findall(comment)}


def stated_units(values: Mapping[str, str], location: str) -> FileUnits:
    """The units that this program writes into the comment line, each None where it is not there."""
    found = []
    for name in ("length_unit_m", "time_unit_s"):
        try:
            found.append(float(values[name]) if name in values else None)
        except ValueError as error:
            raise InputError(f"{location}: {name} is {shown(values[name])}; it must be a number") from error
    return FileUnits(*found)


def column_table(values: Mapping[str, str], location: str) -> tuple[dict[str, tuple[str, range]], int]:
    """(kind of values and positions of each column by its name, number of words of a row). Raises InputError:
    ``Properties`` is not a list of ``name:S|R|I|L:count``."""
    text = values.get("Properties", PLAIN)
    parts = text.split(":")
    table, width = {}, 0
    for first in range(0, len(parts), 3):
        name, kind, count = (*parts[first : first + 3], "", "")[:3]
        if not name or kind not in tuple("SRIL") or not re.fullmatch("[0-9]{1,4}", count) or name in table:
            raise InputError(
                f"{location}: Properties is {shown(text)}; it must be a list of name:kind:count, such as {PLAIN}, each"
                " name once, kinds S, R, I or L"
            )
        if not 1 <= int(count) <= MAX_COMPONENTS:
            raise InputError(f"{location}: column {shown(name)} has {count} components; allowed: 1 to {MAX_COMPONENTS}")
        table[name] = kind, range(width, width + int(count))
        width += int(count)
    return table, width


def find_column(
    table: Mapping[str, tuple[str, range]], names: Sequence[str], kinds: str, count: int, location: str
) -> range | None:
    """Positions of the first column of one of these names; None without one. Raises InputError: it is of another kind,
    or has another number of components."""
    name = next((name for name in names if name in table), None)
    if name is None:
        return None
    kind, positions = table[name]
    if kind not in kinds or len(positions) != count:
        raise InputError(
            f"{location}: Properties says {name}:{kind}:{len(positions)}; allowed: {name}:{'|'.join(kinds)}:{count}"
        )
    return positions


def read_extxyz_particles(path, units: FileUnits, frame: int = 0, velocities: bool = True) -> ParticleTable:
    """Particles of a frame: columns ``pos``, and if the file has them ``species``, ``velo`` and ``id``; others are
    left out. A plain XYZ file has species and positions.

    Files that this program wrote state their units. Without a column ``id``, particles are numbered from 0 on in the
    order of the frame.

    Args:
        units: what lengths and velocities of the file mean, as far as the caller knows.
        frame: its number from 0 on; negative ones count from the end.

    Raises GeometryError: there is no such file, or not enough memory; InputError: a frame that is not there or not
    whole, columns other than ``Properties`` says, units that are stated nowhere; and as :class:`ParticleTable` does.
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
    numbers, words = [], []
    for number, text in islice(lines, count):
        numbers.append(number)
        words.append(text.split())
        check_width(path, number, words[-1], (width,), "as Properties says")
    if len(numbers) < count:
        raise InputError(f"{path}: the frame ends after {len(numbers)} of {count} particles; it is truncated")
    return Rows(str(path), numbers, words)


@dataclass(frozen=True)
class ExtxyzSeries:
    """An extended XYZ file that grows by one frame at a time and survives crashes and restarts.

    Lengths are in units of ``length_unit_m``, times in units of ``time_unit_s``, velocities in the one over the other.
    Every frame states both units, so that the file can be read back (``read_particles``). Numbers are written in full.

    Raises OutputError: the file cannot be written; when resuming, it is in other units, or is not of this program.
    """

    path: str | os.PathLike  #: the file
    kinds: Sequence[str] = ()  #: name of each kind of particle, written as its species
    #: metres in a unit of length of the file; programs of molecular dynamics show lengths near 1 best
    length_unit_m: float = 1.0
    time_unit_s: float = 1.0  #: seconds in a unit of time of the file
    #: None begins a new file; a number keeps the frames of an existing file up to that step. Where what is cut away
    #: cannot be read, the file as it was found is kept beside it, as ``NAME.damaged``.
    resume_step: int | None = None
    #: (2, 3) lowest and highest corner of the box [m], which other programs show as the cell; None for none
    box_m: np.ndarray | None = None
    periodic: Sequence[bool] = (False, False, False)  #: along which axes the box repeats
    scalars: Sequence[str] = ()  #: names of the further scalars of snapshots that are written, as they are
    last_step: int | None = field(default=None, init=False)  #: step of the last frame that was kept; None without one

    def __post_init__(self):
        if self.resume_step is None or not Path(self.path).exists():
            write_text(self.path, "")
            return
        end, last_step, is_damaged = self._kept(self.resume_step)
        if is_damaged:
            copy = set_aside(self.path)
            LOG.warning(
                "%s ends with text that is not a frame; that is removed, and the file is kept as %s", self.path, copy
            )
        object.__setattr__(self, "last_step", last_step)
        with output_errors(self.path), open(self.path, "r+b", opener=no_link) as file:
            file.truncate(end)

    def append(self, snapshot: Snapshot) -> None:
        """Write one frame; the system has it when this returns. Raises OutputError: the file is gone, or the disk
        refuses; the earlier frames are then still there."""
        text = f"{len(snapshot.id)}\n{self._comment(snapshot)}\n{self._rows(snapshot)}"
        left = memoryview(text.encode())
        with output_errors(self.path), open(self.path, "r+b", buffering=0, opener=no_link) as file:
            end = file.seek(0, os.SEEK_END)
            try:
                while left:
                    left = left[file.write(left) :]
            except OSError:
                file.truncate(end)
                raise

    def _comment(self, snapshot: Snapshot) -> str:
        velocity = "" if snapshot.velocity_m_s is None else "velo:R:3:"
        time = float(snapshot.time_s) / self.time_unit_s
        further = "".join(f":{name}:R:{values.shape[1]}" for name, values in self._further(snapshot).items())
        columns = f"Properties=species:S:1:pos:R:3:{velocity}id:I:1{further}"
        return f"{self._cell()}{columns} Time={time!r} step={int(snapshot.step)} {self._units()}"

    def _further(self, snapshot: Snapshot) -> dict[str, np.ndarray]:
        """(n, k) further scalars by name."""
        n = len(snapshot.id)
        return {name: np.asarray(snapshot.scalars[name], dtype=np.float64).reshape(n, -1) for name in self.scalars}

    def _cell(self) -> str:
        """The box: its edges, its lowest corner, and where it repeats; empty without one."""
        if self.box_m is None:
            return ""
        low, high = np.asarray(self.box_m, dtype=np.float64) / self.length_unit_m
        edges, origin = (" ".join(map(repr, each)) for each in (np.diag(high - low).ravel().tolist(), low.tolist()))
        wraps = " ".join("FT"[bool(one)] for one in self.periodic)
        return f'Lattice="{edges}" Origin="{origin}" pbc="{wraps}" '

    def _units(self) -> str:
        return f"length_unit_m={float(self.length_unit_m)!r} time_unit_s={float(self.time_unit_s)!r}"

    def _rows(self, snapshot: Snapshot) -> str:
        reals = [np.asarray(snapshot.position_m, dtype=np.float64) / self.length_unit_m]
        if snapshot.velocity_m_s is not None:
            velocity_unit_m_s = self.length_unit_m / self.time_unit_s
            reals.append(np.asarray(snapshot.velocity_m_s, dtype=np.float64) / velocity_unit_m_s)
        numbers = np.concatenate(reals, axis=1).tolist()
        if snapshot.kind is None:
            species = [NO_KIND] * len(numbers)
        else:
            species = [self.kinds[number] for number in np.asarray(snapshot.kind).tolist()]
        ids = np.asarray(snapshot.id).tolist()
        further = np.concatenate([np.empty((len(ids), 0)), *self._further(snapshot).values()], axis=1).tolist()
        rows = zip(species, numbers, ids, further, strict=True)
        return "".join(f"{name} {' '.join(map(repr, [*row, number, *more]))}\n" for name, row, number, more in rows)

    def _kept(self, resume_step: int) -> tuple[int, int | None, bool]:
        """(end of the frames that are kept [bytes], step of the last one, whether unreadable bytes follow it)."""
        end, last_step = 0, None
        try:
            for end, last_step in self._frames_to_keep(resume_step):  # noqa: B007
                pass
        except ValueError:
            return end, last_step, True
        return end, last_step, False

    def _frames_to_keep(self, resume_step: int) -> Iterator[tuple[int, int]]:
        """(end [bytes], step) of each frame up to the resume step; ValueError at what is no frame."""
        with output_errors(self.path), open(self.path, "rb", opener=no_link) as file:
            for end, comment in _frames(file):
                step = self._step(comment)
                if step > resume_step:
                    return
                yield end, step

    def _step(self, comment: str) -> int:
        """The step of a frame; OutputError unless this program wrote it in the same units."""
        found = re.search(r"\bstep=(\d{1,18})(?=\s|$)", comment)
        if found is None:
            raise OutputError(f"cannot continue {self.path}: this solver did not write it; move the file away")
        stated = keys_and_values(comment)
        if f"length_unit_m={stated.get('length_unit_m')} time_unit_s={stated.get('time_unit_s')}" != self._units():
            raise OutputError(
                f"cannot continue {self.path}: it has length_unit_m={stated.get('length_unit_m')}"
                f" time_unit_s={stated.get('time_unit_s')}, this run writes {self._units()}; move the file away or"
                " write the same units"
            )
        return int(found[1])


def _frames(file: BinaryIO) -> Iterator[tuple[int, str]]:
    """(end [bytes], comment) of each whole frame; a last one that a crash cut short is left out. Raises ValueError:
    what follows is no frame."""
    while head := file.readline(MAX_LINE):
        if not re.fullmatch(rb"\d{1,15}\n?", head):
            raise ValueError
        lines_end = head.endswith(b"\n")
        comment = b""
        for number in range(int(head) + 1):
            line = file.readline(MAX_LINE)
            lines_end = line.endswith(b"\n")
            if not lines_end:
                break
            comment = comment if number else line
        if not lines_end:
            if len(line) == MAX_LINE:
                raise ValueError
            return
        yield file.tell(), comment.decode(errors="replace").strip()
