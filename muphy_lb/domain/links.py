"""Links from fluid nodes into openings and walls as flat index records, and how each wall is treated: in the address
table, link by link, or by specular reflection."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.neighbours import FIRST_OPENING_LINK, FIRST_WALL_LINK, WALL_LINK
from muphy_lb.geometry.search import distinct
from muphy_lb.lattice import Lattice

# Largest difference from 1 of the component of an opening's normal along an axis to which its plane is normal.
AXIS_TOLERANCE = 1e-9
# Link codes of the local neighbour table continue those of the geometry, below those of openings and walls.
REMOTE_LINK = -1000


def is_opening(code: np.ndarray) -> np.ndarray:
    """Whether each link code leads into an opening."""
    return (code <= FIRST_OPENING_LINK) & (code > FIRST_WALL_LINK)


def is_labelled_wall(code: np.ndarray) -> np.ndarray:
    """Whether each link code leads into a labelled wall."""
    return (code <= FIRST_WALL_LINK) & (code > REMOTE_LINK)


def is_wall(code: np.ndarray) -> np.ndarray:
    """Whether each link code leads into any wall."""
    return (code == WALL_LINK) | is_labelled_wall(code)


@dataclass(frozen=True)
class LinkRecords:
    """One record per link, sorted by boundary, voxel id, direction."""

    node: np.ndarray  #: (L,) int64 local node
    q: np.ndarray  #: (L,) int64 outgoing direction, from the node into the boundary
    boundary: np.ndarray  #: (L,) int64 number of the opening, or of the wall
    voxel: np.ndarray  #: (L,) int64 voxel id of the node

    @property
    def n_links(self) -> int:
        """Number of records."""
        return int(self.node.size)

    def select(self, chosen) -> "LinkRecords":
        """The records chosen by a mask or an index array."""
        return LinkRecords(self.node[chosen], self.q[chosen], self.boundary[chosen], self.voxel[chosen])

    def join(self, other: "LinkRecords") -> "LinkRecords":
        """The records of both, these first."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return LinkRecords(*(np.concatenate(pair) for pair in pairs))


def opening_records(table: np.ndarray, voxel: np.ndarray) -> LinkRecords:
    """Collect the opening links of a (Q, n) neighbour table whose columns are the nodes ``voxel``."""
    return _records(table, voxel, is_opening, FIRST_OPENING_LINK)


def wall_records(table: np.ndarray, voxel: np.ndarray) -> LinkRecords:
    """Collect the links into labelled walls of a (Q, n) neighbour table."""
    return _records(table, voxel, is_labelled_wall, FIRST_WALL_LINK)


def code_records(table: np.ndarray, voxel: np.ndarray, code: int, boundary: int) -> LinkRecords:
    """Collect the links of one code of a (Q, n) neighbour table as links of ``boundary``."""
    return _records(table, voxel, lambda row: row == code, code + boundary)


def _records(table, voxel, wanted, first) -> LinkRecords:
    found = [np.flatnonzero(wanted(row)) for row in table]
    node = np.concatenate(found)
    q = np.repeat(np.arange(len(table)), [part.size for part in found])
    boundary = first - table[q, node].astype(np.int64)
    order = np.lexsort((q, voxel[node], boundary))
    return LinkRecords(node[order], q[order], boundary[order], voxel[node[order]])


IN_TABLE, LINKWISE, SPECULAR = 0, 1, 2


@dataclass(frozen=True)
class WallTreatment:
    """How each wall is treated. ``IN_TABLE``: half-way bounce-back at a stationary wall, at no cost. ``LINKWISE``:
    every link has a record and a slot; a kernel computes its incoming population (interpolated or moving walls).
    ``SPECULAR``: free slip, also at no cost."""

    labelled: tuple[int, ...] = ()  #: treatment of each labelled wall of the geometry
    plain: int = IN_TABLE  #: treatment of all other walls, ``IN_TABLE`` or ``LINKWISE``
    #: whether linkwise walls read populations that, in place, the node on the side away from the wall overwrites in the
    #: same step; it must wait for them
    reads_behind: bool = False

    @property
    def slip(self) -> tuple[int, ...]:
        """Numbers of the labelled walls that slip."""
        return tuple(number for number, kind in enumerate(self.labelled) if kind == SPECULAR)

    def has_linkwise(self, table: np.ndarray) -> np.ndarray:
        """(n,) mask of the nodes of a (Q, n) neighbour table with a link into a linkwise wall."""
        mask = np.zeros(table.shape[1], dtype=bool)
        for row in table if self._linkwise_codes else ():
            mask |= np.isin(row, self._linkwise_codes)
        return mask

    def behind(self, table: np.ndarray, lattice: Lattice) -> np.ndarray:
        """Nodes that a (Q, n) neighbour table names on the side of its nodes away from linkwise walls, if their
        populations are read."""
        codes = self._linkwise_codes if self.reads_behind else []
        found = [table[lattice.opposite[q], np.isin(table[q], codes)] for q in range(1, lattice.q) if codes]
        nodes = distinct(np.concatenate([np.zeros(0, dtype=np.int64), *found]))
        return nodes[nodes >= 0]

    @property
    def _linkwise_codes(self) -> list[int]:
        codes = [WALL_LINK] if self.plain == LINKWISE else []
        return codes + [FIRST_WALL_LINK - number for number, kind in enumerate(self.labelled) if kind == LINKWISE]


