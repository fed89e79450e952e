"""A drop on a wall comes to rest as the part of a circle that meets the wall at the contact angle."""

from collections.abc import Iterator
from math import cos, pi, radians, sin, sqrt

import numpy as np

from muphy_lb.measure.flow_view import on_root
from muphy_lb.physics.free_surface.filling import fill
from muphy_lb.physics.free_surface.regions import SpheresRegion, sphere_region
from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.case import Settings, absolute, at_most, case
from muphy_lb.validation.fields import on_box
from muphy_lb.validation.free_surface.liquids import TANK, fill_with, liquid_flow, mass, refuse, speed
from muphy_lb.validation.plot import Plot, Series

TENSION, QUICK_TENSION, VISCOSITY = 0.01, 0.03, 1 / 6
RADIUS, QUICK_RADIUS = 20.0, 6.0
DROPS, QUICK_DROPS = ((45.0, 90.0), (90.0, 60.0), (135.0, 90.0), (135.0, 160.0)), ((75.0, 90.0),)
"""Contact angle, and angle at which the drop starts [degrees]."""
PARTS, QUICK_PARTS = 6, 2
STEPS, QUICK_STEPS = 4000, 200
"""Parts of the run after each of which the angle is measured, and steps of each."""
BESIDE_WALL = 2
"""Layers of voxels at the wall that the circle is not fitted to."""
TOLERANCE, SPURIOUS, MASS = 4.0, 1e-2, 1e-6


@case(
    "surface-contact",
    "a drop without weight is the part of a circle that meets the wall at the contact angle (Young's law)",
)
def surface_contact(settings: Settings) -> Iterator:
    """Drops that start with another contact angle than that of the wall."""
    refuse(settings)
    lines, (parts, steps) = [], (QUICK_PARTS, QUICK_STEPS) if settings.quick else (PARTS, STEPS)
    for angle, start in QUICK_DROPS if settings.quick else DROPS:
        simulation, found = drop_on_wall(angle, start, settings), [start]
        before = mass(simulation).sum()
        for _ in range(parts):
            simulation.step(steps)
            found.append(contact_angle(simulation))
        what = f"{angle:g} degrees, from {start:g}: "
        yield absolute(f"{what}contact angle of the drop at rest [degrees]", angle, found[-1], TOLERANCE)
        yield at_most(f"{what}largest velocity", SPURIOUS, speed(simulation))
        yield absolute(f"{what}relative change of mass", 0.0, mass(simulation).sum() / before - 1.0, MASS)
        lines.append(Series(f"{angle:g} from {start:g}", np.arange(float(len(found))), np.array(found), "points"))
    yield Plot("Drops on a wall", "part of the run", "contact angle", tuple(lines))


def drop_on_wall(angle: float | None, start: float, settings: Settings) -> Simulation:
    """A two-dimensional drop on the floor, of the area of a half circle, that starts with another contact angle than
    that of the wall; ``None`` for a wall without one."""
    radius, tension = (QUICK_RADIUS, QUICK_TENSION) if settings.quick else (RADIUS, TENSION)
    length, height = round(4.0 * radius) + 1, round(1.8 * radius)
    geometry = {"shape": TANK, "options": {"length": length, "height": height}}
    surface = {} if angle is None else {"contact_angle_deg": angle}
    simulation = liquid_flow(settings, geometry, VISCOSITY, tension=tension, surface=surface)
    drop = _part_of_circle(start, radius, 0.5 * length - 0.7)
    fill_with(simulation, drop, lambda place: np.full(len(place), 3.0 * tension / drop.radii[0]))
    return simulation


def _part_of_circle(angle: float, radius: float, middle: float) -> SpheresRegion:
    """The circle that meets the floor at an angle and has the area of a half circle of a radius above it."""
    theta = radians(angle)
    own = radius * sqrt(0.5 * pi / (theta - sin(theta) * cos(theta)))
    return sphere_region(np.zeros(3), np.array([middle, -0.5 - own * cos(theta), 0.0]), own)


def contact_angle(simulation: Simulation) -> float:
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
