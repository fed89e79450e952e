"""Uptake by a wall that saturates, k T / (1 + T / K), at a link (Michaelis and Menten; the largest uptake is k K).

With X = 2 w T_w for the value at the wall, level = 2 w K, A = share = area k / (2 w), e and the rest as in
:mod:`muphy_lb.domain.scalar_streaming`, the population that enters is g = g~ - A X / (1 + X / level), and so

    X + e A X / (1 + X / level) = Y,   Y = (e + left) g~ + others, the value of a wall that takes nothing up

a quadratic equation, of which X is the root that is positive where Y is. Below 0, in ripples, the uptake is k T.
"""

import math

import numpy as np


def reference(y: np.ndarray, share: np.ndarray, entering: np.ndarray, level: np.ndarray) -> np.ndarray:
    """(S,) populations that are taken up, of Y, A, e and level; the specification."""
    positive = np.maximum(y, 0.0)
    p = 1.0 + entering * share - positive / level
    x = 2.0 * positive / (p + np.sqrt(p * p + 4.0 * positive / level))
    return np.where(y > 0.0, share * x / (1.0 + x / level), share * y / (1.0 + entering * share))


def node(precision, jit):
    """Function ``(y, share, entering, level)`` of one link."""
    real = precision.real
    zero, one, two, four = real(0), real(1), real(2), real(4)

    def taken_up(y, share, entering, level):
        if not y > zero:
            return share * y / (one + entering * share)
        over = y / level
        p = one + entering * share - over
        x = two * y / (p + real(math.sqrt(p * p + four * over)))
        return share * x / (one + x / level)

    return jit(taken_up)
