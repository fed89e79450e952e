"""Aortas and bifurcations given as surfaces: what a wall rule and a collision make of the same steady flow.

Each surface is filled with voxels, its openings are found, and a parabolic inflow at Re 50 enters through the largest.
Judged is the flow that is lost on the way; the drop of pressure, the flow split and the wall shear stress are shown
beside those of the finest voxels. Surfaces of flat triangles have edges, where the order of convergence is not that of
a smooth wall; orders are judged in tubes (``tilted-pipe``, ``wall-shear``).
"""

import os
from collections.abc import Iterator
from itertools import product
from math import inf, pi, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np

from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.inspection import inspect_input
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.wall_shear import WallShear
from muphy_lb.output.summary import pressure_drops_pa
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.simulation import Simulation
from muphy_lb.setup.geometry import load_nodes
from muphy_lb.validation.case import DATA_VARIABLE, DEFAULT, Settings, Skipped, absolute, case, shown
from muphy_lb.validation.flow.data_files import opening_tables
from muphy_lb.validation.flows import flow_through_openings, over_two_steps, until_steady
from muphy_lb.validation.limits import HALF, in_half, left_out_rules, possible_rules
from muphy_lb.validation.references.data_files import SURFACES, DataFile

RULES = ("half-way", "bouzidi", "central-linear")
COLLISIONS = ("bgk", "trt", "mrt", "regularised", "recursive-regularised", "cumulant")
# Voxels across the inlet.
SIZES, QUICK_SIZES = (16, 32, 48), (10,)
INFLOW, REYNOLDS = 0.02, 50.0
DENSITY_KG_M3, VISCOSITY_M2_S = 1000.0, 1e-6
LOSS = 5e-4
STEADY, STEPS_PER_VOXEL = 1e-5, 32
TIMED_STEPS = 200
# More slowly than sound crosses the vessel: an inflow that rises at once swings, and outlets of 8 voxels diverge.
RAMP_STEPS_PER_VOXEL = 200
NOT_HALF = "fp16: what is lost is shown, not judged"


class Vessel(NamedTuple):
    """A surface filled with voxels: the tables of its case but ``lattice`` and ``compute``, and its nodes."""

    table: dict
    nodes: NodeList


class VesselFlow(NamedTuple):
    """A steady flow through a vessel."""

    n_nodes: int  # fluid nodes
    lost: float  # inflow less all outflow, over the inflow
    share: float  # of the outflow, of the first outlet
    drop: float  # mean drop of pressure from the inlet to the outlets over rho u^2, u the mean velocity at the inlet
    shear_pa: float  # mean wall shear stress farther than a diameter from the openings [Pa], weighted by area
    steps: int  # steps until it was steady
    us_a_step: float  # wall time of a step [microseconds]


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
            flows = {size: steady_flow(vessel, rule, collision, settings) for size, vessel in vessels.items()}
            finest = flows[max(flows)]
            for size, flow in flows.items():
                what = f"{item.name}, {rule}, {collision}, {size} voxels"
                yield absolute(f"{what}: flow lost / inflow", 0.0, flow.lost, bound)
                if flow is not finest:
                    yield shown(f"{what}: drop of pressure / (rho u^2)", finest.drop, flow.drop)
                    yield shown(f"{what}: share of the first outlet", finest.share, flow.share)
                    yield shown(f"{what}: mean wall shear stress [Pa]", finest.shear_pa, flow.shear_pa)
    yield from (f"no {item.file} in ${DATA_VARIABLE}" for item in SURFACES if item not in present)
    yield from left_out_rules(RULES, settings) + in_half(settings, NOT_HALF)


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


def steady_flow(vessel: Vessel, rule: str, collision: str, settings: Settings = DEFAULT) -> VesselFlow:
    """The steady flow through a vessel with a rule for its walls and a collision, on one rank. ``vessel``: what
    :func:`read_vessel` returned; ``rule``, ``collision``: ``lattice.walls`` and ``lattice.collision``. Raises
    MuphyError: the flow diverges, or does not settle."""
    name = "D3Q27" if collision == "cumulant" else "D3Q19"
    lattice = {"name": name, "walls": rule, "collision": collision, "lattice_velocity": INFLOW}
    own = case_from_dict(vessel.table | {"lattice": lattice, "compute": settings.compute_table()})
    simulation = Simulation(own, SerialCommunicator(), vessel.nodes)
    interval = own.run.steady_interval_steps
    through = until_steady(
        simulation, lambda: over_two_steps(simulation, lambda: flow_through_openings(simulation)), STEADY, interval
    )
    steps, n_nodes = simulation.step_number, simulation.header.n_nodes
    shear = WallShear(simulation)
    area = np.where(shear.far_from_openings(), shear.areas.area, 0.0)
    magnitude_pa = np.linalg.norm(shear.traction_pa(), axis=1)
    drops_pa = pressure_drops_pa({name: vars(state) for name, state in simulation.openings().items()})
    dynamic_pa = DENSITY_KG_M3 * vessel.table["openings"][0]["velocity_m_s"] ** 2
    return VesselFlow(
        n_nodes,
        float(through.sum() / through[0]),
        float(through[1] / through[1:].sum()),
        float(np.mean(list(drops_pa.values())) / dynamic_pa),
        float((magnitude_pa * area).sum() / area.sum()),
        steps,
        n_nodes / simulation.timed_mflups(TIMED_STEPS),
    )
