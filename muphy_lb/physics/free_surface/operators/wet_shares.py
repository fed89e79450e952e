"""Wet share of the face between two interface cells, from the fillings of both, or of all cells that both see.

A plane surface that moves along itself with a velocity u must leave every filling as it is: what crosses the links of a
cell, w_i (c_i.u) times their shares, must add up to zero. Links from liquid carry all, those to gas nothing. Through
the faces of a cell of the plane u times their wet parts A cross, which add up to zero; so do those of each square of
four cells around an edge, of each face its half (in space its quarter). In a square both diagonal links together carry
along each axis sigma u / 6, if both have the share sigma: 1 beside liquid, 0 beside gas, and anything else between
interface cells. The links along the axis carry the rest, with the sum over the squares at the face:

    share = (A - sum of sigma / 6) / (6 w),

3/2 A - 1/4 (sigma + sigma') of D2Q9, 3 A - 1/2 (sum of four) of D3Q19. A follows from rows, pairs of cells across the
face: with T the filling of the pair, T + and T - of those beside it along the steeper one of the directions within the
face, the plane cuts half of the face moved by (T - 1) / S, S = |T + - T -| / 2, if it crosses all three; if one is full
and one empty, the mean of both columns of three cells, (T + + T + T -) / 2 - 1, is wet.
"""

import numpy as np

from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.free_surface.cells import INTERFACE, LIQUID, WALL

ALIKE, UNLIKE = 0.3, 0.6  # difference of the fills of cells side by side along a surface, and across it
SOFT = 1e-3
"""Added to the liquid of the emptier and to the room of the fuller of two cells, for the share of their face that is
wet: between a full and an empty one it is a half."""


def level(own, other):
    """Wet share of a face below a level surface: links within a layer carry 2/3 of its flux, those to the next ones 1/6
    each, of which gas takes none, so that a layer that is filled to f carries f with 3/2 f - 1/4. Cells move with the
    inertia of at least half a voxel, and carry as much, unless they are almost empty; with less, waves of two voxels
    grow."""
    both = own + other
    return np.minimum(np.maximum(0.75 * both - 0.25, 0.5), 10.0 * both)


def level_node(precision, jit):
    """Node function of :func:`level`."""
    half, more, quarter, most = (precision.real(x) for x in (0.5, 0.75, 0.25, 10))

    def share(own, other):
        both = own + other
        return min(max(more * both - quarter, half), most * both)

    return jit(share)


def steep(own, other):
    """Wet share of a face if the surface is a plane along or across it."""
    liquid, room = np.minimum(own, other) + SOFT, 1.0 - np.maximum(own, other) + SOFT
    return liquid / (liquid + room)


def steep_node(precision, jit):
    """Node function of :func:`steep`."""
    one, soft = precision.real(1), precision.real(SOFT)

    def share(own, other):
        liquid, room = min(own, other) + soft, one - max(own, other) + soft
        return liquid / (liquid + room)

    return jit(share)


def either(own, other):
    """The same between cells that differ by more than ``UNLIKE``; by less than ``ALIKE`` what a layer carries, 3/2 f -
    1/4, but at least 1/2 - f, or waves of two voxels grow below a fill of 0.2 where the viscosity is small."""
    both = own + other
    along = np.minimum(np.maximum(0.75 * both - 0.25, 0.5 - 0.5 * both), 10.0 * both)
    across = np.clip((np.abs(own - other) - ALIKE) / (UNLIKE - ALIKE), 0.0, 1.0)
    return along + across * (steep(own, other) - along)


def either_node(precision, jit):
    """Node function of :func:`either`."""
    zero, one, alike, scale = (precision.real(x) for x in (0, 1, ALIKE, 1.0 / (UNLIKE - ALIKE)))
    half, more, quarter, most = (precision.real(x) for x in (0.5, 0.75, 0.25, 10))
    steep_of = steep_node(precision, jit)

    def share(own, other):
        both, across = own + other, min(max((abs(own - other) - alike) * scale, zero), one)
        along = min(max(more * both - quarter, half - half * both), most * both)
        return along + across * (steep_of(own, other) - along)

    return jit(share)


PLANAR = 9, 19  # populations of lattices whose diagonal links cross one edge each: the cells of a square see each other
EDGE = 1e-6  # least filling and room of interface cells: 0 and 1 are those of gas and liquid
CLOSED = -1.0  # filling that stands for a wall
GENTLE, STEEP, LEVELLEST = 0.4, 0.5, 0.2
"""Slope S up to which a face is cut by rows, and from which on by columns; least one by which is divided."""


