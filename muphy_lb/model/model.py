"""The contract of a physics: a model declares fields, stages and parameters, nothing else.

A stage is an operator and its access: the populations and fields that it reads and writes, and at which nodes. From the
access a backend composes its kernel, and the engine derives what is split into edge and interior, what waits for what,
which fields are exchanged between ranks and when, and what becomes one launch. A few stages name a kernel of their own.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from inspect import signature
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from muphy_lb.domain import LocalDomain, ScalarBoundary, ScalarSet, Streaming
from muphy_lb.domain.scalar_streaming import courses_of
from muphy_lb.lattice import Lattice
from muphy_lb.operators import OPEN, Equilibrium, Operator, at_openings, reflection
from muphy_lb.operators.moments import N_WITH_STRESS

# The flow's populations among what a stage reads and writes: those that a node is about to load, and those that it has
# stored: behind the collision in this step, elsewhere in the step before.
ARRIVING = "arriving populations"
STORED = "stored populations"

# Kernels over nodes that a stage may name; see ``muphy_lb.backends.interface.Backend.bind``.
COLLECT = "collect"
VELOCITIES = "arriving"
REFILL = "refill"
# Kernels over particles, and over ids; what particles of all ranks have written by id becomes known to every rank.
PARTICLES = "particles"
BY_ID = "by_id"
SHARE = "share"
MIGRATE = "migrate"
DRAG = "drag"

# Value of ``Stage.over`` for nodes; otherwise it is the name of a particle set.
NODES = "nodes"
AT_NEIGHBOURS, BEFORE = "@neighbours", "@before"
A_STEP_AGO = "_before"  # behind the name of a field in checkpoints and starts: as the step before has left it
NOTHING: Mapping[str, "Value"] = MappingProxyType({})


class Provided(Enum):
    """Parameters whose values the engine provides.

    SCHEDULED: the component of the body force of that name, which the schedule sets for every step; an array of length
        one. STEP: number of the current step, an int64 array of length one. VOXEL: voxel id of every node, int64.
        LOOKUP: the node at each voxel, for :func:`muphy_lb.domain.lookup.look_up` and its node function. BORDER: 1 at
        the nodes that particles of other ranks can be coupled to, else 0, int8. BESIDE_WALL: 1 at the nodes beside
        which, in one of 26 directions, there is no node, else 0, int8; the last three only with particles.
    """

    SCHEDULED = "scheduled"
    STEP = "step"
    VOXEL = "voxel"
    LOOKUP = "lookup"
    BORDER = "border"
    BESIDE_WALL = "beside_wall"


SCHEDULED, STEP, VOXEL = Provided.SCHEDULED, Provided.STEP, Provided.VOXEL
LOOKUP, BORDER, BESIDE_WALL = Provided.LOOKUP, Provided.BORDER, Provided.BESIDE_WALL


class FieldValue(NamedTuple):
    """A parameter that is a field, or a column of a particle set (``"SET.column"``)."""

    field: str  #: name of the field
    is_new: bool = False  #: for a field with two arrays, whether it is the one after the step instead of before


class Table(NamedTuple):
    """A parameter that is an array of any length and type, not a field over the nodes."""

    array: np.ndarray


class Course(NamedTuple):
    """A parameter that changes over time: an array of length one that the schedule overwrites ahead of every step."""

    factor: Callable  #: ``(times_s) -> (K,)`` values in the middle of steps


class Where(NamedTuple):
    """The nodes at which an integer field has at least one bit of a mask; of the bulk, none ``without``."""

    field: str
    mask: int
    #: name of a ``COLLECT`` stage, if no other nodes than those that it has collected can be such nodes before it runs
    #: again. They may be looked for among those alone.
    among: str = ""
    without: int = 0


Value = float | np.ndarray | np.integer | FieldValue | Provided | Table | Course
"""Value of a parameter: a number (a NumPy integer keeps its type), an (n,) array over the local nodes, real or integer,
a table, a course, a field, or a value that the engine provides."""


class ScalarStreaming(NamedTuple):
    """Transport of scalars by populations of their own: the lattice of these, the scalars, whose populations stream
    together, and whether the first is the carrier of the others (:mod:`muphy_lb.operators.scalar_transport`)."""

    lattice: Lattice
    sets: tuple[ScalarSet, ...]
    has_carrier: bool = False


@dataclass(frozen=True)
class Field:
    """A field: values at every node in addition to the populations."""

    name: str  #: in outputs and checkpoints
    #: boundary conditions of a field that is advanced by a stencil. Such a field has two arrays, used alternately, and
    #: is exchanged between ranks; so has one that is advanced by scalar streaming.
    boundary: ScalarBoundary | None = None
    #: transport of scalars' populations. Then the field has a component for each vector of that lattice and scalar; a
    #: stage reads the arriving populations, and the node function overwrites them with the leaving ones. So between two
    #: steps, in ``initial_fields`` and in checkpoints, it holds those that leave, and a scalar that the stage writes
    #: beside it the value on arrival, one collision earlier (:mod:`muphy_lb.physics.scalar`).
    streaming: ScalarStreaming | None = None
    #: whether the next step reads it, so that checkpoints contain it; always so with a boundary or streaming
    is_state: bool = False
    alternates: bool = False  #: whether it has two arrays, used alternately, although no stencil advances it
    dtype: str | type = "real"  #: ``"real"`` (the precision of the run), or a NumPy type for integers and flags
    #: value at neighbours where there is no node. If given, the field may be read at neighbours (``"name@neighbours"``)
    #: and is exchanged between ranks if it was written before such a stage.
    outside: float | None = None
    at_openings: float | None = None  #: value at neighbours that belong to an opening, if another one
    #: whether it is an int64 field, with ``corners``, to which stages may add values at ghost nodes; after the stage
    #: that writes it they are added to the nodes' own ranks, exactly in any order. If moments are taken with it, its
    #: sums are part of the state: the last collision has read them.
    accumulates: bool = False
    #: the nodes at which an accumulating field need not be 0, where stages mark those that they add to
    marked: Where | None = None
    n_rows: int = 1  #: number of its components, which lie one after the other
    #: whether it has three components, which lie beside each other: component k of node n at ``RECORD * n + k``
    #: (:data:`muphy_lb.lattice.layout.RECORD`); only with ``corners``
    is_vector: bool = False
    #: whether its ghost nodes are those of the corner layer (:mod:`muphy_lb.domain.lookup`), where particles read it (a
    #: stage that ``reads "name@neighbours"``) or add to it (if it accumulates)
    corners: bool = False
    #: whether stages may write it although they read it at neighbours: no node reads what another writes in the same
    #: stage (each stage has bits of its own; or one kind of node writes what another reads), also where some of it has
    #: crossed to another rank already
    guarded: bool = False
    #: whether it holds the moments and the stress of the edge nodes and of ghost nodes only, for a ``REFILL``
    of_moments: bool = False
    #: flags of nodes with which it starts (``BORDER`` or ``BESIDE_WALL``), if not with zeros
    initial: Provided | None = None
    #: value for the collision of a start, if stages of each step write it before the collision reads it: what the last
    #: step has left says nothing of a new state
    unset: float | None = None
    #: function of the nodes of a rank that gives the values (n,) which it always has; no stage writes it
    fixed: Callable[[LocalDomain], np.ndarray] | None = None

    @property
    def components(self) -> list[str]:
        """Names of its components."""
        if self.streaming is not None:
            return [f"{each.name}_{q}" for each in self.streaming.sets for q in range(self.streaming.lattice.q)]
        n_rows = N_WITH_STRESS if self.of_moments else self.n_rows
        return [self.name] if n_rows == 1 else [f"{self.name}_{k}" for k in range(n_rows)]

    @property
    def is_advanced(self) -> bool:
        """Whether a stage advances it by its values, or populations, at neighbours."""
        return self.boundary is not None or self.streaming is not None

    @property
    def is_read_at_neighbours(self) -> bool:
        """Whether stages may read it at neighbours without one that advances it."""
        return self.outside is not None or self.corners or self.of_moments


POSITION = ("voxel_x", "voxel_y", "voxel_z"), ("offset_x", "offset_y", "offset_z")


@dataclass(frozen=True)
class ParticleSet:
    """Particles that move from node to node and from rank to rank; each belongs to the rank of its nearest node.

    Every set has the integer columns ``id``, ``voxel_x``, ``voxel_y``, ``voxel_z`` (the nearest voxel) and the real
    ones ``offset_x``, ``offset_y``, ``offset_z`` (from the voxel's centre, in [-1/2, 1/2) voxels), so that a position
    is exact whatever the rank and however large the box. Integers are int32, real numbers float64 in every precision;
    ``values`` are in the precision of the flow.

    A stage over them calls its operator for every particle: ``reference(i, lattice, parameters)`` for an array of
    particles, ``update(i, parameters)`` for one. It may change its columns in place; a particle must stay within a
    voxel of its node, where there are nodes (parameter ``LOOKUP``, see :mod:`muphy_lb.domain.lookup`). A ``MIGRATE``
    stage does the same; its operator brings offsets back into their range and returns the node at which a particle then
    is (:data:`muphy_lb.model.settle.SETTLE` does), and particles move to the ranks that own their nodes.

    A ``DRAG`` stage, between streaming and collision, lets each particle and the nodes around it exchange a force: the
    corners of its cell by the weights w of linear interpolation, or the ``nearest`` node. Its three operators:
    ``moments`` of populations; ``force(i, k, flow, share, parameters)``, the force on the particle along axis k, a
    multiple of what its nodes are given whole numbers of, from the velocity of the populations that have arrived at
    them, interpolated, and the sum of w^2; and ``take(i, k, force, parameters)`` with the force that the particle gets,
    which is what its nodes have lost to the last digit. Velocities at nodes of other ranks are those of the field that
    it reads; so are those at own nodes if a ``VELOCITIES`` stage fills it at all of them, which it otherwise computes
    for each particle (less work where particles are few). It takes what nodes lose from the field that it ``writes``,
    and sets the bits of ``where`` at its own nodes; without one the force remains without reaction.

    A set whose ids are 0, 1, ..., n_ids - 1 may have values by id, int64 arrays that every rank holds whole: a
    ``SHARE`` stage adds up what the ranks have written to those among its ``writes``, so each rank writes those of its
    own particles, and zeros elsewhere. A ``BY_ID`` stage calls its operator for every id.
    """

    name: str  #: columns are addressed as ``"NAME.column"``
    capacity: int  #: largest number of particles on one rank; more are an error
    #: integers, reals, values: names of further columns
    integers: tuple[str, ...] = ()
    reals: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    leaving: int = 0  #: largest number of particles that leave a rank for one neighbour in one step; 0 for all
    n_ids: int = 0  #: number of ids
    by_id: tuple[str, ...] = ()  #: names of values by id, addressed like columns
    cost: float = 1.0  #: of a step of a particle, in steps of a node
    #: columns, and a function of them that selects the particles of that cost, the others nothing; None: all do
    active: tuple[tuple[str, ...], Callable[..., np.ndarray]] | None = None

    @property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Names of all columns of integers, of real numbers and of values."""
        return ("id", *POSITION[0], *self.integers), (*POSITION[1], *self.reals), self.values


@dataclass(frozen=True)
class Stage:
    """One pass over the nodes, or over particles, in addition to the flow's own.

    Over nodes its operator is called as ``update(arriving, stored, neighbours, n, parameters)``, its specification with
    an array of nodes, with those of the first three that it declares:

    - populations ``ARRIVING``, if it ``reads`` them, between streaming and collision. If it ``writes`` them, it may
      change them, and the node function returns the mask of those that it has changed. Neighbours have stored them: if
      it reads ``STORED``, too, it runs at chosen nodes and leaves alone those that these have stored;
    - populations ``STORED``, if it reads them;
    - the addresses of the node's neighbours in fields, if it reads a field there (``"name@neighbours"``).

    Fields are among the parameters, and written there. At neighbours it may write where all write the same; its values
    are lost at nodes of other ranks: a second operator, which runs at all edge nodes, finds it at their neighbours.

    A stage that writes a field with a boundary or with streaming advances it: the operator gets the values, or the
    arriving populations, and returns, or leaves there, the new ones.

    Kernels with a name of their own: ``VELOCITIES`` fills a vector field with the velocity of the populations that have
    arrived, as its operator of moments computes it; at chosen nodes only if there are other ranks. ``COLLECT``, behind
    the collision, has no operator: it makes a list of its nodes for stages behind it and, in the next step, ahead of
    it. If it chooses them by the field ``occupied``, the collision of the next step looks for fluid only near where
    that field was not 0, so no stage behind it may bring fluid elsewhere. ``REFILL``, behind the collision, replaces
    populations at its nodes by ``update(f, moments, n, parameters)`` with the means over those neighbours where
    ``sources`` holds; its second operator computes what they are the means of
    (:func:`muphy_lb.operators.moments.with_stress`); those of other ranks are in the last field that it reads, which a
    stage has filled that writes it by this operator.
    """

    name: str  #: name of its tasks in traces
    operators: tuple[Operator, ...] = ()  #: operators injected into the kernel, in its order
    parameters: Mapping[str, Value] = field(default_factory=dict)  #: value of each of their parameters, by name
    #: populations and fields that it reads, these as ``"name"`` at its own node, as ``"name@neighbours"``, or, of a
    #: field with two arrays, as ``"name@before"``: what the one that is overwritten still holds of two steps before
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()  #: populations and fields that it writes, at its own node
    #: the nodes at which it runs; all if not given, but a ``REFILL`` needs it
    where: Where | None = None
    over: str = NODES  #: ``"nodes"``, or the name of a particle set
    kernel: str = ""  #: name of a kernel; without one it is that of particles, or composed from the access
    sources: Where | None = None  #: the neighbours that a ``REFILL`` takes the mean of
    only_edge: bool = False  #: whether it has nothing to do in the interior of a rank
    #: of a stage behind the collision, whether it needs nothing of the collision in the bulk, nor changes anything that
    #: this reads, so that it may run beside it
    beside_bulk: bool = False
    nearest: bool = False  #: whether a ``DRAG`` stage couples a particle to the nearest node alone

    @property
    def reads_at_neighbours(self) -> tuple[str, ...]:
        """Names of the fields that it reads at neighbours."""
        return tuple(name.removesuffix(AT_NEIGHBOURS) for name in self.reads if name.endswith(AT_NEIGHBOURS))


@dataclass(frozen=True)
class PartlyFilled:
    """Fill fractions of nodes, for measurements at links into openings and walls."""

    fields: tuple[str, ...]  #: names of the fields from which it follows
    #: of their values at some nodes, (m,) each: (m,) the share of a node that is fluid, and (m,) the density of the
    #: pressure of what else is there, minus 1
    at: Callable[..., tuple[np.ndarray, np.ndarray]]


class StressShare(NamedTuple):
    """The stress at nodes with a collision of their own."""

    fields: tuple[str, ...]  #: names of the fields from which it follows
    #: of their values at some nodes, (m,) each: (m,) the stress over that which the flow's collision would have
    at: Callable[..., np.ndarray]


@dataclass(frozen=True)
class Model:
    """A flow on a lattice, with further physics."""

    name: str  #: for messages and outputs
    lattice: Lattice  #: velocity set of the populations
    streaming: Streaming  #: the streaming scheme, which orders the parts of the flow's own step
    equilibrium: Equilibrium  #: the equilibrium distribution
    collision: Operator  #: the collision operator
    macroscopic: Operator  #: density and velocity from the stored populations
    force: Operator  #: the body force of both
    openings: Operator  #: operator of the links into openings
    plane_density: Operator  #: density of the planes of openings, for outputs
    walls: Operator  #: operator of the links into linkwise walls
    #: value of each parameter of the collision and of ``macroscopic``, by name, in lattice units
    parameters: Mapping[str, Value]
    plane_rate: float  #: 1 / tau by which planes of openings reflect
    fields: tuple[Field, ...] = ()  #: further values at the nodes
    stored: tuple[str, ...] = ()  #: names of the fields that the collision writes
    before: tuple[Stage, ...] = ()  #: stages before the flow's own step, in order
    #: stages between the streaming and the collision, in order, which may read and change what has arrived. Not with
    #: streaming that stores before the collision.
    between: tuple[Stage, ...] = ()
    #: stages after the flow's collision, in order; those that read nothing at neighbours that was written in the same
    #: step overlap with its messages, and all others, away from other ranks' nodes, with their own. Where stages have
    #: the same operators, the later ones read nothing at neighbours that the earlier have written to a guarded field.
    after: tuple[Stage, ...] = ()
    frozen: tuple[Stage, ...] = ()  #: stages of the steps of a frozen flow alone, in the place of its collision
    particles: tuple[ParticleSet, ...] = ()  #: sets of particles
    actions: tuple = ()  #: what is done on the host between steps (:class:`muphy_lb.model.action.Action`)
    #: name of an integer field that is 0 at nodes without fluid, which a step leaves out; empty if there are none. The
    #: moments of such nodes are 0, and so are their populations in outputs.
    occupied: str = ""
    #: if the last stage between changes what arrives, at all other nodes with fluid: those at which no stage between
    #: acts, nor changes anything that their collision reads. Where there is a second buffer, they may collide beside
    #: these stages and those that are ``beside_bulk``, and the other nodes with fluid as soon as the last has acted.
    bulk: Where | None = None
    #: what a step costs at a node by the value of ``occupied``, in steps of a node with fluid; 1 if not named
    costs: Mapping[int, float] = field(default_factory=dict)
    #: moments for sums over all nodes, the first of them the mass that counts minus 1; ``macroscopic`` if not given
    counted: Operator | None = None
    filled: PartlyFilled | None = None  #: how much of a node is fluid, if not all of it
    stress_share: StressShare | None = None  #: of nodes with a collision of their own, if there are any
    #: whether the openings are closed to a node, whose links into them reflect then as walls do
    closed: Operator = OPEN

    @property
    def unset(self) -> dict[str, float]:
        """Initial values of the parameters that are fields written by stages of each step."""
        values = {each.name: each.unset for each in self.fields if each.unset is not None}
        fields = {name: each.field for name, each in self.parameters.items() if isinstance(each, FieldValue)}
        return {name: values[field] for name, field in fields.items() if field in values}

    @property
    def reflection(self) -> Operator:
        """Reflection of populations by the planes of openings."""
        return reflection(self.equilibrium)

    @property
    def at_openings(self) -> Operator:
        """Whether an opening is closed to a node, and its velocity, from the stored populations."""
        return at_openings(self.macroscopic, self.closed)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """All stages in order."""
        return (*self.before, *self.between, *self.after, *self.frozen)

    def kernel_of(self, stage: Stage) -> str:
        """Name of the kernel of a stage."""
        if stage.kernel or stage.over != NODES:
            return stage.kernel or PARTICLES
        written = [each for each in self.fields if each.name in stage.writes]
        if any(each.is_advanced for each in written):
            return "advance"
        return "moments" if any(each.of_moments for each in written) else "at_nodes"

    def check_stages(self) -> None:
        """Raise ValueError: a stage declares an access that is not allowed, or differs from that of its operators."""
        for stage in self.stages:
            for fault in self._faults(stage):
                raise ValueError(f"stage {stage.name!r} {fault}")

    def _faults(self, stage: Stage) -> Iterator[str]:
        kernel, values = self.kernel_of(stage), stage.parameters
        named = [(each.name, operator) for operator in stage.operators for each in operator.parameters]
        yield from (f"gives no parameter {name!r} to {each.name!r}" for name, each in named if name not in values)
        if ARRIVING in (*stage.reads, *stage.writes) and stage not in self.between:
            yield f"has {ARRIVING}, which are there between streaming and collision alone; move it there"
        if STORED in stage.writes or (ARRIVING in stage.writes and ARRIVING not in stage.reads):
            yield f"writes populations that it cannot write; those that it may are {ARRIVING} that it also reads"
        if STORED in stage.reads and stage in self.between:
            so_far = self.between[: self.between.index(stage) + 1]
            if any(ARRIVING in each.writes and each.where is None for each in so_far):
                yield f"reads {STORED} that are changed as {ARRIVING} of neighbours; move it ahead, or choose its nodes"
        fields = {name: each for each in self.fields for name in (each.name, *each.components)}
        columns = () if stage.over == NODES else (f"{stage.over}.",)
        own = {name.split("@")[0] for name in (*stage.reads, *stage.writes)} - {ARRIVING, STORED}
        chosen = {where.field for where in (stage.where, stage.sources) if where is not None}
        for name in sorted((own | chosen) - fields.keys()):
            if not name.startswith(columns):
                yield f"declares {name!r}, which is not a field; there are {', '.join(fields) or 'none'}"
        if kernel == "at_nodes":
            near = (name for name in stage.reads_at_neighbours if fields[name].outside is None or fields[name].corners)
            yield from (f"reads {name!r} at neighbours, where it has no values; give it outside=" for name in near)
            yield from self._unlike_operators(stage)
        if kernel in ("at_nodes", "advance"):
            used = {value.field for name, _ in named if isinstance(value := values[name], FieldValue)}
            declared, found = ({fields[name].name for name in names} for names in (own, used))
            needless = declared - found if kernel == "at_nodes" else set()
            yield from (f"declares {name!r}, which its operators do not use" for name in sorted(needless))
            # fixed fields are always there, and what accumulates may be emptied without its sums being returned
            hidden = (each for each in map(fields.get, used) if each and not (each.fixed or each.accumulates))
            missing = sorted({each.name for each in hidden} - declared)
            yield from (
                f"uses the field {name!r}, which it does not declare; add it to reads or writes" for name in missing
            )

    def _unlike_operators(self, stage: Stage) -> Iterator[str]:
        """Operators whose specification takes other arguments than the stage declares."""
        given = {ARRIVING: ARRIVING in stage.reads, STORED: STORED in stage.reads}
        given["neighbours"] = bool(stage.reads_at_neighbours)
        names = [*(name for name, is_given in given.items() if is_given), "n", "lattice", "parameters"]
        for operator in stage.operators:
            taken = [
                name for name, each in signature(operator.reference).parameters.items() if each.default is each.empty
            ]
            if len(taken) != len(names):
                yield f"has the arguments {', '.join(names)}, and {operator.name!r} takes {', '.join(taken)}"

    def fills_everywhere(self, name: str) -> bool:
        """Whether a stage writes a field at all nodes."""
        return any(name in stage.writes and stage.where is None for stage in self.stages)

    def order(self, has_late_openings: bool = False) -> tuple[str, ...]:
        """The parts of a step in order. ``has_late_openings``: whether the openings wait for messages. Raises
        InputError: stages between streaming and collision, with a streaming that leaves no room for them."""
        if self.between:
            return self.streaming.order_with_pause(has_late_openings)
        return self.streaming.late_order if has_late_openings else self.streaming.order

    @property
    def courses(self) -> tuple[Callable, ...]:
        """Time courses of scalar boundary values and of parameters, each once, as the schedule holds them."""
        fields = (each.streaming for each in self.fields if each.streaming is not None)
        of_scalars = courses_of([each for streaming in fields for each in streaming.sets])
        values = (value for stage in self.stages for value in stage.parameters.values())
        return tuple(dict.fromkeys((*of_scalars, *(each.factor for each in values if isinstance(each, Course)))))

    @property
    def has_scheduled_force(self) -> bool:
        """Whether the schedule sets the body force."""
        return any(value is SCHEDULED for value in self.parameters.values())
