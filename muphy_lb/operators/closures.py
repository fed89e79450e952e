"""Closures: laws for the relaxation rate omega, and so for the viscosity, at a node.

The constant closure is a Newtonian fluid. The others depend on the stress at the node: |Pi| / rho with
Pi_ab = sum_q c_a c_b (f_q - f_q^eq + S_q / 2) of populations before collision (S the source of the force, whose second
moment is u_a F_b + F_a u_b, or zero where terms of second order are dropped), from which the rate of strain is
S_ab = -(3 omega / 2) Pi_ab / rho (Krueger et al., The Lattice Boltzmann Method (2017), sect. 4.1).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

from muphy_lb.operators.moments import stress_node
from muphy_lb.operators.operator import Parameter


@dataclass(frozen=True)
class Closure:
    """A law for omega.

    Attributes:
        name: in case files.
        reference: ``reference(omega, stress, parameters)`` -> omega per node; ``omega`` the Newtonian rate, ``stress``
            the (n,) values |Pi| / rho; parameters are read by name.
        node: factory ``node(precision, jit, at)`` of ``rate(omega, stress, parameters)``; ``at`` as in
            :class:`~muphy_lb.operators.operator.Operator`.
        parameters: what it reads; none of these is in stored units.
        needs_stress: whether it depends on the stress; false only for the constant closure.
    """

    name: str
    reference: Callable
    node: Callable
    parameters: tuple[Parameter, ...] = ()
    needs_stress: bool = True


CONSTANT = Closure("constant", lambda omega, stress, parameters: omega, lambda *choices: None, needs_stress=False)


def stress_invariant(lattice, precision, jit, equilibrium):
    """Node function ``(f, state, force)`` -> |Pi| / rho, a pure number, of arguments in stored units."""
    stress = stress_node(lattice, precision, jit, equilibrium)
    inverse_inertia, half = equilibrium.moments(precision, jit).inverse_inertia, precision.real(0.5)

    def invariant(f, state, force):
        xx, yy, zz, xy, yz, zx = stress(f, state, force)
        square = xx * xx + yy * yy + zz * zz + half * (xy * xy + yz * yz + zx * zx)
        return sqrt(square) * inverse_inertia(state[0])

    return jit(invariant)
