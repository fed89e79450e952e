"""Curvature by heights of columns at flat walls, which a surface at a contact angle crosses.

The shares of three voxels of a column along the wall add up to the height of the surface in it, wherever the surface
lies within them; so differences of heights, and the curvature that they give, do not depend on its place between two
voxels, as height functions do not (Afkhami, Bussmann, Int. J. Numer. Meth. Fluids 57, 453 (2008)). Over a column the
mean curvature is half of what crosses its four faces,

    -2 kappa = sum over faces F,    F = d / sqrt(1 + d^2 + e^2),

with d the rise of the surface through the face and e its slope across; F at a wall is the cosine of the contact angle.
So the forces of the walls and of the surface between them are in balance exactly.
"""

import math

import numpy as np

from muphy_lb.domain.wall_shapes import WALL_NORMAL
from muphy_lb.lattice import combined
from muphy_lb.operators.operator import constants
from muphy_lb.physics.free_surface.capillarity import SHARPEST, surface_normal
from muphy_lb.physics.free_surface.cells import CELL, FILL, INTERFACE, LIQUID, WALL

ROUGH = 0.1
"""By how much a voxel of a column may be fuller than the one below it."""
LEAST_SINE = 0.5
"""Sine of the contact angle from which on columns along walls hold the surface."""
NO_WALL, AT_WALL, UNKNOWN = 0, 1, 2


def columns(lattice) -> tuple[tuple[int, ...], ...]:
    """Tuples of indices of neighbours for each direction along an axis: the voxel above, that below, and for each side
    the voxel beside, the one above and the one below that; in a plane -1 for the third axis."""
    index = {tuple(int(x) for x in link): k for k, link in enumerate(lattice.c[1:])}
    axes = [np.array(link) for link in index if sum(map(abs, link)) == 1]
    found = []
    for up in axes:
        sides = [side for axis in np.eye(3, dtype=int) if not axis @ up for side in (axis, -axis)]
        places = [up, -up, *(side + step for side in sides for step in (0 * up, up, -up))]
        found.append([index.get(tuple(place.tolist()), -1) for place in places])
    return tuple(zip(*found, strict=True))


