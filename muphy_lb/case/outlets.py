"""Sections of outlets that answer their flow."""

from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from muphy_lb.case.section import Positive, Section, whole

MOST_HARMONICS = 200
"""Most harmonics of a Fourier series."""

Amplitudes = Annotated[tuple[float, ...], Field(strict=False)]


EverySteps = Annotated[Literal[1, 2, 4, 8, 16], BeforeValidator(whole)]
"""As :data:`muphy_lb.boundaries.feedback.EVERY`, which a case is read without: it needs NumPy."""


class _Answering(Section):
    """The keys of every outlet with a network behind it."""

    initial_pressure_pa: float | None = None
    """pressure at the start [Pa]; without it flow.reference_pressure_pa"""
    every_steps: EverySteps = 16
    """steps between two updates"""


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
    """A share of what leaves through all outlets with a share."""

    fraction: Annotated[float, Field(gt=0.0, lt=1.0)]
    """share, in the mean over time; those of all outlets must add up to 1"""
