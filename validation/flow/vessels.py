"""Steady flow through vessels given as surfaces: an aorta in detail, and every surface by wall rule and collision.

Interpolated walls conserve mass only to within their discretisation error: with voxels of 1 mm (15 across the trunk) 1
% of the flow is lost, mostly at the bifurcation. The loss grows with the lattice velocity; at small viscosity it is
several times larger with TRT at fixed Lambda than with BGK, which is therefore used here.

Each surface is filled with voxels, its openings are found, and a parabolic inflow at Re 50 enters through the largest.
Judged is the flow that is lost on the way; the drop of pressure, the flow split and the wall shear stress are shown
beside those of the finest voxels. Surfaces of flat triangles have edges, where the order of convergence is not that of
a smooth wall; orders are judged in tubes (``tilted-pipe``, ``wall-shear``).
"""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from math import inf, pi, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np

from muphy_lb.case.case import Case, case_from_dict
from muphy_lb.geometry.inspection import inspect_input
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.flow_view import on_root
from muphy_lb.measure.shear.wall_shear import WallShear, statistics
from muphy_lb.output.series import flow_split, pressure_drops_pa
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver
from muphy_lb.setup.geometry import load_nodes
from muphy_lb.validation.case import (
    DATA_VARIABLE,
    DEFAULT,
    Row,
    Settings,
    Skipped,
    absolute,
    at_least,
    case,
    data_folder,
    relative,
    shown,
)
from muphy_lb.validation.flow.data_files import SURFACES, DataFile, opening_tables
from muphy_lb.validation.flows import over_two_steps, until_openings_are_steady, until_steady
from muphy_lb.validation.limits import HALF, in_half, left_out_rules, possible_rules, refuse_half
from muphy_lb.validation.plot import Picture, Plot, Series

FOLDER, SURFACE, OPENINGS, WALLS = "aorta_openlb", "aorta3d.stl", "openings.json", "bouzidi"
STRETCH_M = (0.150, 0.215)  # along y; there the vessel is straight and its radius changes by 5 %
STEADY = 1e-4
NOT_HALF = "fp16: rounding by H^2 / (8 nu) 2^-11 is larger than the flow of so thin a fluid"
SHEAR_WHAT = "wall shear stress [Pa]"


@dataclass(frozen=True)
class Size:
    """Resolution and flow parameters of the case."""

    spacing_m: float  # voxel edge
    reynolds: float  # Reynolds number of mean velocity and diameter at the inlet
    lattice_velocity: float  # mean velocity at the inlet, lattice units
    ramp_steps: int  # steps over which the inflow is ramped up
    interval: int  # steps between two checks of the flow rates
    tolerance: float  # largest fraction of the inflow that may be lost


FULL = Size(3.5e-4, 100.0, 0.015, 10_000, 5_000, 0.005)
QUICK = Size(1.2e-3, 20.0, 0.005, 2_000, 500, 0.01)


