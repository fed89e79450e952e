"""Operators of two fluids of equal density, a colour-gradient method: normals and tension of their
interfaces.

**Tension.** Continuum surface force, Brackbill, Kothe, Zemach, J. Comput. Phys. 100, 335 (1992):

    F = sigma K (n.grad g) n / 2,   n = grad psi / |grad psi|,   K = k / (1 + k d / (D - 1)),   k = -div n

with isotropic differences on the flow's lattice, from the neighbours that are there, of psi = tanh(beta d / 2) =
phi / (1 + sqrt(1 - phi^2)): it is twice as wide as phi, so that curvatures of exact circles vary by 0.05 % across the
interface and not by 3 %. k belongs to the surface through the node, K to the interface at the distance d, if both have
one centre. g rises from -1 to 1 with dg / dpsi ~ (1 - psi^2)^7, over less than phi: K counts where phi is near 0, and
not where surfaces of equal phase of two interfaces meet. Differences of g leave the pressure the whole jump, and are
balanced by differences of the pressure on the same lattice; beside walls n.grad g follows from grad psi. Differences of
psi = tanh(b d), b = beta / 2, across planes lie beside their normals by fifth derivatives times sixth moments of D2Q9
and D3Q19, of which n is freed to first order in a, where no node is missing:

    grad_a psi = |grad psi| n_a [1 + a n_a^2 (10 / 3 - 4 n_a^2) + ...],   a = b^4 (16 - 120 psi^2 (1 - psi^2)) / 120

Along links into walls the slope of psi is that of

    e = t + (psi - psi_b) w,   psi_b = (psi + W) / (1 + psi W),   W = tanh(beta cos(theta) / 2)

with the normal w of the wall, which points into the fluid, and the gradient t along the wall. psi_b belongs to a voxel
below the node in an interface with the contact angle theta, through the first fluid: that by which nothing crosses the
link. The normal of the interface changes as much from the node to the wall, where it has the angle, as from there to
the other end of the link (Ding, Spelt, Phys. Rev. E 75, 046708 (2007)): a normal N for all surfaces of equal phase.
In the fluid that does not wet the wall none of them lies flatter on it than theta: where one would, between interfaces
that face each other along the wall, the gradient is turned to theta, and links to the other one do not count in k.
Surfaces of a curved interface meet the wall below the node at other angles, and links beside each other at other
normals, so that k lacks, of that of circles with one centre,

    1 - seen = 3 / (D - 1) sum_b w_b [cot(theta) (c.T) (c.N) + (c.s)^2]

by the links b into the wall, T the direction of the interface in the plane of N and w, and s across both; k is divided
by seen. A wall of the curvature kappa along T turns from link to link, and the surface at the distance d meets it with
cos(theta) - kappa d, so that links that are cut halfway add to div n

    bent = 3 sum_b w_b kappa (cot(theta) c.T + c.w) (2 d - cos(theta) c.w).

Fluids that are exchanged, with 180 degrees less theta, move alike to the last digit.
"""

import math

import numpy as np

from muphy_lb.domain.wall_shapes import BEND, WALL_NORMAL
from muphy_lb.lattice import Lattice, added
from muphy_lb.operators import MOMENTUM_FIELDS, Operator
from muphy_lb.operators.operator import constants, named
from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.two_fluid.profile import (
    SHARPNESS,
    sharper,
    sharper_node,
    steep,
    steep_node,
    straight,
    straight_node,
)

