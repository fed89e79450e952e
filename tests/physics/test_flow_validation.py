"""The cases with moving walls, openings, time dependence and non-Newtonian fluids fail if the solver is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.base.errors import DivergedError, MuphyError
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.geometry.voxels import FLUID
from muphy_lb.validation import flows
from muphy_lb.validation.case import Settings, absolute, relative
from muphy_lb.validation.cases import CASES
from muphy_lb.validation.flow import couette, rheology, schaefer_turek, womersley
from muphy_lb.validation.flow.cavity import SECOND_ORDER, driven_cavity, spectral_extrema
from muphy_lb.validation.flow.schaefer_turek import Shedding
from muphy_lb.validation.flow.vortices import VISCOSITY_ERROR_TIMES_SQUARE, Scheme, decay

QUICK = Settings(quick=True)
TIME = np.linspace(0.0, 10.0, 401)


def test_a_flow_that_diverges_fails_its_row(monkeypatch):
    def diverge(setup, settings, until_s):
        raise DivergedError("the Mach number is 0.6")

    monkeypatch.setattr(schaefer_turek, "beating_flow", diverge)
    outcome = CASES["cylinder-flows"](QUICK)
    assert [row.verdict for row in outcome.rows] == ["FAILED"] * len(schaefer_turek.RULES)


@pytest.mark.parametrize("diameter", [15, 16, 17, 20])
def test_the_published_flow_enters_a_channel_of_any_height(diameter, tmp_path):
    setup = schaefer_turek.Setup("2D-3", diameter)
    shape = build_shape("obstacle_channel", cells_per_diameter=diameter, dimension=2)
    n_rows = int((shape.flags[0, :, -diameter] == FLUID).sum())
    inlet = schaefer_turek._inlet(setup, shape, tmp_path)
    assert inlet["velocity_m_s"] * n_rows * setup.spacing_m == pytest.approx(0.41, abs=1e-12)
    assert (inlet["profile"] == "parabolic") == (diameter == 20)


# What the cases share


def test_a_cubic_is_interpolated_exactly():
    x = np.linspace(0.1, 0.9, 9)
    points = np.array([0.1, 0.17, 0.5, 0.88, 0.95])
    np.testing.assert_allclose(flows.interpolate(x, x**3 - x, points), points**3 - points, atol=1e-14)


@pytest.mark.parametrize("n", [8, 9])
def test_the_middle_of_a_cubic_is_its_value_there(n):
    x = (np.arange(n) + 0.5) / n
    assert flows.middle(np.stack((x**3, x**2)), 1) == pytest.approx([0.125, 0.25], abs=1e-14)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_extremum_of_a_parabola_is_its_vertex(sign):
    x = np.linspace(0.0, 1.0, 11)
    place, value = flows.extremum(x, sign * (3.0 - (x - 0.437) ** 2), sign)
    assert (place, value) == pytest.approx((0.437, 3.0 * sign))


# Cavity


def test_extrema_see_another_reynolds_number():
    found, exact = driven_cavity(200, 32, QUICK).extrema(), spectral_extrema(100)
    rows = [relative(name, getattr(exact, name), value, SECOND_ORDER[100] / 32**2) for name, value in found.items()]
    assert not any(row.passed for row in rows)


def test_corner_links_that_move_with_the_lid_cost_accuracy():
    exact = spectral_extrema(100).u_min
    errors = [abs(driven_cavity(100, 16, QUICK, corners_move=m).extrema()["u_min"] - exact) for m in (False, True)]
    assert errors[1] > 2.0 * errors[0]


# Cylinder in a channel


def test_coefficients_and_frequency_of_a_known_shedding():
    phase = 2.0 * np.pi * 0.3 * TIME
    flow = Shedding(TIME, 3.2 + 0.03 * np.cos(2.0 * phase), 0.98 * np.sin(phase + 0.1))
    found = (flow.strouhal(), flow.largest_drag(), flow.largest_lift())
    assert found == pytest.approx((0.3, 3.23, 0.98), rel=1e-4)


def test_a_flow_that_does_not_shed_is_an_error():
    with pytest.raises(MuphyError, match="does not shed vortices"):
        Shedding(TIME, 3.2 + 0.0 * TIME, np.exp(-TIME)).strouhal()


# Decaying vortices


def test_viscosity_check_sees_the_error_of_another_relaxation():
    found = decay(32, Scheme(collision="trt"), QUICK).viscosity_error
    assert not absolute("viscosity", 0.0, found, VISCOSITY_ERROR_TIMES_SQUARE / 32**2).passed


# Oscillating flows


@pytest.mark.parametrize("delay", [0.5, -0.5])
def test_a_force_half_a_step_off_shows(delay):
    error = womersley.plates_error(16, QUICK, delay)
    assert not relative("error", womersley.PLATES_ERROR[16], error, womersley.PLATES_TOLERANCE).passed


@pytest.mark.parametrize("delay", [0.5, -0.5])
def test_a_wall_half_a_step_off_costs_accuracy(delay):
    assert womersley.plate_error(16, QUICK, delay) > 1.2 * womersley.plate_error(16, QUICK)


def test_inflow_check_sees_a_step_too_late():
    asked, measured = womersley.pulsating_inflow(QUICK)
    slope = np.abs(np.gradient(asked)).max() * womersley.N_PHASES / womersley.PULSE_PERIOD
    late = np.abs(measured + slope - asked).max() / asked.max()
    assert not absolute("inflow", 0.0, late, womersley.PULSE_TOLERANCE["fp64"]).passed


# Fluids and walls


def test_profile_check_sees_an_index_off_by_a_tenth():
    fluid = rheology.power_law_fluid(16, 0.75)
    wrong = rheology.power_law_fluid(16, 0.85)
    _, exact, computed = rheology.channel(replace(fluid, table=wrong.table), 16, QUICK)
    assert not absolute("profile", 0.0, rheology.l2_error(exact, computed), rheology.TOLERANCE).passed


def test_uniform_flow_check_sees_a_wall_that_does_not_slip():
    assert couette.uniform_flow_change("D2Q9", QUICK, slip=False) > 0.1


def test_half_profile_check_sees_a_wall_that_does_not_slip():
    _, exact, computed = couette.half_channel("D2Q9", QUICK, slip=False)
    assert np.abs(computed - exact).max() > 0.5 * exact.max()


def test_eddy_viscosity_check_sees_another_constant():
    found, _ = rheology.sheared(0.41, rheology.SCHEMES["BGK"], QUICK)
    expected = rheology.LES_VISCOSITY + 0.4**2 * rheology.LES_VELOCITY / rheology.HEIGHT
    assert not relative("viscosity", expected, found, rheology.LES_TOLERANCE["fp32"]).passed
