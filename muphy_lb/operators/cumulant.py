"""Cumulants: statistically independent measures of a node's velocities relax, seen in the frame of the fluid.

On D3Q27, what follows; on D2Q9: :mod:`muphy_lb.operators.plane_cumulant`.

Second order: off-diagonal central moments k_ab with omega, normal ones by
:func:`~muphy_lb.operators.central_moments.relaxed_normal_stress`. Third order: k_abb + k_acc with omega_3,
k_abb - k_acc with omega_4, k_xyz with omega_5, each limited (below). Fourth order: the cumulants

    C_aabb = k_aabb - (k_aa k_bb + 2 k_ab^2) / rho,       C_aabc = k_aabc - (k_aa k_bc + 2 k_ab k_ac) / rho

become -2/3 (1/omega - 1/2) A rho (d_a u_a + d_b u_b) and -1/3 (1/omega - 1/2) B rho (d_b u_c + d_c u_b), with velocity
gradients known from the stress; those of fifth and sixth order become 0. Geier, Schoenherr, Pasquali, Krafczyk, Comput.
Math. Appl. 70, 507 (2015).

Above LEAST_OMEGA the rates omega_3 to omega_5, A and B are those for which diffusion is of fourth order, Geier,
Pasquali, Schoenherr, J. Comput. Phys. 348, 862 (2017), Eqs. (111)-(115) at a bulk rate of 1; up to it they are 1, 1, 1,
0, 0, since there omega_4 leaves the range of 0 to 2 (at 7/4, with a pole at 14/9), A and B become large (with a pole at
1), and waves of a fluid at rest would grow. As omega goes to 2 they go to 0, so that a limiter takes what becomes large
nearer to 1, Eqs. (116)-(123): omega_k + (1 - omega_k) |C| / (rho LIMIT + |C|).

The force F adds F to k_a, with the second moment of Guo, Zheng, Shi, Phys. Rev. E 65, 046308 (2002), which is 0 in this
frame, and what it adds to a Gaussian, F_a / 3 to k_abb and F_a / 9 to k_abbcc, each times 1 - rate/2.
"""

import numpy as np

from muphy_lb.lattice import added, combined
from muphy_lb.operators.central_moments import (
    BULK_RATE,
    POSITIONS,
    central_moments,
    from_central_node,
    populations,
    relaxed_normal_stress,
    relaxed_normal_stress_node,
    to_central_node,
)
from muphy_lb.operators.operator import named
from muphy_lb.operators.plane_cumulant import left_of_third, plane_node, plane_reference
from muphy_lb.operators.relaxation import OMEGA, Relaxation
from muphy_lb.operators.unroll import unroll

LEAST_OMEGA = 1.75
LIMIT = 0.01
AXES = ((0, 1, 2), (1, 2, 0), (2, 0, 1))  # every axis with the two others, in turn


def fourth_order_rates(omega):
    """(omega_3, omega_4, omega_5, A, B) of a number or an array of omega; see the module."""
    w = np.asarray(omega, float)
    pole = (5 * w - 2) * (w - 1)
    is_small, pole = w > LEAST_OMEGA, np.where(w > LEAST_OMEGA, pole, 1.0)
    third = (
        8 * (2 - w) * (1 + 2 * w) / (8 + 14 * w - 7 * w**2),
        8 * (2 - w) * (7 - 4 * w) / (56 - 50 * w + 9 * w**2),
        24 * (2 - w) * (2 + 7 * w - 3 * w**2) / (48 + 152 * w - 130 * w**2 + 29 * w**3),
    )
    fourth = (4 + 2 * w - 3 * w**2) / pole, (4 + 28 * w - 14 * w**2) / (3 * pole)
    return *(np.where(is_small, rate, 1.0) for rate in third), *(np.where(is_small, x, 0.0) for x in fourth)


