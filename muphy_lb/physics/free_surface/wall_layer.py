"""The plane of the surface in an interface cell at a wall: below it, the cell and its neighbours along the wall hold
the liquid that they do. Neighbours along the line where surface and wall meet do not count: that line is curved."""

import math

import numpy as np

from muphy_lb.lattice import combined
from muphy_lb.operators.operator import constants
from muphy_lb.physics.free_surface.capillarity import HARDLY
from muphy_lb.physics.free_surface.cells import CELL, FILL, INTERFACE, LIQUID, WALL
from muphy_lb.physics.free_surface.plane import plane_share, share_node

ALONG, ASIDE = 0.3, 0.5
"""Components of a link, along the normal of the wall and along the line where surface and wall meet, up to which it
leads along the wall and away from that line."""
FARTHEST, HALVINGS = 1.5, 7
"""Largest distance of the plane from the centre, and how often that interval is halved to find it."""


def wall_normal(beside, lattice):
    """(3, m) unit vectors into the walls among the neighbours (Q - 1, m) of cells, 0 without one."""
    weighted = lattice.w[1:, None, None] * lattice.c[1:, :, None] * (beside == WALL)[:, None]
    found = weighted.sum(axis=0)
    length = np.linalg.norm(found, axis=0)
    return np.where(length > HARDLY, found / np.where(length > HARDLY, length, 1.0), 0.0)


def layer_distance(normal, sides, own, around, lattice):
    """(m,) distance of planes from the centres of cells at walls.

    Args:
        normal: (3, m) unit vectors of the surface, to the gas.
        sides: unit vectors (3, m), into the wall and along the line where surface and wall meet.
        own: (m,) filling of the cells.
        around: their neighbours (Q - 1, m): what they are, and the share of them that is liquid.
        lattice: the velocity set.
    """
    beside, shares = around
    into_wall, aside = (np.abs(combined(lattice.c[1:], side)) for side in sides)
    along = (into_wall < ALONG) & (aside < ASIDE) & (beside & WALL == 0)
    across = combined(lattice.c[1:], normal)
    held = own + np.where(along, shares, 0.0).sum(axis=0)
    used = np.flatnonzero(along.any(axis=1))

    def below(distance):
        beyond = [np.where(along[k], plane_share(distance - across[k], normal), 0.0) for k in used]
        return plane_share(distance, normal) + sum(beyond)

    low, high = np.full(own.shape, -FARTHEST), np.full(own.shape, FARTHEST)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        is_over = below(middle) > held
        low, high = np.where(is_over, low, middle), np.where(is_over, middle, high)
    least, most = below(low), below(high)
    return low + (high - low) * np.clip((held - least) / np.maximum(most - least, HARDLY), 0.0, 1.0)


def wall_normal_node(lattice, precision, jit, at):
    """Node function ``(neighbours, parameters)`` of :func:`wall_normal`."""
    cell, real = at[CELL], precision.real
    w, cx, cy, cz = constants(lattice, precision)
    zero, one, least = real(0), real(1), real(HARDLY * HARDLY)

    def normal(neighbours, parameters):
        x, y, z = zero, zero, zero
        for k in range(len(neighbours)):
            if parameters[cell][neighbours[k]] == WALL:
                x += w[k + 1] * cx[k + 1]
                y += w[k + 1] * cy[k + 1]
                z += w[k + 1] * cz[k + 1]
        square = x * x + y * y + z * z
        if square <= least:
            return zero, zero, zero
        scale = one / real(math.sqrt(square))
        return x * scale, y * scale, z * scale

    return jit(normal)


def _is_along_node(lattice, precision, jit):
    """Node function: whether link k leads along the wall to a neighbour of a kind."""
    _, cx, cy, cz = constants(lattice, precision)
    most_into_wall, most_aside = precision.real(ALONG), precision.real(ASIDE)

    def is_along(kind, k, sides):
        (wx, wy, wz), (qx, qy, qz) = sides
        into_wall, aside = cx[k] * wx + cy[k] * wy + cz[k] * wz, cx[k] * qx + cy[k] * qy + cz[k] * qz
        return kind & WALL == 0 and abs(into_wall) < most_into_wall and abs(aside) < most_aside

    return jit(is_along)


def layer_distance_node(lattice, precision, jit, at):
    """Node function ``(neighbours, n, parameters, normal, sides)`` of :func:`layer_distance`."""
    cell, fill, real = at[CELL], at[FILL], precision.real
    _, cx, cy, cz = constants(lattice, precision)
    zero, one, half, least, farthest = (real(x) for x in (0, 1, 0.5, HARDLY, FARTHEST))
    share_of, is_along = share_node(precision, jit), _is_along_node(lattice, precision, jit)

    def below(distance, neighbours, parameters, normal, sides):
        nx, ny, nz = normal
        found = share_of(distance, nx, ny, nz)
        for k in range(len(neighbours)):
            if is_along(parameters[cell][neighbours[k]], k + 1, sides):
                across = cx[k + 1] * nx + cy[k + 1] * ny + cz[k + 1] * nz
                found += share_of(distance - across, nx, ny, nz)
        return found

    below = jit(below)

    def distance(neighbours, n, parameters, normal, sides):
        held = parameters[fill][n]
        for k in range(len(neighbours)):
            kind = parameters[cell][neighbours[k]]
            if is_along(kind, k + 1, sides):
                if kind & INTERFACE:
                    held += parameters[fill][neighbours[k]]
                elif kind & LIQUID:
                    held += one
        low, high = -farthest, farthest
        for _ in range(HALVINGS):
            middle = half * (low + high)
            if below(middle, neighbours, parameters, normal, sides) > held:
                high = middle
            else:
                low = middle
        first = below(low, neighbours, parameters, normal, sides)
        last = below(high, neighbours, parameters, normal, sides)
        return low + (high - low) * min(max((held - first) / max(last - first, least), zero), one)

    return jit(distance)
