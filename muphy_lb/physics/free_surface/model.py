"""A flow with a free surface: its fields, and the stages of a step.

between streaming and collision   tension        surface tension is found by the curvature
                                  exchange       mass crosses links, what gas does not send is completed, cells decide,
                                                 and dry ones mark liquid ones beside them
                                  completion     what dry cells send to wet ones is completed
beside the bulk of the liquid     edge moments   of cells beside other ranks, for wetted cells there
                                  mark           neighbours of cells that turn are marked
                                  get bare       liquid cells find cells of other ranks that become gas
                                  surface        the cells that all other stages work on are listed
                                  give, take     what cells that turn have too much of goes to interface cells
behind the collision              refill         wetted cells get populations
                                  inherit        bared cells belong to a bubble, if gas is compressed
                                  new take       wetted and bared cells take their part of it, too
                                  turn           cells become what they turn into
"""

from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np

from muphy_lb.domain.wall_shapes import AT_FACES, WALL_NORMAL, BesideWalls
from muphy_lb.model.flow import Flow
from muphy_lb.model.model import (
    ARRIVING,
    AT_NEIGHBOURS,
    COLLECT,
    REFILL,
    STORED,
    Field,
    FieldValue,
    PartlyFilled,
    Stage,
    Where,
)
from muphy_lb.operators import COMPRESSIBLE, Operator
from muphy_lb.operators.moments import AFTER_COLLISION, with_stress
from muphy_lb.physics.free_surface.bubbles import Bubbles
from muphy_lb.physics.free_surface.capillarity import COS_ANGLE, NO_TENSION
from muphy_lb.physics.free_surface.cells import (
    BARED,
    BUBBLE,
    CELL,
    CHANGED,
    DEVIATIONS,
    EMPTIED,
    FILL,
    FLUID,
    GAS_DEVIATION,
    HELD,
    IN_BUBBLES,
    INTERFACE,
    LAST_TENSION,
    LIQUID,
    MASS,
    NOT_HELD,
    ONE_PRESSURE,
    OPENING,
    SUPPORT,
    SURFACE,
    TENSION_AHEAD,
    TURNING,
    WALL,
    WETTED,
    counted,
)
from muphy_lb.physics.free_surface.contact_angle import CONTACT_ANGLE
from muphy_lb.physics.free_surface.filling import share_of_liquid
from muphy_lb.physics.free_surface.operators.completion import completion, hold
from muphy_lb.physics.free_surface.operators.conversion import (
    GET_BARE,
    GET_BARE_COLUMNS,
    GET_WET,
    GET_WET_COLUMNS,
    GIVE,
    INHERIT,
    MARK,
    MARK_COLUMNS,
    TAKE,
    TURN,
    start_with_stress,
)
from muphy_lb.physics.free_surface.operators.exchange import exchange
from muphy_lb.physics.free_surface.operators.tension import tension_ahead

EDGE_MOMENTS, SURFACE_CELLS = "edge_moments", "surface"
CELLS, FILLS, BUBBLES, MOMENTS_BESIDE = (f"{name}{AT_NEIGHBOURS}" for name in (CELL, FILL, BUBBLE, EDGE_MOMENTS))
SUPPORTS, TENSIONS = (f"{name}{AT_NEIGHBOURS}" for name in (SUPPORT, TENSION_AHEAD))
FIELDS = (
    Field(CELL, dtype=np.uint8, outside=WALL, at_openings=OPENING, is_state=True, guarded=True),
    Field(MASS, is_state=True),
    Field(FILL, outside=0.0, is_state=True, guarded=True),
    Field(SUPPORT, dtype=np.uint8, outside=0, is_state=True),
    Field(HELD, unset=NOT_HELD),
    Field(EDGE_MOMENTS, of_moments=True),
)
COSTS = MappingProxyType({INTERFACE: 4.0})  # of an interface cell, by the bytes that its stages move
NUMBERS = Field(BUBBLE, dtype=np.int32, outside=0, is_state=True, guarded=True)
OWN = {name: FieldValue(name) for name in (CELL, MASS, FILL, SUPPORT, HELD)}


