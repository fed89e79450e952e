"""Sections of the case file about the fluid: its viscosity, and what drives it."""

from typing import Annotated

from pydantic import Field

from muphy_lb.base.key_units import is_number
from muphy_lb.base.registry import key_classes
from muphy_lb.case.boundaries import WaveformSection
from muphy_lb.case.section import Direction, Positive, Section, Vector, exactly_one
from muphy_lb.case.substances import SubstanceKeys


def _in_order(given, low: str, high: str):
    values = given.get(low), given.get(high)
    if all(map(is_number, values)) and values[0] > values[1]:
        yield f"has {low} = {values[0]:g} above {high} = {values[1]:g}"


class PowerLawSection(Section):
    """Kinematic viscosity K / rho * (shear rate)^(n - 1), between two bounds."""

    consistency_pa_sn: Positive
    """consistency K [Pa s^n]"""
    index: Positive
    """index n; below 1 the fluid thins under shear"""
    min_viscosity_m2_s: Positive
    """lowest kinematic viscosity [m2/s]"""
    max_viscosity_m2_s: Positive
    """highest kinematic viscosity [m2/s]"""

    @classmethod
    def rules(cls, given):
        """The bounds are in order."""
        yield from _in_order(given, "min_viscosity_m2_s", "max_viscosity_m2_s")


class CarreauYasudaSection(Section):
    """nu_inf + (nu_0 - nu_inf) [1 + (lambda * shear rate)^a]^((n - 1) / a)."""

    zero_viscosity_m2_s: Positive
    """kinematic viscosity nu_0 at rest [m2/s]"""
    infinite_viscosity_m2_s: Positive
    """kinematic viscosity nu_inf at high shear [m2/s]"""
    relaxation_time_s: Positive
    """lambda [s]"""
    transition: Positive = 2.0
    """exponent a; 2 is Carreau's fluid"""
    index: Positive
    """index n"""

    @classmethod
    def rules(cls, given):
        """A thinning fluid is thinner at high shear, a thickening one thicker."""
        plateaus = [given.get(f"{name}_viscosity_m2_s") for name in ("zero", "infinite")]
        if all(map(is_number, (*plateaus, given.get("index")))):
            if (plateaus[0] - plateaus[1]) * (1.0 - given["index"]) < 0.0:
                yield (
                    "has an index below 1 only if zero_viscosity_m2_s is the larger of the two, above 1 if the smaller"
                )


class CassonSection(Section):
    """(sqrt(yield stress / rho) + sqrt(nu_inf * shear rate))^2 / shear rate, up to a bound."""

    yield_stress_pa: Positive
    """yield stress [Pa]"""
    infinite_viscosity_m2_s: Positive
    """kinematic viscosity nu_inf at high shear [m2/s]"""
    max_viscosity_m2_s: Positive
    """highest kinematic viscosity [m2/s]"""

    @classmethod
    def rules(cls, given):
        """The bounds are in order."""
        yield from _in_order(given, "infinite_viscosity_m2_s", "max_viscosity_m2_s")


class _Newtonian(SubstanceKeys):
    density_kg_m3: Positive
    """density [kg/m3]"""
    kinematic_viscosity_m2_s: Positive | None = None
    """kinematic viscosity [m2/s]; of a non-Newtonian fluid a typical one, which fixes the time step"""
    dynamic_viscosity_pa_s: Positive | None = None
    """dynamic viscosity [Pa s], instead of the kinematic one: that times the density"""

    @classmethod
    def rules(cls, given):
        yield from super().rules(given)
        yield from exactly_one(given, "kinematic_viscosity_m2_s", "dynamic_viscosity_pa_s")

    @property
    def viscosity_m2_s(self) -> float:
        """Kinematic viscosity [m2/s], of whichever of the two is given."""
        if self.dynamic_viscosity_pa_s is not None:
            return self.dynamic_viscosity_pa_s / self.density_kg_m3
        return self.kinematic_viscosity_m2_s  # type: ignore[return-value]  # the rules want one of the two


LAWS = frozenset(("power_law", "carreau_yasuda", "casson"))
"""Tables below [fluid] of which one may set the viscosity."""


