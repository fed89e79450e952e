"""From the waveforms of a case to factors of time, and what is known of them before the first step."""

from collections.abc import Iterator
from contextlib import suppress
from math import ceil, isclose

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.key_units import unit_of
from muphy_lb.base.narrow import known
from muphy_lb.boundaries.waveform import MAX_QUOTED, FourierSeries, PeriodicSpline, heading_of_factor, read_table
from muphy_lb.case.boundaries import WaveformSection
from muphy_lb.case.case import Case
from muphy_lb.geometry.limits import cut
from muphy_lb.geometry.quantities import in_si, named_unit

# A smooth curve through measured points exceeds them by a fraction; one through a kink has no bound.
MAX_OVERSHOOT = 3.0
# Points of a waveform: the spline solves a dense system.
MOST_POINTS = 2000
SAMPLES_A_WAVE = 100
SAMPLES_OF_WAVE = 4  # that means over a period take
STEPS_OF_WAVE = 50  # least number of steps, of what a frozen flow carries, in the fastest wave
MULTIPLIED = (
    *("velocity_m_s", "flow_rate_m3_s", "mass_flow_kg_s", "pressure_pa", "rotation_rad_s"),
    *("acceleration_m_s2", "pressure_drop_pa", "angle_rad"),
)
# Difference of the ratio of two periods from a whole number, relative.
PERIOD_ERROR = 1e-6


def waveform_factor(case: Case, section: WaveformSection | None) -> FourierSeries | PeriodicSpline | None:
    """The factor that a waveform of a case is; None without one. Raises InputError: its table cannot be read, or is no
    period."""
    if section is None:
        return None
    if section.file is None:
        return FourierSeries(known(section.period_s), section.mean, section.cosine, section.sine)
    path = case.folder / section.file
    time_s, value = read_table(path, "waveform.file")
    if time_s.size > MOST_POINTS:
        raise InputError(f"waveform.file {path}: {time_s.size} points; at most {MOST_POINTS} are allowed: remove some")
    if time_s.size < 4 or abs(value[-1] - value[0]) > 1e-6 * np.abs(value).max():
        raise InputError(
            f"waveform.file {path}: {time_s.size} points from {value[0]:g} to {value[-1]:g}; a period needs at least 4,"
            " and its last factor must equal its first"
        )
    spline, most = PeriodicSpline(time_s, value), MAX_OVERSHOOT * np.abs(value).max()
    if not np.all(np.abs(spline(_between(time_s))) <= most):
        raise InputError(
            f"waveform.file {path}: the curve through its points leaves {most:.3g}, {MAX_OVERSHOOT} times the largest"
            " factor: some points are much closer together than others; space them more evenly"
        )
    return spline


def largest_factor(waveform: WaveformSection | None, case: Case) -> float:
    """Largest absolute factor of a waveform."""
    return max(map(abs, factor_bounds(waveform, case)))


def factor_bounds(waveform: WaveformSection | None, case: Case) -> tuple[float, float]:
    """Lowest and highest factor of a waveform over its period, sampled so often that what is missed is less than a
    thousandth of its fastest wave."""
    factor = waveform_factor(case, waveform)
    if factor is None or waveform is None:
        return 1.0, 1.0
    if isinstance(factor, FourierSeries):
        n_samples = SAMPLES_A_WAVE * max(1, len(factor.cosine), len(factor.sine))
        values = factor(factor.period_s * np.arange(n_samples) / n_samples)
    else:
        time_s, _ = read_table(case.folder / str(waveform.file), "waveform.file")
        values = factor(np.concatenate((time_s, _between(time_s))))
    return float(values.min()), float(values.max())


def fastest_wave_s(waveform: WaveformSection, case: Case) -> float:
    """Period of the fastest harmonic of a waveform [s]; of a table its whole length."""
    if waveform.file is not None:
        return _period_s(case, waveform)
    return known(waveform.period_s) / max(1, len(waveform.cosine), len(waveform.sine))


def fastest_of_flow_s(case: Case) -> float:
    """Period of the fastest harmonic of all waveforms that drive the flow [s]; infinite without one."""
    return min((fastest_wave_s(waveform, case) for waveform in case.waveforms.values()), default=np.inf)