def free_surface(
    flow: Flow,
    gas_deviation: float,
    capillarity: Operator,
    parameters,
    bubbles: Bubbles | None = None,
    walls: BesideWalls | None = None,
) -> Flow:
    """The flow with a free surface.

    Args:
        flow: compressible, streamed by a scheme that stores behind the collision.
        gas_deviation: density of the gas pressure minus 1, lattice units.
        capillarity: pressure of surface tension; see :func:`tension_ahead`.
        parameters: values of its parameters.
        bubbles: of gas that is compressed.
        walls: their normals, with a contact angle.
    """
    if bubbles is not None:
        parameters = {**parameters, BUBBLE: FieldValue(BUBBLE), DEVIATIONS: bubbles.table}
        flow = flow.with_fields(NUMBERS).with_actions(bubbles)
    last, ahead = ((), ()) if capillarity is NO_TENSION else ((LAST_TENSION,), (TENSION_AHEAD,))
    kept = (*last, *ahead)
    if kept:
        parameters = {**parameters, **{name: FieldValue(name) for name in kept}}
        flow = flow.with_fields(Field(LAST_TENSION, is_state=True), Field(TENSION_AHEAD, outside=0.0))
    if walls is not None:
        parameters = {**parameters, **{name: FieldValue(name) for name in WALL_NORMAL}}
        flow = flow.with_fields(
            *(Field(name, fixed=partial(walls.at, k)) for k, name in zip(AT_FACES, WALL_NORMAL, strict=True))
        )
    force = flow.force
    force_parameters = {parameter.name: flow.parameters[parameter.name] for parameter in force.parameters}
    given = {**OWN, **force_parameters, **parameters, GAS_DEVIATION: gas_deviation}
    gas = ONE_PRESSURE if bubbles is None else IN_BUBBLES
    curving = (
        (Stage("tension", (tension_ahead(capillarity),), given, (CELLS, FILLS), kept, _surface(INTERFACE)),)
        if kept
        else ()
    )
    crossing = Stage(
        "exchange",
        (exchange(force, capillarity, gas),),
        given,
        reads=(
            ARRIVING,
            STORED,
            CELLS,
            FILLS,
            *(kept if capillarity is CONTACT_ANGLE else (TENSIONS,) if kept else ()),
            *((BUBBLE,) if bubbles is not None else ()),
        ),
        writes=(ARRIVING, CELL, MASS, SUPPORT, HELD, *(kept if capillarity is CONTACT_ANGLE else last)),
        where=_surface(INTERFACE),
    )
    at_surface = (SUPPORTS, *((TENSIONS,) if kept else ()), *((BUBBLES,) if bubbles is not None else ()))
    completing = Stage(
        "completion",
        (completion(force, capillarity, gas),),
        given,
        reads=(ARRIVING, STORED, CELLS, FILLS, *at_surface),
        writes=(ARRIVING, CELL, FILL, HELD),
        where=_surface(INTERFACE | EMPTIED),
    )
    columns = {**OWN, COS_ANGLE: parameters[COS_ANGLE]} if capillarity is CONTACT_ANGLE else None
    after = _conversion(force, force_parameters, bubbles is not None, columns)
    extended = flow.with_fields(*FIELDS).with_stages(between=(*curving, crossing, completing), after=after)
    extended = extended.with_collision(hold, {name: given[name] for name in (CELL, HELD)})
    filled = _filled(gas_deviation, bubbles)
    bulk = Where(CELL, LIQUID, without=EMPTIED)
    liquid = replace(extended, name="free surface", occupied=CELL, bulk=bulk, costs=COSTS)
    return replace(liquid, counted=counted, filled=filled)


def _filled(gas_deviation: float, bubbles: Bubbles | None) -> PartlyFilled:
    """Filled share of a cell, and the pressure of its gas."""

    def of_one_pressure(cell, share):
        return share_of_liquid(cell, share), np.full(cell.shape, gas_deviation)

    def in_bubbles(cell, share, number):
        return share_of_liquid(cell, share), gas_deviation + bubbles.table.array[number.astype(int)]

    if bubbles is None:
        return PartlyFilled((CELL, FILL), of_one_pressure)
    return PartlyFilled((CELL, FILL, BUBBLE), in_bubbles)


def _surface(mask: int) -> Where:
    """Some of the cells that have been interface, or become so."""
    return Where(CELL, mask, among=SURFACE_CELLS)


def _conversion(force: Operator, force_parameters, has_bubbles: bool, columns) -> tuple[Stage, ...]:
    """The stages after the collision. ``columns``: parameters of columns at walls, with a contact angle."""
    moments = with_stress(AFTER_COLLISION, COMPRESSIBLE, force)
    given, reads, bared = {**OWN, BUBBLE: FieldValue(BUBBLE)}, (CELLS, BUBBLES), _surface(BARED)
    inherit = Stage("inherit", (INHERIT,), given, reads, (BUBBLE,), bared)
    take = Stage("take", (TAKE,), OWN, (STORED, CELLS, FILLS), (FILL, MASS), _surface(INTERFACE))
    marks, get_bare = (
        ((MARK, GET_WET), GET_BARE) if columns is None else ((MARK_COLUMNS, GET_WET_COLUMNS), GET_BARE_COLUMNS)
    )
    of_marks, of_bare = (OWN, (CELLS,)) if columns is None else (columns, (CELLS, FILLS))
    beside = (
        Stage("edge moments", (moments,), force_parameters, (STORED,), (EDGE_MOMENTS,)),
        Stage("mark", marks, of_marks, (CELLS, FILLS), (CELL,), _surface(TURNING)),
        Stage("get bare", (get_bare,), of_marks, of_bare, (CELL,), only_edge=True),
        Stage(SURFACE_CELLS, reads=(CELLS,), where=Where(CELL, SURFACE | CHANGED), kernel=COLLECT),
        Stage("give", (GIVE,), OWN, (STORED, CELLS, FILLS), (FILL, MASS), _surface(TURNING)),
        take,
    )
    return (
        *(replace(stage, beside_bulk=True) for stage in beside),
        Stage(
            "refill",
            (start_with_stress(force), moments),
            force_parameters,
            reads=(CELLS, MOMENTS_BESIDE),
            where=_surface(WETTED),
            kernel=REFILL,
            sources=Where(CELL, FLUID),
        ),
        *((inherit,) if has_bubbles else ()),
        replace(take, name="new take", where=_surface(SURFACE & ~INTERFACE)),
        Stage("turn", (TURN,), OWN, writes=(CELL, SUPPORT, FILL), where=_surface(CHANGED)),
    )
