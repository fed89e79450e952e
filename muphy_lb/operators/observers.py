"""Observers: values that a collision stores in fields, for other stages and for measurements."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from muphy_lb.lattice.layout import RECORD
from muphy_lb.operators.operator import Parameter, joined, named, vector_writer

VELOCITY_FIELDS = ("velocity_x", "velocity_y", "velocity_z")
MOMENTUM_FIELDS = ("momentum_x", "momentum_y", "momentum_z")
CARRYING_FIELDS = ("carrying_x", "carrying_y", "carrying_z")
VELOCITY_VECTOR = "velocity_vector"
WALLED = "links_into_walls"  # name of the field with a bit for each link along x, y, z ahead, then behind, into a wall
PAST_GAPS = "carrying_past_gaps"  # that of the factor of a node's momentum for the gaps between voxels and cut walls
N_AXES = 3


VELOCITY, MOMENTUM = 1, 4  # their first entries in the state of a node


@dataclass(frozen=True)
class Observer:
    """Reads the state of a node before its collision and stores values in fields."""

    name: str  #: in the name of the collision
    #: ``reference(n, u, j, parameters)`` with (3, n) velocities and momenta; writes to fields among the parameters
    reference: Callable
    #: factory ``node(jit, at)`` of ``observe(n, seen, state, parameters)``; ``state`` as returned by
    #: :func:`~muphy_lb.operators.moments.state_node`
    node: Callable
    parameters: tuple[Parameter, ...]  #: the fields that it writes, and other values that it reads
    #: factory ``look(jit, at)`` of ``seen = look(n, parameters)``: what it reads, so that a GPU waits for it beside the
    #: populations
    look: Callable = lambda jit, at: jit(lambda n, parameters: None)


def _store_velocity(n, u, j, parameters):
    for field, component in zip(VELOCITY_FIELDS, u, strict=True):
        parameters[field][n] = component


def _store_velocity_node(jit, at):
    x, y, z = (at[field] for field in VELOCITY_FIELDS)

    def store(n, seen, state, parameters):
        parameters[x][n] = state[VELOCITY]
        parameters[y][n] = state[VELOCITY + 1]
        parameters[z][n] = state[VELOCITY + 2]

    return jit(store)


def _store_vector(n, u, j, parameters):
    parameters[VELOCITY_VECTOR].reshape(-1, RECORD)[n, : len(u)] = np.transpose(u)


def _store_vector_node(jit, at):
    write, vector = vector_writer(jit), at[VELOCITY_VECTOR]
    return jit(lambda n, seen, state, parameters: write(parameters[vector], n, state[1], state[2], state[3]))


@cache
def combined(first: Observer, second: Observer) -> Observer:
    """Combination of both observers."""

    def reference(n, u, j, parameters):
        first.reference(n, u, j, parameters)
        second.reference(n, u, j, parameters)

    def node(jit, at):
        one, other = first.node(jit, at), second.node(jit, at)

        def observe(n, seen, state, parameters):
            one(n, seen[0], state, parameters)
            other(n, seen[1], state, parameters)

        return jit(observe)

    def look(jit, at):
        one, other = first.look(jit, at), second.look(jit, at)
        return jit(lambda n, parameters: (one(n, parameters), other(n, parameters)))

    parameters = joined(first.parameters, second.parameters)
    return Observer(f"{first.name}, {second.name}", reference, node, parameters, look)


def _store_carrying(n, u, j, parameters):
    links, past_gaps = parameters[WALLED][n], parameters[PAST_GAPS][n] if PAST_GAPS in parameters else 1
    bits = links ^ links >> N_AXES
    for axis, (field, component) in enumerate(zip(CARRYING_FIELDS, j, strict=True)):
        parameters[field][n] = component * (1 + (bits >> axis & 1)) * past_gaps


def _store_carrying_node(jit, at):
    x, y, z = (at[field] for field in CARRYING_FIELDS)
    with_gaps = jit(lambda component, past_gaps: component * past_gaps)
    carrying = with_gaps if PAST_GAPS in at else jit(lambda component, past_gaps: component)

    def store(n, seen, state, parameters):
        links, past_gaps = seen
        bits = links ^ links >> N_AXES
        jx, jy, jz = state[MOMENTUM], state[MOMENTUM + 1], state[MOMENTUM + 2]
        parameters[x][n] = carrying(jx + jx if bits & 1 else jx, past_gaps)
        parameters[y][n] = carrying(jy + jy if bits & 2 else jy, past_gaps)
        parameters[z][n] = carrying(jz + jz if bits & 4 else jz, past_gaps)

    return jit(store)


def _links_node(jit, at):
    walled = at[WALLED]
    if PAST_GAPS not in at:
        return jit(lambda n, parameters: (parameters[walled][n], 0))
    past_gaps = at[PAST_GAPS]
    return jit(lambda n, parameters: (parameters[walled][n], parameters[past_gaps][n]))


#: Stores the velocity as a vector field, of which scattered reads are cheap.
STORE_VECTOR = Observer("velocity vector", _store_vector, _store_vector_node, named(VELOCITY_VECTOR))
STORE_VELOCITY = Observer("velocity", _store_velocity, _store_velocity_node, named(*VELOCITY_FIELDS))
#: Stores nothing.
NOBODY = Observer("nobody", lambda *_: None, lambda jit, at: jit(lambda n, seen, state, parameters: None), ())
#: Stores the momentum, rho_0 = 1, which is free of divergence in a steady flow, for what the flow carries on a lattice
#: without diagonals: twice that along an axis of which one of the two links leads into a wall
#: (:mod:`muphy_lb.operators.scalar_transport`).
STORE_CARRYING = Observer(
    "carrying momentum", _store_carrying, _store_carrying_node, named(WALLED, *CARRYING_FIELDS), _links_node
)
#: The same beside walls that cut links, with what flows through the gaps between them and the voxels.
STORE_CARRYING_PAST_GAPS = Observer(
    "carrying momentum past gaps",
    _store_carrying,
    _store_carrying_node,
    named(WALLED, PAST_GAPS, *CARRYING_FIELDS),
    _links_node,
)
