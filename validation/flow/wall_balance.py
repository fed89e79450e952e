"""Mass at walls: what flows into a vessel flows out of it, whatever the rule of its walls and the collision."""

from itertools import product
from math import inf

import numpy as np

from muphy_lb.run.simulation import Simulation
from muphy_lb.validation.flow.balance import mass_drift
from muphy_lb.validation.flows import (
    creeping,
    flow_through_openings,
    forced_flow,
    lattice_simulation,
    over_two_steps,
    until_steady,
)
from muphy_lb.validation.limits import HALF, in_half, left_out_rules, possible_rules
from muphy_lb.validation.record import Row, Validation, absolute
from muphy_lb.validation.settings import DEFAULT, Settings

CITATION = "conservation of mass"
RULES, COLLISIONS = ("half-way", "bouzidi", "central-linear"), ("trt", "bgk", "mrt")
# Voxels across the inlet.
SIZES, QUICK_SIZES = (16, 32), (10,)
INFLOW, REYNOLDS, SEVERITY = 0.02, 50.0, 0.5
LOSS = 5e-4
# Largest change of a flow rate in so many steps. Quick: what was still missing of it was 9e-5, a sixth of LOSS.
STEADY, INTERVAL, QUICK_STEADY, QUICK_INTERVAL = 1e-5, 500, 1e-4, 250
INNER, OUTER, SURFACE_VELOCITY, RELAXATION_TIME = 5.3, 12.6, 0.05, 0.8
TURNING_STEPS, QUICK_TURNING_STEPS = 100_000, 2_000
DRIFT = {"fp64": 1e-12, "fp32": 1e-6, "fp16": inf}
NOT_HALF = "fp16: what is lost is shown, not judged"
VESSELS = ("stenosis", "branching vessel")


def wall_balance(settings: Settings = DEFAULT) -> Validation:
    """Flow lost between the inlet and the outlets of two vessels, and mass around a turning cylinder."""
    sizes, collisions = (QUICK_SIZES, COLLISIONS[:1]) if settings.quick else (SIZES, COLLISIONS)
    rules = possible_rules(RULES, settings)
    cases = product(VESSELS, sizes, collisions, rules)
    rows = [_loss_row(*case, settings) for case in cases]
    rows += [_drift_row(rule, settings) for rule in rules]
    left_out = left_out_rules(RULES, settings) + in_half(settings, NOT_HALF)
    return Validation("wall-balance", CITATION, tuple(rows), left_out=left_out)


def flows(vessel: str, size: int, collision: str, rule: str, settings: Settings = DEFAULT) -> tuple[float, np.ndarray]:
    """(inflow, outflow at each outlet) of a steady flow, lattice units. ``vessel``: one of ``VESSELS``; ``size``:
    voxels across the inlet; ``collision``, ``rule``: ``lattice.collision`` and ``lattice.walls`` of a case."""
    simulation = vessel_flow(vessel, size, collision, rule, settings)
    steady, interval = (QUICK_STEADY, QUICK_INTERVAL) if settings.quick else (STEADY, INTERVAL)
    found = until_steady(
        simulation, lambda: over_two_steps(simulation, lambda: flow_through_openings(simulation)), steady, interval
    )
    return float(found[0]), -found[1:]


def vessel_flow(vessel: str, size: int, collision: str, rule: str, settings: Settings = DEFAULT) -> Simulation:
    """A vessel at rest that a parabolic inflow is about to enter; SI units are lattice units."""
    geometry = {
        "stenosis": {
            "shape": "stenosis",
            "options": {"length": 5 * size, "radius": size / 2.0, "severity": SEVERITY, "extent": 2.0 * size},
        },
        "branching vessel": {"shape": "branching_vessel", "options": {"generations": 1, "parent_radius_m": size / 2.0}},
    }[vessel]
    n_outlets = 1 if vessel == "stenosis" else 2
    names = ("outlet",) if n_outlets == 1 else ("outlet_1", "outlet_2")
    outlets = [{"name": name, "pressure_pa": 0.0} for name in names]
    inlet = {"name": "inlet", "velocity_m_s": INFLOW, "profile": "parabolic"}
    tables = {"openings": [inlet, *outlets], "run": {"steps": 1, "ramp_steps": 20 * size}}
    lattice = {"name": "D3Q19", "collision": collision, "walls": rule}
    return lattice_simulation(settings, geometry, INFLOW * size / REYNOLDS, lattice=lattice, **tables)


def drift_around_a_turning_cylinder(rule: str, n_steps: int, settings: Settings = DEFAULT) -> float:
    """Largest change of the mass between a turning cylinder and one at rest, over the mass."""
    walls = ({"name": "inner", "rotation_rad_s": [0.0, 0.0, SURFACE_VELOCITY / INNER]}, {"name": "outer"})
    geometry = {"shape": "annulus", "options": {"inner": INNER, "outer": OUTER}}
    tables = {**creeping(rule), "walls": walls}
    tables["lattice"]["equilibrium"] = "compressible"
    simulation = forced_flow(geometry, RELAXATION_TIME, (0.0,) * 3, "D2Q9", settings, tables)
    drift, largest = mass_drift(simulation), 0.0
    for _ in range(10):
        simulation.step(n_steps // 10)
        largest = max(largest, abs(drift()))
    return largest


def _loss_row(vessel: str, size: int, collision: str, rule: str, settings: Settings) -> Row:
    inflow, outflow = flows(vessel, size, collision, rule, settings)
    what = f"flow lost / inflow, {vessel}, {size} voxels across, {rule}, {collision}"
    return absolute(what, 0.0, 1.0 - outflow.sum() / inflow, inf if settings.precision == HALF else LOSS)


def _drift_row(rule: str, settings: Settings) -> Row:
    n_steps = QUICK_TURNING_STEPS if settings.quick else TURNING_STEPS
    drift = drift_around_a_turning_cylinder(rule, n_steps, settings)
    what = f"change of mass around a turning cylinder in {n_steps:,} steps, {rule}"
    return absolute(what, 0.0, drift, DRIFT[settings.precision])
