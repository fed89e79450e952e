"""What becomes of the links into each wall: folded into the address table, given a slot each, or mirrored."""

from dataclasses import dataclass

import numpy as np

from geometry.neighbours import FIRST_WALL_LINK, WALL_LINK
from muphy_lb.errors import InputError
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
    slip = [number for number, kind in enumerate(treatment.labelled) if kind == MIRRORED]
    if slip and lattice.name == "D3Q15":
        raise InputError("a wall slips, which D3Q15 cannot do: it has no face diagonals; use D3Q19 or D3Q27")
    codes = FIRST_WALL_LINK - np.array(slip, dtype=np.int64)
    found = [_of_direction(q, table, codes, lattice) for q in range(1, lattice.q)] if slip else []
    empty = np.zeros((5, 0), dtype=np.int64)
    return Mirrored(*np.concatenate([empty, *found], axis=1))


def _of_direction(q: int, table, codes, lattice) -> np.ndarray:
    """(5, m) rows of :class:`Mirrored` for one outgoing direction; of each normal axis in turn."""
    number_of = {tuple(vector): k for k, vector in enumerate(lattice.c.tolist())}
    vector = lattice.c[q]
    axes = np.flatnonzero(vector)
    face = {axis: number_of[tuple(vector[axis] * np.eye(3, dtype=int)[axis])] for axis in axes}
    rows = []
    for normal in axes:
        tangent = vector.copy()
        tangent[normal] = 0
        if not tangent.any():
            continue  # straight at the wall: bounce-back is the reflection
        along = number_of[tuple(tangent)]
        flat = np.isin(table[q], codes) & np.isin(table[face[normal]], codes) & (table[along] >= 0)
        for axis in axes[axes != normal]:
            flat &= table[face[axis]] >= 0
        node = np.flatnonzero(flat)
        reflected = tangent.copy()
        reflected[normal] = -vector[normal]
        q_far = number_of[tuple(reflected)]
        rows.append(
            [
                node,
                np.full_like(node, q),
                table[along, node],
                np.full_like(node, q_far),
                np.full_like(node, lattice.opposite[q]),
            ]
        )
    return np.concatenate([np.zeros((5, 0), dtype=np.int64), *(np.array(row) for row in rows)], axis=1)
