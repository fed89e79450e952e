"""Laws of the unit conversions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muphy_lb.base.units import CS2, Units, relaxation_time, time_in_words, viscosity
from muphy_lb.lattice import LATTICES

EXACT = 1e-12  # a few roundings of float64
UNITS = Units(spacing_m=2e-4, time_step_s=5e-5, density_kg_m3=1050.0)
PAIRS = ("velocity", "acceleration", "flow_rate")


@pytest.mark.parametrize("lattice", LATTICES.values(), ids=lambda lattice: lattice.name)
def test_every_lattice_has_the_speed_of_sound_of_the_units(lattice):
    assert float(lattice.cs2) == CS2


def test_relaxation_times_of_viscosities_of_zero_and_one_sixth():
    assert relaxation_time(0.0, CS2) == 0.5 and viscosity(1.0, CS2) == pytest.approx(1.0 / 6.0, rel=EXACT)


@given(st.floats(0.51, 10.0))
def test_viscosity_inverts_relaxation_time(tau):
    assert relaxation_time(viscosity(tau, CS2), CS2) == pytest.approx(tau, rel=EXACT)


@pytest.mark.parametrize("quantity", PAIRS)
def test_conversion_to_lattice_and_back_is_identity(quantity):
    value = np.array([-3.0, 0.0, 0.7])
    lattice = getattr(UNITS, f"{quantity}_to_lattice")(value)
    np.testing.assert_allclose(getattr(UNITS, f"{quantity}_to_si")(lattice), value, rtol=EXACT)


@pytest.mark.parametrize(
    ("quantity", "length_power", "time_power"),
    [("velocity", 1, -1), ("acceleration", 1, -2), ("viscosity", 2, -1), ("flow_rate", 3, -1)],
)
def test_one_lattice_unit_has_the_dimension_of_its_quantity(quantity, length_power, time_power):
    expected = UNITS.spacing_m**length_power * UNITS.time_step_s**time_power
    assert getattr(UNITS, f"{quantity}_to_lattice")(expected) == pytest.approx(1.0, rel=EXACT)


def test_pressure_is_density_times_squared_speed_of_sound():
    """p - p_ref = c_s^2 (rho - rho_ref), with c_s and rho in SI."""
    sound_m_s = math.sqrt(CS2) * UNITS.speed_m_s
    assert UNITS.density_to_pressure(1.0, CS2) == 0.0
    assert UNITS.density_to_pressure(1.01, CS2) == pytest.approx(sound_m_s**2 * 0.01 * 1050.0, rel=1e-10)


def test_pressure_to_density_inverts_density_to_pressure():
    assert UNITS.pressure_to_density(UNITS.density_to_pressure(1.02, CS2), CS2) == pytest.approx(1.02, rel=EXACT)


@given(st.floats(1e-7, 1e-2), st.floats(1e-9, 1e-1), st.floats(1e-3, 10.0))
def test_reynolds_number_is_the_same_in_both_systems(spacing_m, time_step_s, velocity_m_s):
    units = Units(spacing_m, time_step_s, 1000.0)
    lattice = units.velocity_to_lattice(velocity_m_s) * 20.0 / units.viscosity_to_lattice(1e-6)
    assert lattice == pytest.approx(velocity_m_s * 20.0 * spacing_m / 1e-6, rel=EXACT)


def test_time_goes_to_the_nearest_whole_step_and_steps_take_their_time():
    assert UNITS.time_to_steps(1.01e-3) == 20
    assert UNITS.steps_to_time(20) == pytest.approx(1e-3, rel=EXACT)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["spacing_m", "time_step_s", "density_kg_m3"])
def test_units_refuse_a_size_that_is_not_positive_and_finite(name, value):
    sizes = {"spacing_m": 1.0, "time_step_s": 1.0, "density_kg_m3": 1.0, name: value}
    with pytest.raises(ValueError, match=name):
        Units(**sizes)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 s"),
        (0.2, "1 s"),
        (59.5, "1 min 0 s"),
        (1000.0, "16 min 40 s"),
        (9000.0, "2 h 30 min"),
        (1e5, "1 day 3 h"),
        (2e8, "2,314 days 19 h"),
    ],
)
def test_a_time_in_words_has_its_two_largest_units(seconds, words):
    assert time_in_words(seconds) == words
