"""The case file's section [age], of the age of the fluid."""

from muphy_lb.case.section import Positive, Section
from muphy_lb.case.usual import Usual, outside

SERIES_FILE = "age.csv"
FILES = (SERIES_FILE,)
FIELD = "age"
OUTPUT_FIELDS = (FIELD,)


class AgeSection(Section):
    """The time since the fluid entered, which the flow carries and diffusion mixes, in age.csv and the field files."""

    schmidt: Positive | None = None
    """viscosity of the case over the diffusivity of the age; 1 without either key"""
    diffusivity_m2_s: Positive | None = None
    """diffusivity of the age [m2/s]"""

    @classmethod
    def rules(cls, given):
        """The keys schmidt and diffusivity_m2_s exclude each other."""
        if given.keys() >= {"schmidt", "diffusivity_m2_s"}:
            yield "has schmidt and diffusivity_m2_s; give one of both"


SECTION = AgeSection

USUAL = (
    Usual(
        "age.diffusivity_m2_s",
        lambda value, setting: outside(0.01, 1e7)(setting.case.fluid.viscosity_m2_s / value, setting),
        "with {value} m2/s the Schmidt number, viscosity over"
        " diffusivity, is that of no fluid (gases: 1, liquids: 1e3): check its unit",
    ),
)
