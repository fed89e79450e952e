"""A thread of liquid that surface tension breaks into drops.

A thread of radius R with waves a = a_0 cos(k x), longer than its circumference, is unstable. Of an inviscid liquid they
grow at the rate w_R, with modified Bessel functions (Rayleigh, Proc. Lond. Math. Soc. 10, 4 (1878)); with viscosity at
w, in the approximation of a slender thread (Weber, Z. Angew. Math. Mech. 11, 136 (1931)):

    w_R^2 = sigma / (rho R^3) kR (1 - (kR)^2) I_1(kR) / I_0(kR),   w = (w_R^2 + (1.5 nu k^2)^2)^(1/2) - 1.5 nu k^2.

Measured is the slope of the logarithm of the first Fourier component of the cross-section, over its mean, while that is
between two bounds: below it other modes count, above it the wave is no small one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import pi, sqrt

import numpy as np
from scipy.special import iv

from muphy_lb.measure.flow_view import on_root
from muphy_lb.physics.free_surface.filling import fill
from muphy_lb.physics.free_surface.start import Region
from muphy_lb.validation.case import Failure, Row, Settings, case, relative
from muphy_lb.validation.flows import on_box
from muphy_lb.validation.free_surface import liquids

TENSION, VISCOSITY, START = 0.01, 0.01, 0.02  # START: wave of the radius, over that
#: Radius of the thread, wavelengths, edge of the box across, places of the axis in a voxel; bounds of the component.
SIZES, QUICK_SIZES = (6.0, (54, 75, 126), 26, (0.0, 0.3)), (4.0, (36,), 18, (0.0,))
BOUNDS = 0.1, 0.28
GROWTH, QUICK_GROWTH, LOOK, LONGEST = 0.05, 0.1, 25, 8000  # tolerances; steps between looks, and at most


@dataclass(frozen=True)
class _Thread(Region):
    """A thread along x with a wave."""

    radius: float
    number: float
    axis: tuple[float, float]  # y and z

    def distance(self, place):
        across = np.hypot(place[:, 1] - self.axis[0], place[:, 2] - self.axis[1])
        return across - self.radius * (1.0 + START * np.cos(self.number * (place[:, 0] + 0.5)))


@case("surface-thread", "growth of a wave on a thread: Rayleigh (1878); with viscosity Weber (1931)")
def surface_thread(settings: Settings) -> Iterator[Row | Failure]:
    """Growth of waves on a thread of liquid, which surface tension breaks."""
    liquids.refuse(settings)
    radius, lengths, edge, places = QUICK_SIZES if settings.quick else SIZES
    for length, place in product(lengths, places):
        what = (
            f"R = {radius:g}, kR = {2.0 * pi * radius / length:.2f}, axis at {place:g} of a voxel: growth over Weber's"
        )
        growth = _growth(settings, radius, length, edge, place)
        if growth is None:
            yield Failure(f"{what}: the wave does not reach {BOUNDS[1]} in {LONGEST:,} steps")
        else:
            tolerance = QUICK_GROWTH if settings.quick else GROWTH
            yield relative(what, 1.0, growth / _exact(radius, 2.0 * pi / length), tolerance)


def _exact(radius: float, number: float) -> float:
    x, damping = number * radius, 1.5 * VISCOSITY * number**2
    square = TENSION / radius**3 * x * (1.0 - x**2) * iv(1, x) / iv(0, x)
    return float(sqrt(square + damping**2) - damping)


def _growth(settings: Settings, radius: float, length: int, edge: int, place: float) -> float | None:
    """Rate of growth of a wave; None if it does not grow far enough."""
    geometry = {"shape": "channel", "options": {"length": length, "height": edge, "width": edge}}
    flow = liquids.liquid_flow(settings, geometry, VISCOSITY, tension=TENSION, lattice={"name": "D3Q19"})
    nz, ny, _ = flow.header.shape
    thread = _Thread(np.zeros(3), radius, 2.0 * pi / length, (0.5 * (ny - 1) + place, 0.5 * (nz - 1) + place))
    liquids.fill_with(flow, thread, lambda at: 3.0 * TENSION / radius * (thread.distance(at) < 0.5))
    shape = 2.0 / length * np.cos(thread.number * (np.arange(length) + 0.5))
    least, most = BOUNDS
    looks = list[tuple[int, float]]()
    while not looks or looks[-1][1] < most:
        if flow.step_number >= LONGEST:
            return None
        flow.step(LOOK)
        section = np.nansum(on_box(flow, on_root(fill(flow)).astype(float)), axis=(0, 1))
        looks.append((flow.step_number, float(shape @ section / section.mean())))
    steps, waves = np.array(looks).T
    is_small = (waves >= least) & (waves <= most)
    return float(np.polyfit(steps[is_small], np.log(waves[is_small]), 1)[0])
