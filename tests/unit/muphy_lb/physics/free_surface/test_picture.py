"""Pictures of the liquid show it where it is, one for each frame that the case asks for."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from PIL import Image

from muphy_lb.case.case import load_case
from muphy_lb.measure.pictures import SliceFrames, shown_flow
from muphy_lb.output.pictures.theme import DARK
from muphy_lb.physics.free_surface import picture
from muphy_lb.physics.free_surface.picture import Scene, camera_of, draw_liquid
from muphy_lb.run.solver import Solver
from muphy_lb.view.gathering import Gathering, describe
from tests.unit.muphy_lb.physics.free_surface.cases import dam, run
from tests.unit.muphy_lb.physics.free_surface.test_isosurface import box

UP = np.array([0.0, 1.0, 0.0])


def blue_share(path):
    """Share of a picture that has the colour of slow liquid."""
    red, green, blue = np.moveaxis(imread(path)[..., :3], -1, 0)
    return float(((blue > 0.3) & (blue > 1.5 * red) & (blue > 1.2 * green)).mean())


def scene(nodes, height):
    fill = np.clip(height - nodes.coordinates()[:, 1] + 0.5, 0.0, 1.0)
    return Scene(nodes, fill, np.zeros((nodes.n_nodes, 3)), UP, 1.0, 0.1, "tank $1")


@pytest.mark.parametrize(("depth", "solid"), [(1, None), (8, lambda x, y, z: (x > 6) & (y < 3))])
def test_more_liquid_is_a_larger_area(tmp_path, depth, solid):
    nodes, shares = box((depth, 12, 20), solid), []
    for height in (-1.0, 3.5, 8.5):
        draw_liquid(tmp_path / "a.png", scene(nodes, height))
        shares.append(blue_share(tmp_path / "a.png"))
    colour_bar, little, much = shares
    assert 0.0 < colour_bar < 0.01
    assert colour_bar + 0.03 < little < much - 0.02


@pytest.mark.parametrize("up", [(0, 1, 0), (0, 0, 1), (-1, 0, 0), (0.0, 0.8, 0.6)])
def test_the_viewer_stands_upright_and_looks_down(up):
    camera = camera_of(np.array(up, dtype=float), np.array([4.0, 2.0, 3.0]))
    right, upwards, forward = camera
    assert np.allclose(camera @ camera.T, np.eye(3)) and np.linalg.det(camera) == pytest.approx(-1.0)
    assert right @ up == pytest.approx(0.0) and upwards @ up > 0.9 and forward @ up < -0.3


def test_a_run_draws_frames_and_a_last_picture(tmp_path):
    case, out = dam(tmp_path), tmp_path / "out"
    (out / "frames").mkdir(parents=True)
    (out / "frames" / "surface_00000090.png").write_text("of an earlier run")
    run(case, out, ["output.picture=true", "output.frames_every_steps=10", "output.film=true"])
    assert [path.name for path in sorted((out / "frames").iterdir())] == [
        "surface_00000010.png",
        "surface_00000020.png",
    ]
    with Image.open(out / "film.gif") as film:
        assert film.n_frames == 2
    assert blue_share(out / "surface.png") > 0.02 and blue_share(out / "frames" / "surface_00000020.png") > 0.02


def test_gravity_points_down_in_all_pictures_and_their_cut_goes_through_the_gauge(tmp_path):
    gauge = 'gauges = [{ name = "foot", position_m = [1e-3, 2e-3, 1e-3] }]'
    path = dam(
        tmp_path, gauge, width=4, gravity="[9.81, 0.0, 0.0]", liquid="box_m = [[9e-3, -1.0, -1.0], [1.0, 1.0, 1.0]]"
    )
    simulation = Solver(load_case(path))
    _, _, how = shown_flow(simulation, DARK)
    assert np.allclose(how.sight.up, (-1.0, 0.0, 0.0)) and np.allclose(how.sight.through_m, (1e-3, 2e-3, 1e-3))
    assert how.room.n_nodes == simulation.header.n_nodes
    assert np.array_equal(describe(simulation, Gathering(simulation)).sight.up, how.sight.up)
    raster = SliceFrames(simulation, tmp_path, None)._raster
    assert (raster.axis, raster.vertical, raster.is_downwards) == (2, 0, True)
    assert raster.position_m == pytest.approx(1e-3) and raster.room.all()


@pytest.mark.parametrize("up", [(0, 1, 0), (0, -1, 0), (1, 0, 0), (-1, 0, 0)])
def test_a_plane_of_liquid_stands_upright(up, monkeypatch):
    nodes, figure = box((1, 12, 20)), Figure()
    monkeypatch.setattr(picture, "figure_at", lambda path, theme: nullcontext(figure))
    draw_liquid("nowhere.png", replace(scene(nodes, 3.5), up=np.array(up, dtype=float)))
    axes = figure.get_axes()[0]
    assert axes.get_ylabel()[0] == ("y" if up[1] else "x")
    assert axes.yaxis_inverted() == (sum(up) < 0)


def test_no_picture_unless_it_is_asked_for(tmp_path):
    run(dam(tmp_path), tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*.png")) and not (tmp_path / "out" / "frames").exists()
