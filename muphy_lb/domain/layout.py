"""Where population q of node n lies in a flat buffer: tiles of nodes, inside a tile one row per direction.

Inside a tile the rows are a constant apart, so kernels reach all populations of a node from one address, and what a
warp touches lies together. Nodes are counted in warps of 32, the unit of the run table, and in pairs of warps, the
unit of a thread that takes two nodes.
"""

import numpy as np

WARP = 32
GROUP = 2 * WARP
TILE = 4096
# From one row of a tile to the next: not a power of two, which would put all rows into the same lines of a CPU's cache.
ROW = TILE + WARP


def whole(n: int, unit: int) -> int:
    """The smallest multiple of ``unit`` that is not below ``n``."""
    return -(-n // unit) * unit


def flat_address(q, node, q_count: int):
    """Flat address of population ``q`` of ``node``: numbers, or integer arrays that broadcast."""
    return node // TILE * (q_count * ROW) + q * ROW + node % TILE


def buffer_size(pitch: int, q_count: int) -> int:
    """Populations of a buffer with room for ``pitch`` nodes, whole tiles."""
    return pitch // TILE * (q_count * ROW)


def all_addresses(rows, q_count: int, n: int) -> np.ndarray:
    """(len(rows), n) int64 addresses of the given rows of the nodes ``[0, n)``."""
    return flat_address(np.asarray(rows, dtype=np.int64)[:, None], np.arange(n), q_count)
