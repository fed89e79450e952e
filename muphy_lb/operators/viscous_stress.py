"""The viscous stress and the viscosity at a node from its populations before collision.

    sigma = -(1 - omega / 2) Pi,   Pi_ab = sum_q c_qa c_qb (f_q - f_q^eq + S_q / 2)

with S the source of the body force and omega the rate of the node, which a viscosity law or a turbulence model may set.
The dynamic viscosity is mu = cs2 (1 / omega - 1 / 2) rho, and so the rate of strain sigma / (2 mu).
Krueger et al., The Lattice Boltzmann Method (2017), sect. 4.1 and 6.3.
"""

from functools import cache

import numpy as np

from muphy_lb.lattice import added, second_moment
from muphy_lb.operators.closures import Closure, stress_invariant
from muphy_lb.operators.equilibrium import Equilibrium
from muphy_lb.operators.moments import BEFORE_COLLISION, macroscopic, state_node, stress_node
from muphy_lb.operators.operator import Operator, joined, named, rest_populations
from muphy_lb.operators.relaxation import OMEGA

#: Rows and columns of the six numbers that a symmetric tensor is given by.
COMPONENTS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
#: Their names, "xx", "yy", "zz", "xy", "yz", "zx".
PAIRS = tuple("xyz"[a] + "xyz"[b] for a, b in COMPONENTS)
#: Names of the components of a gradient of vectors: of the vector, and of the axis of the derivative.
GRADIENT_PAIRS = tuple(a + b for a in "xyz" for b in "xyz")


def contracted(tensor: np.ndarray) -> np.ndarray:
    """(n,) T:T of symmetric tensors (6, n): xx, yy, zz, xy, yz, zx."""
    xx, yy, zz, xy, yz, zx = tensor
    return xx * xx + yy * yy + zz * zz + 2.0 * (xy * xy + yz * yz + zx * zx)


@cache
def viscous_stress(equilibrium: Equilibrium, closure: Closure, force: Operator) -> Operator:
    """Operator that computes the components ``COMPONENTS`` of the viscous stress of a node and the dynamic viscosity
    there, lattice units.

    Its specification returns them as (7, n), its node function as a tuple in stored units. Cached: one object for
    equal arguments, since compiled code is cached by operator.

    Args:
        equilibrium, closure, force: of the flow.
    """
    before_collision = macroscopic(BEFORE_COLLISION, equilibrium, force)

    def reference(stored, n, lattice, parameters):
        deviation, *u = before_collision.reference(stored, n, lattice, parameters)
        f, u, density = stored + rest_populations(lattice), np.array(u), 1.0 + deviation
        source = equilibrium.source(u, force.reference(n, parameters), lattice)
        pi = second_moment(f - equilibrium.populations(density, u, lattice) + source / 2, lattice)
        omega = parameters[OMEGA]
        inertia = density if equilibrium.is_compressible else np.ones_like(density)
        if closure.needs_stress:
            omega = closure.reference(omega, np.sqrt(added((pi * pi).reshape(9, -1))) / inertia, n, parameters)
        viscosity = float(lattice.cs2) * (1.0 / omega - 0.5) * inertia
        return np.stack([*(-(1.0 - omega / 2) * pi[pair] for pair in COMPONENTS), viscosity])

    def node(lattice, precision, jit, at):
        omega_at, half, one, cs2 = at[OMEGA], precision.real(0.5), precision.real(1), precision.real(lattice.cs2)
        state_at, force_at = state_node(lattice, precision, jit, equilibrium), force.node(lattice, precision, jit, at)
        second_moment_at = stress_node(lattice, precision, jit, equilibrium)
        invariant = stress_invariant(lattice, precision, jit, equilibrium)
        inverse_inertia = equilibrium.moments(precision, jit).inverse_inertia
        rate = closure.node(precision, jit, at) if closure.needs_stress else None

        def newtonian(f, n, parameters):
            body_force = force_at(n, parameters)
            state = state_at(f, body_force)
            return scaled(second_moment_at(f, state, body_force), parameters[omega_at], state[0])

        def with_closure(f, n, parameters):
            body_force = force_at(n, parameters)
            state = state_at(f, body_force)
            omega = rate(parameters[omega_at], invariant(f, state, body_force), n, parameters)
            return scaled(second_moment_at(f, state, body_force), omega, state[0])

        @jit
        def scaled(pi, omega, deviation):
            xx, yy, zz, xy, yz, zx = pi
            factor = half * omega - one
            viscosity = cs2 * (one / omega - half) / inverse_inertia(deviation)
            # Components off the diagonal arrive as the sum of both that are equal.
            off = factor * half
            return factor * xx, factor * yy, factor * zz, off * xy, off * yz, off * zx, viscosity

        return jit(newtonian if rate is None else with_closure)

    name = f"viscous-stress-{equilibrium.name}-{closure.name}-{force.name}"
    return Operator(name, reference, node, joined(named(OMEGA), closure.parameters, force.parameters))
