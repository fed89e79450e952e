"""As much heat passes midway between two walls as leaves the one and reaches the other."""

import numpy as np
import pytest

from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLUID, SOLID, Voxels, wall_flag
from muphy_lb.output.series import read_series
from muphy_lb.physics.thermal.mid_plane import middle_heat, middle_plane
from muphy_lb.physics.thermal.model import DIFFERENCES, POPULATION_METHOD
from muphy_lb.physics.thermal.observers import heat_lines, heat_state
from muphy_lb.physics.thermal.temperature import temperature_k, wall_gradients_k_m
from muphy_lb.run.loop import Run
from muphy_lb.validation.case import DEFAULT, Settings
from muphy_lb.validation.flows import settle
from muphy_lb.validation.thermal.conduction import fluid_at_rest, wall_temperatures
from muphy_lb.validation.thermal.heated_cavity import SQUARE, heated_simulation
from tests.channel import BOTTOM, TOP, periodic_channel, simulate

RAYLEIGH = 1e4
AT_WALLS = {"cold": 1.0, "hot": 2.0}
HEATED = {
    "thermal": {"reference_k": 300.0, "prandtl": 0.71, "expansion_1_k": 0.0, "length_m": 6e-3},
    "lattice": {"collision": "mrt", "relaxation_time": 0.55, "time_step_s": None},
}


def box(shape=(4, 5, 6), axis=2, names=("cold", "hot"), solid=None):
    """Nodes between two labelled walls at low and high coordinates of a (z, y, x) axis."""
    flags = np.full(shape, FLUID, dtype=np.uint8)
    if solid is not None:
        flags[solid] = SOLID
    pad = [(int(k == axis), int(k == axis)) for k in range(3)]
    flags = np.moveaxis(np.pad(flags, pad), axis, 0)
    flags[0], flags[-1] = wall_flag(0), wall_flag(1)
    return build_nodes(Voxels(np.moveaxis(flags, 0, axis), walls=names))


@pytest.mark.parametrize(
    ("size", "method", "apart", "error"),
    [(32, DIFFERENCES, 0.015, 0.002), (33, DIFFERENCES, 0.015, 0.002), (32, POPULATION_METHOD, 0.004, 0.01)],
)
def test_the_middle_of_a_steady_cavity_passes_what_the_walls_do(size, method, apart, error):
    simulation, _ = heated_simulation(RAYLEIGH, size, DEFAULT, dimension=2, method=method)
    settle(simulation, lambda: temperature_k(simulation), 500, 1e-6, 100_000)
    middle = middle_heat(simulation).gradient_k_m() * size
    walls = wall_gradients_k_m(simulation)
    assert middle == pytest.approx(walls["cold"] * size, rel=apart)
    assert middle == pytest.approx(SQUARE[RAYLEIGH].nusselt, rel=error)


@pytest.mark.parametrize("size", [2, 7, 8])
@pytest.mark.parametrize("axis", ["x", "y"])
def test_conduction_alone_has_nusselt_number_1(size, axis):
    geometry = {"size": size, "width": 3, "axis": axis, "sides": "periodic"}
    simulation = fluid_at_rest(geometry, DEFAULT, walls=wall_temperatures(-0.5, 0.5))
    simulation.step(round(160 * size**2))
    assert middle_heat(simulation).gradient_k_m() * size == pytest.approx(1.0, abs=1e-10)


def test_heat_goes_from_hot_to_cold_whichever_is_first():
    found = []
    for temperatures in ((-0.5, 0.5), (0.5, -0.5)):
        simulation = fluid_at_rest(
            {"size": 4, "width": 1, "sides": "periodic"}, DEFAULT, walls=wall_temperatures(*temperatures)
        )
        simulation.step(2000)
        found.append(middle_heat(simulation).gradient_k_m())
    assert found[0] == pytest.approx(found[1], rel=1e-12) and found[0] > 0.2


