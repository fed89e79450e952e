"""The device arrays that kernels are bound to, grouped by purpose. Records that compiled code takes as they are are
named tuples."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from muphy_lb.domain import Pattern
from muphy_lb.parallel.task import ON_INTERIOR


@dataclass(frozen=True)
class State:
    """Populations of all local nodes.

    Attributes:
        buffer: flat device array in storage format.
        locations: where population q of a node is stored, for each q: as in :class:`muphy_lb.domain.Pattern`.
        table: device form of the table that these locations refer to; see :meth:`Backend.stream_table`.
        n_nodes: number of nodes.
    """

    buffer: Any
    locations: tuple[int, ...]
    table: Any
    n_nodes: int


class Collected(NamedTuple):
    """The nodes of a range that a ``COLLECT`` stage lists, in any order.

    Attributes:
        count: (2,) int32, numbers of listed nodes and of listed warps, both complete; if it is more than there is room
            for, nothing is known.
        nodes: (capacity,) uint32, the chosen nodes.
        warps: (capacity,) uint32, numbers of the warps (:mod:`muphy_lb.lattice.layout`) with nodes at which the field
            by which nodes are chosen is not 0.
    """

    count: Any
    nodes: Any
    warps: Any


class Chosen(NamedTuple):
    """Nodes at which an integer array has at least one bit of a mask; ``among``: a list of nodes that contains all of
    them, if there is one."""

    array: Any
    mask: int
    among: Collected | None = None


ANY_BIT = 0xFF  # mask of the nodes at which an array of bytes is not 0


@dataclass(frozen=True)
class StreamArrays:
    """Arrays of a stream-and-collide launch: buffers before and after the step (the same buffer in place), the device
    form of the pattern's table, and, if there are nodes without fluid, those with it, among listed warps if there is a
    list."""

    old: Any
    new: Any
    table: Any
    pattern: Pattern
    occupied: Chosen | Any = None


@dataclass(frozen=True)
class NodeRange:
    """Local nodes ``[first, last)``, the first at the start of a warp, and the queue of the launches over them
    (:mod:`muphy_lb.parallel.task`). ``is_reversed``: start with the last nodes, which the previous step wrote last.
    ``where``: those nodes of the range that are meant, if not all."""

    first: int
    last: int
    queue: str = ON_INTERIOR
    is_reversed: bool = False
    where: Chosen | Any = None


class LinkArrays(NamedTuple):
    """Device arrays of the opening links: M nodes with openings, and their L links, node after node.

    Attributes:
        node: (M,) local nodes.
        start: (M + 1,) links of node m are ``[start[m], start[m + 1])``.
        owner: (L,) index m of the node of each link.
        state: (Q M,) flat addresses of the populations of these nodes in one phase.
        q: (L,) outgoing directions.
        outgoing, incoming: (L,) flat addresses of the population that leaves and of the one that enters.
        opening: (L,) opening number.
        momentum: (L,) mass entering per unit velocity.
        kind, value: (n_openings or more,) condition kind and its value (velocity scale or rho_out - 1).
    """

    node: Any
    start: Any
    owner: Any
    state: Any
    q: Any
    outgoing: Any
    incoming: Any
    opening: Any
    momentum: Any
    kind: Any
    value: Any


class LinkBuffers(NamedTuple):
    """The buffers that opening links read and write.

    Attributes:
        state: buffer of the populations of their nodes.
        leaving: buffer of the populations that leave through them.
        entering: buffer of those that enter; None if they are computed but not stored.
    """

    state: Any
    leaving: Any
    entering: Any


class WallArrays(NamedTuple):
    """Device arrays of M nodes with links into linkwise walls, padded to whole warps. There is a number of a link for
    every direction q = 1 ... Q - 1 of every node, in the order of :meth:`Backend.array_of_rows`.

    Attributes:
        rest: (M,) flat addresses of row 0 of the nodes.
        entry: ((Q - 1) M,) flat addresses that the table of the step holds for the nodes.
        into_walls: (M,) bit q is set where direction q leads into a linkwise wall.
        along_walls: (M,) bit q is set where direction q leads to a node with which mass is exchanged; of size 0 where
            walls need not keep the mass.
        needed: (M,) bit q is set where the population that arrives in direction q is read; others count as 0.
        b: of links into walls the coefficient b of :mod:`muphy_lb.operators.wall_rules`, which weights what arrives
            from behind; of exchanges the share of what crosses their link.
        c: of links into walls the coefficient c, which weights what the node has sent the other way; else 0.
        d: of links into walls the coefficient d per unit of the wall's value; empty if no wall moves.
        inflow: mass that the population at rest gains besides, per unit of the wall's value; empty if no wall moves.
        wall: number of the wall; empty if no wall moves.
        value: (n_walls,) velocity scale of each wall.
    """

    rest: Any
    entry: Any
    into_walls: Any
    along_walls: Any
    needed: Any
    b: Any
    c: Any
    d: Any
    inflow: Any
    wall: Any
    value: Any


@dataclass(frozen=True)
class StencilArrays:
    """Arrays of a stencil launch: the field before and after the step, the device form of its table, the number of
    neighbours, and the row length of a field with several components (0: one component)."""

    old: Any
    new: Any
    table: Any
    n_neighbours: int
    row: int = 0


class ExtrapolationArrays(NamedTuple):
    """Device arrays of S extrapolated values, which are stored contiguously: ``index`` and ``weight`` (4 S,),
    ``constant`` (S,)."""

    index: Any
    weight: Any
    constant: Any


class ScheduleArrays(NamedTuple):
    """Rows of values on the device, one per step.

    Attributes:
        rows: (n_rows * width,) row after row.
        is_scheduled: (width,) uint8, 0 for values that conditions with feedback set.
        next: (1,) int64 number of the row of the next step.
        n_rows: (1,) int64 number of rows.
    """

    rows: Any
    is_scheduled: Any
    next: Any
    n_rows: Any


class LookupArrays(NamedTuple):
    """Device form of a :class:`muphy_lb.domain.VoxelLookup`, its attributes of the same names; node functions find what
    is at a voxel by :func:`muphy_lb.domain.lookup.look_up_node`, around a node by ``look_around_nodes`` beside it."""

    block: Any
    entry: Any
    size: Any


class ParticleArrays(NamedTuple):
    """Device arrays of a set of particles on one rank.

    Attributes:
        integers: (n_integers * capacity,) int32, column after column.
        reals: (n_reals * capacity,) float64.
        values: (n_values * capacity,) in the precision of the flow.
        count: (1,) int64 number of particles.
    """

    integers: Any
    reals: Any
    values: Any
    count: Any


class MigrationArrays(NamedTuple):
    """Messages that transfer particles.

    Attributes:
        outgoing, incoming: (n_neighbours * (1 + n_columns * most),) float64: for each neighbour their
            number, then column after column: integers, reals, values.
        neighbour: (layer,) int32 position among the neighbours of the owner of each node of the corner layer.
        status: (1,) int64: 0, or 1 if the capacity was exceeded, 2 + 4 id if a particle left the known nodes, 3 if more
            than ``most`` particles left for one neighbour.
        holes, gaps, movers: (n_neighbours * most,) int64 positions of particles that leave, of those among them that
            others fill, and of these others.
        left: (capacity,) int8, 1 at positions of particles that leave.
        n_moved: (3,) int64 number of holes, gaps and movers.
        most: number of particles that a message has room for.
    """

    outgoing: Any
    incoming: Any
    neighbour: Any
    status: Any
    holes: Any
    gaps: Any
    movers: Any
    left: Any
    n_moved: Any
    most: int


class SortingArrays(NamedTuple):
    """The arrays by which particles are sorted by the entries of their voxels in the lookup.

    Attributes:
        counts: (n_entries + 1,) int32 number of particles at each entry, then the place of the first of them in memory;
            behind them the number of particles that have a place.
        number: (capacity,) int32 number of each particle among those at its entry.
        source: (capacity,) int32 which particle comes to a place.
        column: (capacity,) float64 column on its way.
    """

    counts: Any
    number: Any
    source: Any
    column: Any


class Coupling(NamedTuple):
    """How particles are coupled to nodes.

    Attributes:
        nearest: whether to the nearest node alone.
        takes_field: whether the velocity of own nodes is in a field, or is that of their populations.
        pushes: whether the nodes notice.
    """

    nearest: bool
    takes_field: bool
    pushes: bool


class DragArrays(NamedTuple):
    """The arrays through which particles and the nodes around them exchange forces.

    Attributes:
        step: arrays of the step that will load what has arrived.
        lookup: the node at each voxel.
        flow: velocity at nodes of other ranks, or of all, a vector field.
        pushed: int64 forces on nodes, another; any integers if the nodes do not notice.
        marks, mask: array of bytes at nodes in which the bits of the mask are set where a node is pushed.
        coupling: in which way.
    """

    step: StreamArrays
    lookup: LookupArrays
    flow: Any
    pushed: Any
    marks: Any
    mask: int
    coupling: Coupling


class NeighbourTable(NamedTuple):
    """Device form of the table of the neighbours of every node, and the number of neighbours."""

    addresses: Any
    n_neighbours: int


class CrossingArrays(NamedTuple):
    """The populations that cross the links of a node: the arrays of the step that will load arriving ones; those that
    the step before has stored; the table of neighbours."""

    step: StreamArrays
    stored: State
    table: NeighbourTable


class RefillArrays(NamedTuple):
    """The arrays that a refill reads and overwrites.

    Attributes:
        state: the populations.
        table: of the neighbours.
        sources: the neighbours whose moments are averaged.
        others: (4 n_ghosts,) moments of nodes of other ranks.
        first: address of the first of them in fields.
    """

    state: State
    table: NeighbourTable
    sources: Chosen
    others: Any
    first: int


class FeedbackArrays(NamedTuple):
    """Device arrays of a condition with feedback.

    Attributes:
        sums: (n_ranks * n_openings * 3,) int64: for each rank and opening the mass that entered and the density
            deviations of its links, in fixed point, and the number of these links.
        weights: (n_openings,) float64: share of what leaves through each opening in the outflow that is answered.
        state: (n_state,) float64.
        value, other_value: (1,) the opening's value in both copies of the values in force.
        opening: its number.
        n_openings: number of openings.
        scale: of the fixed-point sums.
    """

    sums: Any
    weights: Any
    state: Any
    value: Any
    other_value: Any
    opening: int
    n_openings: int
    scale: float


class ReductionArrays(NamedTuple):
    """Partial results per worker: ``mass`` (sum of rho - 1), ``peak`` (largest speed, inf where a value is not finite),
    ``speed`` (int64: sum of speed * scale, truncated node by node, hence exact in any order), ``flow`` (int64, six rows
    of workers: for each component of the velocity the same sum, and that of what was truncated, times scale again)."""

    mass: Any
    peak: Any
    speed: Any
    flow: Any
    scale: float
