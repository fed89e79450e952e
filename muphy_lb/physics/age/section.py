"""The case file's section [age], of the age of the fluid."""

from muphy_lb.case.section import Positive, Section
from muphy_lb.case.usual import schmidt

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
            yield "has schmidt and diffusivity_m2_s; give one of the two"


SECTION = AgeSection

USUAL = (schmidt("age.diffusivity_m2_s"),)
