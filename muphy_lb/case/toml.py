"""TOML text to raw tables and back: reading, overriding one value, writing."""

import json
import math
import os
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from muphy_lb.base.errors import InputError
from muphy_lb.base.files import PREPARED
from muphy_lb.geometry.limits import cut, shown
from muphy_lb.geometry.quantities import is_quantity

MAX_BYTES = 2**22
"""Largest case file: long tables belong into files of their own."""

MAX_DEPTH = 32
"""Most parts of a dotted key. The reader keeps all beginnings of a key, which grows with the square of its parts."""

MAX_QUOTED = 200
"""Longest part of an input quoted in a message [characters]."""

MAX_BITS = 63
LARGEST = 1e30
"""Largest integer (with its sign one of 64 bits, as TOML has it) and largest number: products of a few are numbers."""


def named_path(given, what: str) -> Path:
    """The path that a user names. Raises InputError: it is none; ``what`` it is of, such as ``"a folder"``."""
    if not isinstance(given, str | os.PathLike) or "\0" in os.fspath(given):
        raise InputError(f"{what} is {shown(given)}, of type {type(given).__name__}; give its path")
    return Path(given)


def read_toml(given: str | os.PathLike) -> dict:
    """The raw tables of a case file. Raises InputError: the file is missing, a directory, unreadable, or not TOML (with
    the line)."""
    path = named_path(given, "a case file")
    try:
        if path.is_dir():
            raise InputError(f"case file {path} is a directory; name the .toml file inside it")
        if path.exists() and not path.is_file():
            raise InputError(f"case file {path} is a pipe or a device; a case is a regular file")
        if (size := path.stat().st_size) > MAX_BYTES:
            raise InputError(f"case file {path} holds {size} bytes; at most {MAX_BYTES}: put tables into files")
        _refuse_geometry(path)
        return _tables(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"case file {path} does not exist; check the path") from error
    except OSError as error:
        raise InputError(f"case file {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"case file {path} is not text in UTF-8; a case is a TOML file") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"case file {path} is not valid TOML: {_short(error)}") from error


def _refuse_geometry(path: Path) -> None:
    from muphy_lb.geometry.load import LOADERS, file_ending

    ending = file_ending(path)
    if ending == PREPARED:
        raise InputError(
            f"{path} is a prepared geometry ({PREPARED}), and a case file is wanted (TOML): one with"
            f" file = '{path.name}' alone in [geometry], and of each opening its name and condition alone; muphy-lb new"
            " proposes the rest for the image or surface that it was made of"
        )
    if ending in LOADERS:
        name = shlex.quote(str(path))
        raise InputError(
            f"{path} is a geometry ({ending}), and a case file is wanted (TOML); make one of it:"
            f" muphy-lb new vessel {name}, or muphy-lb new rock {name}"
        )


def _tables(text: str) -> dict:
    """The raw tables of a TOML text; ValueError (or RecursionError) where it is none, or nested without sense."""
    for number, line in enumerate(text.splitlines(), start=1):
        key, equals, _ = line.partition("=")
        if key.count(".") >= MAX_DEPTH and "," not in key and (equals or key.lstrip().startswith("[")):
            raise ValueError(f"a key of {key.count('.') + 1} parts; at most {MAX_DEPTH} are allowed (at line {number})")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # Python's own limit
        raise ValueError("it holds an integer of thousands of digits; it must have at most 64 bits") from error


def _short(error: Exception) -> str:
    """The text of an error, which may quote much of the input."""
    return cut(str(error), MAX_QUOTED)


def numbers_beyond(table: Mapping) -> Iterator[str]:
    """Problems of the numbers of raw tables, whatever their keys: integers of more than 64 bits, and numbers above
    1e30, which the next product would turn into infinity. Numbers of options are left to those who read them."""
    values = [("", table)]
    while values:
        path, value = values.pop()
        if isinstance(value, Mapping):
            values += [(f"{path}.{key}" if path else str(key), entry) for key, entry in value.items()]
        elif isinstance(value, list | tuple):
            values += [(f"{path}[{k}]", entry) for k, entry in enumerate(value)]
        elif isinstance(value, int) and not -(2**MAX_BITS) <= value < 2**MAX_BITS:
            yield f"{path} is an integer of {value.bit_length()} bits: it must have at most 64 with its sign"
        elif isinstance(value, float) and LARGEST < abs(value) < math.inf and not path.startswith("geometry.options."):
            yield f"{path} is {value}: it must be at most {LARGEST:g}, with either sign"


def override_value(table: dict, override: str) -> str | None:
    """Set one value of the raw tables in place.

    Args:
        override: ``"section.key=value"``; an empty value removes the key; the entry of a list of tables goes by
            its name.

    Returns:
        The problem of the override, or None.
    """
    path, equals, text = (part.strip() for part in override.partition("="))
    if not (path and equals):
        return f"override {_quoted(override)} is not of the form section.key=value"
    *parents, key = path.split(".")
    try:
        if len(parents) >= MAX_DEPTH:
            raise ValueError(f"a key of {len(parents) + 1} parts; at most {MAX_DEPTH} are allowed")
        value = _parsed(text) if text else None
        for parent in parents:
            if value is None and isinstance(table, dict) and parent not in table:
                return None
            table = _child(table, parent)
        if not isinstance(table, dict):
            raise ValueError(f"{path} cannot be set; name a key of a table, as in run.steps=100")
    except ValueError as error:
        return f"override {_quoted(override)}: {_short(error)}"
    table[key] = value
    if value is None:
        del table[key]
    return None


def as_override(path: str, value) -> str:
    """The override that gives a key a value; None removes the key. Raises InputError: the value is none of a case."""
    try:
        return f"{path}={'' if value is None else _toml_value(value)}"
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{path} is {shown(value)}; give a number, a string, true or false, or a list of them"
        ) from error


