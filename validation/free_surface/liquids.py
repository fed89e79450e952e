"""Liquids of the validation cases, in lattice units (density 1, time step 1, voxel edge 1), and what is measured there.

Places are in voxels from the centre of the first one, as in :mod:`muphy_lb.physics.free_surface.start`.
"""

from collections.abc import Callable, Mapping
from math import pi, sqrt

import numpy as np

from muphy_lb.domain import PUSH
from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.physics.free_surface.cells import CELL
from muphy_lb.physics.free_surface.filling import fill, liquid_mass
from muphy_lb.physics.free_surface.start import InitialLiquid, Region, initial_fields
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, Skipped
from muphy_lb.validation.flows import lattice_simulation, on_box
from muphy_lb.validation.limits import refuse_half

TANK, NO_FORCE = "tank", (0.0, 0.0, 0.0)
EVERYTHING = ({"box_m": [[-1e6] * 3, [1e6] * 3]},)  # liquid of a simulation whose own start :func:`fill_with` replaces
FIT_ROUNDS, FIT_STEP = 60, 1e-5
TALBOT_TERMS = 48
AtPlaces = Callable[[np.ndarray], np.ndarray]


def no_velocity(place: np.ndarray) -> np.ndarray:
    """(3, 1) velocity of liquid at rest, at any places."""
    return np.zeros((3, 1))


def refuse(settings: Settings) -> None:
    """Raises Skipped: half precision, or a streaming, that free surfaces refuse."""
    refuse_half(settings, "free surfaces refuse fp16: mass would be lost in its three digits")
    if settings.streaming == PUSH.name:
        raise Skipped("free surfaces need pull or aa, streaming is push")


def liquid_flow(settings: Settings, geometry: Mapping, viscosity: float, force=NO_FORCE, **more) -> Solver:
    """A liquid with a free surface, at rest. ``geometry``: the table ``[geometry]`` of a case, without spacing;
    ``viscosity``: kinematic; ``force``: body force per mass (x, y, z); ``more``: ``liquid``, its regions as in the case
    file; ``tension``; ``surface``, further keys of [free_surface]; ``flow`` and ``lattice``, keys of these tables."""
    liquid, tension = more.pop("liquid", EVERYTHING), more.pop("tension", 0.0)
    section = {"liquid": [dict(each) for each in liquid], "surface_tension_n_m": tension, **more.pop("surface", {})}
    drive = {"acceleration_m_s2": [float(component) for component in force], **more.pop("flow", {})}
    return lattice_simulation(settings, geometry, viscosity, flow=drive, free_surface=section, **more)


def fill_with(simulation: Solver, region: Region, density: AtPlaces | None = None, velocity=no_velocity) -> None:
    """Start again with one region of liquid. ``simulation``: with a free surface; ``region``: the liquid; ``density``:
    (m, 3) places -> (m,) density minus 1; none without it; ``velocity``: places -> (3, m) velocity; none without it."""
    domain, header = simulation.domain, simulation.header
    cell, share = InitialLiquid([region], header).cells(domain, simulation.lattice)
    place = whole_nodes(simulation).coordinates()[domain.number]
    rho = 1.0 + (np.zeros(len(place)) if density is None else density(place))
    simulation.set_fields(initial_fields(cell, share, rho))
    simulation.engine.start_from(rho, velocity(place))


def mass(simulation: Solver) -> np.ndarray:
    """(n,) mass of liquid in every voxel, in double precision."""
    return on_root(liquid_mass(simulation)).astype(float)


def columns(simulation: Solver) -> np.ndarray:
    """(nx,) height of the liquid in every column along y, of two-dimensional boxes: the sum of its fillings."""
    return np.nansum(on_box(simulation, on_root(fill(simulation)).astype(float))[0], axis=0)


def speed(simulation: Solver) -> float:
    """Largest velocity of voxels with liquid."""
    wet = on_root(simulation.model_field(CELL)) != 0
    return float(np.linalg.norm(on_root(simulation.velocity_m_s())[wet], axis=1).max())


def damped_oscillation(time: np.ndarray, values: np.ndarray, frequency: float, damping: float) -> tuple[float, float]:
    """(angular frequency, rate of decay) of the damped oscillation about a constant that fits values best. ``time``:
    (n,); ``values``: (n,); ``frequency``, ``damping``: to start the search from."""

    def misfit(guess):
        terms, best = _fitted(time, values, *guess)
        return values - terms @ best

    found = np.array([frequency, damping])
    scale = FIT_STEP * frequency
    for _ in range(FIT_ROUNDS):
        now = misfit(found)
        slopes = np.stack([(misfit(found + scale * axis) - now) / scale for axis in np.eye(2)], axis=1)
        found = found - 0.7 * np.linalg.lstsq(slopes, now, rcond=None)[0]
    return float(found[0]), float(found[1])


def from_laplace(transform: Callable[[np.ndarray], np.ndarray], time: np.ndarray) -> np.ndarray:
    """(n,) values at times (n,) > 0 of a function of the time, from its Laplace transform of complex s (...).

    The transform is inverted on Talbot's contour: Abate, Valko, Int. J. Numer. Meth. Eng. 60, 979 (2004).
    """
    theta = np.arange(1, TALBOT_TERMS) * pi / TALBOT_TERMS
    cotangent = 1.0 / np.tan(theta)
    base = 0.4 * TALBOT_TERMS / time
    bend = 1.0 + 1j * (theta + (theta * cotangent - 1.0) * cotangent)
    s = base[:, None] * theta * (cotangent + 1j)
    terms = (np.exp(time[:, None] * s) * transform(s) * bend).real.sum(axis=1)
    return base / TALBOT_TERMS * (0.5 * np.exp(base * time) * transform(base + 0j).real + terms)


def middle_of_oscillation(time: np.ndarray, values: np.ndarray, frequency: float, damping: float) -> float:
    """The constant about which a damped oscillation is, with frequency and damping from :func:`damped_oscillation`."""
    return float(_fitted(time, values, frequency, damping)[1][2])


def _fitted(time, values, frequency, damping) -> tuple[np.ndarray, np.ndarray]:
    """(n, 3) cosine, sine and constant, and how much of each fits best."""
    rate, angle = np.exp(-damping * time), frequency * time
    terms = np.stack((rate * np.cos(angle), rate * np.sin(angle), np.ones_like(time)), axis=1)
    return terms, np.linalg.lstsq(terms, values, rcond=None)[0]


def natural_frequency(frequency: float, damping: float) -> float:
    """Angular frequency that a damped oscillator has without its damping."""
    return sqrt(frequency**2 + damping**2)
