"""Indices of the wall shear stress in a pipe whose flow swings through zero, beside their closed forms.

A force f (m + cos(omega t)) drives it. The wall shear stress is f R / 2 (m + |s| cos(omega t + arg s)), s the factor of
Womersley's solution. With m = |s| / 2 it is that of 1/2 + cos, whose indices are

    TAWSS = 2/pi (a asin(a) + sqrt(1 - a^2)) |s| f R / 2,  OSI = (1 - a |s| f R / 2 / TAWSS) / 2 = 0.15181,  a = 1/2
"""

from dataclasses import dataclass
from math import asin, inf, pi, sqrt

import numpy as np

from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.measure.period_window import PeriodWindow
from muphy_lb.measure.wall_indices import WallIndices, along_wall, tangents, wall_indices
from muphy_lb.measure.wall_shear import WallShear
from muphy_lb.validation.flows import lattice_simulation, start_from_velocity
from muphy_lb.validation.limits import left_out_rules, possible_rules
from muphy_lb.validation.record import Row, Validation, absolute, relative
from muphy_lb.validation.references.poiseuille import pipe_velocity
from muphy_lb.validation.references.womersley import PipeWomersley
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = "Womersley, J. Physiol. 127, 553 (1955); He, Ku, J. Biomech. Eng. 118, 74 (1996); closed form of 1/2 + cos"
MEAN_OF_SWING = 0.5
SWING = 2.0 / pi * (MEAN_OF_SWING * asin(MEAN_OF_SWING) + sqrt(1.0 - MEAN_OF_SWING**2))
OSI = 0.5 * (1.0 - MEAN_OF_SWING / SWING)
VISCOSITY, VELOCITY, SAMPLES = 0.05, 0.01, 40
NUMBERS, QUICK_NUMBERS = (4.0, 8.0, 12.0), (4.0,)
RADIUS_OF_NUMBER = 5.0  # voxels: the wall's layer sqrt(2 nu / omega) = sqrt(2) R / alpha then has seven of them
RULES, QUICK_RULES = ("central-linear", "bouzidi", HALF_WAY), ("central-linear",)
TOLERANCE = 0.03
OSI_TOLERANCE = 0.03 * OSI


@dataclass(frozen=True)
class PipeIndices:
    """Indices at the wall nodes of a pipe, stresses over TAWSS of the closed form."""

    found: WallIndices  # the indices; stresses are over that of the closed form, what is one over a stress times it
    mean_tawss: float  # mean_tawss, mean_osi: their means over the wall, by area
    mean_osi: float


def wall_indices_of_a_pipe(settings: Settings = DEFAULT) -> Validation:
    """TAWSS, OSI and transverse stress of a pipe for several Womersley numbers and rules of walls."""
    rules = QUICK_RULES if settings.quick else RULES
    rows: list[Row] = []
    for rule in possible_rules(rules, settings):
        for number in QUICK_NUMBERS if settings.quick else NUMBERS:
            radius = RADIUS_OF_NUMBER * number
            rows += _rows(pipe_indices(number, radius, rule, settings), number, radius, rule)
    return Validation("wall-indices", CITATION, tuple(rows), left_out=left_out_rules(rules, settings))


def pipe_indices(number: float, radius: float, rule: str, settings: Settings = DEFAULT) -> PipeIndices:
    """The indices over the period after the first one. ``number``: Womersley number; ``radius``: [voxels]; ``rule``:
    ``lattice.walls`` of a case."""
    frequency = number**2 * VISCOSITY / radius**2
    force = VELOCITY * frequency
    flow = PipeWomersley(radius, VISCOSITY, force, frequency)
    mean, period = MEAN_OF_SWING * abs(flow.stress_factor()), 2.0 * pi / frequency
    drive = {"acceleration_m_s2": [0.0, 0.0, force], "waveform": {"period_s": period, "mean": mean, "cosine": [1.0]}}
    geometry = {"shape": "pipe", "options": {"length": 1, "radius": radius}}
    lattice = {"name": "D3Q19", "walls": rule, "equilibrium": "stokes"}
    simulation = lattice_simulation(settings, geometry, VISCOSITY, lattice=lattice, flow=drive)
    x, y, _ = (simulation.nodes.coordinates() - 0.5 * (np.array(simulation.nodes.shape[::-1]) - 1.0)).T
    r = np.minimum(np.hypot(x, y), radius)
    along = flow.velocity(r, 0.0) + mean * pipe_velocity(r, radius, force, VISCOSITY)
    start_from_velocity(simulation, np.outer(along, (0.0, 0.0, 1.0)))
    shear, window = WallShear(simulation), PeriodWindow(period, SAMPLES)
    directions = tangents(shear.surface.normal)
    while simulation.step_number < 2.0 * period:
        simulation.step(window.every)
        if simulation.step_number > period:
            window.add(simulation.step_number, along_wall(shear.traction_pa(), directions))
    return _relative(wall_indices(window), SWING * abs(flow.stress_factor()) * force * radius / 2.0, shear.areas.area)


def _relative(found: WallIndices, tawss: float, area: np.ndarray) -> PipeIndices:
    scaled = WallIndices(found.tawss / tawss, found.osi, found.rrt * tawss, found.ecap * tawss, found.transwss / tawss)
    return PipeIndices(
        scaled, float(np.average(scaled.tawss, weights=area)), float(np.average(found.osi, weights=area))
    )


def _rows(indices: PipeIndices, number: float, radius: float, rule: str) -> list[Row]:
    """The means over the wall are judged for interpolated walls; with half-way walls they do not converge."""
    where = f"alpha = {number:g}, R = {radius:g}, {rule}"
    is_judged = rule != HALF_WAY
    scatter = float(np.abs(indices.found.tawss - indices.mean_tawss).max())
    return [
        relative(f"TAWSS, {where}", 1.0, indices.mean_tawss, TOLERANCE if is_judged else inf),
        absolute(f"OSI, {where}", OSI, indices.mean_osi, OSI_TOLERANCE if is_judged else inf),
        absolute(f"largest transWSS / TAWSS, {where}", 0.0, float(indices.found.transwss.max()), inf),
        absolute(f"largest deviation of a node's TAWSS, {where}", 0.0, scatter, inf),
    ]
