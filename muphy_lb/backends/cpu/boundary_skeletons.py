"""Loops of the CPU over opening and wall links and over particles, and the kernels of schedules and feedback. The pass
over nodes at walls is vectorised over the nodes of a warp as in :mod:`muphy_lb.backends.cpu.skeletons`, and parallel
over chunks of warps."""

from functools import cache

import numpy as np
from numba import prange

from muphy_lb.backends import opening_links
from muphy_lb.backends.arrays import WEIGHT_SHARE, WallArrays
from muphy_lb.backends.cpu.rows import count_bits, move_row
from muphy_lb.backends.cpu.skeletons import ONE, bare_node_jit, bare_sweep_jit, loop_jit, node_jit, sweep_jit
from muphy_lb.base.precision import FP64
from muphy_lb.domain import ROW, WARP
from muphy_lb.operators.unroll import unroll

leaving_beside, shares_of, plane_of, momenta_of = map(
    node_jit,
    (opening_links.leaving_beside, opening_links.shares_of, opening_links.plane_of, opening_links.momenta_of),
)


@cache
def links(openings_operator, node_operator, reflection_operator, lattice, precision):
    """Compute the incoming population of every opening link, node after node."""
    condition = openings_operator.compile(lattice, precision, node_jit)
    at_node = node_operator.compile(lattice, precision, node_jit)
    reflected = reflection_operator.compile(lattice, precision, node_jit)
    q_count, real, unit = lattice.q, precision.real, precision.real(precision.unit)

    @sweep_jit
    def skeleton(state, buffer, target, links, parameters):
        f = np.empty(q_count, real)
        n_nodes, n_links = links.node.size, links.q.size
        for m in range(n_nodes):
            for q in range(q_count):
                f[q] = state[links.state[q * n_nodes + m]]
            is_closed, ux, uy, uz = at_node(f, links.node[m], parameters)
            for link in range(links.start[m], links.start[m + 1]):
                if is_closed:
                    target[links.incoming[link]] = buffer[links.outgoing[link]]
                    continue
                k = links.opening[link]
                kind, value = links.kind[k], unit * links.value[k]
                leaving = leaving_beside(buffer, links, link, n_links, real)
                shares, q, momenta = shares_of(links, k), links.q[link], momenta_of(links, link)
                plane, leaving = plane_of(links, k), reflected(leaving, shares, q, value)
                target[links.incoming[link]] = condition(leaving, q, kind, value, momenta, plane, ux, uy, uz)

    return skeleton


@cache
def link_fluxes(operators, lattice, precision, computes_entering):
    """Mass flow in through every opening link, and density deviation of the plane, in lattice units."""
    condition, at_node, density = (operator.compile(lattice, precision, node_jit) for operator in operators)
    q_count, real, unit = lattice.q, precision.real, precision.real(precision.unit)
    storage, per_unit = precision.storage, 1.0 / precision.unit

    @sweep_jit
    def skeleton(state, buffer, arriving, links, flux, deviation, parameters):
        f = np.empty(q_count, real)
        n_nodes = links.node.size
        for m in range(n_nodes):
            for q in range(q_count):
                f[q] = state[links.state[q * n_nodes + m]]
            is_closed, ux, uy, uz = at_node(f, links.node[m], parameters)
            for link in range(links.start[m], links.start[m + 1]):
                leaving = buffer[links.outgoing[link]]
                entering = arriving[links.incoming[link]]
                k = links.opening[link]
                kind, value = links.kind[k], unit * links.value[k]
                if computes_entering:
                    momenta, plane = momenta_of(links, link), plane_of(links, k)
                    entering = storage(condition(leaving, links.q[link], kind, value, momenta, plane, ux, uy, uz))
                    entering = leaving if is_closed else entering
                flux[link] = np.float64(entering) * per_unit - np.float64(leaving) * per_unit
                both = real(leaving) + real(entering)
                deviation[link] = np.float64(density(both, links.q[link], kind, value, ux, uy, uz)) * per_unit

    return skeleton


@sweep_jit
def next_row(rows, is_scheduled, following, n_rows, now):
    """The next row of a schedule, or the last one again."""
    row = min(following[0], n_rows[0] - 1)
    for i in range(now.size):
        if is_scheduled[i]:
            now[i] = rows[row * now.size + i]
    following[0] += 1


@sweep_jit
def profile(momentum, links, weights, values):
    """The momentum of links whose profile changes its shape."""
    n_links = links.size
    for i in range(n_links):
        total = values[0] * weights[i]
        for column in range(1, values.size):
            total += values[column] * weights[column * n_links + i]
        momentum[links[i]] = total


@sweep_jit
def sum_openings(fluxes, weight, opening, sums, scale):
    """Fixed-point sums by opening."""
    sums[:] = 0
    n_links = opening.size
    for link in range(n_links):
        first = 3 * opening[link]
        sums[first] += np.int64(np.rint(fluxes[link] * scale))
        sums[first + 1] += np.int64(np.rint(weight[link] * fluxes[n_links + link] * scale))
        sums[first + 2] += np.int64(np.rint(weight[link] * (scale * WEIGHT_SHARE)))


@cache
def feedback(advance_operator, lattice):
    """Advance the state of a condition with feedback, in double precision."""
    advance = advance_operator.compile(lattice, FP64, node_jit)

    @sweep_jit
    def skeleton(sums, weights, state, value, other_value, opening, n_openings, scale, parameters):
        outflow, deviation, weight = 0.0, np.int64(0), np.int64(0)
        for other in range(n_openings):
            inflow = np.int64(0)
            for first in range(3 * other, sums.size, 3 * n_openings):
                inflow += sums[first]
            outflow -= weights[other] * (inflow / scale)
        for rank in range(sums.size // (3 * n_openings)):
            first = 3 * (rank * n_openings + opening)
            deviation += sums[first + 1]
            weight += sums[first + 2]
        value[0] = advance(outflow, WEIGHT_SHARE * deviation / weight, state, parameters)
        other_value[0] = value[0]

    return skeleton


@cache
def particles(update_operator, lattice, precision):
    """Update all particles on one thread: Numba's parallel loops do not support records inside tuples."""
    update = update_operator.compile(lattice, precision, bare_node_jit)

    @bare_sweep_jit
    def skeleton(count, parameters):
        for i in range(count[0]):
            update(i, parameters)

    return skeleton


@cache
def settling(update_operator, lattice, precision):
    """Update particles on one thread, and store the nodes at which they are then."""
    update = update_operator.compile(lattice, precision, bare_node_jit)

    @bare_sweep_jit
    def skeleton(nodes, parameters):
        for i in range(nodes.size):
            nodes[i] = update(i, parameters)

    return skeleton


@cache
def over_range(update_operator, lattice, precision):
    """Call the update for every number of a range, on one thread: parameters may hold records."""
    update = update_operator.compile(lattice, precision, bare_node_jit)

    @bare_sweep_jit
    def skeleton(first, last, parameters):
        for i in range(first, last):
            update(i, parameters)

    return skeleton


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
