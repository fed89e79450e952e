"""Section: the base of the tables of a case file, and the types of their values.

A section reports everything that is wrong with it at once, as text for the user: pydantic checks each value, the
section's own ``rules`` what must hold between keys. The name of a key ends in its SI unit; a string with another unit
of the same dimension (``radius_m = "0.2 mm"``) is converted.
"""

import ast
import inspect
import json
import math
import re
import reprlib
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import time
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from muphy_lb.base.errors import InputError
from muphy_lb.base.key_units import is_number, name_without_unit, unit_of
from muphy_lb.case.choice import KeysOf
from muphy_lb.geometry.limits import MAX_SHOWN, NAME, NAME_WORDS, shown
from muphy_lb.geometry.quantities import in_si, is_quantity

SMALLEST = 1e-30
"""Smallest number that is to be positive: the square of a smaller one may be zero."""

MOST_PROBLEMS = 20
"""Problems of a case that one message lists: more are the same mistake, or no case file."""

MOST_ENTRIES = 1000
"""Most entries of a list in a case, unless its section says otherwise: more belong into a file, or are a mistake."""

AS_NEAR = 0.05
"""Difference of likeness up to which two names are as near to a third."""

ALIKE = 0.8
"""Likeness of two names above which they are one name and a slip."""

_WORDED = "worded"  # type of the validation errors that already carry the text for the user


def _three_components(vector: tuple[float, ...]) -> tuple[float, ...]:
    if len(vector) != 3:
        raise ValueError("must have 3 components (x, y, z)")
    return vector


def _non_zero(vector: tuple[float, ...]) -> tuple[float, ...]:
    if not any(vector):
        raise ValueError("must not be the zero vector")
    return vector


def _not_tiny(value: float) -> float:
    if value < SMALLEST:
        raise ValueError(f"must be at least {SMALLEST:g}")
    return value


def _converted(value, unit: str | None):
    """A value of a key with this unit, at any depth: texts with a unit become numbers in SI, those that cannot stay."""
    if isinstance(value, Mapping):
        return {key: _converted(entry, unit_of(str(key), value)) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_converted(entry, unit) for entry in value]
    if unit is None or not isinstance(value, str) or not is_quantity(value):
        return value
    try:
        return in_si(value, unit)
    except ValueError:
        return value


def _unit_problem(key: str, value) -> str | None:
    """Why a text is no value of a key with a unit; None for all else."""
    unit = unit_of(key, {})
    if unit is None or not isinstance(value, str):
        return None
    try:
        in_si(value, unit)
    except ValueError as error:
        return str(error)
    return None


def _plain_values(table: dict) -> dict:
    values = list(table.values())
    for key, value in table.items():
        if problem := _unit_problem(str(key), value):
            raise ValueError(f"holds {key} = {shown(value)}, which {problem}")
    while values:
        value = values.pop()
        if isinstance(value, dict | list):
            values += value.values() if isinstance(value, dict) else value
        elif not isinstance(value, str | int | float) or value in (math.inf, -math.inf) or value != value:
            raise ValueError(
                f"holds {shown(value)}; allowed: finite numbers, strings, booleans, lists and tables of them"
            )
    return table


def _of_points(value):
    if isinstance(value, list | tuple) and value and all(map(is_number, value)):
        raise ValueError("must be two points, each a list: [[x, y, z], [x, y, z]]")
    return value


def _two_corners(corners: tuple) -> tuple:
    if len(corners) != 2:
        raise ValueError("must have 2 corners, lowest and highest, of 3 components (x, y, z) each")
    for axis, low, high in zip("xyz", *corners, strict=True):
        if low > high:
            raise ValueError(f"must have the lowest corner first, and its {axis} is {low:g}, above {high:g}")
    return corners


def _two_points(points: tuple) -> tuple:
    if len(points) != 2:
        raise ValueError("must have 2 points, first and last, of 3 components (x, y, z) each")
    if points[0] == points[1]:
        raise ValueError("must have 2 different points")
    return points


