"""Density, velocity and stress from stored populations. Storage holds h_q = f_q - w_q, so sum h_q is the density
deviation rho - 1. With a body force F (Guo, Zheng, Shi, Phys. Rev. E 65, 046308 (2002)) the momentum is sum c_q f_q +
F/2 from populations before collision and sum c_q f_q - F/2 from populations after it."""

from functools import cache

import numpy as np

from muphy_lb.lattice import added, combined, second_moment
from muphy_lb.operators.equilibrium import COMPRESSIBLE, Equilibrium
from muphy_lb.operators.forces import UNIFORM
from muphy_lb.operators.operator import Operator, constants, joined, named, rest_populations
from muphy_lb.operators.unroll import unroll

#: Share of the body force in the momentum of populations before, and after, their collision.
BEFORE_COLLISION, AFTER_COLLISION = 0.5, -0.5
N_WITH_STRESS = 10  # numbers that :func:`with_stress` computes


def macroscopic(half_force: float, equilibrium: Equilibrium = COMPRESSIBLE, force: Operator = UNIFORM) -> Operator:
    """Operator that computes (rho - 1, ux, uy, uz) of a node from its stored populations.

    The node function takes populations and force, and returns the density deviation, in stored units; velocities are
    in lattice units. Its parameters are those of the force.

    Args:
        half_force: ``BEFORE_COLLISION`` or ``AFTER_COLLISION``.
        equilibrium: defines density and velocity.
    """
    return _macroscopic(half_force, equilibrium, force)


@cache
def _macroscopic(half_force: float, equilibrium: Equilibrium, force: Operator) -> Operator:
    """Cached: one object for equal arguments, since compiled code is cached by operator."""

    def reference(stored, n, lattice, parameters):
        f = stored + rest_populations(lattice)
        rho = added(f)
        momentum = combined(lattice.c.T, f) + half_force * force.reference(n, parameters)
        return np.concatenate(((rho - 1.0)[None], equilibrium.velocity(momentum, rho)))

    def node(lattice, precision, jit, at):
        state_at = state_node(lattice, precision, jit, equilibrium, half_force)
        force_at = force.node(lattice, precision, jit, at)

        def density_and_velocity(f, n, parameters):
            deviation, ux, uy, uz, _, _, _ = state_at(f, force_at(n, parameters))
            return deviation, ux, uy, uz

        return jit(density_and_velocity)

    when = "before" if half_force == BEFORE_COLLISION else "after"
    name = f"macroscopic-{when}-{equilibrium.name}-{force.name}"
    return Operator(name, reference, node, force.parameters)


@cache
def with_stress(half_force: float, equilibrium: Equilibrium, force: Operator) -> Operator:
    """The operator of (rho - 1, ux, uy, uz) and of the stress, the second moment of f - f^eq + S/2 before the collision
    and of f - f^eq - S/2 behind it, a symmetric tensor as in :mod:`muphy_lb.operators.hermite`. Cached: one object for
    equal arguments, since compiled code is cached by operator."""
    moments = _macroscopic(half_force, equilibrium, force)

    def reference(stored, n, lattice, parameters):
        found = moments.reference(stored, n, lattice, parameters)
        f_eq = equilibrium.populations(1.0 + found[0], found[1:], lattice)
        source = equilibrium.source(found[1:], force.reference(n, parameters), lattice)
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = second_moment(
            stored + rest_populations(lattice) - f_eq + half_force * source, lattice
        )
        return np.concatenate((found, [xx, yy, zz, 2.0 * xy, 2.0 * yz, 2.0 * xz]))

    def node(lattice, precision, jit, at):
        state_at = state_node(lattice, precision, jit, equilibrium, half_force)
        stress_at = stress_node(lattice, precision, jit, equilibrium, half_force)
        force_at = force.node(lattice, precision, jit, at)

        def moments_and_stress(f, n, parameters):
            body_force = force_at(n, parameters)
            state = state_at(f, body_force)
            xx, yy, zz, xy, yz, zx = stress_at(f, state, body_force)
            return state[0], state[1], state[2], state[3], xx, yy, zz, xy, yz, zx

        return jit(moments_and_stress)

    return Operator(f"{moments.name}-stress", reference, node, force.parameters)


