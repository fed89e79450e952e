"""Observers: values that a collision stores in fields, for other stages and for measurements."""

from collections.abc import Callable
from dataclasses import dataclass

from muphy_lb.operators.operator import Parameter, named

VELOCITY_FIELDS = ("velocity_x", "velocity_y", "velocity_z")


@dataclass(frozen=True)
class Observer:
    """Reads the state of a node before its collision and stores values in fields.

    Attributes:
        name: in the name of the collision.
        reference: ``reference(n, u, parameters)`` with (3, n) velocities; writes to fields among the parameters.
        node: factory ``node(jit, at)`` of ``observe(n, state, parameters)``; ``state`` as
            returned by :func:`~muphy_lb.operators.moments.state_node`.
        parameters: the fields that it writes, and other values that it reads.
    """

    name: str
    reference: Callable
    node: Callable
    parameters: tuple[Parameter, ...]


def _store(n, u, parameters):
    for name, component in zip(VELOCITY_FIELDS, u, strict=True):
        parameters[name][n] = component


def _store_node(jit, at):
    x, y, z = (at[name] for name in VELOCITY_FIELDS)

    def store(n, state, parameters):
        parameters[x][n] = state[1]
        parameters[y][n] = state[2]
        parameters[z][n] = state[3]

    return jit(store)


STORE_VELOCITY = Observer("velocity", _store, _store_node, named(*VELOCITY_FIELDS))