Positive = Annotated[float, Field(gt=0.0), AfterValidator(_not_tiny)]
Vector = Annotated[tuple[float, ...], Field(strict=False), AfterValidator(_three_components)]
Direction = Annotated[Vector, AfterValidator(_non_zero)]
Box = Annotated[tuple[Vector, ...], Field(strict=False), BeforeValidator(_of_points), AfterValidator(_two_corners)]
Line = Annotated[tuple[Vector, ...], Field(strict=False), BeforeValidator(_of_points), AfterValidator(_two_points)]
Options = Annotated[dict[str, Any], AfterValidator(_plain_values)]


def did_you_mean(name: str, allowed: Sequence[str]) -> str:
    """The remedy for an unknown name: the nearest allowed one, or two that are as near, else all of them."""
    nearest = get_close_matches(name[:MAX_SHOWN], allowed, n=2, cutoff=0.5)
    likeness = [SequenceMatcher(None, other, name[:MAX_SHOWN]).ratio() for other in nearest]
    as_near = [other for other, ratio in zip(nearest, likeness, strict=True) if ratio > likeness[0] - AS_NEAR]
    return f"did you mean {' or '.join(map(repr, as_near))}?" if nearest else f"allowed: {', '.join(allowed) or 'none'}"


def names_among(text: str, allowed: Sequence[str], option: str) -> tuple[str, ...]:
    """The comma-separated names of an option of the command line, each once. Raises InputError: one that is not
    allowed; ``option`` says where, such as ``"bench: --precision"``."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in allowed:
            raise InputError(f"{option} has {name!r}; {did_you_mean(name, allowed)}")
    return names


class Section(BaseModel):
    """A table of the case file: frozen, no unknown keys, no silent conversions; the text under a key explains it."""

    # Schemas of sections are built with that of the case, or when one is checked by itself.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    def __setattr__(self, name, value):
        """Refuse to change a key: what has been computed from it would stay as it was."""
        if name.startswith("_"):
            super().__setattr__(name, value)
            return
        if name not in (known := type(self).all_fields()):
            raise InputError(f"{name!r} is not a key of a case; {did_you_mean(name, list(known))}")
        raise InputError(
            f"{name} = {shown(value)}: a case that has been read does not change; make another one, as in"
            f' Simulation.from_case(simulation.case, ["SECTION.{name}=..."])'
        )

    moved: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Where keys are now that this table had once, by their names."""

    longest: ClassVar[Mapping[str, int]] = MappingProxyType({})
    """Most entries of lists, by their keys, where these are not MOST_ENTRIES."""

    keys_of: ClassVar[KeysOf | None] = None
    """Table whose entries declare further keys; a section with one has ``extra="allow"`` in its ``model_config``, and
    the given ones of these keys in ``model_extra``."""

    @classmethod
    def all_fields(cls) -> Mapping[str, FieldInfo]:
        """Its keys, those that entries of a table declare among them."""
        return cls._complete().model_fields if cls.keys_of else cls.model_fields

    @classmethod
    def meaning_of(cls, key: str) -> str:
        """The text that explains one of its keys."""
        return cls.all_fields()[key].description or _texts(cls).get(key, "")

    @classmethod
    def _complete(cls) -> type["Section"]:
        """The same section with all keys as fields."""

        class Complete(cls):  # type: ignore[valid-type, misc]
            model_config = ConfigDict(extra="forbid")
            keys_of = None

        declared = cls.keys_of.keys if cls.keys_of else {}
        fields = {name: (key.kind | None, Field(None, description=key.meaning)) for name, key in declared.items()}
        return create_model(cls.__name__, __base__=Complete, **fields)  # type: ignore[call-overload]

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema, handler):
        schema = handler(core_schema)
        table = handler.resolve_ref_schema(schema)
        for key, text in _texts(cls).items():
            table["properties"][key].setdefault("description", text)
        if cls.keys_of:
            every = cls._complete().model_json_schema()["properties"]
            table["properties"] |= {key: every[key] for key in cls.keys_of.keys}
            table["additionalProperties"] = False
        return schema

    @classmethod
    def rules(cls, given: Mapping) -> Iterator[str]:
        """Problems between the keys of this table; ``given`` holds the raw values of the keys that are set."""
        yield from ()

    @classmethod
    def completed(cls, given: Mapping) -> Mapping:
        """The table with keys that follow from others of it, in plain values. Raises ValidationError."""
        return given

    @model_validator(mode="wrap")
    @classmethod
    def _all_problems(cls, data, handler, info):
        """Report wrong values and broken rules together, as text for the user; texts with a unit become numbers."""
        if cls.keys_of and isinstance(data, Mapping) and data.keys() - cls.model_fields.keys():
            checked = cls._complete().model_validate(data, context=info.context)
            return handler({key: value for key in data if (value := getattr(checked, key)) is not None})
        if too_long := cls._lists_too_long(data):
            raise ValidationError.from_exception_data(cls.__name__, too_long)
        data = cls.completed(_converted(data, None)) if isinstance(data, Mapping) else data
        broken, failure = cls._broken_rules(data)
        wrong, section = [], None
        try:
            section = handler(data)
        except ValidationError as error:
            wrong = error.errors(include_url=False)
        if failure and not wrong:
            raise failure
        # One more than the limit is what a section below says about those that it left out.
        listed = MOST_PROBLEMS + (len(wrong) + len(broken) == MOST_PROBLEMS + 1)
        problems = [wrong_key(e["loc"], cls._words(e), e["input"]) for e in wrong[:listed]]
        problems += [wrong_key((), text, data) for text in broken[: listed - len(problems)]]
        more = len(wrong) + len(broken) - len(problems)
        if more:
            problems.append(wrong_key((), f"has {more} more problems, which are not listed", data))
        if problems:
            raise ValidationError.from_exception_data(cls.__name__, problems)
        return section

    @classmethod
    def _lists_too_long(cls, data) -> list:
        return [
            wrong_key((key,), f"holds {len(value)} entries; at most {most} are allowed", None)
            for key, value in (data.items() if isinstance(data, Mapping) else ())
            if isinstance(value, list | tuple) and len(value) > (most := cls.longest.get(key, MOST_ENTRIES))
        ]

    @classmethod
    def _broken_rules(cls, data) -> tuple[list[str], Exception | None]:
        """The complaints of the rules; none, but the failure, where a value is of a kind that no rule expects: that
        value has a problem of its own."""
        try:
            return list(cls.rules(given_values(data))) if isinstance(data, Mapping) else [], None
        except (TypeError, ValueError, AttributeError, LookupError, OverflowError) as failure:
            return [], failure

    @classmethod
    def _words(cls, error: Mapping) -> str:
        if error["type"] == _WORDED:
            return error["msg"]
        value = reprlib.repr(error["input"])
        if error["type"] == "model_type":
            return f"is {value}: must be a table"
        key = error["loc"][0]
        if error["type"] == "extra_forbidden" and key in cls.moved:
            return f"is an unknown key; it is {cls.moved[key]} now"
        if error["type"] == "extra_forbidden":
            return f"is an unknown key; {cls._meant(str(key))}"
        description = " ".join(cls.meaning_of(key).split())
        meaning = f" ({description})"
        if error["type"] == "missing":
            return "is missing" + meaning
        if problem := _unit_problem(key, error["input"]):
            return f"is {value}: {problem}{meaning}"
        allowed = (
            error["msg"]
            .removeprefix("Value error, ")
            .replace("Input should be", "must be")
            .replace("a valid integer", "a whole number")
        )
        as_list = f"list, as in [{json.dumps(error['input'])}]" if isinstance(error["input"], str) else "list"
        return f"is {value}: {allowed.replace('valid tuple', as_list)}{meaning}"

    @classmethod
    def _meant(cls, key: str) -> str:
        """The remedy for an unknown key; a key of another unit is proposed only for a name that is alike without it."""
        names, unit, stem = list(cls.model_fields), unit_of(key, {}), name_without_unit(key[:MAX_SHOWN])
        alike = [name for name in names if unit in (None, unit_of(name, {}))]
        alike += get_close_matches(stem, [name_without_unit(name) for name in names], n=1, cutoff=ALIKE)
        remedy = did_you_mean(key, [name for name in names if {name, name_without_unit(name)} & {*alike}])
        return remedy if "?" in remedy else f"allowed: {', '.join(names)}"


