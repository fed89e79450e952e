"""Values of wall nodes are carried over to the vertices of a surface."""

import meshio
import numpy as np
import pytest

from muphy_lb.case.case import case_from_dict
from muphy_lb.output.surface_values import on_surface
from muphy_lb.run.loop import Run
from muphy_lb.run.simulation import Simulation
from tests.unit.geometry.surfaces import sphere, tube
from tests.unit.geometry.test_surface import write_stl
from tests.vessel import changed


def test_a_smooth_field_on_the_wall_is_found_on_the_surface():
    surface = sphere(1.0, 3)
    wall = sphere(1.0, 4).points
    weights = on_surface(surface, wall, wall, 0.1)
    found = weights.values(wall)
    np.testing.assert_allclose(found, surface.points, atol=0.05)


def test_the_other_side_of_a_thin_wall_does_not_count():
    surface = sphere(1.0, 3)
    outer, inner = sphere(1.01, 3).points, sphere(0.99, 3).points
    wall, normal = np.vstack((outer, inner)), np.vstack((-outer, inner))
    values = np.repeat([5.0, 1.0], len(outer))
    np.testing.assert_allclose(on_surface(surface, wall, normal, 0.1).values(values), 1.0)


def test_the_file_holds_the_triangles_near_the_nodes_and_their_values(tmp_path):
    surface = tube()
    lower = surface.points[surface.points[:, 2] < 3.0]
    normal = lower * (1.0, 1.0, 0.0)
    on_surface(surface, lower, normal, 0.1).write(tmp_path / "w.vtu", {"stress": lower})
    read = meshio.read(tmp_path / "w.vtu")
    values = read.point_data["stress"]
    known = np.isfinite(values[:, 0])
    np.testing.assert_allclose(values[known], read.points[known], atol=1e-6)
    assert 0.0 < read.points[known, 2].max() == pytest.approx(2.5)
    assert len(read.cells_dict["triangle"]) < len(surface.triangles)


def test_a_run_on_a_surface_writes_its_wall_shear_there(tmp_path):
    path = write_stl(tmp_path / "tube.stl", tube(ends=("open", "open")))
    openings = [
        {"name": "inlet", "kind": "inlet", "centre_m": [0, 0, 0], "normal": [0, 0, 1], "velocity_m_s": 0.01},
        {"name": "outlet", "kind": "outlet", "centre_m": [0, 0, 6e-3], "normal": [0, 0, -1], "pressure_pa": 0.0},
    ]
    geometry = {"file": str(path), "unit": "mm", "spacing_m": 2.5e-4, "shape": None, "options": None}
    output = {"wall_shear": True, "vtk": True, "report": False}
    compute = {"backend": "numpy"}
    table = changed(geometry=geometry, compute=compute, output=output, run={"steps": 20, "ramp_steps": 5})
    Run(Simulation(case_from_dict(table | {"openings": openings})), tmp_path).execute()
    read = meshio.read(tmp_path / "wall_shear_surface.vtu")
    stress = np.linalg.norm(read.point_data["wall_shear_stress"], axis=1)
    assert np.nanmedian(stress) > 0.0 and np.isfinite(stress).mean() > 0.8
    assert {0.0, 1.0} == {round(float(value)) for value in np.nan_to_num(read.point_data["counted"])}
