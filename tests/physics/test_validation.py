"""The solver agrees with published and analytic flows, and every comparison would fail if it did not."""

import json
from dataclasses import replace
from math import nan
from types import SimpleNamespace

import numpy as np
import pytest

from muphy_lb.base.errors import InputError, MuphyError
from muphy_lb.validation import flows
from muphy_lb.validation.case import Settings, Validation, absolute, at_least, at_most, relative, shown
from muphy_lb.validation.cases import CASES
from muphy_lb.validation.command import add_options, validate
from muphy_lb.validation.flow.channels import (
    STAIRCASE,
    bounce_back_slip,
    channel_difference,
    channel_error,
    pipe_errors,
)
from muphy_lb.validation.flow.conservation import TOLERANCES, TREE_LOSS, flow_rates_m3_s, mass_drift, tree_flow
from muphy_lb.validation.flow.permeability import DUCT, TOLERANCE, TUBE, measured_permeability
from muphy_lb.validation.thermal import heated_bifurcation as bifurcation
from tests.vessel import called

HEIGHTS = (8, 16, 32)
QUICK = Settings(quick=True)
SMALLEST_CUBES, SHORT = (6, 6, 8), bifurcation.PhaseDurations(50, 0, 40, 10)
# One wave for each sort: along x, y, z, as (function, number).
WAVES = {
    "the mirror": ((np.sin, 1), (np.cos, 1), (np.cos, 2)),
    "the mirror and the centre": ((np.sin, 1), (np.cos, 1), (np.cos, 1)),
    "the centre": ((np.sin, 1), (np.cos, 2), (np.cos, 2)),
}


def run_command(*arguments, communicator=None):
    """(exit code, what was said) of the command."""
    return called(validate, add_options, *arguments, communicator=communicator)


NEED_DATA = ("permeability", "gmy-pipe", "aorta", "data", "ketton", "given-vessels")
TAKE_MINUTES = ("taylor-green-3d", "shear-layers")  # their parts: test_vortex_studies.py
# Cases of so few steps that the specification takes less time than compilation, but for those whose kernels are kept.
SOON_SPECIFIED = ("bead-", "surface-", "streaks")
SMALLEST = (
    *("plane-channel", "pipe", "conservation", "vessel", "taylor-couette", "cavity", "womersley", "free-slip"),
    *("heat", "fluctuating-modes", "surface-rest", "surface-film", "dissipation"),
)
SINGLE = (
    *("plane-channel", "pipe", "conservation", "vessel", "free-slip", "smagorinsky", "cylinder-flows"),
    *("cylinder-cell", "taylor-couette"),
)
OTHERS = [name for name in CASES if name not in SMALLEST + NEED_DATA + TAKE_MINUTES]


@pytest.mark.parametrize("name", [*SMALLEST, *(pytest.param(name, marks=pytest.mark.night) for name in OTHERS)])
def test_case_passes(name):
    is_specified = name.startswith(SOON_SPECIFIED) and name not in SMALLEST
    outcome = CASES[name](replace(QUICK, backend="numpy") if is_specified else QUICK)
    assert outcome.rows and outcome.passed, str(outcome)


@pytest.mark.night
@pytest.mark.parametrize("name", ["permeability", "given-vessels"])
def test_case_of_real_images_and_surfaces_passes(data_dir, monkeypatch, name):
    monkeypatch.setenv("MUPHY_DATA", str(data_dir))
    outcome = CASES[name](QUICK)
    assert outcome.rows and outcome.passed, str(outcome)


@pytest.mark.night
@pytest.mark.parametrize("name", SINGLE)
def test_case_passes_in_single_precision(name):
    outcome = CASES[name](Settings(quick=True, precision="fp32"))
    assert outcome.rows and outcome.passed, str(outcome)


@pytest.mark.night
@pytest.mark.parametrize("name", ["conservation", "vessel", "free-slip"])
def test_case_passes_in_place(name):
    outcome = CASES[name](Settings(quick=True, streaming="aa"))
    assert outcome.rows and outcome.passed, str(outcome)


@pytest.mark.parametrize("sort", bifurcation.SYMMETRY_CLASSES)
def test_what_breaks_one_symmetry_stays_apart_from_the_rest(sort, monkeypatch):
    def wave(size):
        x = np.pi * (np.arange(size) + 0.5) / size
        along_x, along_y, along_z = (function(n * x) for function, n in WAVES[sort])
        return 1e-6 * along_z[:, None, None] * along_y[:, None] * along_x

    monkeypatch.setattr(bifurcation, "disturbance", wave)
    monkeypatch.setattr(bifurcation, "rescaled", lambda cavity: cavity)
    run = bifurcation.perturbed_run(1e4, SMALLEST_CUBES, Settings(backend="cpu"), SHORT)
    largest = dict(zip(bifurcation.SYMMETRY_CLASSES, np.abs(run.signals).max(axis=(1, 2)), strict=True))
    assert 1e-8 < largest.pop(sort) < 1e-6
    assert max(largest.values()) < 1e-11
    assert dict(zip(bifurcation.SYMMETRY_CLASSES, run.growths, strict=True))[sort].rate < -0.05


