"""muphy-lb plot: a finished run is drawn again from its files alone."""

import shutil

import numpy as np
import pytest
from matplotlib.image import imread

from muphy_lb.base.errors import InputError
from muphy_lb.output.vtkhdf import find_snapshot
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.channel import open_channel
from tests.vessel import command


def executed(folder, **output):
    """The channel with openings, run to its end: its simulation."""
    case = open_channel(output={"vtk": True, "series_every_steps": 10} | output)
    simulation = Solver(case, SerialCommunicator())
    Run(simulation, folder).execute()
    return simulation


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Folder of a run with fields and wall shear stress, and its simulation."""
    folder = tmp_path_factory.mktemp("plot") / "out"
    return folder, executed(folder, wall_shear=True, fields_every_steps=20)


def test_a_snapshot_is_what_was_written(done):
    folder, simulation = done
    snapshot = find_snapshot(folder / "fields.vtkhdf")
    nodes = snapshot.nodes()
    assert np.array_equal(nodes.voxel, simulation.nodes.voxel) and nodes.shape == simulation.nodes.shape
    assert nodes.origin_m == pytest.approx(simulation.nodes.origin_m)
    assert np.array_equal(snapshot.values("velocity"), simulation.velocity_m_s().astype(np.float32))
    assert (snapshot.step, snapshot.time_s) == (40, pytest.approx(0.4))
    assert find_snapshot(folder / "fields.vtkhdf", 0.22).step == 20


@pytest.mark.parametrize("field", ["speed", "pressure", "velocity", "wall_shear", "openings.csv"])
def test_every_kind_is_drawn_without_changing_a_file(done, field, tmp_path):
    folder, _ = done
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert command("plot", folder, "--field", field, "-o", tmp_path / "a.png") == 0
    assert imread(tmp_path / "a.png")[..., :3].std() > 0.02
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_a_breakthrough_curve_is_drawn_over_the_residence_time(done, tmp_path):
    folder = tmp_path / "tracers"
    shutil.copytree(done[0], folder)
    (folder / "particles_dye_residence.csv").write_text("residence_s,outlet_share\n0,0\n0.5,0.25\n1,0.75\n")
    assert command("plot", folder, "--field", "particles_dye_residence.csv", "-o", tmp_path / "a.png") == 0
    curve = imread(tmp_path / "a.png")[..., :3]
    assert curve.std() > 0.02
    (folder / "particles_dye_residence.csv").write_text("residence_s,outlet_share\n0,0\n0.5,0.25\n0.9,0.75\n")
    command("plot", folder, "--field", "particles_dye_residence.csv", "-o", tmp_path / "b.png")
    assert np.abs(imread(tmp_path / "b.png")[..., :3] - curve).max() > 0.3  # the axis is the residence time


def test_plane_scale_and_style_are_those_that_are_asked_for(done, tmp_path):
    folder, _ = done
    drawn = []
    for scale in ("0,1e-3", "0,1"):
        arguments = ("--axis", "z", "--scale", scale, "--style", "light", "-o", tmp_path / "a")
        command("plot", folder, *arguments)
        drawn.append(imread(tmp_path / "a.png")[..., :3])
    assert np.allclose(drawn[0][0, 0], 1.0)
    assert np.abs(drawn[0] - drawn[1]).max() > 0.5


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_formats_for_papers(done, ending, start):
    folder, _ = done
    command("plot", folder, "--format", ending, "--field", "pressure")
    path = folder / f"plot_pressure.{ending}"
    assert path.read_bytes().startswith(start)
    path.unlink()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--field", "presure"), "holds no 'presure'; did you mean 'pressure'"),
        (("--field", "opening.csv"), "holds no 'opening.csv'; did you mean 'openings.csv'"),
        (("--at", "0.1"), "--axis"),
        (("--axis", "x", "--at", "7"), "no node lies at x = 7 m"),
        (("--field", "wall_shear", "--axis", "x", "--at", "0"), "--at does not go with wall_shear"),
        (("--field", "openings.csv", "--scale", "0,1"), "--scale does not go with openings.csv"),
        (("--scale", "1,0"), "--scale is '1,0'"),
        (("-o", "a.gif"), "ends in '.gif'; allowed: png, svg, pdf"),
        (("-o", "a.svg", "--format", "pdf"), "ends in '.svg'; allowed: pdf"),
    ],
)
def test_what_is_not_there_is_told(done, arguments, message):
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        command("plot", done[0], *arguments)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(InputError, match=r"has no case\.toml; give the output folder"):
        command("plot", tmp_path)
    executed(tmp_path, vtk=False)
    with pytest.raises(InputError, match=r"has no fields\.vtkhdf, which holds speed; run with output\.vtk = true"):
        command("plot", tmp_path)
    with pytest.raises(InputError, match=r"has no wall_shear\.vtkhdf, which holds wall_shear; run with output\.wall"):
        command("plot", tmp_path, "--field", "wall_shear")
    (tmp_path / "fields.vtkhdf").write_text("cut off")
    with pytest.raises(InputError, match=r"fields\.vtkhdf is not a complete field file"):
        command("plot", tmp_path)
