"""Sums over populations, or other rows, always in their order. A product of matrices, ``einsum``, or ``sum`` adds in an
order that depends on the number of columns and on where they lie in memory: a node's last digits would depend on the
rank that it is on."""

from collections.abc import Iterable
from functools import reduce

import numpy as np

from muphy_lb.lattice.lattice import Lattice


def added(rows: Iterable[np.ndarray]) -> np.ndarray:
    """Sum of arrays, one after the other."""
    return reduce(np.add, rows)


def combined(weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """(..., n) sums over q of weights (..., Q) times rows (Q, n)."""
    return added(np.multiply.outer(column, row) for column, row in zip(np.moveaxis(weights, -1, 0), rows, strict=True))


def second_moment(f: np.ndarray, lattice: Lattice) -> np.ndarray:
    """(3, 3, n) sums over q of c_qa c_qb f_q of (Q, n) populations."""
    return combined(np.einsum("qa,qb->abq", lattice.c, lattice.c), f)
