"""Dispersion of a periodic flow against the coefficients of Taylor and Aris, and of pure diffusion."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from muphy_lb.measure.flow_view import on_root
from muphy_lb.physics.dispersion.observers import Spreading
from muphy_lb.validation.case import Settings, case, relative
from muphy_lb.validation.flows import lattice_simulation, until_steady

NU, SPEED, LENGTH = 0.1, 0.02, 4
SETTLED, EVERY = {"fp64": 1e-6, "fp32": 1e-5}, 500
TOLERANCE = 0.02
HEIGHT, RADIUS = 20, 24.3  # of the radii below 30 one at which the voxels of a pipe have its area within 0.4 %
PECLETS = (1.0, 8.0, 50.0)


@case(
    "dispersion",
    "Taylor, Proc. R. Soc. A 219, 186 (1953), Aris, ibid. 235, 67 (1956): D (1 + Pe^2 / 210) between plates, Pe of"
    " their distance; D (1 + Pe^2 / 48), pipe, Pe of its radius",
)
def dispersion(settings: Settings) -> Iterator:
    """Coefficients of the closure in a few layers of Poiseuille's flow between plates and in a pipe."""
    yield from _rows("plates", HEIGHT, 210.0, settings)
    if not settings.quick:
        yield from _rows("pipe", RADIUS, 48.0, settings)


def _rows(shape: str, size: float, of_shape: float, settings: Settings) -> Iterator:
    is_pipe = shape == "pipe"
    axis, options = (2, {"radius": size}) if is_pipe else (0, {"height": size, "width": 1})
    walls = {"walls": "bouzidi"} if is_pipe and settings.interpolates else {}
    force = (8.0 if is_pipe else 12.0) * NU * SPEED / size**2
    simulation = lattice_simulation(
        settings,
        {"shape": "pipe" if is_pipe else "channel", "options": {"length": LENGTH, **options}},
        NU,
        lattice={"name": "D3Q19" if is_pipe else "D2Q9", "equilibrium": "stokes", **walls},
        flow={"acceleration_m_s2": list(force * np.eye(3)[axis])},
        dispersion={"axis": "xyz"[axis], "diffusivities_m2_s": [SPEED * size / peclet for peclet in PECLETS]},
    )
    physics: Any = simulation.physics[0]
    spreading = Spreading(simulation, physics.scalars, axis)
    settled = SETTLED.get(settings.precision, SETTLED["fp32"])
    found = until_steady(simulation, lambda: on_root(spreading.coefficients())[0], settled, EVERY)
    for peclet, value in zip(PECLETS, found, strict=True):
        expected = 1.0 + peclet**2 / of_shape
        yield relative(f"{shape}: dispersion over D, Pe = {peclet:g}", expected, float(value), TOLERANCE)


CASES = (dispersion,)
