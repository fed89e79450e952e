"""Projected regularisation: of the non-equilibrium part only the stress is retained, and relaxes with omega.

f~_q = f_q^eq + S_q/2 - (1 - omega) w_q 9/2 (c_qa c_qb - delta_ab/3) sum_r c_ra c_rb h_r,   h = f^eq - f - S/2,
which is BGK with h replaced by its projection on the second Hermite polynomials.
Latt, Chopard, Math. Comput. Simul. 72, 165 (2006); the force: Guo, Zheng, Shi, Phys. Rev. E 65, 046308 (2002), whose
source has no part beyond the second polynomials.
"""

import numpy as np

from muphy_lb.lattice import combined, second_moment
from muphy_lb.operators import hermite
from muphy_lb.operators.moments import stress_node
from muphy_lb.operators.operator import named
from muphy_lb.operators.relaxation import OMEGA, Relaxation
from muphy_lb.operators.unroll import unroll


def _reference(f, f_eq, source, omega, parameters, lattice):
    stress = second_moment(f_eq - f - source / 2, lattice).reshape(9, -1)
    second = lattice.c[:, :, None] * lattice.c[:, None, :] - np.eye(3) / 3
    projected = 4.5 * lattice.w[:, None] * combined(second.reshape(-1, 9), stress)
    return f_eq + source / 2 - (1 - omega) * projected


def _node(lattice, precision, jit, equilibrium, at):
    even_part, odd_part = hermite.even_part(lattice, precision, jit), hermite.odd_part(lattice, precision, jit)
    first, second, _, _ = equilibrium.moments(precision, jit)
    stress_at = stress_node(lattice, precision, jit, equilibrium)
    pair_count, zero, one, half, six = lattice.q // 2, precision.real(0), precision.real(1), precision.real(0.5), 6

    def relax(f, state, force, omega, parameters):
        stress = stress_at(f, state, force)
        second_moment = second(state, force, one, half)
        kept = [zero] * six
        for k in range(six):
            kept[k] = second_moment[k] + (one - omega) * stress[k]
        even, odd = even_part(state[0], kept), odd_part(first(state, force, one, half))
        f[0] = even[0]
        for p in range(pair_count):
            f[2 * p + 1] = even[p + 1] + odd[p + 1]
            f[2 * p + 2] = even[p + 1] - odd[p + 1]

    return jit(unroll(relax))


REGULARISED = Relaxation("regularised", named(OMEGA), _reference, _node)
