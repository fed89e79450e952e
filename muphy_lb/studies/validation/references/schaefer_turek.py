"""Laminar flow around a cylinder in a channel: the cases 2D-1, 2D-2 and 3D-1Z, SI units.

Sources: geometry and intervals of Schaefer and Turek, Benchmark computations of laminar flow around a cylinder (1996);
values: the finest computations that public transcriptions give, for 2D-2 the finest series of FeatFlow (featflow.de).
"""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

DIAMETER_M = 0.1
HEIGHT_M = 0.41
LENGTH_2D_M, LENGTH_3D_M = 2.2, 2.5
CENTRE_2D_M, CENTRE_3D_M = (0.2, 0.2), (0.5, 0.2)
VISCOSITY_M2_S = 1e-3
DENSITY_KG_M3 = 1.0
MEAN_VELOCITY_M_S = MappingProxyType({"2D-1": 0.2, "2D-2": 1.0, "3D-1Z": 0.2})


@dataclass(frozen=True)
class Number:
    """One result.

    Attributes:
        value: converged value; None where none is known.
        interval: of the benchmark of 1996; None where it has none.
        remembered: which of the two was not read in any source, only remembered: ``"value"``, ``"interval"``.
    """

    value: float | None
    interval: tuple[float, float] | None = None
    remembered: tuple[str, ...] = ()


MEMORY = ("interval",)
STEADY_2D = MappingProxyType(
    {
        "drag": Number(5.57953523384, (5.57, 5.59)),
        "lift": Number(0.010618948146, (0.0104, 0.0110), MEMORY),
        "pressure_difference_pa": Number(0.11752016697, (0.1172, 0.1176)),
    }
)
PERIODIC_2D = MappingProxyType(
    {
        "largest_drag": Number(3.2274, (3.22, 3.24)),
        "smallest_drag": Number(3.1643),
        "largest_lift": Number(0.9866, (0.99, 1.01)),
        "lift_range": Number(2.0079),
        "strouhal": Number(0.3018, (0.295, 0.305)),
        "pressure_difference_pa": Number(None, (2.46, 2.50), MEMORY),
    }
)
STEADY_3D = MappingProxyType(
    {
        "drag": Number(6.18533, (6.05, 6.25), MEMORY),
        "lift": Number(0.009401, (0.008, 0.010), MEMORY),
        "pressure_difference_pa": Number(0.1708, (0.165, 0.175), ("value", "interval")),
    }
)


def inflow_2d(y_m, mean_m_s: float) -> np.ndarray:
    """Parabolic inlet velocity [m/s] at the heights ``y_m`` [m] above the lower wall."""
    y_m = np.asarray(y_m, dtype=np.float64)
    return 6.0 * mean_m_s * y_m * (HEIGHT_M - y_m) / HEIGHT_M**2


def inflow_3d(y_m, z_m, mean_m_s: float) -> np.ndarray:
    """Inlet velocity [m/s] of the square section at the distances ``y_m``, ``z_m`` [m] from two of its walls."""
    y_m, z_m = np.asarray(y_m, dtype=np.float64), np.asarray(z_m, dtype=np.float64)
    return 36.0 * mean_m_s * y_m * z_m * (HEIGHT_M - y_m) * (HEIGHT_M - z_m) / HEIGHT_M**4


def force_coefficient(force_n: float, mean_m_s: float, span_m: float = 1.0) -> float:
    """Drag or lift coefficient 2 F / (rho U^2 D span) of a force [N] on the cylinder; in 2D of a force per metre."""
    return 2.0 * force_n / (DENSITY_KG_M3 * mean_m_s**2 * DIAMETER_M * span_m)


def reynolds(case: str) -> float:
    """Reynolds number U_mean D / nu of ``"2D-1"``, ``"2D-2"`` or ``"3D-1Z"``."""
    return MEAN_VELOCITY_M_S[case] * DIAMETER_M / VISCOSITY_M2_S
