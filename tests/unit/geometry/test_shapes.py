import numpy as np
import pytest

from muphy_lb.geometry.clean import clean
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.catalogue import (
    SHAPES,
    branching_vessel,
    build_shape,
    channel,
    pipe,
    random_solid,
    sphere_pack,
    square_duct,
)
from muphy_lb.geometry.shapes.tubes import murray_angles
from muphy_lb.geometry.voxels import FIRST_OPENING, FLUID, SOLID

COARSE = 8e-4


@pytest.fixture(scope="module")
def vessel():
    return branching_vessel(spacing_m=COARSE)


def opening_counts(voxels):
    return [int(np.count_nonzero(voxels.flags == FIRST_OPENING + k)) for k in range(len(voxels.openings))]


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_the_same_every_time_and_hold_known_flags_only(name):
    options = {"spacing_m": COARSE} if name == "branching_vessel" else {}
    voxels = build_shape(name, **options)
    voxels.check_flags()
    np.testing.assert_array_equal(voxels.flags, build_shape(name, **options).flags)


def test_a_channel_is_as_high_as_asked_between_two_walls():
    column = channel(length=4, height=7, width=2).flags[0, :, 0]
    np.testing.assert_array_equal(column, [SOLID] + 7 * [FLUID] + [SOLID])


@pytest.mark.parametrize("axis", "xyz")
def test_a_duct_runs_along_its_axis(axis):
    voxels = square_duct(length=9, side=4, axis=axis)
    assert voxels.shape["zyx".index(axis)] == 9
    assert voxels.periodic == tuple(a == axis for a in "xyz")


@pytest.mark.parametrize("axis", "xyz")
def test_a_pipe_has_the_round_section_of_its_radius(axis):
    voxels = pipe(length=2, radius=20.0, axis=axis)
    assert voxels.n_fluid / 2 == pytest.approx(np.pi * 20.0**2, rel=0.01)


@pytest.mark.parametrize("shape", [channel, square_duct, pipe])
def test_open_ends_carry_an_inlet_and_an_outlet_of_the_whole_section(shape):
    closed, opened = shape(length=8), shape(length=8, ends="open")
    assert [o.name for o in opened.openings] == ["inlet", "outlet"]
    assert opening_counts(opened) == [closed.n_fluid // 8 * 2] * 2
    assert opened.n_fluid == closed.n_fluid


def test_the_low_end_is_the_inlet():
    inlet, outlet = pipe(length=8, axis="x", spacing_m=0.1, ends="open").openings
    assert (inlet.normal, outlet.normal) == ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.0))
    assert (inlet.centre_m[0], outlet.centre_m[0]) == pytest.approx((-0.05, 0.75))


def test_the_vessel_is_one_piece(vessel):
    assert clean(build_nodes(vessel), "all")[1].n_components == 1


def test_the_vessel_has_one_inlet_and_four_outlets_that_touch_fluid(vessel):
    assert [o.name for o in vessel.openings] == ["inlet", *(f"outlet_{k}" for k in range(1, 5))]
    assert set(np.unique(build_nodes(vessel).label_number)) == set(range(5))


def test_the_vessel_has_about_a_hundred_thousand_nodes_by_default():
    assert branching_vessel().n_fluid == pytest.approx(1e5, rel=0.2)


def test_the_inlet_of_the_vessel_has_the_radius_asked_for():
    voxels = branching_vessel(spacing_m=2e-4, parent_radius_m=3e-3)
    z = round((0.0 - voxels.origin_m[2]) / voxels.spacing_m) + 1
    area = np.count_nonzero(voxels.flags[z] == FLUID) * voxels.spacing_m**2
    assert area == pytest.approx(np.pi * 3e-3**2, rel=0.02)


@pytest.mark.parametrize("asymmetry", [0.4, 0.75, 1.0])
def test_forks_obey_murrays_law(asymmetry):
    r1, r2, *_ = murray_angles(asymmetry)
    assert r1**3 + r2**3 == pytest.approx(1.0)


def test_a_symmetric_fork_opens_by_75_degrees():
    # Murray 1926: two equal daughters leave at arccos(2**(-1/3)) = 37.47 degrees each.
    *_, angle_1, angle_2 = murray_angles(1.0)
    np.testing.assert_allclose(np.degrees([angle_1, angle_2]), 37.47, atol=0.01)


@pytest.mark.parametrize(("size", "radius", "seed"), [(24, 5.0, 0), (25, 4, 1), (9, 3.7, 2)])
def test_the_sphere_pack_is_the_spheres_drawn_until_the_porosity_is_reached(size, radius, seed):
    random, solid = np.random.default_rng(seed), np.zeros((size,) * 3, dtype=bool)
    while np.count_nonzero(~solid) > 0.5 * solid.size:
        away = (np.arange(size)[:, np.newaxis] - random.random(3) * size + size / 2) % size - size / 2
        z, y, x = np.ix_(*away.T)
        solid |= z**2 + y**2 + x**2 < radius**2
    assert np.array_equal(sphere_pack(size, radius, 0.5, seed).flags, np.where(solid, SOLID, FLUID))


def test_random_solid_has_the_porosity_asked_for():
    n = 40**3
    fluid = random_solid((40, 40, 40), 0.7).n_fluid
    assert abs(fluid - 0.7 * n) < 4 * np.sqrt(0.7 * 0.3 * n)


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("branching_vesel", {}, "unknown name 'branching_vesel'; did you mean 'branching_vessel'"),
        ("pipe", {"radios": 3}, "shape pipe: unknown name 'radios'; did you mean 'radius'"),
        ("pipe", {"radius": -1.0}, "radius is -1.0"),
        ("pipe", {"radius": "wide"}, "radius is 'wide'"),
        ("pipe", {"axis": "w"}, "axis is 'w'; allowed: x, y, z"),
        ("channel", {"ends": "closed"}, "ends is 'closed'; allowed: periodic, open"),
        ("sphere_pack", {"porosity": 1.5}, "porosity is 1.5"),
        ("random_solid", {"shape_zyx": [3, 3]}, "three voxel counts"),
        ("branching_vessel", {"generations": 9}, "generations = 9"),
    ],
)
def test_bad_options_are_named(name, options, text):
    with pytest.raises(GeometryError, match=text):
        build_shape(name, **options)


def test_an_obstacle_in_a_tank_is_the_box_asked_for():
    solid = build_shape("tank", length=9, height=6, width=5, obstacle=[3, 0, 1, 5, 2.6, 4]).flags == SOLID
    z, y, x = np.nonzero(solid)
    assert sorted(set(x)) == [3, 4] and sorted(set(y)) == [0, 1, 2] and sorted(set(z)) == [1, 2, 3]
    assert solid.sum() == 2 * 3 * 3


def test_an_obstacle_that_reaches_beyond_the_tank_is_refused():
    words = r"reaches beyond the tank of 9 x 6 x 5 voxels; what lies in it is 3, 0, 1, 5, 6, 4"
    with pytest.raises(GeometryError, match=words):
        build_shape("tank", length=9, height=6, width=5, obstacle=[3, -1, 1, 5, 8, 4])


@pytest.mark.parametrize("corners", [[20, 0, 0, 30, 5, 5], [3, 3, 0, 2, 5, 1], [0, 0, 0, 9, 9, 9]])
def test_an_obstacle_that_leaves_the_tank_as_it_is_or_full_is_refused(corners):
    with pytest.raises(GeometryError, match="obstacle is .* which takes (none|all) of the tank's voxels, of 9 x 6 x 5"):
        build_shape("tank", length=9, height=6, width=5, obstacle=corners)
