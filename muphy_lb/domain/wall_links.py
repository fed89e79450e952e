"""What becomes of the links into each wall: folded into the address table, given a slot each, or mirrored."""

from dataclasses import dataclass

import numpy as np

from muphy_lb.domain.links import is_opening, is_wall
from muphy_lb.errors import InputError
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, WALL_LINK
from muphy_lb.lattice import Lattice

FOLDED, SLOTTED, MIRRORED = 0, 1, 2


@dataclass(frozen=True)
class WallTreatment:
    """How each wall is treated.

    ``FOLDED``: half-way bounce-back, stationary, at no cost. ``SLOTTED``: every link is a record whose incoming
    population a kernel computes (interpolated or moving walls). ``MIRRORED``: free slip, folded too.

    Attributes:
        labelled: of each labelled wall of the geometry.
        plain: of all other walls, ``FOLDED`` or ``SLOTTED``.
    """

    labelled: tuple[int, ...] = ()
    plain: int = FOLDED

    @property
    def slip(self) -> tuple[int, ...]:
        """Numbers of the labelled walls that slip."""
        return tuple(number for number, kind in enumerate(self.labelled) if kind == MIRRORED)

    def has_slots(self, table: np.ndarray) -> np.ndarray:
        """(n,) mask of the nodes of a (Q, n) neighbour table with a link that gets a slot."""
        codes = [WALL_LINK] if self.plain == SLOTTED else []
        codes += [FIRST_WALL_LINK - number for number, kind in enumerate(self.labelled) if kind == SLOTTED]
        mask = np.zeros(table.shape[1], dtype=bool)
        for row in table if codes else ():
            mask |= np.isin(row, codes)
        return mask


@dataclass(frozen=True)
class Mirrored:
    """Links that free slip reflects: what leaves ``node`` in direction ``q_out`` arrives at ``far`` in ``q_far``, and
    what arrives at ``node`` in direction ``q_in`` left ``far`` in the direction opposite to ``q_far``. All (m,) int64;
    ``far`` is a node-list number."""

    node: np.ndarray
    q_out: np.ndarray
    far: np.ndarray
    q_far: np.ndarray
    q_in: np.ndarray


def open_corners(table: np.ndarray, slip, lattice: Lattice) -> np.ndarray:
    """The (Q, n) neighbour table with links that graze a slip wall at the rim of an opening counted as the opening's.

    Such a link leads past a slip wall into the corner behind it, and its tangential part into an opening: the mirror
    image of a link into that opening. Without this it would bounce back and brake the flow along the wall.

    Args:
        table: link codes as of ``muphy_lb.geometry.neighbours``; changed in place.
        slip: numbers of the labelled walls that slip.
        lattice: the velocity set.
    """
    codes = FIRST_WALL_LINK - np.array(slip, dtype=np.int64)
    for q in range(1, lattice.q) if len(slip) else ():
        for mirror in _reflections(q, lattice):
            along = table[mirror.along]
            corner = is_opening(along) & is_wall(table[q]) & np.isin(table[mirror.face], codes)
            table[q, corner] = along[corner]
    return table


def mirrored_links(table: np.ndarray, treatment: WallTreatment, lattice: Lattice) -> Mirrored:
    """Specular reflection half-way between fluid and wall voxels, for links that meet a flat piece of a slip wall.

    A link has a flat piece where exactly one of its components leads out of the fluid, both that voxel and the link's
    own belong to slip walls, and the node that its other components lead to is fluid. Elsewhere (edges, corners) the
    link keeps its bounce-back, so that links stay paired and no mass is lost.

    Args:
        table: (Q, n) node-list numbers and link codes.

    Raises:
        InputError: a slip wall on a lattice without the tangential links that it needs.
    """
    slip = treatment.slip
    codes = FIRST_WALL_LINK - np.array(slip, dtype=np.int64)
    found = [_of_direction(q, table, codes, lattice) for q in range(1, lattice.q)] if slip else []
    empty = np.zeros((5, 0), dtype=np.int64)
    return Mirrored(*np.concatenate([empty, *found], axis=1))


@dataclass(frozen=True)
class _Reflection:
    """Directions around a link that one flat wall reflects: ``face`` straight at the wall, ``along`` it, ``q_far`` away
    from it on the other side, and the ``others`` of its components."""

    face: int
    along: int
    q_far: int
    others: tuple[int, ...]


def _reflections(q: int, lattice: Lattice):
    """Reflections of direction q, one for each axis that may be normal to the wall; none for a link straight at it.

    Raises:
        InputError: the lattice lacks the tangential links that reflection needs.
    """
    if lattice.name == "D3Q15":
        raise InputError("a wall slips, which D3Q15 cannot do: it has no face diagonals; use D3Q19 or D3Q27")
    number_of = {tuple(vector): k for k, vector in enumerate(lattice.c.tolist())}
    vector = lattice.c[q]
    axes = np.flatnonzero(vector)
    component = {axis: np.where(np.arange(3) == axis, vector, 0) for axis in axes}
    for normal in axes if axes.size > 1 else ():
        tangent = vector - component[normal]
        straight = {axis: number_of[tuple(component[axis])] for axis in axes}
        others = tuple(straight[axis] for axis in axes if axis != normal)
        away = number_of[tuple(tangent - component[normal])]
        yield _Reflection(straight[normal], number_of[tuple(tangent)], away, others)


def _of_direction(q: int, table, codes, lattice) -> np.ndarray:
    """(5, m) rows of :class:`Mirrored` for one outgoing direction."""
    rows = [np.zeros((5, 0), dtype=np.int64)]
    for mirror in _reflections(q, lattice):
        flat = np.isin(table[q], codes) & np.isin(table[mirror.face], codes) & (table[mirror.along] >= 0)
        for other in mirror.others:
            flat &= table[other] >= 0
        node = np.flatnonzero(flat)
        constants = (np.full_like(node, number) for number in (q, mirror.q_far, lattice.opposite[q]))
        q_out, q_far, q_in = constants
        rows.append(np.array([node, q_out, table[mirror.along, node], q_far, q_in]))
    return np.concatenate(rows, axis=1)
