"""Tracers of a case: where they start, what is refused, what is written."""

import json

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.physics.particles.tracers.observers import breakthrough
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver

LENGTH, HEIGHT = 12, 6
PLANES = {"middle": [2.0, 0.0, 0.0], "back": [-1.0, 0.0, 0.0]}


def simulation(folder=".", **keys) -> Solver:
    """A small channel with tracers."""
    case = case_from_dict(
        {
            "geometry": {
                "shape": "channel",
                "spacing_m": 1.0,
                "options": {"length": LENGTH, "height": HEIGHT, "width": 1, "ends": "open"},
            },
            "openings": [
                {"name": "inlet", "velocity_m_s": 0.05, "profile": "parabolic"},
                {"name": "outlet", "pressure_pa": 0.0},
            ],
            "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.1},
            "lattice": {"name": "D2Q9", "time_step_s": 1.0},
            "compute": {"backend": "numpy", "precision": "fp64"},
            "run": {"steps": 60, "ramp_steps": 0},
            "output": {"picture": False, "report": False, "vtk": False},
            "particles": [{"name": "dye", "kind": "tracers", **keys}],
        },
        folder,
    )
    return Solver(case, SerialCommunicator())


def test_tracers_in_a_box_are_evenly_spread_over_its_fluid():
    flow = simulation(count=400, box_m=[[2.0, 1.0, -1.0], [6.0, 3.0, 1.0]])
    found, origin_m = flow.particles()["dye"], flow.header.origin_m
    x, y = (found[f"voxel_{axis}"] + found[f"offset_{axis}"] + origin_m[k] for k, axis in enumerate("xy"))
    assert x.min() >= 2.0 and x.max() <= 6.0 and y.min() >= 1.0 and y.max() <= 3.0
    counts, *_ = np.histogram2d(x, y, bins=(2, 2), range=((2.0, 6.0), (1.0, 3.0)))
    assert np.abs(counts - 100).max() <= 15


def test_tracers_enter_at_an_opening_as_the_fluid_does_and_at_the_rate_asked_for():
    found = simulation(count=300, opening="inlet", rate_per_s=5.0, start_s=10.0).particles()["dye"]
    assert np.array_equal(found["born_step"], 10 + np.arange(300) // 5)
    counts = np.bincount(found["voxel_y"] - found["voxel_y"].min())
    y = np.arange(HEIGHT) + 0.5
    assert np.abs(counts / 300 - y * (HEIGHT - y) / (y * (HEIGHT - y)).sum()).max() < 2 / 300
    assert (found["voxel_x"] == found["voxel_x"][0]).all() and (found["offset_x"] < -0.4999).all()


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"count": 5, "opening": "in"}, "particles.dye.opening is 'in'; allowed: inlet, outlet"),
        ({"count": 5, "diffusivity_m2_s": 0.2}, "take a time step of at most 0.421 s"),
        ({"count": 5, "box_m": [[90, 90, 90], [91, 91, 91]]}, "there is no fluid in it"),
        ({"count": 2**31}, "particles.dye.count is 2147483648: must be less than or equal to 2147483647"),
    ],
)
def test_what_tracers_cannot_do_is_refused(keys, words):
    with pytest.raises(InputError) as error:
        simulation(**keys)
    assert words in str(error.value)


def test_tracers_that_start_after_the_end_are_warned_of():
    early, late = (simulation(count=5, start_s=start_s).physics[0].warnings() for start_s in (59.0, 60.0))
    assert early == ()
    assert late == ("particles.dye: start_s is 60, and the run ends at 60 s: none of these tracers starts",)


def test_the_delay_at_walls_that_stick_is_told_with_the_time_step_that_makes_it_small():
    fine, coarse, other = (
        simulation(count=5, diffusivity_m2_s=d, walls=walls).physics[0].warnings()
        for d, walls in ((0.018, "stick"), (0.08, "stick"), (0.08, "reflect"))
    )
    assert fine == other == ()
    assert "as if every wall lay 0.21 voxels further away; a time step of 0.23 s makes that 0.1" in coarse[0]


def test_a_tracer_in_a_wall_is_refused_with_its_place(tmp_path):
    (tmp_path / "places.csv").write_text("x_m,y_m,z_m\n3,3,0\n3,0,0\n")
    with pytest.raises(InputError, match=r"line 3: there is no fluid at \[3.0, 0.0, 0.0\] m"):
        simulation(tmp_path, file="places.csv")


def test_tracers_start_where_the_case_lists_them():
    places = [[2.0, 3.0, 0.0], [5.25, 1.0, 0.0]]
    found = simulation(positions_m=places).particles()["dye"]
    assert np.array_equal(found["voxel_y"] + found["offset_y"], [3.0, 1.0])
    with pytest.raises(InputError, match=r"particles\.dye\.positions_m.*: there is no fluid at \[3.0, 0.0, 0.0\] m"):
        simulation(positions_m=[*places, [3.0, 0.0, 0.0]]).particles()


def test_a_run_counts_tracers_and_writes_their_files(tmp_path):
    Run(simulation(count=50, snapshots_every_steps=30, path_lines=3), tmp_path).execute()
    record = json.loads((tmp_path / "summary.json").read_text())["particles_dye"]
    assert record["count"] == 50 == record["under_way"] + sum(record["left"].values())
    names = {path.name for path in tmp_path.glob("particles_*")}
    ends = (".csv", "_residence.csv", ".vtkhdf", "_path_lines.vtkhdf")
    assert names == {f"particles_dye{end}" for end in ends}


def test_tracers_that_cross_a_plane_are_counted_with_those_that_have_left(tmp_path):
    planes = [{"name": name, "point_m": [6.0, 0.0, 0.0], "normal": normal} for name, normal in PLANES.items()]
    run = Run(simulation(count=60, planes=planes, snapshots_every_steps=60, extxyz=True, rate_per_s=2.0), tmp_path)
    starts = run.simulation.particles()["dye"]
    run.execute()
    record = json.loads((tmp_path / "summary.json").read_text())["particles_dye"]
    ends, first_m = run.simulation.particles()["dye"], run.simulation.header.origin_m[0]
    beyond = [first_m + each["voxel_x"] + each["offset_x"] >= 6.0 for each in (starts, ends)]
    assert sum(record["left"].values()) > 0 and record["waiting"] == 0
    assert record["middle_crossed"] == (beyond[1] & ~beyond[0]).sum() == -record["back_crossed"] > 0
    assert len((tmp_path / "particles_dye.xyz").read_text().splitlines()) == 62


def test_all_that_leave_have_crossed_a_plane_at_the_outlet(tmp_path):
    # In front of the outlet's face by less than a voxel: tracers end at the face.
    planes = [{"name": "end", "point_m": [LENGTH - 1.001, 0.0, 0.0], "normal": [1.0, 0.0, 0.0]}]
    run = Run(simulation(count=80, box_m=[[2, 0, -1], [8, 9, 1]], planes=planes, diffusivity_m2_s=0.01), tmp_path)
    run.execute()
    record = json.loads((tmp_path / "summary.json").read_text())["particles_dye"]
    assert record["end_crossed"] >= record["left"]["outlet"] > 5 and record["left"]["inlet"] == 0


def test_a_breakthrough_curve_ends_with_the_share_that_has_left():
    times, shares = breakthrough({"out": np.array([1.0, 2.0, 4.0])}, 4, 5)
    assert np.array_equal(times, [0, 1, 2, 3, 4]) and np.array_equal(shares["out"], [0, 0.25, 0.5, 0.5, 0.75])
