"""Curvature by heights of columns along walls, which a surface at a contact angle crosses.

The shares of three voxels of a column along a wall add up to the height of the surface in it, wherever the surface lies
within them; so differences of heights, and the curvature that they give, do not depend on its place between two voxels
(height functions, Afkhami, Bussmann, Int. J. Numer. Meth. Fluids 57, 453 (2008)). Over a column twice the mean
curvature is what crosses its four sides,

    -2 kappa = sum over sides F,    F = d / sqrt(1 + d^2 + e^2),

with d the rise of the surface through the side and e its slope along it. Through a wall F is cos(theta) times the
component across the side of its normal, of the wall that is smoothed: so over stairs of voxels these add up to the
length of the wall that they stand for, and the tension of walls and surface is in balance as a whole.
"""

import math

import numpy as np

from muphy_lb.domain.wall_shapes import WALL_NORMAL
from muphy_lb.lattice import combined
from muphy_lb.operators.operator import constant_tables
from muphy_lb.physics.free_surface.capillarity import COS_ANGLE, SHARPEST, surface_normal
from muphy_lb.physics.free_surface.cells import CELL, FILL, INTERFACE, LIQUID, WALL

ROUGH = 0.1  # by how much a voxel of a column may be fuller than the one below it
LEAST_SINE = 0.5  # of the contact angle, from which on columns along walls hold the surface
LEAST_CUT = 0.01  # volume of a column within its three voxels that tells how far below them the surface goes on
FACING = 0.5  # least component of the normal of the wall along a column and another one, for that
UPRIGHT = 0.1  # largest component of the normal of the wall along a column
NO_WALL, AT_WALL, UNKNOWN = 0, 1, 2
N_SIDES = 4


