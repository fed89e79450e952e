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


def duct_flow_rate(width: float, height: float, acceleration: float = 1.0, viscosity: float = 1.0) -> float:
    """Volume flow of a rectangular duct."""
    a, b = sorted((0.5 * width, 0.5 * height))
    i = 2.0 * np.arange(N_TERMS) + 1.0
    sides = 192.0 * a / (np.pi**5 * b) * np.sum(np.tanh(0.5 * np.pi * i * b / a) / i**5)
    return float(4.0 * b * a**3 / 3.0 * acceleration / viscosity * (1.0 - sides))
