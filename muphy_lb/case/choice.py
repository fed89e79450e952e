"""Additions of tables of the program to the case file: names that a key may have (OneOf), and keys of their own
(Key)."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from pydantic_core import core_schema


@dataclass(frozen=True)
class OneOf:
    """Metadata of a text that must be a name in a table: ``Annotated[str, OneOf("muphy_lb.lattice", "LATTICES")]``.

    So an entry added to a table is also added to the case file. The table is imported when a value is checked,
    not before: reading the sections takes none of the solver's libraries.
    """

    #: module, table: where the table is; its names are its keys, or its entries if it has no keys
    module: str
    table: str
    more: tuple[str, ...] = ()  #: names that are allowed besides

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are allowed."""
        return (*getattr(import_module(self.module), self.table), *self.more)

    def __get_pydantic_core_schema__(self, source, handler):
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema, handler):
        return handler(schema) | {"enum": list(self.names)}

    def _checked(self, name: str) -> str:
        if name not in self.names:
            *others, last = (repr(allowed) for allowed in self.names)
            raise ValueError(f"must be {', '.join(others)} or {last}")
        return name


class Key(NamedTuple):
    """A key of the case file that an entry of a table declares."""

    kind: Any  #: type of its values, with bounds, such as ``muphy_lb.case.section.Positive``
    meaning: str  #: its text in the documentation and in messages
    default: Any = None  #: its value in a case without it; None: there is none


@dataclass(frozen=True)
class KeysOf:
    """The keys that entries of a table declare in their attributes ``name`` and ``keys``, the latter :class:`Key` by
    name. As with :class:`OneOf`, the table is imported when it is needed."""

    #: module, table: where the table is, a mapping or a sequence of its entries
    module: str
    table: str

    @property
    def readers(self) -> dict[str, tuple[str, ...]]:
        """The names of the entries that declare each key."""
        found: dict[str, tuple[str, ...]] = {}
        for entry in self._entries:
            for key in entry.keys:
                found[key] = (*found.get(key, ()), entry.name)
        return found

    @property
    def keys(self) -> dict[str, Key]:
        """All keys by name. Raises ValueError: two entries declare a key differently."""
        found: dict[str, Key] = {}
        for entry in self._entries:
            for name, key in entry.keys.items():
                if found.setdefault(name, key)[:2] != key[:2]:
                    raise ValueError(f"the key {name!r} of {entry.name!r} is another one elsewhere in {self.table}")
        return found

    @property
    def _entries(self) -> tuple:
        table = getattr(import_module(self.module), self.table)
        return tuple(table.values() if isinstance(table, Mapping) else table)