def _squares(lattice):
    """Of each link, without the one at rest: whether it is diagonal, and indices of neighbours. Of a diagonal one: the
    two others of its square. Of one along an axis: for each direction t within the face, those at t, c + t, -t,
    c - t."""
    c = [tuple(int(x) for x in vector) for vector in lattice.c[1:]]
    index = {vector: k for k, vector in enumerate(c)}
    axes = [axis for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1)) if axis in index]
    diagonal, corners, sides = [], [], []
    for vector in c:
        along = [axis for axis in axes if np.dot(axis, vector) != 0]
        is_diagonal = len(along) == 2
        ends = [index[tuple(int(np.dot(axis, vector)) * x for x in axis)] for axis in along]
        around = [np.array(axis) for axis in axes if axis not in along and not is_diagonal]
        faces = [tuple(index[tuple(int(x) for x in v)] for v in (t, vector + t, -t, vector - t)) for t in around]
        diagonal.append(int(is_diagonal))
        corners.append(tuple(ends) if is_diagonal else (0, 0))
        sides.append(((0,) * 4,) * 2 if is_diagonal else tuple((faces * 2)[:2]))
    return tuple(diagonal), tuple(corners), tuple(sides), len(axes) - 1


def _pair(first, second):
    """Filling of a row of two cells, either of which may be a wall; negative if both are."""
    return np.where(first < 0.0, 2.0 * second, np.where(second < 0.0, 2.0 * first, first + second))


def _beyond(pair, middle, opposite):
    """The same, in the place of walls that of the plane through the others."""
    goes_on = np.where(opposite < 0.0, middle, np.clip(2.0 * middle - opposite, 0.0, 2.0))
    return np.where(pair < 0.0, goes_on, pair)


def even(own, kinds, others, lattice):
    """(Q - 1, m) wet shares of the links to interface cells; see the module. ``own, kinds, others``: fillings (m,) of
    interface cells, kinds and fillings (Q - 1, m) of their neighbours."""
    own, inside = np.clip(own, EDGE, 1.0 - EDGE), np.clip(others.astype(float), EDGE, 1.0 - EDGE)
    gas = np.where(kinds & WALL, CLOSED, 0.0)
    shown = np.where(kinds & LIQUID, 1.0, np.where(kinds & INTERFACE, inside, gas))
    diagonal, corners, sides, n_across = _squares(lattice)
    found = np.zeros(shown.shape)
    for k in np.flatnonzero(diagonal):
        square = np.stack((own, shown[k], *shown[list(corners[k])]))
        most, least = square.max(axis=0), np.where(square < 0.0, 1.0, square).min(axis=0)
        soft = (least + SOFT) / ((least + SOFT) + (1.0 - most + SOFT))
        found[k] = np.where(most >= 1.0, 1.0, np.where(least <= 0.0, 0.0, soft))
    for k in np.flatnonzero(np.logical_not(diagonal)):
        middle, slope, column, blocks = own + shown[k], np.full(own.shape, -1.0), 0.0, 0.0
        for t, ct, s, cs in sides[k][:n_across]:
            up, down = _pair(shown[t], shown[ct]), _pair(shown[s], shown[cs])
            up, down = _beyond(up, middle, down), _beyond(down, middle, up)
            here, blocks = 0.5 * np.abs(up - down), blocks + (found[ct] + found[cs])
            is_steeper = here > slope
            slope, column = np.where(is_steeper, here, slope), np.where(is_steeper, up + down, column)
        by_row = np.clip(0.5 + (middle - 1.0) / np.maximum(slope, LEVELLEST), 0.0, 1.0)
        by_column = np.clip(0.5 * (column + middle) - 1.0, 0.0, 1.0)
        wet = by_row + np.clip((slope - GENTLE) / (STEEP - GENTLE), 0.0, 1.0) * (by_column - by_row)
        found[k] = wet / (6.0 * lattice.w[k + 1]) - blocks / (36.0 * lattice.w[k + 1])
    return np.minimum(found, 10.0 * (own + shown))