@pytest.mark.parametrize("streaming", ["pull", "push", "aa"])
@pytest.mark.parametrize("n_steps", [100, 101])
def test_the_middle_is_the_mean_over_the_fields_there(streaming, n_steps):
    simulation, diffusivity = heated_simulation(RAYLEIGH, 6, Settings(backend="numpy", streaming=streaming), 3)
    simulation.step(n_steps)
    shape = (6, 6, 8)
    warm, speed = np.full(shape, np.nan), np.full(shape, np.nan)
    warm.flat[simulation.nodes.voxel] = temperature_k(simulation)
    speed.flat[simulation.nodes.voxel] = simulation.velocity_m_s()[:, 0]
    (a, b), (u, v) = (np.moveaxis(field[:, :, 3:5], 2, 0) for field in (warm, speed))
    expected = (b - a - (u + v) / 2 * (a + b) / 2 / diffusivity).mean()
    assert middle_heat(simulation).gradient_k_m() == pytest.approx(expected, rel=1e-9)
    assert np.abs(u).max() > 1e-3


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_between_an_even_number_of_layers_the_plane_lies_on_faces(axis):
    plane = middle_plane(box(axis=axis), AT_WALLS)
    layers = np.unravel_index(plane.voxel, np.add((4, 5, 6), np.eye(3, dtype=int)[axis] * 2))[axis]
    n_layers = (4, 5, 6)[axis]
    assert plane.axis == 2 - axis and plane.names == ("cold", "hot")
    assert plane.distance == (2 if n_layers % 2 else 1)
    assert set(layers[plane.centre].mean(axis=0)) == {(n_layers + 1) / 2}
    assert plane.wall_area == plane.centre.shape[1] == 120 / n_layers


@pytest.mark.parametrize("n_layers", [6, 7])
def test_a_solid_lets_no_heat_through_the_plane(n_layers):
    half = np.s_[:, :2, n_layers // 2]
    plane = middle_plane(box((4, 5, n_layers), solid=half), AT_WALLS)
    assert plane.centre.shape[1] == 4 * 3 and plane.wall_area == 20


def test_beside_a_solid_the_middle_of_an_odd_number_of_layers_takes_its_own_temperature():
    plane = middle_plane(box((1, 1, 5), solid=np.s_[0, 0, 3]), AT_WALLS)
    assert plane.ends[1].tolist() == plane.centre[0].tolist() != plane.ends[0].tolist()


@pytest.mark.parametrize(
    "fixed_k",
    [{}, {"cold": 1.0}, {"cold": 1.0, "hot": 1.0}],
    ids=["none", "one", "equal"],
)
def test_without_a_hot_and_a_cold_wall_there_is_no_middle(fixed_k):
    assert middle_plane(box(), fixed_k) is None


def test_walls_that_do_not_face_each_other_have_no_middle():
    flags = np.full((4, 5, 6), FLUID, dtype=np.uint8)
    flags[0], flags[:, 0] = wall_flag(0), wall_flag(1)
    assert middle_plane(build_nodes(Voxels(flags, walls=("cold", "hot"))), AT_WALLS) is None


def test_a_wall_with_a_step_has_no_middle():
    nodes = box()
    flags = np.full((4, 5, 8), FLUID, dtype=np.uint8)
    flags[:, :, 0], flags[:, :, -1], flags[:, 0, 1] = wall_flag(0), wall_flag(1), wall_flag(0)
    assert middle_plane(nodes, AT_WALLS) is not None
    assert middle_plane(build_nodes(Voxels(flags, walls=("cold", "hot"))), AT_WALLS) is None


def test_one_layer_between_the_walls_has_no_middle():
    assert middle_plane(box((4, 5, 1)), AT_WALLS) is None


def test_a_wall_called_middle_keeps_its_columns():
    nodes = box(names=("middle", "hot"))
    assert middle_plane(nodes, {"middle": 1.0, "hot": 2.0}) is None


def test_a_run_writes_the_middle_into_series_summary_and_report(tmp_path):
    walls = [BOTTOM | {"temperature_k": 310.0}, TOP | {"temperature_k": 290.0}]
    simulation = simulate(periodic_channel(**HEATED, walls=walls, run={"steps": 2500}))
    _, summary = Run(simulation, tmp_path).execute()
    middle = summary["heat"]["middle"]
    assert middle["nusselt"] == pytest.approx(1.0, abs=1e-6)
    assert middle["gradient_k_m"] == pytest.approx(20.0 / 6e-3, rel=1e-6)
    series = read_series(tmp_path / "heat.csv")
    assert series["middle_nusselt"][-1] == middle["nusselt"]
    assert series["middle_gradient_k_m"][-1] == middle["gradient_k_m"]
    assert any(line.startswith("midway between the walls") for line in heat_lines(summary["heat"]))
    assert "midway between the walls" in (tmp_path / "report.html").read_text()


def test_without_a_middle_nothing_is_said_of_it(tmp_path):
    walls = [BOTTOM | {"temperature_k": 310.0}, TOP]
    simulation = simulate(periodic_channel(**HEATED, walls=walls))
    Run(simulation, tmp_path).execute()
    assert "middle" not in heat_state(simulation, middle_heat(simulation))
    assert not [name for name in read_series(tmp_path / "heat.csv") if "middle" in name]
