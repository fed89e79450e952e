"""Flow through a real aorta: what enters leaves."""

import json

import pytest

from muphy_lb.case.case import case_from_dict
from muphy_lb.run.loop import STEADY, Run
from muphy_lb.run.solver import Solver

MAX_IMBALANCE = 0.005  # steady to a thousandth over an interval in which pressure waves cross the vessel


def opening(name, kind, record, **condition):
    geometric = {"centre_m": record["centre"], "normal": record["normal_axis"], "radius_m": record["radius"]}
    return {"name": name, "kind": kind} | geometric | condition


def aorta(folder, spacing_m):
    """Slow flow of a thick fluid, which is soon steady, between the published openings."""
    published = json.loads((folder / "openings.json").read_text())
    outlets = [
        opening(f"outlet_{k}", "outlet", record, pressure_pa=0.0) for k, record in enumerate(published["outlets"])
    ]
    return case_from_dict(
        {
            "geometry": {"file": "aorta3d.stl", "unit": "mm", "spacing_m": spacing_m},
            "openings": [opening("inlet", "inlet", published["inlet"][0], velocity_m_s=0.01), *outlets],
            "fluid": {"density_kg_m3": 1055.0, "kinematic_viscosity_m2_s": 1e-5},
            "lattice": {"lattice_velocity": 0.02},
            "compute": {"backend": "cpu"},
            "run": {"steps": 10_000, "steady_tolerance": 1e-3},
            "output": {"picture": False, "vtk": False},
        },
        folder,
    )


@pytest.mark.parametrize("spacing_m", [1.5e-3, pytest.param(1e-3, marks=pytest.mark.night)])
def test_what_enters_the_aorta_leaves_it(data_dir, tmp_path, spacing_m):
    simulation = Solver(aorta(data_dir / "aorta_openlb", spacing_m))
    reason, summary = Run(simulation, tmp_path).execute()
    inflow, *outflows = (state["flow_rate_m3_s"] for state in summary["openings"].values())
    assert reason == STEADY
    assert inflow == pytest.approx(0.01 * summary["openings"]["inlet"]["area_m2"], rel=1e-5)
    assert min(outflows) > 0.0
    assert sum(outflows) == pytest.approx(inflow, rel=MAX_IMBALANCE)
