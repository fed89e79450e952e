"""Sections of the case file about boundaries: openings, their networks, labelled walls, parts of walls, thresholds."""

from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from muphy_lb.base.registry import key_classes
from muphy_lb.case.choice import OneOf
from muphy_lb.case.section import Box, Direction, Line, Name, Positive, Section, Vector, exactly_one, whole
from muphy_lb.case.waveform import MOST_HARMONICS, Amplitudes, WaveformSection

EverySteps = Annotated[Literal[1, 2, 4, 8, 16], BeforeValidator(whole)]
"""As :data:`muphy_lb.boundaries.feedback.EVERY`, which a case is read without: it needs NumPy."""


class _Answering(Section):
    initial_pressure_pa: float | None = None
    """pressure at the start [Pa]; without it flow.reference_pressure_pa"""
    every_steps: EverySteps | None = None
    """steps between two updates; without it up to 16, by which the pressure is late by half a degree of the beat at
    most, or of 2 pi times the shortest time constant"""


class WindkesselSection(_Answering):
    """Resistance and compliance behind an outlet: p = p_distal + Z Q."""

    resistance_pa_s_m3: Positive
    """resistance [Pa s/m3]"""
    compliance_m3_pa: Positive | None = None
    """compliance beside the resistance [m3/Pa]"""
    characteristic_resistance_pa_s_m3: Positive | None = None
    """resistance in front of both [Pa s/m3]"""
    distal_pressure_pa: float = 0.0
    """pressure behind the resistance [Pa]"""

    @classmethod
    def rules(cls, given):
        """The resistance in front needs something to be in front of."""
        if "characteristic_resistance_pa_s_m3" in given and "compliance_m3_pa" not in given:
            yield (
                "has characteristic_resistance_pa_s_m3 but no compliance_m3_pa; give the compliance, or add it to"
                " resistance_pa_s_m3"
            )


class MusclePressureSection(Section):
    """Pressure of the heart muscle, a Fourier series; its mean has no effect."""

    longest = MappingProxyType({"cosine_pa": MOST_HARMONICS, "sine_pa": MOST_HARMONICS})

    period_s: Positive
    """period [s]"""
    cosine_pa: Amplitudes = ()
    """amplitudes of cos(2 pi k t / period), k = 1, 2, ... [Pa]"""
    sine_pa: Amplitudes = ()
    """amplitudes of sin(2 pi k t / period), k = 1, 2, ... [Pa]"""


class CoronarySection(_Answering):
    """A coronary bed behind an outlet."""

    arterial_resistance_pa_s_m3: Positive
    """resistance of the arteries [Pa s/m3]"""
    arterial_compliance_m3_pa: Positive
    """compliance of the arteries [m3/Pa]"""
    microcirculatory_resistance_pa_s_m3: Positive
    """resistance of the microcirculation [Pa s/m3]"""
    myocardial_compliance_m3_pa: Positive
    """compliance of the vessels inside the muscle [m3/Pa]"""
    venous_resistance_pa_s_m3: Positive
    """resistance of the veins [Pa s/m3]"""
    venous_pressure_pa: float = 0.0
    """pressure behind the veins [Pa]"""
    muscle_pressure: MusclePressureSection | None = None
    """pressure of the heart muscle"""


class FlowSplitSection(_Answering):
    """A share of the outflow through all outlets with a share."""

    fraction: Annotated[float, Field(gt=0.0, lt=1.0)]
    """share in the time average; the shares of all outlets must add up to 1"""


ANSWERING = ("windkessel", "coronary", "flow_split")
CONDITIONS = ("velocity_m_s", "flow_rate_m3_s", "mass_flow_kg_s", "pressure_pa", *ANSWERING)


class _Opening(Section):
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
    """mean velocity along the normal [m/s], over the area up to walls that know their place; positive flows in"""
    flow_rate_m3_s: float | None = None
    """volume flow rate along the normal [m3/s]; positive flows in"""
    mass_flow_kg_s: float | None = None
    """mass flow rate along the normal [kg/s]; positive flows in"""
    pressure_pa: float | None = None
    """pressure [Pa]; it includes flow.reference_pressure_pa"""
    profile: Annotated[str, OneOf("muphy_lb.boundaries.profiles", "PROFILES", ("measured", "womersley"))] = "plug"
    """velocity over the cross section; not with a pressure; 'womersley': that of a straight vessel of this section,
    with a waveform for each of its harmonics"""
    profile_file: str | None = None
    """CSV table of a measured profile: a line of headings, then distance from the centre [m] or in the unit that the
    heading names (r [mm]), velocity (any unit)"""
    waveform: WaveformSection | None = None
    """factor of the value in time"""
    windkessel: WindkesselSection | None = None
    """resistance and compliance behind an outlet"""
    coronary: CoronarySection | None = None
    """coronary bed behind an outlet"""
    flow_split: FlowSplitSection | None = None
    """share of the outflow through all outlets with a share"""
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
    """lowest and highest corner [m] of a box whose solid voxels become this wall, except those of earlier walls"""
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


class WallRegionSection(Section):
    """A part of the wall whose shear stress is summarised by itself, with output.wall_shear: what lies in a box, or
    between two planes across a line."""

    name: Name
    """letters, digits, _ and -, a letter first; the name in every output"""
    box_m: Box | None = None
    """lowest and highest corner [m] of a box"""
    axis_m: Line | None = None
    """first and last point (x, y, z) [m] of a line; the part lies between the planes normal to it through its ends"""
    radius_m: Positive | None = None
    """largest distance from the line [m], with axis_m; without it everything between the planes"""

    @classmethod
    def rules(cls, given):
        """A box or a line, which has a length."""
        yield from exactly_one(given, "box_m", "axis_m")
        if "radius_m" in given and "axis_m" not in given:
            yield "has radius_m, which only axis_m reads"
        axis_m = given.get("axis_m")
        if isinstance(axis_m, list | tuple) and len(axis_m) == 2 and list(axis_m[0]) == list(axis_m[1]):
            yield "has an axis_m whose ends are the same point; they must differ"


class WallThresholdsSection(Section):
    """Thresholds of the indices of the wall shear stress; the area of the wall beyond each is reported."""

    low_tawss_pa: Positive = 0.4
    """low time-averaged wall shear stress [Pa]; 0.4 Pa: Malek, Alper, Izumo, JAMA 282, 2035 (1999)"""
    high_osi: Positive = 0.2
    """high oscillatory shear index, at most 0.5; 0.2 is in common use"""
    high_rrt_1_pa: Positive | None = None
    """high relative residence time [1/Pa]; without it that of the two above, 1 / ((1 - 2 OSI) TAWSS)"""
    high_ecap_1_pa: Positive = 1.4
    """high endothelial cell activation potential [1/Pa]; 1.4: Di Achille et al., Proc. R. Soc. A 470 (2014)"""
    high_transwss_pa: Positive | None = None
    """high transverse wall shear stress [Pa]; no value is in common use"""

    @classmethod
    def rules(cls, given):
        """An index of oscillation below one half."""
        high_osi = given.get("high_osi", 0.0)
        if high_osi >= 0.5:
            yield f"has high_osi = {high_osi:g}; the index is at most 0.5: give a smaller one"

    @property
    def rrt_1_pa(self) -> float:
        """The threshold of the relative residence time [1/Pa]."""
        return self.high_rrt_1_pa or 1.0 / ((1.0 - 2.0 * self.high_osi) * self.low_tawss_pa)
