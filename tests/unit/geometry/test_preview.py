import numpy as np
import pytest

from muphy_lb.base.errors import OutputError
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.openings.find import openings_of_surface, openings_of_voxels
from muphy_lb.geometry.openings.preview import (
    View,
    _depth_buffer,
    _first_fluid,
    draw_surface_openings,
    draw_voxel_openings,
    shade,
)
from muphy_lb.geometry.surfaces.mend import mend
from muphy_lb.geometry.voxels import FLUID, Voxels
from tests.unit.geometry.surfaces import box, tube

PNG = b"\x89PNG"


def test_a_picture_of_a_surface_is_written(tmp_path):
    mended = mend(tube(ends=("open", "flat")))
    draw_surface_openings(tmp_path / "a.png", mended.surface, openings_of_surface(mended))
    assert (tmp_path / "a.png").read_bytes()[:4] == PNG


@pytest.mark.parametrize("shape", [(6, 7, 8), (1, 7, 8)], ids=["3D", "2D"])
def test_a_picture_of_voxels_is_written(tmp_path, shape):
    voxels = Voxels(np.full(shape, FLUID, np.uint8), 1e-3)
    draw_voxel_openings(tmp_path / "a.png", voxels, openings_of_voxels(voxels))
    assert (tmp_path / "a.png").read_bytes()[:4] == PNG


def test_a_picture_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(OutputError, match="cannot write .*No such file"):
        draw_surface_openings(tmp_path / "no" / "a.png", tube(), ())


def test_a_picture_of_an_unknown_format_is_an_error(tmp_path):
    with pytest.raises(GeometryError, match="cannot write the picture .*Format 'gif2' is not supported"):
        draw_surface_openings(tmp_path / "a.gif2", tube(), ())


def test_depths_of_a_box_are_those_of_its_front():
    corners = box((4.0, 5.0, 6.0)).points + 1.0
    depth = _depth_buffer(corners[box().triangles], 7, 8)
    seen = np.full((8, 7), np.inf)
    seen[1:6, 1:5] = 1.0
    np.testing.assert_allclose(depth, seen)


def test_depths_of_voxels_count_from_the_side_of_the_eye():
    fluid = np.zeros((5, 3, 4), bool)
    fluid[1:3, 1, 2] = True
    assert [_first_fluid(fluid, (0, 1, 2), from_low)[1, 2] for from_low in (True, False)] == [1, 2]


def test_nothing_is_clear_and_what_faces_the_light_is_brighter():
    right = np.broadcast_to(np.arange(6.0), (5, 6))
    towards, away = shade(np.where(right < 5, -right, np.inf)), shade(np.where(right < 5, right, np.inf))
    assert towards[2, 5, 3] == 0.0
    assert towards[2, 2, 0] > away[2, 2, 0]


@pytest.mark.parametrize("from_low", [True, False])
def test_points_behind_a_wall_are_hidden(from_low):
    depth = np.full((10, 10), np.inf)
    depth[:, 5:] = 4.0  # a wall, 4 pixels behind the front
    view = View((0, 1, 2), from_low, depth, 20.0, np.zeros(3), 0.5)
    heights = np.array([1.0, 4.0, 9.0]) if from_low else 20.0 - np.array([1.0, 4.0, 9.0])
    for column, seen in ((2.5, [True, True, True]), (7.5, [True, True, False])):
        points = 0.5 * np.stack([np.full(3, column), np.full(3, 5.0), heights], axis=1)
        assert view.are_visible(points).tolist() == seen
