"""The case file's section [free_surface]."""

import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from muphy_lb.case.section import (
    Box,
    Direction,
    Name,
    Positive,
    Section,
    Vector,
    exactly_one,
    given_values,
    names_given_twice,
)
from muphy_lb.case.usual import Usual, outside
from muphy_lb.geometry.limits import shown
from muphy_lb.output.drawing import frame_files, picture_files

SERIES_FILE = "free_surface.csv"
SURFACE_FILE = "surface.vtkhdf"
GAUGES_FILE = "gauges.csv"
BUBBLES_FILE = "bubbles.csv"
PICTURE_FILE = "surface.png"
FRAMES = frame_files("surface")
WETTED = "wetted"
FILES = (SERIES_FILE, SURFACE_FILE, *picture_files(PICTURE_FILE), FRAMES, GAUGES_FILE, BUBBLES_FILE)
OUTPUT_FIELDS = ("fill", WETTED)
PAPERS = ("schreiber",)


class LiquidSection(Section):
    """A region that is liquid at the start: a box, one sphere or many, all below a level, or an image."""

    box_m: Box | None = None
    """lowest and highest corner [m]"""
    centre_m: Vector | None = None
    """centre of a sphere [m]"""
    radius_m: Positive | None = None
    """radius of the sphere [m]"""
    level_m: float | None = None
    """height of a level surface [m], measured against gravity, or along normal, from the origin of the coordinates"""
    normal: Direction | None = None
    """direction (x, y, z) from the liquid to the gas, of a level that is a plane of its own, as that of a film"""
    spheres_file: str | None = None
    """text file of spheres, a line each: x y z r [m], or x y z with radius_m for all"""
    image_file: str | None = None
    """.npy array (nz, ny, nx) over the voxels of the box: the share that is liquid, 0 to 1, or true and false"""
    velocity_m_s: Vector = (0.0, 0.0, 0.0)
    """velocity [m/s] with which the region starts"""

    @classmethod
    def rules(cls, given):
        """Check that exactly one shape is given."""
        yield from exactly_one(given, "box_m", "centre_m", "spheres_file", "level_m", "image_file")
        if "radius_m" in given and not given.keys() & {"centre_m", "spheres_file"}:
            yield "has a radius_m and neither centre_m nor spheres_file; give the centre of the sphere"
        if "normal" in given and "level_m" not in given:
            yield "has a normal and no level_m; give how far the plane lies along it from the origin"
        if "centre_m" in given and "radius_m" not in given:
            yield "has a centre_m and no radius_m; give both for a sphere"


class GaugeSection(Section):
    """A point over which the level of the liquid is recorded, and its pressure there, in gauges.csv every
    output.series_every_steps steps."""

    name: Name
    """letters, digits, _ and -, a letter first; the beginning of its columns"""
    position_m: Vector
    """point (x, y, z) [m] in the geometry; its level is that of the column along the axis nearest to gravity"""


class SphereSection(Section):
    """A sphere of gas in the liquid of boxes, spheres and levels at the start."""

    centre_m: Vector
    """centre [m]"""
    radius_m: Positive
    """radius [m]"""
    pressure_pa: Positive | None = None
    """absolute pressure [Pa] of the gas in it at the start; without it, that of the liquid around it and of surface
    tension if free_surface.hydrostatic, else free_surface.bubbles.pressure_pa"""


class BubblesSection(Section):
    """Gas that is compressed: in each connected region of gas p V^gamma is kept, with the absolute pressure p. Regions
    that merge add up their gas, one that splits shares it by volume. They are recorded in bubbles.csv every
    output.series_every_steps steps."""

    pressure_pa: Positive
    """absolute pressure [Pa] of the gas that free_surface.gas_pressure_pa, a relative one, stands for: 1e5 in air"""
    gamma: Annotated[float, Field(ge=1.0)] = 1.0
    """exponent: 1 if the temperature of the gas stays, the ratio of its heat capacities if it is compressed quickly"""
    outlets_are_open: bool = True
    """whether gas that reaches an outlet keeps free_surface.gas_pressure_pa"""
    atmosphere_m: Box | None = None
    """lowest and highest corner [m] of a box; gas that reaches into it keeps free_surface.gas_pressure_pa"""
    spheres: Annotated[tuple[SphereSection, ...], Field(strict=False)] = ()
    """spheres of gas in the liquid at the start, each in a table [[free_surface.bubbles.spheres]]"""
    pressure_every_steps: PositiveInt = 1
    """steps between two measurements of the volumes; larger values are faster, but must be small compared with the
    period of a bubble's oscillation"""
    regions_every_steps: PositiveInt = 16
    """steps between two searches for regions that have merged or split; a multiple of pressure_every_steps"""

    @classmethod
    def rules(cls, given):
        """Regions are searched for when volumes are measured."""
        search, measure = (given.get(key) for key in ("regions_every_steps", "pressure_every_steps"))
        search, measure = 16 if search is None else search, 1 if measure is None else measure
        if measure > 0 and search % measure:
            yield (
                f"has regions_every_steps = {search} and pressure_every_steps = {measure}; the first must be a"
                " multiple of the second"
            )


