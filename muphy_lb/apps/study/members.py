"""Members of a study: the case of each, and the folder with its outcome, from which a study that was killed
continues."""

import fcntl
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from muphy_lb.apps.study.discretisation import on_grid
from muphy_lb.apps.study.samplers import Design
from muphy_lb.apps.study.section import GRID, Asked
from muphy_lb.base.errors import InputError
from muphy_lb.base.files.atomic import no_link, output_errors, write_text
from muphy_lb.base.files.sealed import HEADER_BYTES
from muphy_lb.base.key_units import is_number
from muphy_lb.case.case import Case, as_case, digests, is_file_key
from muphy_lb.case.toml import as_override
from muphy_lb.geometry.limits import shown
from muphy_lb.run.checkpoint import keep_only
from muphy_lb.run.folder import CHECKPOINTS, PATTERN, SUMMARY_FILE

FOLDER = "members"
OUTCOME_FILE, CLAIM_FILE, STUDY_FILE = "outcome.json", ".claim", "study.json"
QUIET: Mapping[str, Any] = MappingProxyType(
    {
        **dict.fromkeys(("picture", "report", "vtk"), False),
        **dict.fromkeys(
            ("film", "frames_every_steps", "frames_field", "fields_every_steps", "region_m", "picture_format")
        ),
    }
)
"""Output of a member whose files are not kept."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a member: its answers by name, or the reason of its failure."""

    answers: dict[str, float]
    failure: str = ""
    #: verdict on the flow, where there is one: sound, doubtful, not judged
    verdict: str = ""
    steps: int = 0
    #: time by phase [s], of a pack the share of each member: nodes, set-up, steps, results
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Members:
    """The members of a study and their folders."""

    asked: Asked  #: the study
    design: Design  #: values of all members
    folder: Path  #: the output folder of the study
    model: str = ""  #: qualified name of the function that answers in place of a case; empty for a case

    def values(self, number: int) -> dict[str, Any]:
        """The values of a member by parameter, and ``grid``, voxels along an edge over that of the case, where members
        are on other grids."""
        found = dict(zip(self.design.names, self.design.values[number], strict=True))
        return found | ({GRID: float(self.design.grid[number])} if self.design.has_grids else {})

    def path(self, number: int) -> Path:
        """The folder of a member."""
        return self.folder / FOLDER / f"{number:05d}"

    @property
    def start(self) -> Path | None:
        """The folder of the checkpoint that all members continue from, if the study names one."""
        start = self.asked.section.start
        return None if start is None else self.asked.folder / start / CHECKPOINTS

    def case(self, number: int) -> Case:
        """The case of a member. Raises InputError: the values make no valid case; the message has the member and its
        values."""
        given, changes = self.values(number), {}
        for parameter in self.asked.section.parameters:
            for key in parameter.key:
                value = given[parameter.name]
                changes[key] = _scaled(value, self._base, key) if parameter.relative else value
        try:
            case = as_case(self.asked.case, [as_override(key, value) for key, value in changes.items()])
        except InputError as error:
            told = ", ".join(f"{name} = {shown(value)}" for name, value in given.items())
            raise InputError(
                f"study: member {number} ({told}) is not a valid case; give distributions that stay within what is"
                f" allowed, as with within = [low, high]:\n{error}"
            ) from error
        return on_grid(case, float(self.design.grid[number]))

    def flow_case(self, number: int) -> Case:
        """The case of a member as it is run: without pictures and the like, unless these are kept; where members are
        packed, a steady flow is judged by what belongs to a member alone."""
        case, section = self.case(number), self.asked.section
        if section.pack and case.run.steady_tolerance is not None:
            case = as_case(case, [as_override("run.steady_watch", ["flow_rates"])])
        if section.keep_files:
            return case
        return as_case(case, [as_override(f"output.{name}", value) for name, value in QUIET.items()])

    @cached_property
    def _base(self) -> dict:
        return {} if self.asked.case is None else self.asked.case.model_dump(exclude_none=True)

    @cached_property
    def digest(self) -> str:
        """Text that only the same study has: of its case or function, all values, the contents of the files that these
        name, the flow that they continue from, and whether they are packed, by which a steady flow is judged
        otherwise."""
        case, section = self.asked.case, self.asked.section
        given = [case and case.to_toml(self.folder), self.model, self.design.values.tolist()]
        given += [self.design.grid.tolist()] if self.design.has_grids else []
        given += [self._contents(), section.start, self.start and _newest_header(self.start), bool(section.pack)]
        return hashlib.sha256(json.dumps(given, sort_keys=True, default=str).encode()).hexdigest()

    def _contents(self) -> dict[str, str]:
        """Digests of the files that the case and the values of members name."""
        case = self.asked.case
        if case is None:
            return {}
        keys = {parameter.name: parameter.key for parameter in self.asked.section.parameters}
        columns = [k for k, name in enumerate(self.design.names) if any(is_file_key(key) for key in keys[name])]
        values = {str(value) for value in self.design.values[:, columns].flat}
        return digests(case.files | {value: case.folder / value for value in values})

    def begin(self, overwrite: bool) -> None:
        """Claim the output folder for this study. Raises InputError: it holds members of another study, and these are
        not to be removed; OutputError: it cannot be written."""
        path = self.folder / STUDY_FILE
        found = _read(path).get("digest")
        if found == self.digest and not overwrite:
            return
        if found is not None and not overwrite:
            raise InputError(
                f"{self.folder} holds members of another study: its case, a distribution, the sampler or the contents"
                " of a file have changed; give --overwrite to start again, or another output folder with -o"
            )
        if self.folder.joinpath(FOLDER).exists() and found is None and not overwrite:
            raise InputError(f"{self.folder} holds a folder {FOLDER} of something else; give another folder with -o")
        with output_errors(self.folder):
            for member in self.folder.glob(f"{FOLDER}/*"):
                for name in (OUTCOME_FILE, SUMMARY_FILE):
                    (member / name).unlink(missing_ok=True)
                keep_only((), member / CHECKPOINTS)
        write_text(path, json.dumps({"digest": self.digest, "title": self.asked.title}, indent=1) + "\n")

    def outcome(self, number: int) -> Outcome | None:
        """The outcome of a member; None if it has not ended."""
        found = _read(self.path(number) / OUTCOME_FILE)
        if found.pop("digest", None) != self.digest:
            return None
        return Outcome(**found)

    def keep(self, number: int, outcome: Outcome) -> None:
        """Write the outcome of a member. Raises OutputError: the disk refuses."""
        record = {"digest": self.digest, **vars(outcome)}
        with output_errors(self.path(number)):
            self.path(number).mkdir(parents=True, exist_ok=True)
        write_text(self.path(number) / OUTCOME_FILE, json.dumps(record, indent=1) + "\n")

    def finish(self, number: int, outcome: Outcome) -> None:
        """Write the outcome of a member, and remove its checkpoints unless files are kept. Raises OutputError."""
        self.keep(number, outcome)
        if not self.asked.section.keep_files:
            keep_only((), self.path(number) / CHECKPOINTS)

    @contextmanager
    def claimed(self, number: int) -> Iterator[bool]:
        """Context of work on a member; whether no other process is at it. A claim ends with its process, however that
        ends."""
        path = self.path(number)
        with output_errors(path):
            path.mkdir(parents=True, exist_ok=True)
            file = open(path / CLAIM_FILE, "a", encoding="utf-8", opener=no_link)  # held over the yield
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            yield True

    def outcomes(self) -> list[Outcome | None]:
        """The outcomes of all members, None of those that have not ended."""
        return [self.outcome(number) for number in range(self.design.n_members)]


def _read(path: Path) -> dict:
    """A table of a file; empty without one that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _newest_header(folder: Path) -> str:
    """Name and header, which has a checksum, of the newest checkpoint of a folder; empty without one that can be read,
    which every member has."""
    newest = max(folder.glob(PATTERN), default=None)
    try:
        with open(newest or folder, "rb") as file:
            return f"{file.name} {file.read(HEADER_BYTES)!r}"
    except OSError:
        return ""


def _scaled(factor, table: Mapping, key: str):
    """A value of a case, or all entries of a list, times a factor."""
    found: Any = table
    for part in key.split("."):
        if isinstance(found, list | tuple):
            found = next((entry for entry in found if entry.get("name") == part), None)
        else:
            found = found.get(part) if isinstance(found, Mapping) else None
    values = np.array(found if found is not None else np.nan, dtype=object)
    if not all(is_number(value) and value == value for value in values.ravel()) or not is_number(factor):
        raise InputError(
            f"study: {key} is {shown(found)} in the case, and a relative parameter multiplies a number, or a list of"
            " them, by a number; give it in the case, or leave relative out"
        )
    return np.array(values * factor, dtype=object).tolist()
