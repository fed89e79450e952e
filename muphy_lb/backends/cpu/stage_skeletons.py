"""Loops of stages over chosen nodes, one node at a time, parallel over chunks of them."""

from functools import cache

import numpy as np
from numba import prange

from muphy_lb.backends.arrays import Coupling
from muphy_lb.backends.cpu.skeletons import (
    CHUNK_NODES,
    bare_node_jit,
    decode,
    find_neighbours,
    first_address,
    loop_jit,
    node_jit,
    set_all,
    sweep_jit,
)
from muphy_lb.domain import ROW, WARP, entry, is_entry
from muphy_lb.domain.lookup import LAYER, corner_node, n_corners
from muphy_lb.lattice.layout import RECORD
from muphy_lb.operators.moments import N_WITH_STRESS


@cache
def population_addresses(locations, q_count):
    """Factory of the function that finds the addresses of a node's populations; its first argument is memory for the
    entries of the table."""
    in_table = tuple(is_entry(location) for location in locations)
    number = tuple(entry(location) if is_entry(location) else location for location in locations)
    n_entries = 1 + max((entry(location) for location in locations if is_entry(location)), default=-1)

    @node_jit
    def find(entries, lines, bases, n, found):
        warp, lane = n // WARP, n % WARP
        start = first_address(warp, q_count) + lane
        if n_entries:
            decode(entries[:n_entries], lines, bases, warp, lane)
        for q in range(q_count):
            found[q] = entries[number[q]] if in_table[q] else start + number[q] * ROW

    return find


