"""Tagged nodes: a text format with the node tags of MUPHY (Bernaschi et al., Comput. Phys. Commun. 180, 2009).

One item per line; ``#`` starts a comment; empty lines are skipped::

    20 12 12 solid            # box nx ny nz and the tag of every voxel not listed
    spacing_m 1e-4            # edge length of a voxel [m]
    origin_m 0 0 0            # optional: x y z of the centre of voxel 0 0 0 [m] (0 0 0)
    periodic xy               # optional: axes along which the box repeats (none)
    3 4 5 fluid               # x y z tag: integer coordinates counted from 0
    0 4 5 inlet:left          # an opening may have a name (inlet, outlet)
    3 9 5 wall:lid            # a wall may have a name, by which a case defines its motion or requests its force

Tags: ``fluid``, ``wall``, ``solid``, ``inlet``, ``outlet``. Inlet and outlet voxels are opening voxels: they lie just
outside the flow. A voxel listed twice is an error. The record of an opening is estimated from its voxels: centre =
their mean, normal = mean direction to the fluid voxels among their 26 neighbours, radius unbounded. Openings are
numbered in the order in which their names first appear.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from muphy_lb.geometry.axes import periodic_axes
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.images.stored import BYTES_OF_TEXT, file_size, read_bytes
from muphy_lb.geometry.limits import BYTES_PER_NODE, ask_for, ask_for_voxels, check_name, shown
from muphy_lb.geometry.openings.carve import with_tagged_openings
from muphy_lb.geometry.slabs import full_array
from muphy_lb.geometry.voxels import (
    FLAG_DTYPE,
    FLUID,
    KINDS,
    MAX_OPENINGS,
    MAX_WALLS,
    SOLID,
    WALL,
    Voxels,
    opening_flag,
    wall_flag,
)

FIXED_TAGS = {"solid": SOLID, "fluid": FLUID, "wall": WALL}
TAGS = (*FIXED_TAGS, *KINDS)
MAX_VOXELS = 2**33  # largest box [voxels = bytes] accepted; a larger one is taken for a mistake

BOX_KEYS = ("spacing_m", "origin_m", "periodic")


@dataclass
class _Content:
    """The parsed content of a file."""

    shape: tuple[int, int, int] | Any = None
    default: int = SOLID
    box: dict = field(default_factory=dict)
    tags: dict = field(default_factory=dict)
    walls: dict = field(default_factory=dict)
    x_y_z_flag: list = field(default_factory=list)

    def read_line(self, words: list[str]) -> None:
        """Parse one line; ValueError if it violates the format."""
        if self.shape is None:
            self._read_header(words)
        elif words[0] in BOX_KEYS:
            self.box[words[0]] = _box_value(words[0], words[1:])
        else:
            self._read_voxel(words)

    def _read_header(self, words: list[str]) -> None:
        if len(words) != 4:
            raise ValueError("the first line must be: nx ny nz default-tag")
        nx, ny, nz = map(_whole, words[:3])
        if min(nx, ny, nz) < 1:
            raise ValueError(f"the box is {nx} x {ny} x {nz}; each count must be above zero")
        if nx * ny * nz > MAX_VOXELS:
            raise ValueError(f"the box is {nx} x {ny} x {nz}; at most {MAX_VOXELS:.1e} voxels are allowed")
        if words[3] not in FIXED_TAGS:
            raise ValueError(f"the default tag is {shown(words[3])}; allowed: {', '.join(FIXED_TAGS)}")
        self.shape, self.default = (nz, ny, nx), FIXED_TAGS[words[3]]

    def _read_voxel(self, words: list[str]) -> None:
        if len(words) != 4:
            raise ValueError(f"{shown(' '.join(words))} is not x y z tag")
        x, y, z = map(_whole, words[:3])
        nz, ny, nx = self.shape
        if not (0 <= x < nx and 0 <= y < ny and 0 <= z < nz):
            raise ValueError(f"voxel ({x}, {y}, {z}) lies outside the box {nx} x {ny} x {nz}, counted from 0")
        self.x_y_z_flag.append((x, y, z, self._flag(words[3])))

    def _flag(self, tag: str) -> int:
        kind, _, name = tag.partition(":")
        if tag in FIXED_TAGS:
            return FIXED_TAGS[tag]
        if kind not in ("wall", *KINDS) or tag.endswith(":"):
            raise ValueError(f"tag {shown(tag)}; allowed: {', '.join(TAGS)}, and inlet:NAME, outlet:NAME or wall:NAME")
        check_name(name or kind, f"the name in the tag {shown(tag)}")
        if kind == "wall":
            return self._new_flag(self.walls, name, wall_flag, MAX_WALLS)
        return self._new_flag(self.tags, tag, opening_flag, MAX_OPENINGS)

    @staticmethod
    def _new_flag(known: dict, tag: str, flag, most: int) -> int:
        if tag not in known:
            if len(known) == most:
                raise ValueError(f"tag {tag!r} is number {most + 1} of its kind; allowed: {most}")
            known[tag] = flag(len(known))
        return known[tag]


def read_tagged(path) -> Voxels:
    """Voxels of a file of tagged nodes; the module's docstring defines the format. Raises GeometryError with the line
    number for a line that violates the format, and for an opening without fluid."""
    content, line_numbers = _Content(), list[int]()
    ask_for(BYTES_OF_TEXT * file_size(path), f"the text of {path}")
    for number, line in enumerate(read_bytes(path).decode("utf-8", "replace").splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            content.read_line(words)
        except ValueError as error:
            raise GeometryError(f"{path}, line {number}: {error}") from error
        line_numbers += [number] * (len(content.x_y_z_flag) - len(line_numbers))
    if content.shape is None:
        raise GeometryError(f"{path} is empty; the first line must be: nx ny nz default-tag")
    if "spacing_m" not in content.box:
        raise GeometryError(f"{path} does not contain its voxel edge; add the line: spacing_m 1e-4, in metres")
    return _voxels(path, content, line_numbers)


def _whole(word: str) -> int:
    """The integer of a word; ValueError for one that is none, or longer than a coordinate can be."""
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", word):
        raise ValueError(f"{shown(word)} is not a whole number")
    return int(word)


def _box_value(key: str, words: list[str]):
    if key == "periodic":
        return periodic_axes("".join(words))
    numbers = tuple(float(word) for word in words)
    needed = 3 if key == "origin_m" else 1
    if len(numbers) != needed:
        raise ValueError(f"{key} has {len(numbers)} numbers; it needs {needed}")
    return numbers if needed == 3 else numbers[0]


def _voxels(path, content: _Content, line_numbers: list[int]) -> Voxels:
    per_voxel = BYTES_PER_NODE if content.default == FLUID else 1
    ask_for_voxels(
        content.shape, per_voxel, f"the box of {path}, of which only {len(content.x_y_z_flag)} voxels are listed"
    )
    flags = full_array(content.shape, content.default, FLAG_DTYPE)
    x, y, z, flag = np.array(content.x_y_z_flag, dtype=np.int64).reshape(-1, 4).T
    _check_duplicates(path, np.ravel_multi_index((z, y, x), content.shape), line_numbers)
    flags[z, y, x] = flag
    voxels = Voxels(flags, **content.box, walls=tuple(content.walls))
    return with_tagged_openings(voxels, content.tags, path)


def _check_duplicates(path, voxel: np.ndarray, line_numbers: list[int]) -> None:
    order = np.argsort(voxel, kind="stable")
    again = order[1:][np.diff(voxel[order]) == 0]
    if again.size:
        raise GeometryError(
            f"{path}, line {line_numbers[again.min()]}: this voxel was listed before; remove one of the two"
        )
