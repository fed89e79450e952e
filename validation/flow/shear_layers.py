"""Two thin shear layers that roll up: where voxels resolve them just so, a bad collision makes vortices of its own.

u = U tanh(s (y - 1/4)) for y <= 1/2, else U tanh(s (3/4 - y)); v = d U sin(2 pi (x + 1/4)), in a periodic unit square.
Minion, Brown, J. Comput. Phys. 138, 734 (1997): s = 80, d = 0.05, Re = U / nu = 10 000. At time 1 there are two
vortices; on coarse grids many schemes show further ones in the thinned layers between, or diverge.
"""

from dataclasses import dataclass

import numpy as np

from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.fields import on_box, start_from_flow
from muphy_lb.validation.flows import lattice_simulation
from muphy_lb.validation.plot import Picture, contours
from muphy_lb.validation.record import Row, Validation, at_most, relative, shown
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = "Minion, Brown, J. Comput. Phys. 138, 734 (1997): the flow; energy and enstrophy: those of a finer grid"
STEEPNESS, PERTURBATION, REYNOLDS = 80.0, 0.05, 10_000.0
SPEED = 0.04
SIZE, FINE, QUICK_SIZE, QUICK_FINE = 128, 256, 64, 128
COLLISIONS = ("bgk", "trt", "regularised", "recursive-regularised", "cumulant")
JUDGED = "recursive-regularised"
ENERGY_TOLERANCE, ENSTROPHY_TOLERANCE = 0.01, 0.15
SHORTEST = 0.8
"""Wave numbers above this share of the largest are the shortest waves."""


@dataclass(frozen=True)
class Layers:
    """At time 1."""

    energy: float  # mean of u.u / 2 over U^2
    enstrophy: float  # mean of the squared vorticity over two, over U^2, unit box
    noise: float  # share of the energy in the shortest waves
    vorticity: np.ndarray  # (N, N) over U, unit box


def shear_layers(settings: Settings = DEFAULT) -> Validation:
    """Thin shear layers at Re 10,000 on few voxels: energy, enstrophy, and waves that should not be there."""
    size, fine_size = (QUICK_SIZE, QUICK_FINE) if settings.quick else (SIZE, FINE)
    fine = layers(fine_size, JUDGED, settings)
    rows, plots = [], [contours(f"{JUDGED}, {fine_size} x {fine_size}: vorticity", fine.vorticity)]
    for collision in (JUDGED,) if settings.quick else COLLISIONS:
        found = layers(size, collision, settings)
        rows += _rows(collision, size, found, fine)
        plots += _pictures(collision, size, found)
    return Validation("shear-layers", CITATION, tuple(rows), plots=tuple(plots))


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
    return _measured(simulation)


def _measured(simulation: Simulation) -> Layers:
    velocity = on_box(simulation, simulation.velocity_m_s())[0, :, :, :2] / SPEED
    size = velocity.shape[0]
    modes = np.fft.fft2(velocity, axes=(0, 1)) / size**2
    k = np.fft.fftfreq(size, 1.0 / size)
    vorticity = 2j * np.pi * (k * modes[..., 1] - k[:, None] * modes[..., 0])
    energy = 0.5 * (np.abs(modes) ** 2).sum(axis=-1)
    is_short = np.maximum(np.abs(k), np.abs(k)[:, None]) > SHORTEST * size / 2
    return Layers(
        float(energy.sum()),
        float(0.5 * (np.abs(vorticity) ** 2).sum()),
        float(energy[is_short].sum() / energy.sum()),
        np.fft.ifft2(vorticity * size**2).real,
    )


def _rows(collision: str, size: int, found: Layers, fine: Layers) -> list[Row]:
    what = f"{collision}, {size} across: "
    if collision == JUDGED:
        return [
            relative(f"{what}energy", fine.energy, found.energy, ENERGY_TOLERANCE),
            relative(f"{what}enstrophy", fine.enstrophy, found.enstrophy, ENSTROPHY_TOLERANCE),
            at_most(f"{what}share of the shortest waves", 1e-4, found.noise),
        ]
    return [
        shown(f"{what}{name}", getattr(fine, name), np.nan_to_num(getattr(found, name), nan=np.inf))
        for name in ("energy", "enstrophy")
    ] + [shown(f"{what}share of the shortest waves", 1e-4, np.nan_to_num(found.noise, nan=np.inf))]


def _pictures(collision: str, size: int, found: Layers) -> list[Picture]:
    """The vorticity, unless the flow diverged."""
    if not np.isfinite(found.vorticity).all():
        return []
    return [contours(f"{collision}, {size} x {size}: vorticity", found.vorticity)]
