"""A collision is put together from four choices: relaxation, equilibrium, closure (who sets the viscosity), and force.

f~ = f + relaxation of (f^eq - f) + source, with u = (sum c_q f_q + F/2) / rho (Guo, Zheng, Shi 2002). Parameters of the
node function, one flat tuple: those of the relaxation, those of the closure, the fields of an observer, the force. The
first of all is omega, the rate that sets the viscosity, which the closure may replace node by node. For the node
function populations and force are in stored units; rates and the closure's parameters never are.
"""

from functools import cache

import numpy as np

from muphy_lb.operators.closures import CONSTANT, Closure, stress_invariant
from muphy_lb.operators.equilibrium import COMPRESSIBLE, Equilibrium
from muphy_lb.operators.forces import UNIFORM
from muphy_lb.operators.moments import macroscopic, state_node
from muphy_lb.operators.observers import Observer
from muphy_lb.operators.operator import Operator, shift
from muphy_lb.operators.relaxation import Relaxation


def collision(
    relaxation: Relaxation,
    equilibrium: Equilibrium = COMPRESSIBLE,
    closure: Closure = CONSTANT,
    force: Operator = UNIFORM,
    observer: Observer | None = None,
) -> Operator:
    """The operator ``collide(f, n, parameters)``, in place, of these four choices and of who looks on."""
    if observer is None:
        return _collision(relaxation, equilibrium, closure, force)
    return _observed(relaxation, equilibrium, closure, force, observer)


@cache
def _observed(relaxation, equilibrium, closure, force, observer: Observer) -> Operator:
    """The collision behind a look at the node."""
    collide = _collision(relaxation, equilibrium, closure, force)
    before_collision = macroscopic("push", equilibrium, force)
    first = relaxation.n_rates + closure.n_parameters

    def reference(stored, n, lattice, parameters):
        _, *u = before_collision.reference(stored, n, lattice, parameters)
        observer.reference(n, u, parameters[first : first + observer.n_fields])
        return collide.reference(stored, n, lattice, parameters)

    def node(lattice, precision, jit):
        state_at, force_at = state_node(lattice, precision, jit, equilibrium), force.node(lattice, precision, jit)
        observe, onwards = observer.node(jit, first), collide.node(lattice, precision, jit)

        def observe_and_collide(f, n, parameters):
            observe(n, state_at(f, force_at(n, parameters)), parameters)
            onwards(f, n, parameters)

        return jit(observe_and_collide)

    return Operator(f"{collide.name}-{observer.name}", reference, node)


@cache
def _collision(relaxation: Relaxation, equilibrium: Equilibrium, closure: Closure, force: Operator) -> Operator:
    """One object for equal choices, since compiled code is kept by operator."""
    before_collision = macroscopic("push", equilibrium, force)

    def reference(stored, n, lattice, parameters):
        omega, closing = parameters[0], parameters[relaxation.n_rates :][: closure.n_parameters]
        deviation, *u = before_collision.reference(stored, n, lattice, parameters)
        f, u, body_force = stored + shift(lattice), np.array(u), force.reference(n, parameters)
        f_eq = equilibrium.populations(1.0 + deviation, u, lattice)
        source = equilibrium.source(u, body_force, lattice)
        if closure.needs_stress:
            density = 1.0 + deviation if equilibrium.is_compressible else 1.0
            invariant = _stress_invariant(f - f_eq + source / 2, lattice)
            omega = closure.reference(omega, invariant / density, closing)
        return relaxation.reference(f, f_eq, source, omega, parameters, lattice) - shift(lattice)

    def node(lattice, precision, jit):
        state_at = state_node(lattice, precision, jit, equilibrium)
        force_at = force.node(lattice, precision, jit)
        relax = relaxation.node(lattice, precision, jit, equilibrium)
        if not closure.needs_stress:

            def collide(f, n, parameters):
                body_force = force_at(n, parameters)
                relax(f, state_at(f, body_force), body_force, parameters[0], parameters)

            return jit(collide)

        invariant = stress_invariant(lattice, precision, jit, equilibrium)
        rate = closure.node(precision, jit, relaxation.n_rates)

        def collide_with_closure(f, n, parameters):
            body_force = force_at(n, parameters)
            state = state_at(f, body_force)
            omega = rate(parameters[0], invariant(f, state, body_force), parameters)
            relax(f, state, body_force, omega, parameters)

        return jit(collide_with_closure)

    return Operator(f"{relaxation.name}-{equilibrium.name}-{closure.name}-{force.name}", reference, node)


def _stress_invariant(f_neq, lattice) -> np.ndarray:
    """(n,) |Pi|, Pi_ab = sum c_a c_b f_neq, full double contraction."""
    pi = np.einsum("qa,qb,qn->abn", lattice.c, lattice.c, f_neq)
    return np.sqrt((pi * pi).sum(axis=(0, 1)))
