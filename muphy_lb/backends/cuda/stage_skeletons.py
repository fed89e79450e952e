"""Kernels of stages over nodes: one thread per node of a range; those that are not chosen end at once."""

from functools import cache
from typing import NamedTuple

import numpy as np

from muphy_lb.backends.cuda.access import access, changer, device_jit, find_neighbours, reader, writer
from muphy_lb.backends.cuda.device import cuda


class Found(NamedTuple):
    """How a node finds its populations and its neighbours.

    Attributes:
        locations: of the populations, as in :class:`muphy_lb.domain.Pattern`.
        n_entries, index_type: of the table that they refer to.
        n_neighbours, near_type: number of neighbours, and index type of their table.
    """

    locations: tuple[int, ...]
    n_entries: int
    index_type: type
    n_neighbours: int
    near_type: type


@cache
def neighbours(update_operator, n_neighbours, lattice, precision, index_type, is_chosen):
    """Call the update of every node with the addresses of its neighbours."""
    update = update_operator.compile(lattice, precision, device_jit)
    find = find_neighbours(n_neighbours, index_type)

    @cuda.jit
    def kernel(lines, bases, first, last, parameters):
        n = np.uint32(first + cuda.grid(1))
        if n < last:
            addresses = cuda.local.array(n_neighbours, index_type)
            find(lines, bases, n, addresses)
            update(addresses, n, parameters)

    @cuda.jit
    def of_chosen(lines, bases, first, last, array, mask, parameters):
        n = np.uint32(first + cuda.grid(1))
        if n < last and array[n] & mask:
            addresses = cuda.local.array(n_neighbours, index_type)
            find(lines, bases, n, addresses)
            update(addresses, n, parameters)

    return of_chosen if is_chosen else kernel


@cache
def each(update_operator, lattice, precision):
    """Call the update of the chosen nodes."""
    update = update_operator.compile(lattice, precision, device_jit)

    @cuda.jit
    def kernel(first, last, array, mask, parameters):
        n = np.uint32(first + cuda.grid(1))
        if n < last and array[n] & mask:
            update(n, parameters)

    return kernel


@cache
def crossing(update_operator, found: Found, left: tuple, lattice, precision):
    """Change what is about to arrive at the chosen nodes; ``left``: locations of the populations that have left them,
    and number of entries of the table that they refer to."""
    update = update_operator.compile(lattice, precision, device_jit)
    locations, n_entries, index_type, n_neighbours, near_type = found
    own, find, load, _, size = access(locations, locations, n_entries, precision, index_type)
    q_count, real, load_left = lattice.q, precision.real, reader(*left, precision, index_type)
    change, near = changer(locations, precision), find_neighbours(n_neighbours, near_type)

    @cuda.jit
    def kernel(
        buffer, lines, bases, left_lines, left_bases, near_lines, near_bases, first, last, array, mask, parameters
    ):
        n = np.uint32(first + cuda.grid(1))
        if n < last and array[n] & mask:
            arriving, leaving = cuda.local.array(q_count, real), cuda.local.array(q_count, real)
            entries, addresses = cuda.local.array(size, index_type), cuda.local.array(n_neighbours, near_type)
            find(lines, bases, n, entries)
            load(buffer, own(n), entries, arriving)
            load_left(buffer, left_lines, left_bases, n, leaving)
            near(near_lines, near_bases, n, addresses)
            changed = update(arriving, leaving, addresses, n, parameters)
            change(buffer, own(n), entries, arriving, changed)

    return kernel


@cache
def stored(update_operator, found: Found, lattice, precision):
    """Call the update with the stored populations of the chosen nodes."""
    update = update_operator.compile(lattice, precision, device_jit)
    locations, n_entries, index_type, n_neighbours, near_type = found
    q_count, real, near = lattice.q, precision.real, find_neighbours(n_neighbours, near_type)
    load = reader(locations, n_entries, precision, index_type)

    @cuda.jit
    def kernel(buffer, lines, bases, near_lines, near_bases, first, last, array, mask, parameters):
        n = np.uint32(first + cuda.grid(1))
        if n < last and array[n] & mask:
            f, addresses = cuda.local.array(q_count, real), cuda.local.array(n_neighbours, near_type)
            load(buffer, lines, bases, n, f)
            near(near_lines, near_bases, n, addresses)
            update(f, addresses, n, parameters)

    return kernel


@cache
def refill(operators, found: Found, lattice, precision):
    """Replace the populations of the chosen nodes by those that follow from the mean moments of their sources."""
    update = operators[0].compile(lattice, precision, device_jit)
    locations, n_entries, index_type, n_neighbours, near_type = found
    q_count, real, near = lattice.q, precision.real, find_neighbours(n_neighbours, near_type)
    moments_at = _moments_at(operators[1], found, lattice, precision)
    store, zero, one = writer(locations, n_entries, precision, index_type), precision.real(0), precision.real(1)

    @cuda.jit
    def kernel(buffer, lines, bases, near_lines, near_bases, first, last, array, mask, sources, others, values):
        n = np.uint32(first + cuda.grid(1))
        if n < last and array[n] & mask:
            known, source_mask, first_other = sources
            f, addresses = cuda.local.array(q_count, real), cuda.local.array(n_neighbours, near_type)
            near(near_lines, near_bases, n, addresses)
            count, deviation, ux, uy, uz = zero, zero, zero, zero, zero
            for k in range(n_neighbours):
                if known[addresses[k]] & source_mask:
                    d, x, y, z = moments_at(buffer, lines, bases, addresses[k], first_other, others, values[1])
                    count += one
                    deviation += d
                    ux += x
                    uy += y
                    uz += z
            scale = one / max(count, one)
            update(f, (deviation * scale, ux * scale, uy * scale, uz * scale), n, values[0])
            store(buffer, lines, bases, n, f)

    return kernel


def _moments_at(macroscopic_operator, found: Found, lattice, precision):
    """Device function: moments at an address of fields, of a node of this rank or of another."""
    macroscopic = macroscopic_operator.compile(lattice, precision, device_jit)
    load = reader(found.locations, found.n_entries, precision, found.index_type)
    q_count, real = lattice.q, precision.real

    def moments(buffer, lines, bases, address, first_other, others, parameters):
        if address >= first_other:
            i, n_others = np.int64(address) - first_other, others.size // 4
            return others[i], others[i + n_others], others[i + 2 * n_others], others[i + 3 * n_others]
        n, f = np.uint32(address), cuda.local.array(q_count, real)
        load(buffer, lines, bases, n, f)
        return macroscopic(f, n, parameters)

    return device_jit(moments)
