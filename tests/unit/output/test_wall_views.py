"""How views of walls lie in a picture."""

from contextlib import contextmanager

import numpy as np
import pytest
from matplotlib.figure import Figure

from muphy_lb.geometry.voxels import Opening
from muphy_lb.output.pictures import wall
from muphy_lb.output.pictures.panels import draw_opening
from muphy_lb.output.pictures.wall import VIEWS, Marks, draw_walls, laid_out
from tests.unit.output.conftest import node_list

RADIUS, BEND = 6, 36


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


def test_names_of_openings_stay_inside_the_axes_of_small_views(tmp_path, monkeypatch):
    """A quarter of a ring, whose views are of very different sizes."""
    z, y, x = np.mgrid[: 2 * RADIUS + 3, : BEND + RADIUS + 2, : BEND + RADIUS + 2]
    fluid = (np.hypot(x, y) - BEND) ** 2 + (z - RADIUS - 1) ** 2 <= RADIUS**2
    low = 0.1, 0.2, 0.3 + 1e-3 * (RADIUS + 1)
    ends = (
        Opening("inlet", "inlet", (low[0] + 1e-3 * BEND, *low[1:]), (0, 1, 0)),
        Opening("outlet_1", "outlet", (low[0], low[1] + 1e-3 * BEND, low[2]), (1, 0, 0)),
    )
    nodes, figures, figure_at = node_list(fluid, openings=ends), [], wall.figure_at

    @contextmanager
    def kept(*arguments):
        with figure_at(*arguments) as figure:
            figures.append(figure)
            yield figure

    monkeypatch.setattr(wall, "figure_at", kept)
    draw_walls(tmp_path / "wall.png", nodes, np.ones(nodes.n_nodes), "stress [Pa]", Marks(ends))
    labels = [(axes.bbox, label) for axes in figures[0].axes for label in axes.texts if label.get_text()]
    assert len(labels) == 4
    for box, label in labels:
        place = label.get_window_extent()
        assert box.x0 <= place.x0 and place.x1 <= box.x1 and box.y0 <= place.y0 and place.y1 <= box.y1


@pytest.mark.parametrize("is_upper_first", [True, False])
def test_names_of_openings_close_to_each_other_lie_above_each_other_as_their_arrows_do(is_upper_first):
    axes, taken = Figure().add_subplot(), []
    axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0))
    heights = {"upper": 0.52, "lower": 0.48}
    for name in sorted(heights, reverse=is_upper_first):
        draw_opening(axes, "outlet", np.array([0.5, heights[name]]), np.array([-1.0, 0.0]), name, taken)
    placed = {label.get_text(): label.get_position()[1] for label in axes.texts if label.get_text()}
    assert placed["upper"] - placed["lower"] > 0.04
