"""Observers: what a collision leaves in fields for the stages behind it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Observer:
    """Looks at a node before it collides.

    Attributes:
        name: in the name of the collision.
        reference: ``reference(n, u, fields)`` with (3, n) velocities.
        node: factory ``node(jit, first)`` of ``observe(n, state, parameters)``, whose fields begin at
            ``parameters[first]``; ``state`` as :func:`~muphy_lb.operators.moments.state_node` yields it.
        n_fields: how many fields it writes.
    """

    name: str
    reference: Callable
    node: Callable
    n_fields: int


def _keep(n, u, fields):
    for field, component in zip(fields, u, strict=True):
        field[n] = component


def _keep_node(jit, first):
    second, third = first + 1, first + 2

    def keep(n, state, parameters):
        parameters[first][n] = state[1]
        parameters[second][n] = state[2]
        parameters[third][n] = state[3]

    return jit(keep)


KEEP_VELOCITY = Observer("kept", _keep, _keep_node, 3)
