"""Isosurfaces lie where the field has their value, end at walls, and are seen through each other."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, Voxels
from muphy_lb.output.pictures import vessel as pictures
from muphy_lb.output.pictures.projection import BODY, MARGIN, SURFACE_LEVEL, above, coarse_volume
from muphy_lb.output.pictures.vessel import over
from muphy_lb.run.simulation import Simulation
from tests.channel import periodic_channel
from tests.vessel import ENDED, command, vessel, write_case

EDGE = 24


def cube():
    """A cube of fluid."""
    return build_nodes(Voxels(np.full((EDGE,) * 3, FLUID, dtype=FLAG_DTYPE), spacing_m=1.0))


@pytest.mark.parametrize("level", [0.2, 0.5, 0.83])
def test_a_surface_lies_where_the_field_has_its_value(level):
    nodes = cube()
    y = nodes.coordinates()[:, 1]
    part = above(coarse_volume(nodes, y / (EDGE - 1.0), is_block=False), level)
    middle = MARGIN + EDGE // 2
    line = part.channels[BODY][middle, :, middle]
    last_below = np.flatnonzero(line >= SURFACE_LEVEL)[0] - 1
    share = (SURFACE_LEVEL - line[last_below]) / (line[last_below + 1] - line[last_below])
    assert last_below + share - MARGIN == pytest.approx(level * (EDGE - 1), abs=0.05)


def test_nothing_is_above_the_largest_value_and_all_above_the_smallest():
    volume = coarse_volume(cube(), np.linspace(1.0, 2.0, EDGE**3), is_block=False)
    assert len(above(volume, 3.0).voxels) == 0
    assert len(above(volume, 0.0).voxels) == np.count_nonzero(volume.channels[BODY] >= SURFACE_LEVEL)


def test_what_lies_behind_shines_through():
    front, back = np.zeros((2, 1, 3, 4))
    front[0, :2], back[0, 1:] = (1.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 1.0)
    seen = over(front, back, 0.25)
    assert seen[0].tolist() == [[1.0, 0.0, 0.0, 0.25], [0.25, 0.75, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0]]


@pytest.fixture(scope="module")
def flow():
    """A vessel whose pictures are small."""
    with pytest.MonkeyPatch.context() as patch, Simulation(vessel(compute={"backend": "numpy"})) as simulation:
        patch.setattr(pictures, "N_RENDER_PIXELS", 300)
        simulation.step(20)
        yield simulation


def pixels(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)


def test_each_level_changes_the_picture(flow):
    few, more, usual = (flow.plot.isosurfaces("speed", levels) for levels in ([0.004], np.array([0.004, 0.012]), None))
    assert np.abs(pixels(few) - pixels(more)).max() > 40 and pixels(usual).std() > 1.0


@pytest.mark.parametrize("levels", [[], [float("nan")], list(range(9)), ["x"], 0.1])
def test_levels_that_are_none_are_refused(flow, levels):
    with pytest.raises(InputError, match="levels is .*; give one to 8 numbers"):
        flow.plot.isosurfaces("pressure", levels)


def test_a_plane_has_no_surfaces():
    with Simulation(periodic_channel()) as simulation, pytest.raises(InputError, match=r"draw plot\.slice"):
        simulation.plot.isosurfaces()


def test_a_finished_run_is_drawn_with_levels(tmp_path):
    case = write_case(tmp_path, compute={"backend": "numpy"}, run={"steps": 10}, output={"vtk": True})
    assert command("run", case, "-o", tmp_path / "out") in ENDED
    assert command("plot", tmp_path / "out", "--field", "pressure", "--levels", "0.1,0.2") == 0
    assert (tmp_path / "out" / "plot_pressure.png").stat().st_size > 10_000
    for wrong in ("0.1,", "nan", ""):
        with pytest.raises(InputError, match="give one to 8 numbers"):
            command("plot", tmp_path / "out", "--field", "pressure", f"--levels={wrong}")
    with pytest.raises(InputError, match="--axis does not go with --levels"):
        command("plot", tmp_path / "out", "--axis", "x", "--levels", "0.1")
    with pytest.raises(InputError, match=r"--levels does not go with openings\.csv"):
        command("plot", tmp_path / "out", "--field", "openings.csv", "--levels", "0.1")
