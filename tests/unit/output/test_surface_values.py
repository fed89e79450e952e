"""Values of wall nodes are carried over to the vertices of a surface."""

import numpy as np
import pytest
import pyvista
from vtkmodules.vtkCommonCore import vtkDataArray

from muphy_lb.case.case import case_from_dict
from muphy_lb.output.vtp import Triangles, on_surface, write_vtp
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
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


def test_the_triangles_near_the_nodes_have_values_at_all_corners():
    surface = tube()
    lower = surface.points[surface.points[:, 2] < 3.0]
    found = on_surface(surface, lower, lower * (1.0, 1.0, 0.0), 0.1).triangles({"stress": lower}, {}, "stress")
    np.testing.assert_allclose(found.fields["stress"], found.points_m, atol=1e-6)
    assert 0.0 < found.points_m[:, 2].max() == pytest.approx(2.5)
    assert 0 < len(found.triangles) < len(surface.triangles)


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
    Run(Solver(case_from_dict(table | {"openings": openings})), tmp_path).execute()
    for name in ("wall_shear_surface.vtp", "wall_shear_surface.vtkhdf"):
        read = pyvista.read(tmp_path / name)
        assert read.is_all_triangles
        stress = read.point_data["wall_shear_stress"]
        assert np.isfinite(stress).all() and np.median(np.linalg.norm(stress, axis=1)) > 0.0
        assert {0.0, 1.0} == {round(float(value)) for value in read.point_data["counted"]}
    assert pyvista.read(tmp_path / "wall_shear_surface.vtp").active_scalars_name == "wall_shear_magnitude"


def test_a_vtp_file_holds_points_triangles_values_and_their_units(tmp_path):
    surface = sphere(1.0, 2)
    fields = {"stress <vector>": surface.points, "x & y": surface.points[:, 0] + 2.0 * surface.points[:, 1]}
    found = Triangles(surface.points, surface.triangles, fields, {"x & y": "Pa", "stress <vector>": "1/Pa"}, "x & y")
    write_vtp(tmp_path / "sphere.vtp", found)
    read = pyvista.read(tmp_path / "sphere.vtp")
    np.testing.assert_array_equal(read.points, surface.points)
    np.testing.assert_array_equal(read.regular_faces, surface.triangles)
    for name, values in fields.items():
        np.testing.assert_array_equal(read.point_data[name], values.astype(np.float32))
        assert read.GetPointData().GetArray(name).GetInformation().Get(vtkDataArray.UNITS_LABEL()) == found.units[name]
    assert read.active_scalars_name == "x & y"
