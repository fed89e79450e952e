"""The case file: what the user asks for, typed, closed and complete.

A case is a TOML file in SI units (the unit is the suffix of a key). It is checked as a whole: one
:class:`~muphy_lb.errors.InputError` lists everything that is wrong, each with its path. ``Case.to_toml`` writes it
back with all defaults filled in, so that every output can carry the case that made it.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, NonNegativeInt, PositiveInt, PrivateAttr, ValidationError

from muphy_lb.case.boundaries import OpeningSection, WallSection
from muphy_lb.case.fluid import FlowSection, FluidSection, LatticeSection
from muphy_lb.case.output import OutputSection, ProbeSection
from muphy_lb.case.section import Duration, Options, Positive, Section, exactly_one, given_values
from muphy_lb.case.toml import override_value, read_toml, toml_lines
from muphy_lb.errors import InputError
from muphy_lb.physics.thermal.section import ThermalSection


def _not_empty(values: tuple) -> tuple:
    if not values:
        raise ValueError("must name at least one quantity")
    return values


Axes = Annotated[tuple[Literal["x", "y", "z"], ...], Field(strict=False)]
Watched = Annotated[
    tuple[Literal["mean_speed", "flow_rates", "forces", "permeability", "heat"], ...],
    Field(strict=False),
    AfterValidator(_not_empty),
]
Speeds = Annotated[tuple[Positive, ...], Field(strict=False)]
TEMPERATURE_KEYS = {"temperature_k", "temperature_gradient_k_m", "conductivity_ratio", "thickness_m"}
FILE_KEYS = ("file", "acceleration_file", "profile_file")


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


class ComputeSection(Section):
    """How the flow is computed; it does not change the physics."""

    backend: Literal["auto", "numpy", "cpu", "cuda"] = "auto"
    """what runs the kernels"""
    precision: Literal["fp64", "fp32", "fp16"] = "fp32"
    """type of the stored populations; fp16 is computed with in fp32"""
    streaming: Literal["pull", "push", "aa"] = "pull"
    """gather before or scatter after the collision, or in place, which takes half the memory"""
    order: Literal["lexicographic", "tiles", "curve"] = "lexicographic"
    """how a rank runs through its nodes"""
    transport: Literal["auto", "host", "cuda-aware", "nccl", "peer"] = "auto"
    """how GPUs of different ranks exchange halos; auto takes the fastest that works"""
    partition: str = "auto"
    """how nodes are shared among ranks: a method, a stored partitioning, or auto, the shortest predicted step"""
    rank_speeds: Speeds = ()
    """relative speeds of the ranks, by which nodes are shared; empty if they are equal"""


class RunSection(Section):
    """How long to run, and when to stop early."""

    steps: PositiveInt | None = None
    """number of time steps"""
    time_s: Positive | None = None
    """physical time [s]"""
    wall_time: Duration | None = None
    """clock time HH:MM:SS after which to stop, as a string"""
    ramp_steps: NonNegativeInt = 200
    """steps over which the openings' values rise smoothly from rest; 0 = at once"""
    steady_tolerance: Positive | None = None
    """relative change of the watched quantities per characteristic time below which the run ends"""
    steady_interval_steps: PositiveInt = 200
    """steps between two looks at the change"""
    steady_time_s: Positive | None = None
    """characteristic time [s]; without it the interval between two looks"""
    steady_watch: Watched = ("mean_speed", "flow_rates")
    """what is watched: mean_speed, flow_rates, forces, permeability, heat"""
    check_interval_steps: PositiveInt = 50
    """steps between two checks for divergence and stop requests"""
    max_mach: Positive = 0.5
    """Mach number beyond which the run is refused or stopped"""

    @classmethod
    def rules(cls, given):
        """One length of the run; a characteristic time is that of a criterion."""
        yield from exactly_one(given, "steps", "time_s")
        if "steady_time_s" in given and "steady_tolerance" not in given:
            yield "has steady_time_s but no steady_tolerance"

    @property
    def wall_time_s(self) -> float | None:
        """The wall time in seconds."""
        if self.wall_time is None:
            return None
        hours, minutes, seconds = map(int, self.wall_time.split(":"))
        return 3600.0 * hours + 60.0 * minutes + seconds


