"""The case file: what the user asks for, typed, closed and complete.

A case is a TOML file in SI units (the unit is the suffix of a key). It is checked as a whole: one
:class:`~muphy_lb.base.errors.InputError` lists everything that is wrong, each with its path. ``Case.to_toml`` writes it
back with all defaults filled in, so that every output can carry the case that made it.
"""

import hashlib
import os
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cache
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Annotated

from pydantic import ConfigDict, Field, PrivateAttr, ValidationError, create_model, model_validator

from muphy_lb.base.errors import InputError
from muphy_lb.base.registry import sections
from muphy_lb.case.boundaries import OpeningSection, WallRegionSection, WallSection, WaveformSection
from muphy_lb.case.fluid import AccelerationSection, FlowSection, FluidSection, TurnSection
from muphy_lb.case.geometry import GeometrySection
from muphy_lb.case.lattice import LatticeSection
from muphy_lb.case.output import OutputSection, ProbeSection, SegmentSection, segment_problems
from muphy_lb.case.run import ComputeSection, InitialSection, RunSection
from muphy_lb.case.section import MOST_PROBLEMS, Section, given_tables, given_values
from muphy_lb.case.substances import forget_implied
from muphy_lb.case.toml import as_override, numbers_beyond, override_value, read_toml, toml_lines
from muphy_lb.geometry.limits import cut, shown

FILE_KEY = "file"
"""Keys of files are called so, or end so."""

FREE_TABLES = ("options", "rates")
"""Tables whose keys are not those of a case."""

STUDY = "study"
"""A table beside a case for muphy-lb study, which a single run leaves alone."""

LISTS = ("openings", "walls", "probes", "segments", "wall_regions")
"""Lists of tables that are named, each by a name of its own."""


class _Flow(Section):
    title: str = ""
    """free text"""
    geometry: GeometrySection
    """domain of the flow"""
    openings: Annotated[tuple[OpeningSection, ...], Field(strict=False)] = ()
    """inlets and outlets"""
    walls: Annotated[tuple[WallSection, ...], Field(strict=False)] = ()
    """labelled walls that move, slip, or whose force is wanted"""
    fluid: FluidSection
    """density and viscosity"""
    flow: FlowSection = FlowSection()
    """driving forces of the flow besides openings and walls"""
    initial: InitialSection | None = None
    """initial state of the flow, instead of rest"""


def _physics_key(module: ModuleType):
    """Type and default of the key of a physics: a table, or a list of tables (:mod:`muphy_lb.base.registry`)."""
    # The types are not known before the program runs.
    asked = module.SECTION
    if hasattr(module, "SECTIONS"):
        asked = Annotated[tuple[module.SECTIONS, ...], Field(strict=False)]  # type: ignore[name-defined]
    return asked | None, Field(default=None, description=module.SECTION.__doc__)


_FlowAndPhysics = create_model(
    "_FlowAndPhysics",
    __base__=_Flow,
    **{name: _physics_key(module) for name, module in sections().items()},
)


