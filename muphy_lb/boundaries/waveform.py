"""Values over time: waveforms, periodic factors of a boundary value or a force, as a Fourier series or a spline through
table points; courses that do not repeat themselves, a bolus and a table; and the uniform body force over time: a
vector, times a waveform, that turns about an axis, and further terms."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.limits import cut, regular_file
from muphy_lb.geometry.quantities import column_in_si

MAX_BYTES = 2**24  # largest table
LARGEST = 1e30  # largest number in a table: products of a few such numbers are numbers

COMMAS = "columns must be divided by commas, and numbers have points, as in 0.5,1.2"
"""The remedy for tables with semicolons and decimal commas."""

UNITS_OF_RECORD = ("s", "m/s^2", "m/s^2", "m/s^2")
NUMBERS = {2: "two", 4: "four"}
MAX_QUOTED = 200  # longest part of an error of NumPy that a message repeats [characters]


@dataclass(frozen=True)
class FourierSeries:
    """w(t) = mean + sum_k cosine[k] cos(2 pi (k + 1) t / T) + sine[k] sin(2 pi (k + 1) t / T)."""

    period_s: float
    mean: float
    cosine: tuple[float, ...] = ()
    sine: tuple[float, ...] = ()

    def __call__(self, time_s: np.ndarray) -> np.ndarray:
        """Factor at each time [s]."""
        phase = 2.0 * np.pi * np.asarray(time_s, dtype=np.float64)[..., None] / self.period_s
        terms = (
            amplitude * wave((k + 1) * phase[..., 0])
            for wave, amplitudes in ((np.cos, self.cosine), (np.sin, self.sine))
            for k, amplitude in enumerate(amplitudes)
        )
        return self.mean + sum(terms, np.zeros(phase.shape[:-1]))


class PeriodicSpline:
    """The periodic cubic spline through (time, value) points; the last point is the first of the next period.

    Args:
        time_s: (m,) ascending times [s], m >= 3; their span is the period.
        value: (m,) values, the last equal to the first.
    """

    def __init__(self, time_s: np.ndarray, value: np.ndarray):
        self._time, self._value = np.asarray(time_s, float), np.asarray(value, float)
        self.period_s = float(self._time[-1] - self._time[0])
        step = np.diff(self._time)
        slope = np.diff(self._value) / step
        before = np.roll(step, 1)
        # Second derivatives M of the periodic spline: h_- M_- + 2 (h_- + h) M + h M_+ = 6 (slope - slope_-).
        matrix = np.diag(2.0 * (before + step))
        k = np.arange(step.size)
        np.add.at(matrix, (k, k - 1), before)
        np.add.at(matrix, (k, (k + 1) % k.size), step)
        self._second = np.append(np.linalg.solve(matrix, 6.0 * (slope - np.roll(slope, 1))), 0.0)
        self._second[-1] = self._second[0]

    def __call__(self, time_s: np.ndarray) -> np.ndarray:
        """Factor at each time [s]."""
        t = self._time[0] + np.mod(np.asarray(time_s, float) - self._time[0], self.period_s)
        k = np.clip(np.searchsorted(self._time, t, side="right") - 1, 0, self._time.size - 2)
        step = self._time[k + 1] - self._time[k]
        a, b = (self._time[k + 1] - t) / step, (t - self._time[k]) / step
        bend = (a**3 - a) * self._second[k] + (b**3 - b) * self._second[k + 1]
        return a * self._value[k] + b * self._value[k + 1] + bend * step**2 / 6.0


@dataclass(frozen=True)
class Bolus:
    """A factor of 1 for a while, and of 0 before and behind; each time step takes the share of it that lies within, so
    that what enters is exact."""

    start_s: float
    length_s: float  #: infinite for a factor that stays 1
    time_step_s: float

    def __call__(self, time_s: np.ndarray) -> np.ndarray:
        """Factor at the middle (K,) of each time step [s]."""
        begin, end = np.asarray(time_s) - 0.5 * self.time_step_s, np.asarray(time_s) + 0.5 * self.time_step_s
        within = np.minimum(end, self.start_s + self.length_s) - np.maximum(begin, self.start_s)
        return np.clip(within / self.time_step_s, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class TableCourse:
    """A factor that is straight between points (m,) in time; before and behind them, that of the first and last."""

    time_s: np.ndarray
    value: np.ndarray

    def __call__(self, time_s: np.ndarray) -> np.ndarray:
        """Factor at each time [s]."""
        return np.interp(time_s, self.time_s, self.value)


@dataclass(frozen=True)
class StepMean:
    """The mean of a factor over the steps of a flow in each step of what it carries: however long that is, the same
    enters."""

    factor: Callable
    time_step_s: float
    n_steps: int = 1

    def __call__(self, time_s: np.ndarray) -> np.ndarray:
        """Factor of steps with these middles (K,) [s]."""
        within = (np.arange(self.n_steps) - 0.5 * (self.n_steps - 1)) * self.time_step_s
        return self.factor(np.asarray(time_s)[:, None] + within).mean(axis=1)

    def over(self, n_steps: int) -> "StepMean":
        """The mean in steps as long as some of the flow."""
        return replace(self, n_steps=n_steps)


def read_table(path: Path, key: str, unit: str = "s") -> tuple[np.ndarray, np.ndarray]:
    """Two columns of a CSV file with a line of headings; the first column ascends, in ``unit`` or in that which its
    heading names: ``time [ms]``, ``time (ms)``, ``time_ms``. Raises InputError: it cannot be read, or has another form
    or a unit of another dimension; the message names ``key`` of the case."""
    rows = _read_columns(path, key, (unit,), 2)
    return rows[:, 0], rows[:, 1]


def heading_of_factor(path: Path) -> str:
    """The heading of the second column of a table that :func:`read_table` takes; empty without one."""
    return _line(path, 0).partition(",")[2].strip()


def read_record(path: Path, key: str) -> tuple[np.ndarray, np.ndarray]:
    """(m,) times [s] and (m, 3) accelerations [m/s2] of a CSV file of four columns, as of :func:`read_table`; each
    heading may name a unit: ``time [ms],x [cm/s^2],y [cm/s^2],z [cm/s^2]``."""
    rows = _read_columns(path, key, UNITS_OF_RECORD, len(UNITS_OF_RECORD))
    n_headings = len(_line(path, 0).split(","))
    if n_headings != len(UNITS_OF_RECORD):
        raise InputError(
            f"{key}: {path} has {n_headings} headings over {len(UNITS_OF_RECORD)} columns; give one for each, as in"
            " time [s],x [m/s^2],y [m/s^2],z [m/s^2]"
        )
    return rows[:, 0], rows[:, 1:]


def _read_columns(path: Path, key: str, units: tuple[str, ...], count: int) -> np.ndarray:
    """(m, count) rows of a CSV file, as of :func:`read_table`, the first columns in these units."""
    try:
        if (size := regular_file(path).stat().st_size) > MAX_BYTES:
            raise GeometryError(f"{path} holds {size} bytes; at most {MAX_BYTES} are taken")
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # an empty table is rejected below
            _refuse_numbers_as_headings(path)
            _refuse_other_gaps(path)
            rows = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    except GeometryError as error:
        raise InputError(f"{key}: {error}; it must be CSV with one line of headings") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{key}: cannot read {path}: it is no text in UTF-8; a spreadsheet is saved as CSV") from error
    except (OSError, ValueError) as error:
        text = cut(" ".join(str(error).partition("; use `usecols`")[0].split()), MAX_QUOTED)
        raise InputError(f"{key}: cannot read {path} ({text}); it must be CSV with one line of headings") from error
    if problem := _problem(rows, count):
        raise InputError(
            f"{key}: {path} has {problem}; it must have {NUMBERS[count]} columns of finite numbers, at most"
            f" {LARGEST:g}, the first one ascending"
        )
    for column, (heading, unit) in enumerate(zip(_line(path, 0).split(","), units, strict=False)):
        try:
            rows[:, column] = column_in_si(rows[:, column], heading, unit)
        except ValueError as error:
            raise InputError(f"{key}: in {path} the heading {cut(heading, MAX_QUOTED)!r} {error}") from error
    return rows


def _problem(rows: np.ndarray, count: int) -> str:
    """The first fault of a table, in words; empty without one."""
    if rows.shape[1] != count or rows.shape[0] < 2:
        return f"{rows.shape[0]} rows of {rows.shape[1]} columns"
    for row, column in np.argwhere(~(np.abs(rows) <= LARGEST)):
        return f"{rows[row, column]:g} in row {row + 1}"
    for row in np.flatnonzero(np.diff(rows[:, 0]) <= 0):
        return f"{rows[row + 1, 0]:g} behind {rows[row, 0]:g} in row {row + 2}"
    return ""


def _line(path: Path, number: int) -> str:
    """Line of a text by its number, counted from 0."""
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        for _ in range(number):
            file.readline(MAX_BYTES)
        return file.readline(MAX_BYTES).strip()


def _refuse_other_gaps(path: Path) -> None:
    """ValueError if the lines behind the headings have semicolons, as tables with decimal commas do, or tabs."""
    second = _line(path, 1)
    if ";" in second or "\t" in second:
        raise ValueError(f"its second line is {cut(second, MAX_QUOTED)!r}; {COMMAS}")


def _refuse_numbers_as_headings(path: Path) -> None:
    """ValueError if the first line holds nothing but numbers: it would be lost."""
    first = _line(path, 0)
    try:
        np.array(first.split(","), dtype=np.float64)
    except ValueError:
        return
    raise ValueError(f"the first line is {cut(first, MAX_QUOTED)!r}, numbers and no headings")


@dataclass(frozen=True)
class Turn:
    """A turn of a vector about an axis."""

    axis: np.ndarray  #: (3,) unit vector
    angle: float  #: right-handed about the axis [rad]
    #: waveform of the angle, a function of (K,) times [s]; None: the angle is always the same
    factor: Callable | None = None

    def __call__(self, vector: np.ndarray, time_s: np.ndarray) -> np.ndarray:
        """(K, 3) the vector, turned, at times (K,) [s], by Rodrigues' formula."""
        share = np.ones(len(time_s)) if self.factor is None else self.factor(time_s)
        angle = (self.angle * share)[:, None]
        along = self.axis * (self.axis @ vector)
        return along + np.cos(angle) * (vector - along) + np.sin(angle) * np.cross(self.axis, vector)


