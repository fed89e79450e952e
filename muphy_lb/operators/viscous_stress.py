"""The viscous stress at a node from its populations before collision.

    sigma = -(1 - omega / 2) Pi,   Pi_ab = sum_q c_qa c_qb (f_q - f_q^eq + S_q / 2)

with S the source of the body force and omega the rate of the node, which a viscosity law or a turbulence model may set.
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


@cache
def viscous_stress(equilibrium: Equilibrium, closure: Closure, force: Operator) -> Operator:
    """Operator that computes the components ``COMPONENTS`` of the viscous stress, lattice units, of a node.

    Its specification returns them as (6, n), its node function as a tuple in stored units. Cached: one object for
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
        if closure.needs_stress:
            inertia = density if equilibrium.is_compressible else 1.0
            omega = closure.reference(omega, np.sqrt(added((pi * pi).reshape(9, -1))) / inertia, parameters)
        return np.stack([-(1.0 - omega / 2) * pi[pair] for pair in COMPONENTS])

    def node(lattice, precision, jit, at):
        omega_at, half, one = at[OMEGA], precision.real(0.5), precision.real(1)
        state_at, force_at = state_node(lattice, precision, jit, equilibrium), force.node(lattice, precision, jit, at)
        second_moment_at = stress_node(lattice, precision, jit, equilibrium)
        invariant = stress_invariant(lattice, precision, jit, equilibrium)
        rate = closure.node(precision, jit, at) if closure.needs_stress else None

        def newtonian(f, n, parameters):
            body_force = force_at(n, parameters)
            return scaled(second_moment_at(f, state_at(f, body_force), body_force), parameters[omega_at])

        def with_closure(f, n, parameters):
            body_force = force_at(n, parameters)
            state = state_at(f, body_force)
            omega = rate(parameters[omega_at], invariant(f, state, body_force), parameters)
            return scaled(second_moment_at(f, state, body_force), omega)

        @jit
        def scaled(pi, omega):
            xx, yy, zz, xy, yz, zx = pi
            factor = half * omega - one
            # Components off the diagonal arrive as the sum of both that are equal.
            return factor * xx, factor * yy, factor * zz, factor * half * xy, factor * half * yz, factor * half * zx

        return jit(newtonian if rate is None else with_closure)

    name = f"viscous-stress-{equilibrium.name}-{closure.name}-{force.name}"
    return Operator(name, reference, node, joined(named(OMEGA), closure.parameters, force.parameters))
