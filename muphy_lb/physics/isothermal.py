"""Isothermal flow: one set of populations, a collision with body force, openings, walls.

One step, pull:  openings | start exchange | interior | finish exchange | walls | edge.
One step, aa:  start exchange | openings | interior | finish exchange | walls | edge.
One step, push:  edge | start exchange | interior | finish exchange | openings | walls.
Everything but the interior belongs to the edge and runs beside it where the device can; with pull the openings also
run beside the messages.
"""

from dataclasses import dataclass

from muphy_lb.errors import InputError
from muphy_lb.lattice import Lattice
from muphy_lb.operators import (
    BGK,
    COMPRESSIBLE,
    CONSTANT,
    UNIFORM,
    WALLS,
    Closure,
    Equilibrium,
    Observer,
    Operator,
    Relaxation,
    collision,
    macroscopic,
    openings,
)
from muphy_lb.operators.moments import HALF_FORCE
from muphy_lb.physics.model import (
    EDGE,
    EXCHANGE_FINISH,
    EXCHANGE_START,
    INTERIOR,
    LINKS,
    STREAM_COLLIDE,
    WALL_LINKS,
    Model,
    Stage,
)


@dataclass(frozen=True)
class Fluid:
    """How a node collides.

    Attributes:
        relaxation, equilibrium, closure: the operators.
        rates: parameters of the relaxation and then of the closure; the first is omega = 1 / tau.
    """

    rates: tuple[float, ...]
    relaxation: Relaxation = BGK
    equilibrium: Equilibrium = COMPRESSIBLE
    closure: Closure = CONSTANT


def isothermal(
    lattice: Lattice,
    fluid: Fluid,
    streaming: str,
    force=(0.0, 0.0, 0.0),
    force_operator: Operator = UNIFORM,
    observer: Observer | None = None,
) -> Model:
    """Declare isothermal flow.

    Args:
        lattice: velocity set.
        fluid: the collision.
        streaming: ``"pull"``, ``"push"`` or ``"aa"``.
        force: body force per volume (lattice units, rho_0 = 1), in the form that the operator reads.
        force_operator: ``UNIFORM``, ``FIELD`` (three arrays with a value per local node) or ``VARYING``.
        observer: looks at every node before it collides.

    Raises:
        InputError: unknown streaming.
    """
    if streaming not in HALF_FORCE:
        raise InputError(f"streaming is {streaming!r}; allowed: {', '.join(HALF_FORCE)}")
    collide = collision(fluid.relaxation, fluid.equilibrium, fluid.closure, force_operator, observer)
    measure = macroscopic(streaming, fluid.equilibrium, force_operator)
    interior = Stage(STREAM_COLLIDE, (collide,), INTERIOR)
    edge = Stage(STREAM_COLLIDE, (collide,), EDGE)
    at_openings = Stage(LINKS, (openings(fluid.equilibrium), measure))
    at_walls = Stage(WALL_LINKS, (WALLS,))
    start, finish = Stage(EXCHANGE_START), Stage(EXCHANGE_FINISH)
    begin = (at_openings, start) if streaming == "pull" else (start, at_openings)
    first = (*begin, interior, finish, at_walls, edge)
    last = (edge, start, interior, finish, at_openings, at_walls)
    return Model(
        name="isothermal",
        lattice=lattice,
        streaming=streaming,
        equilibrium=fluid.equilibrium,
        collision=collide,
        macroscopic=measure,
        stages=last if streaming == "push" else first,
        parameters=(*fluid.rates, *force),
    )
