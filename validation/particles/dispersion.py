"""Dispersion of tracers in a tube, after Taylor and Aris."""

from collections.abc import Iterator
from math import pi, sqrt

from muphy_lb.measure.flow_view import on_root
from muphy_lb.validation.case import Settings, case, relative
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.particles.tracers import growth_rates, tracers

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


@case(
    "tracer-dispersion",
    "D_eff = D (1 + Pe^2 / 48), Pe = U a / D, in a tube of radius a: Taylor, Proc. R. Soc. A 219, 186 (1953); Aris,"
    " Proc. R. Soc. A 235, 67 (1956)",
)
def taylor_aris(settings: Settings) -> Iterator:
    """Growth of the variance of tracers that start evenly spread in a tube."""
    asked, count, allowed = RADIUS, COUNT, TOLERANCE
    if settings.quick:
        asked, count, allowed = QUICK_RADIUS, QUICK_COUNT, QUICK_TOLERANCE
    for peclet in QUICK_PECLET if settings.quick else PECLET:
        speed = min(FASTEST, MOST_DIFFUSIVE * peclet / asked)
        diffusivity = speed * asked / peclet
        start = round(VISCOUS_TIMES * asked**2 / VISCOSITY)
        geometry = {"shape": "pipe", "options": {"radius": asked, "length": LENGTH, "axis": "x"}}
        tables = {
            "lattice": {"name": "D3Q19"},
            "flow": {"acceleration_m_s2": [8.0 * VISCOSITY * speed / asked**2, 0.0, 0.0]},
            "particles": [tracers(count, diffusivity, start_s=float(start))],
        }
        simulation = lattice_simulation(settings, geometry, VISCOSITY, **tables)
        radius = sqrt(simulation.header.n_nodes / LENGTH / pi)
        simulation.step(start + round(SETTLING * radius**2 / diffusivity))
        velocity, dispersion = growth_rates(simulation, round(MEASURED * radius**2 / diffusivity))
        mean = float(on_root(simulation.velocity_m_s())[:, 0].mean())
        predicted = diffusivity * (1.0 + (mean * radius / diffusivity) ** 2 / 48.0)
        name = f"Pe {mean * radius / diffusivity:.4g}"
        yield relative(f"{name}: mean velocity of tracers", mean, velocity[0], allowed)
        what, found = f"{name}: dispersion coefficient over D", dispersion[0] / diffusivity
        yield relative(what, predicted / diffusivity, found, allowed)
