"""Beads in a flow: their set, their stages, the force that they exert on the fluid.

When the populations of a step have arrived, friction acts on beads and on the nodes around them, the beads move, those
that have left their rank are transferred, and the fluid collides. Ranks exchange the velocity of what has arrived at
their border, and the forces on nodes there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from muphy_lb.model.flow import Flow
from muphy_lb.model.model import (
    AT_NEIGHBOURS,
    BESIDE_WALL,
    BORDER,
    BY_ID,
    DRAG,
    LOOKUP,
    MIGRATE,
    SHARE,
    STEP,
    VELOCITIES,
    Field,
    FieldValue,
    ParticleSet,
    Stage,
    Table,
    Value,
    Where,
)
from muphy_lb.model.settle import SETTLE
from muphy_lb.operators import Operator, in_turn, macroscopic
from muphy_lb.physics.particles.beads.coupling import CLEAR, LANGEVIN, PUSHED, TAKE, friction
from muphy_lb.physics.particles.beads.forces import Interactions, forces
from muphy_lb.physics.particles.beads.motion import (
    ARRIVING,
    AT_BORDER,
    CELL,
    DEPART,
    FLOW,
    FORCE,
    FORGET,
    HEAD,
    INSERT,
    MARKED,
    NEXT,
    OFFSET,
    PLACE,
    PUSH,
    TRAVELLED,
    VELOCITY,
    VOXEL,
    WANTED,
    drift,
)
from muphy_lb.physics.particles.openings import BORN, END, END_STEP, UNDER_WAY

BOTH, ONE_WAY, AT_REST = "both", "one-way", "at-rest"
#: Bead and fluid drag each other along; the fluid does not notice; the fluid is taken to rest.
COUPLINGS = (BOTH, ONE_WAY, AT_REST)
PUSHABLE, AT_OTHERS, PUSHED_HERE = Where(WANTED, AT_BORDER | MARKED), Where(WANTED, AT_BORDER), Where(WANTED, MARKED)
COST = 18.0  # of a step of a bead, in steps of a node: measured on a core, D3Q19, fp32
FLOW_FIELDS = (
    Field(WANTED, dtype=np.int8, initial=BORDER),
    Field(ARRIVING, is_vector=True, corners=True),
    Field(PUSH, is_vector=True, corners=True, accumulates=True, marked=PUSHED_HERE),
)
COLUMNS = (*VOXEL, *OFFSET, *VELOCITY, *FORCE, *TRAVELLED)
PASSING = (BORN, END_STEP, *FLOW)  # further columns of beads that pass openings, beside ``END``

MOST_IN_A_PASS = 8  # substeps that one kernel does: each is compiled into it


@dataclass(frozen=True)
class Beads:
    """Beads of one kind, in lattice units."""

    name: str  #: of the set
    count: int  #: their number; ids are 0 ... count - 1.
    #: mass, friction, kt: of all beads, or (count,) of each by id; and kT of the noise
    mass: float | np.ndarray
    friction: float | np.ndarray
    kt: float = 0.0
    seed: int = 1  #: chooses the noise
    kernel: str = "linear"  #: ``"linear"`` (the corners of the cell around) or ``"point"`` (the nearest node)
    coupling: str = BOTH  #: one of ``COUPLINGS``
    substeps: int = 1  #: of a time step, in which conservative forces act
    interactions: Interactions = Interactions()  #: which of them there are
    #: values of their parameters, but those of cells and columns
    constants: Mapping[str, Value] = field(default_factory=dict)
    range: float = 1.0  #: distance up to which beads repel each other, voxels
    capacity: int = 0  #: beads that a rank has room for; 0 for all of them
    leaving: int = 0  #: beads that may leave a rank for another in a step; 0 for all
    #: whether there are so many that to take the velocity of all nodes costs less than of those around each
    many: bool = False

    @property
    def set(self) -> ParticleSet:
        """Their set of particles."""
        knows_others, passes = self.interactions.needs_others, self.interactions.passes
        return ParticleSet(
            self.name,
            self.capacity or self.count,
            integers=(END,) if passes else (),
            reals=(*VELOCITY, *FORCE, *TRAVELLED, *(PASSING if passes else ())),
            leaving=self.leaving,
            n_ids=self.count if knows_others else 0,
            by_id=(*PLACE, HEAD, NEXT) if knows_others else (),
            cost=COST,
            active=((END,), lambda end: end == UNDER_WAY) if passes else None,
        )


def with_beads(flow: Flow, beads: Beads) -> Flow:
    """The flow with beads in it."""
    values = _values(beads)
    flow = flow.with_particles(beads.set)
    if beads.coupling == AT_REST:
        return flow.with_stages(after=tuple(_moving(beads, values, LANGEVIN)))
    return _coupled(flow, beads, values)


def _values(beads: Beads) -> dict[str, Value]:
    names = ["id", *COLUMNS, *((*PLACE, HEAD, NEXT) if beads.interactions.needs_others else ())]
    names += [END, *PASSING] if beads.interactions.passes else []
    columns = {name: FieldValue(f"{beads.name}.{name}") for name in names}
    of_each = {"mass": beads.mass, "friction": beads.friction}
    exact = {name: table(np.broadcast_to(value, beads.count)) for name, value in of_each.items()} | {"kt": beads.kt}
    return {
        **columns,
        **exact,
        "seed": np.int64(beads.seed),
        "step": STEP,
        "lookup": LOOKUP,
        "beside_wall": BESIDE_WALL,
        "duration": 1.0 / beads.substeps,
        CELL: np.int64(max(1, ceil(beads.range))),  # not less than the range of the beads that are searched in it
        **{name: FieldValue(name) for name in (WANTED, PUSH)},
        "reaction": float(beads.coupling == BOTH),
        "pair_range2": beads.range**2,
        **beads.constants,
    }


def _stage(name: str, beads: Beads, operator: Operator, values, kernel="", **more) -> Stage:
    given = {parameter.name: values[parameter.name] for parameter in operator.parameters}
    return Stage(f"{beads.name} {name}", (operator,), given, over=beads.name, kernel=kernel, **more)


def _moving(beads: Beads, values, *ahead: Operator) -> Iterator[Stage]:
    """The stages ahead, the substeps, and the migration behind them; stages that need no other beads run in one pass,
    at most MOST_IN_A_PASS substeps at a time."""
    kinds, operators = beads.interactions, list(ahead)
    last = (DEPART, SETTLE) if kinds.passes else (SETTLE,)
    for k in range(beads.substeps):
        operators.append(drift(kinds.needs_others, kinds.passes))
        if kinds.needs_others:
            yield _stage(f"forget {k}", beads, FORGET, values, BY_ID)
            yield _stage(f"drift {k}", beads, in_turn(*operators), values)
            yield from _made_known(beads, values, k)
            operators = []
        if kinds != Interactions():
            operators.append(forces(kinds))
        is_split = kinds.needs_others or (k + 1) % MOST_IN_A_PASS == 0
        if is_split and k < beads.substeps - 1:
            yield _stage(f"forces {k}", beads, in_turn(*operators), values)
            operators = []
    yield _stage("move", beads, in_turn(*operators, *last), values, MIGRATE)


def _made_known(beads: Beads, values, k: int) -> Iterator[Stage]:
    """Every rank learns where all beads are, and which of them are near each other."""
    written = tuple(f"{beads.name}.{name}" for name in PLACE)
    yield Stage(f"{beads.name} share {k}", writes=written, over=beads.name, kernel=SHARE)
    if beads.interactions.pairs:
        yield _stage(f"insert {k}", beads, INSERT, values, BY_ID)


def _coupled(flow: Flow, beads: Beads, values) -> Flow:
    """The flow with beads that have friction with it."""
    pushes = beads.coupling == BOTH
    is_first = not any(stage.kernel == VELOCITIES for stage in flow.between)
    ahead = (*flow.between, *(_shared_by_all(flow) if is_first else ()))
    if beads.many:
        ahead = tuple(replace(each, where=None) if each.kernel == VELOCITIES else each for each in ahead)
    between = (*ahead, _friction(flow, beads, values, pushes), *_moving(beads, values))
    flow = replace(flow.with_fields(*FLOW_FIELDS), between=between)
    if not pushes or PUSH in flow.parameters:  # other beads have added theirs to the same fields
        return flow
    return flow.pushed_by(PUSHED, {p.name: values[p.name] for p in PUSHED.parameters})


def _shared_by_all(flow: Flow) -> Iterator[Stage]:
    """The stages that run once for all kinds of beads: values that the step before has left are cleared, and the
    velocity of the populations that have arrived is taken where beads of other ranks need it."""
    yield Stage("clear", (CLEAR,), {name: FieldValue(name) for name in (WANTED, PUSH)}, (), (WANTED,), PUSHABLE)
    yield Stage("arriving", (_moments(flow),), {}, (WANTED,), (ARRIVING,), AT_OTHERS, kernel=VELOCITIES)


def _friction(flow: Flow, beads: Beads, values, pushes: bool) -> Stage:
    operators = _moments(flow), friction(beads.interactions.passes), TAKE
    return Stage(
        f"{beads.name} friction",
        operators,
        {parameter.name: values[parameter.name] for operator in operators for parameter in operator.parameters},
        reads=(ARRIVING + AT_NEIGHBOURS,),
        writes=(PUSH,) if pushes else (),
        where=PUSHED_HERE,
        over=beads.name,
        kernel=DRAG,
        nearest=beads.kernel == "point",
    )


def _moments(flow: Flow) -> Operator:
    """Moments of populations that have arrived, without the share of a body force."""
    return macroscopic(0.0, flow.fluid.equilibrium, NO_FORCE)


def table(values, dtype=np.float64) -> Table:
    """A parameter that is an array of its own."""
    return Table(np.ascontiguousarray(values, dtype=dtype))


def _nothing(n, parameters):
    return np.zeros((3, 1))


def _nothing_node(lattice, precision, jit, at):
    zero = precision.real(0)
    return jit(lambda n, parameters: (zero, zero, zero))


#: Velocities of arriving populations are taken without the share of a body force.
NO_FORCE = Operator("none", _nothing, _nothing_node)
