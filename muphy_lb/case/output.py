"""Sections of the case file about results: what is written, how often, and probes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from pydantic import ConfigDict, Field

from muphy_lb.base.registry import offered
from muphy_lb.case.boundaries import WallThresholdsSection
from muphy_lb.case.choice import KeysOf
from muphy_lb.case.section import (
    AtLeastZero,
    Box,
    Direction,
    Line,
    Name,
    Positive,
    Section,
    Vector,
    did_you_mean,
    exactly_one,
)

STATE_FIELDS = ("density", "velocity", "pressure")
StressName = Literal["stress", "strain_rate", "shear_stress", "shear_rate"]
STRESS_NAMES = get_args(StressName)
GRADIENT = "velocity_gradient"
FLOW_FIELDS = (*STATE_FIELDS, *STRESS_NAMES, GRADIENT)
FIELDS = (*FLOW_FIELDS, *offered("OUTPUT_FIELDS"))
SPEED = "speed"
if TYPE_CHECKING:
    FieldName = str
    ShownField = str
else:  # names that are known only when the program runs
    FieldName = Literal[*FIELDS]
    ShownField = Literal[SPEED, *FIELDS]
FieldNames = Annotated[tuple[FieldName, ...], Field(strict=False)]


class OutputSection(Section):
    """Files of a run, and how often they are written; 0 means only at the end (checkpoints: only when the run is
    stopped early, or its result is doubtful)."""

    model_config = ConfigDict(extra="allow")
    keys_of = KeysOf("muphy_lb.run.observers", "OBSERVERS")

    fields: FieldNames = ("density", "velocity", "pressure")
    """fields in the field files; stress and strain_rate are tensors (xx, yy, zz, xy, yz, zx), shear_stress and
    shear_rate their magnitudes; velocity_gradient has nine components, du_x/dx, du_x/dy and so on"""
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
    """measure the permeability of a flow that a uniform body force drives"""
    picture: bool = True
    """draw pictures at the end"""
    picture_style: Literal["dark", "light"] = "dark"
    """background of the pictures at the end: dark for screens, light for papers"""
    picture_format: Literal["png", "svg", "pdf"] = "png"
    """svg or pdf: the pictures of the end also in that format, beside their PNG, which the report shows"""
    frames_every_steps: AtLeastZero = 0
    """steps between two pictures in the folder frames, all with one scale of colours; 0 for none"""
    frames_field: ShownField | None = None
    """field that they show on a plane; by default the speed, or the picture of a physics"""
    film: bool = False
    """make a film of these pictures at the end, film.gif"""
    vtk: bool = True
    """write files for ParaView"""
    report: bool = True
    """write report.html, one page with case, results and speed; with picture also plots and pictures"""

    @classmethod
    def rules(cls, given):
        """A film has frames; what says which pictures and files are made goes with making them."""
        if given.get("vtk") is False:
            for key in (key for key in ("fields_every_steps", "region_m") if given.get(key)):
                yield (
                    f"has {key} = {json.dumps(given[key])} and vtk = false, which writes no field files; leave one of"
                    f" them out (--set output.{key}= removes it)"
                )
        if given.get("picture") is False and given.get("picture_format", "png") != "png":
            yield (
                f"has picture_format = {json.dumps(given['picture_format'])} and picture = false, which draws no"
                " picture; leave one of them out (--set output.picture_format= removes it)"
            )
        if not given.get("frames_every_steps"):
            for key in (key for key in ("film", "frames_field") if given.get(key)):
                yield (
                    f"has {key} = {json.dumps(given[key])} and no frames_every_steps; give the steps between two"
                    " pictures, such as a fortieth of a beat"
                )


class ProbeSection(Section):
    """A point, a line or a plane whose flow is recorded in probe_NAME.csv every output.series_every_steps steps."""

    name: Name
    """letters, digits, _ and -, a letter first; the name of the file"""
    point_m: Vector | None = None
    """position (x, y, z) [m] of a point: velocity and pressure, interpolated"""
    line_m: Line | None = None
    """first and last point (x, y, z) [m] of a line: velocity and pressure at n_points"""
    n_points: Annotated[int, Field(ge=2, le=1000)] = 20
    """points of a line, evenly spaced; points that lie in solid are not a number"""
    fields: Annotated[tuple[StressName, ...], Field(strict=False)] = ()
    """fields recorded in addition to velocity and pressure"""
    plane_m: Vector | None = None
    """point (x, y, z) [m] of a plane: flow rate, mean pressure, mean and largest speed"""
    normal: Direction | None = None
    """direction (x, y, z) across the plane in which flow counts positive"""
    radius_m: Positive | None = None
    """radius around plane_m [m]; without it the whole plane"""
    branch: Literal["all", "nearest"] = "all"
    """part of the fluid in the plane: nearest takes only the connected piece nearest to plane_m, one branch of a
    vessel"""

    @classmethod
    def rules(cls, given):
        """Check that a probe has one position, and a plane a normal."""
        yield from exactly_one(given, "point_m", "line_m", "plane_m")
        if ("plane_m" in given) != ("normal" in given):
            yield "needs both or none of plane_m and normal"
        if "radius_m" in given and "plane_m" not in given:
            yield "has radius_m, which only plane_m reads"
        if given.get("branch", "all") != "all" and "plane_m" not in given:
            yield "has branch, which only plane_m reads"
        if "n_points" in given and "line_m" not in given and given["n_points"] != cls.model_fields["n_points"].default:
            yield "has n_points, which only line_m reads"


class SegmentSection(Section):
    """A stretch of a vessel between two planes: pressure drop, ratio of pressures (FFR) and flow, in segments.csv and
    the summary."""

    name: Name
    """letters, digits, _ and -, a letter first; the name in every output"""
    proximal: Name
    """name of the probe with plane_m at its upstream end"""
    distal: Name
    """name of the probe with plane_m at its downstream end"""

    @classmethod
    def rules(cls, given):
        """Check that a segment has two planes."""
        if "proximal" in given and given.get("proximal") == given.get("distal"):
            yield f"has proximal and distal {given['distal']!r}; name two different probes"


def segment_problems(segments: Sequence[Mapping], probes: Sequence[Mapping]) -> Iterator[str]:
    """Problems between the tables of segments and those of probes: the ends are probes with a plane."""
    planes = [probe["name"] for probe in probes if "plane_m" in probe and isinstance(probe.get("name"), str)]
    for segment in segments:
        for end in ("proximal", "distal"):
            name = segment.get(end)
            if isinstance(name, str) and name not in planes:
                remedy = did_you_mean(name, planes) if planes else "add [[probes]] with plane_m and normal"
                yield f"has segments.{segment.get('name')}.{end} = {name!r}, not a probe with plane_m; {remedy}"
