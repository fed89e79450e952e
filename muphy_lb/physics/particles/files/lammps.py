"""Particles of LAMMPS data files: atoms with their velocities, bonds and angles. Source: LAMMPS documentation,
``read_data`` and ``atom_style``."""

import re
from dataclasses import dataclass, field

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.case.section import did_you_mean
from muphy_lb.geometry.limits import shown
from muphy_lb.physics.particles.files.table import BondedInteractions, ParticleTable, no_interactions
from muphy_lb.physics.particles.files.text import FileUnits, Rows, ask_for_text, check_width, numbered_lines

#: Columns of the section Atoms for each style; three whole numbers behind them count periodic images.
STYLES = {
    "atomic": ("id", "type", "x", "y", "z"),
    **dict.fromkeys(("bond", "angle", "molecular"), ("id", "molecule", "type", "x", "y", "z")),
    "charge": ("id", "type", "charge", "x", "y", "z"),
    "full": ("id", "molecule", "type", "charge", "x", "y", "z"),
    "sphere": ("id", "type", "diameter", "density", "x", "y", "z"),
}
N_IMAGES = 3
HYBRID = "hybrid"  # how the name of a style begins that is made of others

LINK_COLUMNS = {
    "Bonds": ("bond", "type", "atom 1", "atom 2"),
    "Angles": ("angle", "type", "atom 1", "atom 2", "atom 3"),
}
VELOCITY_COLUMNS = ("id", "vx", "vy", "vz")
#: The words of the header that say how many lines a section has.
COUNTS = {"Atoms": "atoms", "Velocities": "atoms", "Bonds": "bonds", "Angles": "angles"}
HEADER = re.compile(r"\s*(\d{1,15})\s+(atoms|bonds|angles)\s*")
BOUNDS = re.compile(r"\s*(\S+)\s+(\S+)\s+([xyz])lo\s+([xyz])hi\s*")
#: How the heading of a section looks: words, the first one with a capital.
SECTION = re.compile(r"[A-Z][A-Za-z]*( [A-Z/a-z]+)*")


@dataclass
class _Parsed:
    """The entries found on the way through a file."""

    counts: dict[str, int] = field(default_factory=dict)
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    sections: dict[str, tuple[str, list[int], list[list[str]]]] = field(default_factory=dict)


def read_lammps_particles(path, units: FileUnits, velocities: bool = True) -> ParticleTable:
    """Particles of a data file: sections Atoms, Velocities, Bonds and Angles; others are left out. Without a style
    after the heading Atoms, the columns determine it.

    Kinds are the types of the file, as text. Positions are those of the file: image counts are left out, so bonds may
    lead across a periodic box.

    Args:
        units: what lengths and velocities of the file mean, as far as the caller knows.

    Raises GeometryError: there is no such file, or not enough memory; InputError: no section Atoms or none of a known
    style, lines other than the style or the header says, velocities of other atoms, units that are stated nowhere; and
    as :class:`ParticleTable` does.
    """
    ask_for_text(path)
    parsed = _parse(path)
    if "Atoms" not in parsed.sections:
        raise InputError(f"{path} has no section Atoms; a LAMMPS data file must have one")
    style = _style(path, parsed)
    columns = STYLES[style]
    atoms = _rows(path, parsed, "Atoms", columns, (0, N_IMAGES))
    ids = atoms.integers([0], "the id")[:, 0]
    metres, has_velocities = units.metres(path), velocities and "Velocities" in parsed.sections
    return ParticleTable(
        id=ids,
        position_m=atoms.reals([columns.index(axis) for axis in "xyz"], "a position") * metres,
        velocity_m_s=_velocities(path, parsed, ids, units) if has_velocities else None,
        kind=atoms.names(columns.index("type"), "the type"),
        bond_list=_links(path, parsed, "Bonds"),
        angle_list=_links(path, parsed, "Angles"),
        box_m=metres * np.array([parsed.bounds[axis] for axis in "xyz"]).T if len(parsed.bounds) == 3 else None,
        source=str(path),
        lines=atoms.lines,
    )


def _parse(path) -> _Parsed:
    """Split a file into its header and its sections; the first line is a title."""
    parsed, rows = _Parsed(), None
    for number, line in numbered_lines(path):
        text, _, comment = line.partition("#")
        text = text.strip()
        if number == 1 or not text:
            continue
        if SECTION.fullmatch(text):
            if text in parsed.sections:
                raise InputError(f"{path}, line {number}: a second section {shown(text)}; there must be one")
            rows = parsed.sections[text] = comment.strip(), [], []
        elif rows is None:
            _read_header(path, number, text, parsed)
        else:
            rows[1].append(number)
            rows[2].append(text.split())
    return parsed


