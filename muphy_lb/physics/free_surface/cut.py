"""The polygon in which a plane cuts a voxel: its centre, and the means of squares and products over it.

Each face of the voxel cuts the plane in a line, whose piece within the face is an edge of the polygon, and Green's
theorem makes sums over edges of the integrals. The edges may come in any order: all of them turn the same way.
"""

import math

import numpy as np

TINY = 1e-6  # component of a normal below which a plane is parallel to an axis
MARGIN = 1e-2
"""Distance from the corner farthest from the centre up to which a plane counts as one that cuts the voxel there."""


def cut_means(normal, distance, first, second) -> np.ndarray:
    """(5, m) means of x, y, x^2, y^2 and x y over the polygons in which planes cut a voxel, from its centre.

    Args:
        normal: (3, m) unit vectors of the planes.
        distance: (m,) of the planes from the centre.
        first: (3, m) unit vectors along which x is measured; the polygon is projected along their common normal.
        second: the same of y.
    """
    sums, most = np.zeros((6, distance.size)), 0.5 * np.abs(normal).sum(axis=0) - MARGIN
    distance = np.clip(distance, -most, most)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        along = tuple(np.copysign(np.maximum(np.abs(normal[axis]), TINY), normal[axis]) for axis in (k, j))
        square = along[0] ** 2 + along[1] ** 2
        for side in (0.5, -0.5):
            rest = (distance - normal[i] * side) / square
            start = rest * along[1], rest * along[0]
            ends = _ends(start[0], along[0]), _ends(start[1], along[1])
            low = np.maximum(ends[0][0], -ends[1][1])
            high = np.maximum(np.minimum(ends[0][1], -ends[1][0]), low)
            x, y = (
                [
                    axis[i] * side + axis[j] * (start[0] + s * along[0]) + axis[k] * (start[1] - s * along[1])
                    for s in ((low, high) if side > 0.0 else (high, low))
                ]
                for axis in (first, second)
            )
            sums += _sums(x, y)
    return sums[1:] / sums[0] / np.array([3.0, 3.0, 6.0, 6.0, 12.0])[:, None]


def _ends(start, slope):
    """The lower and the upper bound of s for which start + s slope lies within a voxel."""
    one, other = (-0.5 - start) / slope, (0.5 - start) / slope
    return np.minimum(one, other), np.maximum(one, other)


def _sums(x, y) -> np.ndarray:
    """Twice the area between an edge and the origin, 6, 6, 12, 12 and 24 times its integrals of x, y, x^2, y^2, x y."""
    (x, p), (y, q) = x, y
    area = x * q - p * y
    mixed = 2.0 * (x * y + p * q) + x * q + p * y
    return area * np.stack([np.ones_like(area), x + p, y + q, x * (x + p) + p * p, y * (y + q) + q * q, mixed])


def cut_means_node(precision, jit):
    """Node function ``(normal, distance, first, second)`` of :func:`cut_means`."""
    real = precision.real
    zero, one, half, two, tiny, margin = (real(x) for x in (0, 1, 0.5, 2, TINY, MARGIN))
    third, sixth, twelfth = real(1 / 3), real(1 / 6), real(1 / 12)

    def not_zero(x):
        return real(math.copysign(max(abs(x), tiny), x))

    not_zero = jit(not_zero)

    def face(sums, side, way, rest, line):
        (tj, tk, sj, sk), (pi, px, pd), (qi, qx, qd) = line
        area, sx, sy, sxx, syy, sxy = sums
        start_j, start_k = rest * tk, rest * tj
        a, b, c, d = (-half - start_j) * sj, (half - start_j) * sj, (start_k - half) * sk, (start_k + half) * sk
        low, high = max(min(a, b), min(c, d)), min(max(a, b), max(c, d))
        if high <= low:
            return sums
        x, y = pi * side + px * rest, qi * side + qx * rest
        twice = (high - low) * way * (x * qd - y * pd)
        x, y, p, q = x + low * pd, y + low * qd, x + high * pd, y + high * qd
        mixed = two * (x * y + p * q) + x * q + p * y
        sxx += twice * (x * (x + p) + p * p)
        syy += twice * (y * (y + q) + q * q)
        return area + twice, sx + twice * (x + p), sy + twice * (y + q), sxx, syy, sxy + twice * mixed

    face = jit(face)

    def both(sums, distance, ni, nj, nk, p, q):
        (pi, pj, pk), (qi, qj, qk) = p, q
        tj, tk = not_zero(nk), not_zero(nj)
        inverse = one / (tj * tj + tk * tk)
        first, second = (pi, pj * tk + pk * tj, pj * tj - pk * tk), (qi, qj * tk + qk * tj, qj * tj - qk * tk)
        line = (tj, tk, one / tj, one / tk), first, second
        sums = face(sums, half, one, (distance - half * ni) * inverse, line)
        return face(sums, -half, -one, (distance + half * ni) * inverse, line)

    both = jit(both)

    def means(normal, distance, first, second):
        (nx, ny, nz), (px, py, pz), (qx, qy, qz) = normal, first, second
        sums, most = (zero, zero, zero, zero, zero, zero), half * (abs(nx) + abs(ny) + abs(nz)) - margin
        distance = max(min(distance, most), -most)
        sums = both(sums, distance, nx, ny, nz, (px, py, pz), (qx, qy, qz))
        sums = both(sums, distance, ny, nz, nx, (py, pz, px), (qy, qz, qx))
        sums = both(sums, distance, nz, nx, ny, (pz, px, py), (qz, qx, qy))
        area, x, y, xx, yy, xy = sums
        scale = one / area
        return x * third * scale, y * third * scale, xx * sixth * scale, yy * sixth * scale, xy * twelfth * scale

    return jit(means)
