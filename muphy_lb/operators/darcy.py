"""Darcy's drag at the nodes of a porous medium, F = -gamma j with gamma = nu / K, permeability K, momentum j = rho u.

It is implicit (Guo, Zhao, Phys. Rev. E 66, 036304 (2002)): with the momentum m of the populations before collision and
all other forces F_0,

    j = (m + F_0 / 2) / (1 + gamma / 2),   F = F_0 - gamma j,

which is stable for any K. Behind the collision the momentum is m + F, which is F_0 / 2 for gamma = 2 whatever j is: so
the collision stores j in fields, and velocities of these nodes are read from there.

The collision of these nodes has two rates (:mod:`muphy_lb.operators.trt`), whatever it is elsewhere. With
d+ = 1/s+ - 1/2, d- = 1/s- - 1/2, k = 1 / sqrt(K) and X = (k/2) coth(k/2), in a parallel flow along an axis

    d+ = (1/omega - 1/2) X^2 / Y,   d- = (Y - 1) / (2 gamma),   Y = X + 2/3 (Lambda - 1/8) K / (1 + K)^2

give layers that decay exactly like exp(-k y), j the mean over a voxel, and, half-way between the last node of the
medium and the first beyond it, a velocity over shear rate of sqrt(K) Y / X: sqrt(K) is Brinkman's for equal
viscosities, and Y / X is at most 1.011 for Lambda = 3/16. As K goes to 0 the collision becomes bounce-back, s+ = 0 and
s- = 2, the wall half-way; as it goes to infinity, two relaxation times with Lambda. A steady creeping flow depends on K
and Lambda, not on nu. (Own derivation from the recurrence of steady populations; tests/laws/test_porous_medium.py.)

Small s- let inertia grow: at a cell Reynolds number of 12 to 50 streams past a disc of K >= 10 voxels^2 diverged,
and with s- >= 1 none did, of K from 1e-3 to 1e4.
"""

from functools import cache

import numpy as np

from muphy_lb.lattice import added, combined
from muphy_lb.operators.equilibrium import Equilibrium
from muphy_lb.operators.moments import BEFORE_COLLISION, state_node
from muphy_lb.operators.observers import MOMENTUM_FIELDS
from muphy_lb.operators.operator import Operator, joined, named, rest_populations
from muphy_lb.operators.trt import MAGIC_HALF_WAY, two_rates_node

DRAG, EVEN_RATE, ODD_RATE = "drag_rate", "drag_even_rate", "drag_odd_rate"
RATES = (DRAG, EVEN_RATE, ODD_RATE)  # names of the fields of gamma, s+ and s-; gamma is 0 where there is no medium
SMALLEST = 1e-12  # least permeability [voxels^2]; at smaller ones nothing flows either


def drag_rates(
    permeability: np.ndarray, viscosity: float, magic: float = MAGIC_HALF_WAY, least_odd_rate: float = 0.0
) -> np.ndarray:
    """(3, n) gamma, s+ and s- of permeabilities (n,) above 0, which may be infinite, lattice units.

    Args:
        viscosity: of the fluid.
        magic: Lambda where there is no medium.
        least_odd_rate: lower bound of s-, which takes from Y: exp(-k y) stays, the slip at interfaces becomes smaller.
    """
    infinite = np.isinf(permeability)
    k_2 = np.where(infinite, 1.0, np.maximum(permeability, SMALLEST))
    half = 0.5 / np.sqrt(k_2)
    x = half / np.tanh(half)
    gamma = viscosity / k_2
    y = x + 2.0 / 3.0 * (magic - 0.125) * k_2 / (1.0 + k_2) ** 2
    y = np.minimum(y, 1.0 + 2.0 * gamma * (1.0 / least_odd_rate - 0.5)) if least_odd_rate else y
    even, odd = 3.0 * viscosity * x**2 / y, (y - 1.0) / (2.0 * gamma)
    return np.where(infinite, 0.0, np.stack([gamma, 1.0 / (0.5 + even), 1.0 / (0.5 + odd)]))


