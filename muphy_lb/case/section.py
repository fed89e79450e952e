"""Section: the base of the tables of a case file, and the types of their values.

A section reports everything that is wrong with it at once, in words for the user: pydantic checks each value, the
section's own ``rules`` what must hold between keys.
"""

import json
import math
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from muphy_lb.errors import InputError
from muphy_lb.geometry.limits import MAX_SHOWN, shown

SMALLEST = 1e-30
"""Smallest number that is to be positive: the square of a smaller one may be zero."""

MOST_PROBLEMS = 20
"""Problems of a case that one message lists: more are the same mistake, or no case file."""

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


def _plain_values(table: dict) -> dict:
    values = list(table.values())
    while values:
        value = values.pop()
        if isinstance(value, dict | list):
            values += value.values() if isinstance(value, dict) else value
        elif not isinstance(value, str | int | float) or value in (math.inf, -math.inf) or value != value:
            raise ValueError(
                f"holds {shown(value)}; allowed: finite numbers, strings, booleans, lists and tables of them"
            )
    return table


Positive = Annotated[float, Field(gt=0.0), AfterValidator(_not_tiny)]
Vector = Annotated[tuple[float, ...], Field(strict=False), AfterValidator(_three_components)]
Direction = Annotated[Vector, AfterValidator(_non_zero)]
Options = Annotated[dict[str, Any], AfterValidator(_plain_values)]


def did_you_mean(name: str, allowed: Sequence[str]) -> str:
    """The remedy for an unknown name: the nearest allowed one, else all of them."""
    nearest = get_close_matches(name[:MAX_SHOWN], allowed, n=1, cutoff=0.5)
    return f"did you mean {nearest[0]!r}?" if nearest else f"allowed: {', '.join(allowed)}"


def names_among(text: str, allowed: Sequence[str], option: str) -> tuple[str, ...]:
    """The comma-separated names of an option of the command line, each once.

    Raises:
        InputError: one that is not allowed; ``option`` says where, such as ``"bench: --precision"``.
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in allowed:
            raise InputError(f"{option} has {name!r}; {did_you_mean(name, allowed)}")
    return names


class Section(BaseModel):
    """A table of the case file: frozen, no unknown keys, no silent conversions; the text under a key explains it."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    def __setattr__(self, name, value):
        """Refuse to change a key: what has been computed from it would stay as it was."""
        if name.startswith("_"):
            super().__setattr__(name, value)
            return
        if name not in type(self).model_fields:
            raise InputError(f"{name!r} is no key of a case; {did_you_mean(name, list(type(self).model_fields))}")
        raise InputError(
            f"{name} = {shown(value)}: a case that has been read does not change; make another one, as in"
            f' Simulation.from_case(simulation.case, ["SECTION.{name}=..."])'
        )

    @classmethod
    def rules(cls, given: Mapping) -> Iterator[str]:
        """What is wrong between the keys of this table; ``given`` holds the raw values of the keys that are set."""
        yield from ()

    @model_validator(mode="wrap")
    @classmethod
    def _all_problems(cls, data, handler):
        """Report wrong values and broken rules together, in words for the user."""
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
        problems = [_problem(e["loc"], cls._words(e), e["input"]) for e in wrong[:listed]]
        problems += [_problem((), text, data) for text in broken[: listed - len(problems)]]
        more = len(wrong) + len(broken) - len(problems)
        if more:
            problems.append(_problem((), f"has {more} more problems, which are not listed", data))
        if problems:
            raise ValidationError.from_exception_data(cls.__name__, problems)
        return section

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
        if error["type"] == "extra_forbidden":
            return f"is an unknown key; {did_you_mean(str(key), list(cls.model_fields))}"
        meaning = f" ({cls.model_fields[key].description})"
        if error["type"] == "missing":
            return "is missing" + meaning
        allowed = (
            error["msg"]
            .removeprefix("Value error, ")
            .replace("Input should be", "must be")
            .replace("a valid integer", "a whole number")
        )
        as_list = f"list, as in [{json.dumps(error['input'])}]" if isinstance(error["input"], str) else "list"
        return f"is {value}: {allowed.replace('valid tuple', as_list)}{meaning}"


def exactly_one(given: Mapping, *keys: str) -> Iterator[str]:
    """The complaint, if any, that not exactly one of some keys is given."""
    there = [key for key in keys if key in given]
    if len(there) != 1:
        yield f"needs exactly one of {', '.join(keys)}; it has {' and '.join(there) or 'none'}"


def _problem(location: tuple, text: str, value) -> dict:
    return {"type": PydanticCustomError(_WORDED, text), "loc": location, "input": value}


def given_values(data) -> dict:
    """The keys of a raw table, or of a built section, that hold a value; nothing where ``data`` is no table."""
    table = data.model_dump() if isinstance(data, Section) else data
    return {key: value for key, value in table.items() if value is not None} if isinstance(table, Mapping) else {}


def given_tables(entries) -> list[dict]:
    """The given keys of each entry of a list of tables; nothing where it is no list."""
    return [given_values(entry) for entry in entries] if isinstance(entries, list | tuple) else []
