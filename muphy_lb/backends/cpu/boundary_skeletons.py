"""Loops over opening and wall links and over particles, and the kernels of schedules and feedback."""

from functools import cache

import numpy as np

from muphy_lb.backends.cpu.skeletons import bare_node_jit, bare_sweep_jit, node_jit, sweep_jit
from muphy_lb.base.precision import FP64


@cache
def links(openings_operator, macroscopic_operator, lattice, precision):
    """Compute the incoming population of every opening link, node after node."""
    condition = openings_operator.compile(lattice, precision, node_jit)
    macroscopic = macroscopic_operator.compile(lattice, precision, node_jit)
    q_count, real, unit = lattice.q, precision.real, precision.real(precision.unit)

    @sweep_jit
    def skeleton(state, buffer, target, links, parameters):
        f = np.empty(q_count, real)
        n_nodes = links.node.size
        for m in range(n_nodes):
            for q in range(q_count):
                f[q] = state[links.state[q * n_nodes + m]]
            _, ux, uy, uz = macroscopic(f, links.node[m], parameters)
            for link in range(links.start[m], links.start[m + 1]):
                k = links.opening[link]
                kind, value = links.kind[k], unit * links.value[k]
                leaving, momentum = buffer[links.outgoing[link]], links.momentum[link]
                target[links.incoming[link]] = condition(leaving, links.q[link], kind, value, momentum, ux, uy, uz)

    return skeleton


@cache
def link_fluxes(openings_operator, macroscopic_operator, lattice, precision, computes_entering):
    """Mass flow in through every opening link, and density deviation of its node, in lattice units."""
    condition = openings_operator.compile(lattice, precision, node_jit)
    macroscopic = macroscopic_operator.compile(lattice, precision, node_jit)
    q_count, real, unit = lattice.q, precision.real, precision.real(precision.unit)
    storage, per_unit = precision.storage, 1.0 / precision.unit

    @sweep_jit
    def skeleton(state, buffer, arriving, links, flux, deviation, parameters):
        f = np.empty(q_count, real)
        n_nodes = links.node.size
        for m in range(n_nodes):
            total = 0.0
            for q in range(q_count):
                f[q] = state[links.state[q * n_nodes + m]]
                total += np.float64(f[q]) * per_unit
            _, ux, uy, uz = macroscopic(f, links.node[m], parameters)
            for link in range(links.start[m], links.start[m + 1]):
                leaving = buffer[links.outgoing[link]]
                entering = arriving[links.incoming[link]]
                if computes_entering:
                    k = links.opening[link]
                    kind, value = links.kind[k], unit * links.value[k]
                    momentum = links.momentum[link]
                    entering = storage(condition(leaving, links.q[link], kind, value, momentum, ux, uy, uz))
                flux[link] = np.float64(entering) * per_unit - np.float64(leaving) * per_unit
                deviation[link] = total

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
def sum_openings(fluxes, opening, sums, scale):
    """Fixed-point sums by opening."""
    sums[:] = 0
    n_links = opening.size
    for link in range(n_links):
        first = 3 * opening[link]
        sums[first] += np.int64(np.rint(fluxes[link] * scale))
        sums[first + 1] += np.int64(np.rint(fluxes[n_links + link] * scale))
        sums[first + 2] += 1


@cache
def feedback(advance_operator, lattice):
    """Advance the state of a condition with feedback, in double precision."""
    advance = advance_operator.compile(lattice, FP64, node_jit)

    @sweep_jit
    def skeleton(sums, weights, state, value, other_value, opening, n_openings, scale, parameters):
        outflow, deviation, n_links = 0.0, np.int64(0), np.int64(0)
        for other in range(n_openings):
            inflow = np.int64(0)
            for first in range(3 * other, sums.size, 3 * n_openings):
                inflow += sums[first]
            outflow -= weights[other] * (inflow / scale)
        for rank in range(sums.size // (3 * n_openings)):
            first = 3 * (rank * n_openings + opening)
            deviation += sums[first + 1]
            n_links += sums[first + 2]
        value[0] = advance(outflow, deviation / scale / n_links, state, parameters)
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
