"""The section of the case file about the geometry."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from muphy_lb.case.section import Options, Positive, Section, exactly_one
from muphy_lb.geometry.quantities import UNIT_WORDS, metres_per_unit


def _length_unit(unit: str | float) -> str | float:
    try:
        metres_per_unit(unit)
    except ValueError as error:
        raise ValueError(f"must be {UNIT_WORDS}") from error
    return unit


Unit = Annotated[str | float, AfterValidator(_length_unit)]
Axes = Annotated[tuple[Literal["x", "y", "z"], ...], Field(strict=False)]


class GeometrySection(Section):
    """Where fluid is: an image or surface file, or a named shape."""

    file: str | None = None
    """image, surface or prepared geometry (.h5), relative to the folder of the case file"""
    shape: str | None = None
    """name of an analytic example shape"""
    unit: Unit | None = None
    """unit of a surface's coordinates: m, cm, mm, um, a length such as "0.2 mm", or a number of metres"""
    spacing_m: Positive | None = None
    """voxel edge [m], for shapes, surfaces and images that bring none"""
    keep: Literal["openings", "largest", "all"] | None = None
    """connected parts to keep; without it: openings if there are any, else all"""
    periodic: Axes = ()
    """axes along which the box repeats"""
    options: Options = {}
    """table handed to the reader or the shape generator"""

    @classmethod
    def rules(cls, given):
        """One source; a shape needs its voxel edge."""
        yield from exactly_one(given, "file", "shape")
        if "shape" in given and "spacing_m" not in given:
            yield "has a shape but no spacing_m; give the voxel edge [m]"