def curvature_by_heights(neighbours, n, lattice, parameters) -> tuple[np.ndarray, np.ndarray]:
    """(m,) mean curvature at interface cells n, whose neighbours are (Q - 1, m), and (m,) whether heights give it: at
    flat walls along axes."""
    cell, cosine = parameters[CELL][neighbours], parameters["cosine_of_contact_angle"]
    shares = np.where(cell & LIQUID, 1.0, np.where(cell & INTERFACE, parameters[FILL][neighbours].astype(float), 0.0))
    wall = np.array([parameters[name][n] for name in WALL_NORMAL], dtype=float)
    own, normal = parameters[FILL][n].astype(float), surface_normal(neighbours, n, lattice, parameters)[0]
    sine = math.sqrt(max(1.0 - cosine * cosine, LEAST_SINE**2))
    found, is_known = np.zeros(n.size), np.zeros(n.size, dtype=bool)
    most = np.zeros(n.size)
    for up, down, *sides in zip(*columns(lattice), strict=True):
        ahead = combined(lattice.c[1:][[up]], normal)[0]
        is_up, most = ahead > most, np.maximum(ahead, most)
        height = shares[down] + own + shares[up]
        in_order = _in_order(shares[down], own, shares[up]) & ((cell[up] | cell[down]) & WALL == 0)
        rise, kind = zip(*(_side(sides[k : k + 3], cell, shares, height) for k in (0, 3, 6, 9)), strict=True)
        into = [
            np.zeros(n.size) if sides[k] < 0 else -combined(lattice.c[1:][[sides[k]]], wall)[0] for k in (0, 3, 6, 9)
        ]
        slope = [
            np.where(of == AT_WALL, cosine / sine * out, each) for each, of, out in zip(rise, kind, into, strict=True)
        ]
        across = [0.5 * (slope[2] - slope[3]), 0.5 * (slope[0] - slope[1])]
        crossing = [
            np.where(kind[k] == AT_WALL, cosine * into[k], rise[k] / np.sqrt(1.0 + rise[k] ** 2 + across[k // 2] ** 2))
            for k in range(4)
        ]
        is_good = in_order & (np.max(kind, axis=0) <= AT_WALL)
        found = np.where(is_up, -0.5 * sum(crossing), found)
        is_known = np.where(is_up, is_good, is_known)
    return np.clip(found, -SHARPEST, SHARPEST), is_known & (1.0 - cosine * cosine > LEAST_SINE**2)


def _in_order(below, own, above):
    return (own <= below + ROUGH) & (above <= own + ROUGH)


def _side(places, cell, shares, height):
    """(m,) rise of the surface to the column beside, and whether that is a wall, or unknown."""
    beside, above, below = places
    if beside < 0:
        return np.zeros(height.shape), np.full(height.shape, NO_WALL)
    rise = shares[below] + shares[beside] + shares[above] - height
    spread, there = 0.5 * np.abs(rise), height + rise
    is_good = (there > spread) & (there + spread < 3.0) & _in_order(shares[below], shares[beside], shares[above])
    walls = [cell[k] == WALL for k in places]
    is_wall, has_wall = walls[0] & walls[1] & walls[2], (cell[beside] | cell[above] | cell[below]) & WALL != 0
    kind = np.where(is_wall, AT_WALL, np.where(has_wall | ~is_good, UNKNOWN, NO_WALL))
    return rise, kind


def heights_node(lattice, precision, jit, at):
    """Node function ``(neighbours, n, parameters, normal)`` of :func:`curvature_by_heights`."""
    cell, fill, cosine, real = at[CELL], at[FILL], at["cosine_of_contact_angle"], precision.real
    _, cx, cy, cz = constants(lattice, precision)
    up, down, *sides = columns(lattice)
    wall_x, wall_y, wall_z = (at[name] for name in WALL_NORMAL)
    count, places = len(up), tuple(k for column in zip(*sides, strict=True) for k in column)
    zero, half, one, three, rough = (real(x) for x in (0, 0.5, 1, 3, ROUGH))
    sharpest, least = real(SHARPEST), real(LEAST_SINE**2)

    def share(k, neighbours, parameters):
        kind = parameters[cell][neighbours[k]]
        if kind & LIQUID:
            return one
        return parameters[fill][neighbours[k]] if kind & INTERFACE else zero

    share = jit(share)

    def side(first, height, neighbours, n, parameters):
        beside, above, below = places[first], places[first + 1], places[first + 2]
        if beside < 0:
            return zero, NO_WALL
        a, b = parameters[cell][neighbours[beside]], parameters[cell][neighbours[above]]
        c = parameters[cell][neighbours[below]]
        if a == WALL and b == WALL and c == WALL:
            x, y, z = cx[beside + 1], cy[beside + 1], cz[beside + 1]
            return -(x * parameters[wall_x][n] + y * parameters[wall_y][n] + z * parameters[wall_z][n]), AT_WALL
        if (a | b | c) & WALL:
            return zero, UNKNOWN
        low, middle = share(below, neighbours, parameters), share(beside, neighbours, parameters)
        high = share(above, neighbours, parameters)
        there = low + middle + high
        rise = there - height
        spread = half * abs(rise)
        if there <= spread or there + spread >= three or middle > low + rough or high > middle + rough:
            return rise, UNKNOWN
        return rise, NO_WALL

    side = jit(side)

    def crossing(rise, kind, across, parameters):
        if kind == AT_WALL:
            return parameters[cosine] * rise
        return rise / real(math.sqrt(one + rise * rise + across * across))

    crossing = jit(crossing)

    def heights(neighbours, n, parameters, normal):
        nx, ny, nz = normal
        e, most = 0, zero
        for k in range(count):
            ahead = cx[up[k] + 1] * nx + cy[up[k] + 1] * ny + cz[up[k] + 1] * nz
            if ahead > most:
                e, most = k, ahead
        square = one - parameters[cosine] * parameters[cosine]
        kinds = parameters[cell][neighbours[up[e]]] | parameters[cell][neighbours[down[e]]]
        if square <= least or kinds & WALL:
            return zero, False
        low, own, high = (
            share(down[e], neighbours, parameters),
            parameters[fill][n],
            share(up[e], neighbours, parameters),
        )
        if own > low + rough or high > own + rough:
            return zero, False
        height, first = low + own + high, 12 * e
        a, of_a = side(first, height, neighbours, n, parameters)
        b, of_b = side(first + 3, height, neighbours, n, parameters)
        c, of_c = side(first + 6, height, neighbours, n, parameters)
        d, of_d = side(first + 9, height, neighbours, n, parameters)
        if max(max(of_a, of_b), max(of_c, of_d)) > AT_WALL:
            return zero, False
        at_wall = parameters[cosine] / real(math.sqrt(square))
        ab = half * ((at_wall * a if of_a == AT_WALL else a) - (at_wall * b if of_b == AT_WALL else b))
        cd = half * ((at_wall * c if of_c == AT_WALL else c) - (at_wall * d if of_d == AT_WALL else d))
        found = crossing(a, of_a, cd, parameters) + crossing(b, of_b, cd, parameters)
        found += crossing(c, of_c, ab, parameters) + crossing(d, of_d, ab, parameters)
        return min(max(-half * found, -sharpest), sharpest), True

    return jit(heights)
