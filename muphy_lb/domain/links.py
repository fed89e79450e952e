"""LinkRecords: links from fluid nodes into openings or walls, as flat index records."""

from dataclasses import dataclass

import numpy as np

from muphy_lb.geometry.neighbours import FIRST_OPENING_LINK, FIRST_WALL_LINK, WALL_LINK

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
    """One record per link, sorted by boundary, voxel id, direction.

    Attributes:
        node: (L,) int64 local node.
        q: (L,) int64 outgoing direction, from the node into the boundary.
        boundary: (L,) int64 number of the opening, or of the wall.
        voxel: (L,) int64 voxel id of the node.
    """

    node: np.ndarray
    q: np.ndarray
    boundary: np.ndarray
    voxel: np.ndarray

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
