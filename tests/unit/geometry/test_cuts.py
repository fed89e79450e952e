"""Cut distances: which links are cut, where, and what a wall shape must give."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from muphy_lb.geometry.implicit import FirstWall, ImplicitWall, MovedWall, PlaneWall, RoundWall, plane_pair
from muphy_lb.geometry.link_cuts import Cuts, direction_code
from muphy_lb.geometry.neighbours import (
    DIRECTIONS,
    FIRST_WALL_LINK,
    HALF_WAY,
    SHORTEST,
    WALL_LINK,
    cut_links,
    neighbour_table,
)
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Opening, Voxels, opening_flag, wall_flag
from tests.unit.geometry.links import cut_points, cut_vectors

QUICK = settings(max_examples=80, deadline=None)
EXACT = 1e-11
SIZE = 15
CENTRE = np.array([7.2, 6.9, 7.4])
RADIUS = 4.3


@dataclass(frozen=True)
class Fixed:
    """A wall shape that gives the same distance everywhere."""

    value: float

    def distances(self, start, vector):
        return np.full(len(start), self.value)


def around_a_ball(periodic=(True, True, True)):
    """Nodes around a labelled ball in a box."""
    zyx = np.indices((SIZE,) * 3)
    gap2 = sum((zyx[2 - i] - CENTRE[i]) ** 2 for i in range(3))
    flags = np.where(gap2 > RADIUS**2, FLUID, wall_flag(0)).astype(FLAG_DTYPE)
    return build_nodes(Voxels(flags, periodic=periodic, walls=("ball",)))


@pytest.fixture(scope="module")
def ball():
    return cut_links(around_a_ball(), RoundWall(CENTRE, RADIUS))


def test_exactly_the_links_into_solid_are_cut(ball):
    table = neighbour_table(ball, DIRECTIONS)
    q, n = np.nonzero((table == WALL_LINK) | (table <= FIRST_WALL_LINK))
    keys = sorted(zip(ball.voxel[n].tolist(), direction_code(DIRECTIONS[q]).tolist(), strict=True))
    assert list(zip(ball.cuts.voxel.tolist(), ball.cuts.direction.tolist(), strict=True)) == keys


def test_links_into_openings_are_not_cut():
    flags = np.array([[[opening_flag(0), FLUID, FLUID, SOLID]]], FLAG_DTYPE)
    nodes = build_nodes(
        Voxels(flags, periodic=(False, True, True), openings=(Opening("i", "inlet", (0, 0, 0), (1, 0, 0)),))
    )
    cuts = cut_links(nodes, Fixed(0.25)).cuts
    assert (
        cuts.of(1, np.array([-1, 0, 0])) != cuts.of(1, np.array([-1, 0, 0])) and cuts.of(2, np.array([1, 0, 0])) == 0.25
    )


def test_cuts_of_a_ball_lie_on_the_ball(ball):
    assert ball.cuts.n_missed == 0
    np.testing.assert_allclose(np.linalg.norm(cut_points(ball) - CENTRE, axis=1), RADIUS, rtol=EXACT)


def test_a_level_function_gives_what_the_closed_form_gives(ball):
    level = ImplicitWall(lambda points: np.linalg.norm(points - CENTRE, axis=1) - RADIUS)
    np.testing.assert_allclose(cut_links(around_a_ball(), level).cuts.distance, ball.cuts.distance, atol=EXACT)


def test_distances_are_clamped_and_half_way_and_counted_where_no_wall_is_met():
    nodes = around_a_ball()
    assert np.all(cut_links(nodes, Fixed(1e-9)).cuts.distance == SHORTEST)
    assert np.all(cut_links(nodes, Fixed(1.0 + 1e-9)).cuts.distance == 1.0)
    cuts = cut_links(nodes, Fixed(np.nan)).cuts
    assert np.all(cuts.distance == HALF_WAY) and cuts.n_missed == cuts.n_links > 0


def test_links_across_a_sheet_are_left_out():
    nodes = cut_links(build_nodes(Voxels(np.full((1, 2, 2), FLUID, FLAG_DTYPE))), Fixed(0.5))
    assert np.all(nodes.cuts.direction // 9 == 1) and nodes.cuts.n_links == 4 * 5


def test_cuts_do_not_depend_on_the_chunk_size(ball, monkeypatch):
    monkeypatch.setattr("muphy_lb.geometry.neighbours.NODES_PER_CHUNK", 100)
    chunked = cut_links(around_a_ball(), RoundWall(CENTRE, RADIUS)).cuts
    assert np.array_equal(chunked.distance, ball.cuts.distance) and np.array_equal(chunked.voxel, ball.cuts.voxel)


def test_the_lookup_finds_every_cut_and_gives_nan_where_there_is_none(ball):
    assert np.array_equal(ball.cuts.of(ball.cuts.voxel, cut_vectors(ball)), ball.cuts.distance)
    assert np.isnan(ball.cuts.of(np.array([0, SIZE**3 - 1]), np.array([1, 0, 0]))).all()
    none = Cuts(np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0))
    assert np.isnan(none.of(np.array([3]), np.array([[1, 0, 0]]))).all()


def test_direction_codes_count_up_with_z_y_x():
    assert direction_code(DIRECTIONS).tolist() == [k for k in range(27) if k != 13]


def test_a_periodic_wall_cuts_alike_over_the_border():
    moved = CENTRE - np.array([8.0, 8.0, 8.0])
    shape = RoundWall(moved, RADIUS, periods=(SIZE,) * 3)
    zyx = np.indices((SIZE,) * 3).reshape(3, -1).T[:, ::-1].astype(np.float64)
    flags = np.where(shape.gaps(zyx) > 0, FLUID, SOLID).astype(FLAG_DTYPE).reshape((SIZE,) * 3)
    cuts = cut_links(build_nodes(Voxels(flags, periodic=(True,) * 3)), shape).cuts
    expected = cut_links(around_a_ball(), RoundWall(CENTRE, RADIUS)).cuts
    assert cuts.n_missed == 0
    np.testing.assert_allclose(np.sort(cuts.distance), np.sort(expected.distance), atol=EXACT)


BODIES = {
    "balls": ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    "periodic balls": ((0.0, 0.0, 0.0), (31.0, 0.0, 40.5)),
    "periodic cylinders": ((0.0, 0.0, 1.0), (31.0, 27.5, 0.0)),
    "tilted cylinders": ((2.0, 1.0, 0.0), (0.0, 0.0, 0.0)),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("radius", [0.7, 3.1, 14.0])
def test_many_bodies_are_met_first_where_the_nearest_of_them_is(name, radius):
    random, (axis, periods) = np.random.default_rng(2), BODIES[name]
    centres = random.uniform(-10, 50, size=(60, 3))
    on_some = centres[random.integers(60, size=600)] + random.normal(size=(600, 3)) * radius
    start = np.concatenate((on_some, random.uniform(-60, 100, size=(200, 3))))
    together = RoundWall(centres, radius, axis, periods)
    each = FirstWall(tuple(RoundWall(centre, radius, axis, periods) for centre in centres))
    for vector in ([1, 0, 0], [-1, 1, 0], [1, -1, 1]):
        found = together.distances(start, np.array(vector))
        assert np.array_equal(found, each.distances(start, np.array(vector)), equal_nan=True)
        assert np.count_nonzero(~np.isnan(found)) > 20


@pytest.mark.parametrize("shift", [(1, 0, 0), (-1, 0, 1), (3, 0, -2)])
def test_periodic_balls_are_met_alike_in_every_box(shift):
    random, periods = np.random.default_rng(3), np.array([31.0, 0.0, 40.5])
    wall = RoundWall(random.uniform(0, 30, size=(60, 3)), 3.1, periods=tuple(periods))
    start = random.uniform(0, 30, size=(2000, 3))
    for vector in ([1, 0, 0], [-1, 1, 0], [1, -1, 1]):
        found, moved = (wall.distances(at, np.array(vector)) for at in (start, start + shift * periods))
        np.testing.assert_allclose(moved, found, atol=1e-9)
        assert np.count_nonzero(~np.isnan(found)) > 20


def test_no_body_is_met_nowhere():
    assert np.isnan(RoundWall(np.empty((0, 3)), 1.0).distances(np.zeros((2, 3)), np.array([1, 0, 0]))).all()


def test_only_links_along_the_asked_vectors_are_cut(ball):
    vectors = np.array([[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [1, 1, 0]])
    cuts = cut_links(around_a_ball(), RoundWall(CENTRE, RADIUS), vectors).cuts
    kept = np.isin(ball.cuts.direction, direction_code(vectors))
    for name in ("voxel", "direction", "distance"):
        assert np.array_equal(getattr(cuts, name), getattr(ball.cuts, name)[kept]), name
    assert cuts.direction.dtype == np.uint8 and 0 < cuts.n_links < ball.cuts.n_links


def test_the_keys_of_cuts_ascend_and_are_made_once(ball):
    assert ball.cuts.keys is ball.cuts.keys and ball.cuts.keys.dtype == np.int64
    assert (np.diff(ball.cuts.keys) > 0).all()


@QUICK
@given(st.sampled_from(DIRECTIONS.tolist()), st.floats(-3, 3), st.floats(-3, 3), st.floats(0.3, 4.0))
def test_the_first_of_two_crossings_is_taken(vector, x, y, radius):
    start, vector, step = np.array([[x, y, -0.3]]), np.array(vector), np.linspace(0, 1, 2001)
    shape = RoundWall(np.zeros(3), radius)
    gaps = shape.gaps(start + step[:, np.newaxis] * vector)
    assume(abs(gaps[0]) > 1e-6)
    found = shape.distances(start, vector)[0]
    same_side = gaps * np.sign(gaps[0]) > -1e-6
    assert same_side[step < (1.0 if np.isnan(found) else found)].all()
    assert np.isnan(found) or abs(shape.gaps(start + found * vector)[0]) < 1e-9


def test_a_tilted_cylinder_is_cut_where_it_lies():
    axis = np.array([2.0, 1.0, 0.0])
    shape = RoundWall(np.array([1.0, 2.0, 3.0]), 2.5, axis=tuple(axis))
    start = np.array([1.0, 2.0, 3.0]) + np.random.default_rng(1).normal(size=(500, 3)) * 2
    vector = np.array([1, -1, 1])
    distance = shape.distances(start, vector)
    hit = ~np.isnan(distance)
    places = start[hit] + distance[hit, np.newaxis] * vector - np.array([1.0, 2.0, 3.0])
    across = places - np.outer(places @ axis / 5.0, axis)
    assert hit.sum() > 100
    np.testing.assert_allclose(np.linalg.norm(across, axis=1), 2.5, rtol=EXACT)
    # A link along a cylinder meets nothing.
    assert np.isnan(RoundWall(np.zeros(3), 0.5, axis=(1.0, 0.0, 0.0)).distances(np.zeros((1, 3)), [1, 0, 0])).all()


def test_planes_are_met_where_they_lie_and_in_front_only():
    shape = plane_pair(1, -0.25, 3.75)
    start = np.array([[5.0, 0.0, 2.0], [5.0, 3.0, 2.0], [5.0, 1.0, 2.0]])
    np.testing.assert_allclose(shape.distances(start, np.array([1, 1, 0])), [np.nan, 0.75, np.nan])
    np.testing.assert_allclose(shape.distances(start, np.array([1, -1, 1])), [0.25, np.nan, np.nan])
    shape = PlaneWall(np.array([[1.0, 2.0, -1.0]]), np.array([2.0]))
    assert shape.distances(np.zeros((1, 3)), np.array([1, 1, 0])) == pytest.approx([2 / 3])


def test_a_union_is_met_first_where_its_nearest_part_is():
    shape = FirstWall((plane_pair(0, -9.0, 0.75), RoundWall(np.array([2.0, 0.0, 0.0]), 1.5), Fixed(np.nan)))
    assert shape.distances(np.zeros((1, 3)), np.array([1, 0, 0])) == pytest.approx([0.5])


def test_a_moved_wall_moves_with_its_box():
    shape = plane_pair(0, 0.5, 4.0)
    assert MovedWall(shape, (4, 0, 0)).distances(np.array([[4.0, 0, 0]]), np.array([1, 0, 0])) == pytest.approx([0.5])


def test_a_level_function_that_is_not_positive_at_the_node_meets_nothing():
    shape = ImplicitWall(lambda points: points[:, 0] - 1.0)
    assert np.isnan(shape.distances(np.array([[0.5, 0.0, 0.0]]), np.array([-1, 0, 0]))).all()


def test_the_first_root_of_a_level_function_is_taken():
    shape = ImplicitWall(lambda points: (points[:, 0] - 0.3) * (points[:, 0] - 0.6) * (0.9 - points[:, 0]) * -1)
    start = np.array([[1.0, 0.0, 0.0]])
    assert shape.distances(start, np.array([-1, 0, 0])) == pytest.approx([0.1], abs=EXACT)
