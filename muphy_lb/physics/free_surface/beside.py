"""The neighbours of a cell: what they are, and those that hold the surface, one after the other."""

from math import inf

from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.free_surface.cells import CELL, FILL, INTERFACE

HARDLY = 1e-3  # share of liquid, or of gas, in a cell at a wall below which nothing is known of a surface in it


def around_node(lattice, precision, jit, at):
    """Node function ``(neighbours, parameters)`` -> cells of the neighbours, and their fillings. They are read before
    anything follows from one, so that a GPU waits for memory once."""
    cell, fill, n_neighbours, zero = at[CELL], at[FILL], lattice.q - 1, precision.real(0)

    def around(neighbours, parameters):
        kinds = [0] * n_neighbours
        shares = [zero] * n_neighbours
        for k in range(n_neighbours):
            kinds[k], shares[k] = parameters[cell][neighbours[k]], parameters[fill][neighbours[k]]
        return kinds, shares

    return jit(unroll(around))


def surfaces_beside_node(lattice, precision, jit, at, least=-inf):
    """Node function ``(neighbours, parameters)`` -> bit k set where neighbour k is interface with more than a share
    ``least`` of liquid, and of gas; and the fillings of all."""
    n_neighbours, least, most = lattice.q - 1, precision.real(least), precision.real(1 - least)
    around = around_node(lattice, precision, jit, at)

    def surfaces_beside(neighbours, parameters):
        found = 0
        kinds, shares = around(neighbours, parameters)
        for k in range(n_neighbours):
            if kinds[k] & INTERFACE and shares[k] > least and shares[k] < most:
                found |= 1 << k
        return found, shares

    return jit(unroll(surfaces_beside))


def first_of_node(lattice, precision, jit):
    """Node function ``(bits, shares)`` -> the lowest bit that is set, its filling, and the vector of its link. In a
    loop over set bits threads of a GPU that run side by side each take their own next neighbour."""
    n_neighbours, zero, one = lattice.q - 1, precision.real(0), precision.real(1)
    bit = tuple(1 << k for k in range(n_neighbours))
    ahead, behind = (
        tuple(sum(1 << k for k in range(n_neighbours) if lattice.c[k + 1, axis] == way) for axis in range(3))
        for way in (1, -1)
    )

    def component(first, up, down):
        if first & up:
            return one
        return -one if first & down else zero

    component = jit(component)

    def first_of(bits, shares):
        first, share = bits & -bits, zero
        for k in range(n_neighbours):
            if first == bit[k]:
                share = shares[k]
        ex, ey, ez = (
            component(first, ahead[0], behind[0]),
            component(first, ahead[1], behind[1]),
            component(first, ahead[2], behind[2]),
        )
        return first, share, (ex, ey, ez)

    return jit(unroll(first_of))