def columns(lattice) -> tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Indices of neighbours: above and below, for each direction along an axis; and for each of these the voxels beside
    on its four sides, those above and those below them; -1 beyond a plane."""
    index = {tuple(int(x) for x in link): k for k, link in enumerate(lattice.c[1:])}
    axes = [np.array(link) for link in index if sum(map(abs, link)) == 1]
    places = [
        tuple(index.get(tuple((side + step).tolist()), -1) for step in (0 * up, up, -up))
        for up in axes
        for axis in np.eye(3, dtype=int)
        if not axis @ up
        for side in (axis, -axis)
    ]
    ahead, behind = (tuple(index[tuple((sign * up).tolist())] for up in axes) for sign in (1, -1))
    return ahead, behind, tuple(places)


def curvature_by_heights(neighbours, n, lattice, parameters) -> tuple[np.ndarray, np.ndarray]:
    """(m,) mean curvature at interface cells n, whose neighbours are (Q - 1, m), and (m,) whether heights give it."""
    cell, cosine = parameters[CELL][neighbours], parameters[COS_ANGLE]
    shares = np.where(cell & LIQUID, 1.0, np.where(cell & INTERFACE, parameters[FILL][neighbours].astype(float), 0.0))
    own, normal = parameters[FILL][n].astype(float), surface_normal(neighbours, n, lattice, parameters)[0]
    wall = np.array([parameters[name][n] for name in WALL_NORMAL], dtype=float)
    square = 1.0 - cosine * cosine
    at_wall = cosine / math.sqrt(max(square, LEAST_SINE**2))
    found, is_known, most = np.zeros(n.size), np.zeros(n.size, dtype=bool), np.zeros(n.size)
    ahead, behind, places = columns(lattice)
    for e, (up, down) in enumerate(zip(ahead, behind, strict=True)):
        along = combined(lattice.c[1:][[up]], normal)[0]
        is_up, most = along > most, np.maximum(along, most)
        height = shares[down] + own + shares[up]
        is_good = _in_order(shares[down], own, shares[up]) & ((cell[up] | cell[down]) & WALL == 0)
        sides = [
            _side(place, (cell, shares), (height, at_wall), wall, lattice)
            for place in places[N_SIDES * e : N_SIDES * e + N_SIDES]
        ]
        slope = [np.where(kind == AT_WALL, at_wall * rise, rise) for rise, kind in sides]
        square_along = [(0.5 * (slope[k] - slope[k + 1])) ** 2 for k in (2, 0)]
        through = [
            np.where(kind == AT_WALL, cosine * rise, rise / np.sqrt(1.0 + rise * rise + square_along[k // 2]))
            for k, (rise, kind) in enumerate(sides)
        ]
        is_good &= np.max([kind for _, kind in sides], axis=0) < UNKNOWN
        is_good &= np.abs(combined(lattice.c[1:][[up]], wall)[0]) < UPRIGHT
        found, is_known = np.where(is_up, -0.5 * sum(through), found), np.where(is_up, is_good, is_known)
    return np.clip(found, -SHARPEST, SHARPEST), is_known & (square > LEAST_SINE**2)


def _in_order(below, own, above):
    return (own <= below + ROUGH) & (above <= own + ROUGH)


def _side(places, around, surface, wall, lattice):
    """(m,) rise of the surface to the column on a side, and ``NO_WALL`` or ``UNKNOWN``; or component of the normal of
    the wall there, and ``AT_WALL``. ``around``: what the neighbours are, and their shares; ``surface``: its height, and
    its slope towards a wall; ``wall``: (3, m) normal of the wall."""
    (beside, above, below), (cell, shares), (height, at_wall) = places, around, surface
    if beside < 0:
        return np.zeros(height.shape), np.full(height.shape, NO_WALL)
    facing = combined(lattice.c[1:][[beside]], wall)[0]
    there = shares[below] + shares[beside] + shares[above]
    rise = there - height
    is_below, is_above = there <= 0.5 * np.abs(rise), there + 0.5 * np.abs(rise) >= 3.0
    is_good = ~(is_below | is_above) | ((np.minimum(there, 3.0 - there) > LEAST_CUT) & (facing > FACING))
    is_good &= _in_order(shares[below], shares[beside], shares[above])
    fall = _beyond(
        np.where(is_below, there, 3.0 - there),
        np.where(is_below, height, 3.0 - height),
        np.where(is_below, at_wall, -at_wall) * facing,
    )
    rise = np.select([is_below, is_above], [-fall, fall], rise)
    walls = np.array([cell[k] == WALL for k in places])
    is_blocked = (cell[beside] | cell[above] | cell[below]) & WALL != 0
    kind = np.select([walls.all(axis=0), is_blocked | ~is_good], [AT_WALL, UNKNOWN], NO_WALL)
    return np.where(kind == AT_WALL, -facing, rise), kind


def _beyond(left, height, at_wall):
    """(m,) how much lower the surface is in a column than in one of a height between it and a wall, if a triangle
    ``left`` is within the three voxels: the slope changes as much from the side between both to the middle of the lower
    one as from the wall, where it is ``at_wall``, to that side."""
    square = 2.0 * np.maximum(left, 0.0)
    root = np.sqrt(square + np.maximum((2.0 / 3.0) * (height - at_wall / 3.0), 0.0)) - np.sqrt(square)
    return 6.0 * root * root + at_wall / 3.0


def heights_node(lattice, precision, jit, at):
    """Node function ``(neighbours, n, parameters, normal)`` of :func:`curvature_by_heights`."""
    cell, cosine, real = at[CELL], at[COS_ANGLE], precision.real
    _, cx, cy, cz = constant_tables(lattice, precision)
    ahead, behind = (np.array(each) for each in columns(lattice)[:2])
    count, zero, half, one, rough = len(ahead), real(0), real(0.5), real(1), real(ROUGH)
    sharpest, least = real(SHARPEST), real(LEAST_SINE**2)
    share, side = _share_node(precision, jit, at), _side_node(lattice, precision, jit, at)
    facing, upright = _facing_node(lattice, precision, jit, at), real(UPRIGHT)

    def slope(rise, kind, at_wall):
        return at_wall * rise if kind == AT_WALL else rise

    def through(rise, kind, along, parameters):
        if kind == AT_WALL:
            return parameters[cosine] * rise
        return rise / real(math.sqrt(one + rise * rise + along * along))

    slope, through = jit(slope), jit(through)

    def heights(neighbours, n, parameters, normal):
        nx, ny, nz = normal
        e, most = 0, zero
        for k in range(count):
            along = cx[ahead[k] + 1] * nx + cy[ahead[k] + 1] * ny + cz[ahead[k] + 1] * nz
            if along > most:
                e, most = k, along
        up, down, square = neighbours[ahead[e]], neighbours[behind[e]], one - parameters[cosine] * parameters[cosine]
        if square <= least or (parameters[cell][up] | parameters[cell][down]) & WALL:
            return zero, False
        if abs(facing(ahead[e], n, parameters)) >= upright:
            return zero, False
        low, own, high = share(down, parameters), share(n, parameters), share(up, parameters)
        if own > low + rough or high > own + rough:
            return zero, False
        at_wall = parameters[cosine] / real(math.sqrt(square))
        surface, first = (low + own + high, at_wall), 4 * e
        a, of_a = side(first, surface, neighbours, n, parameters)
        b, of_b = side(first + 1, surface, neighbours, n, parameters)
        c, of_c = side(first + 2, surface, neighbours, n, parameters)
        d, of_d = side(first + 3, surface, neighbours, n, parameters)
        if max(max(of_a, of_b), max(of_c, of_d)) == UNKNOWN:
            return zero, False
        ab = half * (slope(a, of_a, at_wall) - slope(b, of_b, at_wall))
        cd = half * (slope(c, of_c, at_wall) - slope(d, of_d, at_wall))
        found = through(a, of_a, cd, parameters) + through(b, of_b, cd, parameters)
        found += through(c, of_c, ab, parameters) + through(d, of_d, ab, parameters)
        return min(max(-half * found, -sharpest), sharpest), True

    return jit(heights)


def _share_node(precision, jit, at):
    """Node function ``(n, parameters)`` -> share of a voxel that is liquid."""
    cell, fill, zero, one = at[CELL], at[FILL], precision.real(0), precision.real(1)

    def share(n, parameters):
        kind = parameters[cell][n]
        if kind & LIQUID:
            return one
        return parameters[fill][n] if kind & INTERFACE else zero

    return jit(share)


def _facing_node(lattice, precision, jit, at):
    """Node function ``(k, n, parameters)`` -> component of the normal of the wall along the link to neighbour k."""
    wall_x, wall_y, wall_z = (at[name] for name in WALL_NORMAL)
    _, cx, cy, cz = constant_tables(lattice, precision)

    def facing(k, n, parameters):
        x, y, z = parameters[wall_x][n], parameters[wall_y][n], parameters[wall_z][n]
        return cx[k + 1] * x + cy[k + 1] * y + cz[k + 1] * z

    return jit(facing)


def _side_node(lattice, precision, jit, at):
    """Node function ``(place, (height, at_wall), neighbours, n, parameters)`` of :func:`_side`."""
    cell, real, facing_of = at[CELL], precision.real, _facing_node(lattice, precision, jit, at)
    beside, above, below = np.array(columns(lattice)[2]).T.copy()
    zero, half, three, rough = (real(x) for x in (0, 0.5, 3, ROUGH))
    least_cut, least_facing = real(LEAST_CUT), real(FACING)
    share, beyond = _share_node(precision, jit, at), _beyond_node(precision, jit)

    def side(place, surface, neighbours, n, parameters):
        k = beside[place]
        if k < 0:
            return zero, NO_WALL
        (height, at_wall), facing = surface, facing_of(k, n, parameters)
        middle, up, down = neighbours[k], neighbours[above[place]], neighbours[below[place]]
        a, b, c = parameters[cell][middle], parameters[cell][up], parameters[cell][down]
        if a == WALL and b == WALL and c == WALL:
            return -facing, AT_WALL
        if (a | b | c) & WALL:
            return zero, UNKNOWN
        low, own, high = share(down, parameters), share(middle, parameters), share(up, parameters)
        if own > low + rough or high > own + rough:
            return zero, UNKNOWN
        there = low + own + high
        rise = there - height
        is_below, is_above = there <= half * abs(rise), there + half * abs(rise) >= three
        if not (is_below or is_above):
            return rise, NO_WALL
        if min(there, three - there) <= least_cut or facing <= least_facing:
            return zero, UNKNOWN
        if is_below:
            return -beyond(there, height, at_wall * facing), NO_WALL
        return beyond(three - there, three - height, -at_wall * facing), NO_WALL

    return jit(side)


def _beyond_node(precision, jit):
    """Node function of :func:`_beyond`."""
    real = precision.real
    zero, two, six, third, twothirds = (real(x) for x in (0, 2, 6, 1 / 3, 2 / 3))

    def beyond(left, height, at_wall):
        square = two * max(left, zero)
        root = real(math.sqrt(square + max(twothirds * (height - third * at_wall), zero))) - real(math.sqrt(square))
        return six * root * root + third * at_wall

    return jit(beyond)