def even_node(lattice, precision, jit):
    """Node function ``(own, kinds, others)`` of :func:`even`."""
    diagonal, corners, sides, n_across = _squares(lattice)
    real, count = precision.real, lattice.q - 1
    zero, one, closed, edge, inside, ten = (real(x) for x in (0, 1, CLOSED, EDGE, 1.0 - EDGE, 10))
    of_wet, of_squares = real(1.0 / (6.0 * lattice.w[1])), real(n_across / (72.0 * lattice.w[1]))
    square_of, rows_of, wet_of = _square_node(precision, jit), _rows_node(precision, jit), _wet_node(precision, jit)

    def shares(own, kinds, others):
        own = min(max(own, edge), inside)
        shown = [closed] * count
        found = [zero] * count
        for k in range(count):
            if kinds[k] & LIQUID:
                shown[k] = one
            elif kinds[k] & INTERFACE:
                shown[k] = min(max(others[k], edge), inside)
            elif kinds[k] & WALL == 0:
                shown[k] = zero
        for k in range(count):
            if diagonal[k]:
                found[k] = square_of(own, shown[k], shown[corners[k][0]], shown[corners[k][1]])
        for k in range(count):
            if diagonal[k] == 0 and kinds[k] & INTERFACE:
                middle = own + shown[k]
                slope, both = rows_of(
                    middle,
                    (shown[sides[k][0][0]], shown[sides[k][0][1]]),
                    (shown[sides[k][0][2]], shown[sides[k][0][3]]),
                )
                other, of_other = rows_of(
                    middle,
                    (shown[sides[k][1][0]], shown[sides[k][1][1]]),
                    (shown[sides[k][1][2]], shown[sides[k][1][3]]),
                )
                if other > slope:
                    slope, both = other, of_other
                squares = (found[sides[k][0][1]] + found[sides[k][0][3]]) + (
                    found[sides[k][1][1]] + found[sides[k][1][3]]
                )
                found[k] = of_wet * wet_of(middle, slope, both) - of_squares * squares
        for k in range(count):
            found[k] = min(found[k], ten * (own + shown[k]))
        return found

    return jit(unroll(shares))


def _square_node(precision, jit):
    """Node function of the fillings of an interface cell and of the others of a square -> sigma."""
    zero, one, soft = (precision.real(x) for x in (0, 1, SOFT))

    def sigma(own, other, third, fourth):
        most, least = max(max(own, other), max(third, fourth)), own
        if other >= zero:
            least = min(least, other)
        if third >= zero:
            least = min(least, third)
        if fourth >= zero:
            least = min(least, fourth)
        if most >= one:
            return one
        return zero if least <= zero else (least + soft) / ((least + soft) + (one - most + soft))

    return jit(sigma)


def _rows_node(precision, jit):
    """Node function ``(middle, (first, second) of the row above, of that below)`` -> slope S, T + and T - added."""
    zero, half, two = (precision.real(x) for x in (0, 0.5, 2))

    def pair(first, second):
        if first < zero:
            return two * second
        return two * first if second < zero else first + second

    def beyond(row, middle, opposite):
        if row >= zero:
            return row
        return middle if opposite < zero else min(max(two * middle - opposite, zero), two)

    pair, beyond = jit(pair), jit(beyond)

    def rows(middle, above, below):
        up, down = pair(above[0], above[1]), pair(below[0], below[1])
        up, down = beyond(up, middle, down), beyond(down, middle, up)
        return half * abs(up - down), up + down

    return jit(rows)


def _wet_node(precision, jit):
    """Node function ``(middle, slope, both)`` -> wet part of a face."""
    real = precision.real
    zero, one, half, levellest, gentle, scale = (real(x) for x in (0, 1, 0.5, LEVELLEST, GENTLE, 1 / (STEEP - GENTLE)))

    def wet(middle, slope, both):
        by_row = min(max(half + (middle - one) / max(slope, levellest), zero), one)
        by_column = min(max(half * (both + middle) - one, zero), one)
        return by_row + min(max((slope - gentle) * scale, zero), one) * (by_column - by_row)

    return jit(wet)


def shares_of(scheme, own, kinds, others, lattice):
    """(Q - 1, m) wet shares of the links to interface cells by a scheme; see :func:`even`."""
    if scheme.is_even and lattice.q in PLANAR:
        return even(own, kinds, others, lattice)
    return scheme.wet_share(own, others)


def shares_node(scheme, lattice, precision, jit):
    """Node functions ``(own, kinds, others)`` -> what the shares of all links follow from, and ``(own, of the link)``
    -> that of one, by a scheme."""
    if scheme.is_even and lattice.q in PLANAR:
        return even_node(lattice, precision, jit), jit(lambda own, share: share)
    return jit(lambda own, kinds, others: others), scheme.wet_share_node(precision, jit)
