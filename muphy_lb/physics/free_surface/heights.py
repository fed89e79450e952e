"""Curvature by heights of columns along walls, which a surface at a contact angle crosses.

The shares of three voxels of a column along a wall add up to the height of the surface in it, wherever the surface lies
within them; so differences of heights, and the curvature that they give, do not depend on its place between two voxels
(height functions, Afkhami, Bussmann, Int. J. Numer. Meth. Fluids 57, 453 (2008)). Over a column twice the mean
curvature is what crosses its four sides,

    -2 kappa = sum over sides F,    F = d / sqrt(1 + d^2 + e^2),

with d the rise of the surface through the side and e its slope along it. Through a wall F is cos(theta) times the
component across the side of its normal, of the wall that is smoothed: so over stairs of voxels these add up to the
length of the wall that they stand for, and the tension of walls and surface is in balance as a whole.

From the wall to the opposite side F changes by K, as over a column of constant curvature. Then the difference of the
mean heights of both columns exceeds the rise d through the side by a 24th of its third derivative twice,

    1/4 K^2 d [(1 + d^2 + e^2) / (1 + e^2)]^2,

which at 30 degrees in a gap of 12 voxels is 6 % of the curvature. Along stairs both columns beside a face have to find
the same rise, and none is corrected.

A steep surface crosses more than three voxels of a column. Of one that they cut, the height is that of a plane that
leaves as much within them. Where they hold all but nothing, or nearly everything, of a column beside, its surface lies
somewhere beyond them, and the curvature within a range: in it the surface has the pressure of the liquid, so that it
drives nothing that other cells of the column, which have a curvature, do not.
"""

import math

import numpy as np

from muphy_lb.domain.wall_shapes import WALL_NORMAL
from muphy_lb.lattice import combined
from muphy_lb.operators.operator import constant_tables
from muphy_lb.physics.free_surface.capillarity import COS_ANGLE, SHARPEST, surface_normal
from muphy_lb.physics.free_surface.cells import CELL, FILL, INTERFACE, LIQUID, WALL

ROUGH = 0.1  # by how much a voxel of a column may be fuller than the one below it
LEAST_SINE = 0.45  # of the contact angle, from which on columns along walls hold the surface
LEAST_CUT = 0.2  # volume of a column within its three voxels from which the extent of the surface beyond them is known
FACING = 0.5  # least component of the normal of the wall towards a column that may lie beyond them
UPRIGHT = 0.1  # largest component of the normal of the wall along a column
ROUNDS = 3  # of finding heights of columns that the three voxels cut from slopes, and slopes from heights
FLAT = 0.95  # component of the normal of the wall along an axis from which on no stairs are near
MOST_BENT = 0.2  # largest share of a rise that mean heights differ by in excess
NO_WALL, AT_WALL, BELOW, ABOVE, UNKNOWN = range(5)  # what is beside a column: another one, a wall, or one beyond reach
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
    """(2, m) least and largest mean curvature at interface cells n, whose neighbours are (Q - 1, m), and (m,) whether
    heights determine them."""
    cell, cosine = parameters[CELL][neighbours], parameters[COS_ANGLE]
    shares = np.where(cell & LIQUID, 1.0, np.where(cell & INTERFACE, parameters[FILL][neighbours].astype(float), 0.0))
    own, normal = parameters[FILL][n].astype(float), surface_normal(neighbours, n, lattice, parameters)[0]
    wall = np.array([parameters[name][n] for name in WALL_NORMAL], dtype=float)
    square = 1.0 - cosine * cosine
    at_wall = cosine / math.sqrt(max(square, LEAST_SINE**2))
    found, is_known, most = np.zeros((2, n.size)), np.zeros(n.size, dtype=bool), np.zeros(n.size)
    ahead, behind, places = columns(lattice)
    for e, (up, down) in enumerate(zip(ahead, behind, strict=True)):
        along, upright = (combined(lattice.c[1:][[up]], each)[0] for each in (normal, wall))
        is_up = (along > most) & (np.abs(upright) < UPRIGHT)
        most = np.where(is_up, along, most)
        is_good = _in_order(shares[down], own, shares[up]) & ((cell[up] | cell[down]) & WALL == 0)
        height, beside = shares[down] + own + shares[up], places[N_SIDES * e : N_SIDES * e + N_SIDES]
        facing = [combined(lattice.c[1:][[at[0]]], wall)[0] if at[0] >= 0 else 0.0 * own for at in beside]
        sides = [
            _side((beside[k], beside[k ^ 1]), (cell, shares), height, (facing[k], at_wall)) for k in range(N_SIDES)
        ]
        slope = [np.where(kind == AT_WALL, at_wall * rise, rise) for rise, kind in sides]
        through = np.zeros((2, n.size))
        for k, (rise, kind) in enumerate(sides):
            i, (component, opposite) = k ^ 2, sides[k ^ 1]
            square_along = (0.5 * (slope[i] - slope[i ^ 1])) ** 2
            bent = np.where(opposite == AT_WALL, cosine * component, 0.0)
            is_bent = (opposite == AT_WALL) & (kind == NO_WALL) & (np.abs(component) > FLAT)
            crossing = _through(rise, square_along, bent, is_bent)
            crossing = np.where(kind == AT_WALL, cosine * rise, crossing)
            through += [np.where(kind == BELOW, -1.0, crossing), np.where(kind == ABOVE, 1.0, crossing)]
            is_good &= kind < UNKNOWN
        found, is_known = np.where(is_up, -0.5 * through[::-1], found), np.where(is_up, is_good, is_known)
    return np.clip(found, -SHARPEST, SHARPEST), is_known & (square > LEAST_SINE**2)