def stress_share(gamma: np.ndarray, even_rate: np.ndarray, omega: float) -> np.ndarray:
    """(n,) viscous stress at nodes of rates gamma and s+, over that which follows from omega: the moments give that of
    differences between nodes, X times the slope of exact layers; 1 where there is no medium."""
    gamma, even_rate = (np.asarray(rate, dtype=np.float64) for rate in (gamma, even_rate))
    viscosity = (1.0 / omega - 0.5) / 3.0
    half = 0.5 * np.sqrt(np.where(gamma > 0.0, gamma, viscosity) / viscosity)
    own = (1.0 - 0.5 * even_rate) / (1.0 - 0.5 * omega) * np.tanh(half) / half
    return np.where(gamma > 0.0, own, 1.0)


def _with_drag_node(precision, jit):
    """Node function ``(state, force, gamma)`` -> state and force, of those without drag."""
    one, half = precision.real(1), precision.real(0.5)

    def with_drag(state, force, gamma):
        deviation, ux, uy, uz, jx, jy, jz = state
        fx, fy, fz = force
        share = one / (one + half * gamma)
        jx, jy, jz = share * jx, share * jy, share * jz
        state = deviation, share * ux, share * uy, share * uz, jx, jy, jz
        return state, (fx - gamma * jx, fy - gamma * jy, fz - gamma * jz)

    return jit(with_drag)


def dragged_state_node(lattice, precision, jit, at, equilibrium: Equilibrium, force: Operator):
    """Node function ``(f, n, parameters)`` -> state (:func:`muphy_lb.operators.moments.state_node`) of populations
    before collision, and force, both with the drag of the node."""
    state_at, force_at = state_node(lattice, precision, jit, equilibrium), force.node(lattice, precision, jit, at)
    with_drag, gamma = _with_drag_node(precision, jit), at[DRAG]

    def dragged_state(f, n, parameters):
        body_force = force_at(n, parameters)
        return with_drag(state_at(f, body_force), body_force, parameters[gamma][n])

    return jit(dragged_state)


@cache
def with_drag(collide: Operator, equilibrium: Equilibrium, force: Operator) -> Operator:
    """The collision, and in the medium that with its two rates, which stores the momentum. Cached: one object for equal
    arguments, since compiled code is cached by operator. ``force``: all but the drag."""

    def reference(stored, n, lattice, parameters):
        gamma = np.broadcast_to(parameters[DRAG][n], stored.shape[1:])
        f, f_0 = stored + rest_populations(lattice), np.broadcast_to(force.reference(n, parameters), (3, gamma.size))
        rho, j = added(f), (combined(lattice.c.T, f) + 0.5 * f_0) / (1.0 + 0.5 * gamma)
        u = equilibrium.velocity(j, rho)
        neq, source = f - equilibrium.populations(rho, u, lattice), equilibrium.source(u, f_0 - gamma * j, lattice)
        inside = gamma > 0.0
        collided = f
        for sign, name in ((1, EVEN_RATE), (-1, ODD_RATE)):
            rate = parameters[name][n]
            neq_part, source_part = (0.5 * (x + sign * x[lattice.opposite]) for x in (neq, source))
            collided = collided - rate * neq_part + (1.0 - 0.5 * rate) * source_part
        for name, component in zip(MOMENTUM_FIELDS, j, strict=True):
            parameters[name][n] = np.where(inside, component, parameters[name][n])
        elsewhere = collide.reference(stored, n, lattice, parameters)
        return np.where(inside, collided - rest_populations(lattice), elsewhere)

    def node(lattice, precision, jit, at):
        onwards, two_rates = (
            collide.node(lattice, precision, jit, at),
            two_rates_node(lattice, precision, jit, equilibrium),
        )
        dragged = dragged_state_node(lattice, precision, jit, at, equilibrium, force)
        gamma, even, odd = (at[name] for name in RATES)
        x, y, z = (at[name] for name in MOMENTUM_FIELDS)
        zero, in_lattice_units = precision.real(0), precision.real(1 / precision.unit)

        def collide_with_drag(f, n, parameters):
            if parameters[gamma][n] > zero:
                state, body_force = dragged(f, n, parameters)
                parameters[x][n] = in_lattice_units * state[4]
                parameters[y][n] = in_lattice_units * state[5]
                parameters[z][n] = in_lattice_units * state[6]
                two_rates(f, state, body_force, parameters[even][n], parameters[odd][n])
            else:
                onwards(f, n, parameters)

        return jit(collide_with_drag)

    parameters = joined(collide.parameters, force.parameters, named(*RATES, *MOMENTUM_FIELDS))
    return Operator(f"{collide.name}-drag", reference, node, parameters)


