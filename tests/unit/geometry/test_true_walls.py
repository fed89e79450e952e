"""Analytic shapes: what is fluid, what is labelled, and where their true walls lie."""

import numpy as np
import pytest

from muphy_lb.geometry.clean import clean
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.catalogue import SHAPES, build_shape
from muphy_lb.geometry.shapes.shape_parts import voxel_centres
from muphy_lb.geometry.shapes.tubes import grow_tree, tree_voxels
from muphy_lb.geometry.voxels import FLUID, SOLID, wall_flag
from tests.unit.geometry.links import cut_points, cut_vectors

EXACT = 1e-10
SMALL = {
    "branching_vessel": {"spacing_m": 8e-4, "generations": 1},
    "sphere_pack": {"size": 32, "radius": 5.0},
    "obstacle_channel": {"cells_per_diameter": 8},
    "sphere_array": {"size": 20},
}
ROUGH = ("random_solid", "random_porous", "blurred_noise", "tank")
SMOOTH = [name for name in SHAPES if name not in ROUGH]


def cut(voxels):
    """The cleaned nodes of a shape with their cuts."""
    nodes, _ = clean(build_nodes(voxels), "openings" if voxels.openings else "all")
    return cut_links(nodes, voxels.wall_shape)


def from_axis(points, centre):
    """(n,) distance of points from an axis along z."""
    return np.hypot(points[:, 0] - centre[0], points[:, 1] - centre[1])


@pytest.mark.parametrize("name", SMOOTH)
def test_every_link_into_solid_of_a_smooth_shape_meets_its_wall(name):
    cuts = cut(build_shape(name, **SMALL.get(name, {}))).cuts
    assert cuts.n_links > 0 and cuts.n_missed == 0


@pytest.mark.parametrize("name", ROUGH)
def test_shapes_of_random_voxels_have_no_other_wall(name):
    assert build_shape(name).wall_shape is None


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_lid_of_a_cavity_stops_short_of_its_edges(dimension):
    voxels = build_shape("cavity", size=7, dimension=dimension)
    z, y, x = np.nonzero(voxels.flags == wall_flag(0))
    assert voxels.n_fluid == 7**dimension and len(x) == 7 ** (dimension - 1)
    assert set(y) == {8} and set(x) == set(range(1, 8)) and set(z) == ({0} if dimension == 2 else set(range(1, 8)))


@pytest.mark.parametrize("dimension", [2, 3])
def test_walls_of_a_cavity_lie_half_way(dimension):
    np.testing.assert_allclose(cut(build_shape("cavity", size=6, dimension=dimension)).cuts.distance, 0.5, atol=EXACT)


def test_cylinders_lie_in_the_middle_of_their_cells():
    nodes = cut(build_shape("cylinder_array", size=30, cells=2, solid_fraction=0.3))
    centre = np.array([7.0, 7.0]) + 15 * np.rint((cut_points(nodes)[:, :2] - 7.0) / 15)
    np.testing.assert_allclose(from_axis(cut_points(nodes), centre.T), 15 * np.sqrt(0.3 / np.pi), rtol=EXACT)


def test_an_array_of_cylinders_is_its_unit_cell_repeated():
    one, four = build_shape("cylinder_array", size=20), build_shape("cylinder_array", size=40, cells=2)
    np.testing.assert_array_equal(four.flags, np.tile(one.flags, (1, 2, 2)))
    assert four.walls == ("cylinders",) and four.periodic == (True, True, True)


@pytest.mark.parametrize(("lattice", "solid_fraction"), [("simple", 0.216), ("body", 0.45), ("face", 0.7405)])
def test_sphere_arrays_have_their_solid_fraction(lattice, solid_fraction):
    voxels = build_shape("sphere_array", size=64, lattice=lattice, solid_fraction=solid_fraction)
    assert 1.0 - voxels.n_fluid / 64**3 == pytest.approx(solid_fraction, abs=2e-3)


@pytest.mark.parametrize("lattice", ["simple", "body", "face"])
def test_sphere_arrays_are_cubic(lattice):
    flags = build_shape("sphere_array", size=15, lattice=lattice).flags
    np.testing.assert_array_equal(flags, flags[::-1])
    np.testing.assert_array_equal(flags, flags.transpose(1, 2, 0))
    np.testing.assert_array_equal(flags, flags.transpose(1, 0, 2))


@pytest.mark.parametrize(("lattice", "site"), [("simple", (0, 0, 0)), ("body", (0.5,) * 3), ("face", (0, 0.5, 0.5))])
def test_spheres_are_cut_on_their_surface(lattice, site):
    nodes = cut(build_shape("sphere_array", size=20, lattice=lattice, solid_fraction=0.2))
    n_spheres = {"simple": 1, "body": 2, "face": 4}[lattice]
    radius = 20 * np.cbrt(0.2 * 3 / (4 * np.pi * n_spheres))
    offset = cut_points(nodes) + 0.5 - 20 * np.array(site)
    gap = np.linalg.norm(offset - 20 * np.rint(offset / 20), axis=1)
    on_it = np.abs(gap - radius) < EXACT
    assert np.count_nonzero(on_it) == pytest.approx(nodes.cuts.n_links / n_spheres, rel=0.01)