FIRST, SECOND, MIXING = "first", "second", "mixing"
NEW_FIRST, NEW_SECOND, NEW_MIXING = "new_first", "new_second", "new_mixing"
PHASE, WIDER_PHASE, STEEPNESS, STRENGTH = "phase", "wider_phase", "steepness", "strength"
NORMAL = ("normal_x", "normal_y", "normal_z")
DRIFT = ("drift_x", "drift_y", "drift_z")
COSINE, ENTERING, TENSION = "contact_cosine", "entering_share", "tension"
INTERFACE, STEEP, ORIENTED = "interface", 1, 2
"""Field of bits, and those of nodes where the phase is steep, and where there is a normal."""
NOWHERE = 2.0
"""psi, the wider phase, and each component of the momentum where there is no node."""
NO_NORMAL = 4.0
"""Each component of the normal where there is no interface, so that one tells; more than any beyond a wall that the
interface meets."""
NO_NODE = 5.0
"""Each component of the normal where there is no node."""
PURE = 1e-4
"""What 1 less the size of the phase is raised by, where the distance from the interface follows from it."""
APART = 1.3
"""Voxels of shear by which both fluids slide past each other in an interface, so that the flow of each is that beside a
sharp one. In a continuum it is the mean of |d| over the share of a fluid beyond the interface, over the mean of both
shares' product, pi^2 / (12 beta) = 1.18. Sums over nodes that have the viscosity of a voxel cut by the interface ask
for 1.23 where it lies between two rows of them and for 1.41 where it goes through one; layers and annuli for 1.3."""
FASTEST_DRIFT = 0.05
"""Largest relative velocity of both fluids [voxels a step], below which amounts stay positive."""
FLAT = 1.5e-3
"""Length of the gradient of psi below which there is no interface."""
ALL_THERE = 0.99
"""Share of the links, by weight and length squared, above which none is missing."""
ALONG = 0.1
"""Share of the gradient along a wall, below which the interface does not meet the wall."""
FACING = -0.01
"""Product of normals along a wall below which they belong to interfaces that face each other."""
ROOM = 0.55
"""Share of the links, by weight and length squared, of which more lead to nodes where no surface may lie flatter on a
wall than the contact angle: more than in corners and in pores of a voxel, where that drives oscillations."""
TRACE = 0.1
"""sqrt(1 - phi^2) below which a fluid is dissolved in the other one, and walls are not wetted by it: it would gather
there."""
BEYOND, UNSETTLED = 0.9375, 0.05
"""Size of psi from which on there is no tension, and fluids do not slide past each other, since g has no slope there
and phi is 0.998; and length of its gradient above which there is all the same: that is no interface at rest yet."""
LEAST_WIDTH = 1e-3
"""Below every sum of weights of a derivative, where there is a neighbour along its axis."""


def axis_links(lattice: Lattice) -> list[tuple[int, int, float]]:
    """(entry of the neighbour, axis, sign) of the vectors of a lattice along axes."""
    found = []
    for k, vector in enumerate(lattice.c[1:]):
        if np.abs(vector).sum() == 1:
            axis = int(np.flatnonzero(vector)[0])
            found.append((k, axis, float(vector[axis])))
    return found


def normal_or_0(component):
    """Components of normals, 0 where there is none."""
    return np.where(component < NO_NORMAL, component, 0)


def known_node(precision, jit):
    """Node function: a component of a normal, or 0 where there is no normal."""
    none, zero = precision.real(NO_NORMAL), precision.real(0)
    return jit(lambda component: component if component < none else zero)


def _slope(difference: np.ndarray, is_known: np.ndarray, axis: int, lattice: Lattice) -> np.ndarray:
    """(n,) derivatives along an axis from (Q - 1, n) differences from the node's own value, where they are known."""
    along = lattice.w[1:, None] * lattice.c[1:, axis, None]
    rise = np.where(is_known, along * difference, 0.0).sum(axis=0)
    width = np.where(is_known, along * lattice.c[1:, axis, None], 0.0).sum(axis=0)
    return rise / np.where(width > 0.0, width, 1.0)


