"""Two thin shear layers that roll up: where voxels resolve them just so, a bad collision makes vortices of its own.

u = U tanh(s (y - 1/4)) for y <= 1/2, else U tanh(s (3/4 - y)); v = d U sin(2 pi (x + 1/4)), in a periodic unit square.
Minion, Brown, J. Comput. Phys. 138, 734 (1997): s = 80, d = 0.05, Re = U / nu = 10 000. At time 1 there are two
vortices; on coarse grids many schemes show further ones in the thinned layers between, or diverge.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from muphy_lb.validation.case import DEFAULT, Settings, at_most, case, relative, shown
from muphy_lb.validation.fields import on_box, start_from_flow
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.plot import contours

STEEPNESS, PERTURBATION, REYNOLDS = 80.0, 0.05, 10_000.0
SPEED = 0.04
SIZE, FINE, QUICK_SIZE, QUICK_FINE = 128, 256, 64, 128
COLLISIONS = ("bgk", "trt", "regularised", "recursive-regularised", "cumulant")
JUDGED = "recursive-regularised"
ENERGY_TOLERANCE, ENSTROPHY_TOLERANCE = 0.01, 0.15
SHORTEST = 0.8
"""Wave numbers above this share of the largest are the shortest waves."""


class Layers(NamedTuple):
    """At time 1."""

    energy: float  # mean of u.u / 2 over U^2
    enstrophy: float  # mean of the squared vorticity over two, over U^2, unit box
    noise: float  # share of the energy in the shortest waves
    vorticity: np.ndarray  # (N, N) over U, unit box


@case(
    "shear-layers",
    "Minion, Brown, J. Comput. Phys. 138, 734 (1997): the flow; energy and enstrophy: those of a finer grid",
)
def shear_layers(settings: Settings) -> Iterator:
    """Thin shear layers at Re 10,000 on few voxels: energy, enstrophy, and waves that should not be there."""
    size, fine_size = (QUICK_SIZE, QUICK_FINE) if settings.quick else (SIZE, FINE)
    fine = layers(fine_size, JUDGED, settings)
    yield contours(f"{JUDGED}, {fine_size} x {fine_size}: vorticity", fine.vorticity)
    for collision in (JUDGED,) if settings.quick else COLLISIONS:
        found, what = layers(size, collision, settings), f"{collision}, {size} across: "
        energy, enstrophy, noise = (np.nan_to_num(each, nan=np.inf) for each in found[:3])
        if collision == JUDGED:
            yield relative(f"{what}energy", fine.energy, found.energy, ENERGY_TOLERANCE)
            yield relative(f"{what}enstrophy", fine.enstrophy, found.enstrophy, ENSTROPHY_TOLERANCE)
            yield at_most(f"{what}share of the shortest waves", 1e-4, found.noise)
        else:
            yield shown(f"{what}energy", fine.energy, energy)
            yield shown(f"{what}enstrophy", fine.enstrophy, enstrophy)
            yield shown(f"{what}share of the shortest waves", 1e-4, noise)
        if np.isfinite(found.vorticity).all():
            yield contours(f"{collision}, {size} x {size}: vorticity", found.vorticity)


def layers(size: int, collision: str, settings: Settings = DEFAULT) -> Layers:
    """The layers at time 1, on ``size`` x ``size`` voxels."""
    geometry = {"shape": "random_solid", "options": {"shape_zyx": [1, size, size], "porosity": 1.0}}
    viscosity = SPEED * size / REYNOLDS
    simulation = lattice_simulation(settings, geometry, viscosity, lattice={"collision": collision})
    x, y, _ = (simulation.nodes.coordinates().T + 0.5) / size
    velocity, strain = np.zeros((x.size, 3)), np.zeros((x.size, 3, 3))
    below = y <= 0.5
    depth = STEEPNESS * np.where(below, y - 0.25, 0.75 - y)
    velocity[:, 0] = SPEED * np.tanh(depth)
    velocity[:, 1] = SPEED * PERTURBATION * np.sin(2 * np.pi * (x + 0.25))
    slope = STEEPNESS * np.where(below, 1.0, -1.0) / np.cosh(depth) ** 2
    slope += PERTURBATION * 2 * np.pi * np.cos(2 * np.pi * (x + 0.25))
    strain[:, 0, 1] = strain[:, 1, 0] = 0.5 * SPEED / size * slope
    start_from_flow(simulation, np.ones(x.size), velocity, strain)
    simulation.step(round(size / SPEED))
    velocity = on_box(simulation, simulation.velocity_m_s())[0, :, :, :2] / SPEED
    modes = np.fft.fft2(velocity, axes=(0, 1)) / size**2
    k = np.fft.fftfreq(size, 1.0 / size)
    vorticity = 2j * np.pi * (k * modes[..., 1] - k[:, None] * modes[..., 0])
    energy = 0.5 * (np.abs(modes) ** 2).sum(axis=-1)
    is_short = np.maximum(np.abs(k), np.abs(k)[:, None]) > SHORTEST * size / 2
    noise = float(energy[is_short].sum() / energy.sum())
    enstrophy = float(0.5 * (np.abs(vorticity) ** 2).sum())
    return Layers(float(energy.sum()), enstrophy, noise, np.fft.ifft2(vorticity * size**2).real)
