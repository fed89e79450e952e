"""Boundary conditions of a scalar, and its values beyond walls of voxels.

A boundary half-way along a link prescribes the value T_w (Dirichlet), the step s of the value across one voxel (flux,
Neumann; zero: adiabatic), or nothing (outflow, zero gradient). With T_1 the value at the node and T_2 that at the next
node away from the wall, the extrapolated value g along an axis is

    fixed:    g = 8/3 T_w - 2 T_1 + 1/3 T_2,   or 2 T_w - T_1 where the next node is not fluid
    flux:     g = a T_1 + s
    outflow:  g = T_1

The factor a differs from 1 for a conducting wall: with b = (conductivity of the wall over that of the fluid) / (its
thickness in voxels) and T_o on its outer side, the flux b (T_o - T_w) = g - T_1 and T_w = (g + T_1) / 2 give
a = (2 - b) / (2 + b), s = 2 b T_o / (2 + b).

Values along diagonals are extrapolated axis by axis, x before y before z, as if layers of ghost nodes were filled one
after the other (Obrecht, Kuznik, Tourancheau, Roux, Comput. Fluids 54, 118 (2012): "second-order extrapolation").
Walls that lie elsewhere on their links: :mod:`muphy_lb.domain.fitted_values`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from muphy_lb.base.kept.functions import njit
from muphy_lb.geometry.neighbours import FIRST_OPENING_LINK, FIRST_WALL_LINK, WALL_LINK

FIXED, FLUX, OUTFLOW, INFLOW = 0, 1, 2, 3
MOST_TERMS = 4


@dataclass(frozen=True)
class ScalarBoundary:
    """Boundary conditions of a scalar: labelled walls by number, all other solids, then openings by number."""

    kind: np.ndarray  #: (W + 1 + O,) ``FIXED``, ``FLUX``, ``OUTFLOW``, or of carried scalars ``INFLOW``
    value: np.ndarray  #: (W + 1 + O,) the prescribed value, or the step across one voxel
    n_walls: int  #: W
    factor: np.ndarray | None = None  #: (W + 1 + O,) factor a of a flux condition; None: 1 everywhere
    #: by number of a boundary of scalar streaming, the factor of its value over time, a function of (K,) times [s]
    #: (:class:`muphy_lb.boundaries.waveform.StepMean`)
    courses: Mapping[int, Any] = field(default_factory=dict)
    #: by number of a conducting wall of scalar streaming with the value 0 beyond, the value at which it takes up half
    #: as much as in proportion (:mod:`muphy_lb.operators.saturation`)
    levels: Mapping[int, float] = field(default_factory=dict)

    def over(self, n_steps: int) -> "ScalarBoundary":
        """The conditions in steps as long as some of the flow; their courses as well."""
        return replace(self, courses={of: each.over(n_steps) for of, each in self.courses.items()})

    def numbers_of(self, code: np.ndarray) -> np.ndarray:
        """Numbers of the boundaries that links with these codes lead into."""
        opening = self.n_walls + 1 + FIRST_OPENING_LINK - code
        number = np.where(code <= FIRST_WALL_LINK, FIRST_WALL_LINK - code, opening)
        return np.where(code == WALL_LINK, self.n_walls, number)

    @property
    def acts(self) -> np.ndarray:
        """(W + 1 + O,) whether each boundary is an opening, or a wall that does not return all that meets it."""
        found = (self.kind != FLUX) | (self.value != 0.0) | (self.factors != 1.0)
        found[[*self.courses, *self.levels]] = True
        found[self.n_walls + 1 :] = True
        return found

    @property
    def factors(self) -> np.ndarray:
        """(W + 1 + O,) factor a of every boundary."""
        return np.ones(len(self.kind)) if self.factor is None else self.factor


@dataclass(frozen=True)
class Extrapolations:
    """Extrapolated values as sums ``constant + sum weight * T[index]``, sorted by node."""

    #: node, k: (S,) node whose stencil reads the value, and the number of its stencil entry
    node: np.ndarray
    k: np.ndarray
    index: np.ndarray  #: (terms, S) nodes that contribute
    weight: np.ndarray  #: (terms, S)
    constant: np.ndarray  #: (S,)
    #: (S,) number of the course by which the constant and the carrier's weights change with time, -1 for none
    course: np.ndarray
    #: left, share, entering, level: (S,) of walls that saturate, whose sum is Y, index of the population that left
    #: towards the wall, and A, e and level of :mod:`muphy_lb.operators.saturation`; elsewhere the level is infinite
    left: np.ndarray
    share: np.ndarray
    entering: np.ndarray
    level: np.ndarray
    #: (S,) number of a scalar that leaves freely with its carrier, of which the sum is then what enters less what left;
    #: -1 for others
    carried: np.ndarray

    @classmethod
    def plain(cls, node, k, index, weight, constant) -> "Extrapolations":
        """Values that are nothing but sums."""
        zero, none = np.zeros(k.size), np.full(k.size, -1)
        return cls(node, k, index, weight, constant, none, index[0], zero, zero, np.full(k.size, np.inf), none)

    @property
    def is_copy(self) -> np.ndarray:
        """(S,) whether the value is simply that of a node, as beside an adiabatic wall: this needs no memory."""
        is_plain = (self.constant == 0.0) & (self.course < 0) & np.isinf(self.level) & (self.carried < 0)
        return is_plain & (self.weight[0] == 1.0) & ~self.weight[1:].any(axis=0)


def extrapolate(codes: np.ndarray, nodes: np.ndarray, vectors: np.ndarray, boundary: ScalarBoundary) -> Extrapolations:
    """The extrapolated values that the stencils of some nodes read.

    Args:
        codes: (1 + K, m) index of the node itself, then of its neighbour along each vector, or the code of a link.
        nodes: (m,) their local numbers.
        vectors: (K, 3) of at most two non-zero components each, including all that have one.
    """
    there = np.full((3, 3, 3), -1, dtype=np.int64)
    there[1, 1, 1] = 0
    for number, (x, y, z) in enumerate(vectors, start=1):
        there[x + 1, y + 1, z + 1] = number
    k, column = np.nonzero(codes[1:] < 0)
    order = np.lexsort((k, column))
    k, column = k[order], column[order]
    index, weight = np.zeros((MOST_TERMS, k.size), dtype=np.int64), np.zeros((MOST_TERMS, k.size))
    constant = np.zeros(k.size)
    vectors = np.ascontiguousarray(vectors, dtype=np.int64)
    met = boundary.kind, boundary.value, boundary.factors, boundary.n_walls
    _resolve(codes, column, vectors[k], there, met, index, weight, constant)
    index = np.where(weight != 0.0, index, codes[0, column].astype(np.int64))
    return Extrapolations.plain(nodes[column], k, index, weight, constant)


@njit(cache=True)
def _resolve(codes, column, vectors, there, boundary, index, weight, constant):
    for s in range(column.size):
        around = codes[:, column[s]]
        constant[s] = _extrapolate_one(around, vectors[s], there, boundary, index[:, s], weight[:, s])


@njit(cache=True)
def _extrapolate_one(around, vector, there, boundary, index, weight):
    """Indices and weights of one extrapolated value; returns its constant."""
    here, first, second = np.zeros(3, np.int64), np.zeros(3, np.int64), np.zeros(3, np.int64)
    axes = np.flatnonzero(vector)
    first[axes[0]] = vector[axes[0]]
    if axes.size == 1:
        return _along(around, here, first, there, boundary, index, weight, 1.0)
    second[axes[1]] = vector[axes[1]]
    if _at(around, second, there) >= 0:
        return _along(around, second, first, there, boundary, index, weight, 1.0)
    if _at(around, first, there) >= 0:
        return _along(around, first, second, there, boundary, index, weight, 1.0)
    kind, value, factor = _condition(_at(around, second, there), boundary)
    if kind != FIXED:
        return value + _along(around, here, first, there, boundary, index, weight, factor)
    if _at(around, -second, there) < 0:
        return 2.0 * value + _along(around, here, first, there, boundary, index, weight, -1.0)
    inner = _along(around, -second, first, there, boundary, index, weight, 1.0 / 3.0)
    return 8.0 / 3.0 * value + _along(around, here, first, there, boundary, index, weight, -2.0) + inner


@njit(cache=True)
def _along(around, start, step, there, boundary, index, weight, scale):
    """Add ``scale`` times the value one step away from a fluid voxel, extrapolated if needed; returns the constant."""
    met = _at(around, start + step, there)
    if met >= 0:
        _add(index, weight, met, scale)
        return 0.0
    kind, value, factor = _condition(met, boundary)
    own, behind = _at(around, start, there), _at(around, start - step, there)
    if kind != FIXED:
        _add(index, weight, own, factor * scale)
        return scale * value
    if behind < 0:
        _add(index, weight, own, -scale)
        return 2.0 * scale * value
    _add(index, weight, own, -2.0 * scale)
    _add(index, weight, behind, scale / 3.0)
    return 8.0 / 3.0 * scale * value


@njit(cache=True)
def _at(around, offset, there):
    """Index or code of the voxel at an offset from the node."""
    return np.int64(around[there[offset[0] + 1, offset[1] + 1, offset[2] + 1]])


@njit(cache=True)
def _condition(code, boundary):
    kind, value, factor, n_walls = boundary
    number = n_walls
    if code <= FIRST_WALL_LINK:
        number = FIRST_WALL_LINK - code
    elif code != WALL_LINK:
        number = n_walls + 1 + FIRST_OPENING_LINK - code
    return kind[number], value[number], factor[number]


@njit(cache=True)
def _add(index, weight, node, factor):
    """Add a term, merged with an existing one of the same node."""
    for t in range(weight.size):
        if weight[t] == 0.0 or index[t] == node:
            index[t] = node
            weight[t] += factor
            return


def chosen(values: Extrapolations, mask: np.ndarray) -> Extrapolations:
    """The extrapolated values chosen by a mask."""
    return replace(values, **{name: column[..., mask] for name, column in vars(values).items()})


def joined(parts: list[Extrapolations]) -> Extrapolations:
    """All extrapolated values, sorted by node and entry."""
    n_terms = max(len(part.weight) for part in parts)
    columns = {}
    for name in vars(parts[0]):
        column = [vars(part)[name] for part in parts]
        if column[0].ndim == 2:
            column = [_padded(rows, n_terms, by_zeros=name == "weight") for rows in column]
        columns[name] = np.concatenate(column, axis=-1)
    found = Extrapolations(**columns)
    return chosen(found, np.lexsort((found.k, found.node)))


def _padded(rows: np.ndarray, n_terms: int, by_zeros: bool) -> np.ndarray:
    """Rows with more of them below, zeros or copies of the last."""
    return np.pad(rows, ((0, n_terms - len(rows)), (0, 0)), mode="constant" if by_zeros else "edge")