def _orient(neighbours, n, lattice, parameters):
    own, beside = (parameters[WIDER_PHASE][at].astype(float) for at in (n, neighbours))
    is_known = beside < NOWHERE
    difference = np.where(is_known, beside - own, 0.0)
    gradient = np.array([_slope(difference, is_known, axis, lattice) for axis in range(3)])
    wall = np.array([parameters[name][n] for name in WALL_NORMAL], dtype=float)
    tangent = gradient - (gradient * wall).sum(axis=0) * wall
    along = np.linalg.norm(tangent, axis=0)
    is_met = ((wall**2).sum(axis=0) > 0.5) & (along > ALONG * np.linalg.norm(gradient, axis=0))
    is_met &= 1.0 - own * own > TRACE * (1.0 + own * own)
    wetting = np.tanh(0.5 * SHARPNESS * parameters[COSINE][n].astype(float))
    expected = tangent + (own - (own + wetting) / (1.0 + own * wetting)) * wall
    more = np.where(is_known, difference - lattice.c[1:] @ expected, 0.0)
    meeting = expected + np.einsum("k,ka,kn->an", lattice.w[1:] / float(lattice.cs2), lattice.c[1:], more)
    room = (lattice.w[1:, None] * (lattice.c[1:] ** 2).sum(axis=1)[:, None] * is_known).sum(axis=0)
    room /= lattice.dimension * float(lattice.cs2)
    is_behind = is_met & (parameters[COSINE][n] * own < 0.0) & (room > ROOM)
    gradient = np.where(is_met, meeting, gradient)
    gradient = np.where(is_behind, _raised(gradient, wall, parameters[COSINE][n].astype(float)), gradient)
    size = np.linalg.norm(gradient, axis=0)
    is_flat = size <= FLAT
    normal = gradient / np.where(is_flat, 1.0, size)
    normal = np.where(room > ALL_THERE, straight(normal, own), normal)
    for name, component in zip(NORMAL, normal, strict=True):
        parameters[name][n] = np.where(is_flat, NO_NORMAL, component)
    is_steep = ~is_flat & ((np.abs(own) < BEYOND) | (size > UNSETTLED))
    parameters[STEEPNESS][n] = np.where(is_steep, steep(own, size), parameters[STEEPNESS][n])
    parameters[INTERFACE][n] = STEEP * is_steep + ORIENTED * ~is_flat
    for name in (STRENGTH, *DRIFT):
        parameters[name][n] = np.where(is_steep, parameters[name][n], 0.0)


def _raised(gradient, wall, cosine) -> np.ndarray:
    """(3, n) gradients, turned to the contact angle where they have less."""
    across = (gradient * wall).sum(axis=0)
    tangent = gradient - across * wall
    along, squared = (tangent**2).sum(axis=0), (gradient**2).sum(axis=0)
    least = (1.0 - cosine * cosine) * squared
    is_flatter = (across * cosine < 0.0) & (along > ALONG * ALONG * squared) & (along < least)
    turned = np.sqrt(least / np.where(is_flatter, along, 1.0)) * tangent - cosine * np.sqrt(squared) * wall
    return np.where(is_flatter, turned, gradient)


def _drift(neighbours, n, normal, lattice, parameters) -> np.ndarray:
    """(3, n) velocity of the first fluid relative to the second one."""
    links = [k for k, *_ in axis_links(lattice)]
    flow = [parameters[name] for name in MOMENTUM_FIELDS]
    along = np.where(flow[0][neighbours[links]] < NOWHERE, lattice.c[1:][links] @ normal, 0.0)
    rise = np.array([(along * (each[neighbours[links]] - each[n])).sum(axis=0) for each in flow])
    rise *= APART / np.maximum((along**2).sum(axis=0), LEAST_WIDTH)
    drift = rise - (rise * normal).sum(axis=0) * normal
    return drift * FASTEST_DRIFT / np.maximum(np.linalg.norm(drift, axis=0), FASTEST_DRIFT)


def _differences_node(lattice, precision, jit, wider_phase: int, wall_at):
    """Node function ``(neighbours, n, own, had_none, parameters)``: whether a node without a normal, ``had_none``, is
    so far from all interfaces that no difference of psi counts, the normal of the wall that ``wall_at(n, own,
    parameters)`` reads, and, if not, weighted sums over the neighbours that are there of vector times difference of
    psi, of squares of the vector's components, and of their products. ``own`` is psi of the node.

    All is read before anything depends on a neighbour.
    """
    real, count = precision.real, lattice.q - 1
    w, cx, cy, cz = constants(lattice, precision)
    zero, nowhere, least = real(0), real(NOWHERE), real(0.99 * FLAT / math.sqrt(3.0))

    def sums(neighbours, n, own, had_none, parameters):
        beside = [zero] * count
        for k in range(count):
            beside[k] = parameters[wider_phase][neighbours[k]]
        wall = wall_at(n, own, parameters)
        if had_none and wall[0] == zero and wall[1] == zero and wall[2] == zero:
            most = zero
            for k in range(count):
                if beside[k] < nowhere:
                    most = max(most, abs(beside[k] - own))
            if most < least:
                return True, wall, (zero, zero, zero, zero, zero, zero, zero, zero, zero)
        gx, gy, gz, wide_x, wide_y, wide_z, xy, xz, yz = zero, zero, zero, zero, zero, zero, zero, zero, zero
        for k in range(count):
            if beside[k] < nowhere:
                rise = w[k + 1] * (beside[k] - own)
                gx += cx[k + 1] * rise
                gy += cy[k + 1] * rise
                gz += cz[k + 1] * rise
                wide_x += w[k + 1] * cx[k + 1] * cx[k + 1]
                wide_y += w[k + 1] * cy[k + 1] * cy[k + 1]
                wide_z += w[k + 1] * cz[k + 1] * cz[k + 1]
                xy += w[k + 1] * cx[k + 1] * cy[k + 1]
                xz += w[k + 1] * cx[k + 1] * cz[k + 1]
                yz += w[k + 1] * cy[k + 1] * cz[k + 1]
        return False, wall, (gx, gy, gz, wide_x, wide_y, wide_z, xy, xz, yz)

    return jit(unroll(sums))


