"""A collision is composed of four parts: relaxation, equilibrium, closure (which sets the viscosity), and force.

f~ = f + relaxation of (f^eq - f) + source, with u = (sum c_q f_q + F/2) / rho (Guo, Zheng, Shi 2002). Its parameters
are those of its parts, by name; the first is omega, the rate that sets the viscosity, which the closure may replace at
each node. In the node function populations and force are in stored units; rates and the closure's parameters never are.

A physics may extend the collision of a node by an ``observer`` (store values that other stages need, ahead of the
force) and a ``source`` (add to the collided populations): :func:`followed_by`.
"""

from functools import cache

import numpy as np

from muphy_lb.lattice import added, second_moment
from muphy_lb.operators.closures import CONSTANT, Closure, stress_invariant
from muphy_lb.operators.darcy import dragged_state_node, moments_with_drag, with_drag
from muphy_lb.operators.equilibrium import COMPRESSIBLE, Equilibrium
from muphy_lb.operators.forces import UNIFORM
from muphy_lb.operators.moments import BEFORE_COLLISION, macroscopic, state_node
from muphy_lb.operators.observers import Observer
from muphy_lb.operators.operator import Operator, joined, rest_populations
from muphy_lb.operators.relaxation import OMEGA, Relaxation


def collision(
    relaxation: Relaxation,
    equilibrium: Equilibrium = COMPRESSIBLE,
    closure: Closure = CONSTANT,
    force: Operator = UNIFORM,
    observer: Observer | None = None,
    has_drag: bool = False,
) -> Operator:
    """The operator ``collide(f, n, parameters)``, in place, composed of these four parts and an observer; with
    ``has_drag``, nodes of a porous medium have its drag (:mod:`muphy_lb.operators.darcy`)."""
    collide = _collision(relaxation, equilibrium, closure, force)
    if has_drag:
        collide = with_drag(collide, equilibrium, force)
    return collide if observer is None else _observed(collide, equilibrium, force, observer, has_drag)


@cache
def followed_by(collide: Operator, source: Operator) -> Operator:
    """The collision, then ``source(f, n, parameters)``, which adds to the collided populations in place. Its
    specification ``reference(n, lattice, parameters)`` returns what is added, (Q, n)."""

    def reference(stored, n, lattice, parameters):
        return collide.reference(stored, n, lattice, parameters) + source.reference(n, lattice, parameters)

    def node(lattice, precision, jit, at):
        onwards, add = collide.node(lattice, precision, jit, at), source.node(lattice, precision, jit, at)

        def collide_and_add(f, n, parameters):
            onwards(f, n, parameters)
            add(f, n, parameters)

        return jit(collide_and_add)

    parameters = joined(collide.parameters, source.parameters)
    return Operator(f"{collide.name}-{source.name}", reference, node, parameters)


@cache
def _observed(collide: Operator, equilibrium, force, observer: Observer, has_drag: bool) -> Operator:
    """The collision after the observer has read the node's state."""
    before_collision = macroscopic(BEFORE_COLLISION, equilibrium, force)
    if has_drag:
        before_collision = moments_with_drag(before_collision, BEFORE_COLLISION, equilibrium)

    def reference(stored, n, lattice, parameters):
        deviation, *u = before_collision.reference(stored, n, lattice, parameters)
        inertia = 1.0 + deviation if equilibrium.is_compressible else 1.0
        observer.reference(n, u, inertia * np.array(u), parameters)
        return collide.reference(stored, n, lattice, parameters)

    def node(lattice, precision, jit, at):
        observe, onwards = observer.node(jit, at), collide.node(lattice, precision, jit, at)
        if has_drag:
            dragged = dragged_state_node(lattice, precision, jit, at, equilibrium, force)

            def observe_and_collide_with_drag(f, n, parameters):
                observe(n, dragged(f, n, parameters)[0], parameters)
                onwards(f, n, parameters)

            return jit(observe_and_collide_with_drag)
        state_at = state_node(lattice, precision, jit, equilibrium)
        force_at = force.node(lattice, precision, jit, at)

        def observe_and_collide(f, n, parameters):
            observe(n, state_at(f, force_at(n, parameters)), parameters)
            onwards(f, n, parameters)

        return jit(observe_and_collide)

    parameters = joined(collide.parameters, observer.parameters)
    return Operator(f"{collide.name}-{observer.name}", reference, node, parameters)


@cache
def _collision(relaxation: Relaxation, equilibrium: Equilibrium, closure: Closure, force: Operator) -> Operator:
    """Cached: one object for equal parts, since compiled code is cached by operator."""
    before_collision = macroscopic(BEFORE_COLLISION, equilibrium, force)

    def reference(stored, n, lattice, parameters):
        omega = parameters[OMEGA]
        deviation, *u = before_collision.reference(stored, n, lattice, parameters)
        f, u, body_force = stored + rest_populations(lattice), np.array(u), force.reference(n, parameters)
        f_eq = equilibrium.populations(1.0 + deviation, u, lattice)
        source = equilibrium.source(u, body_force, lattice)
        if not closure.is_constant:
            density = 1.0 + deviation if equilibrium.is_compressible else 1.0
            invariant = _stress_invariant(f - f_eq + source / 2, lattice)
            omega = closure.reference(omega, invariant / density, n, parameters)
        return relaxation.reference(f, f_eq, source, omega, parameters, lattice) - rest_populations(lattice)

    def node(lattice, precision, jit, at):
        state_at = state_node(lattice, precision, jit, equilibrium)
        force_at = force.node(lattice, precision, jit, at)
        relax = relaxation.node(lattice, precision, jit, equilibrium, at)
        omega_at = at[OMEGA]
        if closure.is_constant:

            def collide(f, n, parameters):
                body_force = force_at(n, parameters)
                relax(f, state_at(f, body_force), body_force, parameters[omega_at], parameters)

            return jit(collide)

        invariant = _no_stress(precision, jit)
        if closure.needs_stress:
            invariant = stress_invariant(lattice, precision, jit, equilibrium)
        rate = closure.node(precision, jit, at)

        def collide_with_closure(f, n, parameters):
            body_force = force_at(n, parameters)
            state = state_at(f, body_force)
            omega = rate(parameters[omega_at], invariant(f, state, body_force), n, parameters)
            relax(f, state, body_force, omega, parameters)

        return jit(collide_with_closure)

    name = f"{relaxation.name}-{equilibrium.name}-{closure.name}-{force.name}"
    return Operator(name, reference, node, joined(relaxation.parameters, closure.parameters, force.parameters))


def _no_stress(precision, jit):
    """Node function ``(f, state, force)`` -> 0, in place of |Pi| / rho where no closure reads it."""
    zero = precision.real(0)
    return jit(lambda f, state, force: zero)


def _stress_invariant(f_neq, lattice) -> np.ndarray:
    """(n,) |Pi|, Pi_ab = sum c_a c_b f_neq, full double contraction."""
    pi = second_moment(f_neq, lattice)
    return np.sqrt(added((pi * pi).reshape(9, -1)))