class Case(_FlowAndPhysics):  # type: ignore[valid-type, misc]  # mypy cannot know the sections from a table
    """A whole case; see the sections for the keys."""

    model_config = ConfigDict(defer_build=False)

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
    segments: Annotated[tuple[SegmentSection, ...], Field(strict=False)] = ()
    """segments of a vessel whose pressure drop is measured"""
    wall_regions: Annotated[tuple[WallRegionSection, ...], Field(strict=False)] = ()
    """parts of the wall whose shear stress is summarised"""

    _folder: Path = PrivateAttr(Path())

    @classmethod
    def rules(cls, given):
        """Names in a list of tables are unique; a lattice velocity has a velocity to refer to."""
        openings, walls = (given_tables(given.get(key)) for key in ("openings", "walls"))
        of_physics = (name for name, module in sections().items() if hasattr(module, "SECTIONS"))
        lists = {name: given_tables(given.get(name)) for name in (*LISTS, *of_physics)}
        for what, tables in lists.items():
            names = Counter(table["name"] for table in tables if isinstance(table.get("name"), str))
            for name, count in names.items():
                if count > 1:
                    yield f"has {count} {what} named {name!r}; give each its own name"
        yield from segment_problems(lists["segments"], lists["probes"])
        if lists["wall_regions"] and not given_values(given.get("output")).get("wall_shear"):
            yield "has wall_regions but no output.wall_shear = true, which they divide; give it, or leave them out"
        for name, module in sections().items():
            if hasattr(module, "rules"):
                yield from module.rules(given)
            output = given_values(given.get("output"))
            wanted = {"fields": output.get("fields", ()), "frames_field": (output.get("frames_field"),)}
            for field in getattr(module, "OUTPUT_FIELDS", ()):
                is_absent = given.get(name) in (None, [], ())  # a table without keys is there
                for key in (key for key, fields in wanted.items() if field in fields and is_absent):
                    yield f"has {field} in output.{key} but no [{name}]"
        lattice = given_values(given.get("lattice"))
        moving = any(opening.keys() & {"velocity_m_s", "flow_rate_m3_s", "mass_flow_kg_s"} for opening in openings)
        moving |= any("velocity_m_s" in wall for wall in walls)
        if "lattice_velocity" in lattice and "reference_velocity_m_s" not in lattice and not moving:
            yield (
                "has lattice.lattice_velocity but no opening and no wall imposes a velocity;"
                " give lattice.reference_velocity_m_s"
            )

    @model_validator(mode="wrap")
    @classmethod
    def _told(cls, data, handler, info):
        """Of a case that is built in Python, ``Case(geometry={...}, fluid={...}, ...)``, an InputError with all
        problems; those who read one tell by themselves."""
        try:
            return handler(data)
        except ValidationError as error:
            if info.context is not None:
                raise
            raise InputError(told_problems("the case", problems_of(error, data))) from error

    @classmethod
    def _words(cls, error):
        """As of any section; of a key of a section that is given without it, where it belongs."""
        places = _places(error["loc"][0]) if error["type"] == "extra_forbidden" and len(error["loc"]) == 1 else []
        return f"is not a section; did you mean {' or '.join(places)}?" if places else super()._words(error)

    def model_post_init(self, context):
        """Keep the folder that the case was read from."""
        self._folder = Path((context or {}).get("folder", ""))

    @property
    def folder(self) -> Path:
        """The folder that files are relative to."""
        return self._folder

    @property
    def waveforms(self) -> dict[str, WaveformSection]:
        """The waveforms of the case by their keys, those of openings and walls by name."""
        found = {f"{key}.waveform": owner.waveform for key, owner in self.waveform_owners.items()}
        return {key: waveform for key, waveform in found.items() if waveform is not None}

    @property
    def waveform_owners(
        self,
    ) -> dict[str, OpeningSection | WallSection | FlowSection | TurnSection | AccelerationSection]:
        """The sections that may have a waveform, by their keys."""
        owners: dict = {f"openings.{section.name}": section for section in self.openings}
        owners |= {f"walls.{section.name}": section for section in self.walls}
        owners |= {"flow": self.flow, "flow.turn": self.flow.turn}
        owners |= {f"flow.accelerations[{k}]": section for k, section in enumerate(self.flow.accelerations)}
        return {key: owner for key, owner in owners.items() if owner is not None}

    @property
    def files(self) -> dict[str, Path]:
        """The files that the case names, by their keys; entries of lists go by name, or by number without one."""
        return {key: self.folder / name for key, name in _named_files(self.model_dump(exclude_none=True))}

    def contents(self) -> dict[str, str]:
        """Digests of the files that the case names, by their keys."""
        return digests(self.files)

    def to_toml(self, folder=None) -> str:
        """The whole case as TOML text, defaults filled in.

        Args:
            folder: folder that the text will be written to; files are then given relative to it.
        """
        table = self.model_dump(exclude_none=True)
        if folder is not None:
            _move_files(table, self.folder, Path(folder))
        return "\n".join(toml_lines(table)) + "\n"


