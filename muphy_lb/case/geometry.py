"""The section of the case file about the geometry."""

from typing import Annotated, Literal

from pydantic import Field

from muphy_lb.case.section import Options, Positive, Section, exactly_one

Axes = Annotated[tuple[Literal["x", "y", "z"], ...], Field(strict=False)]


class GeometrySection(Section):
    """Where fluid is: an image or surface file, or a named shape."""

    file: str | None = None
    """image, surface or prepared geometry (.h5), relative to the folder of the case file"""
    shape: str | None = None
    """name of an analytic example shape"""
    unit: Literal["m", "cm", "mm", "um"] | None = None
    """unit of a surface's coordinates"""
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
