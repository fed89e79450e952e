"""Node and link loops in Numba, parallel over chunks of consecutive nodes; every node runs the same compiled update.

Addresses are unsigned: Numba guards signed indices against negative values.
The rest population, always number 0, stays where it is: its row of the address table is not read.
"""

from functools import cache

import numpy as np
from numba import njit, prange

from muphy_lb.backends.access import ACCESS

CHUNK = 2048

# NumPy's error model: no exception branch around divisions. Fused or reassociated arithmetic stays off, so that bits
# do not depend on where a node lies in a loop.
node_jit = njit(error_model="numpy")
loop_jit = njit(error_model="numpy", parallel=True)


@cache
def stream_collide(collide_operator, streaming, lattice, real):
    """Load the populations of a node, collide, store them."""
    collide = collide_operator.node(lattice, real, node_jit)
    load, store = (node_jit(access) for access in ACCESS[streaming])
    q_count = lattice.q

    @loop_jit
    def skeleton(old, new, table, first, last, parameters):
        pitch = np.uint64(table.shape[1])
        flat = table.reshape(-1)
        for chunk in prange((last - first + CHUNK - 1) // CHUNK):
            f = np.empty(q_count, real)
            start = first + chunk * CHUNK
            for n in range(start, min(last, start + CHUNK)):
                f[0] = old[n]
                address = np.uint64(n)
                for q in range(1, q_count):
                    address += pitch
                    f[q] = load(old, flat, address)
                collide(f, n, parameters)
                new[n] = f[0]
                address = np.uint64(n)
                for q in range(1, q_count):
                    address += pitch
                    store(new, flat, address, f[q])

    return skeleton


@cache
def links(openings_operator, macroscopic_operator, lattice, real):
    """Fill the incoming population of every opening link."""
    condition = openings_operator.node(lattice, real, node_jit)
    macroscopic = macroscopic_operator.node(lattice, real, node_jit)
    q_count = lattice.q

    @njit(error_model="numpy")
    def skeleton(state, buffer, node, q_out, outgoing, incoming, opening, momentum, kind, value, pitch, parameters):
        f = np.empty(q_count, real)
        for link in range(node.size):
            for q in range(q_count):
                f[q] = state[q * pitch + node[link]]
            _, ux, uy, uz = macroscopic(f, node[link], parameters)
            k = opening[link]
            leaving = buffer[outgoing[link]]
            buffer[incoming[link]] = condition(leaving, q_out[link], kind[k], value[k], momentum[link], ux, uy, uz)

    return skeleton


@cache
def walls(walls_operator, lattice, real):
    """Fill the incoming population of every link into a slotted wall."""
    returned = walls_operator.node(lattice, real, node_jit)

    @loop_jit
    def skeleton(buffer, outgoing, arriving, opposed, incoming, coefficients, wall, value):
        n_links = wall.size
        for link in prange(n_links):
            a, b = coefficients[link], coefficients[n_links + link]
            c, d = coefficients[2 * n_links + link], coefficients[3 * n_links + link]
            met = buffer[outgoing[link]], buffer[arriving[link]], buffer[opposed[link]]
            buffer[incoming[link]] = returned(met[0], met[1], met[2], a, b, c, d * value[wall[link]])

    return skeleton


@cache
def moments(macroscopic_operator, lattice, real):
    """Write rho - 1, ux, uy, uz of every node."""
    macroscopic = macroscopic_operator.node(lattice, real, node_jit)
    q_count = lattice.q

    @loop_jit
    def skeleton(buffer, pitch, out, parameters):
        n_nodes = out.shape[1]
        for chunk in prange((n_nodes + CHUNK - 1) // CHUNK):
            f = np.empty(q_count, real)
            for n in range(chunk * CHUNK, min(n_nodes, (chunk + 1) * CHUNK)):
                for q in range(q_count):
                    f[q] = buffer[q * pitch + n]
                out[0, n], out[1, n], out[2, n], out[3, n] = macroscopic(f, n, parameters)

    return skeleton


@cache
def reduction(macroscopic_operator, lattice, real):
    """Mass, largest speed and exact sum of speeds, one partial result per chunk."""
    macroscopic = macroscopic_operator.node(lattice, real, node_jit)
    q_count = lattice.q

    @loop_jit
    def skeleton(buffer, pitch, n_nodes, mass, peak, speed_sum, scale, parameters):
        for chunk in prange((n_nodes + CHUNK - 1) // CHUNK):
            f = np.empty(q_count, real)
            total, largest, fixed = 0.0, 0.0, 0
            for n in range(chunk * CHUNK, min(n_nodes, (chunk + 1) * CHUNK)):
                for q in range(q_count):
                    f[q] = buffer[q * pitch + n]
                deviation, ux, uy, uz = macroscopic(f, n, parameters)
                speed = np.sqrt(np.float64(ux * ux + uy * uy + uz * uz))
                if np.isfinite(speed):
                    total += deviation
                    largest = max(largest, speed)
                    fixed += np.int64(speed * scale)
                else:
                    largest = np.inf
            mass[chunk], peak[chunk], speed_sum[chunk] = total, largest, fixed

    return skeleton


@loop_jit
def copy(source, target):
    """target = source, the yardstick of the memory."""
    for i in prange(source.size):
        target[i] = source[i]
