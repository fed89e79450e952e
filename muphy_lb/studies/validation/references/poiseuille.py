"""Steady laminar flow between plates, in a round pipe and in a rectangular duct.

Source: White, Viscous Fluid Flow (2006), sections 3-3.1 to 3-3.3.
"""

import numpy as np

N_TERMS = 500


def channel_velocity(y, height: float, acceleration: float, viscosity: float) -> np.ndarray:
    """Velocity between plates at the distances ``y`` from one of them: g y (H - y) / (2 nu)."""
    y = np.asarray(y, dtype=np.float64)
    return acceleration / (2.0 * viscosity) * y * (height - y)


def channel_mean_velocity(height: float, acceleration: float, viscosity: float) -> float:
    """Mean velocity between plates: g H^2 / (12 nu)."""
    return acceleration * height**2 / (12.0 * viscosity)


def pipe_velocity(r, radius: float, acceleration: float, viscosity: float) -> np.ndarray:
    """Velocity in a round pipe at the distances ``r`` from its axis: g (R^2 - r^2) / (4 nu)."""
    return acceleration / (4.0 * viscosity) * (radius**2 - np.asarray(r, dtype=np.float64) ** 2)


def pipe_flow_rate(radius: float, acceleration: float = 1.0, viscosity: float = 1.0) -> float:
    """Volume flow of a round pipe: pi R^4 g / (8 nu)."""
    return np.pi * radius**4 * acceleration / (8.0 * viscosity)


def duct_velocity(y, z, sides: tuple[float, float], acceleration: float, viscosity: float) -> np.ndarray:
    """Velocity in a rectangular duct at the points ``(y, z)``, arrays of one shape, measured from its axis.

    Args:
        y, z: coordinates along the first and the second side.
        sides: lengths of the sides.
        acceleration: body force per mass.
        viscosity: kinematic.
    """
    if sides[0] > sides[1]:  # the series along the shorter side is the faster one
        y, z, sides = z, y, sides[::-1]
    y, z = np.broadcast_arrays(*(np.asarray(coordinate, dtype=np.float64)[..., None] for coordinate in (y, z)))
    a, b = 0.5 * sides[0], 0.5 * sides[1]
    i = 2.0 * np.arange(N_TERMS) + 1.0
    decay = _cosh_ratio(0.5 * np.pi * i * z / a, 0.5 * np.pi * i * b / a)
    terms = (-1.0) ** ((i - 1.0) / 2.0) / i**3 * decay * np.cos(0.5 * np.pi * i * y / a)
    between_plates = 0.5 * (a**2 - y[..., 0] ** 2)
    return acceleration / viscosity * (between_plates - 16.0 * a**2 / np.pi**3 * terms.sum(axis=-1))


def duct_flow_rate(width: float, height: float, acceleration: float = 1.0, viscosity: float = 1.0) -> float:
    """Volume flow of a rectangular duct."""
    a, b = sorted((0.5 * width, 0.5 * height))
    i = 2.0 * np.arange(N_TERMS) + 1.0
    sides = 192.0 * a / (np.pi**5 * b) * np.sum(np.tanh(0.5 * np.pi * i * b / a) / i**5)
    return float(4.0 * b * a**3 / 3.0 * acceleration / viscosity * (1.0 - sides))


def _cosh_ratio(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """cosh(p) / cosh(q) for abs(p) <= q, without overflow."""
    p = np.abs(p)
    return np.exp(p - q) * (1.0 + np.exp(-2.0 * p)) / (1.0 + np.exp(-2.0 * q))
