"""Dispersion of tracers in a tube, after Taylor and Aris."""

from math import pi, sqrt

from muphy_lb.measure.flow_view import on_root
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.particles.tracers import growth_rates, tracers
from muphy_lb.validation.record import Row, Validation, relative
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = (
    "D_eff = D (1 + Pe^2 / 48), Pe = U a / D, in a tube of radius a: Taylor, Proc. R. Soc. A 219, 186 (1953); Aris,"
    " Proc. R. Soc. A 235, 67 (1956)"
)
PECLET, QUICK_PECLET = (1.0, 10.0, 100.0), (10.0,)
RADIUS, QUICK_RADIUS = 20.5, 5.5
COUNT, QUICK_COUNT = 1_000_000, 8000
TOLERANCE, QUICK_TOLERANCE = 0.02, 0.12
LENGTH = 2
VISCOSITY = 1.0 / 6.0
FASTEST, MOST_DIFFUSIVE = 0.05, 0.05
"""Mean velocity of the flow and diffusivity, lattice units: at most so much of each."""
VISCOUS_TIMES = 1.0
"""Time in which the flow becomes steady, in a^2 / nu; the slowest part decays as exp(-5.8 nu t / a^2)."""
SETTLING, MEASURED = 0.5, 0.5
"""Durations in a^2 / D; the slowest part of the density decays as exp(-14.7 D t / a^2)."""


def taylor_aris(settings: Settings = DEFAULT) -> Validation:
    """Growth of the variance of tracers that start evenly spread in a tube."""
    peclet = QUICK_PECLET if settings.quick else PECLET
    rows = [row for number in peclet for row in _rows(number, settings)]
    return Validation("tracer-dispersion", CITATION, tuple(rows))


def _rows(peclet: float, settings: Settings) -> list[Row]:
    asked, count, allowed = RADIUS, COUNT, TOLERANCE
    if settings.quick:
        asked, count, allowed = QUICK_RADIUS, QUICK_COUNT, QUICK_TOLERANCE
    speed = min(FASTEST, MOST_DIFFUSIVE * peclet / asked)
    diffusivity = speed * asked / peclet
    start = round(VISCOUS_TIMES * asked**2 / VISCOSITY)
    simulation = lattice_simulation(
        settings,
        {"shape": "pipe", "options": {"radius": asked, "length": LENGTH, "axis": "x"}},
        VISCOSITY,
        lattice={"name": "D3Q19"},
        flow={"acceleration_m_s2": [8.0 * VISCOSITY * speed / asked**2, 0.0, 0.0]},
        particles=[tracers(count, diffusivity, start_s=float(start))],
    )
    radius = sqrt(simulation.header.n_nodes / LENGTH / pi)
    simulation.step(start + round(SETTLING * radius**2 / diffusivity))
    velocity, dispersion = growth_rates(simulation, round(MEASURED * radius**2 / diffusivity))
    mean = float(on_root(simulation.velocity_m_s())[:, 0].mean())
    predicted = diffusivity * (1.0 + (mean * radius / diffusivity) ** 2 / 48.0)
    name = f"Pe {mean * radius / diffusivity:.4g}"
    return [
        relative(f"{name}: mean velocity of tracers", mean, velocity[0], allowed),
        relative(
            f"{name}: dispersion coefficient over D", predicted / diffusivity, dispersion[0] / diffusivity, allowed
        ),
    ]
