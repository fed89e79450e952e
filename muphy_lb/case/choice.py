"""OneOf: the type of a key that names an entry of a table of the program."""

from dataclasses import dataclass
from importlib import import_module

from pydantic_core import core_schema


@dataclass(frozen=True)
class OneOf:
    """Metadata of a text that must be a name in a table: ``Annotated[str, OneOf("muphy_lb.lattice", "LATTICES")]``.

    So whoever adds an entry to a table has added it to the case file. The table is imported when a value is checked,
    not before: reading the sections takes none of the solver's libraries.

    Attributes:
        module, table: where the table is; its names are its keys, or its entries if it has no keys.
        more: names that are allowed besides.
    """

    module: str
    table: str
    more: tuple[str, ...] = ()

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
