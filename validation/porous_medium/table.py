"""Porous media against exact numbers: Brinkman's layers beside clear fluid, along the axes and across them, a slab in a
stream, the limits of solid and of clear fluid, and a coil in a dome."""

import tempfile
from collections.abc import Iterator
from functools import partial
from math import exp, sqrt
from pathlib import Path

import numpy as np

from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLUID, SOLID, Voxels
from muphy_lb.measure.flow_view import on_root, whole_nodes
from muphy_lb.measure.permeability import measured_permeability
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings, absolute, at_most, case, relative, shown
from muphy_lb.validation.flows import lattice_simulation, until_steady
from muphy_lb.validation.limits import refuse_half

NU, FORCE = 0.1, 1e-6
SHARES, QUICK_SHARES, HEIGHTS, QUICK_HEIGHTS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2), (1e-6, 1e-4, 1e-2), (16, 32), (16,)
LAYER_TOLERANCE = 0.01
OBLIQUE, STRIPES, OBLIQUE_TOLERANCE = (0.01, 0.1, 1.0, 10.0), 48, 1.0  # over the voxels of a side
SLAB, LENGTH, SPEED, SLAB_TOLERANCE = 10, 30, 1e-4, {"fp64": 1e-6}
LIMIT_TOLERANCE, SMALL, LARGE = 1e-3, 1e-8, 1e8
DUCT, CUBE = (12, 12, 16), 5  # voxels along z, y, x
DOME, DEEP = (16, 8, 26, 8, 6), 5.0  # width, height, length of the duct, radius of a ball, and how far beyond it lies
COILS, DOME_TOLERANCE = (0.9, 0.8, 0.7), 0.05  # share that the wire leaves free
SETTLED = 1e-9
ROUGH = 1e-3  # in single precision


def stacked_layers(clear: float, medium: float, permeability: float, force: float = FORCE):
    """The exact velocity at distances y from the middle of a clear layer between layers of a medium, periodic: a
    function, and the mean over both. Velocity and shear stress are continuous, both with the viscosity of the fluid
    (Beavers, Joseph, J. Fluid Mech. 30, 197 (1967), with Brinkman's medium)."""
    k, h, m, darcy = 1.0 / sqrt(permeability), 0.5 * clear, 0.5 * medium, force * permeability / NU
    # in the medium u = U + b cosh(k (m - s)) / cosh(k m) with s from the interface; stress G h at the interface
    b = force * h / (NU * k * np.tanh(k * m))

    def velocity(y):
        s = np.maximum(np.abs(y) - h, 0.0)
        falling = (np.exp(-k * s) + np.exp(-k * (2.0 * m - s))) / (1.0 + np.exp(-2.0 * k * m))
        inside = darcy + b * falling
        return np.where(np.abs(y) < h, darcy + b + 0.5 * force / NU * (h**2 - y**2), inside)

    mean = clear * (darcy + b) + 2.0 * force * h**3 / (3.0 * NU) + medium * darcy + 2.0 * b * np.tanh(k * m) / k
    return velocity, mean / (clear + medium)


def channel_over_medium(height: int, permeability: float) -> np.ndarray:
    """(2 height,) means over voxels of the exact flow of a clear layer on a wall, below an equal one of a medium."""
    k, darcy, h = 1.0 / sqrt(permeability), FORCE * permeability / NU, float(height)
    across = exp(-min(k * h, 700.0))
    lines = [[h, darcy, darcy * across], [1.0, -darcy * k, darcy * k * across], [0.0, across, 1.0]]
    a, b, c = np.linalg.solve(lines, [darcy + FORCE * h**2 / (2.0 * NU), FORCE * h / NU, 1.0])
    y = np.arange(height) + 0.5
    falling = -np.expm1(-k) / k * np.exp(-k * np.arange(height))
    return np.concatenate((a * y - FORCE * y**2 / (2.0 * NU), darcy * (1.0 - b * falling - c * falling[::-1])))


