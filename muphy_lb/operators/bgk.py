"""Single-relaxation-time collision with Guo's body force.

f~_q = f_q - omega (f_q - f_q^eq(rho, u)) + (1 - omega/2) S_q,
S_q = w_q [3 (c_q - u) + 9 (c_q.u) c_q].F,   u = (sum c_q f_q + F/2) / rho.
Bhatnagar, Gross, Krook (1954); Qian et al. (1992); Guo, Zheng, Shi, Phys. Rev. E 65, 046308 (2002).
Parameters: ``(omega, Fx, Fy, Fz)``.
"""

import numpy as np

from muphy_lb.operators.equilibrium import equilibrium
from muphy_lb.operators.moments import MACROSCOPIC
from muphy_lb.operators.operator import Operator, constants, shift
from muphy_lb.operators.unroll import unroll


def _reference(stored, n, lattice, parameters):
    omega, force = parameters[0], np.array(parameters[1:4])[:, None]
    f = stored + shift(lattice)
    rho = f.sum(axis=0)
    u = (lattice.c.T @ f + force / 2) / rho
    cu, cf = lattice.c @ u, lattice.c @ force
    source = lattice.w[:, None] * (3 * (cf - (u * force).sum(axis=0)) + 9 * cu * cf)
    return f - omega * (f - equilibrium(rho, u, lattice)) + (1 - omega / 2) * source - shift(lattice)


def _node(lattice, real, jit):
    w, cx, cy, cz = constants(lattice, real)
    density_and_velocity = MACROSCOPIC["push"].node(lattice, real, jit)
    q_count = lattice.q
    one, half, three_halves = real(1), real(0.5), real(1.5)
    three, nine_halves, nine = real(3), real(4.5), real(9)

    def collide(f, n, parameters):
        omega, fx, fy, fz = parameters
        deviation, ux, uy, uz = density_and_velocity(f, parameters)
        rho = one + deviation
        u_squared = three_halves * (ux * ux + uy * uy + uz * uz)
        force_part = one - half * omega
        three_uf = three * (ux * fx + uy * fy + uz * fz)
        for q in range(q_count):
            cu = cx[q] * ux + cy[q] * uy + cz[q] * uz
            cf = cx[q] * fx + cy[q] * fy + cz[q] * fz
            f_eq = w[q] * (deviation + rho * (three * cu + nine_halves * cu * cu - u_squared))
            source = w[q] * (three * cf - three_uf + nine * cu * cf)
            f[q] += omega * (f_eq - f[q]) + force_part * source

    return jit(unroll(collide))


BGK = Operator("bgk", _reference, _node)