@case(
    "aorta",
    "conservation of mass, pressure falls along the flow; beside the wall shear stress 4 mu Q / (pi R^3) with the flow"
    " rate at the inlet and the mean radius of the nearly straight stretch; beside the flow split the outlets' share of"
    " their area; file: github.com/openLB/openLB",
)
def aorta(settings: Settings) -> Iterator:
    """Mass conservation, flow split, pressure drop and wall shear stress in an aorta."""
    folder = data_folder(f"{FOLDER}/{SURFACE}", f"{FOLDER}/{OPENINGS}") / FOLDER
    refuse_half(settings, NOT_HALF)
    if not settings.interpolates:
        raise Skipped(left_out_rules((WALLS,), settings)[0])
    size = QUICK if settings.quick else FULL
    simulation = steady_flow(aorta_case(folder, size, settings))
    shear = WallShear(simulation)
    magnitude_pa = np.linalg.norm(on_root(shear.traction_pa()), axis=1)
    openings = {name: asdict(state) for name, state in simulation.openings().items()}
    # The stress of the straight segment beside that of Hagen and Poiseuille with the mean radius of its sections.
    spacing_m, fluid = simulation.units.spacing_m, simulation.case.fluid
    y_m = simulation.nodes.positions_m()[:, 1]
    layer = np.round((y_m - y_m.min()) / spacing_m).astype(np.int64)
    n_section = np.unique(layer[_is_inside(y_m)], return_counts=True)[1]
    radius_m = float(np.sqrt(n_section / pi).mean()) * spacing_m
    own = magnitude_pa[_is_inside(shear.nodes().positions_m()[:, 1])]
    viscosity_pa_s = fluid.density_kg_m3 * fluid.viscosity_m2_s
    inflow = simulation.openings()["inlet"].flow_rate_m3_s
    expected_pa = 4.0 * viscosity_pa_s * inflow / (pi * radius_m**3)
    found = statistics(magnitude_pa[shear.far_from_openings()])
    yield from flow_rows(openings, size.tolerance)
    yield shown("mean wall shear of the straight stretch [Pa]", expected_pa, float(own.mean()))
    names = {"mean": "mean", "p5": "5 % below", "p50": "median", "p95": "95 % below", "p99": "99 % below"}
    for mark, name in names.items():
        yield shown(f"wall shear of the vessel, {name} [Pa]", expected_pa, found[mark])
    yield _walls(shear, magnitude_pa)
    split, shares = flow_split(openings), _area_shares(openings)
    bars = [Series(name, (0, 1), (split[name], shares[name]), "bars") for name in split]
    yield Plot("Aorta: flow split", "", "share of an outlet", tuple(bars), ticks=("of the outflow", "of the area"))


def aorta_case(folder: Path, size: Size, settings: Settings = DEFAULT) -> Case:
    """The case: parabolic inflow of the published fluid, both outlets at pressure 0, interpolated walls."""
    published = json.loads((folder / OPENINGS).read_text())
    (inlet,), (left, right) = published["inlet"], published["outlets"]
    fluid = published["fluid_in_source_example"]
    velocity = size.reynolds * fluid["kinematic_viscosity"] / (2.0 * inlet["radius"])
    table = {
        "geometry": {"file": SURFACE, "unit": "mm", "spacing_m": size.spacing_m},
        "openings": [
            _opening("inlet", inlet, kind="inlet", velocity_m_s=velocity, profile="parabolic"),
            _opening("left", left, kind="outlet", pressure_pa=0.0),
            _opening("right", right, kind="outlet", pressure_pa=0.0),
        ],
        "fluid": {"density_kg_m3": fluid["density"], "kinematic_viscosity_m2_s": fluid["kinematic_viscosity"]},
        "lattice": {"lattice_velocity": size.lattice_velocity, "walls": WALLS},
        "compute": settings.compute_table(),
        "run": {"steps": 1, "ramp_steps": size.ramp_steps, "steady_interval_steps": size.interval},
    }
    return case_from_dict(table, folder)


def steady_flow(case: Case) -> Solver:
    """The flow of a case, stepped from rest until the flow rates have settled. Raises MuphyError: they do not settle,
    or the flow diverges."""
    simulation = Solver(case, SerialCommunicator())
    simulation.step(case.run.ramp_steps)
    interval = case.run.steady_interval_steps
    until_steady(simulation, lambda: over_two_steps(simulation, lambda: _rates(simulation)), STEADY, interval)
    return simulation


def _is_inside(y_m: np.ndarray) -> np.ndarray:
    return (y_m >= STRETCH_M[0]) & (y_m < STRETCH_M[1])


def _opening(name: str, published: Mapping, **condition) -> dict:
    geometry = {"centre_m": published["centre"], "normal": published["normal_axis"], "radius_m": published["radius"]}
    return {"name": name, **geometry, **condition}


