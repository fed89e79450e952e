"""The kernels of stages over nodes; for their arguments see :meth:`muphy_lb.backends.interface.Backend.bind`."""

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from muphy_lb.backends.arrays import (
    CrossingArrays,
    DragArrays,
    NeighbourTable,
    NodeRange,
    ParticleArrays,
    RefillArrays,
    State,
    StreamArrays,
)
from muphy_lb.domain.lookup import LAYER, corners, nearest_node
from muphy_lb.lattice import added
from muphy_lb.lattice.layout import RECORD


def _chosen(nodes: NodeRange) -> np.ndarray:
    """Those nodes of a range that are meant."""
    n = np.arange(nodes.first, nodes.last)
    return n if nodes.where is None else n[nodes.where.array[n] & nodes.where.mask != 0]


def neighbours(backend, update, table: NeighbourTable, nodes: NodeRange, values):
    """update(addresses of the neighbours), for all nodes at once."""

    def advance():
        n = _chosen(nodes)
        update.reference(table.addresses[:, n], n, backend.lattice, update.by_name(values))

    return advance


def crossing(backend, update, arrays: CrossingArrays, nodes: NodeRange, values, collision=None):
    """Change what a step will load, and collide."""
    step, stored, table = arrays
    load = backend.addresses(State(step.old, (), step.table, nodes.last), step.pattern.load)
    left = backend.addresses(stored, stored.locations)

    def advance():
        n = _chosen(nodes)
        arriving, leaving = step.old[load[:, n]], stored.buffer[left[:, n]]
        update.reference(arriving, leaving, table.addresses[:, n], n, backend.lattice, update.by_name(values))
        step.old[load[:, n]] = arriving

    if collision is None:
        return advance
    collide, of_collision = collision
    chosen = replace(step, occupied=nodes.where)
    flow = backend.kernels["stream_collide"](backend, collide, chosen, nodes, of_collision)

    def advance_and_collide():
        advance()
        flow()

    return advance_and_collide


def stored(backend, update, state: State, table: NeighbourTable, nodes: NodeRange, values):
    """update(stored populations), for all nodes at once."""
    addresses = backend.addresses(state, state.locations)

    def advance():
        n = _chosen(nodes)
        f = state.buffer[addresses[:, n]]
        update.reference(f, table.addresses[:, n], n, backend.lattice, update.by_name(values))

    return advance


def refill(backend, operators, arrays: RefillArrays, nodes: NodeRange, values):
    """Populations from the mean of the moments of the neighbours that are sources."""
    (update, macroscopic), (own, of_moments), state = operators, values, arrays.state
    addresses = backend.addresses(state, state.locations)

    def replace():
        n = _chosen(nodes)
        whole, others = NodeRange(0, state.n_nodes), arrays.others.reshape(4, -1)
        known = np.zeros((4, arrays.sources.array.size), others.dtype)  # own moments are rounded as those that travel
        known[:, : state.n_nodes] = backend.macroscopic(macroscopic, state, whole, of_moments)
        known[:, arrays.first : arrays.first + others.shape[1]] = others
        total, count = np.zeros((4, n.size)), np.zeros(n.size)
        for neighbour in arrays.table.addresses[:, n]:
            is_source = arrays.sources.array[neighbour] & arrays.sources.mask != 0
            total += np.where(is_source, known[:, neighbour], 0.0)
            count += is_source
        f = np.zeros((backend.lattice.q, n.size))
        update.reference(f, total / np.maximum(count, 1), n, backend.lattice, update.by_name(own))
        state.buffer[addresses[:, n]] = f

    return replace


def each(backend, update, nodes: NodeRange, values):
    """update(n) for all nodes at once."""
    return lambda: update.reference(_chosen(nodes), backend.lattice, update.by_name(values))


def clear(backend, nodes: NodeRange, kept: int, field):
    """Zeros, and bits cleared."""
    array, mask, _ = nodes.where

    def forget():
        n = _chosen(nodes)
        field.reshape(-1, RECORD)[n] = 0
        array[n] &= ~mask | kept

    return forget


def arriving(backend, macroscopic, arrays: StreamArrays, nodes: NodeRange, out, values):
    """Velocity of the populations that a step will load, at the chosen nodes."""
    whole = State(arrays.old, (), arrays.table, nodes.last)
    load = backend.addresses(whole, arrays.pattern.load)

    def measure():
        chosen = _chosen(nodes)
        stored = arrays.old[load[:, chosen]]
        moments = macroscopic.reference(stored, chosen, backend.lattice, macroscopic.by_name(values))
        out.reshape(-1, RECORD)[chosen, :3] = moments[1:].T

    return measure


def drag(backend, operators, particles: ParticleArrays, capacity: int, arrays: DragArrays, values):
    """Forces between particles and the nodes around them, for all particles at once."""
    (macroscopic, force, take), lattice = operators, backend.lattice
    of_moments, of_force, of_taking = (each.by_name(some) for each, some in zip(operators, values, strict=True))
    step, lookup, first_other = arrays.step, arrays.lookup, arrays.lookup.size[LAYER]
    nearest, takes_field, pushes = arrays.coupling
    load = backend.addresses(State(step.old, (), step.table, step.table.shape[1]), step.pattern.load)

    def velocities(address):
        found = np.stack([arrays.flow[RECORD * np.maximum(address, 0) + k] for k in range(3)])
        own = (address >= 0) & (address < first_other) & (not takes_field)
        f = step.old[load[:, address[own]]]
        found[:, own] = macroscopic.reference(f, address[own], lattice, of_moments)[1:]
        return found

    def exchange():
        i = np.arange(particles.count[0])
        voxel, offset = particles.integers.reshape(-1, capacity)[1:4, i], particles.reals.reshape(-1, capacity)[:3, i]
        address, w = nearest_node(lookup, voxel) if nearest else corners(lookup, voxel, offset, lattice.dimension)
        velocity, exists = velocities(address), address >= 0
        for k in range(lattice.dimension):
            along = force.reference(i, k, added(w * velocity[k]), added(w**2), lattice, of_force)
            if pushes:
                with np.errstate(invalid="ignore"):  # of particles that are lost, which is told behind the step
                    parts = np.rint(w * along).astype(np.int64)
                np.add.at(arrays.pushed, RECORD * address[exists] + k, -parts[exists])
                along = parts.sum(axis=0)
            take.reference(i, k, along, lattice, of_taking)
        if pushes:
            arrays.marks[address[exists & (address < first_other)]] |= arrays.mask

    return exchange


KERNELS = MappingProxyType(
    {kernel.__name__: kernel for kernel in (neighbours, crossing, stored, refill, each, clear, arriving, drag)}
)
