"""Isothermal flow: one set of populations, a collision with body force, openings.

One step, pull:  openings | start exchange | interior | finish exchange | edge.
One step, push:  edge | start exchange | interior | finish exchange | openings.
Everything but the interior belongs to the edge and runs beside it where the device can.
"""

from muphy_lb.errors import InputError
from muphy_lb.lattice import Lattice
from muphy_lb.operators import COLLISIONS, MACROSCOPIC, OPENINGS
from muphy_lb.physics.model import EDGE, EXCHANGE_FINISH, EXCHANGE_START, INTERIOR, LINKS, STREAM_COLLIDE, Model, Stage


def isothermal(lattice: Lattice, collision: str, streaming: str, omega: float, force=(0.0, 0.0, 0.0)) -> Model:
    """Declare isothermal flow.

    Args:
        lattice: velocity set.
        collision: name of a collision operator.
        streaming: ``"pull"`` or ``"push"``.
        omega: relaxation rate 1 / tau.
        force: body force per volume (lattice units, rho_0 = 1).

    Raises:
        InputError: unknown collision or streaming.
    """
    for what, value, allowed in (("collision", collision, COLLISIONS), ("streaming", streaming, MACROSCOPIC)):
        if value not in allowed:
            raise InputError(f"{what} is {value!r}; allowed: {', '.join(allowed)}")
    collide, macroscopic = COLLISIONS[collision], MACROSCOPIC[streaming]
    interior = Stage(STREAM_COLLIDE, (collide,), INTERIOR)
    edge = Stage(STREAM_COLLIDE, (collide,), EDGE)
    openings = Stage(LINKS, (OPENINGS, macroscopic))
    start, finish = Stage(EXCHANGE_START), Stage(EXCHANGE_FINISH)
    pull = (openings, start, interior, finish, edge)
    push = (edge, start, interior, finish, openings)
    return Model(
        name="isothermal",
        lattice=lattice,
        streaming=streaming,
        collision=collide,
        macroscopic=macroscopic,
        stages=pull if streaming == "pull" else push,
        parameters=(omega, *force),
    )
