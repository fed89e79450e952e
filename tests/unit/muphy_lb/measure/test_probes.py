"""Probes record the values of the fields."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.sections import shares_near_plane
from muphy_lb.case.output import ProbeSection
from muphy_lb.measure.probes import corner_weights, probe_series
from muphy_lb.output.series import read_series
from muphy_lb.physics.thermal.model import DIFFERENCES, POPULATION_METHOD
from tests.channel import BOTTOM, HEIGHT, LENGTH, SPACING_M, TOP, open_channel, periodic_channel, simulate

N_STEPS = 60


def recorded(simulation, folder, **keys):
    """The one row that a probe writes now."""
    writer = probe_series(ProbeSection(name="p", **keys), simulation, folder, None)
    writer.act()
    return {name: values[0] for name, values in read_series(folder / "probe_p.csv").items()}


@pytest.mark.parametrize("streaming", ["pull", "push", "aa"])
def test_a_point_on_a_node_tells_its_velocity_and_pressure(tmp_path, streaming):
    simulation = simulate(open_channel(compute={"streaming": streaming}), N_STEPS + 1)
    node = simulation.nodes.n_nodes // 2
    row = recorded(simulation, tmp_path, point_m=tuple(simulation.nodes.positions_m([node])[0].tolist()))
    velocity = simulation.velocity_m_s()[node]
    np.testing.assert_allclose([row[f"velocity_{axis}_m_s"] for axis in "xyz"], velocity, rtol=1e-6, atol=1e-12)
    assert row["pressure_pa"] == pytest.approx(simulation.pressure_pa()[node], rel=1e-6)
    assert np.abs(velocity).max() > 1e-4


@pytest.mark.parametrize("streaming", ["pull", "push"])
def test_a_driven_point_counts_half_of_the_force(tmp_path, streaming):
    case = periodic_channel(flow={"acceleration_m_s2": [1e-3, 0.0, 0.0]}, compute={"streaming": streaming})
    simulation = simulate(case, 3)
    row = recorded(simulation, tmp_path, point_m=tuple(simulation.nodes.positions_m([0])[0].tolist()))
    assert row["velocity_x_m_s"] == pytest.approx(simulation.velocity_m_s()[0, 0], rel=1e-6)


def test_between_nodes_a_field_is_interpolated():
    nodes = simulate(open_channel()).nodes
    place_m = nodes.positions_m()
    middle_m = place_m.mean(axis=0)
    voxel, weight = corner_weights(nodes, middle_m[None])
    there = dict(zip(nodes.voxel.tolist(), place_m[:, 1].tolist(), strict=True))
    found = sum(w * there[v] for v, w in zip(voxel[0].tolist(), weight[0].tolist(), strict=True) if w)
    assert weight.sum() == pytest.approx(1.0) and found == pytest.approx(middle_m[1])


def test_a_plane_tells_the_flow_that_the_inlet_lets_in(tmp_path):
    simulation = simulate(open_channel(), 2500)
    centre_m = simulation.nodes.positions_m().mean(axis=0)
    row = recorded(simulation, tmp_path, plane_m=tuple(centre_m.tolist()), normal=(2.0, 0.0, 0.0))
    assert row["flow_rate_m3_s"] == pytest.approx(simulation.openings()["inlet"].flow_rate_m3_s, rel=0.01)
    assert row["mean_speed_m_s"] < row["max_speed_m_s"]


@pytest.mark.parametrize("normal", [(1, 1, 0), (1, 1, 1), (1, 2, 0), (0.3, -0.5, 0.8), (1, 1e-3, -2e-3), (0, 0, 1)])
@pytest.mark.parametrize("place", [0.0, 0.35])
def test_shares_near_a_plane_are_its_area_whatever_its_direction_and_place(normal, place):
    """A hat of the distance summed to 1.12 or 0.91 of it along (1, 1, 0). Columns of voxels along the axis nearest to
    the normal n have the area 1 / n each."""
    n = np.array(normal) / np.linalg.norm(normal)
    voxels = np.stack(np.meshgrid(*[np.arange(-9, 10)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    main = np.abs(n).argmax()
    columns = (np.abs(np.delete(voxels, main, axis=1)) <= 2).all(axis=1)
    shares = shares_near_plane(voxels[columns] @ n - place, n)
    assert shares.sum() / 25 == pytest.approx(1.0 / np.abs(n[main]), rel=1e-9)


@pytest.mark.parametrize(
    ("normal", "place"), [((1, 1, 0), 0.5), ((2, 1, 1), 0.5), ((1, 2, 2), 0.0), ((1, 1e-3, 1e-3), 0.0)]
)
def test_voxels_that_only_touch_what_is_near_a_plane_do_not_count(normal, place):
    n = np.array(normal) / np.linalg.norm(normal)
    voxels = np.indices((21, 21, 21)).reshape(3, -1).T - 10.0
    shares = shares_near_plane(voxels @ n - place, n)
    assert not ((shares > 0.0) & (shares < 1e-7)).any()


def test_a_line_has_a_value_at_every_point_in_the_fluid(tmp_path):
    simulation = simulate(open_channel(), N_STEPS)
    x_m, _, z_m = simulation.nodes.positions_m().mean(axis=0)
    low_m = (x_m, -3 * SPACING_M, z_m)
    row = recorded(simulation, tmp_path, line_m=(low_m, (x_m, 4 * SPACING_M, z_m)), n_points=8)
    values = [value for name, value in row.items() if name.startswith("velocity_x")]
    assert len(values) == 8 and np.isnan(values[0]) and np.isfinite(values[-HEIGHT // 2 :]).all()


def test_a_probe_outside_the_fluid_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"probes\.p: no point"):
        recorded(simulate(open_channel()), tmp_path, point_m=(1.0, 1.0, 1.0))
    with pytest.raises(InputError, match=r"probes\.p: no part"):
        recorded(simulate(open_channel()), tmp_path, plane_m=(1.0, 1.0, 1.0), normal=(1.0, 0.0, 0.0))


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"point_m": (0.0, 0.0, 0.0), "plane_m": (0.0, 0.0, 0.0), "normal": (1.0, 0.0, 0.0)},
        {"plane_m": (0.0, 0.0, 0.0)},
        {"point_m": (0.0, 0.0, 0.0), "radius_m": 1.0},
        {"point_m": (0.0, 0.0, 0.0), "n_points": 3},
    ],
)
def test_a_probe_that_says_too_little_or_too_much_is_refused(keys):
    with pytest.raises(ValueError, match="n_points|needs|radius_m"):
        ProbeSection(name="p", **keys)


def warming(lattice, streaming, n_steps, method=DIFFERENCES):
    """A channel that is heated from below and lifted along y, while its temperature still changes."""
    thermal = {"reference_k": 300.0, "prandtl": 0.71, "expansion_1_k": 1e-2, "gravity_m_s2": [0.0, -9.81, 0.0]}
    thermal["method"] = method
    case = periodic_channel(
        geometry={"options": {"length": LENGTH, "height": HEIGHT, "width": 1 if lattice == "D2Q9" else 3}},
        walls=[BOTTOM | {"temperature_k": 310.0}, TOP],
        thermal=thermal,
        flow={"acceleration_m_s2": [1e-2, 0.0, 0.0]},
        lattice={"name": lattice, "collision": "mrt", "relaxation_time": 0.55, "time_step_s": None},
        compute={"streaming": streaming},
    )
    return simulate(case, n_steps)


@pytest.mark.parametrize("lattice", ["D2Q9", "D3Q19"])
@pytest.mark.parametrize("streaming", ["pull", "push", "aa"])
@pytest.mark.parametrize(("n_steps", "method"), [(6, DIFFERENCES), (7, DIFFERENCES), (7, POPULATION_METHOD)])
def test_a_point_tells_its_temperature_and_its_buoyant_velocity(tmp_path, lattice, streaming, n_steps, method):
    simulation = warming(lattice, streaming, n_steps, method)
    temperature_k = simulation.field("temperature")
    node = temperature_k.argmax()
    row = recorded(simulation, tmp_path, point_m=tuple(simulation.nodes.positions_m([node])[0].tolist()))
    assert row["temperature_k"] == pytest.approx(temperature_k[node], rel=1e-12) and temperature_k[node] > 302.0
    velocity = simulation.velocity_m_s()[node]
    np.testing.assert_allclose([row[f"velocity_{axis}_m_s"] for axis in "xyz"], velocity, rtol=1e-9, atol=1e-15)


def test_a_plane_and_a_line_of_a_thermal_flow_tell_their_temperatures(tmp_path):
    simulation = warming("D3Q19", "pull", 20)
    place_m, temperature_k = simulation.nodes.positions_m(), simulation.field("temperature")
    x_m, _, z_m = (float(axis[5]) for axis in place_m.T)
    across = recorded(simulation, tmp_path, plane_m=(x_m, 0.0, z_m), normal=(1.0, 0.0, 0.0))
    layer = np.isclose(place_m[:, 0], x_m)
    assert across["mean_temperature_k"] == pytest.approx(temperature_k[layer].mean(), rel=1e-12)
    column = np.flatnonzero(layer & np.isclose(place_m[:, 2], z_m))
    ends = [tuple(place_m[k].tolist()) for k in (column[0], column[-1])]
    along = recorded(simulation, tmp_path, line_m=ends, n_points=HEIGHT)
    found = [value for name, value in along.items() if name.startswith("temperature_k_at")]
    np.testing.assert_allclose(found, temperature_k[column], rtol=1e-12)


def test_a_flow_without_heat_has_no_column_of_temperature(tmp_path):
    row = recorded(simulate(open_channel(), 2), tmp_path, point_m=(4e-3, 4e-3, 0.0))
    assert not [name for name in row if "temperature" in name]


def test_half_precision_keeps_the_digits_of_the_temperature(tmp_path):
    case = periodic_channel(
        walls=[BOTTOM | {"temperature_k": 310.0}, TOP],
        thermal={"reference_k": 300.0, "prandtl": 0.71, "expansion_1_k": 0.0},
        lattice={"collision": "mrt", "relaxation_time": 0.55, "time_step_s": None},
        compute={"precision": "fp16"},
    )
    simulation = simulate(case, 50)
    node = simulation.field("temperature").argmax()
    row = recorded(simulation, tmp_path, point_m=tuple(simulation.nodes.positions_m([node])[0].tolist()))
    assert row["temperature_k"] == pytest.approx(float(simulation.field("temperature")[node]), rel=1e-7)


def test_a_resumed_probe_of_a_thermal_flow_appends(tmp_path):
    simulation = warming("D2Q9", "pull", 4)
    section = ProbeSection(name="p", point_m=tuple(simulation.nodes.positions_m([5])[0].tolist()))
    probe_series(section, simulation, tmp_path, None).act()
    simulation.step(3)
    probe_series(section, simulation, tmp_path, 4).act()
    series = read_series(tmp_path / "probe_p.csv")
    assert series["step"].tolist() == [4, 7] and np.diff(series["temperature_k"])[0] > 0.0
