"""The device arrays that kernels are bound to, grouped by purpose. Records that compiled code takes as they are are
named tuples."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from muphy_lb.domain import Pattern
from muphy_lb.parallel.task import ON_INTERIOR


@dataclass(frozen=True)
class State:
    """Populations of all local nodes."""

    buffer: Any  #: flat device array in storage format
    #: where population q of a node is stored, for each q: as in :class:`muphy_lb.domain.Pattern`
    locations: tuple[int, ...]
    table: Any  #: device form of the table that these locations refer to; see :meth:`Backend.stream_table`
    n_nodes: int  #: number of nodes


class Collected(NamedTuple):
    """The nodes of a range that a ``COLLECT`` stage lists, in any order."""

    #: (2,) int32, numbers of listed nodes and of listed warps, both complete; if it is more than there is room for,
    #: nothing is known
    count: Any
    nodes: Any  #: (capacity,) uint32, the chosen nodes
    #: (capacity,) uint32, numbers of the warps (:mod:`muphy_lb.lattice.layout`) with nodes at which the field by which
    #: nodes are chosen is not 0
    warps: Any


class Chosen(NamedTuple):
    """Nodes at which an integer array has at least one bit of a mask; ``among``: a list of nodes that contains all of
    them, if there is one; ``without``: those bits of which they have none, for nodes that collide."""

    array: Any
    mask: int
    among: Collected | None = None
    without: int = 0


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
    """Device arrays of the opening links: M nodes with openings, and their L links, node after node."""

    node: Any  #: (M,) local nodes
    start: Any  #: (M + 1,) links of node m are ``[start[m], start[m + 1])``
    owner: Any  #: (L,) index m of the node of each link
    state: Any  #: (Q M,) flat addresses of the populations of these nodes in one phase
    q: Any  #: (L,) outgoing directions
    #: outgoing, incoming: (L,) flat addresses of the population that leaves and of the one that enters
    outgoing: Any
    incoming: Any
    opening: Any  #: (L,) opening number
    reflected: Any  #: (3 L,) addresses of further populations that a condition reads beside the outgoing one
    #: (5 n_openings,) of the outgoing, of these and of what inflow convects in the population the condition reflects
    shares: Any
    #: (4 n_openings,) of planes with a pressure the direction of the vessel into the fluid, and unless this is normal
    #: to the plane and along an axis the change of velocity along a link per unit of its gamma over w_q; else 0
    plane: Any
    momentum: Any  #: (L,) mass entering per unit velocity; of planes with a pressure gamma of the link, else 0
    inside: Any  #: (L,) eta of links into planes with a pressure that are not across their vessel, else 0
    weight: Any  #: (L,) float64 share of the opening's area [voxels]
    #: kind, value: (n_openings or more,) condition kind and its value (velocity scale or rho_out - 1)
    kind: Any
    value: Any


class LinkBuffers(NamedTuple):
    """The buffers that opening links read and write."""

    state: Any  #: buffer of the populations of their nodes
    leaving: Any  #: buffer of the populations that leave through them
    entering: Any  #: buffer of those that enter; None if they are computed but not stored


class WallArrays(NamedTuple):
    """Device arrays of M nodes with links into linkwise walls, padded to whole warps. There is a number of a link for
    every direction q = 1 ... Q - 1 of every node, in the order of :meth:`Backend.array_of_rows`."""

    rest: Any  #: (M,) flat addresses of row 0 of the nodes
    entry: Any  #: ((Q - 1) M,) flat addresses that the table of the step holds for the nodes
    into_walls: Any  #: (M,) bit q is set where direction q leads into a linkwise wall
    #: (M,) bit q is set where direction q leads to a node with which mass is exchanged; of size 0 where walls need not
    #: keep the mass
    along_walls: Any
    needed: Any  #: (M,) bit q is set where the population that arrives in direction q is read; others count as 0
    #: of links into walls the coefficient b of :mod:`muphy_lb.operators.wall_rules`, which weights what arrives from
    #: behind; of exchanges the share of what crosses their link
    b: Any
    c: Any  #: of links into walls the coefficient c, which weights what the node has sent the other way; else 0
    d: Any  #: of links into walls the coefficient d per unit of the wall's value; empty if no wall moves
    inflow: Any  #: mass that the population at rest gains besides, per unit of the wall's value; empty if no wall moves
    wall: Any  #: number of the wall; empty if no wall moves
    value: Any  #: (n_walls,) velocity scale of each wall


@dataclass(frozen=True)
class StencilArrays:
    """Arrays of a stencil launch: the field before and after the step, the device form of its table, the number of
    neighbours, and the row length of a field with several components (0: one component)."""

    old: Any
    new: Any
    table: Any
    n_neighbours: int
    row: int = 0


class Advanced(NamedTuple):
    """A field that nodes advance: the operator, the arrays, and the values of the operator's parameters."""

    update: Any
    arrays: StencilArrays
    values: tuple


class ExtrapolationArrays(NamedTuple):
    """Device arrays of S extrapolated values, which are stored contiguously: ``index`` and ``weight`` (4 S,),
    ``constant`` (S,)."""

    index: Any
    weight: Any
    constant: Any


class SaturationArrays(NamedTuple):
    """Device arrays of M extrapolated values at walls that saturate: their ``place`` among these, the rest as of
    :class:`muphy_lb.domain.scalar_boundary.Extrapolations`."""

    place: Any
    left: Any
    share: Any
    entering: Any
    level: Any


class OutflowArrays(NamedTuple):
    """Device arrays of M extrapolated values at openings that a scalar leaves with its carrier: their ``place`` among
    these, the address of the population that left, and the node."""

    place: Any
    left: Any
    node: Any