@cache
def where_fluid(moments: Operator, occupied: str) -> Operator:
    """The operator of moments with all of them 0 at nodes where the integer field ``occupied`` is 0. Cached: one object
    for equal arguments, since compiled code is cached by operator."""

    def reference(stored, n, lattice, parameters):
        found = moments.reference(stored, n, lattice, parameters)
        return np.where(parameters[occupied][n] != 0, found, 0.0)

    def node(lattice, precision, jit, at):
        moments_at, field, zero = moments.node(lattice, precision, jit, at), at[occupied], precision.real(0)

        def density_and_velocity(f, n, parameters):
            if parameters[field][n] == 0:
                return zero, zero, zero, zero
            return moments_at(f, n, parameters)

        return jit(density_and_velocity)

    return Operator(f"{moments.name}-of-fluid", reference, node, joined(moments.parameters, named(occupied)))


def _open(n, parameters):
    return np.zeros(np.shape(n), dtype=bool)


def _open_node(lattice, precision, jit, at):
    return jit(lambda n, parameters: False)


OPEN = Operator("open", _open, _open_node)
"""An opening that lets every node through: ``reference(n, parameters)``, ``is_closed(n, parameters)`` of one."""


@cache
def at_openings(moments: Operator, closed: Operator) -> Operator:
    """The operator of (whether the opening is closed to a node, ux, uy, uz) from that of moments, and ``closed``, which
    reads fields of the node. Cached: one object for equal arguments, since compiled code is cached by operator."""

    def reference(stored, n, lattice, parameters):
        found = moments.reference(stored, n, lattice, parameters)
        return np.concatenate((closed.reference(n, parameters)[None], found[1:]))

    def node(lattice, precision, jit, at):
        moments_at, is_closed = moments.node(lattice, precision, jit, at), closed.node(lattice, precision, jit, at)

        def state(f, n, parameters):
            _, ux, uy, uz = moments_at(f, n, parameters)
            return is_closed(n, parameters), ux, uy, uz

        return jit(state)

    return Operator(f"{moments.name}-{closed.name}", reference, node, joined(moments.parameters, closed.parameters))


def state_node(lattice, precision, jit, equilibrium: Equilibrium, half_force: float = BEFORE_COLLISION):
    """Node function ``(f, force)`` -> (deviation, ux, uy, uz, jx, jy, jz): density, velocity, momentum. The momentum is
    returned as summed: density times velocity differs from it by a rounding error that is the same in every step of a
    steady flow, and accumulates."""
    _, cx, cy, cz = constants(lattice, precision)
    inverse_inertia = equilibrium.moments(precision, jit).inverse_inertia
    pair_count, half = lattice.q // 2, precision.real(half_force)

    def state(f, force):
        fx, fy, fz = force
        deviation, jx, jy, jz = f[0], half * fx, half * fy, half * fz
        for p in range(pair_count):
            deviation += f[2 * p + 1] + f[2 * p + 2]
            jx += cx[2 * p + 1] * (f[2 * p + 1] - f[2 * p + 2])
            jy += cy[2 * p + 1] * (f[2 * p + 1] - f[2 * p + 2])
            jz += cz[2 * p + 1] * (f[2 * p + 1] - f[2 * p + 2])
        scale = inverse_inertia(deviation)
        return deviation, jx * scale, jy * scale, jz * scale, jx, jy, jz

    return jit(unroll(state))


def stress_node(lattice, precision, jit, equilibrium: Equilibrium, half_force: float = BEFORE_COLLISION):
    """Node function ``(f, state, force)`` -> Pi = sum c c (f - f^eq + S/2) of populations before collision, and with
    - S/2 of those behind it. It is sum c c f minus (rho - rho_0) / 3 along the axes of the lattice minus the second
    moment of f^eq - S/2, or + S/2. A symmetric tensor as in :mod:`muphy_lb.operators.hermite`, in stored units."""
    second, real = equilibrium.moments(precision, jit).second, precision.real
    axes = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
    products = np.array([lattice.c[:, a] * lattice.c[:, b] * (1 + (a != b)) for a, b in axes])
    product = tuple(tuple(real(x) for x in row) for row in products)
    at_rest = tuple(real(float(lattice.moment(pair))) for pair in axes)
    along = tuple(real(row.any()) for row in products)
    count, pair_count, zero, one, minus_half = len(axes), lattice.q // 2, real(0), real(1), real(-half_force)

    def stress(f, state, force):
        second_moment = second(state, force, one, minus_half)
        pi = [zero] * count
        for k in range(count):
            pi[k] = -(at_rest[k] * state[0]) - along[k] * second_moment[k]
            for p in range(pair_count):
                pi[k] += product[k][2 * p + 1] * (f[2 * p + 1] + f[2 * p + 2])
        return pi

    return jit(unroll(stress))