def longest_period_s(case: Case) -> float:
    """Longest period of the time-dependent values of a case [s], 0 if there are none."""
    return max(periods_s(case).values(), default=0.0)


def samples_of_period(case: Case, least: int) -> int:
    """How many samples of the longest period its means take: ``least``, and four of the fastest wave, which would look
    as if it stood still at one."""
    return max(least, ceil(SAMPLES_OF_WAVE * longest_period_s(case) / fastest_of_flow_s(case)))


def periods_s(case: Case) -> dict[str, float]:
    """The period [s] of everything in a case that repeats itself, by its key."""
    found = {key: _period_s(case, waveform) for key, waveform in case.waveforms.items()}
    beds = {opening.name: opening.coronary for opening in case.openings if opening.coronary is not None}
    muscles = {name: bed.muscle_pressure for name, bed in beds.items() if bed.muscle_pressure is not None}
    return found | {f"openings.{name}.coronary.muscle_pressure": muscle.period_s for name, muscle in muscles.items()}


def refuse_other_periods(case: Case) -> None:
    """Raise InputError where not all that repeats itself in a case does so within the longest period, although the run
    is to become periodic, a beat is replayed, or the heart muscle around a coronary bed beats beside the flow."""
    muscles = [key for key in periods_s(case) if key.endswith(".muscle_pressure")]
    for told in other_periods(case) if case.run.periodic_tolerance or case.run.replayed_instants or muscles else ():
        raise InputError(f"{told}: the flow would not repeat itself in that time; give both the same period")


def refuse_other_units(case: Case) -> None:
    """Raise InputError where the heading of a table names a unit of its factors, and the value that they multiply is
    not one of it."""
    for owner, section in case.waveform_owners.items():
        waveform = section.waveform
        if waveform is None or waveform.file is None:
            continue
        path, key = case.folder / waveform.file, f"{owner}.waveform.file"
        read_table(path, key)
        heading = heading_of_factor(path)
        names = " or ".join(f"{owner}.{name}" for name in MULTIPLIED if getattr(section, name, None))
        unit = named_unit(heading)
        if not (names and unit) or ("[" not in heading and not _is_of_values(unit)):
            continue
        if not any(_is_one(unit, key, value) for key, value in section):
            raise InputError(
                f"{key}: in {path} the heading {cut(heading, MAX_QUOTED)!r} names a unit, and the column is a factor of"
                f" {names}: where it is in this unit give {names} = '1 {cut(unit, MAX_QUOTED)}', else leave the unit"
                " out of the heading"
            )


def _is_of_values(unit: str) -> bool:
    """Whether a text is a unit of what waveforms multiply: without square brackets it may be a name."""
    for key in MULTIPLIED:
        with suppress(ValueError):
            in_si(f"1 {unit}", known(unit_of(key, {})))
            return True
    return False


def _is_one(unit: str, key: str, value) -> bool:
    """Whether the value of a key, a vector by its length, is one of a unit."""
    if key not in MULTIPLIED or value is None:
        return False
    with suppress(ValueError):
        return isclose(np.linalg.norm(value), in_si(f"1 {unit}", known(unit_of(key, {}))), rel_tol=PERIOD_ERROR)
    return False


def other_periods(case: Case) -> Iterator[str]:
    """Texts on the periods of a case of which the longest is no whole multiple."""
    periods = periods_s(case)
    longest = max(periods, key=periods.__getitem__, default="")
    for key, period_s in periods.items():
        ratio = periods[longest] / period_s
        if abs(ratio - round(ratio)) > PERIOD_ERROR * ratio:
            yield (
                f"{key} has a period of {period_s:.6g} s and {longest} one of {periods[longest]:.6g} s, which is no"
                " whole multiple of it"
            )


def _period_s(case: Case, waveform: WaveformSection) -> float:
    if waveform.file is None:
        return waveform.period_s or 0.0
    time_s, _ = read_table(case.folder / waveform.file, "waveform.file")
    return float(time_s[-1] - time_s[0])


def _between(time_s: np.ndarray) -> np.ndarray:
    """Times at the quarters of each interval."""
    return (time_s[:-1] + np.array([[0.25], [0.5], [0.75]]) * np.diff(time_s)).ravel()
