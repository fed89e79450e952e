"""The axes of a box, and how users name those along which it repeats. Imported without NumPy, as the case file is."""

import re
from collections.abc import Iterable

from muphy_lb.base.narrow import triple
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import shown

AXES = "xyz"
PERIODIC = "periodic"  # the option of every input that names them


def periodic_axes(value: str | Iterable[str] | Iterable[bool]) -> tuple[bool, bool, bool]:
    """(x, y, z) booleans from such a triple or from axis letters: ``"xz"``, ``"x,z"`` and ``["x", "z"]`` are
    (True, False, True); GeometryError for anything else."""
    letters = re.sub(r"[,\s]", "", value) if isinstance(value, str) else value
    if isinstance(letters, list | tuple) and len(letters) == 3 and all(isinstance(flag, bool) for flag in letters):
        return triple(letters)
    if not isinstance(letters, str | list | tuple) or not all(axis in tuple(AXES) for axis in letters):
        raise GeometryError(f'periodic is {shown(value)}; give letters out of "xyz", such as "xy", or three true/false')
    return triple(axis in letters for axis in AXES)