def _wall_node(precision, jit, at):
    """Node function ``(n, own, parameters)``: normal of the wall beside a node with psi ``own``, 0 where the fluids do
    not mix."""
    zero, one, trace = (precision.real(x) for x in (0.0, 1.0, TRACE))
    x, y, z = (at[name] for name in WALL_NORMAL)

    def wall(n, own, parameters):
        if one - own * own > trace * (one + own * own):
            return parameters[x][n], parameters[y][n], parameters[z][n]
        return zero, zero, zero

    return jit(wall)


def _orient_node(lattice, precision, jit, at):
    real = precision.real
    one, zero, limit, per_width = real(1), real(0), real(0.5), real(1.0 / float(lattice.cs2))
    flat, share, least_width = real(FLAT), real(ALONG), real(LEAST_WIDTH)
    outside, unsettled = real(BEYOND), real(UNSETTLED)
    all_there, steep_of = real(ALL_THERE * lattice.dimension * float(lattice.cs2)), steep_node(precision, jit)
    straight = straight_node(precision, jit)
    none, raised = real(NO_NORMAL), _raised_node(precision, jit)
    half_sharpness, room = real(0.5 * SHARPNESS), real(ROOM * lattice.dimension * float(lattice.cs2))
    steepness, strength, cosine, wider_phase = (at[name] for name in (STEEPNESS, STRENGTH, COSINE, WIDER_PHASE))
    interface, (x, y, z) = at[INTERFACE], (at[name] for name in NORMAL)
    sums = _differences_node(lattice, precision, jit, wider_phase, _wall_node(precision, jit, at))
    drift_x, drift_y, drift_z = (at[name] for name in DRIFT)

    def orient(neighbours, n, parameters):
        own, had = parameters[wider_phase][n], parameters[interface][n]
        had_none = not had & ORIENTED
        is_flat, (wx, wy, wz), summed = sums(neighbours, n, own, had_none, parameters)
        if is_flat:
            return
        sx, sy, sz, wide_x, wide_y, wide_z, xy, xz, yz = summed
        width_x, width_y, width_z = max(wide_x, least_width), max(wide_y, least_width), max(wide_z, least_width)
        per = one / (width_x * width_y * width_z)
        gx, gy, gz = per * sx * width_y * width_z, per * sy * width_x * width_z, per * sz * width_x * width_y
        if wx * wx + wy * wy + wz * wz > limit:
            across = gx * wx + gy * wy + gz * wz
            tx, ty, tz = gx - across * wx, gy - across * wy, gz - across * wz
            along = tx * tx + ty * ty + tz * tz
            if along > share * share * (gx * gx + gy * gy + gz * gz):
                cosine_there = parameters[cosine][n]
                wetting = real(math.tanh(half_sharpness * cosine_there))
                fall = own - (own + wetting) / (one + own * wetting)
                ex, ey, ez = tx + fall * wx, ty + fall * wy, tz + fall * wz
                gx = ex + per_width * (sx - wide_x * ex - xy * ey - xz * ez)
                gy = ey + per_width * (sy - xy * ex - wide_y * ey - yz * ez)
                gz = ez + per_width * (sz - xz * ex - yz * ey - wide_z * ez)
                if cosine_there * own < zero and wide_x + wide_y + wide_z > room:
                    gx, gy, gz = raised((gx, gy, gz), (wx, wy, wz), cosine_there)
        size = real(math.sqrt(gx * gx + gy * gy + gz * gz))
        if had_none and size <= flat:
            return  # what would be written is there
        nx, ny, nz, found = none, none, none, 0
        if size > flat:
            per, found = one / size, ORIENTED
            nx, ny, nz = gx * per, gy * per, gz * per
            if wide_x + wide_y + wide_z > all_there:
                nx, ny, nz = straight(nx, ny, nz, own)
            if abs(own) < outside or size > unsettled:
                found |= STEEP
                parameters[steepness][n] = steep_of(own, size)
        if had & STEEP and not found & STEEP:
            parameters[strength][n] = zero
            parameters[drift_x][n] = zero
            parameters[drift_y][n] = zero
            parameters[drift_z][n] = zero
        parameters[interface][n] = found
        parameters[x][n] = nx
        parameters[y][n] = ny
        parameters[z][n] = nz

    return jit(orient)


