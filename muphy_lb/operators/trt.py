"""Two relaxation times: parts even and odd in c_q relax with s+ and s-.

f~_q = f_q - s+ (f+ - f+^eq) - s- (f- - f-^eq) + (1 - s+/2) S+ + (1 - s-/2) S-,
s+ = omega, s- = 1 / (1/2 + Lambda / (1/omega - 1/2)). Lambda, the "magic" parameter, fixes where a half-way wall lies
(3/16: exactly half-way for plane Poiseuille flow) whatever the viscosity.
Ginzburg, Verhaeghe, d'Humieres, Commun. Comput. Phys. 3, 427 (2008).
"""

from muphy_lb.case.choice import Key
from muphy_lb.case.section import Positive
from muphy_lb.operators.operator import named
from muphy_lb.operators.relaxation import OMEGA, Relaxation
from muphy_lb.operators.unroll import unroll

MAGIC = "magic"  # name of the parameter Lambda
MAGIC_HALF_WAY = 3 / 16  # magic parameter Lambda = 3/16, for which plane half-way walls are located exactly half-way
MAGIC_KEY = Key(
    Positive,
    "Lambda of trt (3/16 if not given, which puts half-way walls half-way), and of the odd rates of mrt",
    MAGIC_HALF_WAY,
)


def odd_rate(omega, magic):
    """The rate s- that gives Lambda = (1/omega - 1/2)(1/s- - 1/2) the value ``magic``."""
    return 1.0 / (0.5 + magic / (1.0 / omega - 0.5))


def odd_rate_node(precision, jit):
    """:func:`odd_rate` as a node function."""
    one, half = precision.real(1), precision.real(0.5)
    return jit(lambda omega, magic: one / (half + magic / (one / omega - half)))


def relax_parts_node(lattice, precision, jit):
    """Node function ``(f, even, odd, s_even, s_odd)``: f_q <- (1 - s+) f+ + even + (1 - s-) f- + odd, in place.
    ``even`` and ``odd`` are parts for pairs of opposites (:mod:`muphy_lb.operators.hermite`). The rest population is
    set so that mass is conserved: weights in single precision do not add up to one, and mass would drift."""
    pair_count, one, half = lattice.q // 2, precision.real(1), precision.real(0.5)

    def relax_parts(f, even, odd, s_even, s_odd):
        even_kept, odd_kept = half * (one - s_even), half * (one - s_odd)
        rest = f[0]
        for p in range(pair_count):
            f_sum = f[2 * p + 1] + f[2 * p + 2]
            f_even = even[p + 1] + even_kept * f_sum
            rest += f_sum - (f_even + f_even)
            f_odd = odd[p + 1] + odd_kept * (f[2 * p + 1] - f[2 * p + 2])
            f[2 * p + 1] = f_even + f_odd
            f[2 * p + 2] = f_even - f_odd
        f[0] = rest

    return jit(unroll(relax_parts))


def two_rates_node(lattice, precision, jit, equilibrium):
    """Node function ``(f, state, force, s_even, s_odd)``: the collision with these two rates, in place."""
    even_part, odd_part = equilibrium.parts(lattice, precision, jit)
    relax_parts, one, half = relax_parts_node(lattice, precision, jit), precision.real(1), precision.real(0.5)

    def two_rates(f, state, force, s_even, s_odd):
        even = even_part(state, force, s_even, one - half * s_even)
        odd = odd_part(state, force, s_odd, one - half * s_odd)
        relax_parts(f, even, odd, s_even, s_odd)

    return jit(two_rates)


def _reference(f, f_eq, source, omega, parameters, lattice):
    s_odd = odd_rate(omega, parameters[MAGIC])
    change = 0.0
    for sign, rate in ((1, omega), (-1, s_odd)):
        neq, part = ((x + sign * x[lattice.opposite]) / 2 for x in (f - f_eq, source))
        change = change - rate * neq + (1 - rate / 2) * part
    return f + change


def _node(lattice, precision, jit, equilibrium, at):
    two_rates = two_rates_node(lattice, precision, jit, equilibrium)
    s_odd_of = odd_rate_node(precision, jit)
    magic = at[MAGIC]

    def relax(f, state, force, omega, parameters):
        two_rates(f, state, force, omega, s_odd_of(omega, parameters[magic]))

    return jit(relax)


TRT = Relaxation("trt", named(OMEGA, MAGIC), _reference, _node, keys={MAGIC: MAGIC_KEY})
