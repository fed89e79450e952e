"""Wet share of the face between two interface cells, from the fillings of both, or of all cells that both see.

A plane surface that moves along itself with a velocity u must leave every filling as it is: what crosses the links of a
cell, w_i (c_i.u) times their shares, must add up to zero. Links from liquid carry all, those to gas nothing. Through
the faces of a cell of the plane u times their wet parts A cross, which add up to zero; so do those of each square of
four cells around an edge, of each face its half (in space its quarter). In a square both diagonal links together carry
along each axis sigma u / 6, if both have the share sigma: 1 beside liquid, 0 beside gas and walls, and anything else
between interface cells. The links along the axis carry the rest, with the sum over the squares at the face:

    share = (A - sum of sigma / 6) / (6 w),

3/2 A - 1/4 (sigma + sigma') of D2Q9, 3 A - 1/2 (sum of four) of D3Q19. A follows from rows, pairs of cells across the
face: with T the filling of the pair, T + and T - of those beside it along the steeper one of the directions within the
face, the plane cuts half of the face moved by (T - 1) / S, S = |T + - T -| / 2, if it crosses all three; if one is full
and one empty, the mean of both columns of three cells, (T + + T + T -) / 2 - 1, is wet. A wall counts as the plane goes
on behind it, below a layer that lies on it as liquid.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

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
CLOSED = -1.0  # filling that stands for a wall in squares
EDGE = 1e-6
"""Least filling, which carries nothing, and room of interface cells: 0 and 1 are those of gas and liquid."""
FADING = 4.0  # of the share of a square per filling of its emptiest cell; per room of its fullest, by half
GENTLE, STEEPEST, LEVELLEST = 0.4, 0.5, 0.2
"""Slope S up to which a face is cut by rows, and from which on by columns; least one by which is divided."""
MOST = 10.0  # wet share over the filling of both cells, where they are almost empty


class Around(NamedTuple):
    """Indices of neighbours, of each link without the one at rest."""

    diagonal: tuple  #: 1 where a link crosses an edge
    corners: tuple  #: of diagonal links: the two others of their square
    sides: tuple  #: of links c along an axis: for each direction t within the face, those at t, c + t, -t, c - t
    n_across: int  #: number of those directions


@cache
def _around(lattice) -> Around:
    c = [tuple(int(x) for x in vector) for vector in lattice.c[1:]]
    index = {vector: k for k, vector in enumerate(c)}
    axes = [np.array(axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1)) if axis in index]

    def at(*vectors):
        return tuple(index[tuple(int(x) for x in vector)] for vector in vectors)

    diagonal, corners, sides = [], [], []
    for vector in np.array(c):
        along = [(axis @ vector) * axis for axis in axes if axis @ vector]
        faces = [at(t, vector + t, -t, vector - t) for t in axes if not t @ vector and len(along) == 1]
        diagonal.append(int(len(along) == 2))
        corners.append(at(*along) if len(along) == 2 else (0, 0))
        sides.append(tuple(((faces or [(0,) * 4]) * 2)[:2]))
    return Around(tuple(diagonal), tuple(corners), tuple(sides), len(axes) - 1)


def _behind(shown, near, far):
    """Fillings of cells, of walls that of the plane through both cells before them: ``near``, and ``far`` on its other
    side. A layer with gas beyond it lies on liquid, one with liquid beyond it on gas."""
    is_layer = (far == 0.0) | (far == 1.0)
    goes_on = np.where(is_layer, 1.0 - far, np.clip(2.0 * near - far, 0.0, 1.0))
    return np.where(shown == CLOSED, np.where(far < 0.0, near, goes_on), shown)


def even(own, kinds, others, lattice):
    """(Q - 1, m) wet shares of the links to interface cells; see the module. ``own, kinds, others``: fillings (m,) of
    interface cells, kinds and fillings (Q - 1, m) of their neighbours."""
    around = _around(lattice)
    own, others = (np.clip(each.astype(float), EDGE, 1.0 - EDGE) for each in (own, others))
    shown = np.where(kinds & LIQUID, 1.0, np.where(kinds & INTERFACE, others, np.where(kinds & WALL, CLOSED, 0.0)))
    found = np.zeros(shown.shape)
    for k in np.flatnonzero(around.diagonal):
        square = np.stack((own, shown[k], *shown[list(around.corners[k])]))
        most, least = square.max(axis=0), square.min(axis=0)
        soft = np.clip(FADING * (least - EDGE), 0.0, 1.0) * (1.0 - 0.5 * np.clip(FADING - FADING * most, 0.0, 1.0))
        found[k] = np.where(most >= 1.0, 1.0, soft)
    for k in np.flatnonzero(np.logical_not(around.diagonal)):
        middle, slope, both, squares = own + shown[k], np.full(own.shape, -1.0), 0.0, 0.0
        for sides in around.sides[k][: around.n_across]:
            (t, ct, s, cs), squares = shown[list(sides)], squares + (found[sides[1]] + found[sides[3]])
            up = _behind(t, own, s) + _behind(ct, shown[k], cs)
            down = _behind(s, own, t) + _behind(cs, shown[k], ct)
            here = 0.5 * np.abs(up - down)
            is_steeper = here > slope
            slope, both = np.where(is_steeper, here, slope), np.where(is_steeper, up + down, both)
        by_row = np.clip(0.5 + (middle - 1.0) / np.maximum(slope, LEVELLEST), 0.0, 1.0)
        by_column = np.clip(0.5 * (both + middle) - 1.0, 0.0, 1.0)
        wet = by_row + np.clip((slope - GENTLE) / (STEEPEST - GENTLE), 0.0, 1.0) * (by_column - by_row)
        of_wet, of_squares = 1.0 / (6.0 * lattice.w[k + 1]), 1.0 / (36.0 * lattice.w[k + 1])
        found[k] = np.minimum(of_wet * wet - of_squares * squares, MOST * (middle - 2.0 * EDGE))
    return found


def even_node(lattice, precision, jit):
    """Node function ``(own, kinds, others)`` of :func:`even`."""
    diagonal, corners, sides, n_across = _around(lattice)
    real, count = precision.real, lattice.q - 1
    zero, one, closed, most = (real(x) for x in (0, 1, CLOSED, MOST))
    edge, two_edges, inside = (real(x) for x in (EDGE, 2.0 * EDGE, 1.0 - EDGE))
    of_wet, of_squares = real(1.0 / (6.0 * lattice.w[1])), real(n_across / (72.0 * lattice.w[1]))
    square_of, wet_of = _square_node(precision, jit), _wet_node(precision, jit)

    def shares(own, kinds, others):
        own = min(max(own, edge), inside)
        shown = [zero] * count
        found = [zero] * count
        walls = 0
        for k in range(count):
            walls |= kinds[k] & WALL
            if kinds[k] & LIQUID:
                shown[k] = one
            elif kinds[k] & INTERFACE:
                shown[k] = min(max(others[k], edge), inside)
            elif kinds[k] & WALL:
                shown[k] = closed
        for k in range(count):
            if diagonal[k]:
                found[k] = square_of(own, shown[k], shown[corners[k][0]], shown[corners[k][1]])
        for k in range(count):
            if diagonal[k] == 0 and kinds[k] & INTERFACE:
                wet = wet_of(
                    walls,
                    own,
                    shown[k],
                    (shown[sides[k][0][0]], shown[sides[k][0][1]], shown[sides[k][0][2]], shown[sides[k][0][3]]),
                    (shown[sides[k][1][0]], shown[sides[k][1][1]], shown[sides[k][1][2]], shown[sides[k][1][3]]),
                )
                squares = (found[sides[k][0][1]] + found[sides[k][0][3]]) + (
                    found[sides[k][1][1]] + found[sides[k][1][3]]
                )
                found[k] = min(of_wet * wet - of_squares * squares, most * (own + shown[k] - two_edges))
        return found

    return jit(unroll(shares))


def _square_node(precision, jit):
    """Node function of the fillings of an interface cell and of the others of a square -> sigma."""
    zero, one, half, fading, edge = (precision.real(x) for x in (0, 1, 0.5, FADING, EDGE))

    def sigma(own, other, third, fourth):
        most, least = max(max(own, other), max(third, fourth)), min(min(own, other), min(third, fourth))
        room = min(max(fading - fading * most, zero), one)
        soft = min(max(fading * (least - edge), zero), one) * (one - half * room)
        return one if most >= one else soft

    return jit(sigma)


def _rows_node(precision, jit):
    """Node functions ``(own, other, sides)`` -> slope S, T + and T - added; the second one where there are walls."""
    zero, one, half, two, closed = (precision.real(x) for x in (0, 1, 0.5, 2, CLOSED))

    def behind(shown, near, far):
        if shown != closed:
            return shown
        if far < zero:
            return near
        if far == zero or far == one:
            return one - far
        return min(max(two * near - far, zero), one)

    def rows(own, other, sides):
        up, down = sides[0] + sides[1], sides[2] + sides[3]
        return half * abs(up - down), up + down

    behind, rows = jit(behind), jit(rows)

    def beside_walls(own, other, sides):
        t, ct, s, cs = sides
        known = behind(t, own, s), behind(ct, other, cs), behind(s, own, t), behind(cs, other, ct)
        return rows(own, other, known)

    return rows, jit(beside_walls)


def _wet_node(precision, jit):
    """Node function ``(walls, own, other, sides, others)`` -> wet part of a face between two cells, from the fillings
    beside it along both directions. ``walls``: not 0 where one of them may be a wall."""
    real = precision.real
    zero, one, half, levellest, gentle, scale = (
        real(x) for x in (0, 1, 0.5, LEVELLEST, GENTLE, 1 / (STEEPEST - GENTLE))
    )
    rows, beside_walls = _rows_node(precision, jit)

    def wet(walls, own, other, sides, others):
        if walls:
            (slope, both), (second, of_second) = beside_walls(own, other, sides), beside_walls(own, other, others)
        else:
            (slope, both), (second, of_second) = rows(own, other, sides), rows(own, other, others)
        if second > slope:
            slope, both = second, of_second
        middle = own + other
        by_row = min(max(half + (middle - one) / max(slope, levellest), zero), one)
        by_column = min(max(half * (both + middle) - one, zero), one)
        return by_row + min(max((slope - gentle) * scale, zero), one) * (by_column - by_row)

    return jit(wet)


class Shares(NamedTuple):
    """Wet shares of the links of interface cells to others."""

    reference: Callable  #: ``(own, kinds, others, lattice)`` -> (Q - 1, m) shares, as of :func:`even`
    node: Callable
    """``(lattice, precision, jit)`` -> node functions ``(own, kinds, others)`` -> what the shares of all links follow
    from, and ``(own, of the link)`` -> that of one"""


def _of_both(share, share_node) -> Shares:
    """Shares that follow from the fillings of both cells."""
    return Shares(
        lambda own, kinds, others, lattice: share(own, others),
        lambda lattice, precision, jit: (jit(lambda own, kinds, others: others), share_node(precision, jit)),
    )


LEVEL, STEEP, EITHER = _of_both(level, level_node), _of_both(steep, steep_node), _of_both(either, either_node)


def _even(own, kinds, others, lattice):
    found = even if lattice.q in PLANAR else LEVEL.reference
    return found(own, kinds, others, lattice)


def _even_node(lattice, precision, jit):
    if lattice.q not in PLANAR:
        return LEVEL.node(lattice, precision, jit)
    return even_node(lattice, precision, jit), jit(lambda own, share: share)


def _of_tension(own, kinds, others, lattice):
    if lattice.q not in PLANAR:
        return EITHER.reference(own, kinds, others, lattice)
    return np.maximum(even(own, kinds, others, lattice), 0.0)


def _of_tension_node(lattice, precision, jit):
    if lattice.q not in PLANAR:
        return EITHER.node(lattice, precision, jit)
    zero = precision.real(0)
    return even_node(lattice, precision, jit), jit(lambda own, share: max(share, zero))


EVEN = Shares(_even, _even_node)  #: by which planes keep their fillings; level ones where Q is not among ``PLANAR``
EVEN_OF_TENSION = Shares(_of_tension, _of_tension_node)
"""The same, but not below 0, where waves of two voxels grow: the links to liquid carry more than an almost empty cell
then. Where Q is not among ``PLANAR`` those of :func:`either`."""
