"""The answers of a study: mean, standard deviation and band of each, and which parameters its variance comes from."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from muphy_lb.apps.study.control_variate import ControlVariate, control_variate
from muphy_lb.apps.study.discretisation import Discretisation, discretisation_of, widened
from muphy_lb.apps.study.expansion import Expansion, expansion_of
from muphy_lb.apps.study.samplers import Design
from muphy_lb.apps.study.table import Table

LEVELS = (0.025, 0.975)
"""Probabilities at the ends of a band, and of the bars of indices."""
COVERED = LEVELS[1] - LEVELS[0]
RESAMPLES = 400
MOST_VALUES = 2**22
"""Values of resamples that are held at once."""


@dataclass(frozen=True)
class Band:
    """The distribution of an answer, and the Monte Carlo errors of all its numbers: standard errors, by bootstrap."""

    n: int  #: values that it is computed from
    mean: float
    deviation: float  #: standard deviation
    low: float  #: 2.5th percentile
    high: float  #: 97.5th percentile
    mean_error: float
    deviation_error: float
    low_error: float
    high_error: float

    @property
    def covered(self) -> float:
        """Probability with which a further value lies in the band, which for less than 39 values is that between the
        lowest and the highest of them."""
        return min(COVERED, (self.n - 1) / (self.n + 1))


@dataclass(frozen=True)
class Index:
    """Shares of the variance of an answer: ``first`` of a factor alone, ``total`` with all interactions that it takes
    part in; and their 95 % bars."""

    factor: str
    first: float
    total: float
    first_bar: tuple[float, float]
    total_bar: tuple[float, float]


@dataclass(frozen=True)
class Answer:
    """An answer of a study."""

    name: str
    band: Band | None  #: None for less than two values
    indices: tuple[Index, ...]
    method: str  #: how the indices were found, as text, or why there are none
    expansion: Expansion | None  #: the response surface
    grid: Discretisation | None = None  #: share of the grid, where grids are compared
    control: ControlVariate | None = None  #: the mean with coarse members as control variates

    @property
    def whole_band(self) -> tuple[float, float] | None:
        """Both ends of the band including the error of the grid; None where that is unknown."""
        if self.band is None or self.grid is None or self.grid.error is None:
            return None
        low, high = (widened(self.band.mean, end, self.grid.error) for end in (self.band.low, self.band.high))
        return low, high


def answers_of_table(table: Table) -> list[Answer]:
    """The answers of a study by the order of its table."""
    return [_answer(name, values, table) for name, values in table.answers.items()]


def _answer(name: str, values: np.ndarray, table: Table) -> Answer:
    design, section = table.members.design, table.members.asked.section
    drawn = values[design.independent]
    band = band_of(drawn, section.seed)
    grid = discretisation_of(section.grids, values[design.on_grids]) if section.grids else None
    control = _control(values, table)
    if band is None:
        return Answer(name, None, (), "no indices: the answer has less than two values", None, grid, control)
    if not band.deviation > 0.0:
        return Answer(name, band, (), "no indices: the answer is the same in all members", None, grid, control)
    hermite = tuple(bool(each.normal or each.lognormal) for each in section.parameters)
    expansion = expansion_of(design.coordinates[design.independent], drawn, hermite)
    indices, method = _indices(values[design.drawn], design, expansion, section.seed)
    return Answer(name, band, indices, method, expansion, grid, control)


def _control(values: np.ndarray, table: Table) -> ControlVariate | None:
    """The mean with control variates; the cost of a coarse member is that of its nodes and steps."""
    design, factor = table.members.design, table.members.asked.section.coarse
    if factor is None:
        return None
    steps = np.array([outcome.steps if outcome and not outcome.failure else 0 for outcome in table.outcomes])
    whole = (steps[design.drawn] > 0) & (steps[design.pairs] > 0)
    shorter = steps[design.pairs][whole].sum() / steps[design.drawn][whole].sum() if whole.any() else factor**2
    return control_variate(
        values[design.drawn], values[design.pairs], values[design.coarse], float(factor**3 * shorter)
    )


def band_of(values: np.ndarray, seed: int = 0) -> Band | None:
    """The band of a sample, nan left out; None for less than two values.

    The k-th of n sorted values is the percentile k / (n + 1) (Weibull): on average a band holds the next value with its
    probability, whatever the distribution.
    """
    known = values[np.isfinite(values)]
    if known.size < 2:
        return None
    random = np.random.default_rng(seed)
    at_once = min(RESAMPLES, max(1, MOST_VALUES // known.size))
    sampled = [_moments(random.choice(known, (at_once, known.size))) for _ in range(RESAMPLES // at_once)]
    return Band(known.size, *_moments(known[None])[:, 0].tolist(), *np.hstack(sampled).std(axis=1).tolist())


def _moments(values: np.ndarray) -> np.ndarray:
    """(4, k) means, standard deviations and both ends of the bands of samples (k, n)."""
    ends = np.quantile(values, LEVELS, axis=1, method="weibull")
    return np.stack([values.mean(axis=1), values.std(axis=1, ddof=1), *ends])


def _indices(values: np.ndarray, design: Design, expansion: Expansion | None, seed: int):
    """The indices of all factors, and how they were found."""
    if design.n_base:
        return _of_saltelli(values, design, expansion, seed)
    if design.sampler == "factorial":
        return _of_factorial(values, design)
    if expansion is not None and expansion.is_usable:
        return _of_expansion(expansion, design), f"of the response surface ({expansion.told})"
    return (), "no indices: take the sampler sobol, or more samples for a response surface"


def _of_saltelli(values: np.ndarray, design: Design, expansion: Expansion | None, seed: int):
    """Indices by Saltelli's estimator of the first order and Jansen's of the total one (Saltelli et al., Comput. Phys.
    Commun. 181, 259 (2010), table 2 (b) and (f)), of the base points of which no member failed; bars by bootstrap.

    A response surface g is a control variate: its own indices are known, and only the rest, of f less that of g, is
    averaged over the points.
    """
    rows = (len(design.factors) + 2, design.n_base)
    f, g, known = values.reshape(rows), np.zeros(rows), np.zeros((2, len(design.factors)))
    whole = np.isfinite(f).all(axis=0)
    n = int(whole.sum())
    if n < 2:
        return (), "no indices: there are less than two base points of which no member failed"
    f, variance = f[:, whole] - f[:2, whole].mean(), 0.0
    if expansion is not None:
        g = (expansion(design.coordinates[design.drawn]) - expansion.coefficients[0]).reshape(rows)
        known = np.array([expansion.shares(columns) for columns in design.factors.values()]).T * expansion.variance
        variance = expansion.variance
    terms, control = _terms(f), _terms(g[:, whole])
    rest = [one - other for one, other in zip(terms, control, strict=True)]

    def found(chosen) -> np.ndarray:
        spread, *parts = (each[..., chosen].mean(axis=-1) for each in rest)
        return (known + np.array(parts)) / (variance + spread)

    lost = f", {design.n_base - n} base points left out where a member failed" if n < design.n_base else ""
    return _together(design, found(slice(None)), _bars(found, n, seed)), f"Saltelli's design of {n} base points{lost}"


def _terms(y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """At each base point the terms whose means are the variance (n,), its parts of the first order and the total ones
    (factors, n); ``y``: (factors + 2, n) centred values at A, B, and A with a factor of B."""
    a, b, mixed = y[0], y[1], y[2:]
    return 0.5 * (a**2 + b**2), b * (mixed - a), 0.5 * (a - mixed) ** 2


def _bars(found: Callable, n: int, seed: int) -> np.ndarray:
    """(2, factors, 2) ends of the bars of first and total indices."""
    random = np.random.default_rng(seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        sampled = np.array([found(random.integers(n, size=n)) for _ in range(RESAMPLES)])
    return np.moveaxis(np.nanquantile(sampled, LEVELS, axis=0), 0, -1)


def _of_factorial(values: np.ndarray, design: Design):
    """Indices of all combinations, which are exact for the values that were taken."""
    if not np.isfinite(values).all():
        return (), "no indices: of a factorial design they need all members, and some failed"
    table, axes = values.reshape(design.levels), range(len(design.levels))
    first = [table.mean(axis=tuple(k for k in axes if k != axis)).var() / table.var() for axis in axes]
    total = [table.var(axis=axis).mean() / table.var() for axis in axes]
    both = np.array([first, total])
    return _together(design, both, np.stack([both, both], axis=-1)), "all combinations of the values taken"


def _of_expansion(expansion: Expansion, design: Design) -> tuple[Index, ...]:
    """Indices of a response surface; their bars are the share of the variance that it misses."""
    both = np.array([expansion.shares(columns) for columns in design.factors.values()]).T
    miss = expansion.missed
    return _together(design, both, np.stack([both - miss, both + miss], axis=-1))


def _together(design: Design, both, bars) -> tuple[Index, ...]:
    first, total = both
    return tuple(
        Index(name, float(first[k]), float(total[k]), tuple(bars[0][k].tolist()), tuple(bars[1][k].tolist()))
        for k, name in enumerate(design.factors)
    )


def dominating(answer: Answer) -> str:
    """The parameter that dominates an answer with indices, in a sentence."""
    ordered = sorted(answer.indices, key=lambda index: -index.total)
    shares = ", ".join(f"{index.factor} {100.0 * index.first:.0f} %" for index in ordered[1:])
    rest = 1.0 - sum(index.first for index in ordered)
    together = f", and {100.0 * rest:.0f} % several of them together" if len(ordered) > 1 and rest > 0.02 else ""
    first = ordered[0]
    low, high = (100.0 * end for end in first.first_bar)
    return (
        f"{answer.name}: {first.factor} alone explains {100.0 * first.first:.0f} % of the variance ({low:.0f} to"
        f" {high:.0f} %){'; ' if shares else ''}{shares}{together}."
    )
