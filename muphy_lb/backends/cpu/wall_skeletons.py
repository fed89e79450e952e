"""The pass over nodes at walls in Numba, vectorised over the nodes of a warp as in
:mod:`muphy_lb.backends.cpu.skeletons`, and parallel over chunks of warps."""

from functools import cache

import numpy as np
from numba import prange

from muphy_lb.backends.arrays import WallArrays
from muphy_lb.backends.cpu.rows import count_bits, move_row
from muphy_lb.backends.cpu.skeletons import ONE, loop_jit, node_jit, sweep_jit
from muphy_lb.domain import ROW, WARP
from muphy_lb.operators.unroll import unroll

# Warps of nodes at walls that are the unit of work of a thread.
CHUNK = 32
NOTHING = np.uint32(0)


@cache
def walls(walls_operator, lattice, precision, moves):
    """Overwrite what arrives through the links of nodes at walls, and their populations at rest, if their bits are set
    in ``stored``; there must be a mask of exchanges.

    Locations are no constants here: to compile again for each streaming and phase takes longer than to look them up.
    ``moves``: whether any wall does; a branch on it inside the loop over lanes would stop the vectoriser.
    """
    update = walls_operator.compile(lattice, precision, unrolled)
    q_count, n_directions, real = lattice.q, lattice.q - 1, precision.real

    @sweep_jit
    def sweep(buffer, all_walls, leaves_at, arrives_at, stored, first, last):
        leaving, arriving = np.empty((q_count, WARP), real), np.empty((q_count, WARP), real)
        there, b = np.empty((q_count, WARP), all_walls.rest.dtype), np.empty((n_directions, WARP), real)
        changed = np.empty(WARP, np.uint32)
        for warp in range(first, last):
            walls = of_warp(all_walls, warp, n_directions)
            locate(there, walls, leaves_at)
            load_all(leaving, buffer, there)
            locate(there, walls, arrives_at)
            load(arriving, buffer, there, walls.needed)
            for k in range(n_directions):
                move_row(b, k * WARP, walls.b, k * WARP)
            # Always true, but without it the compiler would not know that the update has no branches.
            if (walls.d.size > 0) == moves and walls.along_walls.size > 0:
                for lane in range(WARP):
                    changed[lane] = update(arriving[:, lane], leaving[:, lane], b[:, lane], lane, lane, WARP, walls)
            leave_out(changed, walls.into_walls, stored)
            store(buffer, there, arriving, changed)

    @loop_jit
    def skeleton(buffer, walls, leaves_at, arrives_at, stored):
        n_warps = walls.rest.size // WARP
        for chunk in prange((n_warps + CHUNK - 1) // CHUNK):
            start = chunk * CHUNK
            sweep(buffer, walls, leaves_at, arrives_at, stored, start, min(n_warps, start + CHUNK))

    return skeleton


def unrolled(function):
    """Node function whose loops are unrolled, as the vectoriser takes innermost loops only."""
    return node_jit(unroll(function))


@node_jit
def of_warp(walls, warp, n_directions):
    """The arrays of one warp. Their indices are lanes, which the compiler knows not to be negative."""
    nodes = slice(warp * WARP, (warp + 1) * WARP)
    numbers = slice(nodes.start * n_directions, nodes.stop * n_directions)
    return WallArrays(
        walls.rest[nodes],
        walls.entry[numbers],
        walls.into_walls[nodes],
        walls.along_walls[nodes],
        walls.needed[nodes],
        walls.b[numbers],
        walls.c[numbers],
        walls.d[numbers],
        walls.inflow[numbers],
        walls.wall[numbers],
        walls.value,
    )


@node_jit
def locate(there, walls, locations):
    """Find the addresses of the populations of a warp; ``locations`` as of :class:`muphy_lb.domain.Crossing`."""
    for q in range(there.shape[0]):
        location = locations[q]
        if location >= 0:
            for lane in range(WARP):
                there[q, lane] = walls.rest[lane] + np.uint64(location * ROW)
        else:
            move_row(there, q * WARP, walls.entry, (-1 - location) * WARP)


@node_jit
def load_all(f, buffer, there):
    """Load all populations of a warp."""
    for q in range(f.shape[0]):
        for lane in range(WARP):
            f[q, lane] = buffer[there[q, lane]]


@node_jit
def lowest(bits):
    """Number of the lowest bit that is set."""
    return count_bits((bits & (~bits + ONE)) - ONE)


@node_jit
def load(f, buffer, there, needed):
    """Load the populations of a warp whose bit is set; the others are 0."""
    f[:, :] = 0
    for lane in range(WARP):
        bits = needed[lane]
        while bits:
            q = lowest(bits)
            f[q, lane] = buffer[there[q, lane]]
            bits &= bits - ONE


@node_jit
def leave_out(changed, into_walls, stored):
    """Clear the bits of populations that are not to be stored: those of padding, which has no links and the addresses
    of the first node, and at all nodes those without their bit in ``stored``."""
    for lane in range(WARP):
        changed[lane] = changed[lane] & stored if into_walls[lane] else NOTHING


@node_jit
def store(buffer, there, f, changed):
    """Store the populations of a warp whose bit is set."""
    for lane in range(WARP):
        bits = changed[lane]
        while bits:
            q = lowest(bits)
            buffer[there[q, lane]] = f[q, lane]
            bits &= bits - ONE