@dataclass(frozen=True)
class ForceRecord:
    """A uniform force that is straight between points in time; before and behind them, that of the first and last."""

    time_s: np.ndarray  #: (m,) ascending [s]
    force: np.ndarray  #: (m, 3)

    def __call__(self, time_s: np.ndarray) -> np.ndarray:
        """(K, 3) force at times (K,) [s]."""
        return np.stack([np.interp(time_s, self.time_s, component) for component in self.force.T], axis=1)


@dataclass(frozen=True)
class DrivingForce:
    """A uniform body force over time."""

    force: np.ndarray  #: (3,) vector, in any unit
    factor: Callable | None = None  #: its waveform, a function of (K,) times [s]; None: 1
    turn: Turn | None = None  #: how it turns; None: not at all
    delay_s: float = 0.0  #: how much later than that it acts [s]
    #: further forces that change with time, functions of (K,) times [s] -> (K, 3), which do not turn
    terms: tuple[Callable, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether it depends on time."""
        turns = self.turn is not None and self.turn.factor is not None
        return self.factor is not None or turns or bool(self.terms)

    def __call__(self, time_s: np.ndarray) -> np.ndarray:
        """(K, 3) force at times (K,) [s]."""
        time_s = time_s - self.delay_s
        drive = np.ones(len(time_s)) if self.factor is None else self.factor(time_s)
        found = drive[:, None] * (self.force if self.turn is None else self.turn(self.force, time_s))
        return sum((term(time_s) for term in self.terms), found)
