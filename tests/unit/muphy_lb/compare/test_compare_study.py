"""Parts of a comparison that need no flow: verdicts, choices, table, planes."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.bench import plots
from muphy_lb.bench.compare import study as table
from muphy_lb.bench.compare.study import Agreement, Timing, fastest, variant
from muphy_lb.case.case import case_from_dict
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.catalogue import build_shape

TIMING = Timing(64, "fp32", "numpy", "CPU", 4096, 50, 2.5, 1.6384)
AGREEMENT = Agreement("cpu", "numpy", "fp64", 16, 100, 1e-15, 0.02, 1e-12)
CASE = {
    "geometry": {"shape": "sphere_pack", "spacing_m": 1e-5, "options": {"radius": 3.0}},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
    "lattice": {"relaxation_time": 0.8},
    "run": {"steps": 10},
}


@pytest.mark.parametrize(("difference", "passed"), [(1e-12, True), (1.1e-12, False), (np.nan, False)])
def test_velocities_agree_up_to_the_bound(difference, passed):
    assert replace(AGREEMENT, difference=difference).passed is passed


def test_the_fastest_is_sought_at_the_largest_size():
    timings = [replace(TIMING, size=32, mflups=99.0), TIMING, replace(TIMING, backend="cpu", mflups=30.0)]
    assert fastest(timings) is timings[2]


def test_a_variant_changes_size_backend_and_precision_only():
    case = case_from_dict(CASE, "somewhere")
    changed = variant(case, 20, "cpu", "fp64")
    back = variant(changed, 20, case.compute.backend, case.compute.precision)
    assert changed.geometry.options == {"radius": 3.0, "size": 20} and changed.folder == case.folder
    assert (changed.compute.backend, changed.compute.precision) == ("cpu", "fp64")
    assert back.model_copy(update={"geometry": case.geometry}) == case


def test_columns_of_the_table_lie_below_their_names():
    assert len(table.row(TIMING)) == len(table.HEADER)
    assert table.row(TIMING).split() == ["64", "4,096", "fp32", "numpy", "2.5", "1.638", "1", "50"]


def test_the_table_says_which_backend_is_the_reference_and_what_was_left_out():
    text = table.notes([TIMING], {"cuda": "no GPU"})
    assert "against numpy" in text and "scaled to 1000 steps" in text and "cuda: not timed: no GPU" in text


def test_the_agreement_is_told_where_there_is_one():
    text = table.agreement_text([AGREEMENT, replace(AGREEMENT, difference=1.0)]).splitlines()
    assert text[1].endswith(": agree") and text[2].endswith(": DIFFER")
    assert "not checked" in table.agreement_text([])


def test_the_middle_plane_shows_every_node_at_its_place():
    nodes = build_nodes(build_shape("pipe", length=6, radius=3.0, spacing_m=0.5))
    plane = plots.middle_plane(nodes, nodes.positions_m())
    y, x = np.nonzero(np.isfinite(plane.speed_m_s))
    assert x.size == np.count_nonzero(nodes.coordinates()[:, 2] == 3)
    expected = np.stack((plane.x_m[x], plane.y_m[y], np.full(x.size, nodes.origin_m[2] + 3 * 0.5)), axis=-1)
    np.testing.assert_allclose(plane.velocity_m_s[y, x], expected, atol=1e-12)


def test_a_plane_of_fluid_at_rest_ends_at_the_outer_faces_of_its_voxels_and_can_be_drawn(tmp_path):
    nodes = build_nodes(build_shape("channel", length=4, height=3, spacing_m=0.5))
    left, right, bottom, top = plots.middle_plane(nodes, np.zeros((nodes.n_nodes, 3))).extent_m
    assert (right - left, top - bottom) == pytest.approx((4 * 0.5, 3 * 0.5))
    plane = plots.middle_plane(nodes, np.zeros((nodes.n_nodes, 3)))
    plots.draw_speed(tmp_path / "speed.png", plane, "rest")
    plots.draw_quiver(tmp_path / "quiver.png", plane, "rest")
    assert (tmp_path / "speed.png").exists() and (tmp_path / "quiver.png").exists()
