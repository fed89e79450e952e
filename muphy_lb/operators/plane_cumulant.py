"""Cumulants in two dimensions (D2Q9): central moments of third order relax with a rate of their own, the fourth is new.

Second order as on D3Q27 (:mod:`muphy_lb.operators.cumulant`); k_xyy and k_xxy relax with omega_3, limited as there; the
cumulant of fourth order becomes 0, so that k_xxyy = (k_xx k_yy + 2 k_xy^2) / rho. Geier, Schoenherr, Pasquali,
Krafczyk, Comput. Math. Appl. 70, 507 (2015); Geier, Greiner, Korvink, Phys. Rev. E 73, 066705 (2006).

The rates of three dimensions do not carry over: here k_xyy and k_xxy are one vector, with one rate, and what A gives
the fourth cumulant is proportional to d_x u_x + d_y u_y, which shear waves do not have. By linear analysis a shear wave
of wave number k along (cos t, sin t), at rest, decays with the viscosity times 1 + k^2 (1/24 - 5/12 Lambda + (1/24 -
Lambda / 4) cos 4t), besides its memory of the stress, 3 nu^2 k^2; Lambda = (1/omega - 1/2)(1/omega_3 - 1/2). So one
rate cannot make diffusion of fourth order in all directions; MAGIC_CUMULANT = 1/10 does in their mean, and leaves
k^2 / 60 cos 4t.

The force F adds F to k_a, and F_a / 3 to k_abb, times 1 - rate/2.
"""

import numpy as np

from muphy_lb.lattice import added, combined
from muphy_lb.operators.central_moments import (
    central_moments,
    from_central_node,
    ordered_exponents,
    populations,
    relaxed_normal_stress,
    relaxed_normal_stress_node,
    to_central_node,
)
from muphy_lb.operators.trt import odd_rate, odd_rate_node

MAGIC_CUMULANT = 1 / 10  # Lambda of omega and omega_3

#: Third moment over the density at which its rate is half-way to 1. With 0.01, as on D3Q27, a beating flow past a
#: cylinder of 16 voxels at Re 100 diverges, and the drag of the same in a steady inflow differs by 0.1 %.
LIMIT = 0.003
X, Y, XX, YY, XY, XYY, XXY, XXYY = (
    (1, 0, 0),
    (0, 1, 0),
    (2, 0, 0),
    (0, 2, 0),
    (1, 1, 0),
    (1, 2, 0),
    (2, 1, 0),
    (2, 2, 0),
)


def left_of_third(moment, rate, bound):
    """Third central moment after collision: its rate goes to 1 where the moment is large, half-way at ``bound``. Geier,
    Pasquali, Schoenherr, J. Comput. Phys. 348, 862 (2017), Eqs. (116)-(123)."""
    limited = rate + (1 - rate) * np.abs(moment) / (bound + np.abs(moment))
    return (1 - limited) * moment


def plane_reference(f, f_eq, source, omega, parameters, lattice):
    """The specification on D2Q9, as of :class:`~muphy_lb.operators.relaxation.Relaxation`."""
    rho, u, force = added(f), combined(lattice.c.T, f_eq) / added(f_eq), combined(lattice.c.T, source)
    k, rate = dict(central_moments(f, u, lattice)), odd_rate(omega, MAGIC_CUMULANT)
    k[XX], k[YY] = relaxed_normal_stress(np.array([k[XX], k[YY]]) - rho / 3, u[:2], omega) + rho / 3
    k[XY] = (1 - omega) * k[XY]
    for single, third, along in ((X, XYY, force[0]), (Y, XXY, force[1])):
        k[single] = k[single] + along
        k[third] = left_of_third(k[third] + along / 6, rate, rho * LIMIT) + along / 6
    k[XXYY] = (k[XX] * k[YY] + 2 * k[XY] ** 2) / rho
    return populations(k, u, lattice)


def plane_node(lattice, precision, jit, equilibrium):
    """Factory of the node function on D2Q9, as of :class:`~muphy_lb.operators.relaxation.Relaxation`."""
    to_central, from_central = to_central_node(lattice, precision, jit), from_central_node(lattice, precision, jit)
    inverse_density = equilibrium.moments(precision, jit).inverse_inertia
    normal_stress, rate_of = relaxed_normal_stress_node(lattice, precision, jit), odd_rate_node(precision, jit)
    x, y, xx, yy, xy, xyy, xxy = (ordered_exponents(lattice).index(power) for power in (X, Y, XX, YY, XY, XYY, XXY))
    zero, one, two, third, ninth, sixth, magic, limit, rho_0 = (
        precision.real(value) for value in (0, 1, 2, 1 / 3, 1 / 9, 1 / 6, MAGIC_CUMULANT, LIMIT, precision.unit)
    )

    def relax(f, state, force, omega, parameters):
        u = (state[1], state[2], state[3])
        k = to_central(f, u)
        at_mean, x_share, y_share = third * k[0], sixth * force[0], sixth * force[1]
        n_x, n_y, _ = normal_stress((k[xx] - at_mean, k[yy] - at_mean, zero), u, omega)
        k_xy, k_xyy, k_xxy = (one - omega) * k[xy], k[xyy] + x_share, k[xxy] + y_share
        bound = limit * (rho_0 + k[0])
        kept = (one - rate_of(omega, magic)) * bound
        k_xyy = k_xyy * (kept / (bound + abs(k_xyy))) + x_share
        k_xxy = k_xxy * (kept / (bound + abs(k_xxy))) + y_share
        k_xxyy = ninth * k[0] + third * (n_x + n_y) + inverse_density(k[0]) * (n_x * n_y + two * k_xy * k_xy)
        k_x, k_y, k_xx, k_yy = k[x] + force[0], k[y] + force[1], n_x + at_mean, n_y + at_mean
        from_central(f, (k[0], k_y, k_yy, k_x, k_xy, k_xyy, k_xx, k_xxy, k_xxyy), u)

    return jit(relax)