def _read_header(path, number: int, text: str, parsed: _Parsed) -> None:
    """Keep a count or the bounds of an axis; other lines of the header are left out."""
    if found := HEADER.fullmatch(text):
        parsed.counts[found[2]] = int(found[1])
    elif found := BOUNDS.fullmatch(text):
        try:
            low, high = float(found[1]), float(found[2])
        except ValueError:
            low, high = np.nan, np.nan
        if found[3] != found[4] or not -np.inf < low < high < np.inf:
            raise InputError(f"{path}, line {number}: {shown(text)}; bounds must be two numbers, the lower one first")
        parsed.bounds[found[3]] = low, high


def _style(path, parsed: _Parsed) -> str:
    """The style of the atoms, as the comment behind their heading names it, or, where it is none, as their columns
    tell: those of different styles with as many have the positions in the same columns."""
    style, _, words = parsed.sections["Atoms"]
    if " " in style and not style.startswith(HYBRID) or not style:
        return _style_of_columns(path, words)
    if style not in STYLES:
        raise InputError(f"{path}: atoms of style {shown(style)}; {did_you_mean(style, tuple(STYLES))}")
    return style


def _style_of_columns(path, words: list[list[str]]) -> str:
    """The style that rows of so many columns are of: with a molecule where the third column holds whole numbers."""
    widths = {len(row) for row in words}
    width = widths.pop() if len(widths) == 1 else 0
    n_images = N_IMAGES * (width > max(map(len, STYLES.values())) or width == len(STYLES["atomic"]) + N_IMAGES)
    counts_images = all(map(_is_whole, (word for row in words for word in row[width - n_images :])))
    fitting = [style for style, columns in STYLES.items() if len(columns) == width - n_images]
    if not fitting or (n_images and not counts_images):
        raise InputError(
            f"{path}: the heading Atoms names no style; write it behind, such as 'Atoms # bond': one of"
            f" {', '.join(STYLES)}"
        )
    has_molecule = all(_is_whole(row[2]) for row in words)
    return next(style for style in fitting if style == "atomic" or ("molecule" in STYLES[style]) == has_molecule)


def _is_whole(word: str) -> bool:
    return re.fullmatch(r"[+-]?\d+", word) is not None


def _rows(path, parsed: _Parsed, name: str, columns: tuple[str, ...], more: tuple[int, ...] = (0,)) -> Rows:
    """The lines of a section, checked against the header and the columns that it must have."""
    _, lines, words = parsed.sections[name]
    stated = parsed.counts.get(COUNTS[name])
    if stated is not None and stated != len(lines):
        raise InputError(f"{path}: section {name} has {len(lines)} lines, and the header says {stated}; correct one")
    for number, row in zip(lines, words, strict=True):
        check_width(path, number, row, tuple(len(columns) + n for n in more), " ".join(columns))
    if len({len(row) for row in words}) > 1:
        raise InputError(f"{path}: some lines of section {name} count images and some do not; all or none must")
    return Rows(str(path), lines, words)


def _velocities(path, parsed: _Parsed, ids: np.ndarray, units: FileUnits) -> np.ndarray:
    """(n, 3) velocities [m/s] in the order of ``ids``."""
    rows = _rows(path, parsed, "Velocities", VELOCITY_COLUMNS)
    own = rows.integers([0], "the id")[:, 0] if rows.lines else np.empty(0, dtype=np.int64)
    if not np.array_equal(np.sort(own), np.sort(ids)):
        raise InputError(
            f"{path}: section Velocities is not of the {len(ids)} atoms of section Atoms; there must be one line for"
            " each of them"
        )
    row_of_id = np.empty(len(ids), dtype=np.int64)
    row_of_id[np.argsort(ids, kind="stable")] = np.argsort(own, kind="stable")
    return rows.reals([1, 2, 3], "a velocity")[row_of_id] * units.metres_per_second(path)


def _links(path, parsed: _Parsed, name: str) -> BondedInteractions:
    """Bonds or angles; none without their section."""
    columns = LINK_COLUMNS[name]
    n_ends = len(columns) - 2
    if name not in parsed.sections:
        if parsed.counts.get(COUNTS[name], 0):
            raise InputError(f"{path}: the header says {parsed.counts[COUNTS[name]]} {COUNTS[name]}; no section {name}")
        return no_interactions(n_ends)
    rows = _rows(path, parsed, name, columns)
    ids = rows.integers(range(2, 2 + n_ends), "the id of an atom")
    return BondedInteractions(ids, rows.names(1, "the type"), str(path), rows.lines)
