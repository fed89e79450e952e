"""The contract of a physics: it declares fields and stages, nothing else.

A stage names a skeleton that every backend owns and the operators injected into it; the engine binds the stages of a
step to arrays once and then only calls them.
"""

from dataclasses import dataclass

from muphy_lb.lattice import Lattice
from muphy_lb.operators import Equilibrium, Operator

STREAM_COLLIDE = "stream_collide"
LINKS = "links"
WALL_LINKS = "wall_links"
EXCHANGE_START = "exchange_start"
EXCHANGE_FINISH = "exchange_finish"
# A parameter whose value the engine's schedule sets for every step.
SCHEDULED = "scheduled"
INTERIOR = "interior"
EDGE = "edge"


@dataclass(frozen=True)
class Stage:
    """One entry of the time step.

    Attributes:
        skeleton: ``"stream_collide"``, ``"links"``, ``"wall_links"``, ``"exchange_start"`` or ``"exchange_finish"``.
        operators: node functions injected into the skeleton, in its order.
        part: node range of a stream_collide stage, ``"interior"`` or ``"edge"``.
    """

    skeleton: str
    operators: tuple[Operator, ...] = ()
    part: str = INTERIOR


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
        parameters: numbers and (n,) arrays of the local nodes handed to every node function, in lattice units; the last
            three are the body force.
    """

    name: str
    lattice: Lattice
    streaming: str
    equilibrium: Equilibrium
    collision: Operator
    macroscopic: Operator
    stages: tuple[Stage, ...]
    parameters: tuple
