from itertools import combinations

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.implicit import FirstWall, RoundWall
from muphy_lb.geometry.load import load_voxels
from muphy_lb.geometry.porous.pores import find_pores
from muphy_lb.geometry.shapes.benchmark_shapes import cylinder_array, sphere_array
from muphy_lb.geometry.shapes.catalogue import branching_vessel, stenosis
from muphy_lb.geometry.shapes.packings import (
    blurred_noise,
    highest,
    random_spheres,
    read_spheres,
    sphere_levels,
    sphere_list,
)
from muphy_lb.geometry.voxels import FLUID

SEEDED = {
    "random_spheres": lambda seed: random_spheres(size=32, radius=5.0, seed=seed),
    "blurred_noise": lambda seed: blurred_noise((20, 24, 28), grain=2.0, seed=seed),
}


def gap(a, b, size):
    """Distance of two points in a periodic cube."""
    step = np.array(a) - b
    return np.linalg.norm(step - size * np.round(step / size))


@pytest.mark.parametrize("make", SEEDED.values(), ids=SEEDED)
def test_other_seeds_make_other_images(make):
    assert np.any(make(3).flags != make(4).flags)


@pytest.mark.parametrize("porosity", [0.4, 0.55, 0.9])
@pytest.mark.parametrize("make", [random_spheres, blurred_noise])
def test_an_image_has_the_porosity_that_is_asked_for_to_one_voxel(make, porosity):
    voxels = make(porosity=porosity)
    assert abs(voxels.n_fluid - porosity * voxels.flags.size) <= 1.0


def test_random_spheres_do_not_overlap():
    wall = random_spheres(size=48, radius=6.0, porosity=0.42).wall_shape
    gaps = [gap(a, b, 48.0) for a, b in combinations(wall.centres, 2)]
    assert min(gaps) > 0.99 * 2.0 * wall.radius


def test_random_spheres_lie_where_their_wall_says():
    voxels = random_spheres(size=32, radius=5.0)
    centres = np.indices(voxels.shape)[::-1].reshape(3, -1).T.astype(float)
    np.testing.assert_array_equal(voxels.flags.ravel() == FLUID, voxels.wall_shape.gaps(centres) > 0.0)


def test_blurred_noise_goes_on_across_its_borders():
    fluid = blurred_noise((32, 32, 32), grain=3.0, porosity=0.5).flags == FLUID
    for axis in range(3):
        steps = np.diff(np.concatenate((fluid, fluid.take([0], axis)), axis).astype(int), axis=axis)
        changes = np.abs(steps).mean(axis=tuple(a for a in range(3) if a != axis))
        assert changes[-1] < 2.0 * changes[:-1].mean()


def test_wider_grains_make_fewer_pores():
    assert find_pores(blurred_noise(grain=1.0)).n_voxels.size > find_pores(blurred_noise(grain=4.0)).n_voxels.size


def test_spheres_that_cannot_find_room_are_refused():
    with pytest.raises(GeometryError, match="porosity is 0.3; random spheres that do not overlap"):
        random_spheres(porosity=0.3)
    with pytest.raises(GeometryError, match="take a radius of at most 8"):
        random_spheres(size=32, radius=9.0)


def test_a_cubic_pack_may_overlap_when_its_radius_is_given():
    cell = sphere_array(100, "body", radius=43.726)
    lens = np.pi * (4 * 43.726 + np.sqrt(3) * 100) * (2 * 43.726 - np.sqrt(3) * 50) ** 2 / 12  # of two touching spheres
    solid = 2 * 4 / 3 * np.pi * 43.726**3 - 8 * lens
    assert cell.n_fluid / 100**3 == pytest.approx(1 - solid / 100**3, abs=1e-3)


def test_a_cylinder_array_has_the_porosity_of_its_solid_fraction():
    assert cylinder_array(120, cells=2, solid_fraction=0.3).n_fluid / 120**2 == pytest.approx(0.7, abs=3e-3)


def test_the_highest_levels_are_as_many_as_asked_for():
    levels = np.random.default_rng(0).random((7, 8, 9))
    chosen, level = highest(levels, 0.3)
    assert chosen.sum() == round(0.3 * levels.size)
    np.testing.assert_array_equal(chosen, levels > level)


def test_levels_are_distances_from_the_nearest_sphere():
    centres, radii = np.array([[4.2, 5.1, 6.3], [9.0, 5.0, 4.0]]), np.array([2.5, 1.7])
    points = np.indices((12, 11, 13))[::-1].reshape(3, -1).T
    exact = np.min(np.linalg.norm(points[:, np.newaxis] - centres, axis=2) - radii, axis=1)
    np.testing.assert_allclose(
        sphere_levels(centres, radii, (12, 11, 13), (False,) * 3).ravel(), np.minimum(exact, 2.0)
    )