class FluidSection(*key_classes("FluidKeys"), _Newtonian):  # type: ignore[misc]  # bases are known at run time
    """The fluid."""

    power_law: PowerLawSection | None = None
    """shear-thinning or shear-thickening fluid"""
    carreau_yasuda: CarreauYasudaSection | None = None
    """fluid with two viscosity plateaus, such as blood"""
    casson: CassonSection | None = None
    """fluid with a yield stress, such as blood"""

    @classmethod
    def rules(cls, given):
        """Check that one viscosity law is given."""
        yield from super().rules(given)
        laws = given.keys() & LAWS
        if len(laws) > 1:
            yield f"has {' and '.join(sorted(laws))}; give one law"

    @property
    def law(self) -> str | None:
        """Name of the law that sets the viscosity; None of a Newtonian fluid."""
        return next((name for name in LAWS if getattr(self, name) is not None), None)

    @property
    def largest_viscosity_m2_s(self) -> float:
        """Largest kinematic viscosity [m2/s] that the fluid may have, wherever its shear is."""
        if bounded := self.power_law or self.casson:
            return bounded.max_viscosity_m2_s
        if plateaus := self.carreau_yasuda:
            return max(plateaus.zero_viscosity_m2_s, plateaus.infinite_viscosity_m2_s)
        return self.viscosity_m2_s


class TurnSection(Section):
    """A turn of the acceleration about an axis, as a tank that is tilted sees its gravity. The inertial forces of a
    tank that turns fast are not in it."""

    axis: Direction = (0.0, 0.0, 1.0)
    """axis (x, y, z) of the turn, right-handed"""
    angle_rad: float
    """angle [rad]; what starts in balance with the acceleration starts as if it were 0"""
    waveform: WaveformSection | None = None
    """factor of the angle in time; without it the angle is always the same"""


class AccelerationSection(Section):
    """A further uniform acceleration with its own course in time: a vector with a waveform, or a record. The liquid of
    a tank that is shaken feels the acceleration of the tank with the other sign."""

    acceleration_m_s2: Direction | None = None
    """body force per mass (x, y, z) [m/s2]"""
    waveform: WaveformSection | None = None
    """its factor in time"""
    file: str | None = None
    """CSV table, relative to the case file: a line of headings, then time and acceleration along x, y and z, straight
    between the rows, before and behind them as in the first and last. Each heading may name its unit: time [ms]; else
    the column is in s or m/s2"""

    @classmethod
    def rules(cls, given):
        """A vector with a waveform, or a record."""
        yield from exactly_one(given, "acceleration_m_s2", "file")
        if ("acceleration_m_s2" in given) != ("waveform" in given):
            yield "has no waveform beside its acceleration_m_s2; give both; a constant acceleration belongs in [flow]"


class FlowSection(Section):
    """The drive of the flow besides openings and walls."""

    acceleration_m_s2: Vector = (0.0, 0.0, 0.0)
    """body force per mass (x, y, z) [m/s2]"""
    pressure_drop_pa: Vector = (0.0, 0.0, 0.0)
    """pressure drop over the box along each periodic axis [Pa], carried by an equal body force"""
    reference_pressure_pa: float = 0.0
    """pressure of the fluid at rest [Pa]; the pressures of openings and of outputs include it. The density stays within
    2 % only for pressures near it"""
    acceleration_file: str | None = None
    """further body force per mass [m/s2] at every voxel: .npy array (nz, ny, nx, 3) or, in node order, (n, 3); .vti; or
    .vtkhdf with a field acceleration; relative to the case file"""
    waveform: WaveformSection | None = None
    """factor of acceleration and pressure drop in time; not with acceleration_file"""
    turn: TurnSection | None = None
    """turn of acceleration_m_s2; not with pressure_drop_pa or acceleration_file"""
    accelerations: Annotated[tuple[AccelerationSection, ...], Field(strict=False)] = ()
    """further accelerations, each in a table [[flow.accelerations]], which add up and do not turn; not with
    acceleration_file"""

    @classmethod
    def rules(cls, given):
        """A field does not change with time."""
        drive = (*given.get("acceleration_m_s2", ()), *given.get("pressure_drop_pa", ()))
        if "waveform" in given and not any(drive):
            yield "has a waveform but no acceleration_m_s2 or pressure_drop_pa"
        for words in ("a waveform", "accelerations"):
            if given.get(words.removeprefix("a ")) and "acceleration_file" in given:
                yield f"has {words} and an acceleration_file; a field cannot change with time"
        if "turn" in given and not any(given.get("acceleration_m_s2", ())):
            yield "has a turn but no acceleration_m_s2"
        for other in ("pressure_drop_pa", "acceleration_file"):
            if "turn" in given and any(given.get(other, ())):
                yield f"has a turn and {other}, which does not turn; keep one of them"

    @property
    def not_uniform(self) -> tuple[str, ...]:
        """The keys by which the body force changes in time or from place to place."""
        keys = ("waveform", "turn", "acceleration_file", "accelerations")
        return tuple(f"flow.{key}" for key in keys if getattr(self, key))
