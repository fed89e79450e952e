"""Columns of cells at a flat wall, which a surface at a contact angle crosses obliquely.

Of two cells of a column that the surface crosses it is undetermined which holds the liquid: both have the pressure of
one plane, whatever the share of either, and cells beside them see each by itself. So the two share their sum as a plane
does that has the slope of the contact angle across the column, as height functions at walls have it (Afkhami, Bussmann,
Int. J. Numer. Meth. Fluids 57, 453 (2008)): the face between them is as wet as the plane makes it, and ``RATE`` of what
one of them has too much goes to the other in a step. A gas cell that the plane enters becomes interface, and so does a
liquid cell that it leaves.

A link lies along a wall if walls lie beside both of its cells, which either of them sees. The plane has, across the
column, the slope of the contact angle, and along the wall that of the columns beside it; both cells find the same.
"""

import math

import numpy as np

from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.free_surface.capillarity import COS_ANGLE
from muphy_lb.physics.free_surface.cells import CELL, FILL, INTERFACE, LIQUID, WALL

RATE = 0.1
APART = 0.3
"""Difference of the fillings of two cells from which on the surface crosses their column, and does not lie along it."""
ENTERED = 0.01
"""Share of a gas cell that the plane fills, or of a liquid cell that it empties, from which on it becomes interface."""
LEAST_SLOPE, MOST_SLOPE, MOST_ASIDE = 0.05, 2.0, 1.5
"""Slopes of the surface across a column, least and most, and along the wall, most [voxels a voxel]."""
NOT_ALONG = -1.0


def links_along_walls(lattice) -> tuple[tuple[int, ...], ...]:
    """Seven tuples of indices of neighbours, of links that may lie along walls: the link, the wall beside a cell, that
    beside its neighbour, and the two cells at either side along the wall, each beside the cell and beside its
    neighbour; in a plane the link itself stands for these four."""
    index = {tuple(int(x) for x in link): k for k, link in enumerate(lattice.c[1:])}
    axes = [np.array(link) for link in index if sum(map(abs, link)) == 1]
    found = []
    for link in axes:
        for wall in axes:
            if link @ wall == 0:
                side, itself = np.cross(link, wall), index[tuple(link.tolist())]
                places = (link, wall, link + wall, side, link + side, -side, link - side)
                found.append([index.get(tuple(place.tolist()), itself) for place in places])
    return tuple(zip(*found, strict=True))


def slope_along(k: int, neighbours, lattice, parameters) -> np.ndarray:
    """(m,) slope of the surface along the link to neighbour ``k`` of cells whose neighbours are (Q - 1, m);
    ``NOT_ALONG`` where the link does not lie along a wall, or the surface does rather than crossing the column."""
    cell, held, cosine = parameters[CELL][neighbours], parameters[FILL][neighbours], parameters[COS_ANGLE]
    shares = np.where(cell & LIQUID, 1.0, np.where(cell & INTERFACE, held.astype(float), 0.0))
    across = cosine * cosine / max(1.0 - cosine * cosine, LEAST_SLOPE**2)
    found = np.full(neighbours.shape[1], NOT_ALONG)
    for link, own, beyond, left, far_left, right, far_right in zip(*links_along_walls(lattice), strict=True):
        if link != k:
            continue
        sides = [left, far_left, right, far_right]
        aside = 0.5 * np.abs((shares[left] + shares[far_left]) - (shares[right] + shares[far_right]))
        square = np.where((cell[sides] & WALL != 0).any(axis=0), 0.0, aside * aside)
        slope = np.clip(np.sqrt(across + square * (1.0 + across)), LEAST_SLOPE, MOST_SLOPE)
        slope = np.where(square > MOST_ASIDE**2, NOT_ALONG, slope)
        found = np.where((cell[own] == WALL) & (cell[beyond] == WALL), slope, found)
    return found


def split(total, slope) -> tuple[np.ndarray, np.ndarray]:
    """(m,) filling of the emptier of two cells, and (m,) wet share of the face between them, of a plane with a slope
    (m,) below which they hold a total (m,)."""
    total = np.maximum(total, 0.0)
    low = total - 0.5 * slope
    low = np.where(low < 0.0, np.sqrt(2.0 * slope * total) - slope, low)
    over = low + slope > 2.0
    low = np.where(over, 2.0 - np.sqrt(2.0 * slope * np.maximum(2.0 - total, 0.0)), low)
    low = np.where(over & (low < 0.0), total - 0.5 * slope, low)
    above = low + slope - 1.0
    wet = np.clip(above / slope, 0.0, 1.0)
    inside = np.minimum(above, 1.0)
    partly = (0.5 * inside * inside + above - inside) / slope
    return np.select([above <= 0.0, low >= 1.0], [0.0, total - 1.0], partly), wet