def test_periodic_spheres_come_in_on_the_other_side():
    levels = sphere_levels(np.array([[0.0, 0.0, 0.0]]), np.array([3.0]), (9, 9, 9), (True,) * 3)
    np.testing.assert_array_equal(levels[1:], levels[:0:-1])
    assert levels[0, 0, 0] == -3.0 and levels[8, 0, 0] == -2.0


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("0.5 0 0 1\n2.5 0 1 1\n", {}),
        ("0.5 0 0\n2.5 0 1\n", {"radius": 1.0}),
        ("# n x y z\n\n 1 0.5 0 0\n 2 2.5 0 1\n", {"radius": 1.0, "numbered": True}),
        ("2\nspheres of a pack\nx, y, z, r\n0.5, 0, 0, 1\n2.5, 0, 1, 1\n", {}),
    ],
    ids=["x y z r", "x y z", "n x y z", "headings"],
)
def test_lists_of_spheres_are_read_with_radii_without_numbered_and_with_headings(tmp_path, text, options):
    (tmp_path / "pack.xyz").write_text(text)
    centres, radii = read_spheres(tmp_path / "pack.xyz", **options)
    np.testing.assert_array_equal(centres, [[0.5, 0.0, 0.0], [2.5, 0.0, 1.0]])
    np.testing.assert_array_equal(radii, [1.0, 1.0])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "three or four numbers"),
        ("1 2\n", "three or four numbers"),
        ("1 2 3\n1 2\n", "not a list of spheres"),
        ("0 0 nan 1\n", "three or four numbers"),
        ("a b c\n", "no line holds three or four numbers"),
        ("0 0 0 1\na b c\n", "could not convert"),
        ("0 0 0\n", "no radii; give radius"),
        ("0 0 0 -1\n", "a radius is -1"),
        (None, "cannot read .*No such file"),
    ],
    ids=repr,
)
def test_a_broken_or_missing_list_of_spheres_is_told(tmp_path, text, words):
    if text is not None:
        (tmp_path / "pack.xyz").write_text(text)
    with pytest.raises(GeometryError, match=words):
        read_spheres(tmp_path / "pack.xyz")


def test_a_first_column_that_counts_is_no_numbering_unless_told(tmp_path):
    (tmp_path / "row.xyz").write_text("1 0 0 0.4\n2 0 0 0.4\n3 0 0 0.5\n")
    centres, radii = read_spheres(tmp_path / "row.xyz")
    np.testing.assert_array_equal(centres[:, 0], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(radii, [0.4, 0.4, 0.5])
    np.testing.assert_array_equal(read_spheres(tmp_path / "row.xyz", 0.3, numbered=False)[0], centres)
    with pytest.raises(GeometryError, match="counts 1, 2, .* give numbered = true if it numbers the spheres"):
        read_spheres(tmp_path / "row.xyz", 0.3)


def test_spheres_of_a_periodic_list_come_in_on_the_other_side(tmp_path):
    """Those whose centres lie outside of the box too: they are images of ones inside."""
    (tmp_path / "one.xyz").write_text("0.3 -0.2 2 1\n")
    (tmp_path / "middle.xyz").write_text("2 2 2 1\n")
    box = {"spacing_m": 0.25, "low": [0.0] * 3, "high": [4.0] * 3, "periodic": "xyz"}
    one, middle = (sphere_list(tmp_path / f"{name}.xyz", **box) for name in ("one", "middle"))
    assert one.periodic == (True,) * 3
    assert abs(one.n_fluid - middle.n_fluid) < 0.06 * (4 / 3 * np.pi * 4.0**3)
    solid = one.flags != FLUID
    assert solid[8, 0, 15] and solid[8, 15, 0] and not solid[8, 8, 8]
    open_box = sphere_list(tmp_path / "one.xyz", **(box | {"periodic": "yz"}))
    assert open_box.periodic == (False, True, True) and not (open_box.flags[:, :, 8:] != FLUID).any()
    centres = np.indices(one.shape)[::-1].reshape(3, -1).T.astype(float)
    np.testing.assert_array_equal(one.flags.ravel() == FLUID, one.wall_shape.shapes[0].gaps(centres) > 0.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"periodic": "x"}, "need the box that repeats"),
        ({"periodic": "x", "low": [0.0] * 3, "high": [4.1] * 3}, "4.1 voxels long; take a spacing_m"),
        ({"periodic": "w", "low": [0.0] * 3, "high": [4.0] * 3}, "periodic is 'w'"),
        ({"numbered": 1}, "numbered is 1; it must be true or false"),
    ],
    ids=str,
)
def test_options_of_lists_of_spheres_that_make_no_sense_are_told(tmp_path, options, words):
    (tmp_path / "one.xyz").write_text("2 2 2 1\n")
    with pytest.raises(GeometryError, match=words):
        sphere_list(tmp_path / "one.xyz", spacing_m=1.0, **options)


