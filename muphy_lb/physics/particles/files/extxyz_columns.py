"""The second line of a frame of an extended XYZ file: keys and values, and what the columns of the frame are.

Sources: libAtoms/extxyz, specification of the format; OVITO user manual, "XYZ file reader".
"""

import re
from collections.abc import Mapping, Sequence

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.limits import shown
from muphy_lb.physics.particles.files.units import FileUnits

PAIR = re.compile(r'([A-Za-z_][\w-]*)\s*=\s*(?:"([^"]*)"|(\S+))')
PLAIN = "species:S:1:pos:R:3"
"""Columns of a plain XYZ file."""

KIND, POSITION, VELOCITY, ID = ("species", "element", "type"), ("pos",), ("velo", "velocities", "vel"), ("id",)
"""Names of the columns that are read, as OVITO and ASE write them."""

MAX_COMPONENTS = 1000
"""Largest number of components of a column."""


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
    """(kind of values and positions of each column by its name, number of words of a row).

    Raises:
        InputError: ``Properties`` is not a list of ``name:S|R|I|L:count``.
    """
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
    """Positions of the first column of one of these names; None without one.

    Raises:
        InputError: it is of another kind, or has another number of components.
    """
    name = next((name for name in names if name in table), None)
    if name is None:
        return None
    kind, positions = table[name]
    if kind not in kinds or len(positions) != count:
        raise InputError(
            f"{location}: Properties says {name}:{kind}:{len(positions)}; allowed: {name}:{'|'.join(kinds)}:{count}"
        )
    return positions
