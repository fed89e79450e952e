"""The contract of a physics: it declares fields and stages, nothing else.

A stage names a skeleton that every backend owns and the operators injected into it; the engine binds the stages of a
step to arrays once and then only calls them.
"""

from dataclasses import dataclass
from typing import NamedTuple

from muphy_lb.domain import BorderValues
from muphy_lb.lattice import Lattice
from muphy_lb.operators import Equilibrium, Operator

STREAM_COLLIDE = "stream_collide"
LINKS = "links"
WALL_LINKS = "wall_links"
EXCHANGE_START = "exchange_start"
EXCHANGE_FINISH = "exchange_finish"
STENCIL = "stencil"
# A parameter whose value the engine's schedule sets for every step.
SCHEDULED = "scheduled"
INTERIOR = "interior"
EDGE = "edge"


class FieldValue(NamedTuple):
    """A parameter that is a field: its values (n,) before the step, or after it. Only fields that are part of the state
    have both."""

    field: str
    is_new: bool = False


class Carried(NamedTuple):
    """A scalar carried by populations: their lattice and its diffusivity, lattice units."""

    lattice: Lattice
    diffusivity: float


@dataclass(frozen=True)
class Field:
    """A number that every node has besides its populations.

    Attributes:
        name: for outputs and checkpoints.
        borders: of a field that a stencil advances: what it does where a neighbour is no fluid. Such a field crosses to
            other ranks. None: a field that node functions write and read for their own node.
        carried: of populations of a scalar: what carries them. Then the field has a number for each vector of that
            lattice, the stencil's values are what arrives, and the node function overwrites them by what leaves.
        is_state: whether a field without borders is part of the state all the same: the next step reads it, and it has
            two arrays, which steps use in turn.
    """

    name: str
    borders: BorderValues | None = None
    carried: Carried | None = None
    is_state: bool = False


def row_names(field: str, n_rows: int) -> list[str]:
    """Of the numbers that a node has of a field: its own name, or one for each."""
    return [field] if n_rows == 1 else [f"{field}_{q}" for q in range(n_rows)]


@dataclass(frozen=True)
class Stage:
    """One entry of the time step.

    Attributes:
        skeleton: ``"stream_collide"``, ``"links"``, ``"wall_links"``, ``"exchange_start"``, ``"exchange_finish"`` or
            ``"stencil"``.
        operators: node functions injected into the skeleton, in its order.
        part: node range of a stream_collide or stencil stage, ``"interior"`` or ``"edge"``.
        field: name of the field that a stencil advances, from its neighbours along the lattice's vectors.
        parameters: of a stencil's node function.
    """

    skeleton: str
    operators: tuple[Operator, ...] = ()
    part: str = INTERIOR
    field: str = ""
    parameters: tuple = ()


@dataclass(frozen=True)
class Model:
    """A physics on a lattice.

    Attributes:
        name: for messages and outputs.
        lattice: velocity set of the populations.
        streaming: ``"pull"``, ``"aa"`` (store populations after collision) or ``"push"`` (before).
        equilibrium: the state without stresses.
        collision: what a node does.
        macroscopic: density and velocity from what is stored.
        stages: the time step, in order.
        parameters: numbers, (n,) arrays of the local nodes and fields (:class:`FieldValue`) handed to every node
            function, in lattice units; the last three are the body force.
        fields: what nodes have besides populations.
    """

    name: str
    lattice: Lattice
    streaming: str
    equilibrium: Equilibrium
    collision: Operator
    macroscopic: Operator
    stages: tuple[Stage, ...]
    parameters: tuple
    fields: tuple[Field, ...] = ()
