"""Surface tension where the surface meets walls at a given contact angle, which is measured through the liquid.

Away from walls, and at their edges, the curvature is that of :mod:`muphy_lb.physics.free_surface.capillarity`; where a
face of a voxel is wall, that of :mod:`muphy_lb.physics.free_surface.heights` if columns determine it. In another such
cell that the surface is not parallel to, the paraboloid has to have the slope of the contact angle where it meets the
wall, as the height functions of Afkhami and Bussmann (Int. J. Numer. Methods Fluids 57, 453, 2008) have: a row of large
weight in its normal equations. The curvature there measures how far the surface is from the contact angle, and its
pressure drives it there.

The plane of such a cell is the one below which the cell *and its neighbours along the wall* hold the liquid that they
do. Of the two cells that the surface crosses at the wall, liquid leaves the emptier one first and enters the fuller one
first, as if the surface stood upright; the plane of one cell alone would see an edge that is not there, and the line
where surface and wall meet would stay where it is. Full and empty neighbours that the surface would cut count as well:
it has to go round them. Neighbours along that line do not: it is curved.
"""

import math

import numpy as np

from muphy_lb.domain.wall_shapes import WALL_NORMAL
from muphy_lb.lattice import combined
from muphy_lb.operators import Operator
from muphy_lb.operators.operator import constant_tables, joined, named
from muphy_lb.physics.free_surface.beside import HARDLY
from muphy_lb.physics.free_surface.capillarity import (
    COS_ANGLE,
    N_TERMS,
    PARABOLOID,
    RIDGE,
    TENSION,
    curvature_node,
    curvature_of,
    curvature_of_node,
    distance_node,
    equations_nodes,
    normal_node,
    plane_distance,
    plane_share,
    share_node,
    surface_normal,
)
from muphy_lb.physics.free_surface.capillarity import curvature as curvature_away_from_walls
from muphy_lb.physics.free_surface.cells import CELL, FILL, INTERFACE, LIQUID, WALL
from muphy_lb.physics.free_surface.heights import curvature_by_heights, heights_node

ALONG, ASIDE = 0.3, 0.5
"""Components of a link, along the normal of the wall and along the line where surface and wall meet, up to which it
leads along the wall and away from that line."""
FARTHEST, HALVINGS = 1.5, 7
"""Largest distance of the plane from the centre, and how often that interval is halved to find it."""


def into_wall(n, parameters) -> np.ndarray:
    """(3, m) unit vectors into the walls beside cells, 0 without one."""
    found = -np.array([parameters[name][n] for name in WALL_NORMAL], dtype=float)
    length = np.linalg.norm(found, axis=0)
    return np.where(length > HARDLY, found / np.where(length > HARDLY, length, 1.0), 0.0)


def wall_distance(beside, into, lattice) -> np.ndarray:
    """(m,) distance of the wall from the centres of cells, whose neighbours are (Q - 1, m), along unit vectors (3, m):
    midway between the nearest centre in the wall and the farthest one in the fluid before it."""
    ahead, is_wall = combined(lattice.c[1:], into), beside & WALL != 0
    nearest = np.where(is_wall & (ahead > HARDLY), ahead, 1.0).min(axis=0)
    farthest = np.where(is_wall, 0.0, ahead).max(axis=0, initial=0.0)
    return 0.5 * (nearest + np.minimum(farthest, nearest))


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


def into_wall_node(precision, jit, at):
    """Node function ``(n, parameters)`` of :func:`into_wall`."""
    real, (wall_x, wall_y, wall_z) = precision.real, (at[name] for name in WALL_NORMAL)
    zero, one, least = real(0), real(1), real(HARDLY * HARDLY)

    def into(n, parameters):
        x, y, z = parameters[wall_x][n], parameters[wall_y][n], parameters[wall_z][n]
        square = x * x + y * y + z * z
        if square <= least:
            return zero, zero, zero
        scale = -one / real(math.sqrt(square))
        return x * scale, y * scale, z * scale

    return jit(into)


