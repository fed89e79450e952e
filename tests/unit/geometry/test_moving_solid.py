"""Solids that lose or gain volume: the wall lies where their shares say, and no volume is lost on the way."""

from math import pi

import numpy as np
import pytest

from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.moving_solid import MovingSolid
from muphy_lb.geometry.neighbours import NeighbourSearch, cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.solid_place import SolidPlace
from muphy_lb.geometry.voxels import FLUID, SOLID, Voxels
from muphy_lb.geometry.wall_areas import areas_of_links, link_areas
from muphy_lb.lattice import lattice_named

VECTORS = lattice_named("D2Q9").c[1:]


def box(n: int, **more) -> Voxels:
    return Voxels(np.full((1, n, n), FLUID, dtype=np.uint8), **{"walls": ("grain",), **more})


def links_along_axes(solid: MovingSolid, shares: np.ndarray):
    """Nodes, their links along axes (voxel ids, vectors), cut distances and areas of these."""
    voxels = solid.filled(shares)
    nodes = cut_links(build_nodes(voxels), voxels.wall_shape, VECTORS)
    cuts = nodes.cuts
    vectors = np.stack([cuts.direction // 3**i % 3 for i in range(3)], axis=1).astype(np.int64) - 1
    x, y = cuts.voxel % voxels.shape[2] + vectors[:, 0], cuts.voxel // voxels.shape[2] + vectors[:, 1]
    n = voxels.shape[1]
    is_inside = (x >= 0) & (x < n) & (y >= 0) & (y < n) & (np.abs(vectors).sum(axis=1) == 1)
    node = np.searchsorted(nodes.voxel, cuts.voxel[is_inside])
    areas = areas_of_links(nodes, NeighbourSearch(nodes), node, vectors[is_inside])
    return cuts.voxel[is_inside], vectors[is_inside], cuts.distance[is_inside], areas


@pytest.mark.parametrize("place", [4.0, 4.2, 4.49, 4.51, 4.8])
@pytest.mark.parametrize("turn", [0, 1, 2, 3])
def test_a_plane_lies_where_its_shares_say(place, turn):
    shares = np.clip(np.arange(9) + 0.5 - place, 0.0, 1.0)
    shares = np.rot90(np.broadcast_to(shares, (9, 9)), turn)[None].copy()
    voxel, vector, distance, areas = links_along_axes(MovingSolid(box(9), "grain", shares), shares)
    assert voxel.size == 9 and len(np.unique(vector, axis=0)) == 1
    depth = np.array([voxel % 9, 8 - voxel // 9, 8 - voxel % 9, voxel // 9])[turn] + distance
    assert depth == pytest.approx(place, abs=1e-12) and areas == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("radius", "within"), [(5.3, 0.012), (12.3, 0.003)])
def test_a_disc_has_its_volume_and_its_area(radius, within):
    n = int(2 * radius + 9)
    centre = (0.5 * n - 0.3, 0.5 * n + 0.1, 7.0)
    solid = MovingSolid.of(box(n), SolidPlace("grain", centre_m=centre, radius_m=radius))
    assert solid.start.sum() == pytest.approx(pi * radius**2, rel=1e-3)
    assert links_along_axes(solid, solid.start)[-1].sum() == pytest.approx(2.0 * pi * radius, rel=within)


def test_volume_goes_through_links_and_nowhere_else():
    solid = MovingSolid.of(box(24), SolidPlace("grain", centre_m=(11.7, 12.2, 0.0), radius_m=7.0))
    shares, rng = solid.start, np.random.default_rng(1)
    for low, high in ((0.0, 0.4), (-0.4, 0.0), (-0.3, 0.3)):
        for _ in range(6):
            voxel, vector, *_ = links_along_axes(solid, shares)
            lost = rng.uniform(low, high, voxel.size)
            before, (shares, beyond) = shares, solid.moved(shares, voxel, vector, lost)
            assert beyond == 0.0 and shares.min() >= 0.0 and shares.max() <= 1.0
            assert before.sum() - shares.sum() == pytest.approx(lost.sum(), abs=1e-12)


def test_a_link_does_not_reach_the_surface_behind_its_node():
    """Across a gap of one voxel the other solid stays."""
    shares = np.ones((1, 7, 7))
    shares[:, :, 3] = 0.0
    solid = MovingSolid(box(7), "grain", shares)
    moved, beyond = solid.moved(shares, np.array([3 * 7 + 3]), np.array([[1, 0, 0]]), np.array([0.25]))
    assert beyond == 0.0 and moved[0, 3, 4] == 0.75 and (moved[0, :, :3] == 1.0).all()


def test_more_than_there_is_is_told_and_rests_are_crumbs():
    shares = np.zeros((1, 9, 9))
    shares[0, 4, 4:6] = 0.9, 0.3
    solid = MovingSolid(box(9), "grain", shares)
    moved, beyond = solid.moved(shares, np.array([4 * 9 + 3]), np.array([[1, 0, 0]]), np.array([2.0]))
    assert moved.sum() == 0.0 and beyond == pytest.approx(0.8)
    assert not solid.without_crumbs(shares).any()


def test_a_solid_repeats_with_its_box():
    shares = np.zeros((1, 12, 12))
    shares[:, :, [9, 10, 11, 0]] = 1.0
    solid = MovingSolid(box(12, periodic=(True, True, False)), "grain", shares)
    assert solid.levels(shares)[0, 0, [9, 10, 0, 1, 8]] == pytest.approx([-0.5, -1.5, -0.5, 0.5, 0.5])
    moved, _ = solid.moved(shares, np.array([1]), np.array([[-1, 0, 0]]), np.array([1.5]))
    assert moved[0, 0, [9, 10, 11, 0]].tolist() == [1.0, 1.0, 0.5, 0.0]


def test_other_walls_stay_and_labels_become_the_solid():
    flags = np.full((1, 6, 6), FLUID, dtype=np.uint8)
    flags[:, 0], flags[:, 4:, 2:4] = SOLID, 128
    solid = MovingSolid.of(Voxels(flags, walls=("grain",)), SolidPlace("grain"))
    assert solid.start.sum() == 4.0 and solid.porosity(solid.start) == pytest.approx((36 - 6 - 4) / 36)
    assert (solid.filled(solid.start).flags == flags).all()
    drawn = MovingSolid.of(Voxels(flags, walls=("grain",)), SolidPlace("other", box_m=((-1, -1, -1), (9, 0.8, 1))))
    assert drawn.start[0, 1] == pytest.approx(0.3) and not drawn.start[0, 0].any() and drawn.voxels.walls[1] == "other"


def test_a_file_holds_the_shares(tmp_path):
    path, shares = tmp_path / "shares.npy", np.linspace(0.0, 1.0, 25).reshape(5, 5)
    np.save(path, shares)
    assert (MovingSolid.of(box(5), SolidPlace("grain", shares_file=path)).start[0] == shares).all()
    np.save(path, shares + 0.5)
    with pytest.raises(GeometryError, match=r"a share of 1\.04167; allowed: 0, no solid, to 1"):
        MovingSolid.of(box(5), SolidPlace("grain", shares_file=path))
    np.save(path, shares[1:])
    with pytest.raises(GeometryError, match=r"shape \(1, 4, 5\); the geometry has \(1, 5, 5\)"):
        MovingSolid.of(box(5), SolidPlace("grain", shares_file=path))
    path.write_text("1, 2")
    with pytest.raises(GeometryError, match=r"cannot be read as a \.npy file"):
        MovingSolid.of(box(5), SolidPlace("grain", shares_file=path))


def test_a_solid_that_is_not_there_is_refused():
    with pytest.raises(GeometryError, match="no wall is named 'grain'; the walls are none: name one of them, or say"):
        MovingSolid.of(box(5, walls=()), SolidPlace("grain"))
    with pytest.raises(GeometryError, match="'grain' fills no voxel; the box of voxels is .* m: move it"):
        MovingSolid.of(box(5), SolidPlace("grain", centre_m=(99.0, 0.0, 0.0), radius_m=1.0))
    with pytest.raises(GeometryError, match="'grain' fills every voxel; .* make it smaller"):
        MovingSolid.of(box(5), SolidPlace("grain", centre_m=(0.0, 0.0, 0.0), radius_m=99.0))


@pytest.mark.parametrize("seed", range(3))
def test_any_solid_has_areas(seed):
    """Voxels at random, between which walls face every way."""
    shares = (np.random.default_rng(seed).random((8, 8, 8)) < 0.5).astype(float)
    solid = MovingSolid(Voxels(np.full(shares.shape, FLUID, dtype=np.uint8), walls=("grain",)), "grain", shares)
    voxels = solid.filled(shares)
    nodes = cut_links(build_nodes(voxels), voxels.wall_shape)
    areas = link_areas(nodes, NeighbourSearch(nodes), np.arange(nodes.n_nodes))
    assert (areas >= 0.0).all() and areas.max() <= 2.0


@pytest.mark.parametrize("profile", [(0.0, 1.0, 0.0), (0.3, 1.0, 0.3)])
def test_a_thin_solid_grows_on_the_side_of_the_flux(profile):
    shares = np.zeros((1, 7, 7))
    shares[..., 2:5] = profile
    solid, voxel = MovingSolid(box(7), "grain", shares), np.arange(7) * 7 + 2
    grown, beyond = solid.moved(shares, voxel, np.tile([1, 0, 0], (7, 1)), np.full(7, -0.2))
    assert grown[0, :, 2] - shares[0, :, 2] == pytest.approx(0.2) and beyond == 0.0
    assert np.array_equal(grown[..., 3:], shares[..., 3:])
