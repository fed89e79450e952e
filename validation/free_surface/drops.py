"""Drops: their surface tension from the pressure at rest and from oscillations, and their angle on a wall.

Laplace: dp = 2 sigma / R. Rayleigh: the slowest oscillation of a drop without viscosity has omega_0^2 = 8 sigma / (rho
R^3), in a plane 6 sigma / (rho R^3); a small viscosity damps it at the rate 5 nu / R^2, 4 nu / R^2 in a plane (Lamb,
Hydrodynamics, section 355).

Vorticity that grows from the surface damps less and slows the oscillation, by a power 3/2 of the viscosity: drops
stretched at rest are compared with the initial value problem (Prosperetti, J. Fluid Mech. 100, 333 (1980)), derived
here again. With lengths over R and the Laplace variable s the velocity of the mode n is that of a potential r^n and of
a vortical part, the modified Bessel function of order n, in space of order n + 1/2 over r^(1/2), of lambda r, lambda^2
= s / nu. Vanishing shear stress at the surface gives the share of the vortical part, and the normal stress the
amplitude a(s) = (a_0 / s) E / (E + omega_0^2); E = s^2 without viscosity.

Drops stretched by a share e to 1 + e, in space to (1 + e)^2, swing slower by a share of 0.76 e^2, in space 2.0 e^2, of
their frequency: computed with potential flow from ellipses at rest (0.76, 0.74 at e = 0.02, 0.05; 2.03, 2.00 at 0.04,
0.08). As with waves e^2 is taken as its mean over the time of the fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, cos, pi, radians, sin, sqrt
from typing import NamedTuple

import numpy as np

from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.physics.free_surface.cells import CELL, is_liquid
from muphy_lb.physics.free_surface.filling import fill
from muphy_lb.physics.free_surface.start import Region, sphere_region
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, absolute, at_most, case, relative
from muphy_lb.validation.flows import on_box
from muphy_lb.validation.free_surface import liquids
from muphy_lb.validation.plot import Plot, Series

RADII, QUICK_RADII = (8, 16), (5,)
TENSION, LAPLACE_VISCOSITY, LAPLACE_STEPS, QUICK_LAPLACE_STEPS = 1e-3, 0.1, 6000, 120
RAYLEIGH_TENSION, RAYLEIGH_VISCOSITY, STRETCH = 1e-2, 0.01, 1.04
PERIODS, SAMPLES_PER_PERIOD = 2, 40
FLAT_RADII, FLAT_STRETCH, FLAT_RAYLEIGH, RAYLEIGH_DAMPING = (12, 24), 1.05, 0.04, 0.3
SLOWER = {2: 0.76, 3: 2.0}  # share of the frequency by which drops swing slower, over the square of their stretch
MODE = 2  # of the slowest oscillation
OFF_CENTRE = np.array([0.07, -0.13, 0.21])
LAPLACE, RAYLEIGH, SAME, SPURIOUS = 0.05, 0.05, 0.03, 1e-3


@case(
    "surface-drop",
    "Laplace: dp = 2 sigma / R; Rayleigh, Proc. R. Soc. 29, 71 (1879): omega^2 = 8 sigma / (rho R^3), with viscosity:"
    " Prosperetti, J. Fluid Mech. 100, 333 (1980), derived again",
)
def surface_drop(settings: Settings) -> Iterator:
    """Surface tension from the pressure in a drop, and from its oscillation."""
    liquids.refuse(settings)
    for radius in QUICK_RADII if settings.quick else RADII:
        # (surface tension from the pressure in a drop at rest over the prescribed one, largest velocity).
        simulation = drop(radius, 1.0, TENSION, LAPLACE_VISCOSITY, settings)
        simulation.step(QUICK_LAPLACE_STEPS if settings.quick else LAPLACE_STEPS)
        of_drop = liquids.mass(simulation)
        place = whole_nodes(simulation).coordinates()
        far = np.linalg.norm(place - of_drop @ place / of_drop.sum(), axis=1)
        within = is_liquid(on_root(simulation.model_field(CELL))) & (far < 0.5 * radius)
        excess = float(on_root(simulation.density())[within].astype(float).mean()) - 1.0
        true_radius = (3.0 * of_drop.sum() / (1.0 + excess) / (4.0 * pi)) ** (1.0 / 3.0)
        tension, velocity = excess / 3.0 * true_radius / (2.0 * TENSION), liquids.speed(simulation)
        what = f"R = {radius}: "
        yield relative(f"{what}dp R / 2 sigma (Laplace)", 1.0, tension, LAPLACE)
        yield at_most(f"{what}largest velocity of the drop at rest", SPURIOUS, velocity)
        if not settings.quick:
            found, damping, theory, plot = by_rayleigh(radius, settings)
            yield relative(f"{what}omega^2 rho R^3 / 8 sigma (Rayleigh, viscous)", theory[0], found, RAYLEIGH)
            by_oscillation = found / theory[0] / tension
            yield relative(f"{what}sigma by oscillation over sigma by pressure", 1.0, by_oscillation, SAME)
            yield relative(f"{what}damping over 5 nu / R^2", theory[1], damping, RAYLEIGH_DAMPING)
            yield plot
    for radius in () if settings.quick else FLAT_RADII:
        found, damping, theory, plot = by_rayleigh(radius, settings, "D2Q9")
        what = f"R = {radius}, 2-D: "
        yield relative(f"{what}omega^2 rho R^3 / 6 sigma (Rayleigh, viscous)", theory[0], found, FLAT_RAYLEIGH)
        yield relative(f"{what}damping over 4 nu / R^2", theory[1], damping, RAYLEIGH_DAMPING)
        yield plot
    if settings.quick:
        yield "quick: the oscillation takes minutes"


@dataclass(frozen=True)
class Ellipsoid(Region):
    """An ellipsoid of three half axes (3,)."""

    centre: np.ndarray
    axes: np.ndarray

    def distance(self, place):
        """Distance from the surface, to first order in it."""
        scaled = (place - self.centre) / self.axes
        length = np.maximum(np.linalg.norm(scaled, axis=1), 1e-12)
        return (length - 1.0) * length / np.maximum(np.linalg.norm(scaled / self.axes, axis=1), 1e-12)


def drop(
    radius: float, stretch: float, tension: float, viscosity: float, settings: Settings, name: str = "D3Q19"
) -> Solver:
    """A drop of a radius, stretched along x at the same volume, with the pressure that it would have as a sphere, or
    as a circle on the lattice D2Q9."""
    if name == "D2Q9":
        edge = ceil(2.0 * radius * stretch) + 8
        geometry = {"shape": liquids.TANK, "options": {"length": edge, "height": edge}}
        simulation = liquids.liquid_flow(settings, geometry, viscosity, tension=tension)
        centre, axes = 0.5 * (edge - 1.0) + OFF_CENTRE, radius * np.array([stretch, 1.0 / stretch, 1e6])
        circle = Ellipsoid(np.zeros(3), np.array([*centre[:2], 0.0]), axes)
        liquids.fill_with(simulation, circle, lambda place: np.full(len(place), 3.0 * tension / radius))
        return simulation
    edge = ceil(2.0 * radius * max(1.0, stretch**2)) + 6
    centre = 0.5 * (edge - 1.0) + OFF_CENTRE
    geometry = {"shape": liquids.TANK, "options": {"length": edge, "height": edge, "width": edge}}
    simulation = liquids.liquid_flow(settings, geometry, viscosity, tension=tension, lattice={"name": name})
    axes = radius * np.array([stretch**2, 1.0 / stretch, 1.0 / stretch])
    pressure = 6.0 * tension / radius
    liquids.fill_with(simulation, Ellipsoid(np.zeros(3), centre, axes), lambda place: np.full(len(place), pressure))
    return simulation


class Oscillation(NamedTuple):
    """The slowest oscillation of a drop of small amplitude, stretched at rest at the start."""

    radius: float
    dimension: int  # 2 in a plane, 3 in space
    tension: float = RAYLEIGH_TENSION
    viscosity: float = RAYLEIGH_VISCOSITY

    @property
    def frequency(self) -> float:
        """Angular frequency without viscosity."""
        return sqrt((6.0 if self.dimension == 2 else 8.0) * self.tension / self.radius**3)

    @property
    def damping(self) -> float:
        """Rate of decay of a drop of small viscosity."""
        return (4.0 if self.dimension == 2 else 5.0) * self.viscosity / self.radius**2

    def amplitudes(self, time: np.ndarray) -> np.ndarray:
        """(n,) amplitude over that of the start at times (n,) > 0."""
        return liquids.from_laplace(self.transform, time)

    def transform(self, s: np.ndarray) -> np.ndarray:
        """Laplace transform of the amplitude over that of the start."""
        from scipy.special import ive

        n, half, nu = MODE, 0.5 * (self.dimension - 2), self.viscosity / self.radius**2
        square, order = s / nu, n + half
        root = np.sqrt(square)
        slope = 0.5 * root * (ive(order - 1, root) + ive(order + 1, root)) / ive(order, root) - half
        # The radial velocity of the vortical part, over that of the potential.
        if self.dimension == 2:
            vortical = -2.0 * n * (n - 1) / (square + 2.0 * n * n - 2.0 * slope)
        else:
            vortical = -2.0 * (n * n - 1) / (square + 2.0 * n * (n + 1) - 2.0 - 2.0 * slope)
        of_stress = s * (s + 2.0 * nu * (n * (n - 1) + n * vortical * (slope - 1.0))) / (1.0 + vortical)
        return of_stress / (s * (of_stress + self.frequency**2))


def by_rayleigh(
    radius: int, settings: Settings, name: str = "D3Q19", stretch: float | None = None
) -> tuple[float, float, tuple[float, float], Plot]:
    """(surface tension from the oscillation over the prescribed one, damping over 5 nu / R^2, in two dimensions over
    4 nu / R^2, both of the theory of viscous drops fitted at the same times, amplitude over time)."""
    wave = Oscillation(radius, 2 if name == "D2Q9" else 3)
    stretch = stretch or (FLAT_STRETCH if name == "D2Q9" else STRETCH)
    simulation = drop(radius, stretch, wave.tension, wave.viscosity, settings, name)
    place, interval = (
        whole_nodes(simulation).coordinates(),
        max(1, round(2.0 * pi / wave.frequency / SAMPLES_PER_PERIOD)),
    )
    found = [elongation(liquids.mass(simulation), place)]
    for _ in range(PERIODS * SAMPLES_PER_PERIOD):
        simulation.step(interval)
        found.append(elongation(liquids.mass(simulation), place))
    time = interval * np.arange(float(len(found)))
    exact = np.concatenate(([1.0], wave.amplitudes(time[1:])))
    fits = [liquids.damped_oscillation(time, each, wave.frequency, wave.damping) for each in (np.array(found), exact)]
    (omega, damping), (linear, decay) = (
        (liquids.natural_frequency(*each) / wave.frequency, each[1] / wave.damping) for each in fits
    )
    slower = SLOWER[wave.dimension] * (stretch - 1.0) ** 2 * 2.0 * float((exact**2).mean())
    periods = time * wave.frequency / (2.0 * pi)
    lines = Series("viscous drop", periods, found[0] * exact), Series("computed", periods, found, "points")
    plot = Plot(f"Oscillating drop, R = {radius}", "periods", "difference of the moments of inertia over m R^2", lines)
    return omega**2, damping, ((linear * (1.0 - slower)) ** 2, decay), plot


def elongation(of_drop: np.ndarray, place: np.ndarray) -> float:
    """Mean square extent along x less that across, in squares of the radius of a sphere of the same mass."""
    total = of_drop.sum()
    x, y, z = (of_drop @ (place - of_drop @ place / total) ** 2) / total
    return float((x - 0.5 * (y + z)) / (3.0 * total / (4.0 * pi)) ** (2.0 / 3.0))


CONTACT_TENSION, QUICK_TENSION, VISCOSITY = 0.01, 0.03, 1 / 6
RADIUS, QUICK_RADIUS = 20.0, 6.0
DROPS, QUICK_DROPS = ((45.0, 90.0), (90.0, 60.0), (135.0, 90.0), (135.0, 160.0)), ((75.0, 90.0),)
"""Contact angle, and angle at which the drop starts [degrees]."""
PARTS, QUICK_PARTS = 6, 2
STEPS, QUICK_STEPS = 4000, 200  # parts of the run after each of which the angle is measured, and steps of each
BESIDE_WALL = 2  # layers of voxels at the wall that the circle is not fitted to
TOLERANCE, CONTACT_SPURIOUS, MASS = 4.0, 1e-2, 1e-6


@case(
    "surface-contact",
    "a drop without weight is the part of a circle that meets the wall at the contact angle (Young's law)",
)
def surface_contact(settings: Settings) -> Iterator:
    """Drops that start with another contact angle than that of the wall."""
    liquids.refuse(settings)
    lines, (parts, steps) = [], (QUICK_PARTS, QUICK_STEPS) if settings.quick else (PARTS, STEPS)
    for angle, start in QUICK_DROPS if settings.quick else DROPS:
        simulation, found = drop_on_wall(angle, start, settings), [start]
        before = liquids.mass(simulation).sum()
        for _ in range(parts):
            simulation.step(steps)
            found.append(contact_angle(simulation))
        what = f"{angle:g} degrees, from {start:g}: "
        yield absolute(f"{what}contact angle of the drop at rest [degrees]", angle, found[-1], TOLERANCE)
        yield at_most(f"{what}largest velocity", CONTACT_SPURIOUS, liquids.speed(simulation))
        yield absolute(f"{what}relative change of mass", 0.0, liquids.mass(simulation).sum() / before - 1.0, MASS)
        lines.append(Series(f"{angle:g} from {start:g}", np.arange(float(len(found))), np.array(found), "points"))
    yield Plot("Drops on a wall", "part of the run", "contact angle", tuple(lines))


def drop_on_wall(angle: float | None, start: float, settings: Settings) -> Solver:
    """A two-dimensional drop on the floor, of the area of a half circle, that starts with another contact angle than
    that of the wall; ``None`` for a wall without one."""
    radius, tension = (QUICK_RADIUS, QUICK_TENSION) if settings.quick else (RADIUS, CONTACT_TENSION)
    length, height = round(4.0 * radius) + 1, round(1.8 * radius)
    geometry = {"shape": liquids.TANK, "options": {"length": length, "height": height}}
    surface = {} if angle is None else {"contact_angle_deg": angle}
    simulation = liquids.liquid_flow(settings, geometry, VISCOSITY, tension=tension, surface=surface)
    # The circle that meets the floor at an angle and has the area of a half circle of a radius above it.
    middle = 0.5 * length - 0.7
    theta = radians(start)
    own = radius * sqrt(0.5 * pi / (theta - sin(theta) * cos(theta)))
    drop = sphere_region(np.zeros(3), np.array([middle, -0.5 - own * cos(theta), 0.0]), own)
    liquids.fill_with(simulation, drop, lambda place: np.full(len(place), 3.0 * tension / drop.radii[0]))
    return simulation


def contact_angle(simulation: Solver) -> float:
    """Angle [degrees] at which the circle that fits the surface best meets the floor."""
    place = _surface(on_box(simulation, on_root(fill(simulation)).astype(float))[0])
    terms = np.column_stack([2.0 * place, np.ones(len(place))])
    x, y, rest = np.linalg.lstsq(terms, (place**2).sum(axis=1), rcond=None)[0]
    return float(np.degrees(np.arccos(np.clip(-(y + 0.5) / sqrt(rest + x * x + y * y), -1.0, 1.0))))


def _surface(share: np.ndarray) -> np.ndarray:
    """(m, 2) points (x, y) between two neighbours where the share (ny, nx) of liquid is a half, away from the floor."""
    found = []
    for axis in (0, 1):
        ahead = np.moveaxis(share, axis, 0)[1:] - 0.5
        behind = np.moveaxis(share, axis, 0)[:-1] - 0.5
        along, across = np.nonzero(ahead * behind < 0.0)
        position = along + behind[along, across] / (behind[along, across] - ahead[along, across])
        found.append(np.column_stack((across, position) if axis == 0 else (position, across)))
    points = np.concatenate(found)
    return points[points[:, 1] >= BESIDE_WALL]