def test_walls_of_spheres_of_any_number_of_sizes_are_known(tmp_path):
    draw = np.random.default_rng(2)
    centres, radii = draw.uniform(0, 20, (40, 3)), draw.uniform(0.5, 3.0, 40)
    np.savetxt(tmp_path / "many.xyz", np.column_stack((centres, radii)))
    voxels = sphere_list(tmp_path / "many.xyz", spacing_m=1.0, low=[0.0] * 3, high=[20.0] * 3)
    assert np.unique(radii).size == 40
    start, vector = draw.uniform(0, 19, (300, 3)), np.array([1, 0, 1])
    each = FirstWall(tuple(RoundWall(c - 0.5, r) for c, r in zip(centres, radii, strict=True)))
    outside = np.min(np.linalg.norm(start[:, None] - (centres - 0.5), axis=2) - radii, axis=1) > 0.0
    found, expected = (wall.distances(start[outside], vector) for wall in (voxels.wall_shape, each))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert 10 < np.isfinite(found).sum() < found.size


def test_a_listed_sphere_has_its_volume_and_place(tmp_path):
    (tmp_path / "one.xyz").write_text("3.013 2.021 1.987 1.5\n")
    box = {"low": [0.0, 0.0, 0.0], "high": [5.0, 4.0, 4.0]}
    voxels = sphere_list(tmp_path / "one.xyz", spacing_m=1e-4, unit="mm", **box)
    assert voxels.shape == (40, 40, 50)
    n_solid = voxels.flags.size - voxels.n_fluid
    assert n_solid * 1e-3 == pytest.approx(4 / 3 * np.pi * 1.5**3, rel=5e-3)
    centre = np.argwhere(voxels.flags != FLUID).mean(axis=0)[::-1] * 1e-4 + voxels.origin_m
    np.testing.assert_allclose(centre, [3.013e-3, 2.021e-3, 1.987e-3], atol=3e-6)


def test_a_stenosis_is_as_narrow_as_asked_for():
    voxels = stenosis(length=80, radius=15.0, severity=0.4, extent=40.0, ends="periodic")
    area = (voxels.flags == FLUID).sum(axis=(0, 1))
    assert area[0] == pytest.approx(np.pi * 15.0**2, rel=0.02)
    assert area.min() == pytest.approx(np.pi * (0.6 * 15.0) ** 2, rel=0.03)
    assert np.all(area[:20] == area[0]) and np.all(np.diff(area[20:40]) <= 0)
    np.testing.assert_array_equal(area, area[::-1])
    assert voxels.periodic == (True, False, False)


def test_a_stenosis_knows_its_wall():
    voxels = stenosis(length=80, radius=15.3, severity=0.4, extent=40.0)
    start = np.array([[39.5 + 4.0 - 0.0, 16.0 + 9.0, 16.0]])  # the box of open ends grows along x by 4 voxels
    distance = voxels.wall_shape.distances(start, np.array([0, 1, 0]))
    assert distance == pytest.approx([15.3 * 0.6 - 9.0])


def test_open_ends_of_a_stenosis_are_openings():
    assert [opening.name for opening in stenosis().openings] == ["inlet", "outlet"]


@pytest.mark.parametrize("options", [{"severity": 1.0}, {"severity": -0.1}, {"extent": 200.0}], ids=str)
def test_an_impossible_stenosis_is_refused(options):
    with pytest.raises(GeometryError, match="severity"):
        stenosis(**options)


@pytest.mark.parametrize("generations", [1, 2, 3])
def test_a_tree_has_one_pore_from_inlet_to_outlets(generations):
    voxels = branching_vessel(spacing_m=8e-4, generations=generations)
    assert len(voxels.openings) == 1 + 2**generations
    assert find_pores(voxels).n_voxels.max() > 0.99 * voxels.n_fluid


def test_a_text_file_with_a_radius_is_a_list_of_spheres(tmp_path):
    for ending in ("txt", "xyz"):
        (tmp_path / f"pack.{ending}").write_text("1 0 0 0\n2 0.3 0.4 0.5\n")
    box = {"spacing_m": 0.1, "radius": 0.2, "numbered": True, "low": [-1, -1, -1], "high": [1, 1, 1]}
    first, second = (load_voxels(tmp_path / f"pack.{ending}", **box) for ending in ("txt", "xyz"))
    np.testing.assert_array_equal(first.flags, second.flags)
    assert first.shape == (20, 20, 20) and 0 < first.n_fluid < 8000


def test_tagged_nodes_take_no_options(tmp_path):
    (tmp_path / "nodes.txt").write_text("3 3 3 fluid\nspacing_m 1\n")
    assert load_voxels(tmp_path / "nodes.txt").n_fluid == 27
    with pytest.raises(GeometryError, match="tagged nodes take no options"):
        load_voxels(tmp_path / "nodes.txt", spacing_m=1.0)
