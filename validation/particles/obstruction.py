"""Diffusion of tracers between impermeable spheres, after Maxwell."""

from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.particles.tracers import growth_rates, tracers
from muphy_lb.validation.record import Row, Validation, relative
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = (
    "2 (1 - c) / (2 + c) for spheres of volume fraction c: Maxwell, A Treatise on Electricity and Magnetism (1873),"
    " art. 314; in a simple cubic array the next term is of the order c^(10/3) (Rayleigh, Phil. Mag. 34, 481 (1892)):"
    " below 0.1 % for c up to 0.2"
)
FRACTIONS, QUICK_FRACTIONS = (0.05, 0.1, 0.2), (0.2,)
SIZE, QUICK_SIZE = 48, 12
COUNT, QUICK_COUNT = 1_000_000, 4000
TOLERANCE, QUICK_TOLERANCE = 0.01, 0.06
DIFFUSIVITY, VISCOSITY = 0.08, 1.0 / 6.0
SETTLING, MEASURED = 0.25, 0.5
"""Durations in size^2 / D; the slowest part decays as exp(-4 pi^2 D t / size^2)."""


def obstructed_diffusion(settings: Settings = DEFAULT) -> Validation:
    """Growth of the variance of tracers that start evenly spread in a resting fluid between spheres."""
    fractions = QUICK_FRACTIONS if settings.quick else FRACTIONS
    return Validation("tracer-obstruction", CITATION, tuple(_row(c, settings) for c in fractions))


def _row(asked: float, settings: Settings) -> Row:
    size, count, allowed = SIZE, COUNT, TOLERANCE
    if settings.quick:
        size, count, allowed = QUICK_SIZE, QUICK_COUNT, QUICK_TOLERANCE
    simulation = lattice_simulation(
        settings,
        {"shape": "sphere_array", "options": {"size": size, "solid_fraction": asked}},
        VISCOSITY,
        lattice={"name": "D3Q19"},
        particles=[tracers(count, DIFFUSIVITY)],
    )
    simulation.step(round(SETTLING * size**2 / DIFFUSIVITY))
    _, dispersion = growth_rates(simulation, round(MEASURED * size**2 / DIFFUSIVITY))
    c = 1.0 - simulation.header.n_nodes / size**3
    computed = (1.0 - c) * dispersion.mean() / DIFFUSIVITY
    return relative(f"c {c:.4g}: effective diffusivity over D", 2.0 * (1.0 - c) / (2.0 + c), computed, allowed)
