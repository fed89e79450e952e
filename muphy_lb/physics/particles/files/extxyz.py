"""Trajectories as extended XYZ files: one frame per snapshot, which a crash of the program does not lose.

Sources: libAtoms/extxyz, specification of the format; OVITO user manual, "XYZ file reader".
"""

import logging
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np

from muphy_lb.base.errors import OutputError
from muphy_lb.base.files.atomic import no_link, output_errors, set_aside, write_text
from muphy_lb.physics.particles.files.extxyz_columns import keys_and_values
from muphy_lb.physics.particles.files.snapshot import Snapshot

LOG = logging.getLogger(__name__)
NO_KIND = "X"
"""Species of particles without a kind, as in other programs."""

MAX_LINE = 2**16
"""Longest line of a frame [bytes]."""


@dataclass(frozen=True)
class ExtxyzSeries:
    """An extended XYZ file that grows by one frame at a time and survives crashes and restarts.

    Lengths are in units of ``length_unit_m``, times in units of ``time_unit_s``, velocities in the one over the other.
    Every frame states both units, so that the file can be read back (``read_particles``). Numbers are written in full.

    Attributes:
        path: the file.
        kinds: name of each kind of particle, written as its species.
        length_unit_m: metres in a unit of length of the file; programs of molecular dynamics show lengths near 1 best.
        time_unit_s: seconds in a unit of time of the file.
        resume_step: None starts the file anew; a number keeps the frames of an existing file up to that step. Where
            what is cut away cannot be read, the file as it was found is kept beside it, as ``NAME.damaged``.
        box_m: (2, 3) lowest and highest corner of the box [m], which other programs show as the cell; None for none.
        periodic: along which axes the box repeats.
        last_step: step of the last frame that was kept; None without one.

    Raises:
        OutputError: the file cannot be written; when resuming, it is in other units, or is not of this program.
    """

    path: str | os.PathLike
    kinds: Sequence[str] = ()
    length_unit_m: float = 1.0
    time_unit_s: float = 1.0
    resume_step: int | None = None
    box_m: np.ndarray | None = None
    periodic: Sequence[bool] = (False, False, False)
    last_step: int | None = field(default=None, init=False)

    def __post_init__(self):
        if self.resume_step is None or not Path(self.path).exists():
            write_text(self.path, "")
            return
        end, last_step, is_damaged = self._kept(self.resume_step)
        if is_damaged:
            copy = set_aside(self.path)
            LOG.warning("%s holds text that is no frame; it goes on before that, and is kept as %s", self.path, copy)
        object.__setattr__(self, "last_step", last_step)
        with output_errors(self.path), open(self.path, "r+b", opener=no_link) as file:
            file.truncate(end)

    def append(self, snapshot: Snapshot) -> None:
        """Write one frame; the system has it when this returns. Further scalars of a snapshot are left out.

        Raises:
            OutputError: the file is gone, or the disk refuses; the earlier frames are then still there.
        """
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
        """The second line of a frame."""
        velocity = "" if snapshot.velocity_m_s is None else "velo:R:3:"
        time = float(snapshot.time_s) / self.time_unit_s
        columns = f"Properties=species:S:1:pos:R:3:{velocity}id:I:1"
        return f"{self._cell()}{columns} Time={time!r} step={int(snapshot.step)} {self._units()}"

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
        """One line for each particle."""
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
        rows = zip(species, numbers, ids, strict=True)
        return "".join(f"{name} {' '.join(map(repr, row))} {number}\n" for name, row, number in rows)

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
    """(end [bytes], comment) of each whole frame; a last one that a crash cut short is left out.

    Raises:
        ValueError: what follows is no frame.
    """
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
