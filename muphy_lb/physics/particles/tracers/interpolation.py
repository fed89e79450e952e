"""The velocity between nodes, as tracers are carried by it.

It is linear in every voxel, and its mean over the voxel is the velocity of the node, so that its mean over the fluid is
that of the flow, whatever the geometry. Slopes are central differences; beside a wall, which lies half-way, the
component across it falls to zero there, and the others go on as between the nodes on the other side, but not beyond
zero. (With half-way bounce-back the velocity of a node is exactly the mean of the flows through two opposite faces of
its voxel: with a wall on one side the flow through the other is twice it.) Then the slopes along axes without walls are
corrected so that the divergence is zero: the flow neither gathers nor thins tracers.

Both matter for residence times, which are volume over flow only if the flow keeps a uniform density of tracers uniform.
Measured by the mean velocity of tracers that started uniformly, after two crossings of a periodic pack of spheres four
voxels in radius (porosity 0.5), over that of the flow: 0.98; the same with linear interpolation between nodes, the
component across a wall zero there, and weights shared among fluid nodes for the others: 0.95.
"""

from functools import cache

import numpy as np

from muphy_lb.domain.lookup import WALL


def velocity(fields, at: np.ndarray, offset: np.ndarray, n_axes: int) -> np.ndarray:
    """Velocity (3, n) at places, computed in the precision of the fields.

    Args:
        fields: the three components at nodes.
        at: (7, n) the node of each place, and what is found at its neighbours along +x, -x, +y, -y, +z, -z
            (:func:`muphy_lb.domain.lookup.look_up`).
        offset: (3, n) from the node.
        n_axes: dimension of the lattice.
    """
    own = np.stack([field[at[0]] for field in fields])
    offset, half, one, two = offset.astype(own.dtype), *map(own.dtype.type, (0.5, 1.0, 2.0))
    slope = np.zeros((3, 3, at.shape[1]), own.dtype)
    is_free = np.zeros((3, at.shape[1]), dtype=bool)
    for b in range(n_axes):
        own[b][(at[1 + 2 * b] == WALL) & (at[2 + 2 * b] == WALL)] = 0.0
    for b in range(n_axes):
        plus, minus = at[1 + 2 * b], at[2 + 2 * b]
        is_free[b] = (plus != WALL) & (minus != WALL)
        factor = np.where((plus >= 0) & (minus >= 0), half, one)
        for a in range(3):
            above, below = (np.where(node >= 0, fields[a][np.maximum(node, 0)], own[a]) for node in (plus, minus))
            free = factor * (above - below)
            most = two * np.abs(own[a])
            at_wall = np.where(plus == WALL, -two, two) * own[a] if a == b else np.clip(free, -most, most)
            slope[a, b] = np.where(is_free[b], free, at_wall)
    shares = np.array([1.0, 1.0, 1.0 / 2.0, 1.0 / 3.0], own.dtype)
    excess = np.einsum("aan->n", slope) * shares[is_free.sum(axis=0)]
    for a in range(n_axes):
        slope[a, a][is_free[a]] -= excess[is_free[a]]
    return own + np.einsum("abn,bn->an", slope, offset)


def _slope_node(jit, real):
    """Node function: slope of a component, from its value at the node and the addresses of two neighbours.

    It reads without a condition, so that GPUs wait for all neighbours at once.
    """
    wall, nothing, address = np.int32(WALL), np.int32(0), np.uint32
    half, one, two = real(0.5), real(1.0), real(2.0)

    def slope(field, own, plus, minus, is_along):
        above, below = field[address(max(plus, nothing))], field[address(max(minus, nothing))]
        free = (above if plus >= 0 else own) - (below if minus >= 0 else own)
        most = two * abs(own)
        beside_wall = min(max(free, -most), most)
        if is_along:
            beside_wall = -two * own if plus == wall else two * own
        factor = half if min(plus, minus) >= 0 else one
        return beside_wall if plus == wall or minus == wall else factor * free

    return jit(slope)


@cache
def velocity_node(jit, real, n_axes: int):
    """Node function of :func:`velocity`: three fields, seven addresses, three offsets, which are of the type ``real``
    as the fields, -> three components."""
    wall, is_solid, slope = np.int32(WALL), n_axes == 3, _slope_node(jit, real)
    zero, one, half, third = real(0.0), real(1.0), real(1.0 / 2.0), real(1.0 / 3.0)

    def value_at(field, node, plus, minus):
        own = field[node]
        return zero if plus == wall and minus == wall else own

    value = jit(value_at)
    shares = jit(lambda count: third if count == 3 else half if count == 2 else one)
    freedom = jit(lambda plus, minus: np.int32(0) if plus == wall or minus == wall else np.int32(1))

    def interpolate(fields, at, offset):
        node, east, west, north, south, top, bottom = at
        u, v, w = fields
        x, y, z = offset
        node = np.uint32(node)
        own_u, own_v = value(u, node, east, west), value(v, node, north, south)
        u_x, v_y = slope(u, own_u, east, west, True), slope(v, own_v, north, south, True)
        free_x, free_y = freedom(east, west), freedom(north, south)
        to_u = own_u + slope(u, own_u, north, south, False) * y
        to_v = own_v + slope(v, own_v, east, west, False) * x
        to_w, w_z, free_z = zero, zero, np.int32(0)
        if is_solid:
            own_w = value(w, node, top, bottom)
            w_z = slope(w, own_w, top, bottom, True)
            free_z = freedom(top, bottom)
            to_u += slope(u, own_u, top, bottom, False) * z
            to_v += slope(v, own_v, top, bottom, False) * z
            to_w = own_w + slope(w, own_w, east, west, False) * x + slope(w, own_w, north, south, False) * y
        excess = (u_x + v_y + w_z) * shares(free_x + free_y + free_z)
        return (
            to_u + (u_x - (excess if free_x else zero)) * x,
            to_v + (v_y - (excess if free_y else zero)) * y,
            to_w + (w_z - (excess if free_z else zero)) * z,
        )

    return jit(interpolate)
