"""The section of the case file about the geometry."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from muphy_lb.case.section import Options, Positive, Section, exactly_one
from muphy_lb.geometry.axes import AXES, PERIODIC, periodic_axes
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.quantities import UNIT_WORDS, metres_per_unit, number_in_si


def _length_unit(unit: str | float) -> str | float:
    try:
        metres_per_unit(unit)
    except ValueError as error:
        raise ValueError(f"must be {UNIT_WORDS}") from error
    return unit


Unit = Annotated[str | float, AfterValidator(_length_unit)]


def _axes(value):
    """Axis letters, also joined as "xyz" or "x,y", and one truth value an axis, as a list of letters."""
    if isinstance(value, list | tuple) and all(isinstance(axis, str) for axis in value):
        return value
    try:
        return [axis for axis, repeats in zip(AXES, periodic_axes(value), strict=True) if repeats]
    except GeometryError as error:
        raise ValueError("must be letters out of 'xyz', as in 'xy', or a list of them, as in ['x', 'y']") from error


Axes = Annotated[tuple[Literal["x", "y", "z"], ...], Field(strict=False), BeforeValidator(_axes)]
TWICE = ("unit", "spacing_m", PERIODIC)
"""Keys that readers have as options, too."""


class GeometrySection(Section):
    """Domain of the flow: an image or surface file, or a named shape."""

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
    """axes along which the box repeats, with everything in it: ["x", "y"] or "xy"; else as the shape does"""
    options: Options = {}
    """options of the reader or the shape generator"""

    @classmethod
    def rules(cls, given):
        """Check that one source is given, and that a shape has its voxel edge."""
        yield from exactly_one(given, "file", "shape")
        if "shape" in given and "spacing_m" not in given:
            yield "has a shape but no spacing_m; give the voxel edge [m]"
        options = given.get("options")
        for key in TWICE if isinstance(options, Mapping) else ():
            if given.get(key) and key in options and _meant(key, given[key]) != _meant(key, options[key]):
                there = f"{key} = {shown(given[key])} and options.{key} = {shown(options[key])}"
                yield f"has {there}, which differ; give {key} alone (--set geometry.options.{key}= removes the other)"


def _meant(key: str, value):
    """A value of one of ``TWICE``, however it is written; one that has no meaning stands for itself."""
    with suppress(ValueError):
        if key == PERIODIC:
            return periodic_axes(value)
        if key == "unit":
            return metres_per_unit(value)
        return number_in_si(value, "m") if isinstance(value, str) else value
    return value
