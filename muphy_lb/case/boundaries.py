"""Sections of the case file about boundaries: openings and labelled walls."""

from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from muphy_lb.base.key_units import is_number
from muphy_lb.base.registry import key_classes
from muphy_lb.case.outlets import MOST_HARMONICS, Amplitudes, CoronarySection, FlowSplitSection, WindkesselSection
from muphy_lb.case.section import Direction, Name, OneOf, Positive, Section, Vector, exactly_one


def _of_points(value):
    if isinstance(value, list | tuple) and value and all(map(is_number, value)):
        raise ValueError("must be two points, each a list: [[x, y, z], [x, y, z]]")
    return value


def _two_corners(corners: tuple) -> tuple:
    if len(corners) != 2:
        raise ValueError("must have 2 corners, lowest and highest, of 3 components (x, y, z) each")
    for axis, low, high in zip("xyz", *corners, strict=True):
        if low > high:
            raise ValueError(f"must have the lowest corner first, and its {axis} is {low:g}, above {high:g}")
    return corners


def _two_points(points: tuple) -> tuple:
    if len(points) != 2:
        raise ValueError("must have 2 points, first and last, of 3 components (x, y, z) each")
    return points


Box = Annotated[tuple[Vector, ...], Field(strict=False), BeforeValidator(_of_points), AfterValidator(_two_corners)]
Line = Annotated[tuple[Vector, ...], Field(strict=False), BeforeValidator(_of_points), AfterValidator(_two_points)]


class WaveformSection(Section):
    """A periodic factor of time: a Fourier series, or a CSV table with a line of headings and columns time [s],
    factor."""

    longest = MappingProxyType({"cosine": MOST_HARMONICS, "sine": MOST_HARMONICS})

    file: str | None = None
    """CSV table, relative to the folder of the case file; one period, the last factor equal to the first"""
    period_s: Positive | None = None
    """period of the series [s]"""
    mean: float = 1.0
    """its mean"""
    cosine: Amplitudes = ()
    """amplitudes of cos(2 pi k t / period), k = 1, 2, ..."""
    sine: Amplitudes = ()
    """amplitudes of sin(2 pi k t / period), k = 1, 2, ..."""

    @classmethod
    def rules(cls, given):
        """A table or a series."""
        yield from exactly_one(given, "file", "period_s")
        series = given.get("cosine") or given.get("sine") or given.get("mean", 1.0) != 1.0
        if "file" in given and "period_s" not in given and series:
            yield "has a file and a series; give one of both"


ANSWERING = ("windkessel", "coronary", "flow_split")
CONDITIONS = ("velocity_m_s", "flow_rate_m3_s", "mass_flow_kg_s", "pressure_pa", *ANSWERING)


