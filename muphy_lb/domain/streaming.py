"""Streaming: where a step finds the populations of a node, where it leaves them, and what follows from that.

``pull`` gathers from the neighbours and stores locally in a second buffer. ``push`` loads locally and scatters to a
second buffer (Bernaschi et al. 2009, MUPHY). ``aa`` needs one buffer: the populations of a pair of opposite directions
are exchanged within the node and with the neighbours alternately (A-A pattern: Bailey, Myre, Walsh, Lilja, Saar, ICPP
2009; Schreiber et al. 2011). Pairs are independent of each other, so here half of them are exchanged with the
neighbours in even steps and the others in odd steps: all steps cost the same, and each reads half of the table. So A-A
has two phases, pull and push one.

All that differs between them is an attribute of :class:`Streaming`; nothing outside this package compares names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.lattice import Lattice

# The parts of a time step.
OPENINGS, WALLS = "openings", "walls"
EDGE, INTERIOR = "edge", "interior"
SEND, RECEIVE = "send", "receive"
PAUSE = "pause"  # of stages between streaming and collision


@dataclass(frozen=True)
class Streaming:
    """A streaming scheme.

    Attributes:
        name: in case files and checkpoints.
        order: the parts of a step in their order: openings and walls fill in what enters through their links, ``SEND``
            packs and posts messages, ``RECEIVE`` awaits and unpacks them, interior and edge nodes stream and collide.
        late_order: the same on a rank whose openings reflect populations of other ranks.
        stores_before_collision: whether the stored populations are those before collision; else those after it.
        half_force: share of the body force in the momentum of stored populations: 1/2 before, -1/2 after collision.
        in_place: whether a step writes to the buffer that it reads from.
        fills_slots: whether what enters through openings and walls is filled in before the step, apart from what
            leaves, so that it can be filled in again at any time; only then are the populations known that are about to
            arrive at a node, as interpolated walls and measurements before collision need them.
        exchanges_result: whether messages carry what the step wrote; else what it is about to read.
        openings_beside_messages: whether the openings write nothing that packing reads, nor read anything that messages
            or the interior write, so that they run on a queue of their own.
        openings_before_interior: whether the interior overwrites what the openings read, and waits for them.
    """

    name: str
    order: tuple[str, ...]
    late_order: tuple[str, ...]
    stores_before_collision: bool = False
    in_place: bool = False
    fills_slots: bool = False
    openings_beside_messages: bool = False
    openings_before_interior: bool = False

    def order_with_pause(self, has_late_openings: bool = False) -> tuple[str, ...]:
        """The parts of a step in which stages run after all populations have arrived, before any node collides; with
        ``has_late_openings`` the openings wait for messages. Raises InputError: the populations that are about to
        arrive are not known ahead of the collision."""
        if self.stores_before_collision:
            raise InputError(
                f"compute.streaming is {self.name!r}, with which nothing can act between streaming and collision; set"
                " compute.streaming = 'pull'"
            )
        order = self.late_order if has_late_openings else self.order
        return (*(part for part in order if part not in (INTERIOR, EDGE)), PAUSE, INTERIOR, EDGE)

    @property
    def half_force(self) -> float:
        """See the attributes."""
        return 0.5 if self.stores_before_collision else -0.5

    @property
    def exchanges_result(self) -> bool:
        """See the attributes."""
        return self.stores_before_collision

    def parity_of_collision(self, parity: int) -> int:
        """Buffer from which the step started whose collision belongs to the stored state ``parity``."""
        return parity if self.stores_before_collision else 1 - parity

    def completed_buffer(self, parity: int) -> int:
        """Buffer in which a step from ``parity`` fills in what enters through links."""
        return 1 - parity if self.exchanges_result else parity

    def patterns(self, lattice: Lattice) -> tuple["Pattern", ...]:
        """One pattern per phase; consecutive steps cycle through the phases."""
        return _patterns(self, lattice)

    def crossing(self, lattice: Lattice, phase: int) -> "Crossing":
        """The populations that cross between the step before and one of a phase."""
        patterns = self.patterns(lattice)
        before, ahead = patterns[phase - 1], patterns[phase]
        return Crossing(_of_all(before, before.store), _of_all(ahead, ahead.load))


PULL = Streaming(
    "pull",
    (OPENINGS, SEND, INTERIOR, RECEIVE, WALLS, EDGE),
    (SEND, INTERIOR, RECEIVE, OPENINGS, WALLS, EDGE),
    fills_slots=True,
    openings_beside_messages=True,
)
_SCATTERED = (EDGE, SEND, INTERIOR, RECEIVE, OPENINGS, WALLS)
PUSH = Streaming("push", _SCATTERED, _SCATTERED, stores_before_collision=True)
AA = Streaming(
    "aa",
    (SEND, OPENINGS, INTERIOR, RECEIVE, WALLS, EDGE),
    (SEND, RECEIVE, OPENINGS, INTERIOR, WALLS, EDGE),
    in_place=True,
    fills_slots=True,
    openings_before_interior=True,
)
STREAMINGS: Mapping[str, Streaming] = MappingProxyType({kind.name: kind for kind in (PULL, PUSH, AA)})


def streaming_named(name: str) -> Streaming:
    """Look up a streaming scheme by name. Raises InputError: there is no scheme of that name."""
    if name not in STREAMINGS:
        raise InputError(f"streaming is {name!r}; allowed: {', '.join(STREAMINGS)}")
    return STREAMINGS[name]


@dataclass(frozen=True)
class Pattern:
    """Where a step of one phase loads and stores populations. A location is a number: ``r >= 0`` is row r of the node
    itself, ``-1 - k`` is entry k of the node's table."""

    in_place: bool  #: whether the step writes to the buffer that it reads
    directions: tuple[int, ...]  #: direction of each table entry, ascending
    load: tuple[int, ...]  #: location from which population q of a node is loaded, for each q
    store: tuple[int, ...]  #: location to which it is stored
    upstream: bool  #: whether the table leads to the node at ``x - c_q``; else ``x + c_q``
    #: far_row, wall_row: row of the entry of direction q at that node, and at the node itself where a wall is
    far_row: tuple[int, ...]
    wall_row: tuple[int, ...]

    @property
    def stores_locally(self) -> bool:
        """Whether all populations of a node are stored in its own rows."""
        return not any(is_entry(location) for location in self.store)

    def exchanges(self, directions) -> np.ndarray:
        """Mask of the directions whose pair is exchanged with the neighbours in this step."""
        return np.isin(directions, self.directions)