def wall_distance_node(lattice, precision, jit, at):
    """Node function ``(neighbours, parameters, into)`` of :func:`wall_distance`."""
    cell, real = at[CELL], precision.real
    _, cx, cy, cz = constant_tables(lattice, precision)
    zero, half, one, least = (real(x) for x in (0, 0.5, 1, HARDLY))

    def distance(neighbours, parameters, into):
        x, y, z = into
        nearest, farthest = one, zero
        for k in range(len(neighbours)):
            ahead = cx[k + 1] * x + cy[k + 1] * y + cz[k + 1] * z
            if not parameters[cell][neighbours[k]] & WALL:
                farthest = max(farthest, ahead)
            elif ahead > least:
                nearest = min(nearest, ahead)
        return half * (nearest + min(farthest, nearest))

    return jit(distance)


def _is_along_node(lattice, precision, jit):
    """Node function: whether link k leads along the wall to a neighbour of a kind."""
    _, cx, cy, cz = constant_tables(lattice, precision)
    most_into_wall, most_aside = precision.real(ALONG), precision.real(ASIDE)

    def is_along(kind, k, sides):
        (wx, wy, wz), (qx, qy, qz) = sides
        into_wall, aside = cx[k] * wx + cy[k] * wy + cz[k] * wz, cx[k] * qx + cy[k] * qy + cz[k] * qz
        return kind & WALL == 0 and abs(into_wall) < most_into_wall and abs(aside) < most_aside

    return jit(is_along)


def layer_distance_node(lattice, precision, jit, at):
    """Node function ``(neighbours, n, parameters, normal, sides)`` of :func:`layer_distance`."""
    cell, fill, real = at[CELL], at[FILL], precision.real
    _, cx, cy, cz = constant_tables(lattice, precision)
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


HEAVY = 10.0  # factor of the equation for the slope at the wall; that of a point of the surface in a neighbour has 1
MEETING = 0.2  # sine of the angle between surface and wall up to which they count as parallel
STEEPEST = 0.2  # cosine of the angle between the surface and that asked for, up to which its tangent is taken as it is
DEEPEST = 2.0  # largest distance of the wall along the surface that is taken