def _reference(f, f_eq, source, omega, parameters, lattice):
    if lattice.dimension == 2:
        return plane_reference(f, f_eq, source, omega, parameters, lattice)
    rho, u, force = added(f), combined(lattice.c.T, f_eq) / added(f_eq), combined(lattice.c.T, source)
    k = dict(central_moments(f, u, lattice))
    rates, viscous = fourth_order_rates(omega), (1 / omega - 0.5) / 3
    normal = np.array([k[_power(a, a)] - rho / 3 for a, _, _ in AXES])
    mean = added(normal) / 3
    stretching = -1.5 * (omega * (normal - mean) + BULK_RATE * mean)  # rho d_a u_a
    relaxed = relaxed_normal_stress(normal, u, omega) + rho / 3
    fourth = {}
    for a, b, c in AXES:
        fourth[_power(a, a, b, b)] = -2 * viscous * rates[3] * (stretching[a] + stretching[b])
        fourth[_power(a, a, b, c)] = -viscous * rates[4] * (-3 * omega * k[_power(b, c)])
    _relax_third(k, rates, rho, force)
    for a, b, _ in AXES:
        k[_power(a)] = k[_power(a)] + force[a]
        k[_power(a, a)], k[_power(a, b)] = relaxed[a], (1 - omega) * k[_power(a, b)]
    _complete(k, fourth, rho)
    for a, b, c in AXES:
        k[_power(a, b, b)], k[_power(a, c, c)] = (k[_power(a, x, x)] + force[a] / 6 for x in (b, c))
        k[_power(a, b, b, c, c)] = k[_power(a, b, b, c, c)] + force[a] / 18
    return populations(k, u, lattice)


def _power(*factors: int) -> tuple[int, ...]:
    """Exponents of the product of components of these axes."""
    return tuple(factors.count(axis) for axis in range(3))


def _relax_third(k, rates, rho, force) -> None:
    """Third central moments after collision, in place, without what the force adds."""
    bound = rho * LIMIT
    for a, b, c in AXES:
        with_b, with_c = (k[_power(a, x, x)] + force[a] / 6 for x in (b, c))
        mean = left_of_third(with_b + with_c, rates[0], bound) / 2
        half_difference = left_of_third(with_b - with_c, rates[1], bound) / 2
        k[_power(a, b, b)], k[_power(a, c, c)] = mean + half_difference, mean - half_difference
    k[1, 1, 1] = left_of_third(k[1, 1, 1], rates[2], bound)


def _complete(k, fourth, rho) -> None:
    """Central moments of fourth order and above, from lower ones and cumulants of fourth order, in place."""
    for a, b, c in AXES:
        aa, bb, ab, bc, ac = (k[_power(*pair)] for pair in ((a, a), (b, b), (a, b), (b, c), (a, c)))
        k[_power(a, a, b, b)] = fourth[_power(a, a, b, b)] + (aa * bb + 2 * ab**2) / rho
        k[_power(a, a, b, c)] = fourth[_power(a, a, b, c)] + (aa * bc + 2 * ab * ac) / rho
    sixth = 4 * k[1, 1, 1] ** 2 / rho - 16 * k[1, 1, 0] * k[1, 0, 1] * k[0, 1, 1] / rho**2
    for a, b, c in AXES:
        products = k[_power(c, c)] * k[_power(a, b, b)] + k[_power(b, b)] * k[_power(a, c, c)]
        products = products + 4 * k[_power(b, c)] * k[1, 1, 1]
        products = products + 2 * (k[_power(a, c)] * k[_power(b, b, c)] + k[_power(a, b)] * k[_power(b, c, c)])
        k[_power(a, b, b, c, c)] = products / rho
        sixth = sixth + (k[_power(a, a)] * k[_power(b, b, c, c)] + 4 * k[_power(b, c)] * k[_power(a, a, b, c)]) / rho
        sixth = sixth + 2 * k[_power(a, b, b)] * k[_power(a, c, c)] / rho
        sixth = sixth - 4 * k[_power(b, c)] ** 2 * k[_power(a, a)] / rho**2
    k[2, 2, 2] = sixth - 2 * k[2, 0, 0] * k[0, 2, 0] * k[0, 0, 2] / rho**2