class Crossing(NamedTuple):
    """Where the populations of a node lie between two steps: those that have left it in each direction, and those that
    are about to arrive. Locations as of :class:`Pattern`, in a table with an entry q - 1 for each direction q."""

    leaving: tuple[int, ...]
    arriving: tuple[int, ...]


def is_entry(location: int) -> bool:
    """Whether a location is an entry of the table."""
    return location < 0


def entry(location: int) -> int:
    """Number of the table entry that a location denotes."""
    return -1 - location


def _of_all(pattern: Pattern, locations) -> tuple[int, ...]:
    """Locations of a pattern in a table with entries for all directions."""
    return tuple(-pattern.directions[entry(each)] if is_entry(each) else each for each in locations)


@cache
def _patterns(streaming: Streaming, lattice: Lattice) -> tuple[Pattern, ...]:
    own = tuple(range(lattice.q))
    opposite = tuple(int(q) for q in lattice.opposite)
    moving = own[1:]
    in_table = (0, *(-q for q in moving))
    if streaming.in_place:
        return tuple(_exchanging(phase, lattice, opposite) for phase in (0, 1))
    if streaming.stores_before_collision:
        return (Pattern(False, moving, own, in_table, False, own, opposite),)
    return (Pattern(False, moving, in_table, own, True, own, opposite),)


def _exchanging(phase: int, lattice: Lattice, opposite) -> Pattern:
    """The A-A pattern of a phase, in which half of the pairs are exchanged with the neighbours."""
    directions = tuple(q for q in range(1, lattice.q) if _phases(lattice)[_kind(lattice, q)] == phase)
    own = tuple(range(lattice.q))
    entries = {q: -1 - k for k, q in enumerate(directions)}
    load = tuple(entries.get(q, q) for q in own)
    store = tuple(entries.get(opposite[q], opposite[q]) for q in own)
    return Pattern(True, directions, load, store, True, opposite, own)


def _phases(lattice: Lattice) -> dict:
    """Phase of each kind of direction. Directions that differ in signs only share it, since a slip wall reflects one
    into another; the largest kinds are assigned first, each to the phase that has fewer directions."""
    kinds = [_kind(lattice, q) for q in range(1, lattice.q)]
    sizes, phases = [0, 0], {}
    for kind in sorted(set(kinds), key=lambda kind: (-kinds.count(kind), kind)):
        phases[kind] = sizes.index(min(sizes))
        sizes[phases[kind]] += kinds.count(kind)
    return phases


def _kind(lattice: Lattice, q: int) -> tuple[int, ...]:
    """Absolute values of the components of a direction."""
    return tuple(int(abs(component)) for component in lattice.c[q])
