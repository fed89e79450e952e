"""The tables of the case file, by their paths."""

from collections.abc import Iterator
from typing import get_args

from muphy_lb.case.case import Case
from muphy_lb.case.section import Section


def sections(section: type[Section] = Case, path: str = "") -> Iterator[tuple[str, type[Section]]]:
    """Every table of the case file: its path, and its class."""
    yield path, section
    for key, field in section.all_fields().items():
        for held in tables(field.annotation):
            yield from sections(held, f"{path}.{key}".lstrip("."))


def tables(annotation) -> Iterator[type[Section]]:
    """The classes of tables in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for inner in get_args(annotation):
        yield from tables(inner)
