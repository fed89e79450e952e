"""The picture of a temperature shows its cut where it varies, with isotherms that are where they say."""

import base64
import re

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.image import imread

from muphy_lb.output.pictures.cut import best_cut
from muphy_lb.physics.thermal.picture import draw_temperature
from muphy_lb.run.loop import Run
from tests.channel import BOTTOM, TOP, open_channel, periodic_channel, simulate
from tests.unit.output.conftest import node_list

HEATED = {
    "thermal": {"reference_k": 300.0, "prandtl": 0.71, "expansion_1_k": 0.0},
    "walls": [BOTTOM | {"temperature_k": 310.0}, TOP],
    "lattice": {"collision": "mrt", "relaxation_time": 0.55, "time_step_s": None},
}


@pytest.fixture
def isotherms(monkeypatch):
    """Collects the contours that are drawn."""
    drawn, contour = [], Axes.contour

    def draw(axes, *args, **keys):
        drawn.append(contour(axes, *args, **keys))
        return drawn[-1]

    monkeypatch.setattr(Axes, "contour", draw)
    return drawn


@pytest.mark.parametrize("geometry", ["tube", "sheet", "blob"])
def test_picture_is_a_png_that_is_not_blank(tmp_path, geometry, request):
    nodes = request.getfixturevalue(geometry)
    draw_temperature(tmp_path / "t.png", nodes, 300.0 + nodes.coordinates()[:, 0], "title")
    assert imread(tmp_path / "t.png")[..., :3].std() > 0.02


@pytest.mark.parametrize("temperature_k", [0.0, 300.0])
def test_a_uniform_temperature_has_no_isotherm(tmp_path, tube, isotherms, temperature_k):
    rounding = 1e-8 * temperature_k * np.arange(tube.n_nodes) / tube.n_nodes
    draw_temperature(tmp_path / "t.png", tube, temperature_k + rounding)
    assert (tmp_path / "t.png").exists() and not isotherms


def test_a_single_row_of_nodes_can_be_drawn(tmp_path):
    draw_temperature(tmp_path / "t.png", node_list(np.ones((1, 1, 7), dtype=bool)), 300.0 + np.arange(7.0))
    assert (tmp_path / "t.png").exists()


def test_isotherms_lie_at_round_temperatures_where_the_field_has_them(tmp_path, sheet, isotherms):
    x_mm = sheet.positions_m()[:, 0] / 1e-3
    draw_temperature(tmp_path / "t.png", sheet, 280.0 + 0.5 * (x_mm - 100.0))
    (lines,) = isotherms
    steps = np.diff(lines.levels)
    assert len(lines.levels) > 4 and np.allclose(steps, steps[0]) and steps[0] in (1.0, 2.0, 2.5, 5.0)
    for level, segments in zip(lines.levels, lines.allsegs, strict=True):
        assert np.allclose(np.concatenate(segments)[:, 0], 100.0 + 2.0 * (level - 280.0))


@pytest.mark.parametrize("lies", [0, 1, 2])
def test_the_cut_is_one_in_which_the_temperature_varies(lies):
    """In a cube all planes hold as many nodes; the one across an axis misses what varies along it."""
    nodes = node_list(np.ones((9, 9, 9), dtype=bool))
    first, second = (axis for axis in range(3) if axis != lies)
    values = 3.0 * nodes.coordinates()[:, first] + nodes.coordinates()[:, second]
    cut = best_cut(nodes, values, values)
    assert cut.axis == lies and cut.position_m == pytest.approx(nodes.origin_m[lies] + 4 * nodes.spacing_m)


def test_a_plane_with_little_fluid_is_no_cut_however_much_varies_there():
    nodes = node_list(np.ones((4, 12, 40), dtype=bool))
    values = nodes.coordinates()[:, 1] ** 3.0
    assert best_cut(nodes, values, values).axis != 0


def test_a_thermal_run_draws_its_temperature_and_embeds_it(tmp_path):
    case = periodic_channel(**HEATED, run={"steps": 20}, output={"picture": True})
    Run(simulate(case), tmp_path).execute()
    images = re.findall(r'src="data:image/png;base64,([^"]*)"', (tmp_path / "report.html").read_text())
    assert (tmp_path / "temperature.png").read_bytes() in [base64.b64decode(image) for image in images]


def test_a_new_run_without_heat_removes_the_temperature_of_an_earlier_one(tmp_path):
    (tmp_path / "temperature.png").write_text("old")
    Run(simulate(open_channel(output={"picture": True})), tmp_path).execute()
    assert not (tmp_path / "temperature.png").exists() and (tmp_path / "picture.png").exists()
