"""Permeability of a square array of cylinders in Stokes flow: one periodic cell, and Toelke's array of 18 x 18.

The dimensionless permeability is k = 4 pi nu U / F with the mean velocity U over the whole cell, solid included, and
the force per cylinder F = a^2 g of a flow driven by the body force g in cells of edge a. theta = pi r^2 / a^2 is the
solid fraction; the permeability in units of area is k a^2 / (4 pi).

Sources: ``COLLOCATION`` is another program's collocation solution for the stream function, residual below 1e-5;
lattice solutions: table 4 of Toelke, Comput. Visual. Sci. 13, 29 (2010).
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

import numpy as np

from muphy_lb.base.units import CS2, relaxation_time
from muphy_lb.validation.case import DEFAULT, Row, Settings, at_most, case, relative, shown
from muphy_lb.validation.flows import creeping, over_two_steps, settled, sum_along_x, viscous_flow
from muphy_lb.validation.limits import left_out_rules, possible_rules
from muphy_lb.validation.plot import Plot, Series, convergence

COLLOCATION = {
    **{0.05: 15.557822, 0.10: 24.831675, 0.04 * np.pi: 30.350636, 0.20: 51.526949, 0.30: 102.8813, 0.40: 217.894},
    0.50: 532.55,
}  # solid fraction: F / (mu U)
TOELKE_FRACTION = 0.04 * np.pi  # r / a = 2 / 10
TOELKE_LATTICE = {
    128: (1.88e-1, 2.06e-1),
    256: (9.05e-4, 1.73e-2),
    512: (1.81e-2, 1.87e-2),
    1024: (5.99e-4, 5.61e-3),
    2048: (8.70e-4, 4.78e-3),
    3072: (2.36e-4, 2.37e-3),
}  # mesh of the 18 x 18 array: relative errors of the solid fraction and of k, with bounce-back


def permeability_number(solid_fraction: float) -> float:
    """k of the collocation solution. Raises KeyError: not one of its solid fractions."""
    return 4.0 * np.pi / COLLOCATION[solid_fraction]


EXACT = permeability_number(TOELKE_FRACTION)
GAP = 0.6  # between neighbouring cylinders, in cell edges
NU, FORCE = 1.0 / 6.0, 1e-6
CELL_SIZES, CELL_SIZE, SMALL_CELL = (40, 80, 160), 40, 20
RULES = ("half-way", "bouzidi", "central-linear")
HALF_WAY_K = 0.399517  # of a cell of 40 voxels
K_TOLERANCE = {"fp64": 0.005, "fp32": 0.005, "fp16": 0.01}
# fp16: the roundings of a pore's width, at most 0.3 % measured; the walls' rules differ by 3 %, BGK drifts by 77 %.
SAME = {"fp64": 1e-5, "fp32": 1e-4, "fp16": 1e-2}
BALANCE = {"fp64": 1e-7, "fp32": 1e-4, "fp16": 1e-2}
EQUAL = {"fp64": 1e-10, "fp32": 1e-4, "fp16": 1e-2}
BGK_DRIFT, BGK_TOLERANCE, CELLS, N_QUICK_MESHES = 1.77, 0.02, 18, 2
BGK = {"collision": "bgk"}


class Seepage(NamedTuple):
    """Steady flow through cylinders."""

    k: float  # dimensionless permeability
    theta: float  # solid fraction of the voxels
    balance: float  # force on the cylinders by momentum exchange over the body force on all fluid nodes
    whole: float  # the sum of that force and the body force on the solid voxels, over the body force on the whole box


@case(
    "cylinder-cell",
    "k = 0.4140398 at r/a = 0.2: collocation, as Sangani and Acrivos, Int. J. Multiphase Flow 8, 193 (1982); half-way"
    " value: another program; rates: Toelke, Comput. Visual. Sci. 13, 29 (2010), Eq. 9",
)
def cylinder_cell(settings: Settings) -> Iterator:
    """One periodic cell with a cylinder: permeability, force, collisions, viscosity."""
    sizes, rules = CELL_SIZES[:1] if settings.quick else CELL_SIZES, possible_rules(RULES, settings)
    errors: dict[str, list[float]] = {rule: [] for rule in rules}
    for rule, size in product(rules, sizes):
        flow = cell(size, rule, settings=settings)
        errors[rule].append(abs(flow.k / EXACT - 1.0))
        where = f"{rule}, a = {size}"
        if rule == "half-way":
            yield shown(f"k, {where}", EXACT, flow.k)
            if size == CELL_SIZE:
                yield relative(f"k, {where}, regression", HALF_WAY_K, flow.k, SAME[settings.precision])
        else:
            yield relative(f"k, {where}", EXACT, flow.k, K_TOLERANCE[settings.precision])
        tolerance = BALANCE[settings.precision]
        yield relative(f"force on cylinder / body force on fluid, {where}", 1.0, flow.balance, tolerance)
        yield relative(f"force and solid's share / (g a^2), {where}", 1.0, flow.whole, tolerance)
    for rule, size in product(rules[1:], sizes):  # with the links alone, whose walls lose mass
        flow = cell(size, rule, method={"wall_balance": False}, settings=settings)
        yield shown(f"k, {rule}, links alone, a = {size}", EXACT, flow.k)
    yield from _collisions(settings)
    yield convergence("Cell with a cylinder: error of k", "voxels per cell", sizes, errors, 1.0)
    yield from left_out_rules(RULES, settings)


@case(
    "cylinder-array",
    "Toelke, Comput. Visual. Sci. 13, 29 (2010), table 4: relative errors of the solid fraction theta and of k,"
    " bounce-back; his voxelisation is not described, so k is judged only where theta here is at least as good as his",
)
def cylinder_array(settings: Settings) -> Iterator:
    """Toelke's 18 x 18 cylinders on his meshes: error of k beside his."""
    meshes, rule = tuple(TOELKE_LATTICE)[: N_QUICK_MESHES if settings.quick else None], "central-linear"
    half_way = {mesh: array(mesh, "half-way", settings) for mesh in meshes}
    exact_meshes = meshes[: 1 if settings.quick else None] if settings.interpolates else ()
    true_wall = {mesh: array(mesh, rule, settings) for mesh in exact_meshes}
    for mesh in meshes:
        yield from array_rows(mesh, half_way[mesh], true_wall.get(mesh))
    theirs = np.array([TOELKE_LATTICE[mesh] for mesh in meshes]).T
    ours = np.array([_errors(half_way[mesh]) for mesh in meshes]).T
    interpolated = [_errors(flow)[1] for flow in true_wall.values()]
    of_k = (
        Series("Toelke, bounce-back", meshes, theirs[1], "points"),
        Series("half-way", meshes, ours[1], "points"),
        Series("central-linear", tuple(true_wall), interpolated, "points"),
    )
    of_theta = Series("Toelke", meshes, theirs[0], "points"), Series("voxel centres", meshes, ours[0], "points")
    for quantity, symbol, series in (("k", "k", of_k), ("the solid fraction", "theta", of_theta)):
        labels = "mesh of 18 x 18 cylinders", f"relative error of {symbol}"
        yield Plot(f"18 x 18 cylinders: error of {quantity}", *labels, series, log_x=True, log_y=True)
    yield from left_out_rules((rule,), settings)