@case("porous-layers", "exact: a channel over a Brinkman medium (Beavers, Joseph 1967), K / H^2 from 1e-6 to 1e-2")
def layers(settings: Settings) -> Iterator:
    """The velocity of the clear fluid over its peak, that of the medium over its own, and the slip at the interface."""
    _refuse(settings)
    for height in QUICK_HEIGHTS if settings.quick else HEIGHTS:
        for share in QUICK_SHARES if settings.quick else SHARES:
            permeability = share * height**2
            upper = {"name": "upper", "box_m": [[-9.0, height + 0.6, -9.0], [99.0, 999.0, 9.0]]}
            box = {"shape": "channel", "options": {"length": 2, "height": 2 * height, "width": 1}}
            force = {"acceleration_m_s2": [FORCE, 0.0, 0.0]}
            medium = [upper | {"permeability_m2": permeability}]
            flow = lattice_simulation(settings, box, NU, flow=force, porous_medium=medium)
            found, exact = _steady_profile(flow), channel_over_medium(height, permeability)
            error = np.abs(found - exact)
            of = f"H {height}, K/H2 {share:g} ({permeability:.3g} voxels^2)"
            yield absolute(f"{of}: clear", 0.0, error[:height].max() / exact.max(), LAYER_TOLERANCE)
            first = relative(f"{of}: first node inside", exact[height], found[height], LAYER_TOLERANCE)
            yield first if permeability > 1e-4 else shown(first.quantity, first.reference, first.computed)


@case("porous-oblique", "exact: stripes of clear fluid and of a Brinkman medium at 45 degrees")
def oblique(settings: Settings) -> Iterator:
    """The mean velocity; interfaces are stairs of voxels."""
    _refuse(settings)
    n = STRIPES // 2 if settings.quick else STRIPES
    box = {"shape": "random_solid", "options": {"shape_zyx": [1, n, n], "porosity": 1.0}, "periodic": ["x", "y"]}
    y, x = np.mgrid[:n, :n]
    is_clear = (x - y) % n < n // 2
    for permeability in OBLIQUE:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "k.npy"
            np.save(file, np.where(is_clear, LARGE, permeability)[None])
            medium = [{"name": "stripes", "permeability_file": str(file)}]
            force = {"acceleration_m_s2": [FORCE / sqrt(2.0), FORCE / sqrt(2.0), 0.0]}
            flow = lattice_simulation(settings, box, NU, flow=force, porous_medium=medium)
            until_steady(flow, flow.mean_velocity_m_s, SETTLED, 200)
            mean = float(flow.mean_velocity_m_s()[:2].sum()) / sqrt(2.0)
        width = n / 2.0 / sqrt(2.0)
        _, expected = stacked_layers(width, width, permeability)
        what = f"mean velocity, {n} voxels, K {permeability:g} voxels^2"
        yield relative(what, expected, mean, OBLIQUE_TOLERANCE / n)


def _pressure_pa(flow) -> np.ndarray:
    return on_root(flow.pressure_pa())


@case("porous-slab", "Darcy: pressure drop mu U L / K of a slab across a stream")
def slab(settings: Settings) -> Iterator:
    """The drop between the clear fluid before and behind it."""
    _refuse(settings)
    walls = [
        {"name": name, "box_m": [[-9.0, low, -9.0], [99.0, high, 9.0]], "slip": True}
        for name, low, high in (("low", -9.0, 0.0), ("high", 4.0, 13.0))
    ]
    box = {"shape": "channel", "options": {"length": LENGTH, "height": 3, "width": 1, "ends": "open"}}
    for permeability in (0.1, 1.0):
        part = {"name": "slab", "permeability_m2": permeability, "box_m": [[9.6, -9.0, -9.0], [9.6 + SLAB, 99.0, 9.0]]}
        ends = [{"name": "inlet", "velocity_m_s": SPEED}, {"name": "outlet", "pressure_pa": 0.0}]
        flow = lattice_simulation(settings, box, NU, walls=walls, openings=ends, porous_medium=[part])
        pressure_pa = until_steady(flow, partial(_pressure_pa, flow), SETTLED, 200)
        x = whole_nodes(flow).coordinates()[:, 0]
        allowed = SLAB_TOLERANCE.get(settings.precision, ROUGH)
        found = pressure_pa[x == x.min() + 1].mean() - pressure_pa[x == x.max() - 1].mean()
        yield relative(f"K {permeability:g} voxels^2", NU * SPEED * SLAB / permeability, found, allowed)


