"""Projected regularisation: of the non-equilibrium only the stress is kept, and relaxes with omega.

f~_q = f_q^eq + S_q/2 - (1 - omega) w_q 9/2 (c_qa c_qb - delta_ab/3) sum_r c_ra c_rb h_r,   h = f^eq - f - S/2,
which is BGK with h replaced by its projection on the second Hermite polynomials.
Latt, Chopard, Math. Comput. Simul. 72, 165 (2006); the force: Guo, Zheng, Shi, Phys. Rev. E 65, 046308 (2002), whose
source has no part beyond the second polynomials. Rates: ``(omega,)``.
"""

import numpy as np

from muphy_lb.operators.operator import constants
from muphy_lb.operators.relaxation import Relaxation
from muphy_lb.operators.unroll import unroll


def _reference(f, f_eq, source, omega, rates, lattice):
    second = lattice.c[:, :, None] * lattice.c[:, None, :]
    stress = np.einsum("qab,qn->abn", second, f_eq - f - source / 2)
    projected = 4.5 * lattice.w[:, None] * np.einsum("qab,abn->qn", second - np.eye(3) / 3, stress)
    return f_eq + source / 2 - (1 - omega) * projected


def _node(lattice, real, jit, equilibrium):
    w, cx, cy, cz = constants(lattice, real)
    even, odd, source_even, source_odd, _ = equilibrium.terms(real, jit)
    pair_count, zero, one, half, third = lattice.q // 2, real(0), real(1), real(0.5), real(1 / 3)
    two, nine = real(2), real(9)

    def relax(f, deviation, ux, uy, uz, fx, fy, fz, omega, rates):
        uu = ux * ux + uy * uy + uz * uz
        uf = ux * fx + uy * fy + uz * fz
        xx, yy, zz, xy, yz, zx = zero, zero, zero, zero, zero, zero
        f[0] = w[0] * (even(deviation, zero, uu) + half * source_even(zero, zero, uf))
        for p in range(pair_count):
            cu = cx[2 * p + 1] * ux + cy[2 * p + 1] * uy + cz[2 * p + 1] * uz
            cf = cx[2 * p + 1] * fx + cy[2 * p + 1] * fy + cz[2 * p + 1] * fz
            f_eq = w[2 * p + 1] * even(deviation, cu, uu)
            half_source = half * (w[2 * p + 1] * source_even(cu, cf, uf))
            h = f_eq - half_source - half * (f[2 * p + 1] + f[2 * p + 2])
            xx += cx[2 * p + 1] * (cx[2 * p + 1] * h)
            yy += cy[2 * p + 1] * (cy[2 * p + 1] * h)
            zz += cz[2 * p + 1] * (cz[2 * p + 1] * h)
            xy += cx[2 * p + 1] * (cy[2 * p + 1] * h)
            yz += cy[2 * p + 1] * (cz[2 * p + 1] * h)
            zx += cz[2 * p + 1] * (cx[2 * p + 1] * h)
            to_odd = w[2 * p + 1] * (odd(deviation, cu) + half * source_odd(cf))
            f[2 * p + 1] = f_eq + half_source + to_odd
            f[2 * p + 2] = f_eq + half_source - to_odd
        kept = nine * (omega - one)
        xx, yy, zz, xy, yz, zx = kept * xx, kept * yy, kept * zz, kept * xy, kept * yz, kept * zx
        trace = third * (xx + yy + zz)
        f[0] -= w[0] * trace
        for p in range(pair_count):
            diagonal = cx[2 * p + 1] * (cx[2 * p + 1] * xx) + cy[2 * p + 1] * (cy[2 * p + 1] * yy)
            diagonal += cz[2 * p + 1] * (cz[2 * p + 1] * zz)
            mixed = cx[2 * p + 1] * (cy[2 * p + 1] * xy) + cy[2 * p + 1] * (cz[2 * p + 1] * yz)
            mixed += cz[2 * p + 1] * (cx[2 * p + 1] * zx)
            change = w[2 * p + 1] * (diagonal - trace + two * mixed)
            f[2 * p + 1] += change
            f[2 * p + 2] += change

    return jit(unroll(relax))


REGULARISED = Relaxation("regularised", 1, _reference, _node)
