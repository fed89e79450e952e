"""The values of a picture are those that field files would have."""

import numpy as np
import pytest

from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.run.simulation import Simulation
from muphy_lb.view import gathering as gathering_module
from muphy_lb.view.gathering import Gathering, describe
from muphy_lb.view.messages import CUT, VESSEL, Demand
from muphy_lb.view.scene import Scale, VesselScene, cut_image
from tests.vessel import vessel

N_STEPS = 3
SINGLE = 1e-5  # of values in single precision
CAVITY = {
    "geometry": {"shape": "heated_cavity", "spacing_m": 1e-3, "options": {"size": 7}},
    "walls": [{"name": "cold", "temperature_k": 290.0}, {"name": "hot", "temperature_k": 300.0}],
    "thermal": {"reference_k": 295.0, "prandtl": 0.71, "rayleigh": 1e4, "length_m": 7e-3},
    "fluid": {"density_kg_m3": 1.2, "kinematic_viscosity_m2_s": 1.5e-5},
    "lattice": {"relaxation_time": 0.6},
    "compute": {"backend": "numpy"},
    "run": {"steps": 10},
}


@pytest.fixture(scope="module")
def flow():
    simulation = Simulation(vessel(compute={"backend": "numpy"}, run={"ramp_steps": 0}))
    simulation.step(N_STEPS)
    return simulation


def coordinates(simulation):
    return voxel_coordinates(simulation.nodes.voxel, simulation.header.shape)


def speeds(simulation):
    return np.linalg.norm(simulation.velocity_m_s(), axis=1)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_cut_shows_a_layer_of_nodes(flow, axis):
    gathering = Gathering(flow)
    index = int((gathering.low[axis] + gathering.high[axis]) // 2)
    image = cut_image(gathering.picture(Demand("speed", CUT, axis, index)))
    where = coordinates(flow)
    there = where[:, axis] == index
    column, row = (where[there, other] - gathering.low[other] for other in range(3) if other != axis)
    assert np.isfinite(image).sum() == there.sum() > 0
    np.testing.assert_allclose(image[row, column], speeds(flow)[there], rtol=SINGLE, atol=1e-9)


def test_the_vessel_shows_every_node_of_a_small_geometry(flow):
    gathering = Gathering(flow)
    picture = gathering.picture(Demand("pressure", VESSEL))
    assert gathering.grid.factor == 1 and picture.where.size == flow.header.n_nodes
    cells = gathering.grid.index(*coordinates(flow).T)
    shown = np.full(np.prod(picture.shape), np.nan)
    shown[picture.where] = picture.values
    np.testing.assert_allclose(shown[cells], flow.pressure_pa(), rtol=SINGLE, atol=1e-6)


def test_the_vessel_shows_a_node_of_every_cell_of_a_large_one(flow, monkeypatch):
    monkeypatch.setattr(gathering_module, "MOST_CELLS", 500)
    gathering = Gathering(flow)
    description = describe(flow, gathering)
    picture = gathering.picture(Demand("speed", VESSEL))
    cells, counts = description.counts
    assert gathering.grid.factor > 2 and counts.sum() == flow.header.n_nodes
    assert np.array_equal(np.sort(picture.where), cells)
    assert picture.values.max() <= speeds(flow).max() * (1.0 + SINGLE)


def test_a_wide_cut_is_drawn_with_fewer_pixels(flow, monkeypatch):
    monkeypatch.setattr(gathering_module, "MOST_PIXELS", 10)
    gathering = Gathering(flow)
    picture = gathering.picture(Demand("speed", CUT, 0, int(gathering.low[0] + gathering.high[0]) // 2))
    assert max(picture.shape) <= 10 and np.unique(picture.where).size == picture.where.size


def test_a_physics_brings_its_field_along():
    simulation = Simulation(case_from_dict(CAVITY))
    simulation.step(N_STEPS)
    gathering = Gathering(simulation)
    description = describe(simulation, gathering)
    assert description.units["temperature"] == "K" and description.field == "temperature"
    picture = gathering.picture(description.start)
    shown = np.sort(picture.values)
    layer = coordinates(simulation)[:, description.start.axis] == description.start.index
    np.testing.assert_allclose(shown, np.sort(simulation.temperature_k()[layer]), rtol=1e-6)


def test_the_scene_shows_the_vessel_and_nothing_around_it(flow):
    gathering = Gathering(flow)
    description = describe(flow, gathering)
    scene, size = VesselScene(description), (60, 40)
    picture = gathering.picture(Demand("speed", VESSEL))
    image = scene.image(picture, scene.start, Scale.of(picture.values, "m/s"), size)
    opaque = image >> 24 == 255
    assert image.shape == size[::-1] and 0.03 < opaque.mean() < 0.9
    nearer = scene.image(picture, scene.start.magnified(2.0), Scale.of(picture.values, "m/s"), size)
    assert (nearer >> 24 == 255).sum() > 1.5 * opaque.sum()
