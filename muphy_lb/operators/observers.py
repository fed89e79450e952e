"""Observers: values that a collision stores in fields, for other stages and for measurements."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from muphy_lb.lattice.layout import RECORD
from muphy_lb.operators.operator import Parameter, joined, named, vector_writer

VELOCITY_FIELDS = ("velocity_x", "velocity_y", "velocity_z")
VELOCITY_VECTOR = "velocity_vector"


@dataclass(frozen=True)
class Observer:
    """Reads the state of a node before its collision and stores values in fields."""

    name: str  #: in the name of the collision
    #: ``reference(n, u, parameters)`` with (3, n) velocities; writes to fields among the parameters
    reference: Callable
    #: factory ``node(jit, at)`` of ``observe(n, state, parameters)``; ``state`` as returned by
    #: :func:`~muphy_lb.operators.moments.state_node`
    node: Callable
    parameters: tuple[Parameter, ...]  #: the fields that it writes, and other values that it reads


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


def _store_vector(n, u, parameters):
    parameters[VELOCITY_VECTOR].reshape(-1, RECORD)[n, : len(u)] = np.transpose(u)


def _store_vector_node(jit, at):
    write, vector = vector_writer(jit), at[VELOCITY_VECTOR]
    return jit(lambda n, state, parameters: write(parameters[vector], n, state[1], state[2], state[3]))


@cache
def combined(first: Observer, second: Observer) -> Observer:
    """Both observers."""

    def reference(n, u, parameters):
        first.reference(n, u, parameters)
        second.reference(n, u, parameters)

    def node(jit, at):
        one, other = first.node(jit, at), second.node(jit, at)

        def observe(n, state, parameters):
            one(n, state, parameters)
            other(n, state, parameters)

        return jit(observe)

    parameters = joined(first.parameters, second.parameters)
    return Observer(f"{first.name}, {second.name}", reference, node, parameters)


#: Stores the velocity as a vector field, of which scattered reads are cheap.
STORE_VECTOR = Observer("velocity vector", _store_vector, _store_vector_node, named(VELOCITY_VECTOR))
STORE_VELOCITY = Observer("velocity", _store, _store_node, named(*VELOCITY_FIELDS))
