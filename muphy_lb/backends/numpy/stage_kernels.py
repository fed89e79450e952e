"""The kernels of stages over nodes; for their arguments see :meth:`muphy_lb.backends.interface.Backend.bind`."""

from types import MappingProxyType

import numpy as np

from muphy_lb.backends.arrays import (
    CrossingArrays,
    NeighbourTable,
    NodeRange,
    RefillArrays,
    State,
    StreamArrays,
)


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


def crossing(backend, update, arrays: CrossingArrays, nodes: NodeRange, values):
    """Change what a step will load."""
    step, stored, table = arrays
    load = backend.addresses(State(step.old, (), step.table, nodes.last), step.pattern.load)
    left = backend.addresses(stored, stored.locations)

    def advance():
        n = _chosen(nodes)
        arriving, leaving = step.old[load[:, n]], stored.buffer[left[:, n]]
        update.reference(arriving, leaving, table.addresses[:, n], n, backend.lattice, update.by_name(values))
        step.old[load[:, n]] = arriving

    return advance


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
        whole = NodeRange(0, state.n_nodes)
        known = np.zeros((4, arrays.sources.array.size))
        known[:, : state.n_nodes] = backend.macroscopic(macroscopic, state, whole, of_moments)
        others = arrays.others.reshape(4, -1)
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


def arriving(backend, macroscopic, arrays: StreamArrays, nodes: NodeRange, out, values):
    """Velocity of the populations that a step will load, at the chosen nodes."""
    whole = State(arrays.old, (), arrays.table, nodes.last)
    load = backend.addresses(whole, arrays.pattern.load)

    def measure():
        chosen = _chosen(nodes)
        stored = arrays.old[load[:, chosen]]
        moments = macroscopic.reference(stored, chosen, backend.lattice, macroscopic.by_name(values))
        for row, array in zip(moments[1:], out, strict=True):
            array[chosen] = row

    return measure


KERNELS = MappingProxyType(
    {kernel.__name__: kernel for kernel in (neighbours, crossing, stored, refill, each, arriving)}
)
