"""What a validation case reports: rows of reference, computed value and verdict, and how they read as text."""

from dataclasses import asdict, dataclass

HEADINGS = ("quantity", "reference", "computed", "error", "allowed", "")
LAYOUT = "  {:<58}{:>13}{:>13}{:>11}{:>11}  {}"


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes:
        quantity: what is compared, with its unit if it has one.
        reference: published or analytic value.
        computed: what the solver gives.
        error: how far off, relative or absolute as the constructor says.
        tolerance: largest error that passes.
    """

    quantity: str
    reference: float
    computed: float
    error: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether the error is a number within the tolerance."""
        return self.error <= self.tolerance

    def record(self) -> dict:
        """Plain dictionary, verdict included."""
        return asdict(self) | {"passed": self.passed}


@dataclass(frozen=True)
class Validation:
    """The outcome of one case.

    Attributes:
        name: name in the table of cases.
        citation: where the reference values come from.
        rows: the comparisons.
        skipped: why nothing was computed; empty if it was.
    """

    name: str
    citation: str
    rows: tuple[Row, ...] = ()
    skipped: str = ""

    @property
    def passed(self) -> bool:
        """Whether every comparison passed; a skipped case has none to fail."""
        return all(row.passed for row in self.rows)

    def record(self) -> dict:
        """Plain dictionary."""
        rows = [row.record() for row in self.rows]
        return asdict(self) | {"rows": rows, "passed": self.passed}

    def __str__(self):
        heading = f"{self.name}: {self.citation}"
        if self.skipped:
            return f"{heading}\n  skipped: {self.skipped}"
        return "\n".join((heading, LAYOUT.format(*HEADINGS).rstrip(), *map(_line, self.rows)))


def relative(quantity: str, reference: float, computed: float, tolerance: float) -> Row:
    """A row whose error is |computed / reference - 1|."""
    return _row(quantity, reference, computed, abs(computed / reference - 1.0), tolerance)


def absolute(quantity: str, reference: float, computed: float, tolerance: float) -> Row:
    """A row whose error is |computed - reference|."""
    return _row(quantity, reference, computed, abs(computed - reference), tolerance)


def at_least(quantity: str, reference: float, computed: float, tolerance: float) -> Row:
    """A row whose error is how far the computed value stays below the reference; more is as good."""
    return _row(quantity, reference, computed, max(reference - computed, 0.0 * computed), tolerance)


def _row(quantity, *numbers) -> Row:
    return Row(quantity, *map(float, numbers))


def _line(row: Row) -> str:
    numbers = (f"{row.reference:.6g}", f"{row.computed:.6g}", f"{row.error:.2e}", f"{row.tolerance:.1e}")
    return LAYOUT.format(row.quantity, *numbers, "passed" if row.passed else "FAILED")
