"""The power that viscosity dissipates at a node, stored beside its collision.

    Phi = 2 mu S:S = (1 - omega / 2) omega / (2 cs2 rho) Pi:Pi   per volume,   S = -omega / (2 cs2 rho) Pi

with Pi = sum_q c_q c_q (f_q - f_q^eq + S_q / 2) of the populations before collision and omega the rate that the
closure sets at the node: a viscosity law or an eddy viscosity counts. Krueger et al., The Lattice Boltzmann Method
(2017), sect. 4.1 and 6.3.
"""

from functools import cache

import numpy as np

from muphy_lb.lattice import added, second_moment
from muphy_lb.operators import Closure, Equilibrium, Operator
from muphy_lb.operators.closures import stress_invariant
from muphy_lb.operators.moments import BEFORE_COLLISION, macroscopic, state_node
from muphy_lb.operators.operator import joined, named, rest_populations
from muphy_lb.operators.relaxation import OMEGA

POWER = "dissipation"  # name of the parameter that is the field


@cache
def with_dissipation(collide: Operator, equilibrium: Equilibrium, closure: Closure, force: Operator) -> Operator:
    """The collision, before which a node stores what it dissipates.

    Cached: one object for equal arguments, since compiled code is cached by operator.

    Args:
        collide: the collision of the flow, whatever it is composed of.
        equilibrium, closure, force: of the flow.
    """
    before_collision = macroscopic(BEFORE_COLLISION, equilibrium, force)

    def reference(stored, n, lattice, parameters):
        deviation, *u = before_collision.reference(stored, n, lattice, parameters)
        f, u = stored + rest_populations(lattice), np.array(u)
        source = equilibrium.source(u, force.reference(n, parameters), lattice)
        pi = second_moment(f - equilibrium.populations(1.0 + deviation, u, lattice) + source / 2, lattice)
        density = 1.0 + deviation if equilibrium.is_compressible else 1.0
        square = added((pi * pi).reshape(9, -1))
        omega = parameters[OMEGA]
        if closure.needs_stress:
            omega = closure.reference(omega, np.sqrt(square) / density, n, parameters)
        parameters[POWER][n] = (1.0 - omega / 2) * omega / (2 * float(lattice.cs2)) * square / density
        return collide.reference(stored, n, lattice, parameters)

    def node(lattice, precision, jit, at):
        real, omega_at, power_at = precision.real, at[OMEGA], at[POWER]
        state_at, force_at = state_node(lattice, precision, jit, equilibrium), force.node(lattice, precision, jit, at)
        invariant, onwards = (
            stress_invariant(lattice, precision, jit, equilibrium),
            collide.node(lattice, precision, jit, at),
        )
        inverse_inertia = equilibrium.moments(precision, jit).inverse_inertia
        one, half, unit = real(1), real(0.5), real(precision.unit)
        factor = real(1.0 / (2.0 * float(lattice.cs2)))
        rate = closure.node(precision, jit, at) if closure.needs_stress else jit(lambda omega, stress, n, given: omega)

        def store_and_collide(f, n, parameters):
            body_force = force_at(n, parameters)
            state = state_at(f, body_force)
            stress = invariant(f, state, body_force)
            omega = rate(parameters[omega_at], stress, n, parameters)
            inertia = one / (inverse_inertia(state[0]) * unit)
            parameters[power_at][n] = (one - half * omega) * omega * factor * stress * stress * inertia
            onwards(f, n, parameters)

        return jit(store_and_collide)

    parameters = joined(collide.parameters, closure.parameters, force.parameters, named(OMEGA, POWER))
    return Operator(f"{collide.name}-{POWER}", reference, node, parameters)