def _products(a, b):
    """(m,) scalar products of vectors (3, m)."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _fit(neighbours, n, normal, wall, lattice, parameters):
    """(5, m) coefficients of the paraboloid, and the vectors towards the wall and along it."""
    cell, held, cosine = parameters[CELL], parameters[FILL], parameters[COS_ANGLE]
    beside, fill = cell[neighbours], held[n].astype(float)
    shares = np.where(beside & INTERFACE, held[neighbours], np.where(beside & LIQUID, 1.0, 0.0))
    facing = _products(normal, wall)
    sine = np.sqrt(np.maximum(1.0 - facing * facing, MEETING * MEETING))
    first = (wall - facing * normal) / sine
    second = np.cross(normal, first, axis=0)
    own = layer_distance(normal, (wall, second), fill, (beside, shares), lattice)
    matrix, right = np.tile(RIDGE * np.eye(N_TERMS), (fill.size, 1, 1)), np.zeros((fill.size, N_TERMS))
    corner = 0.5 * np.abs(normal).sum(axis=0)
    for vector, share, kind in zip(lattice.c[1:], shares, beside, strict=True):
        is_full, is_empty = share >= 1.0 - HARDLY, (kind & WALL == 0) & (share <= HARDLY)
        cut = np.select([is_full, is_empty], [corner, -corner], plane_distance(share, normal))
        x, y, z = vector @ first, vector @ second, vector @ normal + cut - own
        valid = (kind & WALL == 0) & ~(is_full & (z <= 0.0)) & ~(is_empty & (z >= 0.0))
        terms = np.where(valid, [x * x, y * y, x * y, x, y], 0.0).T
        matrix += terms[:, :, None] * terms[:, None, :]
        right += terms * z[:, None]
    slope, depth = _at_wall(facing, sine, own, cosine, wall_distance(beside, wall, lattice))
    zero, one = np.zeros(fill.size), np.ones(fill.size)
    terms = np.stack([2.0 * depth, zero, zero, one, zero], axis=1)
    matrix += HEAVY * HEAVY * terms[:, :, None] * terms[:, None, :]
    right += HEAVY * HEAVY * terms * slope[:, None]
    return np.linalg.solve(matrix, right[:, :, None])[:, :, 0].T, first, second


def _at_wall(facing, sine, own, cosine, to_wall):
    """Slope of the surface at the contact angle towards the wall, and the distance along the surface to it."""
    of_wall = np.sqrt(1.0 - cosine * cosine)
    slope = (cosine * sine + of_wall * facing) / np.maximum(of_wall * sine - cosine * facing, STEEPEST)
    return slope, np.clip((to_wall - own * facing) / sine, 0.0, DEEPEST)


def curvature(neighbours, n, lattice, parameters) -> np.ndarray:
    """(2, m) least and largest mean curvature at interface cells n, whose neighbours are (Q - 1, m), the same unless
    neighbours do not determine it: the specification."""
    found = np.tile(curvature_away_from_walls(neighbours, n, lattice, parameters), (2, 1))
    normal, is_flat = surface_normal(neighbours, n, lattice, parameters)
    wall = into_wall(n, parameters)
    facing = _products(normal, wall)
    has_face = (parameters[CELL][neighbours[_faces(lattice)]] & WALL != 0).any(axis=0)
    meets = has_face & ~is_flat & wall.any(axis=0) & (1.0 - facing * facing > MEETING * MEETING)
    if not meets.any():
        return found
    neighbours, n, normal, wall = neighbours[:, meets], n[meets], normal[:, meets], wall[:, meets]
    (*_, h, i), first, second = _fit(neighbours, n, normal, wall, lattice, parameters)
    normal = normal - h * first - i * second
    normal /= np.linalg.norm(normal, axis=0)
    coefficients, _, _ = _fit(neighbours, n, normal, wall, lattice, parameters)
    by_heights, is_known = curvature_by_heights(neighbours, n, lattice, parameters)
    found[:, meets] = np.where(is_known, by_heights, curvature_of(coefficients))
    return found


def _faces(lattice) -> list[int]:
    """Indices of neighbours across the faces of a voxel."""
    return [int(k) for k in np.flatnonzero(np.abs(lattice.c[1:]).sum(axis=1) == 1)]


def _tension(neighbours, n, lattice, parameters):
    return parameters[TENSION] * curvature(neighbours, n, lattice, parameters)


def _tension_node(lattice, precision, jit, at):
    how = lattice, precision, jit, at
    real, tension = precision.real, at[TENSION]
    away_from_walls, normal_of, wall_of = curvature_node(*how), normal_node(*how), into_wall_node(precision, jit, at)
    at_wall, meeting = _curvature_at_wall_node(*how), real(MEETING * MEETING)
    cell, face = at[CELL], np.array(_faces(lattice))
    n_faces = len(face)

    def pressure(neighbours, n, parameters):
        wx, wy, wz = wall_of(n, parameters)
        faces = 0
        for k in range(n_faces):
            faces |= parameters[cell][neighbours[face[k]]]
        if faces & WALL and wx * wx + wy * wy + wz * wz > meeting:
            nx, ny, nz = normal_of(neighbours, n, parameters)
            facing = nx * wx + ny * wy + nz * wz
            if nx * nx + ny * ny + nz * nz - facing * facing > meeting:
                least, most = at_wall(neighbours, n, parameters, (nx, ny, nz), (wx, wy, wz))
                return parameters[tension] * least, parameters[tension] * most
        curvature, _ = away_from_walls(neighbours, n, parameters)
        found = parameters[tension] * curvature
        return found, found

    return jit(pressure)


def _curvature_at_wall_node(lattice, precision, jit, at):
    """Node function ``(neighbours, n, parameters, normal, wall)`` of the last lines of :func:`curvature`."""
    fit, curvature_of_it = _fit_node(lattice, precision, jit, at), curvature_of_node(precision, jit)

    by_heights = heights_node(lattice, precision, jit, at)

    def curvature_at_wall(neighbours, n, parameters, normal, wall):
        least, most, is_known = by_heights(neighbours, n, parameters, normal)
        if is_known:
            return least, most
        for _ in range(2):  # a loop, which keeps one copy of the fit in machine code
            a, b, c, h, i, normal = fit(neighbours, n, parameters, normal, wall)
        found = curvature_of_it(a, b, c, h, i)
        return found, found

    return jit(curvature_at_wall)


def _fit_node(lattice, precision, jit, at):
    """Node function ``(neighbours, n, parameters, normal, wall)`` of :func:`_fit`; it tilts the normal by H and I."""
    cell, fill, cosine, real = at[CELL], at[FILL], at[COS_ANGLE], precision.real
    _, cx, cy, cz = constant_tables(lattice, precision)
    zero, one, two, heavy, parallel = (real(x) for x in (0, 1, 2, HEAVY, MEETING * MEETING))
    layer, cut_of = layer_distance_node(lattice, precision, jit, at), _cut_node(precision, jit)
    at_wall, (none, add, solve) = _at_wall_node(precision, jit), equations_nodes(precision, jit)
    far = wall_distance_node(lattice, precision, jit, at)

    def paraboloid(neighbours, n, parameters, normal, wall):
        (nx, ny, nz), (wx, wy, wz) = normal, wall
        facing = nx * wx + ny * wy + nz * wz
        sine = real(math.sqrt(max(one - facing * facing, parallel)))
        px, py, pz = (wx - facing * nx) / sine, (wy - facing * ny) / sine, (wz - facing * nz) / sine
        qx, qy, qz = ny * pz - nz * py, nz * px - nx * pz, nx * py - ny * px
        own = layer(neighbours, n, parameters, normal, (wall, (qx, qy, qz)))
        slope, depth = at_wall(facing, sine, own, parameters[cosine], far(neighbours, parameters, wall))
        equations = add(none(), (heavy * two * depth, zero, zero, heavy, zero, heavy * slope))
        for k in range(len(neighbours)):
            ex, ey, ez = cx[k + 1], cy[k + 1], cz[k + 1]
            kind, share = parameters[cell][neighbours[k]], parameters[fill][neighbours[k]]
            z, is_known = cut_of(kind, share, ex * nx + ey * ny + ez * nz - own, normal)
            if is_known:
                x, y = ex * px + ey * py + ez * pz, ex * qx + ey * qy + ez * qz
                equations = add(equations, (x * x, y * y, x * y, x, y, z))
        a, b, c, h, i = solve(equations)
        tx, ty, tz = nx - h * px - i * qx, ny - h * py - i * qy, nz - h * pz - i * qz
        scale = one / real(math.sqrt(tx * tx + ty * ty + tz * tz))
        return a, b, c, h, i, (tx * scale, ty * scale, tz * scale)

    return jit(paraboloid)


def _cut_node(precision, jit):
    """Node function ``(kind, share, ahead, normal)`` -> how far the surface is ahead in a neighbour whose centre is
    ``ahead``, and whether that is known."""
    real, distance = precision.real, distance_node(precision, jit)
    zero, half, least, most = (real(x) for x in (0, 0.5, HARDLY, 1 - HARDLY))

    def cut(kind, share, ahead, normal):
        nx, ny, nz = normal
        corner = half * (abs(nx) + abs(ny) + abs(nz))
        if kind & WALL:
            return zero, False
        if kind & LIQUID or (kind & INTERFACE and share >= most):
            return ahead + corner, ahead + corner > zero
        if not kind & INTERFACE or share <= least:
            return ahead - corner, ahead - corner < zero
        return ahead + distance(share, nx, ny, nz), True

    return jit(cut)


def _at_wall_node(precision, jit):
    """Node function of :func:`_at_wall`."""
    real = precision.real
    zero, one, steepest, deepest = (real(x) for x in (0, 1, STEEPEST, DEEPEST))

    def at_wall(facing, sine, own, cosine, to_wall):
        of_wall = real(math.sqrt(one - cosine * cosine))
        slope = (cosine * sine + of_wall * facing) / max(of_wall * sine - cosine * facing, steepest)
        return slope, min(max((to_wall - own * facing) / sine, zero), deepest)

    return jit(at_wall)


CONTACT_ANGLE = Operator(
    "contact-angle", _tension, _tension_node, joined(PARABOLOID.parameters, named(COS_ANGLE, *WALL_NORMAL))
)
"""Surface tension with a contact angle at walls: the least and the largest density that it adds."""
