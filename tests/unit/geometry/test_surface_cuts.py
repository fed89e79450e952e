"""Cut distances of triangulated walls."""

import numpy as np
import pytest

from muphy_lb.geometry.clean import clean
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.surfaces.surface import Surface, voxelise
from muphy_lb.geometry.surfaces.surface_cuts import SurfaceWall
from muphy_lb.geometry.voxels import Opening, Voxels
from tests.unit.geometry.links import cut_points
from tests.unit.geometry.surfaces import box, rotated, sphere

EXACT = 1e-11
RADIUS = 12.0


def cut(surface, spacing=1.0):
    voxels = voxelise(surface, spacing)
    return cut_links(build_nodes(voxels), voxels.wall_shape)


def opening(name, z, sign):
    return Opening(name, name, (15.0, 20.0, z), (0.0, 0.0, sign))


@pytest.mark.parametrize("angle", [0.0, 0.7, 1.9])
@pytest.mark.parametrize("spacing", [1.0, 0.77, 2.5])
def test_every_link_out_of_a_surface_is_cut_once(angle, spacing):
    cuts = cut(rotated(box((15.0, 20.0, 25.0)), angle=angle)[0], spacing).cuts
    assert cuts.n_missed == 0 and cuts.n_links > 0


@pytest.mark.parametrize("vector", [(1, 0, 0), (0, -1, 1), (1, 1, 1), (-1, 1, -1)])
def test_links_through_edges_and_corners_of_triangles_do_not_slip_through(vector):
    """From the middle of a sphere whose triangles have edges and corners straight ahead in every direction."""
    surface = sphere(0.4, n_refinements=3)
    wall = SurfaceWall(surface.points[surface.triangles], (0.0, 0.0, 0.0), 1.0)
    found = wall.distances(np.zeros((1, 3)), np.array(vector))
    assert found * np.linalg.norm(vector) == pytest.approx([0.4], rel=0.02)


def test_cuts_of_a_sphere_lie_between_it_and_its_flattest_triangle():
    surface = sphere(RADIUS, n_refinements=5)
    lowest = np.linalg.norm(surface.points[surface.triangles].mean(axis=1), axis=1).min()
    voxels = voxelise(surface, 1.0)
    centre = -np.array(voxels.origin_m)
    nodes = cut_links(build_nodes(voxels), voxels.wall_shape)
    gap = np.linalg.norm(cut_points(nodes) - centre, axis=1)
    assert gap.max() < RADIUS + 1e-9 and gap.min() > lowest - 1e-4


def test_cuts_of_a_box_on_voxel_faces_are_half_way():
    np.testing.assert_allclose(cut(box((6.0, 7.0, 8.0))).cuts.distance, 0.5, atol=EXACT)


def test_the_unit_of_length_does_not_matter():
    small = Surface(box((6.0, 7.0, 8.0)).points, box().triangles, 1e-3)
    metres, millimetres = cut(box((6.0, 7.0, 8.0)), 0.8), cut(small, 0.8e-3)
    np.testing.assert_allclose(millimetres.cuts.distance, metres.cuts.distance, atol=1e-9)


def test_links_far_from_the_surface_meet_nothing():
    wall = SurfaceWall(box().points[box().triangles], (0.0, 0.0, 0.0), 1.0)
    assert np.isnan(wall.distances(np.array([[50.0, 0.5, 0.5], [-9.0, 0.5, 0.5]]), np.array([1, 0, 0]))).all()


def test_a_carved_vessel_has_cuts_at_its_walls_only():
    voxels = voxelise(box((30.0, 40.0, 50.0)), 1.7)
    nodes, _ = clean(
        build_nodes(carve(voxels, [opening("inlet", 7.0, 1.0), opening("outlet", 43.0, -1.0)])), "openings"
    )
    nodes = cut_links(nodes, voxels.wall_shape)
    z = nodes.cuts.direction // 9
    inner = nodes.cuts.direction % 9 == 4
    assert nodes.cuts.n_missed == 0 and not inner.any() and set(z) == {0, 1, 2}


def test_a_surface_costs_nothing_until_its_wall_is_asked_for():
    assert "grid" not in vars(voxelise(box((6.0, 7.0, 8.0)), 1.0).wall_shape)


@pytest.mark.parametrize("spacing", [1.0, 0.7])
def test_the_areas_of_links_add_up_to_that_of_the_surface(spacing):
    surface, _ = rotated(box((15.0, 20.0, 25.0)), angle=0.7)
    cuts = cut(surface, spacing).cuts
    straight = np.abs(cuts.direction[:, None] // 3 ** np.arange(3) % 3 - 1).sum(axis=1) == 1
    assert cuts.area.sum() * spacing**2 == pytest.approx(2.0 * (15.0 * 20.0 + 20.0 * 25.0 + 25.0 * 15.0), rel=1e-9)
    assert not cuts.area[~straight].any()


def test_the_surface_beyond_the_box_does_not_count():
    surface, n_layers = box((6.0, 7.0, 80.0)), 3
    whole = voxelise(surface, 1.0)
    x, y, z = whole.origin_m
    wall = SurfaceWall(surface.points[surface.triangles], (x, y, z + 30.0), 1.0)
    nodes = build_nodes(Voxels(whole.flags[30 : 30 + n_layers], 1.0, periodic=(False, False, True)))
    assert cut_links(nodes, wall).cuts.area.sum() == pytest.approx(2.0 * (6.0 + 7.0) * n_layers, rel=1e-3)