def cell(size: int, rule: str, nu: float = NU, method: Mapping | None = None, settings: Settings = DEFAULT) -> Seepage:
    """Steady flow through one cell of ``size`` voxels; ``method``: other keys of [lattice] than TRT's."""
    return _seepage(size, 1, nu, creeping(rule, **(method or {})), settings)


def array(mesh: int, rule: str, settings: Settings = DEFAULT) -> Seepage:
    """Steady flow through 18 x 18 cells in ``mesh`` voxels, with Toelke's collision and viscosity."""
    return _seepage(mesh, CELLS, NU, creeping(rule, **toelke_method(NU)), settings)


def toelke_method(nu: float) -> dict:
    """Keys of [lattice] of his Eq. 9: all even moments relax with s = 1 / (3 nu + 1/2), the odd ones with 8 (2 - s) /
    (8 - s)."""
    s = 1.0 / relaxation_time(nu, CS2)
    even = {"bulk": s, "energy_square": s}
    return {"collision": "mrt", "rates": even | {"energy_flux": 8.0 * (2.0 - s) / (8.0 - s)}}


def array_rows(mesh: int, half_way: Seepage, true_wall: Seepage | None) -> list[Row]:
    """Solid fraction and permeability beside Toelke's, whose voxeliser is unknown.

    Interpolated walls must be at least as accurate as his bounce-back. Our bounce-back is only reported: at equal solid
    fraction its error depends on the position of the circles relative to the voxels (at mesh 1024 it is 0.83 to 0.97 %
    for three shifts of the array, his 0.56 %).
    """
    theirs = TOELKE_LATTICE[mesh]
    theta_error, k_error = _errors(half_way)
    rows = [
        shown(f"error of theta, mesh {mesh}, reference: his", theirs[0], theta_error),
        shown(f"error of k, half-way, mesh {mesh}, reference: his", theirs[1], k_error),
    ]
    if true_wall is not None:
        what = f"error of k, central-linear, mesh {mesh}, at most his"
        rows.append(at_most(what, theirs[1], _errors(true_wall)[1]))
    return rows


