"""The temperature that is measured in a flow, and what a run tells of it."""

import csv
import json

import numpy as np
import pytest

from muphy_lb.base.units import Units
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.physics.fluctuating.temperature import BOLTZMANN_J_K, lattice_kt, measured_kt
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from muphy_lb.validation.fluctuating.boxes import equilibrium_populations
from tests.support import random_voxels

KT = 1e-6
TABLES = {
    "geometry": {"shape": "channel", "spacing_m": 1e-8, "options": {"length": 65, "height": 65}},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6, "temperature_k": 300.0},
    "fluctuating": {},
    "lattice": {"name": "D2Q9", "relaxation_time": 1.0},
    "compute": {"backend": "numpy", "precision": "fp64"},
    "run": {"steps": 60, "ramp_steps": 0},
    "output": {"series_every_steps": 20, "picture": False},
}


def test_kt_in_lattice_units_is_that_of_the_lattice_unit_of_energy():
    units = Units(spacing_m=1e-8, time_step_s=1e-11, density_kg_m3=1000.0)
    assert lattice_kt(300.0, units) == pytest.approx(BOLTZMANN_J_K * 300.0 * 1e-22 / (1e3 * 1e-40), rel=1e-12)


def test_a_flow_and_walls_do_not_count_as_temperature():
    nodes = build_nodes(random_voxels((20, 20, 20), fluid=0.8))
    noise = np.sqrt(KT) * np.random.default_rng(1).standard_normal((nodes.n_nodes, 3))
    shear = 0.01 * nodes.coordinates()
    kt, error = measured_kt(nodes, noise + shear)
    assert abs(kt - KT) < 4.0 * error < 0.1 * KT


def test_the_standard_error_is_that_of_many_measurements():
    nodes, rng = build_nodes(random_voxels((8, 8, 8), fluid=0.9)), np.random.default_rng(2)
    found = np.array([measured_kt(nodes, rng.standard_normal((nodes.n_nodes, 3))) for _ in range(400)])
    assert found[:, 0].mean() == pytest.approx(1.0, abs=4.0 * found[0, 1] / 20.0)
    assert found[:, 0].std() == pytest.approx(found[:, 1].mean(), rel=0.15)


def test_where_no_three_nodes_lie_in_a_row_there_is_no_temperature():
    nodes = build_nodes(random_voxels((4, 4, 2), fluid=1.0))
    assert np.isnan(measured_kt(nodes, np.ones((nodes.n_nodes, 3)))).all()


def test_a_run_tells_the_temperature_that_was_asked_for(tmp_path):
    Run(Solver(case_from_dict(TABLES)), tmp_path).execute()
    record = json.loads((tmp_path / "summary.json").read_text())["fluctuations"]
    assert record["asked_k"] == 300.0 and 0.0 < record["standard_error_k"] < 10.0
    assert abs(record["temperature_k"] - 300.0) < 4.0 * record["standard_error_k"]
    rows = list(csv.DictReader((tmp_path / "fluctuations.csv").open()))
    assert float(rows[-1]["temperature_k"]) == pytest.approx(record["temperature_k"])
    assert "temperature of the fluctuations" in (tmp_path / "report.html").read_text()


def test_pressure_does_not_change_the_temperature(tmp_path):
    simulation = Solver(case_from_dict(TABLES))
    (physics,) = simulation.physics
    (series,) = physics.observers(simulation, tmp_path, None)
    rng = np.random.default_rng(3)
    state = equilibrium_populations(simulation.lattice, simulation.nodes.n_nodes, physics.kt, rng)
    for pressed in (0.0, 0.1):
        simulation.engine.set_populations(state + pressed * simulation.lattice.w[:, None])
        temperature, error = series.numbers()
        assert abs(temperature - 300.0) < 4.0 * error
