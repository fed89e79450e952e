"""Samplers: the table of the values of all members, the same for the same seed."""

from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from pathlib import Path

import numpy as np

from muphy_lb.apps.study.distributions import listed_values, quantiles
from muphy_lb.apps.study.section import ParameterSection, StudySection
from muphy_lb.base.errors import InputError

MOST_MEMBERS = 100_000


@dataclass(frozen=True)
class Design:
    """The members of a study."""

    names: tuple[str, ...]  #: of the d parameters
    values: np.ndarray  #: (m, d) values by member and parameter, of type object
    #: (m, d) independent coordinates between 0 and 1 from which values follow; nan where there are none (a list)
    coordinates: np.ndarray
    #: names of what is varied by itself, and the columns that belong to it: parameters that are correlated go together
    factors: dict[str, list[int]]
    sampler: str
    #: factorial: number of values of each parameter
    levels: tuple[int, ...] = ()
    #: (m,) voxels along an edge over that of the case
    grid: np.ndarray = field(default_factory=lambda: np.ones(0))
    #: members that the sampler drew; behind them lie, at the middle of all distributions, those of ``grids``; the
    #: drawn ones on the coarse grid; and further ones there
    n_drawn: int = 0
    n_grids: int = 0
    n_coarse: int = 0  #: of the further ones

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(self.values)

    @property
    def n_base(self) -> int:
        """Number of base points of Saltelli's design, in which members lie as A, B, and A with a factor of B, for each
        factor; 0 for other designs."""
        return self.n_drawn // (len(self.factors) + 2) if self.sampler == "sobol" else 0

    @property
    def independent(self) -> np.ndarray:
        """Numbers of the members that are a sample of the distributions: A and B of Saltelli's, else all."""
        return np.arange(2 * self.n_base or self.n_drawn)

    @property
    def drawn(self) -> slice:
        """The members that the sampler drew, all on the grid of the case."""
        return slice(self.n_drawn)

    @property
    def on_grids(self) -> slice:
        """The members on the grids that are compared."""
        return slice(self.n_drawn, self.n_drawn + self.n_grids)

    @property
    def pairs(self) -> slice:
        """The members on the coarse grid whose values are those that the sampler drew, in the same order."""
        return slice(self.on_grids.stop, self.n_members - self.n_coarse)

    @property
    def coarse(self) -> slice:
        """The further members on the coarse grid."""
        return slice(self.n_members - self.n_coarse, self.n_members)

    @property
    def has_grids(self) -> bool:
        """Whether members are on other grids than that of the case."""
        return self.n_members > self.n_drawn


def design(section: StudySection, folder: Path) -> Design:
    """The members of a study.

    Saltelli's design (Saltelli et al., Comput. Phys. Commun. 181, 259 (2010)) has for n base points of two independent
    points A and B each, of a scrambled Sobol sequence in 2 d dimensions, and for each factor A with the columns of that
    factor from B. Correlated parameters get their normal scores from the Cholesky factor of the matrix of correlations
    (Gaussian copula).

    Args:
        folder: the folder that files are relative to.

    Raises InputError: distributions that contradict each other, or too many members.
    """
    parameters, factors = section.parameters, _factors(section)
    if section.sampler == "list":
        return _on_grids(_listed(section, folder, factors), None, section)
    functions = [quantiles(parameter, folder) for parameter in parameters]
    levels: tuple[int, ...] = ()
    if section.sampler == "factorial":
        levels = tuple(len(listed_values(each, folder)) or section.levels for each in parameters)
        _refuse_too_many(prod(levels), f"{' x '.join(map(str, levels))} combinations")
        coordinates = np.array(list(product(*((np.arange(n) + 0.5) / n for n in levels))))
    else:
        coordinates = _coordinates(section, factors)
    correlated = _correlated(coordinates, section)
    columns = [function(correlated[:, k]) for k, function in enumerate(functions)]
    middle = _table([function(np.array([0.5])) for function in functions])
    drawn = Design(_names(parameters), _table(columns), coordinates, factors, section.sampler, levels)
    return _on_grids(drawn, middle, section)