class _Opening(Section):
    """The keys of an opening that belong to the flow."""

    name: Name
    """letters, digits, _ and -, a letter first; the name in every output"""
    kind: Literal["inlet", "outlet"] | None = None
    """label in reports"""
    centre_m: Vector | None = None
    """point (x, y, z) of the opening plane [m]"""
    normal: Direction | None = None
    """direction (x, y, z) into the fluid"""
    radius_m: Positive | None = None
    """radius around the centre [m]; without it the whole plane"""
    velocity_m_s: float | None = None
    """mean velocity along the normal [m/s]; positive flows in"""
    flow_rate_m3_s: float | None = None
    """volume flow rate along the normal [m3/s]; positive flows in"""
    mass_flow_kg_s: float | None = None
    """mass flow rate along the normal [kg/s]; positive flows in"""
    pressure_pa: float | None = None
    """pressure relative to the reference pressure [Pa]"""
    profile: Annotated[str, OneOf("muphy_lb.boundaries.profiles", "PROFILES", ("measured", "womersley"))] = "plug"
    """velocity over the cross section; not with a pressure; 'womersley': that of a straight vessel of this section,
    with a waveform for each of its harmonics"""
    profile_file: str | None = None
    """CSV table of a measured profile: a line of headings, then distance from the centre [m], velocity (any unit)"""
    waveform: WaveformSection | None = None
    """factor of the value in time"""
    windkessel: WindkesselSection | None = None
    """resistance and compliance behind an outlet"""
    coronary: CoronarySection | None = None
    """coronary bed behind an outlet"""
    flow_split: FlowSplitSection | None = None
    """share of what leaves through all outlets with a share"""
    non_reflecting: bool = False
    """with pressure_pa: waves leave; the pressure is then that of a fluid at rest behind the opening"""

    def given_flow_m3_s(self, density_kg_m3: float) -> float | None:
        """The flow rate that it gives, as volume or mass, along its normal [m3/s]; None if it gives none."""
        if self.mass_flow_kg_s is not None:
            return self.mass_flow_kg_s / density_kg_m3
        return self.flow_rate_m3_s

    @property
    def has_pressure(self) -> bool:
        """Whether it sets the pressure rather than the velocity."""
        return any(value is not None for value in (self.pressure_pa, self.windkessel, self.coronary, self.flow_split))

    @classmethod
    def rules(cls, given):
        """One condition; the geometric part whole or absent; a profile only for a velocity."""
        yield from exactly_one(given, *CONDITIONS)
        answering = [key for key in (*ANSWERING, "non_reflecting") if given.get(key)]
        if "waveform" in given and answering:
            yield f"has a waveform and {answering[0]}, which answers its flow; leave one of them out"
        if given.get("non_reflecting") and "pressure_pa" not in given:
            yield "has non_reflecting but no pressure_pa; give the pressure behind the opening"
        absent = [key for key in ("kind", "centre_m", "normal") if key not in given]
        if absent and given.keys() & {"centre_m", "normal", "radius_m"}:
            yield f"gives part of a position: add {', '.join(absent)}, or leave the position to the geometry"
        pressure = next((key for key in ("pressure_pa", *ANSWERING) if key in given), None)
        if pressure and given.get("profile", "plug") != "plug":
            yield f"has the {given['profile']} profile with {pressure}; a profile needs a velocity or a flow rate"
        if (given.get("profile") == "measured") != ("profile_file" in given):
            yield "needs both or none of profile = 'measured' and profile_file"


class OpeningSection(*key_classes("OpeningKeys"), _Opening):  # type: ignore[misc]  # mypy cannot know bases from a table
    """A place where fluid enters or leaves, and the condition there.

    The geometric part (kind, centre_m, normal, radius_m) is left out where the geometry brings an opening of that name.
    """


class _WallMotion(Section):
    """Which wall it is, and how it moves."""

    name: Name
    """label that the geometry gives, or that box_m makes"""
    box_m: Box | None = None
    """lowest and highest corner [m] of a box whose solid voxels become this wall, but for those of walls before it"""
    velocity_m_s: Vector | None = None
    """velocity (x, y, z) [m/s]"""
    rotation_rad_s: Vector | None = None
    """angular velocity (x, y, z) [rad/s] about centre_m"""
    centre_m: Vector | None = None
    """point (x, y, z) [m] of rotation and torque; without it the middle of the box of voxels"""
    slip: bool = False
    """free slip"""
    waveform: WaveformSection | None = None
    """factor of the velocity in time"""


class WallSection(*key_classes("WallKeys"), _WallMotion):  # type: ignore[misc]  # mypy cannot know bases from a table
    """A labelled wall of the geometry: it may move or slip, and its force and torque are recorded."""

    reference_velocity_m_s: Positive | None = None
    """velocity [m/s] of the drag and lift coefficients"""
    reference_area_m2: Positive | None = None
    """area [m2] of the drag and lift coefficients; in two dimensions width times voxel edge"""
    drag_direction: Direction = (1.0, 0.0, 0.0)
    """direction (x, y, z) of the drag"""
    lift_direction: Direction = (0.0, 1.0, 0.0)
    """direction (x, y, z) of the lift"""

    @classmethod
    def rules(cls, given):
        """A slipping wall does not move; coefficients need velocity and area."""
        yield from super().rules(given)
        if given.get("slip") and given.keys() & {"velocity_m_s", "rotation_rad_s"}:
            yield "slips and moves; a wall along which the fluid slips has no velocity"
        if len(given.keys() & {"reference_velocity_m_s", "reference_area_m2"}) == 1:
            yield "needs both or none of reference_velocity_m_s and reference_area_m2"
        if "waveform" in given and not given.keys() & {"velocity_m_s", "rotation_rad_s"}:
            yield "has a waveform but no velocity_m_s or rotation_rad_s"
