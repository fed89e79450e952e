"""What differs between two cases, in the words of their files."""

import tomllib
from collections.abc import Iterable

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
