"""Steady flow of generalised Newtonian fluids between plates and in a round pipe, driven by a body force.

The stress over density is g y between plates and g r / 2 in a pipe; the shear rate follows from
nu(rate) rate = stress, the velocity from its integral. Source: Bird, Armstrong, Hassager, Dynamics of Polymeric
Liquids 1 (1987), chapter 4.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

N_PANELS = 200  # of the integral from the wall to the middle
N_GAUSS = 8
N_BISECTIONS = 120  # enough to halve any bracket down to the last bit

Viscosity = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class CarreauYasuda:
    """Kinematic viscosity nu_inf + (nu_0 - nu_inf) [1 + (lambda rate)^a]^((n - 1) / a) of a shear rate."""

    at_rest: float  # at_rest, at_infinity: nu_0 and nu_inf
    at_infinity: float
    time: float  # lambda
    a: float  # a, n: the exponents
    n: float

    def __call__(self, rate):
        """Viscosity at the shear rates."""
        bracket = 1.0 + (self.time * np.asarray(rate)) ** self.a
        return self.at_infinity + (self.at_rest - self.at_infinity) * bracket ** ((self.n - 1.0) / self.a)


@dataclass(frozen=True)
class Casson:
    """Kinematic viscosity (k0 + k1 sqrt(rate))^2 / rate of a shear rate, no more than ``largest``.

    The yield stress over density is k0^2, the viscosity at high rates k1^2.
    """

    k0: float
    k1: float
    largest: float = np.inf

    def __call__(self, rate):
        """Viscosity at the shear rates; ``largest`` at rest."""
        rate = np.asarray(rate, dtype=np.float64)
        moving = np.maximum(rate, np.finfo(np.float64).tiny)
        return np.minimum((self.k0 + self.k1 * np.sqrt(moving)) ** 2 / moving, self.largest)


@dataclass(frozen=True)
class PowerLaw:
    """Kinematic viscosity K rate^(n - 1) of a shear rate, kept within [smallest, largest]."""

    consistency: float
    n: float
    smallest: float = 0.0
    largest: float = np.inf

    def __call__(self, rate):
        """Viscosity at the shear rates."""
        moving = np.maximum(np.asarray(rate, dtype=np.float64), np.finfo(np.float64).tiny)
        return np.clip(self.consistency * moving ** (self.n - 1.0), self.smallest, self.largest)


def channel_velocity(y, half_width: float, acceleration: float, viscosity: Viscosity) -> np.ndarray:
    """Velocity between plates at the distances ``y`` from the middle, of any fluid whose stress grows with the rate.
    ``y``: distances from the middle, up to ``half_width``; ``half_width``: half the gap; ``acceleration``: body force
    per mass, above 0; ``viscosity``: kinematic viscosity as a function of an array of shear rates."""
    return _velocity(y, half_width, acceleration, viscosity)


def pipe_velocity(r, radius: float, acceleration: float, viscosity: Viscosity) -> np.ndarray:
    """Velocity in a round pipe at the distances ``r`` from its axis; the rest as :func:`channel_velocity`."""
    return _velocity(r, radius, 0.5 * acceleration, viscosity)


def channel_mean_velocity(half_width: float, acceleration: float, viscosity: Viscosity) -> float:
    """Mean velocity between plates: the integral of y rate(y) over half the gap, over its half."""
    y, weight = _quadrature(np.linspace(0.0, half_width, N_PANELS + 1))
    return float(np.sum(weight * y * shear_rate(acceleration * y, viscosity)) / half_width)


def shear_rate(stress, viscosity: Viscosity) -> np.ndarray:
    """Shear rates at which viscosity times rate is the stress (over density, not negative), by bisection."""
    stress = np.asarray(stress, dtype=np.float64)
    low, high = np.zeros_like(stress), np.ones_like(stress)
    while np.any(short := viscosity(high) * high < stress):
        high[short] *= 2.0
    for _ in range(N_BISECTIONS):
        middle = 0.5 * (low + high)
        below = viscosity(middle) * middle < stress
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


def _velocity(y, half_width: float, stress_per_length: float, viscosity: Viscosity) -> np.ndarray:
    """Integral of the shear rate from each point to the wall, where the stress is ``stress_per_length`` times |y|."""
    y = np.abs(np.asarray(y, dtype=np.float64))
    edges = np.union1d(y, np.linspace(0.0, half_width, N_PANELS + 1))
    points, weights = _quadrature(edges)
    steps = np.sum(weights * shear_rate(stress_per_length * points, viscosity), axis=1)
    velocity = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
    return velocity[np.searchsorted(edges, y)]


def _quadrature(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gauss points and weights, (panels, points) each, of the panels between neighbouring edges."""
    points, weights = np.polynomial.legendre.leggauss(N_GAUSS)
    half = 0.5 * np.diff(edges)[:, None]
    return edges[:-1, None] + half * (points + 1.0), half * weights
