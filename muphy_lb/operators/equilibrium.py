"""The second-order Maxwell-Boltzmann equilibrium (Qian, d'Humieres, Lallemand 1992)."""

import numpy as np

from muphy_lb.lattice import Lattice


def equilibrium(rho: np.ndarray, u: np.ndarray, lattice: Lattice) -> np.ndarray:
    """f_q^eq = w_q rho [1 + c.u/cs2 + (c.u)^2/(2 cs2^2) - u.u/(2 cs2)].

    Args:
        rho: (n,) density. u: (3, n) velocity.

    Returns:
        (Q, n) full populations (not deviations).
    """
    cs2 = float(lattice.cs2)
    cu = lattice.c @ u
    return lattice.w[:, None] * rho * (1 + cu / cs2 + cu**2 / (2 * cs2**2) - (u * u).sum(axis=0) / (2 * cs2))
