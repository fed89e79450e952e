"""How a collision changes the viscosity of what a fast stream carries along.

In a stream of velocity u the viscosity that damps a wave of wave number k is not nu: on sets of one or two populations
along an axis it is smaller by 3 u^2 for all collisions but those in the frame of the fluid, and collisions that relax
odd moments with a rate s of their own change it besides by

    u^2 k^2 (1/s - 1/2) / (24 nu)

(lattice units), up for shear along the stream, down for shear across it. It was measured with decaying shear waves in
uniform streams: to a tenth as long as it is small; near 1 it falls behind. With Lambda = (1/s - 1/2) 3 nu it is 1/10 of
the square of u / (nu n), n the wavelength in voxels, for the usual Lambda of 3/16.
"""

import math
from collections.abc import Iterator

from muphy_lb.case.case import Case
from muphy_lb.lattice.bases import BASES
from muphy_lb.operators import MRT, STOKES, TRT
from muphy_lb.operators.mrt import DEFAULT_RATES, MAGIC_HALF_WAY
from muphy_lb.operators.trt import odd_rate
from muphy_lb.setup.advice.stability import collision_for_small_viscosity
from muphy_lb.setup.numerics import Numerics

EDDY = 16
"""Size [voxels] of the vortices for which it is told."""

LARGEST_ERROR = 0.05

FLUX = "energy_flux"
"""The odd family of mrt that counts, on sets that have it."""


def viscosity_error(rate: float, viscosity: float, speed: float, wavelength: float) -> float:
    """Relative change of the viscosity of a shear wave by the rate of the odd moments; lattice units.

    Args:
        rate: of the odd moments.
        viscosity: of the fluid.
        speed: of the stream [voxels a step].
        wavelength: of the wave [voxels].
    """
    wave_number = 2.0 * math.pi / wavelength
    return (speed * wave_number) ** 2 * (1.0 / rate - 0.5) / (24.0 * viscosity)


def rate_of_odd_moments(case: Case, relaxation_time: float) -> float | None:
    """The rate of the odd moments of a collision that has one of its own; None of others."""
    section = case.lattice
    magic = MAGIC_HALF_WAY if section.magic is None else section.magic
    by_magic = odd_rate(1.0 / relaxation_time, magic)
    if section.collision == TRT.name:
        return by_magic
    if section.collision != MRT.name:
        return None
    rates = (DEFAULT_RATES[section.name] if section.magic is None else {}) | section.rates
    rate = rates.get(FLUX, "magic") if FLUX in BASES[section.name].families else "magic"
    return {"magic": by_magic, "viscosity": 1.0 / relaxation_time}.get(rate, rate)


def stream_warnings(case: Case, numerics: Numerics) -> Iterator[str]:
    """A warning where the fastest flow of a case changes the viscosity of vortices that it carries along."""
    section, nu = case.lattice, numerics.viscosity_lattice
    rate = rate_of_odd_moments(case, numerics.relaxation_time)
    if rate is None or numerics.cell_reynolds is None or section.equilibrium == STOKES.name or section.smagorinsky:
        return
    speed = numerics.cell_reynolds * nu
    error = viscosity_error(rate, nu, speed, EDDY)
    if error > LARGEST_ERROR:
        by = f"by about {100.0 * error:.2g} %" if error < 0.5 else "by half or more"
        yield (
            f"the flow is fast beside its viscosity: where it has the largest velocity, {speed:.2g} voxels a step,"
            f" {section.collision} changes the viscosity of vortices of {EDDY} voxels {by}; set lattice.collision ="
            f" {collision_for_small_viscosity(section.name, section.equilibrium)!r}, or finer voxels"
        )