def _in_order(below, own, above):
    return (own <= below + ROUGH) & (above <= own + ROUGH)


def _side(places, around, height, wall):
    """(m,) rise of the surface to the column on a side, or the least one in size, and (m,) of what kind it is; or
    component of the normal of the wall there, and ``AT_WALL``. ``places``: of that column, and the opposite one;
    ``around``: what the neighbours are, and their shares; ``height``: of the surface; ``wall``: component of its normal
    towards that side, and slope of the surface at it."""
    ((beside, above, below), opposite), (cell, shares), (facing, at_wall) = places, around, wall
    if beside < 0:
        return np.zeros(height.shape), np.full(height.shape, NO_WALL)
    there = shares[below] + shares[beside] + shares[above]
    is_across, fall, own, steep = _is_wall(cell, opposite).all(axis=0), height - there, height, np.zeros(height.shape)
    for _ in range(ROUNDS):
        first = np.where(is_across, at_wall * facing, fall)
        own, steep = _height(height, 0.5 * np.abs(first + fall)), np.abs(1.5 * fall - 0.5 * first)
        fall = own - _height(there, steep)
    least = np.minimum(LEAST_CUT, 0.5 * steep)
    is_below, is_above = there <= least, 3.0 - there <= least
    is_good = (~(is_below | is_above) | (facing > FACING)) & _in_order(shares[below], shares[beside], shares[above])
    walls, blocks = _is_wall(cell, places[0]), (cell[list(places[0])] & WALL != 0).any(axis=0)
    kind = np.select([is_below, is_above], [BELOW, ABOVE], NO_WALL)
    kind = np.select([walls.all(axis=0), blocks | ~is_good], [AT_WALL, UNKNOWN], kind)
    return np.select([kind == AT_WALL, is_below, is_above], [-facing, -own, 3.0 - own], -fall), kind


def _is_wall(cell, places):
    return cell[list(places)] == WALL


def _height(held, steep):
    """(m,) height in the middle of a column of a plane of slope ``steep`` below which three voxels hold a volume."""
    half = 0.5 * steep
    below = np.sqrt(2.0 * steep * np.maximum(held, 0.0)) - half
    above = 3.0 + half - np.sqrt(2.0 * steep * np.maximum(3.0 - held, 0.0))
    return np.select([held < half, 3.0 - held < half], [below, above], held)


def _through(rise, square_along, opposite, is_bent):
    """(m,) what crosses a side, of the rise through it and the square of the slope along it, if ``opposite`` does the
    opposite side, a wall."""
    flat, d = 1.0 + square_along, rise
    ratio = (flat + rise * rise) / flat
    for _ in range(2):
        bend = opposite + d / np.sqrt(flat + d * d)
        d = rise * (1.0 - np.where(is_bent, np.minimum(0.25 * bend * bend * ratio * ratio, MOST_BENT), 0.0))
    return d / np.sqrt(flat + d * d)


