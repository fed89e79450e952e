"""The contract of a physics: it declares fields and stages, nothing else.

A stage names a skeleton that every backend owns and the operators injected into it; the engine binds the stages of a
step to arrays once and then only calls them.
"""

from dataclasses import dataclass

from muphy_lb.lattice import Lattice
from muphy_lb.operators import Operator

STREAM_COLLIDE = "stream_collide"
LINKS = "links"
EXCHANGE_START = "exchange_start"
EXCHANGE_FINISH = "exchange_finish"
INTERIOR = "interior"
EDGE = "edge"


@dataclass(frozen=True)
class Stage:
    """One entry of the time step.

    Attributes:
        skeleton: ``"stream_collide"``, ``"links"``, ``"exchange_start"`` or ``"exchange_finish"``.
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
        streaming: ``"pull"`` (stores populations after collision) or ``"push"`` (before).
        collision: what a node does.
        macroscopic: density and velocity from what is stored.
        stages: the time step, in order.
        parameters: scalars handed to every node function, in lattice units.
    """

    name: str
    lattice: Lattice
    streaming: str
    collision: Operator
    macroscopic: Operator
    stages: tuple[Stage, ...]
    parameters: tuple[float, ...]