def _rates(simulation: Solver) -> np.ndarray:
    return np.array([state.flow_rate_m3_s for state in simulation.openings().values()])


def flow_rows(openings: Mapping[str, Mapping], tolerance: float) -> Iterator[Row]:
    """Rows for mass conservation, pressure drops and the flow split. ``openings``: by name, the fields of
    :class:`muphy_lb.measure.records.OpeningState`; one of them is ``"inlet"``; ``tolerance``: largest share of the
    inflow that may be lost."""
    outlets = {name: state for name, state in openings.items() if state["kind"] == "outlet"}
    outflow = sum(state["flow_rate_m3_s"] for state in outlets.values())
    yield relative("sum of the outflows [m3/s]", openings["inlet"]["flow_rate_m3_s"], outflow, tolerance)
    for name, drop in pressure_drops_pa(openings).items():
        yield at_least(f"pressure at the inlet above that at outlet {name} [Pa]", 0.0, drop, 0.0)
    split = flow_split(openings)
    for name, share in _area_shares(openings).items():
        yield shown(f"share of the outflow through outlet {name}", share, split[name])


def _area_shares(openings: Mapping) -> dict[str, float]:
    areas = {name: state["area_m2"] for name, state in openings.items() if state["kind"] == "outlet"}
    return {name: area / sum(areas.values()) for name, area in areas.items()}


def _walls(shear: WallShear, magnitude_pa: np.ndarray) -> Picture:
    from muphy_lb.output.pictures.wall import draw_walls

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "walls.png")
        draw_walls(path, shear.nodes(), magnitude_pa, SHEAR_WHAT)
        return Picture("Aorta: wall shear stress at the nodes beside the wall", path.read_bytes())


RULES = ("half-way", "bouzidi", "central-linear")
COLLISIONS = ("bgk", "trt", "mrt", "regularised", "recursive-regularised", "cumulant")
# Voxels across the inlet.
SIZES, QUICK_SIZES = (16, 32, 48), (10,)
INFLOW, REYNOLDS, DENSITY_KG_M3, VISCOSITY_M2_S = 0.02, 50.0, 1000.0, 1e-6
LOSS, GIVEN_STEADY, STEPS_PER_VOXEL = 5e-4, 1e-5, 32
# More slowly than sound crosses the vessel: an inflow that rises at once swings, and outlets of 8 voxels diverge.
RAMP_STEPS_PER_VOXEL, GIVEN_NOT_HALF = 200, "fp16: what is lost is shown, not judged"


class Vessel(NamedTuple):
    """A surface filled with voxels: the tables of its case but ``lattice`` and ``compute``, and its nodes."""

    table: dict
    nodes: NodeList


class VesselFlow(NamedTuple):
    """A steady flow through a vessel."""

    lost: float  # inflow less all outflow, over the inflow
    share: float  # of the outflow, of the first outlet
    drop: float  # mean drop of pressure from the inlet to the outlets over rho u^2, u the mean velocity at the inlet
    shear_pa: float  # mean wall shear stress farther than a diameter from the openings [Pa], weighted by area