def _node(lattice, precision, jit, equilibrium, at):
    if lattice.dimension == 2:
        return plane_node(lattice, precision, jit, equilibrium)
    to_central, from_central = to_central_node(lattice, precision, jit), from_central_node(lattice, precision, jit)
    inverse_density = equilibrium.moments(precision, jit).inverse_inertia
    second_order, third_order = _second_order_node(lattice, precision, jit), _third_order_node(precision, jit)
    rates_at, complete = _rates_node(precision, jit), _complete_node(precision, jit)

    def relax(f, state, force, omega, parameters):
        u = (state[1], state[2], state[3])
        rates = rates_at(omega)
        k = to_central(f, u)
        second = second_order(k, u, omega, rates)
        third = third_order(k, force, rates)
        from_central(f, complete(k, second, third, force, inverse_density(state[0])), u)

    return jit(relax)


_NUMERATORS = ((-8, -10, 9, 0), (-56, 70, -23, 0), (-48, -136, 182, -43), (8, 0, -8, 3), (4, 26, -28, 7))
_DENOMINATORS = ((8, 14, -7, 0), (56, -50, 9, 0), (48, 152, -130, 29), (0, 6, -21, 15), (6, -21, 15, 0))


def _rates_node(precision, jit):
    """Node function ``omega`` -> (1 - omega_3, 1 - omega_4, 1 - omega_5, 2/3 (1/omega - 1/2) A, (1 - omega/2) B)."""
    above, below = (tuple(tuple(map(precision.real, row)) for row in rows) for rows in (_NUMERATORS, _DENOMINATORS))
    least, zero, five = precision.real(LEAST_OMEGA), precision.real(0), 5

    def rates(omega):
        values = [zero] * five
        if omega > least:
            for i in range(five):
                numerator = above[i][0] + omega * (above[i][1] + omega * (above[i][2] + omega * above[i][3]))
                denominator = below[i][0] + omega * (below[i][1] + omega * (below[i][2] + omega * below[i][3]))
                values[i] = numerator / denominator
        return values

    return jit(unroll(rates))


def _places(*family) -> tuple[int, ...]:
    """Indices of moments with these factors, 0, 1 and 2 standing for an axis and the next two, of the three axes."""
    return tuple(POSITIONS.index(_power(*((axis + x) % 3 for x in family))) for axis in range(3))


FIRST, NORMAL, SHEAR = _places(0), _places(0, 0), _places(1, 2)
THIRD_B, THIRD_C, XYZ = _places(0, 1, 1), _places(0, 2, 2), POSITIONS.index((1, 1, 1))
FOURTH, MIXED, FIFTH = _places(1, 1, 2, 2), _places(0, 0, 1, 2), _places(0, 1, 1, 2, 2)
TURN = (1, 2, 0), (2, 0, 1)  # of every axis a, the next one b, and the one c after that


def _second_order_node(lattice, precision, jit):
    """Node function ``(k, u, omega, rates)`` of moments before collision: k_aa - rho / 3 and k_bc, C_bbcc and C_aabc
    after it, for the three axes a."""
    normal_stress = relaxed_normal_stress_node(lattice, precision, jit)
    normal, shear, (after, last) = NORMAL, SHEAR, TURN
    zero, one, third, minus_three_halves = (precision.real(x) for x in (0, 1, 1 / 3, -1.5))
    three = 3

    def second_order(k, u, omega, rates):
        stress = [zero] * three
        stretching = [zero] * three
        off_diagonal = [zero] * three
        c_bbcc = [zero] * three
        c_aabc = [zero] * three
        mean = zero
        for a in range(three):
            stress[a] = k[normal[a]] - third * k[0]
            mean += third * stress[a]
        for a in range(three):
            stretching[a] = minus_three_halves * (omega * (stress[a] - mean) + mean)
        for a in range(three):
            off_diagonal[a] = (one - omega) * k[shear[a]]
            c_bbcc[a] = -rates[3] * (stretching[after[a]] + stretching[last[a]])
            c_aabc[a] = rates[4] * k[shear[a]]
        return normal_stress(stress, u, omega), off_diagonal, c_bbcc, c_aabc

    return jit(unroll(second_order))


