"""Sections of the case file about the wall shear stress: parts of the wall, and thresholds of its indices."""

from muphy_lb.case.boundaries import Box, Line
from muphy_lb.case.section import Name, Positive, Section, exactly_one


class WallRegionSection(Section):
    """A part of the wall whose shear stress is summarised by itself, with output.wall_shear: what lies in a box, or
    between two planes across a line."""

    name: Name
    """letters, digits, _ and -, a letter first; the name in every output"""
    box_m: Box | None = None
    """lowest and highest corner [m] of a box"""
    axis_m: Line | None = None
    """first and last point (x, y, z) [m] of a line: what lies between the planes across it through its ends"""
    radius_m: Positive | None = None
    """largest distance from the line [m], with axis_m; without it all between the planes"""

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
    """Thresholds of the indices of the wall shear stress; the area of the wall that is beyond each is told."""

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