def _parsed(text: str):
    """The value of a TOML text; a single word that is no TOML value, or a number with a unit stands for itself."""
    try:
        return _tables(f"value = {text}")["value"]
    except RecursionError as error:
        raise ValueError("its value is nested too deeply") from error
    except tomllib.TOMLDecodeError as error:
        if re.fullmatch(r"[A-Za-z_./~][\w./~-]*", text) or is_quantity(text):
            return text
        raise ValueError(f"{_quoted(text)} is not a TOML value; put a string in double quotes") from error


def _child(table, key: str):
    """The value below a key: of a table, made if absent; of a list of tables, the entry of that name."""
    if isinstance(table, dict):
        if numbered := re.fullmatch(r"(\w+)\[\d+\]", key):
            names = [entry.get("name") for entry in table.get(numbered[1]) or () if isinstance(entry, dict)]
            as_in = f"{numbered[1]}.{names[0] if names else 'NAME'}"
            raise ValueError(f"an entry of a list goes by its name, as in {as_in}; there are: {_listed(names)}")
        return table.setdefault(key, {})
    if not isinstance(table, list | tuple):
        raise ValueError(f"{_quoted(key)} lies below a plain value, not below a table")
    entries = {str(entry.get("name")): entry for entry in table if isinstance(entry, dict)}
    if key not in entries:
        raise ValueError(f"there is no entry named {_quoted(key)}; there are: {_listed(entries)}")
    return entries[key]


def _listed(names) -> str:
    return ", ".join(map(str, names)) or "none"


def _quoted(text: str) -> str:
    return shown(text, MAX_QUOTED)


def toml_lines(table: Mapping, path: str = "") -> Iterator[str]:
    """Lines of a TOML document: the plain values of a table first, then its tables and lists of tables."""
    tables = {}
    for key, value in table.items():
        entries = value if isinstance(value, list | tuple) else [value]
        if entries and all(isinstance(entry, dict) for entry in entries):
            tables[key] = value
        else:
            yield f"{_toml_key(key)} = {_toml_value(value)}"
    for key, value in tables.items():
        name = path + _toml_key(key)
        header, entries = (f"[{name}]", [value]) if isinstance(value, dict) else (f"[[{name}]]", value)
        for entry in entries:
            yield from ("", header)
            yield from toml_lines(entry, f"{name}.")


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml_value(key)


def _toml_value(value) -> str:
    """A TOML value: the same text as JSON, but for the sign between key and value and the escaped DEL."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(", ", " = "), default=_plain)
    return text.replace("\x7f", "\\u007f")


def _plain(value):
    """A number or an array of NumPy as Python has it."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{shown(value)} is not a TOML value")
