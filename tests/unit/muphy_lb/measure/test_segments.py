"""The pressures and the flow of a segment are those at its two planes, averaged over a period where there is one."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.case.output import ProbeSection
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, Voxels
from muphy_lb.measure.probes import NO_REFERENCE, PlaneValues, SegmentSeries, _PlaneSeries, segment_record
from muphy_lb.output.series import read_series
from tests.channel import OPEN, changed, open_channel, simulate

REFERENCE_PA = 12_000.0
PLANES = [
    {"name": name, "plane_m": [x_m, 3e-3, 0.0], "normal": [1.0, 0.0, 0.0]}
    for name, x_m in (("before", 2e-3), ("behind", 5e-3))
]
SEGMENT = {"name": "middle", "proximal": "before", "distal": "behind"}


def channel(**sections):
    """The open channel with two planes and the segment between them."""
    sections.setdefault("flow", {"reference_pressure_pa": REFERENCE_PA})
    outlet = {"name": "outlet", "pressure_pa": REFERENCE_PA}
    inlet = {"name": "inlet", "velocity_m_s": 2e-3, "profile": "parabolic"}
    sections.setdefault("openings", [inlet, outlet])
    return open_channel(probes=PLANES, segments=[SEGMENT], lattice={"collision": "trt"}, **sections)


def observed(case, folder, n_steps):
    """The record of the segments of a case after so many steps, and the simulation."""
    simulation = simulate(case)
    series, means = SegmentSeries.create(simulation, folder, None)
    for _ in range(n_steps):
        simulation.step(1)
        if means.every and simulation.step_number % means.every == 0:
            means.act()
    series.act()
    return means.finish(), simulation


def test_a_steady_segment_has_the_drop_of_poiseuille(tmp_path):
    record, simulation = observed(channel(), tmp_path, 1500)
    one = record["of"]["middle"]
    per_depth_m2_s = one["flow_rate_m3_s"] / simulation.header.spacing_m
    expected_pa = 12.0 * 1000.0 * 1e-5 * per_depth_m2_s * 3e-3 / 6e-3**3
    assert one["pressure_drop_pa"] == pytest.approx(expected_pa, rel=0.02)
    assert one["flow_rate_m3_s"] == pytest.approx(2e-3 * 6e-3 * 1e-3, rel=0.01)
    assert one["pressure_ratio"] == one["distal_pressure_pa"] / one["proximal_pressure_pa"]
    assert one["distal_pressure_pa"] == pytest.approx(REFERENCE_PA, abs=1.0) and record["averaged_over_s"] is None


def test_the_series_holds_what_the_record_does(tmp_path):
    record, _ = observed(channel(), tmp_path, 20)
    row = read_series(tmp_path / "segments.csv")
    assert "flow_rate_m3_s" in record["of"]["middle"]
    for quantity, value in record["of"]["middle"].items():
        assert row[f"middle_{quantity}"][-1] == value


def test_a_beating_segment_has_the_means_of_its_last_period(tmp_path):
    wave = {"period_s": 0.2, "mean": 1.0, "sine": [0.5]}
    outlet = {"name": "outlet", "pressure_pa": REFERENCE_PA}
    openings = [{"name": "inlet", "velocity_m_s": 2e-3, "waveform": wave}, outlet]
    record, _ = observed(channel(openings=openings), tmp_path, 600)
    assert record["averaged_over_s"] == 0.2
    # the sum over six nodes across misses 1.0 % of the flow rate at any instant
    assert record["of"]["middle"]["flow_rate_m3_s"] == pytest.approx(2e-3 * 6e-3 * 1e-3, rel=0.015)


def test_the_ratio_is_that_of_the_means():
    record = segment_record(10_000.0, 7_500.0, 1e-6)
    assert record["pressure_ratio"] == 0.75 and record["pressure_drop_pa"] == 2_500.0
    assert np.isnan(segment_record(-1.0, -2.0, 1e-6)["pressure_ratio"])


def test_a_ratio_without_a_reference_pressure_is_warned_of(tmp_path):
    with_reference, _ = observed(channel(), tmp_path, 1)
    openings = [{"name": "inlet", "velocity_m_s": 2e-3}, {"name": "outlet", "pressure_pa": 0.0}]
    without, _ = observed(channel(flow={}, openings=openings), tmp_path, 1)
    assert with_reference["warnings"] == [] and without["warnings"] == [NO_REFERENCE]


@pytest.mark.parametrize(
    ("segment", "text"),
    [
        ({"proximal": "befor"}, "did you mean 'before'"),
        ({"proximal": "behind"}, "two different probes"),
        ({"distal": "nowhere"}, "not a probe with plane_m"),
    ],
)
def test_a_segment_needs_two_planes(segment, text):
    table = changed(OPEN, probes=PLANES, segments=[SEGMENT | segment])
    with pytest.raises(InputError, match=text):
        case_from_dict(table)


def two_arms():
    """Nodes of two parallel arms of 3 x 3 voxels, 5 apart, which a slab joins at their feet."""
    flags = np.zeros((10, 3, 11), FLAG_DTYPE)
    flags[:, :, :3] = flags[:, :, 8:] = flags[:2] = FLUID
    return build_nodes(Voxels(flags, 1.0))


@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.3, 0.2, 1.0)])
def test_the_nearest_branch_alone_is_cut(normal):
    nodes, keys = two_arms(), {"name": "p", "plane_m": (9.0, 1.0, 6.0), "normal": normal}
    both, _ = _PlaneSeries.weights(ProbeSection(**keys), nodes)
    one, weight = _PlaneSeries.weights(ProbeSection(**keys, branch="nearest"), nodes)
    x_of = {voxel: voxel % 11 for voxel in both.tolist()}
    assert {x_of[voxel] for voxel in one.tolist()} == {8, 9, 10} and len(both) > len(one)
    cosine = normal[2] / np.linalg.norm(normal)
    assert weight.sum() == pytest.approx(9.0 / cosine, rel=0.1)


def test_a_plane_has_the_flow_and_the_pressure_of_its_probe(tmp_path):
    simulation = simulate(channel(), 50)
    plane = PlaneValues(
        ProbeSection(**PLANES[0] | {"plane_m": (2e-3, 3e-3, 0.0), "normal": (1.0, 0.0, 0.0)}),
        simulation,
        simulation.nodes,
    )
    flow_rate_m3_s, pressure_pa = plane.flow_and_pressure()
    layer = np.isclose(simulation.nodes.positions_m()[:, 0], 2e-3)
    assert pressure_pa == pytest.approx(simulation.pressure_pa()[layer].mean(), rel=1e-12)
    expected = simulation.velocity_m_s()[layer, 0].sum() * simulation.header.spacing_m**2
    assert flow_rate_m3_s == pytest.approx(expected, rel=1e-9)
