"""The values of a parameter by their quantiles: distributions of SciPy, lists, and samples of measured values."""

import csv
from collections.abc import Callable
from math import log, sqrt
from pathlib import Path

import numpy as np

from muphy_lb.apps.study.section import ParameterSection
from muphy_lb.base.errors import InputError
from muphy_lb.base.key_units import unit_of
from muphy_lb.geometry.quantities import column_in_si

LEAST_HELD = 1e-3  # share of a distribution between its bounds, below which they are those of another unit

Quantiles = Callable[[np.ndarray], np.ndarray]  # from (m,) probabilities in (0, 1) to (m,) values, ascending


def quantiles(parameter: ParameterSection, folder: Path) -> Quantiles:
    """The quantile function of a parameter.

    A lognormal distribution of mean m and standard deviation s has the logarithm's variance log(1 + (s/m)^2). The
    function of n sorted values of a sample is linear between them, the k-th of them at (k - 1/2) / n (Hazen).

    Args:
        folder: the folder that files are relative to.

    Raises InputError: a file that cannot be read or holds no number; bounds between which there is nothing.
    """
    from scipy import stats  # a second that the command line need not wait

    if parameter.uniform is not None:
        low, high = parameter.uniform
        return lambda p: low + (high - low) * p
    listed = listed_values(parameter, folder)
    if parameter.measured is not None:
        ordered = np.sort(np.array(listed, dtype=np.float64))
        return lambda p: np.quantile(ordered, p, method="hazen")
    if listed:
        chosen = np.empty(len(listed), dtype=object)
        chosen[:] = listed
        return lambda p: chosen[np.minimum((p * len(chosen)).astype(np.int64), len(chosen) - 1)]
    if parameter.normal is not None:
        frozen = stats.norm(*parameter.normal)
    else:
        mean, deviation = parameter.lognormal or (1.0, 1.0)
        variance = log(1.0 + (deviation / mean) ** 2)
        frozen = stats.lognorm(sqrt(variance), scale=mean * np.exp(-0.5 * variance))
    return _cut_off(frozen, parameter)


def listed_values(parameter: ParameterSection, folder: Path) -> tuple:
    """The values of a list or a file of measured ones, in their order; none of another distribution. Raises InputError
    as :func:`quantiles`."""
    return _measured(parameter, folder) if parameter.measured is not None else parameter.values or ()


def _cut_off(frozen, parameter: ParameterSection) -> Quantiles:
    low, high = parameter.within or (-np.inf, np.inf)
    below, above = frozen.cdf(low), frozen.cdf(high)
    if not above - below > LEAST_HELD:
        held = f"{above - below:.1g}" if above > below else "nothing"
        raise InputError(
            f"study.parameters.{parameter.name}: within = [{low:g}, {high:g}] holds {held} of the distribution, whose"
            f" mean is {frozen.mean():g}; give bounds around it, and all in the same unit"
        )
    return lambda p: frozen.ppf(below + (above - below) * p)


def _measured(parameter: ParameterSection, folder: Path) -> tuple:
    path, heading = folder / str(parameter.measured), parameter.column or parameter.name
    where = f"study.parameters.{parameter.name}.measured"
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{where}: {path} cannot be read as a table: {error}; give a CSV file") from error
    headings = list(rows[0]) if rows else []
    if heading not in headings:
        there = ", ".join(map(str, headings)) or "none"
        raise InputError(f"{where}: {path} has no column {heading!r}; there are: {there}; give column")
    try:
        found = tuple(float(row[heading]) for row in rows)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: column {heading!r} of {path} holds something else than numbers: {error}") from error
    unit = None if parameter.relative else unit_of(parameter.key[0].rpartition(".")[2], {})
    try:
        found = tuple(column_in_si(np.array(found), heading, unit).tolist()) if unit else found
    except ValueError as error:
        raise InputError(f"{where}: in {path} the heading {heading!r} {error}") from error
    if not np.all(np.isfinite(found)):
        raise InputError(f"{where}: column {heading!r} of {path} holds values that are not finite; remove these rows")
    return found
