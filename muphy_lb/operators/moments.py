"""Density and velocity from stored populations.

Storage holds h_q = f_q - w_q, so sum h_q is the density deviation rho - 1. With a body force F (Guo, Zheng, Shi,
Phys. Rev. E 65, 046308 (2002)) the velocity is u = (sum c_q f_q + F/2) / rho from populations before collision and
(sum c_q f_q - F/2) / rho from populations after it.
"""

import numpy as np

from muphy_lb.operators.operator import Operator, constants, shift
from muphy_lb.operators.unroll import unroll

# Push stores populations before collision, pull those after it.
HALF_FORCE = {"push": 0.5, "pull": -0.5}


def macroscopic(streaming: str) -> Operator:
    """Operator that yields (rho - 1, ux, uy, uz) of a node from what ``streaming`` stores.

    Parameters of the compiled function: ``(omega, Fx, Fy, Fz)``; omega is not used.
    """
    half_force = HALF_FORCE[streaming]

    def reference(stored, lattice, parameters):
        f = stored + shift(lattice)
        rho = f.sum(axis=0)
        momentum = lattice.c.T @ f + half_force * np.array(parameters[1:4])[:, None]
        return np.concatenate(((rho - 1.0)[None], momentum / rho))

    def node(lattice, real, jit):
        _, cx, cy, cz = constants(lattice, real)
        q_count, zero, one, half = lattice.q, real(0), real(1), real(half_force)

        def density_and_velocity(f, parameters):
            deviation, jx, jy, jz = zero, zero, zero, zero
            for q in range(q_count):
                deviation += f[q]
                jx += cx[q] * f[q]
                jy += cy[q] * f[q]
                jz += cz[q] * f[q]
            per_rho = one / (one + deviation)
            jx += half * parameters[1]
            jy += half * parameters[2]
            jz += half * parameters[3]
            return deviation, jx * per_rho, jy * per_rho, jz * per_rho

        return jit(unroll(density_and_velocity))

    return Operator(f"macroscopic-{streaming}", reference, node)


MACROSCOPIC = {streaming: macroscopic(streaming) for streaming in HALF_FORCE}
