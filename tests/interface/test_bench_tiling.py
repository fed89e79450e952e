"""Copies of a geometry side by side are the node list of the repeated image."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.bench.jobs import tile_nodes
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.geometry.voxels import Voxels
from tests.support import random_voxels, with_openings

COPIES = [(1, 1, 1), (2, 1, 1), (1, 3, 1), (1, 1, 2), (3, 2, 4)]


@pytest.mark.parametrize("periodic", [(True, True, True), (False, True, False)])
@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("fluid", [0.05, 0.6, 1.0])
def test_tiles_are_the_nodes_of_the_tiled_image(fluid, copies, periodic):
    voxels = random_voxels((3, 4, 5), fluid=fluid, periodic=periodic)
    tiled = tile_nodes(build_nodes(voxels), copies)
    expected = build_nodes(Voxels(np.tile(voxels.flags, copies[::-1]), periodic=periodic))
    np.testing.assert_array_equal(tiled.voxel, expected.voxel)
    np.testing.assert_array_equal(tiled.group_start, expected.group_start)
    assert (tiled.shape, tiled.periodic) == (expected.shape, expected.periodic)
    assert tiled.voxel.dtype == expected.voxel.dtype


def test_tiles_keep_their_voxel_edge_and_origin():
    nodes = replace(build_nodes(random_voxels((3, 4, 5))), spacing_m=2e-6, origin_m=(1.0, 2.0, 3.0))
    tiled = tile_nodes(nodes, (2, 2, 2))
    assert (tiled.spacing_m, tiled.origin_m) == (2e-6, (1.0, 2.0, 3.0))


def test_a_geometry_with_openings_is_not_tiled():
    with pytest.raises(InputError, match=r"openings .*\(in, out\)"):
        tile_nodes(build_nodes(with_openings(random_voxels((3, 4, 5)))), (2, 1, 1))


def test_cut_links_are_not_tiled():
    voxels = build_shape("sphere_pack", size=12, radius=4.0)
    with pytest.raises(InputError, match="half-way"):
        tile_nodes(cut_links(build_nodes(voxels), voxels.wall_shape), (2, 1, 1))


@pytest.mark.parametrize("copies", [(0, 1, 1), (1, -2, 1)])
def test_less_than_one_copy_is_refused(copies):
    with pytest.raises(InputError, match="above zero"):
        tile_nodes(build_nodes(random_voxels((3, 4, 5))), copies)