@pytest.mark.parametrize("wall_distance", [0.4, 1.0])
def test_order_of_convergence_sees_a_wall_in_the_wrong_place(wall_distance):
    errors = [channel_error(height, wall_distance=wall_distance) for height in HEIGHTS]
    assert flows.order_of_convergence(HEIGHTS, errors) < 1.3


def test_slip_tells_relaxation_times_apart():
    slip = channel_difference(10, "D2Q9", 0.81).mean()
    assert not relative("slip", bounce_back_slip(10, 0.8), slip, 1e-6).passed


def test_pipe_flow_rate_sees_a_radius_wrong_by_one_voxel():
    _, flow = pipe_errors(16.5)
    assert not relative("flow", 1.0, flow * (16.5 / 17.5) ** 4, STAIRCASE / 16.5).passed


def test_mass_check_sees_the_round_off_of_single_precision():
    drift, _ = mass_drift("fp32", n_steps=200)
    assert not absolute("drift", 0.0, drift, TOLERANCES["fp64"]).passed


def test_permeability_tells_a_duct_from_a_tube(data_dir):
    duct = measured_permeability(DUCT, data_dir, one_slice=True)
    assert not relative("duct", TUBE.permeability, duct, TOLERANCE).passed


def test_vessel_check_sees_a_flow_that_is_not_steady():
    simulation = tree_flow(1, 2.5e-4)
    simulation.step(500)
    assert not relative("outflow", *flow_rates_m3_s(simulation), TREE_LOSS).passed


def test_a_flow_that_never_settles_is_an_error(monkeypatch):
    monkeypatch.setattr(flows, "MAX_STEPS", 50)
    with pytest.raises(MuphyError, match="not steady after 50 steps"):
        channel_error(16)


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
def test_order_of_convergence_of_a_power_law_is_its_exponent(order):
    sizes = np.array([4.0, 8.0, 16.0])
    assert flows.order_of_convergence(sizes, 7.0 / sizes**order) == pytest.approx(order)


@pytest.mark.parametrize(
    ("make", "values", "passed"),
    [
        (relative, (nan,), [False]),
        (absolute, (nan,), [False]),
        (at_least, (1.5, 0.95, 0.8, nan), [True, True, False, False]),
        (at_most, (0.2, 1.05, 1.2, nan), [True, True, False, False]),
    ],
)
def test_a_comparison_with_nan_or_beyond_its_limit_fails(make, values, passed):
    assert [make("x", 1.0, value, 0.1).passed for value in values] == passed


def test_one_failed_row_fails_the_case_and_a_row_for_the_reader_says_so_and_fails_only_without_a_number():
    outcome = Validation("n", "c", (absolute("a", 0.0, 0.0, 0.1), absolute("b", 0.0, 1.0, 0.1)))
    assert not outcome.passed and "FAILED" in str(outcome)
    row, missing = shown("x", 1.0, 9.0), shown("x", 1.0, nan)
    assert row.passed and "shown" in str(Validation("n", "c", (row,)))
    assert not missing.passed and "FAILED" in str(Validation("n", "c", (missing,)))


def test_command_tells_all_and_writes_json(tmp_path):
    code, said = run_command("--quick", "--json", str(tmp_path / "v.json"), "plane-channel")
    (record,) = json.loads((tmp_path / "v.json").read_text())
    assert code == 0 and "order of convergence" in said and "6 of 6 comparisons passed" in said
    assert record["passed"] and {"quantity", "reference", "computed", "error", "tolerance"} <= record["rows"][0].keys()


def test_command_skips_what_needs_data_and_says_so(monkeypatch):
    monkeypatch.delenv("MUPHY_DATA", raising=False)
    code, said = run_command("permeability")
    assert code == 0 and "skipped: no channels_poremaps" in said and "$MUPHY_DATA" in said


def test_command_refuses_several_ranks():
    with pytest.raises(InputError, match="2 ranks, which only heated-bifurcation and heated-cube and heated-window"):
        run_command("pipe", "heated-cube", communicator=SimpleNamespace(rank=0, size=2))