def heights_node(lattice, precision, jit, at):
    """Node function ``(neighbours, n, parameters, normal)`` of :func:`curvature_by_heights`."""
    cell, cosine, real = at[CELL], at[COS_ANGLE], precision.real
    _, cx, cy, cz = constant_tables(lattice, precision)
    ahead, behind = (np.array(each) for each in columns(lattice)[:2])
    count, zero, half, one, rough = len(ahead), real(0), real(0.5), real(1), real(ROUGH)
    sharpest, least_square, flat = real(SHARPEST), real(LEAST_SINE**2), real(FLAT)
    share, side = _share_node(precision, jit, at), _side_node(lattice, precision, jit, at)
    facing, upright = _facing_node(lattice, precision, jit, at), real(UPRIGHT)
    through = _through_node(precision, jit)

    def slope(rise, kind, at_wall):
        return at_wall * rise if kind == AT_WALL else rise

    def across(side, opposite, along, cosine):
        (rise, kind), (component, of_opposite) = side, opposite
        if kind == AT_WALL:
            return cosine * rise, cosine * rise
        is_bent = kind == NO_WALL and of_opposite == AT_WALL and abs(component) > flat
        crossing = through(rise, along * along, cosine * component if is_bent else zero, is_bent)
        return -one if kind == BELOW else crossing, one if kind == ABOVE else crossing

    slope, across = jit(slope), jit(across)

    def heights(neighbours, n, parameters, normal):
        nx, ny, nz = normal
        e, most = -1, zero
        for k in range(count):
            along = cx[ahead[k] + 1] * nx + cy[ahead[k] + 1] * ny + cz[ahead[k] + 1] * nz
            if along > most and abs(facing(ahead[k], n, parameters)) < upright:
                e, most = k, along
        square = one - parameters[cosine] * parameters[cosine]
        if e < 0 or square <= least_square:
            return zero, zero, False
        up, down = neighbours[ahead[e]], neighbours[behind[e]]
        low, own, high = share(down, parameters), share(n, parameters), share(up, parameters)
        if (parameters[cell][up] | parameters[cell][down]) & WALL or own > low + rough or high > own + rough:
            return zero, zero, False
        at_wall = parameters[cosine] / real(math.sqrt(square))
        surface, first = (low + own + high, at_wall), 4 * e
        a = side(first, first + 1, surface, neighbours, n, parameters)
        b = side(first + 1, first, surface, neighbours, n, parameters)
        c = side(first + 2, first + 3, surface, neighbours, n, parameters)
        d = side(first + 3, first + 2, surface, neighbours, n, parameters)
        if max(max(a[1], b[1]), max(c[1], d[1])) == UNKNOWN:
            return zero, zero, False
        ab = half * (slope(a[0], a[1], at_wall) - slope(b[0], b[1], at_wall))
        cd = half * (slope(c[0], c[1], at_wall) - slope(d[0], d[1], at_wall))
        through_a, most_a = across(a, b, cd, parameters[cosine])
        through_b, most_b = across(b, a, cd, parameters[cosine])
        through_c, most_c = across(c, d, ab, parameters[cosine])
        through_d, most_d = across(d, c, ab, parameters[cosine])
        least = -half * (most_a + most_b + most_c + most_d)
        found = -half * (through_a + through_b + through_c + through_d)
        return min(max(least, -sharpest), sharpest), min(max(found, -sharpest), sharpest), True

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
    """Node function ``(place, opposite, (height, at_wall), neighbours, n, parameters)`` of :func:`_side`."""
    cell, real, facing_of = at[CELL], precision.real, _facing_node(lattice, precision, jit, at)
    beside, above, below = np.array(columns(lattice)[2]).T.copy()
    zero, half, onehalf, three, rough = (real(x) for x in (0, 0.5, 1.5, 3, ROUGH))
    least_cut, least_facing = real(LEAST_CUT), real(FACING)
    share, height_of = _share_node(precision, jit, at), _height_node(precision, jit)

    def is_wall(place, neighbours, parameters):
        a, b, c = neighbours[beside[place]], neighbours[above[place]], neighbours[below[place]]
        return parameters[cell][a] == WALL and parameters[cell][b] == WALL and parameters[cell][c] == WALL

    is_wall = jit(is_wall)

    def side(place, opposite, surface, neighbours, n, parameters):
        k = beside[place]
        if k < 0:
            return zero, NO_WALL
        (height, at_wall), facing = surface, facing_of(k, n, parameters)
        if is_wall(place, neighbours, parameters):
            return -facing, AT_WALL
        middle, up, down = neighbours[k], neighbours[above[place]], neighbours[below[place]]
        low, own, high = share(down, parameters), share(middle, parameters), share(up, parameters)
        if (parameters[cell][middle] | parameters[cell][up] | parameters[cell][down]) & WALL:
            return zero, UNKNOWN
        if own > low + rough or high > own + rough:
            return zero, UNKNOWN
        is_across, there, here, steep = is_wall(opposite, neighbours, parameters), low + own + high, height, zero
        fall = height - there
        for _ in range(ROUNDS):
            first = at_wall * facing if is_across else fall
            here, steep = height_of(height, half * abs(first + fall)), abs(onehalf * fall - half * first)
            fall = here - height_of(there, steep)
        least = min(least_cut, half * steep)
        if there > least and three - there > least:
            return -fall, NO_WALL
        if facing <= least_facing:
            return zero, UNKNOWN
        if there <= least:
            return -here, BELOW
        return three - here, ABOVE

    return jit(side)


def _height_node(precision, jit):
    """Node function of :func:`_height`."""
    real = precision.real
    half, two, three = real(0.5), real(2), real(3)

    def height(held, steep):
        if held < half * steep:
            return real(math.sqrt(two * steep * max(held, real(0)))) - half * steep
        if three - held < half * steep:
            return three + half * steep - real(math.sqrt(two * steep * max(three - held, real(0))))
        return held

    return jit(height)


def _through_node(precision, jit):
    """Node function of :func:`_through`."""
    real = precision.real
    one, quarter, most = real(1), real(0.25), real(MOST_BENT)

    def through(rise, square_along, opposite, is_bent):
        flat, d = one + square_along, rise
        if is_bent:
            ratio = (flat + rise * rise) / flat
            for _ in range(2):
                bend = opposite + d / real(math.sqrt(flat + d * d))
                d = rise * (one - min(quarter * bend * bend * ratio * ratio, most))
        return d / real(math.sqrt(flat + d * d))

    return jit(through)
