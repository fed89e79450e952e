"""How views of walls lie in a picture."""

import numpy as np
import pytest

from muphy_lb.output.pictures.wall import VIEWS, laid_out


@pytest.mark.parametrize("size", [(30.0, 30.0, 30.0), (30.0, 20.0, 40.0)])
def test_views_of_a_compact_body_stand_side_by_side(size):
    assert laid_out(list(VIEWS), np.array(size)) == (list(VIEWS), [[0], [1], [2]])


@pytest.mark.parametrize("along", range(3))
def test_a_long_vessel_lies_along_the_picture_and_the_view_along_it_stands_beside(along):
    size = np.full(3, 30.0)
    size[along] = 200.0
    views, columns = laid_out(list(VIEWS), size)
    (beside,) = (k for k, view in enumerate(views) if view[2] == along)
    assert columns == [[k for k in range(3) if k != beside], [beside]]
    assert all(view[0] == along for k, view in enumerate(views) if k != beside)


def test_no_view_is_a_mirror_image():
    """To the right cross upwards points to the viewer."""
    axes = np.eye(3)
    for size in ((30.0, 30.0, 30.0), (20.0, 200.0, 20.0), (200.0, 20.0, 20.0), (20.0, 20.0, 200.0)):
        for right, upwards, sight, side in laid_out(list(VIEWS), np.array(size))[0]:
            assert np.array_equal(np.cross(axes[right], axes[upwards]), side * axes[sight])