class ScheduleArrays(NamedTuple):
    """Rows of values on the device, one per step."""

    rows: Any  #: (n_rows * width,) row after row
    is_scheduled: Any  #: (width,) uint8, 0 for values that conditions with feedback set
    next: Any  #: (1,) int64 number of the row of the next step
    n_rows: Any  #: (1,) int64 number of rows


class LookupArrays(NamedTuple):
    """Device form of a :class:`muphy_lb.domain.VoxelLookup`, its attributes of the same names; node functions find what
    is at a voxel by :func:`muphy_lb.domain.lookup.look_up_node`, around a node by ``look_around_nodes`` beside it."""

    block: Any
    entry: Any
    size: Any


class ParticleArrays(NamedTuple):
    """Device arrays of a set of particles on one rank."""

    integers: Any  #: (n_integers * capacity,) int32, column after column
    reals: Any  #: (n_reals * capacity,) float64
    values: Any  #: (n_values * capacity,) in the precision of the flow
    count: Any  #: (1,) int64 number of particles


class MigrationArrays(NamedTuple):
    """Messages that transfer particles."""

    #: outgoing, incoming: (n_neighbours * (1 + n_columns * most),) float64: for each neighbour their number, then
    #: column after column: integers, reals, values
    outgoing: Any
    incoming: Any
    neighbour: Any  #: (layer,) int32 position among the neighbours of the owner of each node of the corner layer
    #: (1,) int64: 0, or 1 if the capacity was exceeded, 2 + 4 id if a particle left the known nodes, 3 if more than
    #: ``most`` particles left for one neighbour
    status: Any
    #: holes, gaps, movers: (n_neighbours * most,) int64 positions of particles that leave, of those among them that
    #: others fill, and of these others
    holes: Any
    gaps: Any
    movers: Any
    left: Any  #: (capacity,) int8, 1 at positions of particles that leave
    n_moved: Any  #: (3,) int64 number of holes, gaps and movers
    most: int  #: number of particles that a message has room for


class SortingArrays(NamedTuple):
    """The arrays by which particles are sorted by the entries of their voxels in the lookup."""

    #: (n_entries + 1,) int32 number of particles at each entry, then the place of the first of them in memory; behind
    #: them the number of particles that have a place
    counts: Any
    number: Any  #: (capacity,) int32 number of each particle among those at its entry
    source: Any  #: (capacity,) int32 which particle comes to a place
    column: Any  #: (capacity,) float64 column on its way


class Coupling(NamedTuple):
    """Coupling of particles with nodes."""

    nearest: bool  #: whether to the nearest node alone
    takes_field: bool  #: whether the velocity of own nodes is in a field, or is that of their populations
    pushes: bool  #: whether the nodes notice


class DragArrays(NamedTuple):
    """The arrays through which particles and the nodes around them exchange forces."""

    step: StreamArrays  #: arrays of the step that will load what has arrived
    lookup: LookupArrays  #: the node at each voxel
    flow: Any  #: velocity at nodes of other ranks, or of all, a vector field
    pushed: Any  #: int64 forces on nodes, another; any integers if the nodes do not notice
    #: marks, mask: array of bytes at nodes in which the bits of the mask are set where a node is pushed
    marks: Any
    mask: int
    coupling: Coupling  #: in which way


class NeighbourTable(NamedTuple):
    """Device form of the table of the neighbours of every node, and the number of neighbours."""

    addresses: Any
    n_neighbours: int


@dataclass(frozen=True)
class NodeAccess:
    """Access of a stage to populations and neighbours; each that is given is an argument of its operator, in this
    order."""

    arriving: StreamArrays | None = None  #: the populations that the step with these arrays will load
    stored: State | None = None  #: the populations that are stored
    neighbours: NeighbourTable | None = None  #: addresses of the neighbours in arrays of fields
    changes: bool = False  #: whether the operator may change the arriving ones


WEIGHT_SHARE = 2.0**-8
"""Scale of the fixed-point sum of the weights of an opening's links over that of its other sums: a weight is of order
1, so sums of half a million would leave 63 bits at the scale of the others."""


class FeedbackArrays(NamedTuple):
    """Device arrays of a condition with feedback."""

    #: (n_ranks * n_openings * 3,) int64: for each rank and opening the mass that entered, the density deviations of
    #: its links times their weights, and these weights, in fixed point
    sums: Any
    weights: Any  #: (n_openings,) float64: share of what leaves through each opening in the outflow that is answered
    state: Any  #: (n_state,) float64
    #: value, other_value: (1,) the opening's value in both copies of the values in force
    value: Any
    other_value: Any
    opening: int  #: its number
    n_openings: int  #: number of openings
    scale: float  #: of the fixed-point sums


class ReductionArrays(NamedTuple):
    """Partial results per worker: ``mass`` (sum of rho - 1), ``peak`` (largest speed, inf where a value is not finite),
    ``flow`` (int64, eight rows of workers: for the speed and each component of the velocity the sum of it times scale,
    truncated node by node, hence exact in any order, and that of what was truncated, times scale again)."""

    mass: Any
    peak: Any
    flow: Any
    scale: float


class SumArrays(NamedTuple):
    """Partial results of measured numbers of all nodes, a column for each worker."""

    #: whole, rest: (K, workers) int64 sums of K numbers times ``scale`` in two parts, exact in any order
    #: (:func:`muphy_lb.lattice.exact_sums.in_two_parts`)
    whole: Any
    rest: Any
    #: (P + 1, workers) float64 the largest of P numbers, and inf where a summed one is not finite
    peak: Any
    scale: float
