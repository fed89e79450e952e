"""The indices of a wall shear stress are those of closed forms; parts of a wall have the areas of their shapes."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.boundaries import WallRegionSection, WallThresholdsSection
from muphy_lb.case.case import case_from_dict
from muphy_lb.measure.period import PeriodWindow
from muphy_lb.measure.shear.observer import WallShearObserver
from muphy_lb.measure.shear.wall_nodes import INDICES, in_region, part_record, weighted_statistics
from muphy_lb.measure.shear.wall_shear import WallShear, along_wall, tangents, wall_indices
from muphy_lb.validation.case import Settings
from muphy_lb.validation.flows import creeping, forced_flow
from tests.channel import BOTTOM, PERIODIC, TOP, changed, periodic_channel, simulate

N_SAMPLES = 2000


def window_of(stress_of_phase, n_samples=N_SAMPLES, period=None):
    """A window with the (2, m) stresses of the phases of a period of ``n_samples`` steps, or of a length of its own."""
    period = period or n_samples
    window = PeriodWindow(period, n_samples)
    for step in range(1, int(period) + 1):
        window.add(step, np.asarray(stress_of_phase(step / period), dtype=np.float32))
    return window


def swinging(phase):
    """0.5 + cos along the first direction."""
    return [[0.5 + np.cos(2.0 * np.pi * phase)], [0.0]]


def test_a_stress_that_swings_through_zero_has_the_index_of_its_closed_form():
    m = 0.5
    tawss = 2.0 / np.pi * (m * np.arcsin(m) + np.sqrt(1.0 - m**2))
    found = wall_indices(window_of(swinging))
    assert found.osi[0] == pytest.approx(0.15181, abs=1e-5) == 0.5 * (1.0 - m / tawss)
    assert found.tawss[0] == pytest.approx(tawss, rel=1e-5)
    assert found.rrt[0] == pytest.approx(2.0, rel=1e-5) == 1.0 / ((1.0 - 2.0 * found.osi[0]) * found.tawss[0])
    assert found.ecap[0] == pytest.approx(found.osi[0] / found.tawss[0]) and found.transwss[0] == 0.0


def test_forty_samples_of_a_period_that_no_step_divides_are_enough():
    window = PeriodWindow(1234.5, 40)
    for step in range(window.every, 1240, window.every):
        window.add(step, np.array([[1.0 + 0.5 * np.cos(2.0 * np.pi * step / 1234.5)], [0.0]]))
    assert window.is_whole and window.weights().sum() == pytest.approx(1.0)
    assert wall_indices(window).tawss[0] == pytest.approx(1.0, abs=2e-4)


def test_a_steady_stress_does_not_oscillate():
    found = wall_indices(window_of(lambda phase: [[0.3, 0.0], [0.4, 0.0]], 7))
    np.testing.assert_allclose(found.osi, 0.0, atol=1e-15)
    np.testing.assert_allclose(found.tawss, [0.5, 0.0], rtol=1e-7)
    np.testing.assert_allclose(found.transwss, 0.0, atol=1e-8)
    assert np.isinf(found.rrt[1]) and found.ecap[1] == 0.0


def test_the_transverse_stress_is_that_across_the_mean_of_the_same_period():
    """tau = a e_1 + b cos(phase) e_2, turned by an angle: TransWSS = 2 b / pi, whatever the angle."""
    a, b, angle = 0.7, 0.4, np.array([0.0, 0.5, 2.0])

    def stress(phase):
        along, across = a, b * np.cos(2.0 * np.pi * phase)
        return along * np.cos(angle) - across * np.sin(angle), along * np.sin(angle) + across * np.cos(angle)

    found = wall_indices(window_of(stress))
    np.testing.assert_allclose(found.transwss, 2.0 * b / np.pi, rtol=1e-5)
    np.testing.assert_allclose(found.rrt, 1.0 / a, rtol=1e-5)


def test_a_rotating_stress_has_no_mean_direction():
    found = wall_indices(window_of(lambda phase: [[np.cos(2 * np.pi * phase)], [np.sin(2 * np.pi * phase)]], 8))
    assert found.osi[0] == pytest.approx(0.5, abs=1e-7) and found.rrt[0] > 1e6


def test_components_along_a_wall_keep_length_and_angle():
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(50, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    stress = np.cross(normal, rng.normal(size=(50, 3)))
    components = along_wall(stress, tangents(normal))
    np.testing.assert_allclose(np.hypot(*components), np.linalg.norm(stress, axis=1), rtol=1e-6)
    back = np.einsum("km,kmi->mi", components, tangents(normal))
    np.testing.assert_allclose(back, stress, atol=1e-6)


def test_the_window_forgets_what_is_a_period_old():
    window = PeriodWindow(10.0, 5)
    for step in range(2, 25, 2):
        window.add(step, np.array([[float(step)], [0.0]]))
    assert [int(values[0, 0]) for values in window.samples()] == [16, 18, 20, 22, 24]


def test_part_of_a_period_is_averaged_evenly():
    window = PeriodWindow(100.0, 10)
    for step in (10, 20, 30):
        window.add(step, np.ones((2, 1)))
    assert not window.is_whole
    np.testing.assert_allclose(window.weights(), 1 / 3)


def pipe_wall(geometry):
    """Areas of the wall of a shape of interpolated walls, and the number of fluid nodes."""
    settings = Settings(backend="numpy")
    simulation = forced_flow(geometry, 1.0, (0.0, 0.0, 1e-6), settings=settings, tables=creeping("bouzidi"))
    return WallShear(simulation).areas.area, simulation.header.n_nodes


@pytest.mark.parametrize(("radius", "within"), [(5.3, 0.035), (10.0, 0.015)])
def test_the_areas_of_a_pipe_add_up_to_its_surface(radius, within):
    area, _ = pipe_wall({"shape": "pipe", "options": {"length": 2, "radius": radius}})
    assert area.sum() == pytest.approx(2.0 * np.pi * radius * 2.0, rel=within)


def test_the_areas_of_a_tilted_pipe_add_up_to_its_surface():
    area, n_nodes = pipe_wall({"shape": "tilted_pipe", "options": {"radius": 6.0, "direction": [1, 2, 0]}})
    length = n_nodes / (np.pi * 6.0**2)
    assert area.sum() == pytest.approx(2.0 * np.pi * 6.0 * length, rel=0.03)


def test_statistics_are_weighted_by_area():
    found = weighted_statistics(np.array([1.0, 3.0, 100.0]), np.array([3.0, 1.0, 0.0]))
    assert found["mean"] == 1.5 and found["p50"] == 1.0 and found["p95"] == 3.0 and found["max"] == 3.0


def test_areas_beyond_thresholds_are_told():
    values = {INDICES["tawss"]: np.array([0.1, 0.5, 0.6]), INDICES["osi"]: np.array([0.3, 0.1, 0.4])}
    area, mask = np.array([1.0, 2.0, 3.0]), np.array([True, True, True])
    record = part_record(values, area, mask, WallThresholdsSection())
    assert record["time_averaged_pa"]["area_beyond_m2"] == 1.0
    assert record["oscillatory_index"]["share_beyond"] == pytest.approx(4.0 / 6.0)


def test_the_threshold_of_the_residence_time_is_that_of_the_others():
    assert WallThresholdsSection().rrt_1_pa == pytest.approx(1.0 / (0.6 * 0.4))
    assert WallThresholdsSection(high_rrt_1_pa=8.0).rrt_1_pa == 8.0


def test_a_region_is_a_box_or_lies_between_planes():
    points = np.array([[0.5, 0.0, 0.0], [0.5, 2.0, 0.0], [1.5, 0.0, 0.0]])
    box = WallRegionSection(name="r", box_m=((0.0, -1.0, -1.0), (2.0, 1.0, 1.0)))
    assert in_region(box, points).tolist() == [True, False, True]
    line = {"name": "r", "axis_m": ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))}
    assert in_region(WallRegionSection(**line), points).tolist() == [True, True, False]
    assert in_region(WallRegionSection(**line, radius_m=1.0), points).tolist() == [True, False, False]


@pytest.mark.parametrize(
    "keys", [{}, {"box_m": ((0.0,) * 3, (1.0,) * 3), "radius_m": 1.0}, {"axis_m": ((0.0,) * 3, (0.0,) * 3)}]
)
def test_a_region_that_says_too_little_or_too_much_is_refused(keys):
    with pytest.raises(ValueError, match="needs|radius_m|same point"):
        WallRegionSection(name="r", **keys)


def pulsating(**sections):
    """The channel that an oscillating force with a mean drives; its period is 0.4 s, 40 steps."""
    sections["output"] = {"wall_shear": True} | sections.get("output", {})
    wave = {"period_s": 0.4, "mean": 0.5, "cosine": [1.0]}
    flow = {"acceleration_m_s2": [1e-3, 0.0, 0.0], "waveform": wave}
    return periodic_channel(flow=flow, run={"steps": 120}, lattice={"collision": "trt"}, **sections)


def finished(case, folder):
    """The record of the wall shear stress of a case that has run."""
    simulation = simulate(case)
    writer = WallShearObserver(simulation, folder)
    while simulation.step_number < 120:
        simulation.step(writer.every)
        writer.act()
    return writer.finish(), simulation


def test_labelled_walls_and_regions_have_statistics_of_their_own(tmp_path):
    half_m = ((-1.0, -1.0, -1.0), (3.9e-3, 1.0, 1.0))
    case = pulsating(walls=[BOTTOM, TOP], wall_regions=[{"name": "half", "box_m": half_m}])
    record, simulation = finished(case, tmp_path)
    parts = record["parts"]
    assert set(parts) == {"bottom", "top", "half"}
    length_m2 = 8 * simulation.header.spacing_m**2
    assert parts["bottom"]["area_m2"] == pytest.approx(length_m2) == parts["half"]["area_m2"]
    assert record["area_m2"] == pytest.approx(2.0 * length_m2)
    lines = (tmp_path / "wall_shear.csv").read_text().splitlines()
    assert lines[0].startswith("wall,quantity,area_m2,mean,min") and len(lines) == 1 + 4 * 6


@pytest.mark.parametrize(("n_waves", "every"), [(1, 10), (10, 10), (40, 2)])
def test_fast_waves_of_a_long_period_do_not_stand_still_between_samples(tmp_path, n_waves, every):
    """With forty samples the fortieth harmonic was taken at one phase: a time-averaged stress was 19 % too large."""
    wave = {"period_s": 4.0, "cosine": [0.0] * (n_waves - 1) + [1.5]}
    flow = {"acceleration_m_s2": [1e-3, 0.0, 0.0], "waveform": wave}
    case = periodic_channel(flow=flow, lattice={"collision": "trt"}, output={"wall_shear": True})
    assert WallShearObserver(simulate(case), tmp_path).every == every


def test_a_region_without_fluid_is_refused():
    case = pulsating(wall_regions=[{"name": "far", "box_m": ((1.0, 1.0, 1.0), (2.0, 2.0, 2.0))}])
    with pytest.raises(InputError, match=r"wall_regions\.far holds no fluid node"):
        simulate(case)


def test_names_of_regions_are_unique_and_thresholds_sensible():
    region = {"name": "r", "box_m": ((0.0,) * 3, (1.0,) * 3)}
    table = changed(PERIODIC, wall_regions=[region, region], output={"wall_thresholds": {"high_osi": 0.7}})
    with pytest.raises(InputError, match="2 wall_regions named 'r'") as caught:
        case_from_dict(table)
    assert "high_osi" in str(caught.value)