def _raised_node(precision, jit):
    """Node function ``(gradient, wall, cosine)`` of :func:`_raised`."""
    real = precision.real
    zero, one, share = real(0), real(1), real(ALONG * ALONG)

    def raised(gradient, wall, cosine):
        (gx, gy, gz), (wx, wy, wz) = gradient, wall
        across = gx * wx + gy * wy + gz * wz
        tx, ty, tz = gx - across * wx, gy - across * wy, gz - across * wz
        along, squared = tx * tx + ty * ty + tz * tz, gx * gx + gy * gy + gz * gz
        least = (one - cosine * cosine) * squared
        if across * cosine < zero and share * squared < along < least:
            more, up = real(math.sqrt(least / along)), cosine * real(math.sqrt(squared))
            return more * tx - up * wx, more * ty - up * wy, more * tz - up * wz
        return gx, gy, gz

    return jit(raised)


def _drift_node(lattice, precision, jit, at):
    """Node function ``(neighbours, n, nx, ny, nz, parameters)``: velocity of the first fluid relative to the second."""
    real = precision.real
    nowhere, zero, least, apart, fastest = (real(x) for x in (NOWHERE, 0.0, LEAST_WIDTH, APART, FASTEST_DRIFT))
    flow_x, flow_y, flow_z = (at[name] for name in MOMENTUM_FIELDS)
    links = tuple(k for k, *_ in axis_links(lattice))
    cx, cy, cz = (tuple(each[k + 1] for k in links) for each in constants(lattice, precision)[1:])
    count = len(links)

    def drift(neighbours, n, nx, ny, nz, parameters):
        there_x = [zero] * count
        there_y = [zero] * count
        there_z = [zero] * count
        for k in range(count):
            there_x[k] = parameters[flow_x][neighbours[links[k]]]
            there_y[k] = parameters[flow_y][neighbours[links[k]]]
            there_z[k] = parameters[flow_z][neighbours[links[k]]]
        ux, uy, uz = parameters[flow_x][n], parameters[flow_y][n], parameters[flow_z][n]
        vx, vy, vz, width = zero, zero, zero, zero
        for k in range(count):
            if there_x[k] < nowhere:
                along = cx[k] * nx + cy[k] * ny + cz[k] * nz
                vx += along * (there_x[k] - ux)
                vy += along * (there_y[k] - uy)
                vz += along * (there_z[k] - uz)
                width += along * along
        per = apart / max(width, least)
        across = vx * nx + vy * ny + vz * nz
        vx, vy, vz = per * (vx - across * nx), per * (vy - across * ny), per * (vz - across * nz)
        squared = vx * vx + vy * vy + vz * vz
        if squared > fastest * fastest:
            slowed = fastest / real(math.sqrt(squared))
            return slowed * vx, slowed * vy, slowed * vz
        return vx, vy, vz

    return jit(unroll(drift))


ORIENT = Operator(
    "two-fluid-normal",
    _orient,
    _orient_node,
    named(WIDER_PHASE, STEEPNESS, STRENGTH, INTERFACE, COSINE, *NORMAL, *DRIFT, *WALL_NORMAL),
)


