"""Node and link loops as Numba-CUDA kernels: one thread per node or link.

Addresses are unsigned: Numba guards signed indices against negative values, which costs more than the load.
The rest population, always number 0, stays where it is: its row of the address table is not read.
"""

from functools import cache

import numpy as np

from muphy_lb.backends.access import ACCESS
from muphy_lb.backends.cuda.device import cuda

device_jit = cuda.jit(device=True)


@cache
def stream_collide(collide_operator, streaming, lattice, real):
    """Load the populations of a node, collide, store them."""
    collide = collide_operator.node(lattice, real, device_jit)
    load, store = (device_jit(access) for access in ACCESS[streaming])
    q_count = lattice.q

    @cuda.jit
    def kernel(old, new, table, pitch, first, last, parameters):
        n = first + np.uint64(cuda.grid(1))
        if n < last:
            f = cuda.local.array(q_count, real)
            f[0] = old[n]
            address = n
            for q in range(1, q_count):
                address += pitch
                f[q] = load(old, table, address)
            collide(f, n, parameters)
            new[n] = f[0]
            address = n
            for q in range(1, q_count):
                address += pitch
                store(new, table, address, f[q])

    return kernel


@cache
def links(openings_operator, macroscopic_operator, lattice, real):
    """Fill the incoming population of every opening link."""
    condition = openings_operator.node(lattice, real, device_jit)
    macroscopic = macroscopic_operator.node(lattice, real, device_jit)
    q_count = lattice.q

    @cuda.jit
    def kernel(state, buffer, node, q_out, outgoing, incoming, opening, momentum, kind, value, pitch, parameters):
        link = cuda.grid(1)
        if link < node.size:
            f = cuda.local.array(q_count, real)
            address = np.uint64(node[link])
            for q in range(q_count):
                f[q] = state[address]
                address += pitch
            _, ux, uy, uz = macroscopic(f, node[link], parameters)
            k = opening[link]
            leaving = buffer[outgoing[link]]
            buffer[incoming[link]] = condition(leaving, q_out[link], kind[k], value[k], momentum[link], ux, uy, uz)

    return kernel


@cache
def walls(walls_operator, lattice, real):
    """Fill the incoming population of every link into a slotted wall."""
    returned = walls_operator.node(lattice, real, device_jit)

    @cuda.jit
    def kernel(buffer, outgoing, arriving, opposed, incoming, coefficients, wall, value):
        link, n_links = cuda.grid(1), wall.size
        if link < n_links:
            a, b = coefficients[link], coefficients[n_links + link]
            c, d = coefficients[2 * n_links + link], coefficients[3 * n_links + link]
            leaving, arrives, left = buffer[outgoing[link]], buffer[arriving[link]], buffer[opposed[link]]
            buffer[incoming[link]] = returned(leaving, arrives, left, a, b, c, d * value[wall[link]])

    return kernel


@cache
def moments(macroscopic_operator, lattice, real):
    """Write rho - 1, ux, uy, uz of every node."""
    macroscopic = macroscopic_operator.node(lattice, real, device_jit)
    q_count = lattice.q

    @cuda.jit
    def kernel(buffer, pitch, n_nodes, out, parameters):
        n = np.uint64(cuda.grid(1))
        if n < n_nodes:
            f = cuda.local.array(q_count, real)
            address = n
            for q in range(q_count):
                f[q] = buffer[address]
                address += pitch
            deviation, ux, uy, uz = macroscopic(f, n, parameters)
            out[n] = deviation
            out[n + n_nodes] = ux
            out[n + n_nodes + n_nodes] = uy
            out[n + n_nodes + n_nodes + n_nodes] = uz

    return kernel


@cache
def reduction(macroscopic_operator, lattice, real):
    """Mass, largest speed and exact sum of speeds; worker i takes nodes i, i + workers, i + 2 workers ..."""
    macroscopic = macroscopic_operator.node(lattice, real, device_jit)
    q_count = lattice.q
    infinity = float("inf")

    @cuda.jit
    def kernel(buffer, pitch, n_nodes, mass, peak, speed_sum, scale, parameters):
        worker = cuda.grid(1)
        if worker < mass.size:
            f = cuda.local.array(q_count, real)
            total, largest, fixed = 0.0, 0.0, np.int64(0)
            for n in range(worker, n_nodes, mass.size):
                for q in range(q_count):
                    f[q] = buffer[q * pitch + n]
                deviation, ux, uy, uz = macroscopic(f, n, parameters)
                speed = float(ux * ux + uy * uy + uz * uz) ** 0.5
                if speed < infinity:
                    total += deviation
                    largest = max(largest, speed)
                    fixed += np.int64(speed * scale)
                else:
                    largest = infinity
            mass[worker] = total
            peak[worker] = largest
            speed_sum[worker] = fixed

    return kernel


@cuda.jit
def gather(buffer, addresses, packed):
    """packed[i] = buffer[addresses[i]]."""
    i = cuda.grid(1)
    if i < packed.size:
        packed[i] = buffer[addresses[i]]


@cuda.jit
def scatter(packed, buffer, addresses):
    """buffer[addresses[i]] = packed[i]."""
    i = cuda.grid(1)
    if i < packed.size:
        buffer[addresses[i]] = packed[i]