@cache
def _texts(section: type[Section]) -> dict[str, str]:
    """The texts under the keys of a class of sections, and under those that it inherits. They are read from its source
    when they are shown, since most runs need none."""
    kinds = [kind for kind in reversed(section.__mro__) if issubclass(kind, Section) and kind is not Section]
    found = {name: text for kind in kinds for name, text in _texts_in(kind)}
    return {name: text for name, text in found.items() if name in section.model_fields}


def _texts_in(kind: type[Section]) -> Iterator[tuple[str, str]]:
    """Names and texts in the source of one class."""
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError):  # made at run time, with texts of its own
        return
    for statement, behind in pairwise(getattr(definition, "body", ())):
        text = getattr(getattr(behind, "value", None), "value", None)
        if isinstance(statement, ast.AnnAssign) and isinstance(behind, ast.Expr) and isinstance(text, str):
            yield getattr(statement.target, "id", ""), inspect.cleandoc(text)


def exactly_one(given: Mapping, *keys: str) -> Iterator[str]:
    """The complaint, if any, that not exactly one of some keys is given."""
    there = [key for key in keys if key in given]
    if len(there) != 1:
        remedy = "; remove all but one (--set KEY= removes a key)" if there else ""
        yield f"needs exactly one of {', '.join(keys)}; it has {' and '.join(there) or 'none'}{remedy}"


