"""The wall shear stress is that of the flow, whatever the streaming, the viscosity law and the course in time."""

import numpy as np
import pytest

from muphy_lb.geometry.nodes import build_nodes, voxel_coordinates
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, Voxels
from muphy_lb.measure.shear import observer
from muphy_lb.measure.shear.observer import WallShearObserver
from muphy_lb.measure.shear.wall_nodes import wall_surface
from muphy_lb.measure.shear.wall_shear import WallShear
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver
from muphy_lb.validation.case import Settings
from muphy_lb.validation.flows import (
    channel_velocity,
    creeping,
    forced_flow,
    pipe_velocity,
    settled,
    start_from_velocity,
)
from tests.channel import HEIGHT, SPACING_M, open_channel, periodic_channel, simulate

ACCELERATION = 1e-3
FORCE_BALANCE_PA = 1000.0 * ACCELERATION * HEIGHT * SPACING_M / 2
RADIUS, NU = 10.0, 1.0 / 6.0


def driven(n_steps=0, **sections):
    """The periodic channel, driven along x."""
    lattice = {"collision": "trt"} | sections.pop("lattice", {})
    return simulate(
        periodic_channel(flow={"acceleration_m_s2": [ACCELERATION, 0.0, 0.0]}, lattice=lattice, **sections), n_steps
    )


def pipe_shear(walls: str):
    """(m,) stress over 4 mu Q / (pi R^3) of a pipe of ten voxels, and its simulation."""
    force = 4.0 * NU * 0.05 / RADIUS**2
    geometry = {"shape": "pipe", "options": {"length": 1, "radius": RADIUS}}
    simulation = forced_flow(
        geometry, 3.0 * NU + 0.5, (0.0, 0.0, force), settings=Settings(backend="numpy"), tables=creeping(walls)
    )
    place = simulation.nodes.coordinates() - 0.5 * (np.array(simulation.nodes.shape[::-1]) - 1.0)
    r = np.minimum(np.hypot(place[:, 0], place[:, 1]), RADIUS)
    start_from_velocity(simulation, np.outer(pipe_velocity(r, RADIUS, force, NU), (0.0, 0.0, 1.0)))
    velocity = settled(simulation, lambda: simulation.velocity_m_s()[:, 2], RADIUS, 1e-5)
    flow_rate = velocity.sum() / simulation.nodes.shape[0]
    return np.linalg.norm(WallShear(simulation).traction_pa(), axis=1) * np.pi * RADIUS**3 / (4.0 * NU * flow_rate)


@pytest.mark.parametrize("streaming", ["pull", "push", "aa"])
def test_shear_balances_the_force_on_the_fluid_between_plates(streaming):
    traction = WallShear(driven(1500, compute={"streaming": streaming})).traction_pa()
    np.testing.assert_allclose(traction, np.tile([FORCE_BALANCE_PA, 0.0, 0.0], (len(traction), 1)), atol=1e-9)


def test_shear_balances_the_force_whatever_sets_the_viscosity():
    law = {
        "consistency_pa_sn": 0.01,
        "index": 0.8,
        "min_viscosity_m2_s": 1e-6,
        "max_viscosity_m2_s": 1e-4,
    }
    traction = WallShear(driven(1200, fluid={"power_law": law})).traction_pa()
    np.testing.assert_allclose(traction[:, 0], FORCE_BALANCE_PA, rtol=0.01)


@pytest.mark.parametrize("walls", ["bouzidi", "central-linear"])
def test_mean_shear_in_a_pipe_of_ten_voxels_is_within_one_percent(walls):
    shear = pipe_shear(walls)
    assert shear.mean() == pytest.approx(1.0, abs=0.01)
    assert np.sqrt(np.mean((shear - 1.0) ** 2)) < 0.02


def test_half_way_walls_scatter_by_a_tenth():
    assert 0.1 < np.sqrt(np.mean((pipe_shear("half-way") - 1.0) ** 2)) < 0.15


def test_half_way_walls_are_warned_of(tmp_path):
    assert WallShearObserver(driven(), tmp_path).finish()["warnings"]