def digests(files: Mapping[str, Path]) -> dict[str, str]:
    """SHA-256 of what files hold; one that cannot be read is left to its reader."""
    found = {}
    for name, path in files.items():
        with suppress(OSError):
            state = path.stat()
            found[name] = _digest(path, state.st_size, state.st_mtime_ns)
    return found


@cache
def _digest(path: Path, size: int, changed_ns: int) -> str:
    """Of one file, which is read again where its size or the time of its last change is another."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def changed_contents(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """In words, the keys of a case whose files hold something else; ``old``, ``new``: digests by key. A file whose
    earlier digest is not known counts as the same."""
    return [f"the contents of {key}" for key, digest in new.items() if old.get(key, digest) != digest]


def _named_files(table: Mapping, above: str = "") -> Iterator[tuple[str, str]]:
    """Keys and names of the files of nested tables."""
    for key, value in table.items():
        place = f"{above}{key}"
        if isinstance(value, Mapping) and key not in FREE_TABLES:
            yield from _named_files(value, f"{place}.")
        for k, entry in enumerate(value if isinstance(value, list | tuple) else ()):
            if isinstance(entry, Mapping):
                name = entry.get("name")
                yield from _named_files(entry, f"{place}.{name}." if name else f"{place}[{k}].")
        if is_file_key(key):
            yield place, value


def is_file_key(key: str) -> bool:
    """Whether a key of the case, dotted or not, names a file."""
    return key.rpartition(".")[2].rpartition("_")[2] == FILE_KEY


def _move_files(table: dict, old: Path, new: Path) -> None:
    """Make every relative file name of nested tables relative to another folder."""
    for key, value in table.items():
        entries = value if isinstance(value, list | tuple) else [value]
        for entry in entries:
            if isinstance(entry, dict) and key not in FREE_TABLES:
                _move_files(entry, old, new)
        if is_file_key(key) and not Path(value).is_absolute():
            table[key] = Path(os.path.relpath(old / value, new)).as_posix()


def _places(key) -> list[str]:
    """Dotted keys of sections that end in a key."""
    kinds = {name: field.annotation for name, field in Case.model_fields.items()}
    tables = {name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Section)}
    return [f"{name}.{key}" for name, table in tables.items() if key in table.all_fields()]


def load_case(path, overrides: Sequence[str] = ()) -> Case:
    """Read a case file.

    Args:
        overrides: ``"section.key=value"`` each, the value in TOML; a single word needs no quotes, and no
            value removes the key.

    Raises:
        InputError: the file cannot be read, or what it says, overrides included, is not a valid case.
    """
    table = read_toml(path)
    table.pop(STUDY, None)
    return _build(table, Path(path).parent, f"case file {path}", overrides)


def _overridden(table: dict, overrides) -> list[str]:
    """Apply the overrides, given as texts or as a dictionary, to a table; what is wrong with them."""
    if isinstance(overrides, Mapping):
        overrides = [as_override(str(key), value) for key, value in overrides.items()]
    # One text would be taken letter by letter.
    is_list = isinstance(overrides, Iterable) and not isinstance(overrides, str)
    if not is_list or not all(isinstance(override, str) for override in overrides):
        raise InputError(
            f"changes of a case are {shown(overrides)}, of type {type(overrides).__name__}; give values by dotted key,"
            " such as {'run.steps': 1000}, or a list of strings, such as ['run.steps=1000']"
        )
    before = deepcopy(table) if overrides else {}
    problems = [problem for override in overrides if (problem := override_value(table, override))]
    if overrides:
        forget_implied(before, table)
    return problems


def as_case(given, overrides: Sequence[str] = ()) -> Case:
    """A case from what a user may hold in its place.

    Args:
        given: a case, the path of its file, or its tables by name.
        overrides: changes of single keys, as of :func:`load_case`, or values by dotted key; None removes a key.

    Raises:
        InputError: it is none of these, or no valid case.
    """
    if isinstance(given, Case) and not overrides:
        return given
    if isinstance(given, str | os.PathLike):
        return load_case(given, overrides)
    if not isinstance(given, Case | Mapping):
        raise InputError(
            f"a case is {shown(given)}, of type {type(given).__name__}; give the path of a case file (TOML), its tables"
            " as a dictionary, or a Case"
        )
    table = given.model_dump(exclude_none=True) if isinstance(given, Case) else deepcopy(dict(given))
    return _build(table, given.folder if isinstance(given, Case) else Path(), "case", overrides)


def case_from_dict(table: Mapping, folder=".") -> Case:
    """A case from nested tables as ``tomllib`` returns them.

    Raises:
        InputError: the tables are not a valid case; all problems are listed.
    """
    return _build(table, Path(folder), "case")


def _build(table, folder: Path, source: str, overrides: Sequence[str] = ()) -> Case:
    case: Case | None = None
    problems = _overridden(table, overrides)[:MOST_PROBLEMS]
    beyond = list(islice(numbers_beyond(table), MOST_PROBLEMS))
    problems += beyond
    try:
        case = None if beyond else Case.model_validate(table, context={"folder": folder})
    except ValidationError as error:
        problems += problems_of(error, table)
    except RecursionError as error:
        raise InputError(f"{source} is nested too deeply; no table of a case lies below more than a few") from error
    if case is None or problems:
        raise InputError(told_problems(source, problems))
    return case


def problems_of(error: ValidationError, table, *within: str) -> list[str]:
    """Problems of raw tables, each with the dotted name of its key; ``within``: keys of ``table`` that lead to what was
    validated."""
    return [f"{_dotted((*within, *e['loc']), table)} {e['msg']}" for e in error.errors(include_url=False)]


def told_problems(source: str, problems: list[str]) -> str:
    """The message of all problems of a source."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return "\n  ".join([f"{source} has {count}:", *problems])