def _draw(neighbours, n, lattice, parameters):
    own = np.array([parameters[name][n] for name in NORMAL], dtype=float)
    beside = np.array([parameters[name][neighbours] for name in NORMAL], dtype=float)
    wall = np.array([parameters[name][n] for name in WALL_NORMAL], dtype=float)
    cosine = parameters[COSINE][n].astype(float)
    sine = np.sqrt(1.0 - cosine * cosine)
    tangent = own - (own * wall).sum(axis=0) * wall
    along = np.linalg.norm(tangent, axis=0)
    is_met = ((wall**2).sum(axis=0) > 0.5) & (along > ALONG)
    ahead = tangent / np.where(is_met, along, 1.0)
    at_wall = sine * ahead - cosine * wall
    beyond = is_met & (beside[0] > NO_NORMAL)
    shown = np.where(beyond, (2.0 * at_wall - own)[:, None], beside)
    product = np.einsum("ka,akn,an->kn", lattice.c[1:] ** 2, beside, tangent)
    is_other = (cosine * parameters[PHASE][n] < 0.0) & (product < FACING)
    is_known = beyond | ((beside[0] < NO_NORMAL) & ~is_other)
    divergence = added(_slope(shown[axis] - own[axis], is_known, axis, lattice) for axis in range(3))
    phase = np.clip(parameters[PHASE][n], -1.0, 1.0)
    c, w = lattice.c[1:], np.where(beyond, 3.0 * lattice.w[1:, None], 0.0)
    turned = cosine / sine * (c @ (cosine * ahead + sine * wall)) * (c @ at_wall)
    across = (c**2).sum(axis=1)[:, None] - (c @ ahead) ** 2 - (c @ wall) ** 2
    seen = 1.0 - (w * (turned + across)).sum(axis=0) / (lattice.dimension - 1)
    bend = np.array([parameters[name][n] for name in BEND], dtype=float)
    bending = (bend * wall).sum(axis=0) + (bend * ahead).sum(axis=0) ** 2
    bent = bending * (cosine / sine * (c @ ahead) + c @ wall) * (2.0 / SHARPNESS * phase - cosine * (c @ wall))
    divergence = (divergence + (w * bent).sum(axis=0)) / np.where(is_met, np.maximum(seen, 0.5), 1.0)
    distance = np.log(1.0 + PURE + phase) - np.log(1.0 + PURE - phase)
    carried = np.maximum(1.0 - _reach(lattice) * distance * divergence, 0.5)
    there = parameters[WIDER_PHASE][neighbours].astype(float)
    rise = np.einsum("k,ka,kn->an", lattice.w[1:], lattice.c[1:], sharper(there))
    by_differences = 0.5 / float(lattice.cs2) * (rise * own).sum(axis=0)
    steepness = np.where((there < NOWHERE).all(axis=0), by_differences, parameters[STEEPNESS][n])
    parameters[STRENGTH][n] = -parameters[TENSION] * divergence / carried * steepness
    for name, component in zip(DRIFT, _drift(neighbours, n, own, lattice, parameters), strict=True):
        parameters[name][n] = component


def _reach(lattice: Lattice) -> float:
    """Distance from the interface over log((1 + phase) / (1 - phase)), for each direction along the interface."""
    return 0.5 / SHARPNESS / (lattice.dimension - 1)


def _at_wall_node(precision, jit):
    """Node function ``(nx, ny, nz, wall, cosine)``: whether the interface of a node meets a wall, the direction along
    the wall in which it lies, and cosine and sine of the contact angle."""
    real = precision.real
    zero, one, half, share = real(0), real(1), real(0.5), real(ALONG)

    def at_wall(nx, ny, nz, wall, cosine):
        wx, wy, wz = wall
        if wx * wx + wy * wy + wz * wz > half:
            across = nx * wx + ny * wy + nz * wz
            tx, ty, tz = nx - across * wx, ny - across * wy, nz - across * wz
            along = real(math.sqrt(tx * tx + ty * ty + tz * tz))
            if along > share:
                per, sine = one / along, real(math.sqrt(one - cosine * cosine))
                return True, (tx * per, ty * per, tz * per), cosine, sine
        return False, (zero, zero, zero), zero, one

    return jit(at_wall)


