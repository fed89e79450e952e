"""The mass of a cell."""

from functools import cache

import numpy as np

from muphy_lb.operators import Operator
from muphy_lb.operators.operator import joined, named
from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.free_surface.cells import CELL, LIQUID, MASS


def density_node(lattice, precision, jit):
    """Node function: density of populations."""
    one, n_pairs = precision.real(1), lattice.q // 2

    def density(f):
        found = one + f[0]
        for p in range(n_pairs):
            found += f[2 * p + 1] + f[2 * p + 2]
        return found

    return jit(unroll(density))


@cache
def counted(moments: Operator) -> Operator:
    """Moments with the mass of liquid in a cell, minus 1, in the place of the density: liquid cells have that of their
    populations, and all have what the field of masses holds."""

    def reference(stored, n, lattice, parameters):
        found = moments.reference(stored, n, lattice, parameters)
        of_populations = np.where(parameters[CELL][n] & LIQUID, 1.0 + found[0], 0.0)
        found[0] = of_populations + parameters[MASS][n] - 1.0
        return found

    def node(lattice, precision, jit, at):
        moments_at, cell, mass, one = moments.node(lattice, precision, jit, at), at[CELL], at[MASS], precision.real(1)

        def mass_and_velocity(f, n, parameters):
            deviation, ux, uy, uz = moments_at(f, n, parameters)
            held = parameters[mass][n]
            if not parameters[cell][n] & LIQUID:
                return held - one, ux, uy, uz
            return deviation + held, ux, uy, uz

        return jit(mass_and_velocity)

    return Operator(f"{moments.name}-counted", reference, node, joined(moments.parameters, named(CELL, MASS)))
