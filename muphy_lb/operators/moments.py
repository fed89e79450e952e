"""Density and velocity from stored populations.

Storage holds h_q = f_q - w_q, so sum h_q is the density deviation rho - 1. With a body force F (Guo, Zheng, Shi,
Phys. Rev. E 65, 046308 (2002)) the momentum is sum c_q f_q + F/2 from populations before collision and
sum c_q f_q - F/2 from populations after it.
"""

from functools import cache

import numpy as np

from muphy_lb.operators.equilibrium import COMPRESSIBLE, Equilibrium
from muphy_lb.operators.forces import UNIFORM
from muphy_lb.operators.operator import Operator, constants, shift
from muphy_lb.operators.unroll import unroll

# Push stores populations before collision, pull those after it.
HALF_FORCE = {"push": 0.5, "pull": -0.5}


def macroscopic(streaming: str, equilibrium: Equilibrium = COMPRESSIBLE, force: Operator = UNIFORM) -> Operator:
    """Operator that yields (rho - 1, ux, uy, uz) of a node from what ``streaming`` stores.

    Of the parameters of :func:`~muphy_lb.operators.collision.collision` only the force is used.
    """
    return _macroscopic(streaming, equilibrium, force)


@cache
def _macroscopic(streaming: str, equilibrium: Equilibrium, force: Operator) -> Operator:
    """One object for equal choices, since compiled code is kept by operator."""
    half_force = HALF_FORCE[streaming]

    def reference(stored, n, lattice, parameters):
        f = stored + shift(lattice)
        rho = f.sum(axis=0)
        momentum = lattice.c.T @ f + half_force * force.reference(n, parameters)
        return np.concatenate(((rho - 1.0)[None], equilibrium.velocity(momentum, rho)))

    def node(lattice, real, jit):
        _, cx, cy, cz = constants(lattice, real)
        velocity_scale = equilibrium.terms(real, jit).velocity_scale
        force_at = force.node(lattice, real, jit)
        q_count, zero, half = lattice.q, real(0), real(half_force)

        def density_and_velocity(f, n, parameters):
            deviation, jx, jy, jz = zero, zero, zero, zero
            for q in range(q_count):
                deviation += f[q]
                jx += cx[q] * f[q]
                jy += cy[q] * f[q]
                jz += cz[q] * f[q]
            fx, fy, fz = force_at(n, parameters)
            scale = velocity_scale(deviation)
            jx += half * fx
            jy += half * fy
            jz += half * fz
            return deviation, jx * scale, jy * scale, jz * scale

        return jit(unroll(density_and_velocity))

    return Operator(f"macroscopic-{streaming}-{equilibrium.name}-{force.name}", reference, node)