def _errors(flow: Seepage) -> tuple[float, float]:
    return abs(flow.theta / TOELKE_FRACTION - 1.0), abs(flow.k / EXACT - 1.0)


def _seepage(size: int, cells: int, nu: float, tables: dict, settings: Settings) -> Seepage:
    geometry, edge = {"shape": "cylinder_array", "options": {"size": size, "cells": cells}}, size / cells
    simulation = viscous_flow(geometry, nu, (FORCE, 0.0, 0.0), "D2Q9", settings, tables)
    n_fluid = simulation.nodes.n_nodes
    mean = settled(simulation, lambda: sum_along_x(simulation), GAP * edge) / size**2
    force = over_two_steps(simulation, lambda: simulation.wall_forces(averaged=False)["cylinders"].force_n[0])
    share = simulation.wall_forces(averaged=False)["cylinders"].body_force_share_n[0]
    return Seepage(
        k=4.0 * np.pi * simulation.numerics.viscosity_lattice * mean / (edge**2 * FORCE),
        theta=1.0 - n_fluid / size**2,
        balance=force / (FORCE * n_fluid),
        whole=(force + share) / (FORCE * size**2),
    )


def _collisions(settings: Settings):
    """Dependence of the permeability on collision operator and viscosity."""
    precision, k = settings.precision, {}
    for rule in possible_rules(("half-way", "central-linear"), settings):
        k[rule], thick = (cell(SMALL_CELL, rule, nu, None, settings).k for nu in (NU, 1.0))
        what = f"k(nu = 1) / k(nu = 1/6), TRT, {rule}, a = {SMALL_CELL}"
        yield relative(what, 1.0, thick / k[rule], SAME[precision])
    mrt = cell(SMALL_CELL, "half-way", NU, toelke_method(NU), settings).k
    yield relative(f"k, MRT with Toelke's rates / TRT, a = {SMALL_CELL}", 1.0, mrt / k["half-way"], EQUAL[precision])
    thin, thick = (cell(SMALL_CELL, "half-way", nu, BGK, settings).k for nu in (NU, 1.0))
    what = f"k(nu = 1) / k(nu = 1/6), BGK, half-way, a = {SMALL_CELL}"
    yield relative(what, BGK_DRIFT, thick / thin, BGK_TOLERANCE)
