"""Collision of the populations of a temperature T that the flow advects (:mod:`muphy_lb.operators.scalar_transport`).

T is known only after the collision of the flow, so buoyancy acts one step late. For an oscillation of period two this
delay reverses the sign of the force and amplifies it; the mean with the step before does not contain the oscillation.

Two fields are written: the new T, and its mean with the T before, plus the offset (the buoyant temperature). Values are
the populations that arrive at the node. In solids both rates are arrays of nodes, and ``is_fluid``, 0 in solids and 1
elsewhere, excludes flow and buoyancy there.
Populations are unchanged on links between nodes of different rates: temperature and flux are continuous half-way, for
media of equal heat capacity per volume.
"""

from functools import cache

from muphy_lb.lattice import Lattice, added
from muphy_lb.operators.observers import VELOCITY_FIELDS
from muphy_lb.operators.operator import Operator, named
from muphy_lb.operators.scalar_transport import RATES, relax_scalar_node, relaxed_scalar
from muphy_lb.operators.unroll import unroll

FIELDS = ("scalar", "new_scalar", "new_mean")
PARAMETERS = named(*RATES, "offset", *FIELDS, *VELOCITY_FIELDS)
IN_SOLIDS = named("is_fluid")


@cache
def scalar_collision(scalar_lattice: Lattice, in_solids: bool = False) -> Operator:
    """The collision of the populations on a lattice, which may continue in solids."""

    def reference(values, n, lattice, parameters):
        even_rate, odd_rate = (parameters[name] for name in RATES)
        old, scalar, mean = (parameters[name] for name in FIELDS)
        velocity, flows = [parameters[name] for name in VELOCITY_FIELDS], 1.0
        if in_solids:
            even_rate, odd_rate, flows = even_rate[n], odd_rate[n], parameters["is_fluid"][n]
        arrived = added(values)
        mean[n], scalar[n] = flows * (0.5 * (old[n] + arrived) + parameters["offset"]), arrived
        moving = [flows * component[n] for component in velocity]
        return relaxed_scalar(values, scalar[n], moving, (even_rate, odd_rate), scalar_lattice)

    def node(lattice, precision, jit, at):
        real, pair_count = precision.real, scalar_lattice.q // 2
        half, one = real(0.5), real(1)
        medium, relax = jit(_medium(at, one, in_solids)), relax_scalar_node(scalar_lattice, precision, jit)
        offset = at["offset"]
        old, new, mean = (at[name] for name in FIELDS)
        x, y, z = (at[name] for name in VELOCITY_FIELDS)

        def collide(values, n, parameters):
            scalar = values[0]
            for p in range(pair_count):
                scalar += values[2 * p + 1] + values[2 * p + 2]
            even_rate, odd_rate, flows = medium(n, parameters)
            velocity = flows * parameters[x][n], flows * parameters[y][n], flows * parameters[z][n]
            relax(values, scalar, velocity, even_rate, odd_rate)
            parameters[mean][n] = flows * (half * (parameters[old][n] + scalar) + parameters[offset])
            parameters[new][n] = scalar

        return jit(unroll(collide))

    parameters = PARAMETERS + IN_SOLIDS * in_solids
    return Operator(f"scalar-{scalar_lattice.name}{'-solids' * in_solids}", reference, node, parameters)


def _medium(at, one, in_solids: bool):
    """Node function ``(n, parameters)`` -> rates (even, odd) of a node, and 1 in the fluid, 0 in solids."""
    even, odd = (at[name] for name in RATES)
    if not in_solids:
        return lambda n, parameters: (parameters[even], parameters[odd], one)
    fluid = at["is_fluid"]
    return lambda n, parameters: (parameters[even][n], parameters[odd][n], parameters[fluid][n])