def _seen_node(lattice, precision, jit):
    """Node function ``(along, into, wall, ahead, cosine, sine, twice)``: the share of the curvature that the known
    links beside a wall resolve, and the contribution of its links to the divergence per curvature of the wall, from
    the sums of weight times c and weight times c c (xx, yy, zz, xy, xz, yz) over them; ``twice`` is twice the
    distance from the interface."""
    real = precision.real
    one, three, per_axis = real(1), real(3), real(3.0 / (lattice.dimension - 1))

    def along_both(into, a, b):
        xx, yy, zz, xy, xz, yz = into
        mixed = xy * (a[0] * b[1] + a[1] * b[0]) + xz * (a[0] * b[2] + a[2] * b[0]) + yz * (a[1] * b[2] + a[2] * b[1])
        return xx * a[0] * b[0] + yy * a[1] * b[1] + zz * a[2] * b[2] + mixed

    along_both = jit(along_both)

    def seen(along, into, wall, ahead, cosine, sine, twice):
        over, under = along_both(into, ahead, ahead), along_both(into, wall, wall)
        beside = along_both(into, ahead, wall)
        cotangent = cosine / sine
        turned = cotangent * (cosine * sine * (over - under) + (sine * sine - cosine * cosine) * beside)
        on = along[0] * ahead[0] + along[1] * ahead[1] + along[2] * ahead[2]
        up = along[0] * wall[0] + along[1] * wall[1] + along[2] * wall[2]
        bent = three * (twice * (cotangent * on + up) - cosine * (cotangent * beside + under))
        return one - per_axis * (turned + into[0] + into[1] + into[2] - over - under), bent

    return jit(seen)


def _divergence_node(lattice, precision, jit, at):
    """Node function ``(neighbours, n, own_x, own_y, own_z, wall, cosine, phase, parameters)``: a difference and a
    width, whose ratio is the divergence of the normal, and whether no node is missing."""
    real, count = precision.real, lattice.q - 1
    w, cx, cy, cz = constants(lattice, precision)
    zero, half, one, two = real(0), real(0.5), real(1), real(2)
    least_width, none, facing = real(LEAST_WIDTH), real(NO_NORMAL), real(FACING)
    told_by = tuple(int(np.flatnonzero(vector)[0]) for vector in lattice.c[1:])  # so that no other component is read
    x, y, z = (at[name] for name in NORMAL)
    at_wall, seen_beside = _at_wall_node(precision, jit), _seen_node(lattice, precision, jit)
    (bend_x, bend_y, bend_z), twice = (at[name] for name in BEND), real(2.0 / SHARPNESS)

    def divergence(neighbours, n, own_x, own_y, own_z, wall, cosine_there, of_node, parameters):
        gx, gy, gz, wide_x, wide_y, wide_z = zero, zero, zero, zero, zero, zero
        fx, fy, fz, xx, yy, zz, xy, xz, yz = zero, zero, zero, zero, zero, zero, zero, zero, zero
        tx, ty, tz = zero, zero, zero
        if cosine_there * of_node < zero:
            up = own_x * wall[0] + own_y * wall[1] + own_z * wall[2]
            tx, ty, tz = own_x - up * wall[0], own_y - up * wall[1], own_z - up * wall[2]
        for k in range(count):
            nx, ny, nz = parameters[x][neighbours[k]], parameters[y][neighbours[k]], parameters[z][neighbours[k]]
            ahead = cx[k + 1] * cx[k + 1] * nx * tx + cy[k + 1] * cy[k + 1] * ny * ty + cz[k + 1] * cz[k + 1] * nz * tz
            if (nx, ny, nz)[told_by[k]] < none and ahead >= facing:
                gx += w[k + 1] * cx[k + 1] * (nx - own_x)
                gy += w[k + 1] * cy[k + 1] * (ny - own_y)
                gz += w[k + 1] * cz[k + 1] * (nz - own_z)
                wide_x += w[k + 1] * cx[k + 1] * cx[k + 1]
                wide_y += w[k + 1] * cy[k + 1] * cy[k + 1]
                wide_z += w[k + 1] * cz[k + 1] * cz[k + 1]
            if (nx, ny, nz)[told_by[k]] > none:
                fx += w[k + 1] * cx[k + 1]
                fy += w[k + 1] * cy[k + 1]
                fz += w[k + 1] * cz[k + 1]
                xx += w[k + 1] * cx[k + 1] * cx[k + 1]
                yy += w[k + 1] * cy[k + 1] * cy[k + 1]
                zz += w[k + 1] * cz[k + 1] * cz[k + 1]
                xy += w[k + 1] * cx[k + 1] * cy[k + 1]
                xz += w[k + 1] * cx[k + 1] * cz[k + 1]
                yz += w[k + 1] * cy[k + 1] * cz[k + 1]
        is_met, ahead, cosine, sine = at_wall(own_x, own_y, own_z, wall, cosine_there)
        seen, bent = one, zero
        if is_met:
            gx += two * fx * (sine * ahead[0] - cosine * wall[0] - own_x)
            gy += two * fy * (sine * ahead[1] - cosine * wall[1] - own_y)
            gz += two * fz * (sine * ahead[2] - cosine * wall[2] - own_z)
            wide_x += xx
            wide_y += yy
            wide_z += zz
            apart, into = twice * of_node, (xx, yy, zz, xy, xz, yz)
            seen, bent = seen_beside((fx, fy, fz), into, wall, ahead, cosine, sine, apart)
            seen = max(seen, half)
            bx, by, bz = parameters[bend_x][n], parameters[bend_y][n], parameters[bend_z][n]
            most = bx * ahead[0] + by * ahead[1] + bz * ahead[2]
            bent *= bx * wall[0] + by * wall[1] + bz * wall[2] + most * most
        wide_x, wide_y, wide_z = max(wide_x, least_width), max(wide_y, least_width), max(wide_z, least_width)
        rise = wide_z * (gx * wide_y + gy * wide_x) + wide_x * wide_y * (gz + bent * wide_z)
        return rise, wide_x * wide_y * wide_z * seen, xx + yy + zz == zero

    return jit(unroll(divergence))


