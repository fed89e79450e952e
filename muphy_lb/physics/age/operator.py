"""Collision of the populations of the age a, which grows by 1 in every step at every node.

Half of the source is added before the collision and half behind it, with the shape of the equilibrium, so that

    a = sum_q g_q + 1/2,   sum_q g~_q = sum_q g_q + 1

(Guo, Zheng, Shi, Phys. Rev. E 65, 046308 (2002), for a source instead of a force): the populations of all nodes gain
exactly one in a step, and in a steady flow just that leaves.
"""

from functools import cache

from muphy_lb.lattice import Lattice, added, combined
from muphy_lb.operators.observers import VELOCITY_FIELDS
from muphy_lb.operators.operator import Operator, constants, named
from muphy_lb.operators.scalar_transport import RATES, relax_scalar_node, relaxed_scalar
from muphy_lb.operators.unroll import unroll

AGE = "age_of_node"
"""Name of the parameter that is the field."""


@cache
def age_collision(scalar_lattice: Lattice) -> Operator:
    """The collision of the populations on a lattice."""

    def reference(values, n, lattice, parameters):
        velocity = [parameters[name][n] for name in VELOCITY_FIELDS]
        along = combined(scalar_lattice.c, velocity) / float(scalar_lattice.cs2)
        half = 0.5 * scalar_lattice.w[:, None] * (1.0 + along)
        parameters[AGE][n] = age = added(values) + 0.5
        rates = parameters[RATES[0]], parameters[RATES[1]]
        return relaxed_scalar(values + half, age, velocity, rates, scalar_lattice) + half

    def node(lattice, precision, jit, at):
        real, q_count = precision.real, scalar_lattice.q
        w, cx, cy, cz = constants(scalar_lattice, precision)
        one, half, per_speed = real(1), real(0.5), real(1.0 / float(scalar_lattice.cs2))
        relax, age_at = relax_scalar_node(scalar_lattice, precision, jit), at[AGE]
        even, odd = (at[name] for name in RATES)
        x, y, z = (at[name] for name in VELOCITY_FIELDS)

        def collide(values, n, parameters):
            velocity = parameters[x][n], parameters[y][n], parameters[z][n]
            ux, uy, uz = velocity
            age = half
            for q in range(q_count):
                age += values[q]
                values[q] += half * w[q] * (one + per_speed * (cx[q] * ux + cy[q] * uy + cz[q] * uz))
            relax(values, age, velocity, parameters[even], parameters[odd])
            for q in range(q_count):
                values[q] += half * w[q] * (one + per_speed * (cx[q] * ux + cy[q] * uy + cz[q] * uz))
            parameters[age_at][n] = age

        return jit(unroll(collide))

    return Operator(f"age-{scalar_lattice.name}", reference, node, named(*RATES, AGE, *VELOCITY_FIELDS))
