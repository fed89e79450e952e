"""Memory layout of a population buffer: tiles of nodes, inside a tile one row per direction.

Inside a tile the rows have a constant distance, so kernels address all populations of a node from one base address, and
accesses of a warp are contiguous. Nodes are grouped in warps of 32, the unit of the run table, and in pairs of warps,
the unit of threads that process two nodes.
"""

import numpy as np

WARP = 32
GROUP = 2 * WARP
TILE = 4096
# Distance of the rows of a tile: a power of two would map all rows to the same sets of a CPU cache.
ROW = TILE + WARP
#: Numbers that a vector at a node takes up: its components lie beside each other, in aligned pieces of memory, which
#: GPUs read and write at once.
RECORD = 4


def whole(n: int, unit: int) -> int:
    """The smallest multiple of ``unit`` that is not below ``n``."""
    return -(-n // unit) * unit


def flat_address(q, node, q_count: int):
    """Flat address of population ``q`` of ``node``: integers or broadcastable integer arrays."""
    return node // TILE * (q_count * ROW) + q * ROW + node % TILE


def buffer_size(pitch: int, q_count: int) -> int:
    """Size of a buffer for the populations of ``pitch`` nodes, a multiple of ``TILE``."""
    return pitch // TILE * (q_count * ROW)


def all_addresses(rows, q_count: int, n: int) -> np.ndarray:
    """(len(rows), n) int64 addresses of the given rows of the nodes ``[0, n)``."""
    return flat_address(np.asarray(rows, dtype=np.int64)[:, None], np.arange(n), q_count)
