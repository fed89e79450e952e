"""The mean of an answer with coarse members as control variates.

Of n points the answer is known on the grid of the case, f, and on a coarse one, g; of k further points on the coarse
one alone. With the coefficient b of the regression of f on g,

    mean = <f> - c b (<g> - <g>_k),   c = k / (n + k),   variance = s_f^2 / n (1 - c r^2),

r the correlation (regression estimator in double sampling, Cochran, Sampling Techniques, 3rd ed., section 12.7; as
control variates of two fidelities: Peherstorfer, Willcox, Gunzburger, SIAM Rev. 60, 550 (2018)). Each point takes the
coefficient of all others, so that the mean has no bias for any n.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

FEWEST = 8  # pairs from which on a coefficient is known well enough


@dataclass(frozen=True)
class ControlVariate:
    """A mean with coarse members as control variates.

    Attributes:
        mean, error: the estimate and its standard error.
        plain: mean of the members on the grid of the case alone, which stands where ``error`` is not below its own.
        plain_error: standard error of that.
        coefficient: c b.
        correlation: of both grids.
        n, k: pairs, and further coarse members.
        cost: of a coarse member over that of one on the grid of the case.
    """

    mean: float
    error: float
    plain: float
    plain_error: float
    coefficient: float
    correlation: float
    n: int
    k: int
    cost: float

    @property
    def is_used(self) -> bool:
        """Whether the error is below the plain one."""
        return self.error < self.plain_error

    @property
    def gain(self) -> float:
        """Variance of the plain mean of as many members on the grid of the case as cost the same, over that of this."""
        paid = self.n + (self.n + self.k) * self.cost
        return self.plain_error**2 * self.n / paid / self.error**2

    @property
    def told(self) -> str:
        """The estimate with its error, as text."""
        found = (
            f"mean {self.mean:.5g} +- {self.error:.2g} with {self.n} pairs and {self.k} further coarse members as"
            f" control variates (correlation {self.correlation:.3f}); as many runs on the grid of the case as cost the"
            f" same have {self.gain:.3g} times the variance"
        )
        return found if self.is_used else f"{found}; not used, the plain mean has +- {self.plain_error:.2g}"


def control_variate(fine: np.ndarray, coarse: np.ndarray, further: np.ndarray, cost: float) -> ControlVariate | None:
    """The mean of an answer with control variates; None where too few members have it.

    Args:
        fine, coarse: (n,) answers on both grids, nan where a member has none.
        further: (k,) answers of further points on the coarse grid.
        cost: of a coarse member over that of one on the grid of the case.
    """
    both = np.isfinite(fine) & np.isfinite(coarse)
    f, g, h = fine[both], coarse[both], further[np.isfinite(further)]
    n, k = f.size, h.size
    if n < FEWEST or k < 2 or not min(map(np.ptp, (f, g, h))) > 0.0:
        return None
    df, dg, share = f - f.mean(), g - g.mean(), k / (n + k)
    left_out = n / (n - 1.0)  # what a point takes from sums of products about the mean
    products, squares = (df * dg).sum() - left_out * df * dg, (dg**2).sum() - left_out * dg**2
    slopes = share * np.divide(products, squares, out=np.zeros(n), where=squares > 0.0)
    corrected = f - slopes * (g - h.mean())
    error = sqrt(corrected.var(ddof=1) / n + slopes.mean() ** 2 * h.var(ddof=1) / k)
    return ControlVariate(
        mean=float(corrected.mean()),
        error=error,
        plain=float(f.mean()),
        plain_error=float(f.std(ddof=1) / sqrt(n)),
        coefficient=float(slopes.mean()),
        correlation=float(np.corrcoef(f, g)[0, 1]),
        n=n,
        k=k,
        cost=cost,
    )
