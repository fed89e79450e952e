"""The walls of a vessel, shaded, have the colours of the values at their nodes."""

import json

import numpy as np
import pytest

from muphy_lb.output.pictures.projection import Window, best_camera, render
from muphy_lb.output.pictures.wall import behind, can_be_shaded, wall_volume
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.unit.output.conftest import node_list
from tests.vessel import vessel

LENGTH, RADIUS = 40, 8


@pytest.fixture(scope="module")
def pipe():
    """Nodes of a pipe along x, and the numbers of those beside its wall."""
    y, z = np.mgrid[-RADIUS - 2 : RADIUS + 3, -RADIUS - 2 : RADIUS + 3]
    nodes = node_list(np.repeat((np.hypot(y, z) <= RADIUS)[:, :, None], LENGTH, axis=2))
    place = nodes.coordinates()[:, 1:] - RADIUS - 2
    return nodes, np.flatnonzero(np.hypot(*place.T) > RADIUS - 1.0)


def seen(nodes, wall, values):
    """The values that rays find, and the image."""
    found = []

    def colours(of_rays):
        found.append(of_rays)
        return np.ones((*of_rays.shape, 4))

    volume = wall_volume(nodes, wall, values)
    view = render(volume, Window.around(volume, best_camera(volume.voxels)), colours, 200)
    return np.concatenate(found), view.image


def test_rays_find_the_value_of_the_wall_and_nothing_below_it(pipe):
    values, _ = seen(*pipe, np.full(pipe[1].size, 2.0))
    np.testing.assert_allclose(values, 2.0, rtol=1e-5)


def test_rays_find_the_values_where_they_are(pipe):
    nodes, wall = pipe
    x = nodes.coordinates()[wall, 0]
    values, _ = seen(nodes, wall, np.where(x < LENGTH // 2, 1.0, 3.0))
    assert np.mean(values < 1.01) == pytest.approx(0.5, abs=0.1) == np.mean(values > 2.99)


def test_walls_without_a_value_are_grey(pipe):
    nodes, wall = pipe
    _, image = seen(nodes, wall, np.where(nodes.coordinates()[wall, 0] < LENGTH // 2, np.nan, 1.0))
    solid = image[image[..., 3] == 1.0, :3]
    assert np.mean(solid.mean(axis=1) < 0.55) == pytest.approx(0.5, abs=0.15)


def test_the_viewer_behind_looks_the_other_way_and_sees_no_mirror_image():
    camera = best_camera(np.argwhere(np.ones((9, 5, 30))))
    right, up, forward = other = behind(camera)
    np.testing.assert_allclose(other @ other.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.cross(right, forward), up, atol=1e-12)
    assert forward[:2] @ camera[2, :2] < 0.0 and forward[2] == camera[2, 2] and up[2] > 0.0


def test_flat_flows_are_not_shaded(sheet, pipe):
    assert can_be_shaded(pipe[0]) and not can_be_shaded(sheet)


@pytest.mark.night
def test_a_pulsatile_run_draws_its_indices_for_a_paper_and_shows_them_in_its_report(tmp_path):
    """The vessel is wide enough that not all of its wall is near an opening."""
    openings = [
        {"name": "inlet", "velocity_m_s": 0.02, "waveform": {"period_s": 0.05, "mean": 1.0, "sine": [0.9]}},
        {"name": "outlet_1", "pressure_pa": 0.0},
        {"name": "outlet_2", "pressure_pa": 0.0},
    ]
    output = {"wall_shear": True, "picture": True, "picture_style": "light", "picture_format": "pdf"}
    Run(Solver(vessel(openings=openings, output=output, compute={"backend": "numpy"})), tmp_path).execute()
    assert json.loads((tmp_path / "summary.json").read_text())["wall_shear"]["samples"] > 1
    page = (tmp_path / "report.html").read_text()
    for name in ("wall_tawss", "wall_osi"):
        assert (tmp_path / f"{name}.png").stat().st_size > 20_000
        assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert page.count("data:image/png") >= 4 and "oscillatory index on the walls" in page
