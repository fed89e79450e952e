"""Pictures of the liquid show it where it is, one for each frame that the case asks for."""

import numpy as np
import pytest
from matplotlib.image import imread
from PIL import Image

from muphy_lb.physics.free_surface.picture import Scene, camera_of, draw_liquid
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


def test_no_picture_unless_it_is_asked_for(tmp_path):
    run(dam(tmp_path), tmp_path / "out")
    assert not list((tmp_path / "out").rglob("*.png")) and not (tmp_path / "out" / "frames").exists()
