"""Single relaxation time: f~_q = f_q - omega (f_q - f_q^eq) + (1 - omega/2) S_q.

Bhatnagar, Gross, Krook (1954); Qian, d'Humieres, Lallemand (1992); force: Guo, Zheng, Shi, Phys. Rev. E 65, 046308
(2002). Rates: ``(omega,)``.
"""

from muphy_lb.operators.operator import constants
from muphy_lb.operators.relaxation import Relaxation
from muphy_lb.operators.unroll import unroll


def _reference(f, f_eq, source, omega, rates, lattice):
    return f - omega * (f - f_eq) + (1 - omega / 2) * source


def _node(lattice, real, jit, equilibrium):
    w, cx, cy, cz = constants(lattice, real)
    even, odd, source_even, source_odd, _ = equilibrium.terms(real, jit)
    q_count, one, half = lattice.q, real(1), real(0.5)

    def relax(f, deviation, ux, uy, uz, fx, fy, fz, omega, rates):
        uu = ux * ux + uy * uy + uz * uz
        uf = ux * fx + uy * fy + uz * fz
        force_part = one - half * omega
        for q in range(q_count):
            cu = cx[q] * ux + cy[q] * uy + cz[q] * uz
            cf = cx[q] * fx + cy[q] * fy + cz[q] * fz
            f_eq = w[q] * (even(deviation, cu, uu) + odd(deviation, cu))
            source = w[q] * (source_even(cu, cf, uf) + source_odd(cf))
            f[q] += omega * (f_eq - f[q]) + force_part * source

    return jit(unroll(relax))


BGK = Relaxation("bgk", 1, _reference, _node)
