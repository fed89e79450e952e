"""From the tables ``[[free_surface.liquid]]`` of the case to regions in voxels."""

from itertools import product
from math import sqrt

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import CS2
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.geometry.shapes.packings import read_spheres
from muphy_lb.physics.free_surface.regions import (
    BoxRegion,
    ImageRegion,
    LevelRegion,
    Region,
    SpheresRegion,
    sphere_region,
)
from muphy_lb.setup.initial import FASTEST_MACH
from muphy_lb.setup.input_fields import read_box_array


class LiquidRegions:
    """The regions of a case, in voxels from the centre of the first one.

    Args:
        case: the case.
        header: of the geometry.
        units: of the case.
        up: (3,) direction against gravity; None without gravity.
    """

    def __init__(self, case, header: GeometryHeader, units, up: np.ndarray | None):
        self._case, self._header, self._units, self._up = case, header, units, up
        self._origin, self._spacing = np.asarray(header.origin_m), header.spacing_m

    def all(self) -> list[Region]:
        """The regions in the order of the case.

        Raises:
            InputError: a file cannot be read, a level has no direction, or a region is too fast.
        """
        return [self._region(section) for section in self._case.free_surface.liquid]

    def fill_all(self) -> bool:
        """Whether a box or level holds the whole geometry, so that no gas is left."""
        corners = np.array([corner for corner in product(*zip(*self._ends(), strict=True))])
        convex = (region for region in self.all() if isinstance(region, BoxRegion | LevelRegion))
        return self.gas() is None and any((region.distance(corners) <= 0.0).all() for region in convex)

    def gas(self) -> Region | None:
        """What is gas in them."""
        bubbles = self._case.free_surface.bubbles
        spheres = bubbles.spheres if bubbles else ()
        if not spheres:
            return None
        centres, radii = np.array([each.centre_m for each in spheres]), np.array([each.radius_m for each in spheres])
        return SpheresRegion(np.zeros(3), self._voxels(centres), radii / self._spacing)

    def _region(self, section) -> Region:
        velocity = self._velocity(section)
        if section.box_m is not None:
            return self._box(velocity, *self._voxels(section.box_m))
        if section.centre_m is not None:
            return sphere_region(velocity, self._voxels(section.centre_m), section.radius_m / self._spacing)
        if section.spheres_file is not None:
            return self._spheres(section, velocity)
        if section.image_file is not None:
            return ImageRegion(velocity, self._shares(section.image_file))
        if self._up is None:
            raise InputError(
                "free_surface.liquid.level_m needs a direction: flow.acceleration_m_s2 is zero; give it, or a box_m"
            )
        level = (section.level_m - self._origin @ self._up) / self._spacing
        return LevelRegion(velocity, min(level, BoxRegion(velocity, *self._ends()).span(self._up)[1]), self._up)

    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of the geometry."""
        return np.full(3, -0.5), np.array(self._header.shape[::-1]) - 0.5

    def _box(self, velocity: np.ndarray, low: np.ndarray, high: np.ndarray) -> BoxRegion:
        """What a box has in common with the geometry, which decides how deep it is; without that, the box."""
        first, last = self._ends()
        if (low < last).all() and (high > first).all():
            low, high = np.maximum(low, first), np.minimum(high, last)
        return BoxRegion(velocity, low, high)

    def _velocity(self, section) -> np.ndarray:
        velocity = self._units.velocity_to_lattice(np.array(section.velocity_m_s))
        mach = float(np.linalg.norm(velocity)) / sqrt(CS2)
        if mach > FASTEST_MACH:
            longest_s = self._units.time_step_s * FASTEST_MACH / mach
            raise InputError(
                f"free_surface.liquid.velocity_m_s is {list(section.velocity_m_s)}, which is Mach number {mach:.3g}"
                f" with this time step; allowed: up to {FASTEST_MACH:g}; take a time step of at most {longest_s:.3g} s"
            )
        return velocity

    def _voxels(self, place_m) -> np.ndarray:
        return (np.asarray(place_m) - self._origin) / self._spacing

    def _spheres(self, section, velocity: np.ndarray) -> Region:
        try:
            centres, radii = read_spheres(self._case.folder / section.spheres_file, section.radius_m, numbered=False)
        except GeometryError as error:
            raise InputError(f"free_surface.liquid.spheres_file: {error}") from error
        return SpheresRegion(velocity, self._voxels(centres), radii / self._spacing)

    def _shares(self, file: str) -> np.ndarray:
        key, path = "free_surface.liquid.image_file", self._case.folder / file
        shares = read_box_array(key, path, self._header.shape, "nz, ny, nx")
        low, high = float(shares.min()), float(shares.max())
        if not (low >= 0.0 and high <= 1.0):
            raise InputError(f"{key}: {path} has values from {low:g} to {high:g}; allowed: shares from 0 to 1")
        return shares
