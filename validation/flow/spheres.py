"""Drag of periodic arrays of spheres in Stokes flow: K = F / (6 pi nu a U), F the body force on a whole cell per
sphere."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.geometry.shapes.benchmark_shapes import SITES
from muphy_lb.validation.case import DEFAULT, Settings, case, relative, shown
from muphy_lb.validation.flows import creeping, over_two_steps, settled, sum_along_x, viscous_flow
from muphy_lb.validation.limits import left_out_rules, possible_rules
from muphy_lb.validation.plot import Plot, Series
from muphy_lb.validation.references.spheres import (
    BODY,
    BOUNCE_BACK_K,
    DENSEST,
    FACE,
    LATTICE_K,
    REMEMBERED,
    SERIES_LIMIT,
    SIMPLE,
    ZICK_HOMSY,
    series,
)

NU = 1.0  # the steady state does not depend on it, and a viscous fluid reaches it in fewer steps
FORCE = 1e-6
SIZE, QUICK_SIZE = 48, 24
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
        found = [drags[lattice, fraction, rule].k for fraction in FRACTIONS[lattice]]
        curves.append(Series(f"{lattice}, {rule}", FRACTIONS[lattice], found, "points"))
    yield Plot(f"Sphere arrays, {size} voxels per cell", "solid fraction", "K", tuple(curves), log_y=True)
    yield from left_out_rules(TOLERANCE, settings)


def drag(
    size: int, lattice: str, fraction: float, rule: str, settings: Settings = DEFAULT, wall_balance: bool = True
) -> Drag:
    """Steady flow through one cubic cell of ``size`` voxels with the given solid fraction; ``wall_balance`` as in
    cases."""
    options = {"size": size, "lattice": lattice, "solid_fraction": fraction}
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
    if (lattice, fraction) in REMEMBERED:
        yield shown(f"K, {where}, reference from memory", REMEMBERED[lattice, fraction], flow.k)