class FreeSurfaceSection(Section):
    """A liquid with a free surface; the rest of the geometry is filled with gas."""

    moved = MappingProxyType({"frames_every_steps": "output.frames_every_steps"})

    liquid: Annotated[tuple[LiquidSection, ...], Field(strict=False)]
    """regions that are liquid at the start, each in a table [[free_surface.liquid]]; they may overlap"""
    surface_tension_n_m: NonNegativeFloat = 0.0
    """surface tension [N/m]"""
    contact_angle_deg: Annotated[float, Field(ge=0.0, le=180.0)] | None = None
    """angle [degrees] between surface and walls, through the liquid, that surface tension draws the surface to; without
    it the liquid keeps the angle at which it arrives"""
    gas_pressure_pa: float = 0.0
    """pressure of the gas [Pa]; as those of openings it includes flow.reference_pressure_pa"""
    hydrostatic: bool = True
    """whether the pressure of the liquid grows with depth at the start; else it is that of the gas"""
    surface_every_steps: NonNegativeInt = 0
    """steps between two snapshots of the surface in surface.vtkhdf; 0 for none"""
    bubbles: BubblesSection | None = None
    """gas that is compressed, in a table [free_surface.bubbles]; else all gas keeps its pressure"""
    gauges: Annotated[tuple[GaugeSection, ...], Field(strict=False)] = ()
    """gauges of level and pressure, each in a table [[free_surface.gauges]]"""

    @classmethod
    def rules(cls, given):
        """There is liquid; a contact angle needs surface tension; gauges have names of their own."""
        if given.get("liquid") in ([], ()):
            yield "has no liquid; give the regions that are liquid at the start in tables [[free_surface.liquid]]"
        if given.get("contact_angle_deg") is not None and not given.get("surface_tension_n_m"):
            yield (
                f"has contact_angle_deg = {shown(given['contact_angle_deg'])} and no surface tension, which alone draws"
                " a surface to an angle; give surface_tension_n_m, or remove contact_angle_deg"
            )
        for name in names_given_twice(given.get("gauges")):
            yield f"has two gauges named {name!r}; give each a name of its own"


SECTION = FreeSurfaceSection


def rules(given: Mapping) -> Iterator[str]:
    """Snapshots of the surface are files for ParaView."""
    every = given_values(given.get("free_surface")).get("surface_every_steps")
    if every and given_values(given.get("output")).get("vtk") is False:
        yield (
            f"has free_surface.surface_every_steps = {every} and output.vtk = false, which writes no surface.vtkhdf;"
            " leave one of them out"
        )


USUAL = (
    Usual(
        "flow.turn.angle_rad",
        lambda angle, setting: setting.case.free_surface is not None and 0.5 * math.pi < abs(angle) <= 2.0 * math.pi,
        "{value} rad turns gravity out of the tank, more than a quarter of a turn; an angle in degrees is given as"
        " '{value} deg'",
    ),
    Usual(
        "free_surface.surface_tension_n_m",
        outside(1e-4, 1.0),
        "no surface has {value} N/m (water: 0.072): a number in mN/m, or dyn/cm, is given as '72 mN/m'",
    ),
    Usual(
        "free_surface.bubbles.pressure_pa",
        outside(1e3, 1e9),
        "{value} Pa is hardly an absolute pressure (air: 1e5): a number in bar is given as '1 bar'",
    ),
)
