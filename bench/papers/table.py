"""A table of a paper with its own numbers, and ours beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Numbers = Sequence[float | None]
Rows = Mapping[str, Numbers]


@dataclass(frozen=True)
class PaperTable:
    """Numbers that a paper gives."""

    paper: str  # authors and year
    name: str  # of the table or figure in the paper
    content: str  # quantity and unit of the numbers
    columns: tuple[str, ...]
    rows: Rows  # by what a row belongs to; None where the paper has no number
    note: str = ""  # differences between what the paper and we measure

    @property
    def key(self) -> str:
        """The name of the table among those of all papers."""
        return f"{self.paper}, {self.name}"

    def __hash__(self):
        return hash(self.key)


class Study(NamedTuple):
    """A finished benchmark."""

    title: str
    device: str
    measurements: list[dict]
    tables: Mapping[PaperTable, Rows] = {}  # measured rows, beside a paper's


def text(table: PaperTable, device: str, ours: Rows) -> str:
    """The published and the measured rows, one line each, for a terminal. ``ours``: by what a row belongs to, an empty
    text for the device."""
    labels = {f"published: {row}": numbers for row, numbers in table.rows.items()}
    labels |= {named(device, row): numbers for row, numbers in ours.items()}
    lines = [("", *table.columns), *((label, *map(shown, numbers)) for label, numbers in labels.items())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = [
        "  ".join([first.ljust(widths[0]), *(cell.rjust(n) for cell, n in zip(cells, widths[1:], strict=True))])
        for first, *cells in lines
    ]
    return "\n".join([f"{table.key}: {table.content}", *map(str.rstrip, rows), *filter(None, (table.note,))])


def named(device: str, row: str) -> str:
    """The label of a measured row."""
    return f"{device}: {row}" if row else device


def shown(number: float | None) -> str:
    """A number with five digits, or all digits of a whole part that has more; a dash for none."""
    if number is None:
        return "-"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.5g}"
