"""The zone of an opening: what leaves its nodes loses, by degrees, what carries neither mass, momentum, nor stress.

Populations of layer k of a zone, counted from the opening, become behind their collision

    f~_q' = (k / N) f~_q + (1 - k / N) R f~_q,    k = 0, ..., N - 1.

R f is regularised: the Hermite series of second order (:mod:`muphy_lb.operators.hermite`) of the density and momentum
of f, and of the second moment of their equilibrium plus Pi / (1 + 36 sqrt(2) C^2 |Pi| / rho), where Pi is the stress,
sum c c (f - f^eq). Next to the opening the collision is so that of Latt, Chopard, Math. Comput. Simul. 72, 165 (2006);
N layers inside it is what it is elsewhere. For tau near 1/2 the quotient adds C^2 |S| to the viscosity, the eddy
viscosity of Smagorinsky (:mod:`muphy_lb.operators.closures`).

Where the cell Reynolds number is large, an opening returns the shortest waves amplified, which moments of higher
order carry, and vortices that leave lose nothing on their way (benchmarks/notes/openings.md). A body force counts half
as much in the momentum here as in a velocity: its share of Pi, of order u F, is neglected.
"""

from functools import cache
from math import sqrt

import numpy as np

from muphy_lb.lattice import added, combined, second_moment
from muphy_lb.operators import hermite
from muphy_lb.operators.equilibrium import Equilibrium
from muphy_lb.operators.moments import state_node, stress_node
from muphy_lb.operators.operator import Operator, joined, named, rest_populations
from muphy_lb.operators.trt import relax_parts_node
from muphy_lb.operators.unroll import unroll

LAYERS = 8
"""N: a stream with vortices at a cell Reynolds number of 60 diverges with 5 layers (cumulants, D2Q9), not with 8."""

SMAGORINSKY_CONSTANT = 0.16  # C; of isotropic turbulence, Lilly (1967): 0.16 to 0.18
LIMIT = 36 * 2**0.5 * SMAGORINSKY_CONSTANT**2

OPENING_LAYER = "opening_layer"  # name of the parameter: k of every node, N where it belongs to no zone; integers


@cache
def near_openings(collide: Operator, equilibrium: Equilibrium) -> Operator:
    """The collision, which at the nodes of zones of openings is followed by this. Cached: one object for equal
    arguments, since compiled code is cached by operator."""

    def reference(stored, n, lattice, parameters):
        collided = collide.reference(stored, n, lattice, parameters)
        share = np.broadcast_to(parameters[OPENING_LAYER][n] / LAYERS, collided.shape[1:])
        regular = _regularised(collided + rest_populations(lattice), equilibrium, lattice) - rest_populations(lattice)
        return np.where(share < 1.0, share * collided + (1.0 - share) * regular, collided)

    def node(lattice, precision, jit, at):
        onwards = collide.node(lattice, precision, jit, at)
        regularise = _regularise_node(lattice, precision, jit, equilibrium)
        layer_at, count, real = at[OPENING_LAYER], LAYERS, precision.real
        per_layer = real(1 / LAYERS)

        def collide_near_openings(f, n, parameters):
            onwards(f, n, parameters)
            layer = parameters[layer_at][n]
            if layer < count:
                regularise(f, per_layer * real(count - layer))

        return jit(collide_near_openings)

    parameters = joined(collide.parameters, named(OPENING_LAYER))
    return Operator(f"{collide.name}-near-openings", reference, node, parameters)


def _regularised(f: np.ndarray, equilibrium: Equilibrium, lattice) -> np.ndarray:
    """R f of (Q, n) full populations."""
    rho = added(f)
    f_eq = equilibrium.populations(rho, equilibrium.velocity(combined(lattice.c.T, f), rho), lattice)
    stress = second_moment(f - f_eq, lattice)
    size = np.sqrt(added((stress * stress).reshape(9, -1))) / (rho if equilibrium.is_compressible else 1.0)
    second = lattice.c[:, :, None] * lattice.c[:, None, :] - np.eye(3) / 3
    projected = 4.5 * lattice.w[:, None] * combined(second.reshape(-1, 9), stress.reshape(9, -1))
    return f_eq + projected / (1.0 + LIMIT * size)


def _regularise_node(lattice, precision, jit, equilibrium: Equilibrium):
    """Node function ``(f, share)``: f_q <- f_q + share (R f_q - f_q), in place."""
    even_part, odd_part = hermite.even_part(lattice, precision, jit), hermite.odd_part(lattice, precision, jit)
    state_at = state_node(lattice, precision, jit, equilibrium)
    stress_at, relax_parts = (
        stress_node(lattice, precision, jit, equilibrium),
        relax_parts_node(lattice, precision, jit),
    )
    moments, real = equilibrium.moments(precision, jit), precision.real
    second, inverse_inertia = moments.second, moments.inverse_inertia
    axes, count, zero, one, half = 3, 6, real(0), real(1), real(0.5)
    limit, no_force = real(LIMIT), (zero, zero, zero)

    def regularise(f, share):
        state = state_at(f, no_force)
        stress = stress_at(f, state, no_force)
        of_equilibrium = second(state, no_force, one, zero)
        tensor = [zero] * count
        square = zero
        for k in range(axes):
            square += stress[k] * stress[k] + half * stress[k + 3] * stress[k + 3]
        kept = one / (one + limit * sqrt(square) * inverse_inertia(state[0]))
        for k in range(count):
            tensor[k] = share * (of_equilibrium[k] + kept * stress[k])
        even = even_part(share * state[0], tensor)
        odd = odd_part((share * state[4], share * state[5], share * state[6]))
        relax_parts(f, even, odd, share, share)

    return jit(unroll(regularise))
