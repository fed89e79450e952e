"""Surface tension at interface cells: the plane of the surface, its curvature, its pressure.

The plane that stands for the surface in an interface cell: its normal, from the gradient of the filling, points to
the gas; its distance from the centre cuts off the share that liquid fills (Scardovelli, Zaleski, J. Comput. Phys. 164,
228 (2000)).

Its pressure is rho_A = rho_gas + 6 sigma kappa, kappa the mean curvature, which is that of a paraboloid through points
of the surface in the cell and around it, after Lehmann, Gekle, Computation 10, 21 (2022): in each interface cell a
plane cuts off the share that liquid fills; its distance from the centre is found as above. Here all planes first have
the normal of the cell itself, from the gradient of the filling; they cut voxels far from their centres, so the
curvature differs by 5 to 10 % from cell to cell, at any radius.

A second paraboloid, along the normal of the first, has means over polygons instead of points: the plane that is tangent
to the first paraboloid and cuts off the share of a voxel has the same mean of z over the cut as the paraboloid, so the
means of x^2, y^2, x y, x, y over the cut, less those of the cell itself, belong to that of z. This is exact for
paraboloids, and of second order: circles of 12 voxels are curved within 0.2 %. A term of fourth order,
z |grad z|^2 / 4, makes spheres of round paraboloids.

With z = A x^2 + B y^2 + C x y + H x + I y along the normal that points to the gas,

    kappa = -[A (1 + I^2) + B (1 + H^2) - C H I] / (1 + H^2 + I^2)^(3/2),

positive for a drop.
"""

import math
from itertools import combinations_with_replacement

import numpy as np

from muphy_lb.operators import Operator
from muphy_lb.operators.operator import constants, named
from muphy_lb.operators.unroll import unroll
from muphy_lb.physics.free_surface.beside import HARDLY, first_of_node, surfaces_beside_node
from muphy_lb.physics.free_surface.cells import CELL, FILL, INTERFACE, LIQUID, WALL
from muphy_lb.physics.free_surface.cut import cut_means, cut_means_node

SMALLEST = 1e-4
"""Component of a normal, whose components' sizes add up to 1, up to which a plane is parallel to an axis."""
LEAST = 0.02
"""The same for :func:`plane_share`, whose formula divides by the components: the share changes by its square."""
FLAT = 1e-12  # length of the gradient of the filling below which it has no direction


def surface_normal(neighbours, n, lattice, parameters) -> tuple[np.ndarray, np.ndarray]:
    """(3, m) unit normals in interface or liquid cells n, whose neighbours are (Q - 1, m), and (m,) whether there is
    none; walls count as filled as the cell itself."""
    cell, held = parameters[CELL], parameters[FILL]
    kind, fill = cell[neighbours], np.where(cell[n] & LIQUID, 1.0, held[n].astype(float))
    beside = np.where(kind & INTERFACE, held[neighbours], np.where(kind & LIQUID, 1.0, 0.0))
    shown = np.where(kind & WALL, fill, beside)
    gradient = (lattice.w[1:, None, None] * lattice.c[1:, :, None] * shown[:, None]).sum(axis=0)
    length = np.linalg.norm(gradient, axis=0)
    is_flat = length < FLAT
    return np.where(is_flat, np.array([[1.0], [0.0], [0.0]]), -gradient / np.where(is_flat, 1.0, length)), is_flat


