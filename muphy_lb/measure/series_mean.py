"""The mean of a series in time whose values are correlated, and its standard error."""

import numpy as np

WAVES, STUDENT = 4, 1.4165
"""Number of the slowest cosines of a series, from which its error follows; and the point of Student's t of as many
degrees of freedom that 97.5 % lie below, 2.7764, over that of the normal distribution, 1.9600."""
MOST_SLOW = 0.3
"""Largest share of these cosines in the variance of a series that is long enough to tell its error."""


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of a series and its standard error, twice which hold the true mean with 95 %, however few degrees of freedom
    the error has.

    With the projections p_j of the n values on cos(pi j (t + 1/2) / n), j = 1 to B, of unit norm, the error is
    sqrt(sum p_j^2 / (B n)), the power of the slowest waves, which the mean has, too. A cycle of which the series holds
    more than B / 2 counts with what it leaves in the mean alone. Where these waves hold more than ``MOST_SLOW`` of the
    variance, the series is shorter than what moves it (25 times the memory of an autoregressive series, a drift, a
    transient) and counts as one value, whose error is the standard deviation. Both are times ``STUDENT``. Changes that
    take several times as long as the series are not seen.

    Source: equal-weighted cosines, Lazarus et al., J. Bus. Econ. Stat. 36, 541 (2018), whose number grows with that of
    the values; here it stays, since looks at one flow may lie as near each other as one likes.

    Args:
        values: (n,) or (n, k) values at equal intervals; fewer than 32 hardly tell noise from a drift.

    Returns:
        Means and standard errors, () or (k,).
    """
    n, mean = len(values), values.mean(axis=0)
    waves = np.cos(np.pi / n * np.outer(np.arange(1, WAVES + 1), np.arange(n) + 0.5))
    apart = values - mean
    variance, slow = (apart**2).mean(axis=0), 2.0 / n**2 * ((waves @ apart) ** 2).sum(axis=0)
    return mean, STUDENT * np.sqrt(np.where(slow > MOST_SLOW * variance, variance, slow / WAVES))
