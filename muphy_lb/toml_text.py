"""TOML text to raw tables and back: reading, overriding one value, writing."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from muphy_lb.errors import InputError


def read_toml(path: Path) -> dict:
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
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"case file {path} is not valid TOML: {error}") from error


def override_value(table: dict, override: str) -> str | None:
    """Set one value in the raw tables; returns what is wrong with the override, if anything."""
    path, equals, text = (part.strip() for part in override.partition("="))
    if not (path and equals and text):
        return f"override {override!r} is not of the form section.key=value"
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        if not re.fullmatch(r"[A-Za-z_./~][\w./~-]*", text):
            return f"override {override!r}: {text!r} is not a TOML value; put a text in double quotes"
        value = text
    *parents, key = path.split(".")
    for parent in parents:
        table = _child(table, parent)
        if not isinstance(table, dict):
            return f"override {override!r}: there is no table {parent!r} in this case"
    table[key] = value
    return None


def _child(table, key: str):
    """The table below a key, made if it is not there; of a list, the entry of that name, or None."""
    child = table.setdefault(key, {})
    if isinstance(child, list):
        return {entry.get("name"): entry for entry in child if isinstance(entry, dict)}
    return child


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