def plane_distance(fill: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """(n,) distance from the centre of a voxel of the plane with a normal (3, n) that cuts off a share (n,) of it."""
    size = np.abs(normal).sum(axis=0)
    least, middle, c = np.sort(np.abs(normal) / size, axis=0)
    is_flat, a, b = least < SMALLEST, np.maximum(least, SMALLEST), np.maximum(middle, SMALLEST)
    share, both = np.minimum(fill, 1.0 - fill), a + b
    volume, is_narrow = 6.0 * a * b * c * share, c < both
    first = a * a / (6.0 * b * c)
    second = first + (b - a) / (2.0 * c)
    narrow = (c * c * (3.0 * both - c) + a * a * (a - 3.0 * c) + b * b * (b - 3.0 * c)) / (6.0 * a * b * c)
    third = np.where(is_narrow, narrow, both / (2.0 * c))
    cubes = a**3 + b**3
    hexagon = _middle_root(-1.5, 1.5 * (a * a + b * b + c * c), 0.5 * (volume - cubes - c**3))
    height = np.select(
        [share < first, share < second, share < third],
        [
            np.cbrt(volume),
            0.5 * (a + np.sqrt(a * a + 8.0 * b * c * np.maximum(share - first, 0.0))),
            _middle_root(-3.0 * both, 3.0 * (a * a + b * b), volume - cubes),
        ],
        np.where(is_narrow, hexagon, c * share + 0.5 * both),
    )
    across = np.where(share < middle / (2.0 * c), np.sqrt(2.0 * middle * c * share), c * share + 0.5 * middle)
    height = np.where(is_flat, across + 0.5 * least, height)
    return np.sign(fill - 0.5) * (0.5 - height) * size


def plane_share(distance: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """(n,) share of a voxel below the plane with a normal (3, n) at a distance (n,) from its centre, the inverse of
    :func:`plane_distance`: a tetrahedron less what of it lies outside the voxel."""
    sides = np.maximum(np.abs(normal), LEAST)
    size = sides.sum(axis=0)
    a, b, c = sides / size
    height = 0.5 - np.abs(distance) / size

    def tetrahedron(height):
        return np.maximum(height, 0.0) ** 3

    outside = tetrahedron(height - a) + tetrahedron(height - b) + tetrahedron(height - c)
    twice = tetrahedron(height - a - b) + tetrahedron(height - a - c) + tetrahedron(height - b - c)
    share = (tetrahedron(height) - outside + twice) / (6.0 * a * b * c)
    return np.where(distance < 0.0, share, 1.0 - share)


def _middle_root(second, first, zeroth):
    """The middle one of three real roots of x^3 + second x^2 + first x + zeroth."""
    p = (first * second - 3.0 * zeroth) / 6.0 - second**3 / 27.0
    q = np.minimum(first / 3.0 - second**2 / 9.0, -1e-30)
    angle = np.arccos(np.clip(p / np.sqrt(-(q**3)), -1.0, 1.0)) / 3.0
    return np.sqrt(-q) * (math.sqrt(3.0) * np.sin(angle) - np.cos(angle)) - second / 3.0


def normal_node(lattice, precision, jit, at):
    """Node function ``(neighbours, n, parameters)`` of :func:`surface_normal`; the zero vector where there is none."""
    cell, fill, real = at[CELL], at[FILL], precision.real
    w, cx, cy, cz = constants(lattice, precision)
    zero, one, tiny = real(0), real(1), real(FLAT * FLAT)

    def normal(neighbours, n, parameters):
        own = one if parameters[cell][n] & LIQUID else parameters[fill][n]
        nx, ny, nz = zero, zero, zero
        for k in range(len(neighbours)):
            kind, shown = parameters[cell][neighbours[k]], parameters[fill][neighbours[k]]
            if kind & LIQUID:
                shown = one
            elif kind & WALL:
                shown = own
            elif not kind & INTERFACE:
                shown = zero
            nx -= w[k + 1] * cx[k + 1] * shown
            ny -= w[k + 1] * cy[k + 1] * shown
            nz -= w[k + 1] * cz[k + 1] * shown
        square = nx * nx + ny * ny + nz * nz
        if square < tiny:
            return zero, zero, zero
        scale = one / real(math.sqrt(square))
        return nx * scale, ny * scale, nz * scale

    return jit(normal)


def normal_beside_walls(normal, neighbours, n, lattice, parameters) -> np.ndarray:
    """(3, m) normals (3, m) of interface cells n, beside walls tilted to the plane that fits the surfaces of the
    neighbours best: the gradient of the filling knows nothing of the surface beyond a wall."""
    kind, share, fill = parameters[CELL][neighbours], parameters[FILL][neighbours], parameters[FILL][n].astype(float)
    first, second = _frame(normal)
    own, has_wall = plane_distance(fill, normal), (kind & WALL != 0).any(axis=0)
    sums = np.tile(np.array([RIDGE, 0.0, RIDGE, 0.0, 0.0])[:, None], n.size)
    for vector, cell, other in zip(lattice.c[1:], kind, share, strict=True):
        is_surface = has_wall & (cell & INTERFACE != 0) & (other > HARDLY) & (other < 1.0 - HARDLY)
        x, y = vector @ first, vector @ second
        z = vector @ normal + plane_distance(np.where(is_surface, other, 0.5), normal) - own
        sums += np.where(is_surface, [x * x, x * y, y * y, x * z, y * z], 0.0)
    xx, xy, yy, xz, yz = sums
    determinant = xx * yy - xy * xy
    tilted = normal - (xz * yy - yz * xy) / determinant * first - (yz * xx - xz * xy) / determinant * second
    return np.where(has_wall, tilted / np.linalg.norm(tilted, axis=0), normal)


def normal_beside_walls_node(lattice, precision, jit, at):
    """Node function ``(neighbours, n, parameters, normal, place)`` of :func:`normal_beside_walls` for cells beside
    walls, which is given the distance of the plane from the centre, too; the distance of the new one follows the
    components of its normal."""
    fill, real = at[FILL], precision.real
    zero, one, ridge = real(0), real(1), real(RIDGE)
    distance, across = distance_node(precision, jit), _frame_node(precision, jit)
    surfaces_beside = surfaces_beside_node(lattice, precision, jit, at, HARDLY)
    first_of = first_of_node(lattice, precision, jit)

    def tilted(neighbours, n, parameters, normal, place):
        nx, ny, nz = normal
        left, shares = surfaces_beside(neighbours, parameters)
        (px, py, pz), (qx, qy, qz) = across(nx, ny, nz)
        xx, xy, yy, xz, yz = ridge, zero, ridge, zero, zero
        while left:
            first, share, (ex, ey, ez) = first_of(left, shares)
            x, y = ex * px + ey * py + ez * pz, ex * qx + ey * qy + ez * qz
            z = ex * nx + ey * ny + ez * nz + distance(share, nx, ny, nz) - place
            xx, xy, yy, xz, yz = xx + x * x, xy + x * y, yy + y * y, xz + x * z, yz + y * z
            left ^= first
        scale = one / (xx * yy - xy * xy)
        h, i = (xz * yy - yz * xy) * scale, (yz * xx - xz * xy) * scale
        nx, ny, nz = nx - h * px - i * qx, ny - h * py - i * qy, nz - h * pz - i * qz
        scale = one / real(math.sqrt(nx * nx + ny * ny + nz * nz))
        nx, ny, nz = nx * scale, ny * scale, nz * scale
        return nx, ny, nz, distance(parameters[fill][n], nx, ny, nz)

    return jit(tilted)


def distance_node(precision, jit):
    """Node function of :func:`plane_distance`."""
    real = precision.real
    one, half, two, three, six = (real(x) for x in (1, 0.5, 2, 3, 6))
    eight, smallest, third_part, threehalves = real(8), real(SMALLEST), real(1 / 3), real(1.5)
    middle_root = _middle_root_node(precision, jit)

    def height(share, a, b, c):
        if a < smallest:
            across = c * share + half * b
            if share < b / (two * c):
                across = real(math.sqrt(two * b * c * share))
            return across + half * a
        both, volume = a + b, six * a * b * c * share
        first = a * a / (six * b * c)
        if share < first:
            return real(math.pow(volume, third_part))
        if share < first + (b - a) / (two * c):
            return half * (a + real(math.sqrt(a * a + eight * b * c * (share - first))))
        cubes, squares, is_narrow = a * a * a + b * b * b, a * a + b * b, c < both
        third = both / (two * c)
        if is_narrow:
            third = c * c * (three * both - c) + a * a * (a - three * c) + b * b * (b - three * c)
            third /= six * a * b * c
        if share < third:
            terms = -three * both, three * squares, volume - cubes
        elif is_narrow:
            terms = -threehalves, threehalves * (squares + c * c), half * (volume - cubes - c * c * c)
        else:
            return c * share + half * both
        return middle_root(terms[0], terms[1], terms[2])

    height = jit(height)

    def distance(fill, nx, ny, nz):
        a, b, c = abs(nx), abs(ny), abs(nz)
        size = a + b + c
        a, b, c = a / size, b / size, c / size
        low, high = min(a, min(b, c)), max(a, max(b, c))
        middle = max(min(a, b), min(max(a, b), c))
        beyond = half - height(min(fill, one - fill), low, middle, high)
        return (beyond if fill > half else -beyond) * size

    return jit(distance)


def share_node(precision, jit):
    """Node function of :func:`plane_share`."""
    real = precision.real
    zero, one, half, six, least = (real(x) for x in (0, 1, 0.5, 6, LEAST))

    def tetrahedron(height):
        above = max(height, zero)
        return above * above * above

    tetrahedron = jit(tetrahedron)

    def share(distance, nx, ny, nz):
        a, b, c = max(abs(nx), least), max(abs(ny), least), max(abs(nz), least)
        size = a + b + c
        a, b, c, height = a / size, b / size, c / size, half - abs(distance) / size
        outside = tetrahedron(height - a) + tetrahedron(height - b) + tetrahedron(height - c)
        twice = tetrahedron(height - a - b) + tetrahedron(height - a - c) + tetrahedron(height - b - c)
        found = (tetrahedron(height) - outside + twice) / (six * a * b * c)
        return found if distance < zero else one - found

    return jit(share)


def _middle_root_node(precision, jit):
    """Node function of :func:`_middle_root`."""
    real = precision.real
    one, three, six, nine, many = (real(x) for x in (1, 3, 6, 9, 27))
    root_three, least = real(math.sqrt(3.0)), real(-1e-30)

    def middle_root(second, first, zeroth):
        p = (first * second - three * zeroth) / six - second * second * second / many
        q = min(first / three - second * second / nine, least)
        cosine = min(max(p / real(math.sqrt(-(q * q * q))), -one), one)
        angle = real(math.acos(cosine)) / three
        return real(math.sqrt(-q)) * (root_three * real(math.sin(angle)) - real(math.cos(angle))) - second / three

    return jit(middle_root)


TENSION = "six_sigma"  # parameter: six times the surface tension, lattice units
COS_ANGLE = "cosine_of_contact_angle"  # parameter: of the angle between surface and wall, in the liquid
N_TERMS = 5
RIDGE = 1e-3
"""Added to the diagonal of the normal equations: without enough points the least curved paraboloid is taken."""
SHARPEST = 1.0  # largest curvature, of a drop of one voxel


def _nothing(neighbours, n, lattice, parameters):
    return np.zeros(n.shape)


def _nothing_node(lattice, precision, jit, at):
    zero = precision.real(0)
    return jit(lambda neighbours, n, parameters: zero)


NO_TENSION = Operator("none", _nothing, _nothing_node)


def _frame(normal):
    """Two unit vectors (3, n) across a normal."""
    axis = np.where(np.abs(normal[0]) < 0.6, np.array([[1.0], [0.0], [0.0]]), np.array([[0.0], [1.0], [0.0]]))
    first = np.cross(normal, axis, axis=0)
    first /= np.linalg.norm(first, axis=0)
    return first, np.cross(normal, first, axis=0)


def _paraboloid(normal, fill, beside, is_surface, lattice):
    """(5, n) coefficients A, B, C, H, I, and the two vectors across the normal."""
    first, second = _frame(normal)
    matrix = np.tile(RIDGE * np.eye(N_TERMS), (fill.size, 1, 1))
    right = np.zeros((fill.size, N_TERMS))
    own = plane_distance(fill, normal)
    for vector, share, valid in zip(lattice.c[1:], beside, is_surface, strict=True):
        x, y = vector @ first, vector @ second
        z = vector @ normal + plane_distance(share, normal) - own
        terms = np.where(valid, [x * x, y * y, x * y, x, y], 0.0).T
        matrix += terms[:, :, None] * terms[:, None, :]
        right += terms * z[:, None]
    return np.linalg.solve(matrix, right[:, :, None])[:, :, 0].T, first, second


def _refined(normal, shape, frame, fill, beside, is_surface, lattice):
    """(5, n) coefficients of the paraboloid that has, over the cuts of the voxels, the means of planes tangent to the
    one of coefficients (5, n) in a frame; the vectors of the frame are turned across the normal."""
    first, second = turned(normal, frame[0])
    matrix, right = np.tile(RIDGE * np.eye(N_TERMS), (fill.size, 1, 1)), np.zeros((fill.size, N_TERMS))
    place = plane_distance(fill, normal)
    own = means_of(cut_means(normal, place, first, second), 0.0, 0.0)
    for vector, share, valid in zip(lattice.c[1:], beside, is_surface, strict=True):
        x, y = vector @ first, vector @ second
        slopes = slopes_at(shape, x, y)
        tangent = normal - slopes[0] * first - slopes[1] * second
        size = np.linalg.norm(tangent, axis=0)
        tangent /= size
        distance = plane_distance(np.where(valid, share, 0.5), tangent)
        cut = cut_means(tangent, distance, first, second)
        z = vector @ normal + distance * size + slopes[0] * cut[0] + slopes[1] * cut[1] - place
        z -= 0.125 * (slopes[0] * x + slopes[1] * y) * (slopes[0] ** 2 + slopes[1] ** 2)
        terms = np.where(valid, means_of(cut, x, y) - own, 0.0).T
        matrix += terms[:, :, None] * terms[:, None, :]
        right += terms * z[:, None]
    return np.linalg.solve(matrix, right[:, :, None])[:, :, 0].T


def turned(normal, first):
    """Two unit vectors (3, n) across a normal, the first of them as near to a vector as can be."""
    first = first - (first * normal).sum(axis=0) * normal
    first = first / np.linalg.norm(first, axis=0)
    return first, np.cross(normal, first, axis=0)


def slopes_at(shape, x, y):
    """Slopes of a paraboloid (5, n) that begins with none, at places x, y; at most that of 45 degrees."""
    a, b, c, _, _ = shape
    return np.clip(2.0 * a * x + c * y, -1.0, 1.0), np.clip(2.0 * b * y + c * x, -1.0, 1.0)


def means_of(cut, x, y):
    """(5, n) means of x^2, y^2, x y, x, y over cuts (5, n) of voxels whose centres lie at x, y."""
    mean_x, mean_y, xx, yy, xy = cut
    squares = [xx + (2.0 * mean_x + x) * x, yy + (2.0 * mean_y + y) * y]
    return np.stack([*squares, xy + x * mean_y + y * mean_x + x * y, x + mean_x, y + mean_y])


def curvature(neighbours, n, lattice, parameters) -> np.ndarray:
    """(m,) mean curvature at interface cells n, whose neighbours are (Q - 1, m): the specification."""
    cell, held = parameters[CELL], parameters[FILL]
    kind, fill = cell[neighbours], held[n].astype(float)
    beside = np.where(kind & INTERFACE, held[neighbours], np.where(kind & LIQUID, 1.0, 0.0))
    normal, is_flat = surface_normal(neighbours, n, lattice, parameters)
    is_surface = kind & INTERFACE != 0
    shape, *frame = _paraboloid(normal, fill, beside, is_surface, lattice)
    normal = normal - shape[3] * frame[0] - shape[4] * frame[1]
    normal /= np.linalg.norm(normal, axis=0)
    coefficients = _refined(normal, shape, frame, fill, beside, is_surface, lattice)
    return np.where(is_flat, 0.0, curvature_of(coefficients))


def curvature_of(coefficients) -> np.ndarray:
    """(m,) mean curvature of paraboloids of coefficients (5, m) A, B, C, H, I where they begin."""
    a, b, c, h, i = coefficients
    found = -(a * (1 + i * i) + b * (1 + h * h) - c * h * i) / (1 + h * h + i * i) ** 1.5
    return np.clip(found, -SHARPEST, SHARPEST)


def _tension(neighbours, n, lattice, parameters):
    normal, is_flat = surface_normal(neighbours, n, lattice, parameters)
    place = plane_distance(parameters[FILL][n].astype(float), normal)
    depth = np.where(is_flat, 0.0, 0.5 * np.abs(normal).sum(axis=0) - np.abs(place))
    return parameters[TENSION] * curvature(neighbours, n, lattice, parameters), depth


def _tension_node(lattice, precision, jit, at):
    tension, curvature_at = at[TENSION], curvature_node(lattice, precision, jit, at)

    def pressure(neighbours, n, parameters):
        found, depth = curvature_at(neighbours, n, parameters)
        return parameters[tension] * found, depth

    return jit(pressure)


def curvature_node(lattice, precision, jit, at):
    """Node function ``(neighbours, n, parameters)`` -> :func:`curvature`, and how deep the smaller part of the cell,
    liquid or gas, is that its plane cuts off."""
    zero, half, normal_of = precision.real(0), precision.real(0.5), normal_node(lattice, precision, jit, at)
    paraboloid, refined = _paraboloid_node(lattice, precision, jit, at), _refined_node(lattice, precision, jit, at)
    curvature_of_it = curvature_of_node(precision, jit)

    def curvature(neighbours, n, parameters):
        normal = normal_of(neighbours, n, parameters)
        if normal[0] == zero and normal[1] == zero and normal[2] == zero:
            return zero, zero
        size = abs(normal[0]) + abs(normal[1]) + abs(normal[2])
        shape, normal, first, place = paraboloid(neighbours, n, parameters, normal)
        a, b, c, h, i = refined(neighbours, n, parameters, normal, shape, first)
        return curvature_of_it(a, b, c, h, i), half * size - abs(place)

    return jit(curvature)


def _refined_node(lattice, precision, jit, at):
    """Node function ``(neighbours, n, parameters, normal, shape, first)`` of :func:`_refined`."""
    fill, (none, add, solve) = at[FILL], equations_nodes(precision, jit)
    surfaces_beside = surfaces_beside_node(lattice, precision, jit, at)
    first_of = first_of_node(lattice, precision, jit)
    distance, across = distance_node(precision, jit), turned_node(precision, jit)
    cut_of, means = cut_node(precision, jit), cut_means_node(precision, jit)

    def refined(neighbours, n, parameters, normal, shape, first):
        nx, ny, nz = normal
        p, q = across(normal, first)
        place = distance(parameters[fill][n], nx, ny, nz)
        ox, oy, oxx, oyy, oxy = means(normal, place, p, q)
        equations, (left, shares) = none(), surfaces_beside(neighbours, parameters)
        while left:
            first, share, link = first_of(left, shares)
            mx, my, mxx, myy, mxy, z = cut_of(share, link, (normal, p, q), shape, place)
            equations = add(equations, (mxx - oxx, myy - oyy, mxy - oxy, mx - ox, my - oy, z))
            left ^= first
        return solve(equations)

    return jit(refined)


def cut_node(precision, jit):
    """Node function ``(share, link, (normal, first, second), shape, place)`` -> means of x, y, x^2, y^2, x y, as in
    :func:`means_of`, and z over the cut of the neighbour along a link by the plane of its share that is tangent to a
    paraboloid, which begins at a distance ``place`` from the centre of the cell."""
    real = precision.real
    one, two, eighth = real(1), real(2), real(0.125)
    distance, means = distance_node(precision, jit), cut_means_node(precision, jit)

    def cut(share, link, frame, shape, place):
        (ex, ey, ez), ((nx, ny, nz), (px, py, pz), (qx, qy, qz)), (a, b, c) = link, frame, shape
        x, y, z = ex * px + ey * py + ez * pz, ex * qx + ey * qy + ez * qz, ex * nx + ey * ny + ez * nz
        h, i = min(max(two * a * x + c * y, -one), one), min(max(two * b * y + c * x, -one), one)
        size = real(math.sqrt(one + h * h + i * i))
        tx, ty, tz = nx - h * px - i * qx, ny - h * py - i * qy, nz - h * pz - i * qz
        tx, ty, tz = tx / size, ty / size, tz / size
        far = distance(share, tx, ty, tz)
        mx, my, mxx, myy, mxy = means((tx, ty, tz), far, (px, py, pz), (qx, qy, qz))
        xx, yy = mxx + (two * mx + x) * x, myy + (two * my + y) * y
        z += far * size + h * mx + i * my - place - eighth * (h * x + i * y) * (h * h + i * i)
        return x + mx, y + my, xx, yy, mxy + x * my + y * mx + x * y, z

    return jit(cut)


def turned_node(precision, jit):
    """Node function of :func:`turned`."""
    real, one = precision.real, precision.real(1)

    def across(normal, first):
        (nx, ny, nz), (px, py, pz) = normal, first
        along = nx * px + ny * py + nz * pz
        px, py, pz = px - along * nx, py - along * ny, pz - along * nz
        scale = one / real(math.sqrt(px * px + py * py + pz * pz))
        px, py, pz = px * scale, py * scale, pz * scale
        return (px, py, pz), (ny * pz - nz * py, nz * px - nx * pz, nx * py - ny * px)

    return jit(across)


def curvature_of_node(precision, jit):
    """Node function of :func:`curvature_of`."""
    real = precision.real
    one, power, sharpest = real(1), real(1.5), real(SHARPEST)

    def curvature(a, b, c, h, i):
        found = -(a * (one + i * i) + b * (one + h * h) - c * h * i)
        found /= real(math.pow(one + h * h + i * i, power))
        return min(max(found, -sharpest), sharpest)

    return jit(curvature)


def _paraboloid_node(lattice, precision, jit, at):
    """Node function ``(neighbours, n, parameters, normal)`` -> A, B, C, the normal tilted by H and I, the vector
    along which x is measured, and the distance of the plane from the centre."""
    fill, real = at[FILL], precision.real
    one, (none, add, solve) = real(1), equations_nodes(precision, jit)
    surfaces_beside = surfaces_beside_node(lattice, precision, jit, at)
    first_of = first_of_node(lattice, precision, jit)
    distance, across = distance_node(precision, jit), _frame_node(precision, jit)

    def paraboloid(neighbours, n, parameters, normal):
        nx, ny, nz = normal
        (px, py, pz), (qx, qy, qz) = across(nx, ny, nz)
        own = distance(parameters[fill][n], nx, ny, nz)
        equations, (left, shares) = none(), surfaces_beside(neighbours, parameters)
        while left:
            first, share, (ex, ey, ez) = first_of(left, shares)
            x, y = ex * px + ey * py + ez * pz, ex * qx + ey * qy + ez * qz
            z = ex * nx + ey * ny + ez * nz + distance(share, nx, ny, nz) - own
            equations = add(equations, (x * x, y * y, x * y, x, y, z))
            left ^= first
        a, b, c, h, i = solve(equations)
        tx, ty, tz = nx - h * px - i * qx, ny - h * py - i * qy, nz - h * pz - i * qz
        scale = one / real(math.sqrt(tx * tx + ty * ty + tz * tz))
        return (a, b, c), (tx * scale, ty * scale, tz * scale), (px, py, pz), own

    return jit(paraboloid)


def _frame_node(precision, jit):
    """Node function: two unit vectors across a normal."""
    real = precision.real
    zero, one, most = real(0), real(1), real(0.6)

    def across(nx, ny, nz):
        px, py, pz = zero, nz, -ny
        if not (-most < nx and nx < most):
            px, py, pz = -nz, zero, nx
        scale = one / real(math.sqrt(px * px + py * py + pz * pz))
        px, py, pz = px * scale, py * scale, pz * scale
        return (px, py, pz), (ny * pz - nz * py, nz * px - nx * pz, nx * py - ny * px)

    return jit(across)


def equations_nodes(precision, jit):
    """Node functions of normal equations: ``()`` -> those of the ridge alone; ``(equations, terms)`` -> with the square
    of an equation, whose right side is the last term; ``(equations)`` -> their solution (Gauss, Jordan). Equations are
    the rows of the upper triangle, each with its right side."""
    zero, one, ridge = (precision.real(x) for x in (0, 1, RIDGE))
    count, width, n_others = N_TERMS, N_TERMS + 1, N_TERMS - 1
    entries = [(i, j) for i, j in combinations_with_replacement(range(width), 2) if i < count]
    row, column = (tuple(places) for places in zip(*entries, strict=True))
    n_entries, diagonal = len(entries), tuple(entries.index((i, i)) for i in range(count))
    n_full, held = (
        count * width,
        tuple(entries.index((min(i, j), max(i, j))) for i in range(count) for j in range(width)),
    )
    others = tuple(tuple(i for i in range(count) if i != pivot) for pivot in range(count))

    def none():
        m = [zero] * n_entries
        for i in range(count):
            m[diagonal[i]] = ridge
        return m

    def add(equations, terms):
        m = [zero] * n_entries
        for e in range(n_entries):
            m[e] = equations[e] + terms[row[e]] * terms[column[e]]
        return m

    def solve(equations):
        m = [zero] * n_full
        x = [zero] * count
        for e in range(n_full):
            m[e] = equations[held[e]]
        for p in range(count):
            scale = one / m[7 * p]
            for j in range(width):
                m[6 * p + j] *= scale
            for o in range(n_others):
                factor = m[6 * others[p][o] + p]
                for j in range(width):
                    m[6 * others[p][o] + j] -= factor * m[6 * p + j]
        for i in range(count):
            x[i] = m[6 * i + 5]
        return x

    return jit(unroll(none)), jit(unroll(add)), jit(unroll(solve))


PARABOLOID = Operator("paraboloid", _tension, _tension_node, named(CELL, FILL, TENSION))
