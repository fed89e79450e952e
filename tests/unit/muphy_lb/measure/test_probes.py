"""Probes tell what the fields hold."""

import numpy as np
import pytest

from muphy_lb.errors import InputError
from muphy_lb.measure.probes import corner_weights, probe_writer
from muphy_lb.output.series import read_series
from muphy_lb.output_sections import ProbeSection
from tests.channel import HEIGHT, SPACING_M, open_channel, periodic_channel, simulate

N_STEPS = 60


def recorded(simulation, folder, **keys):
    """The one row that a probe writes now."""
    writer = probe_writer(ProbeSection(name="p", **keys), simulation, folder, None)
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
