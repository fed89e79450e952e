"""Streaming patterns: where a step finds the populations of a node, and where it leaves them.

``pull`` gathers from the neighbours and stores locally in a second buffer. ``push`` loads locally and scatters to a
second buffer (Bernaschi et al. 2009, MUPHY). ``aa`` needs one buffer: a pair of opposite directions is in turn
exchanged within the node and with the neighbours (A-A pattern: Bailey, Myre, Walsh, Lilja, Saar, ICPP 2009; Schreiber
et al. 2011). Pairs are independent of each other, so here half of them are exchanged with the neighbours in even steps
and the others in odd steps: all steps cost the same, and each reads half of the table.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from muphy_lb.lattice import Lattice

STREAMINGS = ("pull", "push", "aa")
IN_PLACE = ("aa",)


@dataclass(frozen=True)
class Pattern:
    """One kind of step.

    A place is a number: ``r >= 0`` is row r of the node itself, ``-1 - k`` is entry k of the node's table.

    Attributes:
        streaming: its name.
        directions: direction of each table entry, ascending.
        load: place where population q of the node is found, for each q.
        store: place where it is left.
        upstream: whether the table leads to the node at ``x - c_q``; else ``x + c_q``.
        far_row, wall_row: row of the entry of direction q at that node, and at the node itself where a wall is.
    """

    streaming: str
    directions: tuple[int, ...]
    load: tuple[int, ...]
    store: tuple[int, ...]
    upstream: bool
    far_row: tuple[int, ...]
    wall_row: tuple[int, ...]

    @property
    def in_place(self) -> bool:
        """Whether the step writes to the buffer that it reads."""
        return self.streaming in IN_PLACE

    def turn(self, directions) -> np.ndarray:
        """Mask of the directions whose pair is exchanged with the neighbours in this step."""
        return np.isin(directions, self.directions)


def is_entry(place: int) -> bool:
    """Whether a place is an entry of the table."""
    return place < 0


def entry(place: int) -> int:
    """Number of the table entry that a place means."""
    return -1 - place


@cache
def patterns(streaming: str, lattice: Lattice) -> tuple[Pattern, ...]:
    """The patterns of consecutive steps; they repeat."""
    own = tuple(range(lattice.q))
    opposite = tuple(int(q) for q in lattice.opposite)
    moving = own[1:]
    in_table = (0, *(-q for q in moving))
    if streaming == "pull":
        return (Pattern(streaming, moving, in_table, own, True, own, opposite),)
    if streaming == "push":
        return (Pattern(streaming, moving, own, in_table, False, own, opposite),)
    return tuple(_exchanging(turn, lattice, opposite) for turn in (0, 1))


def _exchanging(turn: int, lattice: Lattice, opposite) -> Pattern:
    """A-A with half of the pairs exchanged with the neighbours."""
    directions = tuple(q for q in range(1, lattice.q) if _turns(lattice)[_kind(lattice, q)] == turn)
    own = tuple(range(lattice.q))
    place = {q: -1 - k for k, q in enumerate(directions)}
    load = tuple(place.get(q, q) for q in own)
    store = tuple(place.get(opposite[q], opposite[q]) for q in own)
    return Pattern("aa", directions, load, store, True, opposite, own)


def _turns(lattice: Lattice) -> dict:
    """Turn of each kind of direction. Those that differ in signs only share it, since a slip wall mirrors one into
    another; the largest kinds go first, each to the turn that has fewer directions."""
    kinds = [_kind(lattice, q) for q in range(1, lattice.q)]
    sizes, turns = [0, 0], {}
    for kind in sorted(set(kinds), key=lambda kind: (-kinds.count(kind), kind)):
        turns[kind] = sizes.index(min(sizes))
        sizes[turns[kind]] += kinds.count(kind)
    return turns


def _kind(lattice: Lattice, q: int) -> tuple[int, ...]:
    """A direction without its signs."""
    return tuple(int(abs(component)) for component in lattice.c[q])
