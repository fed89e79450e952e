"""The profile of an interface along its normal, g of the tension, and what a lattice makes of it, as
:mod:`muphy_lb.physics.two_fluid.operators` has them."""

import math

import numpy as np

SHARPNESS = 0.7
"""beta: the interface is a hyperbolic tangent of 2 / beta voxels."""
SHARPENED = 7
"""Power of 1 - psi^2 by which g rises."""


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


def straight(gradient, size, psi):
    """Gradients of psi without what differences across planes add along the axes: (3, n), of the size (n,)."""
    s, along = 1.0 - psi * psi, (gradient / np.where(size > 0.0, size, 1.0)) ** 2
    beside = (0.5 * SHARPNESS) ** 4 / 120.0 * (16.0 - 120.0 * s * (1.0 - s))
    return gradient * (1.0 - beside * along * (10.0 / 3.0 - 4.0 * along))


def straight_node(precision, jit):
    """Node function ``(gx, gy, gz, size, psi)`` of :func:`straight`."""
    real = precision.real
    one, four, ten_thirds, of_size = (real(x) for x in (1.0, 4.0, 10.0 / 3.0, (0.5 * SHARPNESS) ** 4 / 120.0))
    first, second = real(16.0), real(120.0)

    def straight(gx, gy, gz, size, psi):
        s, per = one - psi * psi, one / (size * size)
        beside = of_size * (first - second * s * (one - s))
        x, y, z = gx * gx * per, gy * gy * per, gz * gz * per
        return (
            gx * (one - beside * x * (ten_thirds - four * x)),
            gy * (one - beside * y * (ten_thirds - four * y)),
            gz * (one - beside * z * (ten_thirds - four * z)),
        )

    return jit(straight)