def _rises_node(lattice, precision, jit, wider_phase: int):
    """Node function ``(neighbours, parameters)``: weighted sums of vector times g, over links of which none is
    missing."""
    zero, count, sharper = precision.real(0), lattice.q - 1, sharper_node(precision, jit)
    w, cx, cy, cz = constants(lattice, precision)

    def rises(neighbours, parameters):
        x, y, z = zero, zero, zero
        for k in range(count):
            there = w[k + 1] * sharper(parameters[wider_phase][neighbours[k]])
            x += cx[k + 1] * there
            y += cy[k + 1] * there
            z += cz[k + 1] * there
        return x, y, z

    return jit(unroll(rises))


def _draw_node(lattice, precision, jit, at):
    real = precision.real
    zero, half, reach, above = (real(x) for x in (0.0, 0.5, _reach(lattice), 1.0 + PURE))
    steepness, strength, tension, phase, cosine = (at[name] for name in (STEEPNESS, STRENGTH, TENSION, PHASE, COSINE))
    (x, y, z), (wall_x, wall_y, wall_z) = ([at[name] for name in names] for names in (NORMAL, WALL_NORMAL))
    divergence, drift = _divergence_node(lattice, precision, jit, at), _drift_node(lattice, precision, jit, at)
    rises, per_width = _rises_node(lattice, precision, jit, at[WIDER_PHASE]), real(0.5 / float(lattice.cs2))
    drift_x, drift_y, drift_z = (at[name] for name in DRIFT)

    def distance(phase):
        """Signed distance from the interface; exchanging the fluids changes its sign only, to the last digit."""
        size = abs(phase)
        found = real(math.log((above + size) / (above - size)))
        return found if phase > zero else -found

    distance = jit(distance)

    def draw(neighbours, n, parameters):
        steep, of_node = parameters[steepness][n], parameters[phase][n]
        own_x, own_y, own_z = parameters[x][n], parameters[y][n], parameters[z][n]
        wall = parameters[wall_x][n], parameters[wall_y][n], parameters[wall_z][n]
        angle = parameters[cosine][n]
        rise, width, is_whole = divergence(neighbours, n, own_x, own_y, own_z, wall, angle, of_node, parameters)
        if is_whole:
            rise_x, rise_y, rise_z = rises(neighbours, parameters)
            steep = per_width * (rise_x * own_x + rise_y * own_y + rise_z * own_z)
        carried = max(width - reach * distance(of_node) * rise, half * width)
        dx, dy, dz = drift(neighbours, n, own_x, own_y, own_z, parameters)
        parameters[strength][n] = -parameters[tension] * steep * rise / carried
        parameters[drift_x][n] = dx
        parameters[drift_y][n] = dy
        parameters[drift_z][n] = dz

    return jit(draw)


DRAW = Operator(
    "two-fluid-tension",
    _draw,
    _draw_node,
    named(
        PHASE, WIDER_PHASE, STEEPNESS, STRENGTH, TENSION, COSINE, *NORMAL, *DRIFT, *MOMENTUM_FIELDS, *WALL_NORMAL, *BEND
    ),
)
