"""The values of a picture are those that field files would have."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.nodes import voxel_coordinates
from muphy_lb.measure.shear.wall_shear import WallShear
from muphy_lb.output.pictures.projection import Window
from muphy_lb.run.solver import Solver
from muphy_lb.view import gathering as gathering_module
from muphy_lb.view.gathering import Gathering, describe
from muphy_lb.view.messages import BODY, CUT, Demand
from muphy_lb.view.scene import BodyScene, Scale, cut_image, drawn_cut
from muphy_lb.view.shown import WALL_SHEAR
from muphy_lb.view.style import FRAME
from muphy_lb.view.viewer import AFFORDED_S, smaller
from tests.vessel import vessel
from tests.waiting import wait_for

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
TANK = {
    "geometry": {"shape": "tank", "spacing_m": 1e-3, "options": {"length": 8, "height": 10, "width": 7}},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-4},
    "flow": {"acceleration_m_s2": [0.0, -9.81, 0.0]},
    "free_surface": {"liquid": [{"box_m": [[-1.0, -1.0, -1.0], [1.0, 4e-3, 1.0]]}]},
    "lattice": {"time_step_s": 1e-4},
    "compute": {"backend": "numpy"},
    "run": {"steps": 10},
}


@pytest.fixture(scope="module")
def flow():
    simulation = Solver(vessel(compute={"backend": "numpy"}, run={"ramp_steps": 0}))
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


def test_the_body_shows_every_node_of_a_small_geometry(flow):
    gathering = Gathering(flow)
    picture = gathering.picture(Demand("pressure", BODY))
    assert gathering.grid.factor == 1 and picture.where.size == flow.header.n_nodes
    cells = gathering.grid.index(*coordinates(flow).T)
    shown = np.full(np.prod(picture.shape), np.nan)
    shown[picture.where] = picture.values
    np.testing.assert_allclose(shown[cells], flow.pressure_pa(), rtol=SINGLE, atol=1e-6)


def test_the_body_shows_a_node_of_every_cell_of_a_large_one(flow, monkeypatch):
    monkeypatch.setattr(gathering_module, "MOST_CELLS", 500)
    gathering = Gathering(flow)
    description = describe(flow, gathering)
    picture = gathering.picture(Demand("speed", BODY))
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
    simulation = Solver(case_from_dict(CAVITY))
    simulation.step(N_STEPS)
    gathering = Gathering(simulation)
    description = describe(simulation, gathering)
    assert description.units["temperature"] == "K" and description.field == "temperature"
    picture = gathering.picture(description.start)
    shown = np.sort(picture.values)
    layer = coordinates(simulation)[:, description.start.axis] == description.start.index
    np.testing.assert_allclose(shown, np.sort(simulation.temperature_k()[layer]), rtol=1e-6)


@pytest.mark.parametrize("place", [Demand(WALL_SHEAR, BODY), Demand(WALL_SHEAR, CUT, 2, 20)])
def test_the_wall_shear_stress_is_that_of_the_files(flow, place):
    gathering, before = Gathering(flow), flow.engine.populations()
    wait_for(lambda: gathering.picture(place).values.size)  # the walls are looked for
    picture = gathering.picture(place)
    assert np.array_equal(flow.engine.populations(), before)
    measure = WallShear(flow)
    xyz = voxel_coordinates(measure.surface.voxel, flow.header.shape).T
    chosen, where = (gathering._samples_of if place.place == BODY else gathering._cut_of)(xyz, place)
    stress_pa = np.linalg.norm(measure.traction_pa(), axis=1)[chosen]
    assert np.array_equal(picture.where, where) and 10 < where.size <= measure.surface.voxel.size
    np.testing.assert_allclose(picture.values, stress_pa, rtol=SINGLE, atol=1e-9)


@pytest.mark.parametrize(("section", "name"), [("age", "age"), ("dissipation", "dissipation")])
def test_scalars_of_a_physics_are_those_of_the_files(section, name):
    simulation = Solver(vessel(compute={"backend": "numpy"}, run={"ramp_steps": 0}, **{section: {}}))
    simulation.step(N_STEPS)
    picture = Gathering(simulation).picture(Demand(name, BODY))
    expected = np.sort(simulation.field(name))
    assert expected[-1] > 0.0
    np.testing.assert_allclose(np.sort(picture.values), expected, rtol=1e-6)


def test_particles_that_are_under_way_are_drawn_and_always_the_same_ones(monkeypatch):
    drops = {"name": "dye", "kind": "tracers", "count": 300, "opening": "inlet", "rate_per_s": 3e4}
    simulation = Solver(vessel(compute={"backend": "numpy"}, run={"ramp_steps": 0}, particles=[drops]))
    simulation.step(N_STEPS)
    columns = simulation.particles()["dye"]
    is_born = (columns["born_step"] < simulation.step_number) & (columns["end"] <= 0)
    place = np.stack([columns[f"voxel_{a}"] + columns[f"offset_{a}"] for a in "xyz"])
    gathering = Gathering(simulation)
    points = gathering.picture(Demand("speed", BODY)).points
    assert 0 < is_born.sum() < 300
    np.testing.assert_allclose(np.sort(points), np.sort(place[:, is_born]), rtol=1e-6)
    axis = int(np.argmax(np.ptp(points, axis=1)))
    layer = int(np.median(points[axis]))
    in_cut = gathering.picture(Demand("speed", CUT, axis, layer)).points
    assert in_cut.shape[1] == (np.abs(place[axis, is_born] - layer) <= 1.0).sum()
    monkeypatch.setattr("muphy_lb.view.shown.MOST_POINTS", 10)
    few = gathering.picture(Demand("speed", BODY)).points
    every = -(-int(is_born.sum()) // 10)
    assert few.shape[1] == (columns["id"][is_born] % every == 0).sum() < is_born.sum()


def test_the_surface_of_what_is_partly_filled_is_drawn():
    simulation = Solver(case_from_dict(TANK))
    gathering = Gathering(simulation)
    description = describe(simulation, gathering)
    cut = gathering.picture(Demand("speed", CUT, 2, 3))
    (line,) = drawn_cut(cut, gathering.frames[2]).lines
    np.testing.assert_allclose(line[1], 4.0, atol=1e-6)  # layers 0 to 3 are full, 4 is half full
    picture = gathering.picture(Demand("fill", BODY))
    scene, everywhere = BodyScene(description), np.ones_like(picture.values)
    images = [
        scene.image(each, scene.start, Scale(0.0, 1.0, "1", 1.0), (60, 60))
        for each in (picture, replace(picture, values=everywhere, fraction=everywhere))
    ]
    low, high = ((image >> 24 == 255).sum() for image in images)
    assert 0.2 * high < low < 0.8 * high


def test_points_of_the_body_lie_on_its_image(flow):
    gathering = Gathering(flow)
    scene = BodyScene(describe(flow, gathering))
    centre = coordinates(flow).mean(axis=0)[:, None]
    column, row = scene.places(centre, scene.start, (60, 40))[:, 0]
    picture, size = gathering.picture(Demand("speed", BODY)), (60, 40)
    seen = scene.image(picture, scene.start, Scale(0.0, 1.0, "1", 1.0), size) >> 24 == 255
    rows, columns = np.nonzero(seen)
    assert abs(columns.mean() / 60 - column) < 0.08 and abs(rows.mean() / 40 - row) < 0.08


def test_a_field_below_zero_is_not_shown_as_zero(flow):
    gathering = Gathering(flow)
    scene, picture = BodyScene(describe(flow, gathering)), gathering.picture(Demand("pressure", BODY))
    scale, size = Scale(-2.0, 0.0, "Pa", 1.0), (60, 40)
    low, high = (
        scene.image(replace(picture, values=np.full_like(picture.values, value)), scene.start, scale, size)
        for value in (-2.0, 0.0)
    )
    is_seen = low >> 24 == 255
    assert (low[is_seen] != high[is_seen]).mean() > 0.99


def test_the_scene_shows_the_body_and_nothing_around_it(flow):
    gathering = Gathering(flow)
    description = describe(flow, gathering)
    scene, size = BodyScene(description), (60, 40)
    picture = gathering.picture(Demand("speed", BODY))
    image = scene.image(picture, scene.start, Scale.of(picture.values, "m/s"), size)
    opaque = image >> 24 == 255
    assert image.shape == size[::-1] and 0.03 < opaque.mean() < 0.9
    nearer = scene.image(picture, scene.start.magnified(2.0), Scale.of(picture.values, "m/s"), size)
    assert (nearer >> 24 == 255).sum() > 1.5 * opaque.sum()


def test_a_long_tank_is_drawn_in_images_of_any_size():
    """One cell high in a coarse image, it was no pixel high."""
    options = TANK["geometry"]["options"] | {"length": 60, "height": 8}
    simulation = Solver(case_from_dict(TANK | {"geometry": TANK["geometry"] | {"options": options}}))
    gathering = Gathering(simulation)
    scene, picture = BodyScene(describe(simulation, gathering)), gathering.picture(Demand("speed", BODY))
    camera = scene.camera(scene.start)
    ends, whole = Window.around(scene._outer, camera), Window.around(scene._full, camera)
    assert np.array_equal(ends.low, whole.low) and np.array_equal(ends.size, whole.size)
    scale = Scale.of(picture.values, "m/s")
    for size in (FRAME, smaller(FRAME, 100 * AFFORDED_S)):
        image = scene.image(picture, scene.start, scale, size)
        assert image.shape == size[::-1] and 0.05 < (image > 0).mean() < 0.9
    assert smaller(FRAME, AFFORDED_S / 2) == FRAME and size == (FRAME[0] / 4, FRAME[1] / 4)
    assert smaller(FRAME, 1.0, most_s=-0.1) == size  # the values alone took longer
