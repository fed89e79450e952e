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


@cache
def walls(walls_operator, lattice, precision, moves):
    """Overwrite what arrives through the links of nodes at walls, and the populations at rest if ``stored`` has their
    bit. Locations are no constants here: to compile again for each streaming and phase takes longer than to look them
    up. ``moves``: whether any wall does; a branch on it would stop the vectoriser. There are exchanges always."""
    update = walls_operator.compile(lattice, precision, unrolled)
    n_directions, real = lattice.q - 1, precision.real

    @sweep_jit
    def sweep(buffer, walls, leaves_at, arrives_at, stored):
        leaving, arriving = np.empty((n_directions + 1, WARP), real), np.empty((n_directions + 1, WARP), real)
        there, near = np.empty((n_directions + 1, WARP), walls.rest.dtype), np.empty((n_directions, WARP), real)
        changed, step = np.zeros(WARP, np.uint32), np.uint64(WARP)
        for warp in range(walls.rest.size // WARP):
            node, first = warp * np.uint64(WARP), warp * np.uint64(n_directions * WARP)
            load(leaving, there, buffer, walls, warp, leaves_at)
            load(arriving, there, buffer, walls, warp, arrives_at)
            clear(arriving, walls.wanted, warp)
            for k in range(n_directions):
                move_row(near, k * WARP, walls.near, np.int64(first) + k * WARP)
            # Always true, but without it the compiler would not know that the branches of the update are none.
            if (walls.momentum.size > 0) == moves and walls.along_walls.size > 0:
                for i in range(WARP):
                    lane = np.uint64(i)
                    changed[i] = update(
                        arriving[:, i], leaving[:, i], near[:, i], node + lane, first + lane, step, walls
                    )
            store(buffer, there, arriving, changed, stored)

    @loop_jit
    def skeleton(buffer, walls, leaves_at, arrives_at, stored):
        n_warps = walls.rest.size // WARP
        for chunk in prange((n_warps + CHUNK - 1) // CHUNK):
            start = chunk * CHUNK
            sweep(buffer, part(walls, start, min(n_warps, start + CHUNK)), leaves_at, arrives_at, stored)

    return skeleton


@node_jit
def part(walls, first, last):
    """The arrays of a range of warps: counted from 0, numbers are seen not to be negative, and rows to be rows."""
    n_directions = walls.entry.size // walls.rest.size
    nodes, numbers = slice(first * WARP, last * WARP), slice(first * n_directions * WARP, last * n_directions * WARP)
    return WallArrays(
        walls.rest[nodes],
        walls.entry[numbers],
        walls.into_walls[nodes],
        walls.along_walls[nodes],
        walls.wanted[nodes],
        walls.near[numbers],
        walls.opposed[numbers],
        walls.momentum[numbers],
        walls.passed[numbers],
        walls.wall[numbers],
        walls.value,
    )


def unrolled(function):
    """Node function whose loops are unrolled, as the vectoriser takes innermost loops only."""
    return node_jit(unroll(function))


@node_jit
def load(f, there, buffer, walls, warp, locations):
    """Load the populations of a warp, and note their addresses; ``locations`` as of
    :class:`muphy_lb.domain.Crossing`."""
    first = warp * (f.shape[0] - 1)
    for q in range(f.shape[0]):
        location = locations[q]
        if location >= 0:
            for lane in range(WARP):
                there[q, lane] = walls.rest[warp * WARP + lane] + np.uint64(location * ROW)
        else:
            move_row(there, q * WARP, walls.entry, (first - 1 - location) * WARP)
        for lane in range(WARP):
            f[q, lane] = buffer[there[q, lane]]


@node_jit
def clear(f, wanted, warp):
    """0 for the populations that are not wanted."""
    for q in range(f.shape[0]):
        for lane in range(WARP):
            population = f[q, lane]
            f[q, lane] = population if wanted[warp * WARP + lane] >> np.uint32(q) & ONE else 0


@node_jit
def store(buffer, there, f, changed, stored):
    """Store those populations of a warp whose bit is set."""
    for lane in range(WARP):
        bits = changed[lane] & stored
        while bits:
            q = count_bits((bits & (~bits + ONE)) - ONE)
            buffer[there[q, lane]] = f[q, lane]
            bits &= bits - ONE
