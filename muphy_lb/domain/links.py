"""LinkRecords: the links from fluid nodes into openings, as flat index records."""

from dataclasses import dataclass

import numpy as np

from geometry.neighbours import FIRST_OPENING_LINK

# Codes of the local neighbour table continue those of geometry: far below every FIRST_OPENING_LINK - k.
REMOTE_LINK = -1000


@dataclass(frozen=True)
class LinkRecords:
    """One record per link that leaves the fluid through an opening, sorted by opening, voxel id, direction.

    Attributes:
        node: (L,) int64 local node.
        q: (L,) int64 outgoing direction, from the node into the opening.
        opening: (L,) int64 opening number.
        voxel: (L,) int64 voxel id of the node.
    """

    node: np.ndarray
    q: np.ndarray
    opening: np.ndarray
    voxel: np.ndarray

    @property
    def n_links(self) -> int:
        """Number of records."""
        return int(self.node.size)


def record_links(table: np.ndarray, voxel: np.ndarray) -> LinkRecords:
    """Collect the opening links of a (Q, n) local neighbour table."""
    q, node = np.nonzero((table <= FIRST_OPENING_LINK) & (table > REMOTE_LINK))
    opening = FIRST_OPENING_LINK - table[q, node].astype(np.int64)
    order = np.lexsort((q, voxel[node], opening))
    return LinkRecords(node[order], q[order], opening[order], voxel[node[order]])
