"""The case file's section [dispersion], of the coefficient of dispersion."""

from typing import Annotated, Literal

from pydantic import Field

from muphy_lb.case.section import Positive, Section

SERIES_FILE = "dispersion.csv"
FILES = (SERIES_FILE,)
MONITORED = {"dispersion": "periodic axis, and [dispersion]"}
MOST = 8


class DispersionSection(Section):
    """How a flow in a periodic box spreads what is dissolved in it along an axis: coefficients, in dispersion.csv."""

    axis: Literal["x", "y", "z"] = "x"
    """axis along which it spreads; the box is periodic there"""
    diffusivities_m2_s: Annotated[tuple[Positive, ...], Field(strict=False, min_length=1, max_length=MOST)]
    """diffusivities [m2/s], one coefficient for each"""
    length_m: Positive | None = None
    """length [m] of the Peclet numbers: a radius, a height, a grain"""


SECTION = DispersionSection
