"""What is measured at openings and walls with a free surface: what the liquid does there, and the pressure of gas."""

import json

import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver

COLUMN = {
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 5e-5},
    "flow": {"acceleration_m_s2": [-1.0, 0.0, 0.0]},
    "lattice": {"name": "D2Q9", "time_step_s": 1e-4},
    "compute": {"backend": "cpu"},
    "run": {"steps": 100, "ramp_steps": 0},
}
INFLOW_M_S, PRESSURE_PA, DEPTH_M, GAS_PA = 0.05, 0.0, 0.0125, 50.0
FILLING = COLUMN | {
    "geometry": {"shape": "channel", "spacing_m": 1e-3, "options": {"length": 30, "height": 8, "ends": "open"}},
    "openings": [{"name": "inlet", "velocity_m_s": INFLOW_M_S}, {"name": "outlet", "pressure_pa": PRESSURE_PA}],
    "free_surface": {"liquid": [{"box_m": [[-1.0, -1.0, -1.0], [0.010, 1.0, 1.0]]}]},
}
WALLS = COLUMN | {
    "geometry": {"shape": "facing_walls", "spacing_m": 1e-3, "options": {"size": 24, "dimension": 2}},
    "walls": [{"name": "cold"}, {"name": "hot"}],
}


def test_gas_does_not_flow_through_an_outlet():
    simulation = Solver(case_from_dict(FILLING))
    simulation.step(100)
    openings = simulation.openings()
    assert openings["outlet"].flow_rate_m3_s == 0.0
    assert openings["outlet"].mean_pressure_pa == pytest.approx(PRESSURE_PA)
    assert openings["inlet"].flow_rate_m3_s == pytest.approx(INFLOW_M_S * openings["inlet"].area_m2, rel=1e-6)


@pytest.mark.parametrize("gas_pa", [0.0, GAS_PA])
def test_a_wall_beside_gas_feels_its_pressure_and_one_below_liquid_its_weight(gas_pa):
    liquid = {"box_m": [[-1.0, -1.0, -1.0], [DEPTH_M, 1.0, 1.0]]}
    surface = {"gas_pressure_pa": gas_pa, "liquid": [liquid]}
    simulation = Solver(case_from_dict(WALLS | {"free_surface": surface}))
    simulation.step(100)
    walls = simulation.wall_forces()
    face_m2, weight_n = 24e-3 * 1e-3, 1000.0 * 1.0 * (DEPTH_M - 0.5e-3) * 24e-3 * 1e-3
    in_corners = 0.02  # where links end in other walls
    assert walls["hot"].force_n[0] == pytest.approx(gas_pa * face_m2, rel=in_corners, abs=1e-12)
    assert -walls["cold"].force_n[0] == pytest.approx(gas_pa * face_m2 + weight_n, rel=in_corners)


def test_an_opening_of_the_geometry_is_of_the_kind_that_it_is():
    openings = [FILLING["openings"][0] | {"kind": "outlet"}, FILLING["openings"][1]]
    with pytest.raises(InputError, match="openings.inlet.kind is 'outlet', but the geometry has an inlet of this name"):
        Solver(case_from_dict(FILLING | {"openings": openings}))


def test_less_liquid_than_a_voxel_has_no_bounds(tmp_path):
    liquid = {"centre_m": [0.02, 0.02, 0.0], "radius_m": 0.0005}
    geometry = {"shape": "tank", "spacing_m": 4e-3, "options": {"length": 20, "height": 12}}
    changes = {"flow": {}, "geometry": geometry, "free_surface": {"liquid": [liquid]}, "run": {"steps": 2}}
    Run(Solver(case_from_dict(COLUMN | changes)), tmp_path).execute()
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["free_surface"]["volume_m3"] > 0.0
