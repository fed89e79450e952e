"""Mean residence time of tracers: volume over flow rate, whatever the flow is like."""

from collections.abc import Iterator

import numpy as np

from muphy_lb.measure.flow_view import on_root
from muphy_lb.physics.particles.tracers.walk import BORN, END, END_STEP, UNDER_WAY
from muphy_lb.validation.case import Row, Settings, case, relative
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.particles.tracers import NAME, growth_rates, statistics, tracers

RADIUS, QUICK_RADIUS = 10.5, 4.5
PIPE_LENGTH, QUICK_PIPE_LENGTH = 60, 14
SPEED, VISCOSITY = 0.02, 0.05
PIPE_DIFFUSIVITY = 0.05
"""The mean flow comes as far as diffusion in 5 voxels: what left by diffusion at the ends would be 4 % of V / Q."""
OBSERVED = 4.0
"""Time for which the pipe is observed, in volume over flow rate."""
PACK_SIZE, QUICK_PACK_SIZE = 64, 16
PACK_RADIUS, QUICK_PACK_RADIUS = 10.0, 4.0
POROSITY, PACK_FORCE, PACK_DIFFUSIVITY = 0.5, 1e-4, 2e-3
PACK_SPIN_UP, PACK_STEPS, QUICK_PACK_STEPS = 2000, 30_000, 1000
COUNT, QUICK_COUNT = 400_000, 1500
TOLERANCE, QUICK_TOLERANCE = 0.005, 0.06
EVERYWHERE = "everywhere"


@case(
    "tracer-residence",
    "mean residence time = volume / flow rate, exact for any steady flow with one inlet: Danckwerts, Chem. Eng. Sci. 2,"
    " 1 (1953)",
)
def residence_time(settings: Settings) -> Iterator:
    """Tracers in a pipe from its inlet to its outlet, with diffusion and without, and across a periodic rock."""
    yield _pipe(settings, "pipe", 0.0)
    yield _pipe(settings, "pipe with diffusion", PIPE_DIFFUSIVITY)
    yield _rock(settings)


def _pipe(settings: Settings, name: str, diffusivity: float) -> Row:
    """Tracers that enter with the flow. Near walls they stay so long that the mean is never complete; but as many of
    those that were evenly spread at the start are still there at a time as of the volume is yet to be counted: V / Q is
    the mean of the residence times, cut off at that time, over the share of the volume that was left until then."""
    radius, length, count = RADIUS, PIPE_LENGTH, COUNT
    if settings.quick:
        radius, length, count = QUICK_RADIUS, QUICK_PIPE_LENGTH, QUICK_COUNT
    start = 8 * length**2
    options = {"radius": radius, "length": length, "axis": "x", "ends": "open"}
    inlet = {"name": "inlet", "velocity_m_s": SPEED, "profile": "parabolic"}
    tables = {
        "lattice": {"name": "D3Q19"},
        "openings": [inlet, {"name": "outlet", "pressure_pa": 0.0}],
        "particles": [
            tracers(count, diffusivity, opening="inlet", start_s=float(start)),
            tracers(count, diffusivity, name=EVERYWHERE, start_s=float(start)),
        ],
    }
    simulation = lattice_simulation(settings, {"shape": "pipe", "options": options}, VISCOSITY, **tables)
    duration = round(OBSERVED * length / SPEED)
    simulation.step(start + duration)
    entered = on_root(simulation.particles())[NAME]
    stay = np.where(entered[END] == UNDER_WAY, duration, entered[END_STEP] - entered[BORN] - 0.5).mean()
    remaining = statistics(simulation, EVERYWHERE).under_way / count
    # Mass in the fluid over mass flow rate, which is the same along the pipe although the density is not.
    inflow = on_root(simulation.openings())["inlet"].flow_rate_m3_s
    expected, found = float(on_root(simulation.density()).sum()) / inflow, stay / (1.0 - remaining)
    return relative(f"{name}: V / Q [time steps]", expected, found, QUICK_TOLERANCE if settings.quick else TOLERANCE)


def _rock(settings: Settings) -> Row:
    """Tracers that cross a periodic pack of spheres again and again."""
    size, radius, steps, count = PACK_SIZE, PACK_RADIUS, PACK_STEPS, COUNT
    if settings.quick:
        size, radius, steps, count = QUICK_PACK_SIZE, QUICK_PACK_RADIUS, QUICK_PACK_STEPS, QUICK_COUNT
    options = {"size": size, "radius": radius, "porosity": POROSITY}
    tables = {
        "lattice": {"name": "D3Q19"},
        "flow": {"acceleration_m_s2": [PACK_FORCE * (PACK_RADIUS / radius) ** 2, 0.0, 0.0]},
        "particles": [tracers(count, PACK_DIFFUSIVITY, start_s=float(PACK_SPIN_UP))],
    }
    geometry = {"shape": "sphere_pack", "periodic": ["x", "y", "z"], "options": options}
    simulation = lattice_simulation(settings, geometry, VISCOSITY, **tables)
    simulation.step(PACK_SPIN_UP + steps // 4)
    velocity, _ = growth_rates(simulation, steps)
    mean = float(on_root(simulation.velocity_m_s())[:, 0].mean())
    allowed = QUICK_TOLERANCE if settings.quick else TOLERANCE
    return relative("rock: V / Q of a period [time steps]", size / mean, size / velocity[0], allowed)
