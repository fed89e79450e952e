"""Diffusion of tracers between impermeable spheres, after Maxwell."""

from collections.abc import Iterator

from muphy_lb.validation.case import Settings, case, relative
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.particles.tracers import growth_rates, tracers

FRACTIONS, QUICK_FRACTIONS = (0.05, 0.1, 0.2), (0.2,)
SIZE, QUICK_SIZE = 48, 12
COUNT, QUICK_COUNT = 1_000_000, 4000
TOLERANCE, QUICK_TOLERANCE = 0.01, 0.06
DIFFUSIVITY, VISCOSITY = 0.08, 1.0 / 6.0
SETTLING, MEASURED = 0.25, 0.5
"""Durations in size^2 / D; the slowest part decays as exp(-4 pi^2 D t / size^2)."""


@case(
    "tracer-obstruction",
    "2 (1 - c) / (2 + c) for spheres of volume fraction c: Maxwell, A Treatise on Electricity and Magnetism (1873),"
    " art. 314; in a simple cubic array the next term is of the order c^(10/3) (Rayleigh, Phil. Mag. 34, 481 (1892)):"
    " below 0.1 % for c up to 0.2",
)
def obstructed_diffusion(settings: Settings) -> Iterator:
    """Growth of the variance of tracers that start evenly spread in a resting fluid between spheres."""
    size, count, allowed = SIZE, COUNT, TOLERANCE
    if settings.quick:
        size, count, allowed = QUICK_SIZE, QUICK_COUNT, QUICK_TOLERANCE
    for asked in QUICK_FRACTIONS if settings.quick else FRACTIONS:
        geometry = {"shape": "sphere_array", "options": {"size": size, "solid_fraction": asked}}
        tables = {"lattice": {"name": "D3Q19"}, "particles": [tracers(count, DIFFUSIVITY)]}
        simulation = lattice_simulation(settings, geometry, VISCOSITY, **tables)
        simulation.step(round(SETTLING * size**2 / DIFFUSIVITY))
        _, dispersion = growth_rates(simulation, round(MEASURED * size**2 / DIFFUSIVITY))
        c = 1.0 - simulation.header.n_nodes / size**3
        computed = (1.0 - c) * dispersion.mean() / DIFFUSIVITY
        yield relative(f"c {c:.4g}: effective diffusivity over D", 2.0 * (1.0 - c) / (2.0 + c), computed, allowed)