@case("given-vessels", "conservation of mass; beside the other quantities those of the finest voxels")
def given_vessels(settings: Settings) -> Iterator:
    """Flow lost, flow split, pressure drop and wall shear in aortas and bifurcations, by wall rule and collision."""
    folder = os.environ.get(DATA_VARIABLE)
    present = [item for item in SURFACES if folder and Path(folder, item.file).is_file()]
    if not folder or not present:
        raise Skipped(f"no surfaces of vessels in ${DATA_VARIABLE}")
    sizes, collisions = (QUICK_SIZES, ("trt",)) if settings.quick else (SIZES, COLLISIONS)
    bound = inf if settings.precision == HALF else LOSS
    for item in present[-1:] if settings.quick else present:
        vessels = {size: read_vessel(item, Path(folder), size) for size in sizes}
        for rule, collision in product(possible_rules(RULES, settings), collisions):
            flows = {size: given_steady_flow(vessel, rule, collision, settings) for size, vessel in vessels.items()}
            finest = flows[max(flows)]
            for size, flow in flows.items():
                what = f"{item.name}, {rule}, {collision}, {size} voxels"
                yield absolute(f"{what}: flow lost / inflow", 0.0, flow.lost, bound)
                drops = f"{what}: drop of pressure / (rho u^2)", finest.drop, flow.drop
                shares = f"{what}: share of the first outlet", finest.share, flow.share
                shears = f"{what}: mean wall shear stress [Pa]", finest.shear_pa, flow.shear_pa
                yield from (shown(*each) for each in (drops, shares, shears) if flow is not finest)
    yield from (f"no {item.file} in ${DATA_VARIABLE}" for item in SURFACES if item not in present)
    yield from left_out_rules(RULES, settings) + in_half(settings, GIVEN_NOT_HALF)


def read_vessel(item: DataFile, folder: Path, size: int) -> Vessel:
    """A surface filled with ``size`` voxels across its inlet, the widest of the openings found. Raises GeometryError:
    the file is not what its record says."""
    path = (folder / item.file).resolve()
    found = inspect_input(path, **item.options).found
    diameter_m = 2.0 * sqrt(found[0].area_m2 / pi)
    inlet, *outlets = opening_tables(found)
    inlet |= {"velocity_m_s": REYNOLDS * VISCOSITY_M2_S / diameter_m, "profile": "parabolic"}
    table = {
        "geometry": {"file": str(path), "unit": item.options["unit"], "spacing_m": diameter_m / size},
        "openings": [inlet, *(outlet | {"pressure_pa": 0.0} for outlet in outlets)],
        "fluid": {"density_kg_m3": DENSITY_KG_M3, "kinematic_viscosity_m2_s": VISCOSITY_M2_S},
        "run": {"steps": 1, "ramp_steps": RAMP_STEPS_PER_VOXEL * size, "steady_interval_steps": STEPS_PER_VOXEL * size},
    }
    lattice = {"lattice_velocity": INFLOW, "walls": "bouzidi"}
    return Vessel(table, load_nodes(case_from_dict(table | {"lattice": lattice}))[0])


def given_steady_flow(vessel: Vessel, rule: str, collision: str, settings: Settings = DEFAULT) -> VesselFlow:
    """The steady flow through a vessel with a rule for its walls and a collision, on one rank. ``vessel``: what
    :func:`read_vessel` returned; ``rule``, ``collision``: ``lattice.walls`` and ``lattice.collision``. Raises
    MuphyError: the flow diverges, or does not settle."""
    name = "D3Q27" if collision == "cumulant" else "D3Q19"
    lattice = {"name": name, "walls": rule, "collision": collision, "lattice_velocity": INFLOW}
    own = case_from_dict(vessel.table | {"lattice": lattice, "compute": settings.compute_table()})
    simulation = Solver(own, SerialCommunicator(), vessel.nodes)
    interval = own.run.steady_interval_steps
    through = until_openings_are_steady(simulation, GIVEN_STEADY, interval)
    shear = WallShear(simulation)
    area = np.where(shear.far_from_openings(), shear.areas.area, 0.0)
    magnitude_pa = np.linalg.norm(on_root(shear.traction_pa()), axis=1)
    drops_pa = pressure_drops_pa({name: vars(state) for name, state in simulation.openings().items()})
    dynamic_pa = DENSITY_KG_M3 * vessel.table["openings"][0]["velocity_m_s"] ** 2
    return VesselFlow(
        float(through.sum() / through[0]),
        float(through[1] / through[1:].sum()),
        float(np.mean(list(drops_pa.values())) / dynamic_pa),
        float((magnitude_pa * area).sum() / area.sum()),
    )
