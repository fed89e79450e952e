"""Two relaxation times: parts even and odd in c_q relax with s+ and s-.

f~_q = f_q - s+ (f+ - f+^eq) - s- (f- - f-^eq) + (1 - s+/2) S+ + (1 - s-/2) S-,
s+ = omega, s- = 1 / (1/2 + Lambda / (1/omega - 1/2)). Lambda, the "magic" parameter, fixes where a half-way wall lies
(3/16: exactly half-way for plane Poiseuille flow) whatever the viscosity.
Ginzburg, Verhaeghe, d'Humieres, Commun. Comput. Phys. 3, 427 (2008). Rates: ``(omega, Lambda)``.
"""

from muphy_lb.operators.operator import constants
from muphy_lb.operators.relaxation import Relaxation
from muphy_lb.operators.unroll import unroll


def odd_rate(omega, magic):
    """The rate s- that gives Lambda = (1/omega - 1/2)(1/s- - 1/2) the value ``magic``."""
    return 1.0 / (0.5 + magic / (1.0 / omega - 0.5))


def odd_rate_node(real, jit):
    """:func:`odd_rate` as a node function."""
    one, half = real(1), real(0.5)
    return jit(lambda omega, magic: one / (half + magic / (one / omega - half)))


def _reference(f, f_eq, source, omega, rates, lattice):
    s_odd = odd_rate(omega, rates[1])
    change = 0.0
    for sign, rate in ((1, omega), (-1, s_odd)):
        neq, part = ((x + sign * x[lattice.opposite]) / 2 for x in (f - f_eq, source))
        change = change - rate * neq + (1 - rate / 2) * part
    return f + change


def _node(lattice, real, jit, equilibrium):
    w, cx, cy, cz = constants(lattice, real)
    even, odd, source_even, source_odd, _ = equilibrium.terms(real, jit)
    s_odd_of = odd_rate_node(real, jit)
    pair_count, zero, one, half = lattice.q // 2, real(0), real(1), real(0.5)

    def relax(f, deviation, ux, uy, uz, fx, fy, fz, omega, rates):
        s_odd = s_odd_of(omega, rates[1])
        uu = ux * ux + uy * uy + uz * uz
        uf = ux * fx + uy * fy + uz * fz
        even_part, odd_part = one - half * omega, one - half * s_odd
        f[0] += omega * (w[0] * even(deviation, zero, uu) - f[0]) + even_part * w[0] * source_even(zero, zero, uf)
        for p in range(pair_count):
            cu = cx[2 * p + 1] * ux + cy[2 * p + 1] * uy + cz[2 * p + 1] * uz
            cf = cx[2 * p + 1] * fx + cy[2 * p + 1] * fy + cz[2 * p + 1] * fz
            f_even = half * (f[2 * p + 1] + f[2 * p + 2])
            f_odd = half * (f[2 * p + 1] - f[2 * p + 2])
            to_even = omega * (w[2 * p + 1] * even(deviation, cu, uu) - f_even)
            to_even += even_part * w[2 * p + 1] * source_even(cu, cf, uf)
            to_odd = s_odd * (w[2 * p + 1] * odd(deviation, cu) - f_odd)
            to_odd += odd_part * w[2 * p + 1] * source_odd(cf)
            f[2 * p + 1] += to_even + to_odd
            f[2 * p + 2] += to_even - to_odd

    return jit(unroll(relax))


TRT = Relaxation("trt", 2, _reference, _node)
