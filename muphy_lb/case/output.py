"""Sections of the case file about results: what is written, how often, and probes."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from muphy_lb.case.boundaries import Box
from muphy_lb.case.section import Direction, Positive, Section, Vector, exactly_one
from muphy_lb.case.values import AtLeastZero, Name
from muphy_lb.case.wall_regions import WallThresholdsSection
from muphy_lb.physics.table import offered

FLOW_FIELDS = ("density", "velocity", "pressure")
FIELDS = (*FLOW_FIELDS, *offered("OUTPUT_FIELDS"))
if TYPE_CHECKING:
    FieldName = str
else:  # names that are known only when the program runs
    FieldName = Literal[*FIELDS]
FieldNames = Annotated[tuple[FieldName, ...], Field(strict=False)]


class OutputSection(Section):
    """What is written, and how often; 0 means only at the end (checkpoints: only when the run is stopped early)."""

    fields: FieldNames = ("density", "velocity", "pressure")
    """fields in the field files"""
    fields_every_steps: AtLeastZero = 0
    """steps between two field files"""
    region_m: Box | None = None
    """lowest and highest corner [m] of a box; the field files hold only the nodes in it"""
    series_every_steps: AtLeastZero = 100
    """steps between two rows of the time series of openings, walls and probes"""
    checkpoint_every_steps: AtLeastZero = 0
    """steps between two checkpoints"""
    progress_every_s: Positive = 2.0
    """seconds between two progress lines"""
    wall_shear: bool = False
    """write the wall shear stress at the end, and where something is periodic its indices over the last period"""
    wall_thresholds: WallThresholdsSection = WallThresholdsSection()
    """what counts as a low or high index of the wall shear stress"""
    permeability: bool = False
    """tell the permeability of a flow that a uniform body force drives"""
    picture: bool = True
    """draw pictures at the end"""
    picture_style: Literal["dark", "light"] = "dark"
    """ground of the pictures at the end: dark for screens, light for papers"""
    picture_format: Literal["png", "svg", "pdf"] = "png"
    """svg or pdf: the pictures of the end also in that format, beside their PNG, which the report shows"""
    vtk: bool = True
    """write files for ParaView"""
    report: bool = True
    """write report.html, one page with case, results and speed; with picture also plots and pictures"""


class ProbeSection(Section):
    """A point, a line or a plane whose flow is recorded in probe_NAME.csv every output.series_every_steps steps."""

    name: Name
    """letters, digits, _ and -, a letter first; the name of the file"""
    point_m: Vector | None = None
    """place (x, y, z) [m] of a point: velocity and pressure, interpolated"""
    line_m: Box | None = None
    """first and last point (x, y, z) [m] of a line: velocity and pressure at n_points"""
    n_points: Annotated[int, Field(ge=2, le=1000)] = 20
    """points of a line, evenly spaced; points that lie in solid are not a number"""
    plane_m: Vector | None = None
    """point (x, y, z) [m] of a plane: flow rate, mean pressure, mean and largest speed"""
    normal: Direction | None = None
    """direction (x, y, z) across the plane in which flow counts positive"""
    radius_m: Positive | None = None
    """radius around plane_m [m]; without it the whole plane"""

    @classmethod
    def rules(cls, given):
        """One place; a plane has a normal."""
        yield from exactly_one(given, "point_m", "line_m", "plane_m")
        if ("plane_m" in given) != ("normal" in given):
            yield "needs both or none of plane_m and normal"
        if "radius_m" in given and "plane_m" not in given:
            yield "has radius_m, which only plane_m reads"
        if "n_points" in given and "line_m" not in given and given["n_points"] != cls.model_fields["n_points"].default:
            yield "has n_points, which only line_m reads"
