"""Tanks with random liquid, contact angles, periodic edges, gravity: no liquid beside gas ever, and no mass is lost."""

import numpy as np
import pytest

from muphy_lb.case.case import case_from_dict
from muphy_lb.physics.free_surface.cells import CELL, GAS, is_liquid
from muphy_lb.run.solver import Solver

N_LOOKS, STEPS = 4, 12
PERIODIC = {0: [], 1: ["x"], 2: ["y"], 3: ["x", "y"]}


def random_tank(seed: int) -> tuple[dict, tuple[int, int]]:
    """The tables of a plane case in lattice units, and its height and length."""
    random = np.random.default_rng(seed)
    length, height = (int(n) for n in random.integers((10, 8), (24, 18)))
    centre, radius = random.uniform(0, (length, height)), float(random.uniform(3.0, 6.0))
    corner = random.uniform(-2.0, (0.7 * length, 0.7 * height))
    far = corner + random.uniform(3.0, (length, height))
    liquid = [
        {"centre_m": [*centre, 0.0], "radius_m": radius, "velocity_m_s": [*random.normal(scale=0.03, size=2), 0.0]},
        {"box_m": [[*corner, -1.0], [*far, 1.0]]},
    ]
    tension = float(random.uniform(1e-4, 1e-2))
    tables = {
        "geometry": {"shape": "tank", "spacing_m": 1.0, "options": {"length": length, "height": height, "width": 1}},
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.1},
        "flow": {"acceleration_m_s2": [*random.normal(scale=5e-5, size=2), 0.0]},
        "free_surface": {"liquid": liquid, "surface_tension_n_m": tension},
        "lattice": {"time_step_s": 1.0, "name": "D2Q9"},
        "compute": {"backend": "numpy", "precision": "fp64"},
        "run": {"steps": 100, "ramp_steps": 0},
    }
    if seed % 2:
        tables["free_surface"]["contact_angle_deg"] = float(random.uniform(0.0, 180.0))
    if PERIODIC[seed % 4]:
        tables["geometry"]["periodic"] = PERIODIC[seed % 4]
    return tables, (height, length)


def n_broken(cell: np.ndarray, periodic: list[str]) -> int:
    """How many links lead from liquid to gas, of cells (height, length)."""
    count = 0
    for up, along in ((0, 1), (1, 0), (1, 1), (1, -1)):
        beside = np.roll(cell, (-up, -along), axis=(0, 1)).astype(int)
        if up and "y" not in periodic:
            beside[-1] = -1
        if along and "x" not in periodic:
            beside[:, -1 if along > 0 else 0] = -1
        count += np.count_nonzero(is_liquid(cell) & (beside == GAS)) + np.count_nonzero(
            (cell == GAS) & (beside > 0) & is_liquid(beside)
        )
    return count


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.night) for seed in range(4, 8))])
def test_no_liquid_is_ever_beside_gas_and_no_mass_is_lost(seed):
    tables, shape = random_tank(seed)
    simulation = Solver(case_from_dict(tables))
    for _ in range(N_LOOKS):
        assert n_broken(simulation.model_field(CELL).reshape(shape), PERIODIC[seed % 4]) == 0
        simulation.step(STEPS)
    assert simulation.health().mass_drift == pytest.approx(0.0, abs=1e-12)