@dataclass(frozen=True)
class SpecularLinks:
    """Links that a plane reflects: what leaves ``node`` in direction ``q_out`` arrives at ``far`` in ``q_far``, and
    what arrives at ``node`` in direction ``q_in`` left ``far`` in the direction opposite to ``q_far``. All (m,) int64;
    ``far`` is a node-list number."""

    node: np.ndarray
    q_out: np.ndarray
    far: np.ndarray
    q_far: np.ndarray
    q_in: np.ndarray

    def select(self, chosen) -> "SpecularLinks":
        """The links chosen by a mask or an index array."""
        return SpecularLinks(*(column[chosen] for column in vars(self).values()))


def open_corners(table: np.ndarray, slip, lattice: Lattice) -> np.ndarray:
    """The (Q, n) neighbour table in which links that graze a slip wall at the rim of an opening lead into the opening.

    Such a link leads past a slip wall into the corner behind it, and its tangential part into an opening: the mirror
    image of a link into that opening. Otherwise it would bounce back and slow down the flow along the wall.

    Args:
        table: link codes as of ``muphy_lb.geometry.neighbours``; changed in place.
        slip: numbers of the labelled walls that slip.
    """
    codes = FIRST_WALL_LINK - np.array(slip, dtype=np.int64)
    for q in range(1, lattice.q) if len(slip) else ():
        for mirror in _reflections(q, lattice):
            along = table[mirror.along]
            corner = is_opening(along) & is_wall(table[q]) & np.isin(table[mirror.face], codes)
            table[q, corner] = along[corner]
    return table


def specular_links(table: np.ndarray, treatment: WallTreatment, lattice: Lattice) -> SpecularLinks:
    """Specular reflection half-way between fluid and wall voxels, for links that meet a flat part of a slip wall.

    A link meets a flat part where exactly one of its components leads out of the fluid, both that voxel and the link's
    own belong to slip walls, and the node that its other components lead to is fluid. Elsewhere (edges, corners) the
    link keeps its bounce-back, so that links stay paired and no mass is lost.

    Args:
        table: (Q, n) node-list numbers and link codes.

    Raises InputError: a slip wall on a lattice without the tangential links that it needs.
    """
    slip = treatment.slip
    codes = FIRST_WALL_LINK - np.array(slip, dtype=np.int64)
    found = [_of_direction(q, table, codes, lattice) for q in range(1, lattice.q)] if slip else []
    empty = np.zeros((5, 0), dtype=np.int64)
    return SpecularLinks(*np.concatenate([empty, *found], axis=1))


def mirrored_links(table: np.ndarray, openings, lattice: Lattice, beside: Callable) -> SpecularLinks:
    """Oblique links into openings whose plane is normal to an axis, each with the link of which it is the mirror image.

    Both cross the plane of the opening at the same point: what leaves through one of them enters, reflected by the
    plane, through the other. Where the rim of the opening lies between them a link has no mirror image.

    Args:
        table: (Q, n) node-list numbers and link codes.
        openings: those of the geometry, with the unit vector ``normal`` of each.
        beside: ``beside(vector, chosen)`` is the row of the table for any lattice vector, of some of its columns.
    """
    number_of = {tuple(vector): k for k, vector in enumerate(lattice.c.tolist())}
    rows = [np.zeros((5, 0), dtype=np.int64)]
    for number, axis in enumerate(plane_axes(openings)):
        code = FIRST_OPENING_LINK - number
        for q, vector in enumerate(lattice.c if axis >= 0 else ()):
            across = np.where(np.arange(3) == axis, vector, 0)
            along = vector - across
            if not across.any() or not along.any():
                continue
            face, image = number_of[tuple(across)], number_of[tuple(vector - 2 * across)]
            node = np.flatnonzero((table[q] == code) & (table[face] == code))
            far = beside(along, node).astype(np.int64)
            node, far = node[far >= 0], far[far >= 0]
            q_out, q_far, q_in = (np.full_like(node, each) for each in (q, image, lattice.opposite[q]))
            rows.append(np.array([node, q_out, far, q_far, q_in]))
    return SpecularLinks(*np.concatenate(rows, axis=1))


def plane_axes(openings) -> np.ndarray:
    """(n,) axis, 0 to 2, along which the ``normal`` of each opening, or of its frame, lies; -1 if it is oblique."""
    normal = np.abs([opening.normal for opening in openings]).reshape(-1, 3)
    return np.where(normal.max(axis=1, initial=0.0) > 1.0 - AXIS_TOLERANCE, normal.argmax(axis=1), -1)


@dataclass(frozen=True)
class Mirrors:
    """The mirror images of the opening links of one rank (:func:`mirrored_links`), those on other ranks last."""

    link: np.ndarray  #: (M,) opening links with a mirror image
    q: np.ndarray  #: (M,) direction of the image
    node: np.ndarray  #: (M - R,) local node of each image on this rank

    @property
    def n_remote(self) -> int:
        """R, the number of mirror images on other ranks."""
        return self.link.size - self.node.size


@dataclass(frozen=True)
class _Reflection:
    """Directions at a link that a flat wall reflects: ``face`` normal to the wall, ``along`` it, ``q_far`` away from it
    on the other side, and the ``others`` of its components."""

    face: int
    along: int
    q_far: int
    others: tuple[int, ...]


def _reflections(q: int, lattice: Lattice):
    """Reflections of direction q, one for each axis that may be normal to the wall; none for a link normal to it.
    Raises InputError: the lattice lacks the tangential links that reflection needs."""
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
    """(5, m) rows of :class:`SpecularLinks` for one outgoing direction."""
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
