"""Section of the case file about a value that repeats itself in time."""

from types import MappingProxyType
from typing import Annotated

from pydantic import Field

from muphy_lb.case.section import Positive, Section, exactly_one

MOST_HARMONICS = 200
"""Most harmonics of a Fourier series."""

Amplitudes = Annotated[tuple[float, ...], Field(strict=False)]


class WaveformSection(Section):
    """A periodic factor of time: a Fourier series, or a CSV table with a line of headings and columns time [s],
    factor."""

    longest = MappingProxyType({"cosine": MOST_HARMONICS, "sine": MOST_HARMONICS})

    file: str | None = None
    """CSV table, relative to the folder of the case file; one period, the last factor equal to the first; the
    heading of the time may name its unit: time [ms], time_ms; a factor headed flow [mL/s] multiplies '1 mL/s'"""
    period_s: Positive | None = None
    """period of the series [s]"""
    mean: float = 1.0
    """its mean"""
    cosine: Amplitudes = ()
    """amplitudes of cos(2 pi k t / period), k = 1, 2, ..."""
    sine: Amplitudes = ()
    """amplitudes of sin(2 pi k t / period), k = 1, 2, ..."""

    @classmethod
    def rules(cls, given):
        """A table or a series."""
        yield from exactly_one(given, "file", "period_s")
        series = given.get("cosine") or given.get("sine") or given.get("mean", 1.0) != 1.0
        if "file" in given and "period_s" not in given and series:
            yield "has a file and a series; give one of the two"