@cache
def moments_with_drag(moments: Operator, half_force: float, equilibrium: Equilibrium) -> Operator:
    """The operator of moments without drag, with that of each node. ``half_force``: share of the force in the momentum
    of the populations."""
    is_before = half_force == BEFORE_COLLISION

    def reference(stored, n, lattice, parameters):
        deviation, *u = moments.reference(stored, n, lattice, parameters)
        gamma = parameters[DRAG][n]
        if is_before:
            return np.stack([deviation, *(np.array(u) / (1.0 + 0.5 * gamma))])
        j = np.stack([parameters[name][n] for name in MOMENTUM_FIELDS])
        return np.stack([deviation, *np.where(gamma > 0.0, equilibrium.velocity(j, 1.0 + deviation), np.array(u))])

    def node(lattice, precision, jit, at):
        moments_at, gamma = moments.node(lattice, precision, jit, at), at[DRAG]
        inverse_inertia = equilibrium.moments(precision, jit).inverse_inertia
        x, y, z = (at.get(name, 0) for name in MOMENTUM_FIELDS)
        zero, one, half, unit = (precision.real(value) for value in (0, 1, 0.5, precision.unit))

        def before(f, n, parameters):
            deviation, ux, uy, uz = moments_at(f, n, parameters)
            share = one / (one + half * parameters[gamma][n])
            return deviation, share * ux, share * uy, share * uz

        def behind(f, n, parameters):
            deviation, ux, uy, uz = moments_at(f, n, parameters)
            if parameters[gamma][n] > zero:
                scale = unit * inverse_inertia(deviation)
                ux, uy, uz = scale * parameters[x][n], scale * parameters[y][n], scale * parameters[z][n]
            return deviation, ux, uy, uz

        return jit(before if is_before else behind)

    own = named(DRAG) if is_before else named(DRAG, *MOMENTUM_FIELDS)
    return Operator(f"{moments.name}-drag", reference, node, joined(moments.parameters, own))


@cache
def force_with_drag(force: Operator) -> Operator:
    """The force and the drag of the momentum that the last collision has stored."""

    def reference(n, parameters):
        j = np.stack([parameters[name][n] for name in MOMENTUM_FIELDS])
        return force.reference(n, parameters) - parameters[DRAG][n] * j

    def node(lattice, precision, jit, at):
        force_at, gamma = force.node(lattice, precision, jit, at), at[DRAG]
        x, y, z = (at[name] for name in MOMENTUM_FIELDS)
        unit = precision.real(precision.unit)

        def dragged(n, parameters):
            fx, fy, fz = force_at(n, parameters)
            rate = unit * parameters[gamma][n]
            return fx - rate * parameters[x][n], fy - rate * parameters[y][n], fz - rate * parameters[z][n]

        return jit(dragged)

    return Operator(f"{force.name}+drag", reference, node, joined(force.parameters, named(DRAG, *MOMENTUM_FIELDS)))