def _third_order_node(precision, jit):
    """Node function ``(k, force, rates)``: k_abb, k_acc, for the three axes a, and k_xyz after collision, without the
    part of the force."""
    third_b, third_c, xyz, three, real = THIRD_B, THIRD_C, XYZ, 3, precision.real
    zero, half, third, limit, rho_0 = (real(x) for x in (0, 0.5, 1 / 3, LIMIT, precision.unit))

    def third_order(k, force, rates):
        k_abb = [zero] * three
        k_acc = [zero] * three
        bound = limit * (rho_0 + k[0])
        for a in range(three):
            both = k[third_b[a]] + k[third_c[a]] + third * force[a]
            difference = k[third_b[a]] - k[third_c[a]]
            both *= half * rates[0] * (bound / (bound + abs(both)))
            difference *= half * rates[1] * (bound / (bound + abs(difference)))
            k_abb[a], k_acc[a] = both + difference, both - difference
        return k_abb, k_acc, rates[2] * k[xyz] * (bound / (bound + abs(k[xyz])))

    return jit(unroll(third_order))


def _complete_node(precision, jit):
    """Node function ``(k, second, third, force, inverse)``: all 27 moments less those at rest, after collision. ``k``
    holds those before it, ``second`` and ``third`` are what the two functions above return, ``inverse`` 1 / rho."""
    first, normal, shear, third_b, third_c, xyz = FIRST, NORMAL, SHEAR, THIRD_B, THIRD_C, XYZ
    fourth, mixed, fifth, (after, last), three = FOURTH, MIXED, FIFTH, TURN, 3
    count, highest = len(POSITIONS), len(POSITIONS) - 1
    zero, two, four, eight, third, ninth, sixth, eighteenth, last_share = (
        precision.real(x) for x in (0, 2, 4, 8, 1 / 3, 1 / 9, 1 / 6, 1 / 18, 1 / 27)
    )

    def complete(k, second, third_order, force, inverse):
        n, s, c_bbcc, c_aabc = second
        k_abb, k_acc, k_xyz = third_order
        moment = [zero] * count
        linear, square, cube = last_share * k[0], four * k_xyz * k_xyz, n[0] * n[1] * n[2] + eight * s[0] * s[1] * s[2]
        moment[0], moment[xyz] = k[0], k_xyz
        for a in range(three):
            n_b, n_c, s_b, s_c = n[after[a]], n[last[a]], s[after[a]], s[last[a]]
            moment[first[a]] = k[first[a]] + force[a]
            moment[normal[a]], moment[shear[a]] = n[a] + third * k[0], s[a]
            moment[third_b[a]], moment[third_c[a]] = k_abb[a] + sixth * force[a], k_acc[a] + sixth * force[a]
            pairs = n_b * n_c + two * s[a] * s[a]
            moment[fourth[a]] = ninth * k[0] + third * (n_b + n_c) + inverse * pairs + c_bbcc[a]
            moment[mixed[a]] = third * s[a] + inverse * (n[a] * s[a] + two * s_b * s_c) + c_aabc[a]
            products = n_c * k_abb[a] + n_b * k_acc[a] + four * s[a] * k_xyz
            products += two * (s_b * k_acc[last[a]] + s_c * k_abb[after[a]])
            moment[fifth[a]] = third * (k_abb[a] + k_acc[a]) + inverse * products + eighteenth * force[a]
            linear += ninth * n[a] + third * c_bbcc[a]
            square += third * pairs + n[a] * c_bbcc[a] + four * s[a] * c_aabc[a] + two * k_abb[a] * k_acc[a]
            cube += two * n[a] * s[a] * s[a]
        moment[highest] = linear + inverse * (square + inverse * cube)
        return moment

    return jit(unroll(complete))


CUMULANT = Relaxation(
    "cumulant",
    named(OMEGA),
    _reference,
    _node,
    lattices=("D2Q9", "D3Q27"),
    equilibria=("compressible",),
    is_linear=False,
)
