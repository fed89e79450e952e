"""The profile of an interface along its normal, g of the tension, and the error of the lattice in both, as
:mod:`muphy_lb.physics.two_fluid.operators` uses them."""

import math

import numpy as np

SHARPNESS = 0.7
"""beta: the interface is a hyperbolic tangent of 2 / beta voxels."""
SHARPENED = 7
"""Power of 1 - psi^2 in the slope of g."""
STEEPENED = 1.0333
"""Slope of psi over its differences on a lattice beside walls, where g has no differences, so that the pressure of the
tension is that of the whole jump: by sums across plane interfaces at any angle and place, within 4e-4."""


def wider(phase: np.ndarray) -> np.ndarray:
    """psi = tanh(beta d / 2) of the phase tanh(beta d)."""
    return phase / (1.0 + _root(phase))


def _root(phase: np.ndarray) -> np.ndarray:
    """sqrt(1 - phi^2)."""
    return np.sqrt(np.maximum(1.0 - phase * phase, 0.0))


def root_node(precision, jit):
    """Node function ``(phase)``: sqrt(1 - phi^2)."""
    real, zero, one = precision.real, precision.real(0), precision.real(1)
    return jit(lambda phase: real(math.sqrt(max(one - phase * phase, zero))))


def sharper_terms() -> list[float]:
    """Factors of the odd powers of psi in g."""
    terms = [(-1) ** k * math.comb(SHARPENED, k) / (2 * k + 1) for k in range(SHARPENED + 1)]
    return [term / sum(terms) for term in terms]


def sharper(psi):
    """g, of numbers or arrays."""
    square, found = psi * psi, 0.0
    for term in reversed(sharper_terms()):
        found = found * square + term
    return found * psi


def sharper_node(precision, jit):
    """Node function ``(psi)`` of :func:`sharper`."""
    c0, c1, c2, c3, c4, c5, c6, c7 = (precision.real(term) for term in sharper_terms())

    def sharper(psi):
        x = psi * psi
        return psi * (c0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * (c5 + x * (c6 + x * c7)))))))

    return jit(sharper)


def steep(psi, size):
    """Half the slope of g along the normal, from psi and the length of its gradient in differences."""
    return 0.5 * STEEPENED * sharper_terms()[0] * (1.0 - psi * psi) ** SHARPENED * size


def steep_node(precision, jit):
    """Node function ``(psi, size)`` of :func:`steep`."""
    one, steepened = precision.real(1), precision.real(0.5 * STEEPENED * sharper_terms()[0])

    def steep(psi, size):
        s = one - psi * psi
        return steepened * s * (s * s) * (s * s * (s * s)) * size

    return jit(steep)


def straight(normal, psi):
    """(3, n) normals without what differences of psi across planes add along the axes, to first order."""
    s, along = 1.0 - psi * psi, normal * normal
    more = along * (10.0 / 3.0 - 4.0 * along)
    beside = (0.5 * SHARPNESS) ** 4 / 120.0 * (16.0 - 120.0 * s * (1.0 - s))
    return normal * (1.0 + beside * ((along * more).sum(axis=0) - more))


def straight_node(precision, jit):
    """Node function ``(nx, ny, nz, psi)`` of :func:`straight`."""
    real, size = precision.real, (0.5 * SHARPNESS) ** 4
    one, four, ten_thirds, most, less = (real(x) for x in (1.0, 4.0, 10.0 / 3.0, 16.0 / 120.0 * size, size))

    def straight(nx, ny, nz, psi):
        square, xx, yy, zz = psi * psi, nx * nx, ny * ny, nz * nz
        beside = most - less * square * (one - square)
        x, y, z = xx * (ten_thirds - four * xx), yy * (ten_thirds - four * yy), zz * (ten_thirds - four * zz)
        mean = one + beside * (xx * x + yy * y + zz * z)
        return nx * (mean - beside * x), ny * (mean - beside * y), nz * (mean - beside * z)

    return jit(straight)
