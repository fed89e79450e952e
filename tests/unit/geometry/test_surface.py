import itertools
import time

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.flags import FLUID
from muphy_lb.geometry.surfaces.surface import Surface, diagnose, fill_rows, read_surface, voxelise
from tests.unit.geometry.surfaces import FACES, box, octahedron, rotated, sphere


def write_stl(path, surface):
    facets = np.zeros(
        len(surface.triangles), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("unused", "<u2")]
    )
    facets["corners"] = surface.points[surface.triangles]
    path.write_bytes(bytes(80) + np.uint32(len(facets)).tobytes() + facets.tobytes())
    return path


def volume(voxels):
    return voxels.n_fluid * voxels.spacing_m**3


def positions(voxels):
    return np.array(voxels.origin_m) + voxels.spacing_m * np.argwhere(voxels.flags == FLUID)[:, ::-1]


def test_voxels_of_a_box_fill_it_exactly():
    assert volume(voxelise(box(), 0.125)) == pytest.approx(6.0, rel=1e-12)


def test_voxel_centres_lie_inside_the_box():
    inside = positions(voxelise(box(), 0.125))
    assert inside.min() > 0.0
    assert np.all(inside < (1.0, 2.0, 3.0))


def test_volume_of_a_sphere_is_met_within_half_a_percent():
    surface = sphere(1.0)
    assert volume(voxelise(surface, 0.05)) == pytest.approx(diagnose(surface).volume_m3, rel=5e-3)


def test_rays_through_vertices_and_edges_count_once():
    # Rows of voxel centres run exactly through four edges and two vertices of this octahedron.
    inside = positions(voxelise(octahedron(2.5), 1.0))
    grid = np.array([c for c in itertools.product(range(-2, 3), repeat=3) if np.abs(c).sum() < 2.5], dtype=float)
    assert {tuple(p) for p in np.round(inside, 9).tolist()} == {tuple(p) for p in grid.tolist()}


@pytest.mark.parametrize("angle", [0.1, 0.7, 2.0])
def test_voxels_of_a_turned_box_are_those_inside_it(angle):
    surface, rotation = rotated(box(), angle=angle)
    voxels = voxelise(surface, 0.1)
    zyx = np.indices(voxels.shape).reshape(3, -1).T
    local = (np.array(voxels.origin_m) + 0.1 * zyx[:, ::-1]) @ rotation
    inside = np.all((local > 0.0) & (local < (1.0, 2.0, 3.0)), axis=1)
    np.testing.assert_array_equal(voxels.flags.ravel() == FLUID, inside)


def test_inward_winding_gives_the_same_voxels():
    surface = sphere(1.0, 2)
    turned = Surface(surface.points, surface.triangles[:, ::-1], 1.0)
    np.testing.assert_array_equal(voxelise(turned, 0.1).flags, voxelise(surface, 0.1).flags)


@pytest.mark.parametrize("margin", [2, 5])
def test_the_margin_is_solid(margin):
    flags = voxelise(box(), 0.25, margin).flags
    inside = np.argwhere(flags == FLUID)
    np.testing.assert_array_equal(inside.min(axis=0), [margin] * 3)
    np.testing.assert_array_equal(np.array(flags.shape) - 1 - inside.max(axis=0), [margin] * 3)


def test_a_margin_too_thin_for_openings_is_refused():
    with pytest.raises(GeometryError, match="margin is 1"):
        voxelise(box(), 0.25, 1)


def test_the_unit_scales_voxels_to_metres():
    voxels = voxelise(box(metres_per_unit=1e-3), 1e-4)
    assert volume(voxels) == pytest.approx(6e-9)


def test_a_hole_is_refused_and_named_with_its_place():
    surface = Surface(box().points * 10, FACES[2:], 1e-3)
    with pytest.raises(GeometryError, match=r"4 boundary edges .* \(5, 10, 0\) = \(0.005, 0.01, 0\) m.*flat caps"):
        voxelise(surface, 1e-3)


def test_an_edge_of_three_triangles_is_refused():
    surface = Surface(box().points, np.vstack((FACES, [0, 1, 7])), 1.0)
    with pytest.raises(GeometryError, match="edges of more than two triangles"):
        voxelise(surface, 0.1)


def test_rows_that_cross_a_surface_an_odd_number_of_times_are_counted():
    # One square facing x: the 3 x 3 rows that meet it end inside.
    square = np.array(
        [[[2.2, 0.5, 0.5], [2.2, 3.5, 0.5], [2.2, 3.5, 3.5]], [[2.2, 0.5, 0.5], [2.2, 3.5, 3.5], [2.2, 0.5, 3.5]]]
    )
    every = np.tile(np.arange(2), 5)
    assert fill_rows(np.zeros((5, 5, 5), np.uint8), square, np.arange(0, 11, 2), every) == 9