@cache
def at_nodes(update_operator, arriving, changes, stored, n_neighbours, lattice, precision, is_chosen):
    """Call the update of the nodes of a range, or of the chosen ones, with what it accesses there, of which each kind
    has a layer with its own tables. These come in one flat tuple: a parallel loop takes none that are nested.

    Args:
        arriving, stored: locations of these populations, or None.
        changes: whether the update may change the arriving ones.
        n_neighbours: number of the neighbours of a node whose addresses are given; 0 for none.
        is_chosen: whether the array and the mask choose nodes.
    """
    update = update_operator.compile(lattice, precision, bare_node_jit)
    at = bare_node_jit(lambda memory, tables, n, values, *found: update(*found, n, values))
    if n_neighbours:
        at = _with_neighbours(at, update_operator.near or n_neighbours)
    if stored:
        at = _with_populations(at, stored, False, lattice.q)
    if arriving:
        at = _with_populations(at, arriving, changes, lattice.q)
    q_count, real = lattice.q, precision.real

    @loop_jit
    def skeleton(tables, first, last, array, mask, parameters):
        for chunk in prange((last - first + CHUNK_NODES - 1) // CHUNK_NODES):
            entries, addresses = np.empty(q_count, np.int64), np.empty(n_neighbours, np.int64)
            one = np.empty(q_count, np.int64), np.empty(q_count, real)
            other = np.empty(q_count, np.int64), np.empty(q_count, real)
            start = first + chunk * CHUNK_NODES
            for n in range(start, min(last, start + CHUNK_NODES)):
                if not is_chosen or array[n] & mask:
                    at((entries, addresses, one, other), tables, n, parameters)

    return skeleton


def _with_neighbours(layer, count: int):
    @bare_node_jit
    def at(memory, tables, n, values, *found):
        find_neighbours(memory[1], count, tables[0], n)
        return layer(memory, tables[1:], n, values, *found, memory[1])

    return at


def _with_populations(layer, locations, changes: bool, q_count: int):
    find, end = population_addresses(locations, q_count), change if changes else leave

    @bare_node_jit
    def at(memory, tables, n, values, *found):
        entries, addresses, (there, f), other = memory
        buffer, lines, bases = tables[:3]
        find(entries, lines, bases, n, there)
        for q in range(q_count):
            f[q] = buffer[there[q]]
        changed = layer((entries, addresses, other, other), tables[3:], n, values, *found, f)
        end(buffer, there, f, changed)
        return changed

    return at


@node_jit
def leave(buffer, there, f, changed):
    """Store nothing."""


@node_jit
def change(buffer, there, f, changed):
    """Store those populations of a node whose bit is set."""
    for q in range(f.size):
        if changed >> q & 1:
            buffer[there[q]] = f[q]


@cache
def mean_moments(macroscopic_operator, locations, n_neighbours, lattice, precision):
    """Function that averages the moments of the sources among a node's neighbours; those of other ranks are known."""
    macroscopic = macroscopic_operator.compile(lattice, precision, node_jit)
    find, write = population_addresses(locations, lattice.q), set_all(N_WITH_STRESS)

    @node_jit
    def average(memory, populations, addresses, sources, others, parameters, mean):
        entries, there, f, found = memory
        buffer, lines, bases = populations
        array, mask, first = sources
        n_others, count = others.size // mean.size, 0
        mean[:] = 0
        for k in range(n_neighbours):
            a = addresses[k]
            if not array[a] & mask:
                continue
            count += 1
            if a >= first:
                for i in range(mean.size):
                    mean[i] += others[a - first + i * n_others]
                continue
            find(entries, lines, bases, a, there)
            for q in range(f.size):
                f[q] = buffer[there[q]]
            write(found, macroscopic(f, a, parameters))
            mean += found
        if count:
            mean /= count

    return average


@cache
def refill(operators, locations, n_neighbours, lattice, precision):
    """Replace the populations of the chosen nodes."""
    update = operators[0].compile(lattice, precision, node_jit)
    average = mean_moments(operators[1], locations, n_neighbours, lattice, precision)
    q_count, real, find = lattice.q, precision.real, population_addresses(locations, lattice.q)

    @loop_jit
    def skeleton(buffer, lines, bases, near, first, last, array, mask, sources, others, values):
        own, of_moments = values
        for chunk in prange((last - first + CHUNK_NODES - 1) // CHUNK_NODES):
            entries, there = np.empty(q_count, np.int64), np.empty(q_count, np.int64)
            f, mean, found = np.empty(q_count, real), np.empty(N_WITH_STRESS, real), np.empty(N_WITH_STRESS, real)
            addresses = np.empty(n_neighbours, np.int64)
            start = first + chunk * CHUNK_NODES
            for n in range(start, min(last, start + CHUNK_NODES)):
                if not array[n] & mask:
                    continue
                find_neighbours(addresses, n_neighbours, near, n)
                memory = entries, there, f, found
                average(memory, (buffer, lines, bases), addresses, sources, others, of_moments, mean)
                update(f, mean, n, own)
                find(entries, lines, bases, n, there)
                for q in range(q_count):
                    buffer[there[q]] = f[q]

    return skeleton


@cache
def mark(dimension, nearest):
    """Set bits of the bytes of own nodes that particles are coupled to, on one thread."""
    count, meet = n_corners(dimension, nearest), _meet(dimension, nearest)

    @sweep_jit
    def skeleton(particles, capacity, lookup, marks, mask):
        address, weight = np.empty(count, np.int64), np.empty(count)
        for i in range(particles.count[0]):
            meet(particles, capacity, i, lookup, address, weight)
            for n in address:
                if 0 <= n < lookup.size[LAYER]:
                    marks[n] |= mask

    return skeleton


@cache
def drag(force_operator, take_operator, coupling: Coupling, lattice, precision):
    """Exchange forces between particles and the nodes around them, whose velocities are known, on one thread."""
    force, take = (each.compile(lattice, precision, node_jit) for each in (force_operator, take_operator))
    dimension, pushes, count = lattice.dimension, coupling.pushes, n_corners(lattice.dimension, coupling.nearest)
    meet = _meet(dimension, coupling.nearest)

    @sweep_jit
    def skeleton(particles, capacity, lookup, flow, pushed, values):
        force_values, of_taking = values
        address, weight, velocity = np.empty(count, np.int64), np.empty(count), np.empty(count, flow.dtype)
        for i in range(particles.count[0]):
            meet(particles, capacity, i, lookup, address, weight)
            for k in range(dimension):
                for c in range(count):
                    velocity[c] = flow[RECORD * max(address[c], 0) + k]
                along = force(i, k, products(weight, velocity), products(weight, weight), force_values)
                take(i, k, spread(address, weight, along, k, pushed) if pushes else along, of_taking)

    return skeleton


def _meet(dimension, nearest):
    """Function: addresses and weights of the nodes of a particle."""
    corner = corner_node(node_jit, dimension, nearest)

    @node_jit
    def meet(particles, capacity, i, lookup, address, weight):
        integers, reals = particles.integers, particles.reals
        voxel = integers[capacity + i], integers[2 * capacity + i], integers[3 * capacity + i]
        offset = reals[i], reals[capacity + i], reals[2 * capacity + i]
        total = 0.0
        for c in range(address.size):
            address[c], weight[c] = corner(lookup, voxel, offset, c)
            total += weight[c]
        weight /= total

    return meet


@node_jit
def products(a, b):
    """Sum of the products of two rows, in order."""
    total = 0.0
    for c in range(a.size):
        total += a[c] * b[c]
    return total


@node_jit
def spread(address, weight, along, k, pushed):
    """Take a particle's force along an axis from its nodes; what they have lost."""
    used = 0
    for c in range(address.size):
        part = np.int64(round(weight[c] * along))
        used += part
        if address[c] >= 0:
            pushed[RECORD * address[c] + k] -= part
    return float(used)