@pytest.mark.parametrize("direction", [(2, 1, 0), (1, 0, 0), (1, 1, 1), (3, -1, 0), (0, 2, -1)])
def test_a_tilted_pipe_goes_on_along_its_direction(direction):
    voxels = build_shape("tilted_pipe", radius=4.3, direction=direction)
    moved = np.roll(voxels.flags, direction[::-1], axis=(0, 1, 2))
    np.testing.assert_array_equal(moved, voxels.flags)
    assert voxels.periodic == tuple(d != 0 for d in direction)


@pytest.mark.parametrize("direction", [(2, 1, 0), (1, 1, 1)])
def test_a_tilted_pipe_has_its_volume(direction):
    voxels = build_shape("tilted_pipe", radius=8.6, direction=direction)
    repeat = np.max(np.array(voxels.shape[::-1]) // np.maximum(np.abs(direction), 1) * (np.array(direction) != 0))
    volume = np.pi * 8.6**2 * np.linalg.norm(direction) * repeat
    assert voxels.n_fluid == pytest.approx(volume, rel=0.03)


@pytest.mark.parametrize("offset", [(0.0, 0.0, 0.0), (0.3, -0.2, 0.1)])
def test_a_tilted_pipe_is_cut_on_its_surface(offset):
    voxels = build_shape("tilted_pipe", radius=5.2, direction=(2, 1, 0), centre_offset=offset)
    nodes = cut(voxels)
    size = np.array(voxels.shape[::-1])
    place = cut_points(nodes) - (0.5 * (size - 1) + offset)
    axis = np.array([2.0, 1.0, 0.0]) / np.sqrt(5.0)
    gaps = []
    for image in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
        moved = place - np.array([*image, 0]) * size
        gaps.append(np.linalg.norm(moved - np.outer(moved @ axis, axis), axis=1))
    np.testing.assert_allclose(np.min(gaps, axis=0), 5.2, rtol=EXACT)


def test_the_ring_is_cut_on_its_two_circles_which_are_labelled_and_nothing_else_is_solid():
    voxels = build_shape("annulus")
    nodes = cut(voxels)
    middle = (voxels.shape[1] - 1) / 2
    radius = from_axis(cut_points(nodes), (middle + 0.137, middle - 0.211))
    inner = radius < 18
    np.testing.assert_allclose(radius, np.where(inner, 10.6, 25.2), rtol=EXACT)
    assert inner.any() and not inner.all()
    assert voxels.walls == ("inner", "outer")
    labels = voxels.flags[voxels.flags != FLUID]
    radius = from_axis(voxel_centres(voxels.shape), (middle + 0.137, middle - 0.211))[voxels.flags.ravel() != FLUID]
    np.testing.assert_array_equal(labels, np.where(radius < 18, wall_flag(0), wall_flag(1)))


@pytest.mark.parametrize(("cells", "last_gap"), [(20, 0.5), (10, 0.5), (8, 0.3), (16, 0.1)])
def test_walls_of_the_obstacle_channel_lie_where_they_should(cells, last_gap):
    nodes = cut(build_shape("obstacle_channel", cells_per_diameter=cells))
    vectors, points = cut_vectors(nodes), cut_points(nodes)
    y_m = nodes.origin_m[1] + nodes.spacing_m * points[:, 1]
    straight = np.all(vectors[:, [0, 2]] == 0, axis=1)
    low, high = straight & (y_m < 0.01), straight & (y_m > 0.4)
    np.testing.assert_allclose(y_m[low], 0.0, atol=1e-12)
    np.testing.assert_allclose(y_m[high], 0.41, atol=1e-12)
    np.testing.assert_allclose(nodes.cuts.distance[low], 0.5, atol=EXACT)
    np.testing.assert_allclose(nodes.cuts.distance[high], last_gap, atol=EXACT)


@pytest.mark.parametrize(("dimension", "x_m"), [(2, 0.2), (3, 0.5)])
def test_the_obstacle_is_the_published_cylinder(dimension, x_m):
    voxels = build_shape("obstacle_channel", cells_per_diameter=6, dimension=dimension)
    nodes = cut(voxels)
    points = np.array(nodes.origin_m) + nodes.spacing_m * cut_points(nodes)
    inner = (points[:, 1] > 0.1) & (points[:, 1] < 0.3) & (np.abs(points[:, 0] - x_m) < 0.06)
    inner &= np.any(cut_vectors(nodes)[:, :2] != 0, axis=1)
    inner &= (points[:, 2] > 0.02) & (points[:, 2] < 0.39) if dimension == 3 else True
    np.testing.assert_allclose(from_axis(points[inner], (x_m, 0.2)), 0.05, rtol=1e-9)
    assert voxels.walls == ("cylinder",) and inner.any()


@pytest.mark.parametrize(("dimension", "length"), [(2, 2.2), (3, 2.5)])
def test_the_ends_of_the_obstacle_channel_are_openings(dimension, length):
    inlet, outlet = build_shape("obstacle_channel", cells_per_diameter=4, dimension=dimension).openings
    z = 0.205 if dimension == 3 else 0.0
    assert inlet.centre_m == pytest.approx((0.0, 0.205, z)) and outlet.centre_m == pytest.approx((length, 0.205, z))
    assert (inlet.name, outlet.name) == ("inlet", "outlet") and inlet.normal == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("offset", [0.5, 0.2, 1.0])
@pytest.mark.parametrize("ends", ["periodic", "open"])
def test_plates_of_a_channel_lie_at_their_offset(offset, ends):
    nodes = cut(build_shape("channel", height=6, length=12, ends=ends, wall_offset=offset))
    np.testing.assert_allclose(nodes.cuts.distance, offset, atol=EXACT)


@pytest.mark.parametrize("axis", "xyz")
@pytest.mark.parametrize("ends", ["periodic", "open"])
def test_a_pipe_is_cut_on_its_surface(axis, ends):
    nodes = cut(build_shape("pipe", length=9, radius=5.3, axis=axis, ends=ends))
    across = np.delete(cut_points(nodes), "xyz".index(axis), axis=1)
    np.testing.assert_allclose(np.linalg.norm(across - 6.0, axis=1), 5.3, rtol=EXACT)


def test_a_vessel_is_fluid_where_its_level_is_positive():
    voxels = tree_voxels(grow_tree(4e-3, 2, 0.75, 5.0), 8e-4, 0.5)
    level = voxels.wall_shape.level(voxel_centres(voxels.shape)).reshape(voxels.shape)
    np.testing.assert_array_equal(level > 0.0, voxels.flags == FLUID)


def test_a_vessel_is_cut_where_its_level_is_zero():
    voxels = tree_voxels(grow_tree(4e-3, 1, 0.75, 5.0), 8e-4, 0.5)
    nodes = cut(voxels)
    level = voxels.wall_shape.level(cut_points(nodes))
    assert np.abs(level[nodes.cuts.distance > 2e-3]).max() < 1e-9 * 8e-4 + 1e-13


def test_a_pack_of_spheres_is_cut_on_a_surface_outside_all_spheres():
    voxels = build_shape("sphere_pack", size=30, radius=4.5, porosity=0.5)
    gaps = voxels.wall_shape.gaps(cut_points(cut(voxels)))
    assert np.abs(gaps).max() < 1e-2 and np.median(np.abs(gaps)) < EXACT


def test_a_tunnel_is_an_empty_square():
    voxels = build_shape("tunnel", size=12)
    assert voxels.n_fluid == 144 and [o.name for o in voxels.openings] == ["inlet", "outlet"] and not voxels.walls


def test_a_circle_is_a_tunnel_around_a_disc():
    voxels = build_shape("circle", size=60)
    n_disc = np.count_nonzero(voxels.flags == wall_flag(0))
    assert n_disc == pytest.approx(np.pi * 6**2, rel=0.05) and voxels.n_fluid + n_disc == 3600
    assert voxels.walls == ("disc",)
    np.testing.assert_array_equal(voxels.flags == wall_flag(0), (voxels.flags == wall_flag(0))[:, ::-1, ::-1])


def test_random_grains_have_their_share():
    voxels = build_shape("random_porous", size=100, porosity=0.7, seed=3)
    assert voxels.n_fluid / 10_000 == pytest.approx(0.7, abs=0.02) and voxels.walls == ("grains",)
    assert np.all(voxels.flags[0, [0, -1]] == SOLID) and voxels.periodic == (True, False, True)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("cavity", {"dimension": 4}, "dimension is 4; allowed: 2 or 3"),
        ("sphere_array", {"lattice": "hexagonal"}, "lattice is 'hexagonal'; allowed: simple, body, face"),
        ("sphere_array", {"solid_fraction": 0.6}, "solid_fraction is 0.6; the bodies overlap above 0.52"),
        ("cylinder_array", {"solid_fraction": 0.8}, "overlap above 0.78"),
        ("tilted_pipe", {"direction": (0, 0, 0)}, "direction is .* not all zero"),
        ("tilted_pipe", {"direction": (0.5, 1.0, 0.0)}, "three whole numbers"),
        ("annulus", {"inner": 30.0}, "inner must be smaller"),
        ("channel", {"wall_offset": 1.5}, "wall_offset is 1.5; it must lie between 0 and 1"),
        ("random_porous", {"porosity": 1.5}, "porosity is 1.5"),
        ("tunnel", {"size": 0}, "size is 0"),
    ],
)
def test_bad_options_are_refused(name, options, words):
    with pytest.raises(GeometryError, match=words):
        build_shape(name, **options)