def test_a_spacing_without_fluid_names_spacing_and_size():
    with pytest.raises(GeometryError, match=r"spacing_m = 10 gives no fluid voxel in a surface of 0.1 x 0.1 x 0.1 m"):
        voxelise(Surface(octahedron(0.05).points + (3, 3, 3), octahedron(1).triangles, 1.0), 10.0, 2)


def test_a_box_of_the_wrong_unit_is_refused_before_memory_is_taken():
    with pytest.raises(GeometryError, match="check the unit"):
        voxelise(box((100.0, 100.0, 100.0)), 1e-4)


@pytest.mark.parametrize("spacing", [0.0, -1.0, float("nan")])
def test_bad_spacings_are_refused(spacing):
    with pytest.raises(GeometryError, match="spacing_m is"):
        voxelise(box(), spacing)


def test_diagnosis_of_a_closed_box():
    report = diagnose(box(metres_per_unit=0.1))
    assert report.is_closed
    assert report.winding == "outward"
    assert report.n_triangles == 12
    assert report.volume_m3 == pytest.approx(6e-3)
    np.testing.assert_allclose(report.box_m, [(0, 0, 0), (0.1, 0.2, 0.3)])


def test_diagnosis_knows_inward_and_mixed_winding():
    inward = FACES[:, ::-1]
    mixed = np.vstack((FACES[:1, ::-1], FACES[1:]))
    assert [diagnose(Surface(box().points, t, 1.0)).winding for t in (inward, mixed)] == ["inward", "mixed"]


def test_every_hole_is_one_loop():
    report = diagnose(Surface(box().points, FACES[4:], 1.0))
    assert report.n_boundary_edges == 8
    np.testing.assert_allclose(sorted(report.loop_centres.tolist()), [(0.5, 1, 0), (0.5, 1, 3)])


def test_binary_stl_is_welded(tmp_path):
    surface = read_surface(write_stl(tmp_path / "box.stl", box()), "mm")
    assert surface.points.shape == (8, 3)
    assert diagnose(surface).volume_m3 == pytest.approx(6e-9)


def test_ascii_stl_is_read(tmp_path):
    path = tmp_path / "box.stl"
    facets = [
        "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in t) + "endloop\nendfacet\n"
        for t in box().points[FACES]
    ]
    path.write_text("solid box\n" + "".join(facets) + "endsolid box\n")
    assert diagnose(read_surface(path, "m")).is_closed


def test_polygons_of_an_obj_are_cut_into_triangles(tmp_path):
    quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
    lines = [f"v {x} {y} {z}" for x, y, z in box().points] + ["f " + " ".join(str(v + 1) for v in q) for q in quads]
    (tmp_path / "box.obj").write_text("\n".join(lines) + "\n")
    report = diagnose(read_surface(tmp_path / "box.obj", "m"))
    assert (report.n_triangles, report.is_closed) == (12, True)
    assert report.volume_m3 == pytest.approx(6.0)


def test_ply_is_read(tmp_path):
    lines = ["ply", "format ascii 1.0", "element vertex 8", *(f"property float {a}" for a in "xyz"), "element face 12"]
    lines += ["property list uchar int vertex_indices", "end_header"]
    lines += [f"{x} {y} {z}" for x, y, z in box().points] + ["3 " + " ".join(map(str, t)) for t in FACES.tolist()]
    (tmp_path / "box.ply").write_text("\n".join(lines) + "\n")
    assert diagnose(read_surface(tmp_path / "box.ply", "m")).volume_m3 == pytest.approx(6.0)


@pytest.mark.parametrize("ending", [".stl", ".obj", ".ply"])
@pytest.mark.parametrize("content", [b"", b"\xff\x00garbage" * 40, b"solid x\nfacet normal 0 0"])
def test_broken_files_are_one_clear_error(tmp_path, ending, content):
    path = tmp_path / f"broken{ending}"
    path.write_bytes(content)
    with pytest.raises(GeometryError, match="cannot read"):
        read_surface(path, "m")


def test_a_truncated_stl_is_refused(tmp_path):
    path = write_stl(tmp_path / "box.stl", box())
    path.write_bytes(path.read_bytes()[:-60])
    with pytest.raises(GeometryError, match="cannot read"):
        read_surface(path, "m")


def test_a_missing_surface_is_refused(tmp_path):
    with pytest.raises(GeometryError, match="cannot read .*No such file"):
        read_surface(tmp_path / "nothing.stl", "m")


def test_an_unknown_unit_names_the_units(tmp_path):
    with pytest.raises(GeometryError, match="unit is 'inch'; allowed: m, cm, mm, um"):
        read_surface(tmp_path / "box.stl", "inch")


@pytest.mark.speed
def test_voxels_are_made_at_more_than_a_hundred_million_a_minute():
    surface = sphere(1.0, 5)
    voxelise(surface, 0.1)
    start = time.perf_counter()
    voxels = voxelise(surface, 0.004)
    assert voxels.flags.size / (time.perf_counter() - start) > 1e8 / 60