def _on_grids(drawn: Design, middle: np.ndarray | None, section: StudySection) -> Design:
    """The design with its members on other grids.

    Args:
        drawn: values of the sampler, behind them those that are run on the coarse grid alone.
        middle: (1, d) values in the middle of all distributions; None for those in the middle of a list.
    """
    n_coarse = section.coarse_samples or 0
    n, grids = drawn.n_members - n_coarse, section.grids
    whole = np.arange(n if section.coarse else 0)
    last = np.arange(n, n + n_coarse)
    order = np.concatenate([np.arange(n), np.full(len(grids), n // 2), whole, last])
    values, coordinates = drawn.values[order], drawn.coordinates[order]
    compared = slice(n, n + len(grids))
    values[compared] = values[compared] if middle is None else middle
    coordinates[compared] = 0.5
    grid = np.concatenate([np.ones(n), grids, np.full(whole.size + last.size, section.coarse or 1.0)])
    _refuse_too_many(len(order), f"{n} members and those on other grids")
    return replace(
        drawn, values=values, coordinates=coordinates, grid=grid, n_drawn=n, n_grids=len(grids), n_coarse=n_coarse
    )


def _names(parameters: tuple[ParameterSection, ...]) -> tuple[str, ...]:
    return tuple(parameter.name for parameter in parameters)


def _coordinates(section: StudySection, factors: dict[str, list[int]]) -> np.ndarray:
    from scipy.stats import qmc

    d, n, random = len(section.parameters), int(section.samples or 0), np.random.default_rng(section.seed)
    if section.sampler == "random":
        _refuse_too_many(n + (section.coarse_samples or 0), "samples")
        return random.random((n + (section.coarse_samples or 0), d))
    if section.sampler == "latin-hypercube":
        _refuse_too_many(n, "samples")
        return qmc.LatinHypercube(d, seed=random).random(n)
    _refuse_too_many(n * (len(factors) + 2), f"{n} base points for each of {len(factors)} parameters and twice more")
    points = np.clip(qmc.Sobol(2 * d, seed=random).random(n), 1e-12, 1.0 - 1e-12)
    a, b = points[:, :d], points[:, d:]
    mixed = []
    for columns in factors.values():
        exchanged = a.copy()
        exchanged[:, columns] = b[:, columns]
        mixed.append(exchanged)
    return np.concatenate([a, b, *mixed])


def _correlated(coordinates: np.ndarray, section: StudySection) -> np.ndarray:
    """The coordinates with the correlations of the study."""
    if not section.correlations:
        return coordinates
    from scipy.stats import norm

    names = _names(section.parameters)
    matrix = np.eye(len(names))
    for each in section.correlations:
        i, j = (names.index(name) for name in each.between)
        matrix[i, j] = matrix[j, i] = each.coefficient
    try:
        factor = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError as error:
        raise InputError(
            "study.correlations contradict each other: there are no parameters with all of them; bring the coefficients"
            " nearer to 0"
        ) from error
    apart = np.all(matrix == np.eye(len(names)), axis=1)
    return np.where(apart, coordinates, norm.cdf(norm.ppf(coordinates) @ factor.T))


def _factors(section: StudySection) -> dict[str, list[int]]:
    """Columns by name of what varies by itself: connected groups of correlated parameters."""
    names = _names(section.parameters)
    group = {name: {name} for name in names}
    for each in section.correlations:
        joined = set().union(*(group[name] for name in each.between))
        group |= dict.fromkeys(joined, joined)
    found = {}
    for name in names:
        columns = sorted(names.index(other) for other in group[name])
        found[" & ".join(names[k] for k in columns)] = columns
    return found


def _listed(section: StudySection, folder: Path, factors) -> Design:
    columns = [listed_values(parameter, folder) for parameter in section.parameters]
    counts = dict(zip(_names(section.parameters), map(len, columns), strict=True))
    if len(set(counts.values())) > 1 or not all(counts.values()):
        told = ", ".join(f"{name} {count or 'none'}" for name, count in counts.items())
        raise InputError(
            f"study: the sampler list takes the first values of all parameters, the second ones, and so on; there are:"
            f" {told}; give every parameter as many values, in values or measured"
        )
    values = _table(columns)
    return Design(_names(section.parameters), values, np.full(values.shape, np.nan), factors, "list")


def _table(columns) -> np.ndarray:
    table = np.empty((len(columns[0]), len(columns)), dtype=object)
    for k, column in enumerate(columns):
        for member, value in enumerate(column):
            table[member, k] = value.item() if isinstance(value, np.generic) else value
    return table


def _refuse_too_many(n_members: int, words: str) -> None:
    if n_members > MOST_MEMBERS:
        raise InputError(f"study: {words} are {n_members} members; at most {MOST_MEMBERS} are allowed")
