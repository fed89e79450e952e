"""RunTable: the address table of a step, run-compressed: in a run, addresses of consecutive nodes increase by one.

Nodes are numbered along x, so the addresses of a warp of 32 consecutive nodes increase by one except where a row ends
or a wall begins; those of bounce-back links increase, too. For each warp and direction the table holds the 32-bit mask
of the lanes where a run starts, and for each run one base. With ``first`` the number of the direction's first run,

    address(lane) = base[first + popcount(mask & lanes up to and including lane)] + lane

This holds for every geometry, without wall flags, branches or fallbacks. A line is read by one warp: the number of runs
of all warps before it, then one mask per direction. ``base[0]`` is unused, which saves a subtraction of 1.
"""

from dataclasses import dataclass

import numpy as np
from numba import prange

from muphy_lb.base.errors import InputError
from muphy_lb.base.kept.functions import njit
from muphy_lb.lattice.layout import WARP, whole

# Lines are read in words of 16 bytes.
LINE_UNIT = 4
MAX_RUNS = 2**32 - 1


@dataclass(frozen=True)
class RunTable:
    """A compressed (K, n) table of addresses; K directions, n nodes in whole warps."""

    lines: np.ndarray  #: (n_warps, words) uint32: number of runs of all warps before, mask of each direction, zeros
    #: (1 + n_runs,) address of each run's lane 0, in the order of warps, directions, lanes; uint32, or uint64 where the
    #: buffer is larger. A base may lie before the buffer; it then wraps around.
    bases: np.ndarray
    n_directions: int  #: K

    @property
    def runs_per_warp(self) -> float:
        """Mean number of runs of a warp and direction."""
        return (self.bases.size - 1) / max(1, len(self.lines) * self.n_directions)


def compress(chunks, n_directions: int, n_slots: int) -> RunTable:
    """Compress a table given in chunks.

    Args:
        chunks: (K, m) int64 addresses of consecutive nodes, m whole warps.
        n_slots: size of the buffer that the addresses belong to.

    Raises InputError: more runs than a line can count.
    """
    dtype = np.uint32 if n_slots <= 2**32 else np.uint64
    lines, bases, n_runs = [], [np.zeros(1, dtype=dtype)], 0
    for addresses in chunks:
        part, counts = _start_lines(addresses, n_directions)
        first = n_runs + np.cumsum(counts) - counts
        n_runs += int(counts.sum())
        if n_runs > MAX_RUNS:
            raise InputError(
                f"the address table has more than {MAX_RUNS:,} runs on one rank; use more ranks, or a geometry whose"
                " rows are longer"
            )
        part[:, 0] = first
        bases.append(_bases(addresses, part, first - first[:1], int(counts.sum())).astype(dtype))
        lines.append(part)
    return RunTable(np.concatenate(lines), np.concatenate(bases), n_directions)


def decode(table: RunTable) -> np.ndarray:
    """(K, n) int64 addresses: the inverse of :func:`compress`."""
    lanes = np.arange(WARP)
    up_to = np.uint32(0xFFFFFFFF) >> (31 - lanes).astype(np.uint32)
    masks = table.lines[:, 1 : 1 + table.n_directions]
    started = np.bitwise_count(masks[:, :, None] & up_to).astype(np.int64)
    count = np.bitwise_count(masks).astype(np.int64)
    first = table.lines[:, :1].astype(np.int64) + np.cumsum(count, axis=1) - count
    addresses = table.bases[first[:, :, None] + started] + lanes.astype(table.bases.dtype)
    return addresses.astype(np.int64).transpose(1, 0, 2).reshape(table.n_directions, -1)


def _start_lines(addresses, n_directions):
    """Lines with their masks, and the number of runs of each warp."""
    lines = np.zeros((addresses.shape[1] // WARP, whole(1 + n_directions, LINE_UNIT)), dtype=np.uint32)
    counts = np.zeros(len(lines), dtype=np.int64)
    _fill_masks(addresses, lines, counts)
    return lines, counts


@njit(parallel=True, cache=True, usually="(int64[:,::1], uint32[:,::1], int64[::1])")
def _fill_masks(addresses, lines, counts):
    for warp in prange(lines.shape[0]):
        for k in range(addresses.shape[0]):
            mask = _starts(addresses[k], warp * WARP)
            lines[warp, 1 + k] = mask
            counts[warp] += _count(mask)


@njit(cache=True)
def _starts(row, first):
    """Mask of the lanes of a warp where a run starts."""
    mask, addresses = np.uint32(1), row[first : first + WARP]
    for lane in range(1, WARP):
        mask |= np.uint32(addresses[lane] != addresses[lane - 1] + 1) << np.uint32(lane)
    return mask


@njit(cache=True)
def _count(mask):
    count = 0
    while mask:
        mask &= mask - np.uint32(1)
        count += 1
    return count


@njit(parallel=True, cache=True, usually="(int64[:,::1], uint32[:,::1], int64[::1], int64)")
def _bases(addresses, lines, first, n_runs):
    bases = np.empty(n_runs, dtype=np.int64)
    for warp in prange(lines.shape[0]):
        run = first[warp]
        for k in range(addresses.shape[0]):
            run = _write_bases(bases, run, addresses[k], warp * WARP, lines[warp, 1 + k])
    return bases


@njit(cache=True)
def _write_bases(bases, run, row, first, mask):
    """Bases of the runs of a mask; the number of the next run."""
    lane = 0
    while mask:
        if mask & np.uint32(1):
            bases[run] = row[first + lane] - lane
            run += 1
        mask >>= np.uint32(1)
        lane += 1
    return run
