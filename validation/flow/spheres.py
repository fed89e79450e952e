"""Drag of periodic arrays of spheres in Stokes flow: K = F / (6 pi nu a U), F the body force on a cell per sphere.

K = F / (6 pi mu a U) with the force F on one sphere of radius a and the mean velocity U over the whole cell; c is the
solid fraction. The permeability is 2 a^2 / (9 c K).

Sources: table 2 of Zick and Homsy, J. Fluid Mech. 115, 13 (1982), simple cubic, from a public transcription; series of
Sangani and Acrivos, Int. J. Multiphase Flow 8, 343 (1982): simple cubic from a public transcription, body-centred from
memory, but its first six terms follow from Hasimoto, J. Fluid Mech. 5, 317 (1959), as the tests show.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.geometry.shapes.benchmark_shapes import SITES
from muphy_lb.validation.case import DEFAULT, Settings, case, relative, shown
from muphy_lb.validation.flows import creeping, over_two_steps, settled, sum_along_x, viscous_flow
from muphy_lb.validation.limits import left_out_rules, possible_rules
from muphy_lb.validation.plot import Plot, Series

SIMPLE, BODY, FACE = "simple", "body", "face"
DENSEST = {
    SIMPLE: np.pi / 6.0,
    BODY: np.sqrt(3.0) * np.pi / 8.0,
    FACE: np.sqrt(2.0) * np.pi / 6.0,
}  # solid fraction at which the spheres touch
ZICK_HOMSY = {
    0.027: 2.008,
    0.064: 2.810,
    0.125: 4.292,
    0.216: 7.442,
    0.343: 15.4,
    0.45: 28.1,
    0.5236: 42.1,
}  # simple cubic: solid fraction to K
SERIES_LIMIT = 0.85  # (c / c_max)^(1/3) up to which 31 terms are enough
LATTICE_K = {
    (SIMPLE, 0.125): {24: 4.2812, 36: 4.2933, 48: 4.2935},
    (SIMPLE, 0.216): {24: 7.4736, 32: 7.4585, 48: 7.4555},
    (SIMPLE, 0.5236): {24: 42.07, 36: 42.32, 48: 42.18},
    (BODY, 0.125): {24: 4.4892, 36: 4.4426, 48: 4.4460},
    (BODY, 0.216): {24: 7.7133, 32: 7.7377, 48: 7.7526},
    (BODY, 0.45): {24: 32.06, 36: 31.81, 48: 31.84},
    (BODY, 0.6802): {24: 161.1, 36: 167.0, 48: 164.7},
    (FACE, 0.125): {24: 4.4209, 36: 4.4433, 48: 4.4448},
    (FACE, 0.216): {24: 7.6371, 32: 7.7266, 48: 7.7459},
    (FACE, 0.45): {24: 34.00, 36: 33.87, 48: 33.69},
    (FACE, 0.7405): {24: 455.0, 36: 453.0, 48: 448.0},
}  # K by voxels per cell of another program: D3Q19, TRT (Lambda = 3/16), CLI walls, sphere centres on cell corners
BOUNCE_BACK_K = {16: 8.013, 24: 7.788, 32: 7.655, 48: 7.649}  # the same, bounce-back, simple, c = 0.216
_COEFFICIENTS = {
    SIMPLE: (
        *(1.0, 1.418649, 2.012564, 2.331523, 2.564809, 2.584787, 2.873609, 3.340163, 3.536763, 3.504092, 3.253622),
        *(2.689757, 2.037769, 1.809341, 1.877347, 1.534685, 0.9034708, 0.2857896, -0.5512626, -1.278724, 1.013350),
        *(5.492491, 4.615388, -0.5736023, -2.865924, -4.709215, -6.870076, 0.1455304, 12.51891, 9.742811),
        -5.566269,
    ),
    BODY: (
        *(1.0, 1.575834, 2.483254, 3.233022, 4.022864, 4.650320, 5.281412, 5.826374, 6.258376, 6.544504, 6.878396),
        *(7.190839, 7.268068, 7.304025, 7.301217, 7.236410, 7.298014, 7.369849, 7.109497, 6.228418, 5.235796),
        *(4.476874, 3.541982, 2.939353, 3.935484, 5.179097, 3.959872, 2.227627, 3.393390, 4.491369, 2.200686),
    ),
}


def series_coefficients(lattice: str) -> np.ndarray:
    """(31,) coefficients of K in powers of (c / c_max)^(1/3). Raises InputError: no series for the lattice."""
    if lattice not in _COEFFICIENTS:
        raise InputError(f"there is no series for the lattice {lattice!r}; allowed: {', '.join(_COEFFICIENTS)}")
    return np.array(_COEFFICIENTS[lattice])


def series(lattice: str, solid_fraction: float) -> float:
    """K of a simple or body-centred cubic array. Raises InputError: no series for the lattice, or the spheres are too
    close for 31 terms."""
    coefficients = series_coefficients(lattice)
    chi = (solid_fraction / DENSEST[lattice]) ** (1.0 / 3.0)
    if not 0.0 <= chi <= SERIES_LIMIT:
        largest = SERIES_LIMIT**3 * DENSEST[lattice]
        raise InputError(f"the series of {lattice!r} at solid fraction {solid_fraction:g}; allowed: 0 to {largest:.3g}")
    return float(np.polynomial.polynomial.polyval(chi, coefficients))


def permeability(radius: float, solid_fraction: float, drag: float) -> float:
    """Permeability 2 a^2 / (9 c K) of an array of spheres of radius a with K = ``drag``."""
    return 2.0 * radius**2 / (9.0 * solid_fraction * drag)


NU = 1.0  # the steady state does not depend on it, and a viscous fluid reaches it in fewer steps
FORCE, SIZE, QUICK_SIZE = 1e-6, 48, 24
FRACTIONS = {SIMPLE: (0.125, 0.216, 0.5236), BODY: (0.125, 0.216, 0.6802), FACE: (0.125, 0.216, 0.7405)}
BOUNCE_BACK_FRACTION = 0.216
PORE = 0.5  # length of a pore in edges of the cell
INTERPOLATED = "central-linear"
TOLERANCE = {INTERPOLATED: 0.005, HALF_WAY: 0.04}
REGRESSION, TOUCHING = {"fp64": 5e-4, "fp32": 5e-4, "fp16": 2e-3}, 0.02
BALANCE = {"fp64": 1e-7, "fp32": 1e-4, "fp16": 1e-3}


class Drag(NamedTuple):
    """Steady flow through an array."""

    k: float  # drag coefficient K, from the body force
    balance: float  # force on the spheres by momentum exchange over the body force on all fluid nodes


@case(
    "sphere-arrays",
    "simple cubic: Zick, Homsy, J. Fluid Mech. 115, 13 (1982); body-centred: series of Sangani, Acrivos, Int. J."
    " Multiphase Flow 8, 343 (1982); lattice values: another program (D3Q19, TRT, Lambda = 3/16), whose walls lose"
    " mass, like those of the last rows",
)
def sphere_arrays(settings: Settings) -> Iterator:
    """Drag of simple, body-centred and face-centred cubic arrays (quick: simple, coarse)."""
    size = QUICK_SIZE if settings.quick else SIZE
    lattices, rules = (SIMPLE,) if settings.quick else tuple(FRACTIONS), possible_rules(TOLERANCE, settings)
    drags = {}
    for lattice in lattices:
        for fraction, rule in product(FRACTIONS[lattice], rules):
            drags[lattice, fraction, rule] = found = drag(size, lattice, fraction, rule, settings)
            yield from _rows(size, lattice, fraction, rule, found, settings)
    for fraction in FRACTIONS[SIMPLE] if settings.interpolates else ():  # with the links alone, whose walls lose mass
        what = f"K, {SIMPLE}, c = {fraction}, {INTERPOLATED}, links alone"
        yield shown(what, ZICK_HOMSY[fraction], drag(size, SIMPLE, fraction, INTERPOLATED, settings, False).k)
    curves = [Series("Zick and Homsy, simple", tuple(ZICK_HOMSY), tuple(ZICK_HOMSY.values()))]
    for lattice, rule in product(lattices, rules):
        computed = [drags[lattice, fraction, rule].k for fraction in FRACTIONS[lattice]]
        curves.append(Series(f"{lattice}, {rule}", FRACTIONS[lattice], computed, "points"))
    yield Plot(f"Sphere arrays, {size} voxels per cell", "solid fraction", "K", tuple(curves), log_y=True)
    yield from left_out_rules(TOLERANCE, settings)


def drag(
    size: int, lattice: str, fraction: float, rule: str, settings: Settings = DEFAULT, wall_balance: bool = True
) -> Drag:
    """Steady flow through one cubic cell of ``size`` voxels with the given solid fraction; ``wall_balance`` as in
    cases."""
    options: dict[str, Any] = {"size": size, "lattice": lattice, "solid_fraction": fraction}
    geometry, tables = {"shape": "sphere_array", "options": options}, creeping(rule, wall_balance=wall_balance)
    simulation = viscous_flow(geometry, NU, (FORCE, 0.0, 0.0), settings=settings, tables=tables)
    total = settled(simulation, lambda: sum_along_x(simulation), PORE * size)
    force = over_two_steps(simulation, lambda: simulation.wall_forces(averaged=False)["spheres"].force_n[0])
    n_spheres = len(SITES[lattice])
    radius = size * np.cbrt(3.0 * fraction / (4.0 * np.pi * n_spheres))
    per_sphere = FORCE * size**3 / n_spheres
    k = per_sphere / (6.0 * np.pi * NU * radius * total / size**3)
    return Drag(float(k), float(force / (FORCE * simulation.nodes.n_nodes)))


def published(lattice: str, fraction: float) -> float | None:
    """K from the literature; None where no source could be read."""
    if lattice == SIMPLE:
        return ZICK_HOMSY[fraction]
    is_dilute = np.cbrt(fraction / DENSEST[lattice]) <= SERIES_LIMIT
    return series(lattice, fraction) if lattice == BODY and is_dilute else None


def _rows(size: int, lattice: str, fraction: float, rule: str, flow: Drag, settings: Settings):
    where, literature = f"{lattice}, c = {fraction}, {rule}", published(lattice, fraction)
    if literature is not None and (size == SIZE or rule == INTERPOLATED):
        yield relative(f"K, {where}", literature, flow.k, TOLERANCE[rule])
    elif literature is not None:
        yield shown(f"K, {where}", literature, flow.k)
    other, regression = LATTICE_K[lattice, fraction][size], REGRESSION[settings.precision]
    if rule == INTERPOLATED:
        is_touching = fraction >= 0.99 * DENSEST[lattice]
        yield relative(f"K, {where}, lattice value", other, flow.k, TOUCHING if is_touching else regression)
        yield relative(f"force on spheres / on fluid, {where}", 1.0, flow.balance, BALANCE[settings.precision])
    elif lattice == SIMPLE and fraction == BOUNCE_BACK_FRACTION:
        yield relative(f"K, {where}, lattice value", BOUNCE_BACK_K[size], flow.k, regression)
    elif literature is None:
        yield shown(f"K, {where}, central-linear", other, flow.k)
