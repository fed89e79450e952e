"""TOML text to raw tables and back: reading, overriding one value, writing."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from muphy_lb.errors import InputError


def read_toml(path: Path) -> dict:
    """The raw tables of a case file.

    Raises:
        InputError: the file is missing, a directory, unreadable, or not TOML (with the line).
    """
    if path.is_dir():
        raise InputError(f"case file {path} is a directory; name the .toml file inside it")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"case file {path} does not exist; check the path") from error
    except OSError as error:
        raise InputError(f"case file {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"case file {path} is not text in UTF-8; a case is a TOML file") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"case file {path} is not valid TOML: {error}") from error


def override_value(table: dict, override: str) -> str | None:
    """Set one value of the raw tables in place.

    Args:
        table: the raw tables.
        override: ``"section.key=value"``; an empty value removes the key; the entry of a list of tables goes by
            its name.

    Returns:
        What is wrong with the override, or None.
    """
    path, equals, text = (part.strip() for part in override.partition("="))
    if not (path and equals):
        return f"override {override!r} is not of the form section.key=value"
    *parents, key = path.split(".")
    try:
        value = _parsed(text) if text else None
        for parent in parents:
            table = _child(table, parent)
        if not isinstance(table, dict):
            raise ValueError(f"{path} cannot be set; name a key of a table, as in run.steps=100")
    except ValueError as error:
        return f"override {override!r}: {error}"
    table[key] = value
    if value is None:
        del table[key]
    return None


def _parsed(text: str):
    """The value of a TOML text; a single word that is no TOML value stands for itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError as error:
        if re.fullmatch(r"[A-Za-z_./~][\w./~-]*", text):
            return text
        raise ValueError(f"{text!r} is not a TOML value; put a text in double quotes") from error


def _child(table, key: str):
    """What lies below a key: of a table, made if absent; of a list of tables, the entry of that name."""
    if isinstance(table, dict):
        return table.setdefault(key, {})
    if not isinstance(table, list):
        raise ValueError(f"{key!r} lies below a plain value, not below a table")
    entries = {entry.get("name"): entry for entry in table if isinstance(entry, dict)}
    if key not in entries:
        raise ValueError(f"there is no entry named {key!r}; there are: {', '.join(map(str, entries)) or 'none'}")
    return entries[key]


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
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(", ", " = "))
    return text.replace("\x7f", "\\u007f")
