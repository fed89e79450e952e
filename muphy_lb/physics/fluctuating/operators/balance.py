"""Fluctuation and dissipation: the covariance of the noise that a collision needs.

At rest a collision is linear: deviations become L f. In thermal equilibrium deviations of different populations are
independent, with variances mu w_q, mu = rho kT / c_s^2 (the lattice's own Poisson statistics). Streaming permutes
populations, so equilibrium lasts if what the collision takes away comes back as noise of covariance

    C = mu (W - L W L^T),    W = diag(w_q).

For orthogonal modes that relax with rates s_k this is mu b_k [1 - (1 - s_k)^2] on every mode that is not conserved.
Duenweg, Schiller, Ladd, Phys. Rev. E 76, 036704 (2007), Eqs. (40)-(55); Adhikari, Stratford, Cates, Wagner, Europhys.
Lett. 71, 473 (2005). The form by W and L needs no basis in which the collision is diagonal, and so serves every
relaxation of the program, those with non-orthogonal moments too.
"""

from collections.abc import Mapping
from functools import cache
from itertools import product

import numpy as np

from muphy_lb.lattice import Lattice
from muphy_lb.operators import OMEGA, Relaxation

NEGLIGIBLE = 1e-12


@cache
def noise_modes(lattice: Lattice) -> np.ndarray:
    """(m, Q) orthonormal modes of the non-equilibrium, first those even in the lattice vectors, then the odd ones.

    Row k holds w_q e_kq / sqrt(b_k), so that sum_q mode_k mode_l / w_q = delta_kl; the e_k are polynomials of the
    lattice vectors by rising degree, orthogonal to mass and momentum.
    """
    x, y, z = lattice.c.T.astype(float)
    powers = sorted(product(range(3), repeat=3), key=sum)
    found = [lattice.w.copy(), *(np.sqrt(3.0) * lattice.w * axis for axis in (x, y, z)[: lattice.dimension])]
    n_conserved = len(found)
    for i, j, k in powers:
        mode = lattice.w * x**i * y**j * z**k
        for _ in range(2):  # twice: round-off of the first pass
            for other in found:
                mode = mode - other * (mode @ (other / lattice.w))
        norm = np.sqrt(mode @ (mode / lattice.w))
        if norm > 1e-8:
            found.append(np.where(np.abs(mode) < NEGLIGIBLE * norm, 0.0, mode / norm))
    modes = np.array(found[n_conserved:])
    is_odd = np.array([np.allclose(mode[lattice.opposite], -mode) for mode in modes])
    return np.vstack((modes[~is_odd], modes[is_odd]))


def linear_collision(relaxation: Relaxation, rates: Mapping[str, float], lattice: Lattice) -> np.ndarray:
    """(Q, Q) matrix L of the collision of deviations from rest, without force."""
    deviations = np.eye(lattice.q)
    projection = lattice.w[:, None] * (1.0 + 3.0 * lattice.c @ lattice.c.T)
    nothing = np.zeros_like(deviations)
    return relaxation.reference(deviations, projection, nothing, rates[OMEGA], rates, lattice)


def noise_amplitudes(relaxation: Relaxation, rates: Mapping[str, float], lattice: Lattice) -> np.ndarray:
    """(m, m) lower triangular T: sum_l T_kl r_l with independent r_l of variance 1 is the noise of mode k for mu = 1.

    Raises:
        ValueError: the collision amplifies a combination of modes, so that no noise balances it.
    """
    modes, matrix = noise_modes(lattice), linear_collision(relaxation, rates, lattice)
    covariance = np.diag(lattice.w) - matrix @ (lattice.w[:, None] * matrix.T)
    dual = modes / lattice.w
    return _root(dual @ covariance @ dual.T)


def _root(covariance: np.ndarray) -> np.ndarray:
    """Cholesky factor of a positive semidefinite matrix.

    Raises:
        ValueError: it is not.
    """
    n = len(covariance)
    root = np.zeros_like(covariance)
    for k in range(n):
        pivot = covariance[k, k] - root[k, :k] @ root[k, :k]
        below = covariance[k + 1 :, k] - root[k + 1 :, :k] @ root[k, :k]
        if pivot < -1e-10 or (pivot < 1e-10 and np.abs(below).max(initial=0.0) > 1e-6):
            raise ValueError("no noise balances a collision with these rates")
        if pivot > NEGLIGIBLE:
            root[k, k] = np.sqrt(pivot)
            root[k + 1 :, k] = below / root[k, k]
    return np.where(np.abs(root) < NEGLIGIBLE, 0.0, root)
