"""A heap of viscous liquid that spreads over a floor: a front without inertia, whose exact place is known.

With the weight against the shear of a parabolic profile the depth is h = h_0 (1 - x^2 / X^2)^(1/3), and the front is at

    X = eta (g q^3 / (3 nu))^(1/5) t^(1/5),  eta = (10 / (3 I^3))^(1/5) = 1.411,

with q the volume over x > 0 and I the integral of (1 - s^2)^(1/3) from 0 to 1: Huppert, J. Fluid Mech. 121, 43 (1982).
The width is the root mean square of x: unlike the front it does not come in whole voxels. It grows as t^(1/5), so that
1 % of it are 5 % of the time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import gamma, pi, sqrt

import numpy as np

from muphy_lb.physics.free_surface.start import Region
from muphy_lb.validation.case import Row, Settings, case, relative
from muphy_lb.validation.free_surface import liquids

INTEGRAL = 0.5 * sqrt(pi) * gamma(4.0 / 3.0) / gamma(11.0 / 6.0)
SPREAD = sqrt(3.0 / 11.0)  # root mean square of x over X
VISCOSITY, LENGTH, SLOWNESS = 1 / 6, 8.5, 0.14
"""Viscosity, length of the heap over its depth at the start, and gravity times the cube of that depth."""
DEPTHS, QUICK_DEPTHS, COLLISIONS = (2.8, 5.6, 11.2), (2.8,), ("trt", "regularised")
LATEST, QUICK_LATEST, WIDTH, QUICK_WIDTH = 4.0, 1.5, 0.01, 0.02  # time at the end over that of the start; tolerances


@dataclass(frozen=True)
class _Heap(Region):
    """Liquid below the exact profile."""

    front: float
    height: float

    def heights(self, x):
        """Depths at distances (m,) from the wall."""
        return self.height * np.clip(1.0 - (x / self.front) ** 2, 0.0, 1.0) ** (1.0 / 3.0)

    def distance(self, place):
        x = place[:, 0] + 0.5
        return np.where(x > self.front, 2.0, place[:, 1] + 0.5 - self.heights(x))

    def depth(self, place, up):
        return np.zeros(len(place))

    def span(self, up):
        return -np.inf, np.inf


@case("surface-spreading", "viscous liquid that spreads over a floor: Huppert, J. Fluid Mech. 121, 43 (1982)")
def surface_spreading(settings: Settings) -> Iterator[Row]:
    """Width of a heap beside a wall that has spread from one exact profile to a later one."""
    liquids.refuse(settings)
    latest, tolerance = (QUICK_LATEST, QUICK_WIDTH) if settings.quick else (LATEST, WIDTH)
    for collision in COLLISIONS[: 1 if settings.quick else None]:
        for depth in QUICK_DEPTHS if settings.quick else DEPTHS:
            what = f"{collision}, depth {depth:g}: width at {latest:g} of the first time"
            yield relative(what, *_widths(settings, collision, depth, latest), tolerance)


def _widths(settings: Settings, collision: str, depth: float, latest: float) -> tuple[float, float]:
    """Exact and computed width at ``latest``."""
    heap, gravity = _Heap(np.zeros(3), LENGTH * depth, depth), SLOWNESS / depth**3
    geometry = {"shape": liquids.TANK, "options": {"length": round(1.5 * heap.front), "height": round(depth) + 4}}
    force, lattice = (0.0, -gravity, 0.0), {"name": "D2Q9", "collision": collision}
    simulation = liquids.liquid_flow(settings, geometry, VISCOSITY, force, lattice=lattice)

    def weight(place):
        return 3.0 * gravity * np.maximum(heap.heights(place[:, 0] + 0.5) - (place[:, 1] + 0.5), 0.0)

    liquids.fill_with(simulation, heap, weight)
    volume = liquids.columns(simulation).sum()
    start = 0.3 * (INTEGRAL * heap.front / volume) ** 3 * heap.front**2 * 3.0 * VISCOSITY / gravity
    simulation.step(round((latest - 1.0) * start))
    height = liquids.columns(simulation)
    x = np.arange(height.size) + 0.5
    return SPREAD * heap.front * latest**0.2, float(sqrt((height * x**2).sum() / height.sum()))