class Case(Section):
    """A whole case; see the sections for the keys."""

    title: str = ""
    """free text"""
    geometry: GeometrySection
    """where fluid is"""
    openings: Annotated[tuple[OpeningSection, ...], Field(strict=False)] = ()
    """inlets and outlets"""
    walls: Annotated[tuple[WallSection, ...], Field(strict=False)] = ()
    """labelled walls that move, slip, or whose force is wanted"""
    fluid: FluidSection
    """density and viscosity"""
    flow: FlowSection = FlowSection()
    """what drives the flow besides openings and walls"""
    thermal: ThermalSection | None = None
    """temperature, with it the flow is thermal"""
    lattice: LatticeSection
    """velocity set and time step"""
    compute: ComputeSection = ComputeSection()
    """backend and precision"""
    run: RunSection
    """length of the run"""
    output: OutputSection = OutputSection()
    """files"""
    probes: Annotated[tuple[ProbeSection, ...], Field(strict=False)] = ()
    """points, lines and planes whose flow is recorded"""

    _folder: Path = PrivateAttr(Path())

    @classmethod
    def rules(cls, given):
        """Names of openings, walls and probes are unique; a lattice velocity has a velocity to refer to."""
        openings, walls, probes = (_tables(given.get(key)) for key in ("openings", "walls", "probes"))
        for what, tables in (("openings", openings), ("walls", walls), ("probes", probes)):
            names = Counter(table["name"] for table in tables if isinstance(table.get("name"), str))
            for name, count in names.items():
                if count > 1:
                    yield f"has {count} {what} named {name!r}; give each its own name"
        warm = [table.get("name") for table in (*openings, *walls) if table.keys() & TEMPERATURE_KEYS]
        if warm and not given.get("thermal"):
            yield f"has temperatures at {', '.join(map(str, warm))} but no [thermal]"
        if "temperature" in given_values(given.get("output")).get("fields", ()) and not given.get("thermal"):
            yield "has temperature in output.fields but no [thermal]"
        lattice = given_values(given.get("lattice"))
        moving = any(opening.keys() & {"velocity_m_s", "flow_rate_m3_s", "mass_flow_kg_s"} for opening in openings)
        moving |= any("velocity_m_s" in wall for wall in walls)
        if "lattice_velocity" in lattice and "reference_velocity_m_s" not in lattice and not moving:
            yield (
                "has lattice.lattice_velocity but no opening and no wall imposes a velocity;"
                " give lattice.reference_velocity_m_s"
            )

    @property
    def solids(self) -> dict[str, float]:
        """Walls in whose voxels heat spreads, and their conductivity over that of the fluid."""
        return {wall.name: wall.conductivity_ratio for wall in self.walls if wall.is_solid}

    def model_post_init(self, context):
        """Keep the folder that the case was read from."""
        self._folder = Path((context or {}).get("folder", ""))

    @property
    def folder(self) -> Path:
        """The folder that files are relative to."""
        return self._folder

    def to_toml(self, folder=None) -> str:
        """The whole case as TOML text, defaults filled in.

        Args:
            folder: folder that the text will be written to; files are then given relative to it.
        """
        table = self.model_dump(exclude_none=True)
        if folder is not None:
            _move_files(table, self.folder, Path(folder))
        return "\n".join(toml_lines(table)) + "\n"


def _move_files(table: dict, old: Path, new: Path) -> None:
    """Make every relative file name of nested tables relative to another folder."""
    for key, value in table.items():
        entries = value if isinstance(value, list | tuple) else [value]
        for entry in entries:
            if isinstance(entry, dict) and key not in ("options", "rates"):
                _move_files(entry, old, new)
        if key in FILE_KEYS and not Path(value).is_absolute():
            table[key] = Path(os.path.relpath(old / value, new)).as_posix()


def _tables(entries) -> list[dict]:
    """The given keys of each entry of a list of tables; nothing where it is no list."""
    return [given_values(entry) for entry in entries] if isinstance(entries, list | tuple) else []


def load_case(path, overrides: Sequence[str] = ()) -> Case:
    """Read a case file.

    Args:
        path: the TOML file.
        overrides: ``"section.key=value"`` each, the value in TOML; a single word needs no quotes, and no
            value removes the key.

    Raises:
        InputError: the file cannot be read, or what it says, overrides included, is not a valid case.
    """
    path = Path(path)
    table = read_toml(path)
    problems = [problem for override in overrides if (problem := override_value(table, override))]
    return _build(table, path.parent, f"case file {path}", problems)


def case_from_dict(table: Mapping, folder=".") -> Case:
    """A case from nested tables as ``tomllib`` returns them.

    Raises:
        InputError: the tables are not a valid case; all problems are listed.
    """
    return _build(table, Path(folder), "case", [])


def _build(table: Mapping, folder: Path, source: str, problems: list[str]) -> Case:
    case = None
    try:
        case = Case.model_validate(table, context={"folder": folder})
    except ValidationError as error:
        problems = problems + [f"{_dotted(e['loc'], table)} {e['msg']}" for e in error.errors()]
    if problems:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise InputError("\n  ".join([f"{source} has {count}:", *problems]))
    return case


def _dotted(location: tuple, table) -> str:
    """Path of a value as the user writes it: an entry of a list goes by its name, or by its number without one."""
    path = ""
    for key in location:
        try:
            table = table[key]
        except (LookupError, TypeError):
            table = None
        name = table.get("name") if isinstance(table, Mapping) else None
        path += f".{key}" if isinstance(key, str) else f".{name}" if isinstance(name, str) else f"[{key}]"
    return path.removeprefix(".") or "the case"
