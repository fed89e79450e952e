"""Closures: who sets the relaxation rate omega of the viscosity at a node.

The constant one is a Newtonian fluid. Others read the stress of the node: |Pi| / rho with
Pi_ab = sum_q c_a c_b (f_q - f_q^eq + S_q / 2) of populations before collision (S the source of the force, whose second
moment is u_a F_b + F_a u_b, or nothing where terms of second order are dropped), from which the rate of strain is
S_ab = -(3 omega / 2) Pi_ab / rho (Krueger et al., The Lattice Boltzmann Method (2017), sect. 4.1).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

from muphy_lb.operators.operator import constants
from muphy_lb.operators.unroll import unroll


@dataclass(frozen=True)
class Closure:
    """A law for omega.

    Attributes:
        name: in case files.
        reference: ``reference(omega, stress, closing)`` -> omega per node; ``omega`` the Newtonian rate, ``stress`` the
            (n,) values |Pi| / rho, ``closing`` the parameters of the collision from the closure's own on.
        node: factory ``node(real, jit, first)`` of ``rate(omega, stress, parameters)``, whose own parameters begin at
            ``parameters[first]``.
        parameter_names: names of these parameters, in order.
        needs_stress: false only for the constant one.
    """

    name: str
    reference: Callable
    node: Callable
    parameter_names: tuple[str, ...] = ()
    needs_stress: bool = True

    @property
    def n_parameters(self) -> int:
        """How many parameters it has."""
        return len(self.parameter_names)


CONSTANT = Closure("constant", lambda omega, stress, closing: omega, lambda real, jit, first: None, needs_stress=False)


def stress_invariant(lattice, real, jit, equilibrium):
    """Node function ``(f, deviation, ux, uy, uz, fx, fy, fz)`` -> |Pi| / rho; f are stored populations."""
    w, cx, cy, cz = constants(lattice, real)
    even, _, _, _, velocity_scale = equilibrium.terms(real, jit)
    pair_count, two = lattice.q // 2, real(2)
    source_part = real(0 if equilibrium.is_linear else 0.5)

    def invariant(f, deviation, ux, uy, uz, fx, fy, fz):
        gx, gy, gz = source_part * fx, source_part * fy, source_part * fz
        xx, yy, zz = two * (ux * gx), two * (uy * gy), two * (uz * gz)
        xy, yz, zx = ux * gy + gx * uy, uy * gz + gy * uz, uz * gx + gz * ux
        uu = ux * ux + uy * uy + uz * uz
        for p in range(pair_count):
            cu = cx[2 * p + 1] * ux + cy[2 * p + 1] * uy + cz[2 * p + 1] * uz
            f_neq = f[2 * p + 1] + f[2 * p + 2] - two * (w[2 * p + 1] * even(deviation, cu, uu))
            xx += cx[2 * p + 1] * (cx[2 * p + 1] * f_neq)
            yy += cy[2 * p + 1] * (cy[2 * p + 1] * f_neq)
            zz += cz[2 * p + 1] * (cz[2 * p + 1] * f_neq)
            xy += cx[2 * p + 1] * (cy[2 * p + 1] * f_neq)
            yz += cy[2 * p + 1] * (cz[2 * p + 1] * f_neq)
            zx += cz[2 * p + 1] * (cx[2 * p + 1] * f_neq)
        square = xx * xx + yy * yy + zz * zz + two * (xy * xy + yz * yz + zx * zx)
        return sqrt(square) * velocity_scale(deviation)

    return jit(unroll(invariant))