def test_normals_of_a_pipe_point_away_from_its_axis():
    simulation = forced_flow(
        {"shape": "pipe", "options": {"length": 1, "radius": RADIUS}},
        1.0,
        (0.0, 0.0, 1e-6),
        settings=Settings(backend="numpy"),
        tables=creeping("bouzidi"),
    )
    nodes = simulation.nodes
    surface = wall_surface(nodes, simulation.lattice.c)
    arm = voxel_coordinates(surface.voxel, nodes.shape) - 0.5 * (np.array(nodes.shape[::-1]) - 1.0)
    arm[:, 2] = 0.0
    radius = np.linalg.norm(arm, axis=1)
    assert ((arm / radius[:, None] * surface.normal).sum(axis=1) > np.cos(np.radians(3.0))).all()
    np.testing.assert_allclose(surface.distance, RADIUS - radius, atol=0.1)


def test_every_node_beside_a_wall_is_there_but_those_beside_openings():
    simulation = simulate(open_channel())
    nodes = simulation.nodes
    place = voxel_coordinates(wall_surface(nodes, simulation.lattice.c).voxel, nodes.shape)
    x, y = nodes.coordinates()[:, 0], nodes.coordinates()[:, 1]
    inside = np.flatnonzero((x > x.min()) & (x < x.max()) & ((y == y.min()) | (y == y.max())))
    assert set(map(tuple, place)) == set(map(tuple, nodes.coordinates()[inside]))


def test_the_last_period_is_averaged(tmp_path):
    wave = {"period_s": 0.4, "mean": 0.0, "sine": [1.0]}
    simulation = simulate(
        periodic_channel(flow={"acceleration_m_s2": [ACCELERATION, 0.0, 0.0], "waveform": wave}, run={"steps": 400})
    )
    writer = WallShearObserver(simulation, tmp_path)
    while simulation.step_number < 400:
        simulation.step(writer.every)
        writer.act()
    record = writer.finish()
    assert record["samples"] == 40 and record["sampled_s"] == pytest.approx(0.4)
    assert record["oscillatory_index"]["mean"] > 0.45


@pytest.mark.parametrize("streaming", ["pull", "aa"])
def test_a_moving_wall_drags_the_fluid_with_the_shear_of_couette(streaming):
    top = {"name": "top", "box_m": [[-1.0, 6.9e-3, -1.0], [1.0, 7.1e-3, 1.0]], "velocity_m_s": [1e-3, 0.0, 0.0]}
    simulation = simulate(
        periodic_channel(walls=[top], lattice={"collision": "trt"}, compute={"streaming": streaming}), 2000
    )
    shear = WallShear(simulation)
    y = voxel_coordinates(shear.surface.voxel, simulation.nodes.shape)[:, 1]
    expected = 1000.0 * 1e-5 * 1e-3 / (HEIGHT * SPACING_M)
    sign = np.where(y == y.max(), -1.0, 1.0)
    np.testing.assert_allclose(shear.traction_pa()[:, 0], sign * expected, rtol=1e-4)


def test_the_analytic_channel_has_that_shear():
    slope = np.diff(channel_velocity(np.array([0.0, 1e-9]), HEIGHT * SPACING_M, ACCELERATION, 1e-5))[0] / 1e-9
    assert 1000.0 * 1e-5 * slope == pytest.approx(FORCE_BALANCE_PA, rel=1e-5)


def test_a_box_without_walls_has_no_shear(tmp_path):
    fluid = build_nodes(Voxels(np.full((1, 4, 5), FLUID, FLAG_DTYPE), SPACING_M, periodic=(True, True, False)))
    simulation = Solver(periodic_channel(walls=[]), SerialCommunicator(), fluid)
    record = WallShearObserver(simulation, tmp_path).finish()
    assert record["n_nodes"] == 0 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("sampled_s", "period_s", "text"),
    [
        (0.04, 0.8, "over 0.04 s, which is not a whole beat"),
        (0.8 * (1.0 - 1e-9), 0.8, "over 0.8 s"),
        (0.1, 0.0, "over 0.1 s"),
    ],
)
def test_maps_of_a_part_of_a_beat_say_so(sampled_s, period_s, text):
    assert observer._over(sampled_s, period_s) == text