@case("porous-limits", "a porous cube in a duct: K to 0 is solid, K to infinity is clear fluid")
def limits(settings: Settings) -> Iterator:
    """The permeability of the duct beside that of a solid and of no cube."""
    _refuse(settings)
    whole = np.full(DUCT, FLUID, dtype=np.uint8)
    whole[0] = whole[:, 0] = SOLID
    low = [(n - CUBE) // 2 for n in DUCT]
    place = tuple(slice(a, a + CUBE) for a in low)
    with_cube = whole.copy()
    with_cube[place] = SOLID
    corners = [[a - 0.4 for a in low[::-1]], [a + CUBE - 0.6 for a in low[::-1]]]
    for word, flags, permeability in (("solid", with_cube, SMALL), ("clear fluid", whole, LARGE)):
        part = {"name": "cube", "permeability_m2": permeability, "box_m": corners}
        expected, found = _duct(settings, flags, []), _duct(settings, whole, [part])
        yield relative(f"k of the duct, K {permeability:g} voxels^2 beside {word}", expected, found, LIMIT_TOLERANCE)
    between = _duct(settings, whole, [part | {"permeability_m2": 1.0}])
    yield shown("k of the duct over that without a cube, K 1 voxel^2", 1.0, between / found)


@case(
    "porous-dome",
    "Darcy: u = K (f - grad p) / nu deep in the coil of a side-wall aneurysm; the denser the coil, the more blood"
    " stands still: Otani et al., Med. Biol. Eng. Comput. 51, 901 (2013)",
)
def dome(settings: Settings) -> Iterator:
    """A dome beside a duct, filled with wire of a voxel's diameter: the velocity in the middle, and the mean speed."""
    _refuse(settings)
    width, height, length, radius, neck = DOME
    z, y, x = np.indices((width, height + 2 * radius, length))
    centre = 0.5 * (width - 1), height + neck, 0.5 * (length - 1)
    away = np.sqrt((z - centre[0]) ** 2 + (y - centre[1]) ** 2 + (x - centre[2]) ** 2)
    in_duct, in_ball = (y >= 1) & (y < height) & (z >= 1) & (z < width - 1), away < radius
    flags = np.where(in_duct | in_ball, FLUID, SOLID).astype(np.uint8)
    in_dome, deep = in_ball & ~in_duct, away < radius - DEEP
    speeds, beyond_duct = [], [[-9.0, height - 0.5, -9.0], [99.0, 99.0, 99.0]]
    for free in (1.0, *COILS):
        part = {"name": "coil", "porosity": free, "grain_diameter_m": 1.0, "box_m": beyond_duct}
        flow = _steady_duct(settings, flags, [part] if free < 1.0 else [])
        velocity, pressure = on_root(flow.velocity_m_s()), np.full(flags.shape, np.nan)
        pressure.flat[whole_nodes(flow).voxel] = on_root(flow.pressure_pa())
        field = np.zeros((*flags.shape, 3))
        field.reshape(-1, 3)[whole_nodes(flow).voxel] = velocity
        speeds.append(float(np.linalg.norm(field[in_dome], axis=-1).mean()))
        if free < 1.0:
            permeability = free**3 / (180.0 * (1.0 - free) ** 2)
            gradient = 0.5 * (np.roll(pressure, -1, axis=2) - np.roll(pressure, 1, axis=2))
            expected = permeability / NU * (FORCE - gradient[deep].mean())
            name = f"coil that leaves {free:g} free: mean velocity along the duct in its middle"
            yield relative(name, float(expected), float(field[deep][:, 0].mean()), DOME_TOLERANCE)
            ratio = speeds[-1] / speeds[-2]
            yield at_most(f"coil that leaves {free:g} free: mean speed in the dome over that before", 1.0, ratio)


def _steady_duct(settings: Settings, flags: np.ndarray, media: list) -> Solver:
    """The steady flow along x through a geometry that is periodic."""
    nodes = build_nodes(Voxels(flags, periodic=(True, True, True)))
    box = {"shape": "channel", "options": {"length": 2, "height": 2, "width": 2}}  # the nodes are given
    force, lattice = {"acceleration_m_s2": [FORCE, 0.0, 0.0]}, {"name": "D3Q19"}
    tables = {"flow": force, "lattice": lattice, "porous_medium": media}
    flow = lattice_simulation(settings, box, NU, lambda given, ranks: Solver(given, ranks, nodes), **tables)
    until_steady(flow, flow.mean_velocity_m_s, SETTLED, 200)
    return flow


def _duct(settings: Settings, flags: np.ndarray, media: list) -> float:
    """Permeability of a duct along x [voxels^2]."""
    flow = _steady_duct(settings, flags, media)
    return on_root(measured_permeability(flow)).permeability_voxel2


def _steady_profile(flow: Solver) -> np.ndarray:
    """Velocity along x by height."""
    y = whole_nodes(flow).coordinates()[:, 1]
    rows = [y == each for each in np.unique(y)]

    def measure() -> np.ndarray:
        velocity = on_root(flow.velocity_m_s())[:, 0].astype(np.float64)
        return np.array([velocity[row].mean() for row in rows])

    return until_steady(flow, measure, SETTLED, 500)


def _refuse(settings: Settings) -> None:
    refuse_half(settings, "these comparisons need more digits than fp16 has")


CASES = (layers, oblique, slab, limits, dome)
