"""Growth rate of the leading oscillation in a time series, by dynamic mode decomposition with delays."""

from dataclasses import dataclass
from math import pi

import numpy as np

RANKS = range(8, 21, 2)
DELAYS = 20
SHARE = 0.1  # of the largest at the end of the record: what is weaker does not lead


@dataclass(frozen=True)
class Growth:
    """Growth of the leading mode, exp(rate t) cos(2 pi frequency t): medians over ``RANKS``."""

    rate: float  # rate, frequency: per unit of time
    frequency: float
    spread: float  # half the distance between the lower and the upper quartile of the rates


def fit_growth(record: np.ndarray, interval: float) -> Growth:
    """The fastest growing mode among those with a significant amplitude at the end of a record.

    Each row with its ``DELAYS`` - 1 successors is a state; the linear map from one state to the next, restricted to the
    few directions that hold most of the record, has the modes as eigenvectors (Schmid, J. Fluid Mech. 656, 5 (2010);
    with delays Le Clainche, Vega, SIAM J. Appl. Dyn. Syst. 16, 882 (2017)). The number of directions is a free
    parameter; the median over several is returned. ``record``: (n, m) values of m signals at equal intervals, n >= 3
    ``DELAYS``; ``interval``: between rows. Raises ValueError: too few rows.
    """
    if len(record) < 3 * DELAYS:
        raise ValueError(f"a record of {len(record)} rows; give at least {3 * DELAYS}")
    states = np.concatenate([record[k : len(record) - DELAYS + 1 + k].T for k in range(DELAYS)])
    left, sizes, right = np.linalg.svd(states[:, :-1], full_matrices=False)
    known = int(np.count_nonzero(sizes > sizes[0] * np.finfo(float).eps))
    ranks = sorted({min(rank, known) for rank in RANKS})
    modes = [_leading(states, left[:, :rank], right[:rank].T / sizes[:rank]) for rank in ranks]
    exponents = np.array(modes) / interval
    low, high = np.quantile(exponents.real, (0.25, 0.75))
    medians = np.median(exponents.real), np.median(np.abs(exponents.imag)) / (2 * pi)
    return Growth(*map(float, (*medians, (high - low) / 2)))


def _leading(states, basis, weights) -> complex:
    """Logarithm of the eigenvalue of the leading mode within a basis."""
    values, vectors = np.linalg.eig(basis.T @ states[:, 1:] @ weights)
    at_end = np.abs(np.linalg.solve(vectors, basis.T @ states[:, -1])) * np.linalg.norm(vectors, axis=0)
    relevant = values[at_end > SHARE * at_end.max()]
    return np.log(complex(relevant[np.argmax(np.abs(relevant))]))
