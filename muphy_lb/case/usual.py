"""Usual values of the keys of a case: rows by which a slip of a unit is noticed before a run.

A row names a key and says when a value of it is unusual, and what it usually is instead. The rows of all cases are in
:mod:`muphy_lb.setup.advice.plausibility`, those of a physics in its ``section.py``.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from muphy_lb.base.errors import InputError
from muphy_lb.case.section import Section

if TYPE_CHECKING:
    from muphy_lb.case.case import Case

ANY = "*"
"""Part of a key that stands for every entry of a list of tables."""

DENSEST_GAS = 100.0
"""Density of gases [kg/m3], above which fluids are liquids."""

BOX_DIAGONALS = 100.0
"""Sizes of the geometry beyond which nothing is placed or measured on purpose."""


@dataclass(frozen=True)
class Setting:
    """The surroundings of a value by which it is judged."""

    case: "Case"  #: the case
    #: low_m, high_m: corners (x, y, z) of the geometry [m]
    low_m: tuple[float, float, float]
    high_m: tuple[float, float, float]
    duration_s: float  #: length of the run [s]
    steps: int  #: its time steps

    @property
    def is_dimensionless(self) -> bool:
        """Whether the units of the case are of its own, as where a voxel or the density is 1."""
        shape_is_counted = self.case.geometry.spacing_m == 1.0
        return self.case.fluid.density_kg_m3 == 1.0 or shape_is_counted

    @property
    def size_m(self) -> float:
        """Diagonal of the geometry [m]."""
        return math.dist(self.low_m, self.high_m)


class Usual(NamedTuple):
    """When a value of a key, ``*`` for every entry of a list, is unusual, and a text that says so and what to do; the
    value in SI stands at ``{value}``."""

    key: str
    is_unusual: Callable[[Any, Setting], bool]
    text: str


def outside(low: float, high: float) -> Callable[[Any, Setting], bool]:
    """Whether the size of a number or a vector in SI, unless it is 0, lies outside bounds."""
    return lambda value, setting: (
        not setting.is_dimensionless and magnitude(value) != 0.0 and not low <= magnitude(value) <= high
    )


def about(*slips: float) -> Callable[[Any, Setting], bool]:
    """Whether the size of a number or a vector in SI is one of these within some percent: a constant in other units."""
    return lambda value, setting: (
        not setting.is_dimensionless and any(math.isclose(magnitude(value), slip, rel_tol=0.02) for slip in slips)
    )


def encloses_all(corners, setting: Setting) -> bool:
    """Whether a box, lowest and highest corner [m], holds the whole geometry."""
    low, high = corners
    below = all(a <= b for a, b in zip(low, setting.low_m, strict=True))
    return below and all(a >= b for a, b in zip(high, setting.high_m, strict=True))


def ends_before(time_s: float, setting: Setting) -> bool:
    """Whether the run ends before a time [s], or a period."""
    return time_s >= setting.duration_s


def magnitude(value) -> float:
    """Size of a number or a vector."""
    return math.hypot(*value) if isinstance(value, tuple) else abs(value)


def values_at(case: "Case", key: str) -> Iterator[tuple[str, Any]]:
    """(dotted key, value) of what a case has at a key; entries of lists go by their names."""
    return _below(case, key.split("."), "")


def _below(table, parts: list[str], path: str) -> Iterator[tuple[str, Any]]:
    if not parts:
        yield path.removeprefix("."), table
        return
    part, *rest = parts
    if part == ANY:
        for number, entry in enumerate(table):
            yield from _below(entry, rest, f"{path}.{getattr(entry, 'name', number)}")
        return
    value = getattr(table, part, None)
    if value is not None:
        yield from _below(value, rest, f"{path}.{part}")


def values_ending(ends: tuple[str, ...], table: Section, path: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, value) of what the tables of a case have, at any depth, at keys that end so, but for defaults."""
    for name, field in type(table).model_fields.items():
        value = getattr(table, name)
        if isinstance(value, Section):
            yield from values_ending(ends, value, f"{path}{name}.")
        elif isinstance(value, tuple) and value and isinstance(value[0], Section):
            for number, entry in enumerate(value):
                yield from values_ending(ends, entry, f"{path}{name}.{getattr(entry, 'name', number)}.")
        elif name.endswith(ends) and value != field.default and not isinstance(value, Mapping):
            yield f"{path}{name}", value


PLACES = ("point_m", "line_m", "plane_m", "axis_m", "centre_m", "position_m", "radius_m", "length_m", "thickness_m")
"""Ends of the names of keys that are positions and lengths in the geometry; boxes reach beyond it on purpose."""

VECTORS = ("_m_s", "_m_s2")
"""Ends of the names of keys that are velocities and accelerations."""


def refuse_out_of_plane(case: "Case") -> None:
    """Raise InputError for a velocity or an acceleration that leaves the plane of a two-dimensional lattice."""
    for key, value in values_ending(VECTORS, case) if case.lattice.name.startswith("D2") else ():
        if isinstance(value, tuple) and value[-1] != 0.0:
            raise InputError(
                f"{key} is {list(value)}, but lattice {case.lattice.name} is two-dimensional; set its z component to 0"
            )


def is_far(value, setting: Setting) -> bool:
    """Whether a length, a point or one of several lies beyond any that the geometry could have."""
    points = value if isinstance(value, tuple) and isinstance(value[0], tuple) else (value,)
    reach = BOX_DIAGONALS * setting.size_m
    if not isinstance(value, tuple):
        return value > reach
    middle = [0.5 * (a + b) for a, b in zip(setting.low_m, setting.high_m, strict=True)]
    return any(math.dist(point, middle) > reach for point in points)


@cache
def kelvins(key: str) -> Usual:
    """A key in kelvins of a fluid that flows: most of its values in degrees Celsius are below 100."""
    told = "no fluid that flows here has {value} K: degrees Celsius are given as '{value} degC'"
    return Usual(key, outside(150.0, 3000.0), told)


def schmidt(key: str) -> Usual:
    """A diffusivity of something dissolved: the Schmidt number of the fluid lies between those of gases and liquids, or
    of liquids alone."""

    def is_unusual(value: float, setting: Setting) -> bool:
        least = 1.0 if setting.case.fluid.density_kg_m3 > DENSEST_GAS else 0.01
        return value > 0.0 and outside(least, 1e7)(setting.case.fluid.viscosity_m2_s / value, setting)

    return Usual(
        key,
        is_unusual,
        "with {value} m2/s the Schmidt number, viscosity over"
        " diffusivity, is that of no fluid (gases: 1, liquids: 1e3): check its unit",
    )
