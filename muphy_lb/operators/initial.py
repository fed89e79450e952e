"""Populations before collision that have a given density, velocity and viscous stress:

f_q = f_q^eq - S_q / 2 + 9/2 w_q (c_q c_q - 1/3) : Pi

The term of the source makes the given velocity that of the populations, u = (sum c_q f_q + F/2) / rho: without it a
uniform force F is half a step ahead (Guo, Zheng, Shi, Phys. Rev. E 65, 046308 (2002)). Pi = -2/3 tau rho S, with the
rate of strain S, is the stress of the first order in the Knudsen number, without which that of the first steps is wrong
(Skordos, Phys. Rev. E 48, 4823 (1993); Krueger et al., The Lattice Boltzmann Method (2017), equation 4.35).
"""

import numpy as np

from muphy_lb.lattice import Lattice, combined
from muphy_lb.operators.equilibrium import Equilibrium

#: Axes of the six numbers of a symmetric tensor, as in :mod:`muphy_lb.operators.hermite`.
AXES_OF_TENSOR = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))


def initial_populations(
    equilibrium: Equilibrium, lattice: Lattice, moments, force: np.ndarray, stress: np.ndarray | None = None
) -> np.ndarray:
    """(Q, n) populations before collision, deviations from w_q.

    Args:
        equilibrium: of the collision.
        moments: density (n,) and velocity (3, n).
        force: (3, n) body force per volume.
        stress: (6, n) Pi: xx, yy, zz, xy + yx, yz + zy, zx + xz; none if not given.
    """
    density, velocity = moments
    populations = equilibrium.populations(density, velocity, lattice) - lattice.w[:, None]
    populations = populations - 0.5 * equilibrium.source(velocity, force, lattice)
    return populations if stress is None else populations + stress_populations(lattice, stress)


def stress_populations(lattice: Lattice, stress: np.ndarray) -> np.ndarray:
    """(Q, n) populations without mass and momentum with the second moment Pi, (6, n) as above."""
    products = np.stack([lattice.c[:, a] * lattice.c[:, b] - (a == b) / 3.0 for a, b in AXES_OF_TENSOR], axis=-1)
    return 4.5 * lattice.w[:, None] * combined(products, stress)


def twice_beside_diagonal(tensor: np.ndarray) -> np.ndarray:
    """(6, n) xx, yy, zz, xy + yx, yz + zy, zx + xz of a symmetric tensor xx, yy, zz, xy, yz, zx."""
    return np.array([1.0 + (a != b) for a, b in AXES_OF_TENSOR])[:, None] * tensor