def wrong_key(location: tuple, text: str, value) -> dict:
    """A problem with the value of a key, as pydantic wants it."""
    return {"type": PydanticCustomError(_WORDED, text), "loc": location, "input": value}


def given_values(data) -> dict:
    """The keys of a raw table, or of a built section, that hold a value; nothing where ``data`` is no table."""
    table = data.model_dump() if isinstance(data, Section) else data
    return {key: value for key, value in table.items() if value is not None} if isinstance(table, Mapping) else {}


def names_given_twice(entries) -> list[str]:
    """Names that several entries of a list of tables have, sorted."""
    names = [table["name"] for table in given_tables(entries) if isinstance(table.get("name"), str)]
    return sorted({name for name in names if names.count(name) > 1})


def given_tables(entries) -> list[dict]:
    """The given keys of each entry of a list of tables; nothing where it is no list."""
    return [given_values(entry) for entry in entries] if isinstance(entries, list | tuple) else []


MOST_SECONDS = 1e9
EXACT = 2**53
"""Above it not every whole number is a floating-point one."""


def _named(value):
    if isinstance(value, str) and not re.fullmatch(NAME, value):
        remedy = re.sub(r"[^A-Za-z0-9_-]+", "_", value).lstrip("_-0123456789").rstrip("_-")
        raise ValueError(f"must be {NAME_WORDS}{f': try {shown(remedy)}' if remedy else ''}")
    return value


def _clock_time(value):
    if isinstance(value, time):  # TOML has clock times of its own
        value = value.replace(microsecond=0).isoformat()
    if is_number(value) and 0 <= value < MOST_SECONDS:
        minutes, seconds = divmod(math.ceil(value), 60)
        text = f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"
        raise ValueError(f'must be a string "HH:MM:SS"; {value:g} s are "{text}"')
    if isinstance(value, str) and not re.fullmatch(r"[0-9]+:[0-5][0-9]:[0-5][0-9]", value):
        raise ValueError('must be a string "HH:MM:SS", such as "12:00:00"')
    return value


def whole(value):
    """A whole number as an integer, also where it is written with an exponent: 1e4."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < EXACT else value


Name = Annotated[str, BeforeValidator(_named)]
Duration = Annotated[str, BeforeValidator(_clock_time)]
AtLeastOne = Annotated[int, Field(gt=0), BeforeValidator(whole)]
AtLeastZero = Annotated[int, Field(ge=0), BeforeValidator(whole)]