def crossed(k: int, neighbours, n, lattice, parameters) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(m,) whether the surface crosses the column of interface cells n and their neighbours ``k``, (m,) wet share of
    the face between them, and (m,) mass that the neighbour gives to the cell."""
    own, beside = parameters[FILL][n].astype(float), neighbours[k]
    other = parameters[FILL][beside].astype(float)
    slope = slope_along(k, neighbours, lattice, parameters)
    is_crossed = (slope > 0.0) & (parameters[CELL][beside] & INTERFACE != 0) & (np.abs(own - other) > APART)
    upper, wet = split(own + other, np.abs(slope))
    return is_crossed, wet, RATE * np.where(own < other, upper - own, other - upper)


def is_entered(k: int, share, neighbours, lattice, parameters) -> np.ndarray:
    """(m,) whether the plane of a column enters the gas, of cells whose neighbours are (Q - 1, m), and of neighbour
    ``k``, of which one is gas and the other holds a share (m,)."""
    slope = slope_along(k, neighbours, lattice, parameters)
    return (slope > 0.0) & (split(share, np.abs(slope))[0] > ENTERED)


def is_left(k: int, share, neighbours, lattice, parameters) -> np.ndarray:
    """(m,) the same: whether the plane leaves the liquid, where one is liquid and the other holds a share (m,)."""
    slope = slope_along(k, neighbours, lattice, parameters)
    return (slope > 0.0) & (split(1.0 + share, np.abs(slope))[0] > share + ENTERED)


def slope_along_node(lattice, precision, jit, at):
    """Node function ``(k, neighbours, parameters)`` of :func:`slope_along`, of one cell."""
    cell, fill, cosine, real = at[CELL], at[FILL], at[COS_ANGLE], precision.real
    link, own, beyond, left, far_left, right, far_right = links_along_walls(lattice)
    count, not_along, zero, half, one = len(link), real(NOT_ALONG), real(0), real(0.5), real(1)
    least, most, farthest, upright = (real(x) for x in (LEAST_SLOPE, MOST_SLOPE, MOST_ASIDE**2, LEAST_SLOPE**2))

    def share(beside, parameters):
        kind = parameters[cell][beside]
        if kind & LIQUID:
            return one
        return parameters[fill][beside] if kind & INTERFACE else zero

    share = jit(share)

    def square_aside(beside, parameters):
        a, b, c, d = beside
        if (parameters[cell][a] | parameters[cell][b] | parameters[cell][c] | parameters[cell][d]) & WALL:
            return zero
        aside = share(a, parameters) + share(b, parameters) - (share(c, parameters) + share(d, parameters))
        return half * aside * half * aside

    square_aside = jit(square_aside)

    def slope_of(beside, parameters):
        square, across = square_aside(beside, parameters), parameters[cosine] * parameters[cosine]
        if square > farthest:
            return not_along
        across = across / max(one - across, upright)
        return min(max(real(math.sqrt(across + square * (one + across))), least), most)

    slope_of = jit(slope_of)

    def is_wall(n, parameters):
        return parameters[cell][n] == WALL

    is_wall = jit(is_wall)

    def slope_along(k, neighbours, parameters):
        found = not_along
        for e in range(count):
            if link[e] == k and is_wall(neighbours[own[e]], parameters) and is_wall(neighbours[beyond[e]], parameters):
                a, b, c, d = (
                    neighbours[left[e]],
                    neighbours[far_left[e]],
                    neighbours[right[e]],
                    neighbours[far_right[e]],
                )
                found = slope_of((a, b, c, d), parameters)
        return found

    return jit(unroll(slope_along))


def split_node(precision, jit):
    """Node function of :func:`split`."""
    real = precision.real
    zero, half, one, two = (real(x) for x in (0, 0.5, 1, 2))

    def split(total, slope):
        low = total - half * slope
        if low < zero:
            low = real(math.sqrt(two * slope * total)) - slope
        if low + slope > two:
            low = two - real(math.sqrt(two * slope * max(two - total, zero)))
            if low < zero:
                low = total - half * slope
        above = low + slope - one
        wet = min(max(above / slope, zero), one)
        if above <= zero:
            return zero, wet
        if low >= one:
            return total - one, wet
        inside = min(above, one)
        return (half * inside * inside + above - inside) / slope, wet

    return jit(split)


def crossed_node(lattice, precision, jit, at):
    """Node function ``(k, own, other, neighbours, parameters)`` -> wet share of the face to the interface cell ``k``,
    negative if the surface does not cross their column, and the mass that it gives, of both fillings."""
    slope_of, split_of = slope_along_node(lattice, precision, jit, at), split_node(precision, jit)
    zero, rate, apart, not_crossed = (precision.real(x) for x in (0, RATE, APART, NOT_ALONG))

    def crossed(k, own, other, neighbours, parameters):
        if abs(own - other) <= apart:
            return not_crossed, zero
        slope = slope_of(k, neighbours, parameters)
        if slope <= zero:
            return not_crossed, zero
        upper, wet = split_of(own + other, slope)
        return wet, rate * (upper - own if own < other else other - upper)

    return jit(crossed)


def entered_and_left_nodes(lattice, precision, jit, at):
    """Node functions ``(k, share, neighbours, parameters)`` of :func:`is_entered` and :func:`is_left`."""
    slope_of, split_of = slope_along_node(lattice, precision, jit, at), split_node(precision, jit)
    zero, one, least = precision.real(0), precision.real(1), precision.real(ENTERED)

    def is_entered(k, share, neighbours, parameters):
        slope = slope_of(k, neighbours, parameters)
        return slope > zero and split_of(share, slope)[0] > least

    def is_left(k, share, neighbours, parameters):
        slope = slope_of(k, neighbours, parameters)
        return slope > zero and split_of(one + share, slope)[0] > share + least

    return jit(is_entered), jit(is_left)
