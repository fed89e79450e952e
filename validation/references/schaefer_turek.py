"""Laminar flow around a cylinder in a channel: the cases 2D-1, 2D-2, 2D-3 and 3D-1Z, SI units.

Sources: geometry and intervals of Schaefer and Turek, Benchmark computations of laminar flow around a cylinder (1996);
values: the finest computations that public transcriptions give, for 2D-2 the finest series of FeatFlow (featflow.de),
for 2D-3 those of John, Int. J. Numer. Meth. Fluids 44, 777 (2004).
"""

from dataclasses import dataclass
from types import MappingProxyType

DIAMETER_M = 0.1
HEIGHT_M = 0.41
LENGTH_2D_M, LENGTH_3D_M = 2.2, 2.5
CENTRE_2D_M, CENTRE_3D_M = (0.2, 0.2), (0.5, 0.2)
VISCOSITY_M2_S = 1e-3
DENSITY_KG_M3 = 1.0
MEAN_VELOCITY_M_S = MappingProxyType({"2D-1": 0.2, "2D-2": 1.0, "2D-3": 1.0, "3D-1Z": 0.2})


@dataclass(frozen=True)
class Number:
    """One result."""

    value: float | None  # converged value; None where none is known
    interval: tuple[float, float] | None = None  # of the benchmark of 1996; None where it has none
    # which of the two was not read in any source, only remembered: ``"value"``, ``"interval"``
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
# The inflow of 2D-3 is the sine of half a period; its coefficients refer to the largest mean velocity.
BEAT_S, DRAG_AT_S, LIFT_AT_S = 8.0, 3.93625, 5.693125
BEATING_2D = MappingProxyType(
    {
        "largest_drag": Number(2.950921575, (2.93, 2.97), MEMORY),
        "largest_lift": Number(0.47795, (0.47, 0.49), MEMORY),
        "pressure_difference_pa": Number(-0.1116, (-0.115, -0.105), MEMORY),
    }
)
STEADY_3D = MappingProxyType(
    {
        "drag": Number(6.18533, (6.05, 6.25), MEMORY),
        "lift": Number(0.009401, (0.008, 0.010), MEMORY),
        "pressure_difference_pa": Number(0.1708, (0.165, 0.175), ("value", "interval")),
    }
)


def reynolds(case: str) -> float:
    """Reynolds number U_mean D / nu of ``"2D-1"``, ``"2D-2"``, ``"2D-3"`` or ``"3D-1Z"``."""
    return MEAN_VELOCITY_M_S[case] * DIAMETER_M / VISCOSITY_M2_S