def _dotted(location: tuple, table) -> str:
    """Path of a value as the user writes it: an entry of a list goes by its name, or by its number without one."""
    path = ""
    for key in location:
        try:
            table = table[key]
        except (LookupError, TypeError):
            table = None
        name = table.get("name") if isinstance(table, Mapping) else None
        path += f".{cut(key)}" if isinstance(key, str) else f".{cut(name)}" if isinstance(name, str) else f"[{key}]"
    return path.removeprefix(".") or "the case"


MANY = 8  # differences that are listed


def changed_keys(old: str, new: str, sections: Iterable[str] = ()) -> list[str]:
    """``"section.key was 1, is 2"`` for every key that two cases differ in, ascending.

    Args:
        old: text of the earlier case (TOML, defaults filled in).
        new: text of the later one.
        sections: only keys of these; all if there are none.
    """
    before, now = (_flat(tomllib.loads(text)) for text in (old, new))
    names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    wanted = tuple(f"{section}." for section in sections)
    return [
        f"{name} was {_worded(before, name)}, is {_worded(now, name)}"
        for name in names
        if not wanted or name.startswith(wanted)
    ]


def listed(changes: list[str]) -> str:
    """The first of the differences as text, and how many more there are."""
    more = len(changes) - MANY
    return "; ".join([*changes[:MANY], *([f"and {more} more"] if more > 0 else [])])


def _worded(table: dict, name: str) -> str:
    return repr(table[name]) if name in table else "not given"


def _flat(table, name: str = "") -> dict:
    """Values of a TOML table by dotted key; of lists of tables by the name of the entry, else by its number."""
    pairs = table.items() if isinstance(table, dict) else ((_called(k, entry), entry) for k, entry in enumerate(table))
    found: dict[str, object] = {}
    for key, value in pairs:
        dotted = f"{name}.{key}" if name else str(key)
        is_nested = isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, dict) for v in value))
        found.update(_flat(value, dotted) if is_nested else {dotted: value})
    return found


def _called(number: int, entry) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else str(number)
