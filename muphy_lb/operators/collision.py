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
from muphy_lb.operators.observers import NOBODY, Observer
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
    if not has_drag:
        return _collision(relaxation, equilibrium, closure, force, observer)
    collide = with_drag(_collision(relaxation, equilibrium, closure, force), equilibrium, force)
    return collide if observer is None else _observed(collide, equilibrium, force, observer)


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
def _observed(collide: Operator, equilibrium, force, observer: Observer) -> Operator:
    """A collision with drag after the observer has read the node's state."""
    before_collision = macroscopic(BEFORE_COLLISION, equilibrium, force)
    before_collision = moments_with_drag(before_collision, BEFORE_COLLISION, equilibrium)

    def node(lattice, precision, jit, at):
        look, observe = observer.look(jit, at), observer.node(jit, at)
        onwards = collide.node(lattice, precision, jit, at)
        dragged = dragged_state_node(lattice, precision, jit, at, equilibrium, force)

        def observe_and_collide(f, n, parameters):
            observe(n, look(n, parameters), dragged(f, n, parameters)[0], parameters)
            onwards(f, n, parameters)

        return jit(observe_and_collide)

    reference = _after_observer(collide.reference, before_collision, equilibrium, observer)
    parameters = joined(collide.parameters, observer.parameters)
    return Operator(f"{collide.name}-{observer.name}", reference, node, parameters)


def _after_observer(collide, before_collision: Operator, equilibrium, observer: Observer):
    """The specification of a collision after an observer has read the moments."""

    def reference(stored, n, lattice, parameters):
        deviation, *u = before_collision.reference(stored, n, lattice, parameters)
        inertia = 1.0 + deviation if equilibrium.is_compressible else 1.0
        observer.reference(n, u, inertia * np.array(u), parameters)
        return collide(stored, n, lattice, parameters)

    return reference


@cache
def _collision(
    relaxation: Relaxation,
    equilibrium: Equilibrium,
    closure: Closure,
    force: Operator,
    observer: Observer | None = None,
) -> Operator:
    """Cached: one object for equal parts, since compiled code is cached by operator. Fields are read ahead of whatever
    an observer stores, so that a GPU waits for all of them at once."""
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
        omega_at, seen_by = at[OMEGA], observer or NOBODY
        look, observe = seen_by.look(jit, at), seen_by.node(jit, at)
        rate = jit(lambda omega, stress, n, parameters: omega)
        if not closure.is_constant:
            rate = closure.node(precision, jit, at)
        if closure.needs_stress:
            invariant = stress_invariant(lattice, precision, jit, equilibrium)

            def collide_with_stress(f, n, parameters):
                seen, body_force = look(n, parameters), force_at(n, parameters)
                state = state_at(f, body_force)
                omega = rate(parameters[omega_at], invariant(f, state, body_force), n, parameters)
                observe(n, seen, state, parameters)
                relax(f, state, body_force, omega, parameters)

            return jit(collide_with_stress)
        zero = precision.real(0)
        # a function of its own, which compilers free of the divisions of the velocity where none is stored
        observe_state = jit(lambda f, n, seen, force, parameters: observe(n, seen, state_at(f, force), parameters))

        def collide(f, n, parameters):
            seen, body_force = look(n, parameters), force_at(n, parameters)
            omega = rate(parameters[omega_at], zero, n, parameters)
            observe_state(f, n, seen, body_force, parameters)
            relax(f, state_at(f, body_force), body_force, omega, parameters)

        return jit(collide)

    name = f"{relaxation.name}-{equilibrium.name}-{closure.name}-{force.name}"
    parameters = joined(relaxation.parameters, closure.parameters, force.parameters)
    if observer is None:
        return Operator(name, reference, node, parameters)
    observed = _after_observer(reference, before_collision, equilibrium, observer)
    return Operator(f"{name}-{observer.name}", observed, node, joined(parameters, observer.parameters))


def _stress_invariant(f_neq, lattice) -> np.ndarray:
    """(n,) |Pi|, Pi_ab = sum c_a c_b f_neq, full double contraction."""
    pi = second_moment(f_neq, lattice)
    return np.sqrt(added((pi * pi).reshape(9, -1)))
