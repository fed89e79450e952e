"""A pressure behind outlets that is to change the lattice density too much is refused, with what would do."""

import re

import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import CS2, Units
from muphy_lb.run.description import describe_case
from tests.channel import DENSITY_KG_M3, HEIGHT, SPACING_M, TIME_STEP_S, open_channel, simulate
from tests.vessel import TABLE, vessel

SPEED_M_S = 2e-3
FLOW_M3_S = SPEED_M_S * HEIGHT * SPACING_M**2
ALLOWED_PA = 0.02 * Units(SPACING_M, TIME_STEP_S, DENSITY_KG_M3).pascals_per_density(CS2)
INLET = {"name": "inlet", "velocity_m_s": SPEED_M_S}


def refusal(pressure_pa, **inlet):
    """The message on a channel behind whose outlet the mean pressure is to become this one."""
    outlet = {"name": "outlet", "windkessel": {"resistance_pa_s_m3": pressure_pa / FLOW_M3_S}}
    with pytest.raises(InputError, match="the pressure behind the outlets would go from") as caught:
        simulate(open_channel(openings=[INLET | inlet, outlet]))
    return str(caught.value)


def test_a_pressure_too_high_is_refused_with_the_reference_pressure_or_the_time_step_that_would_do():
    """The change of the density goes with the square of the time step: a fourth of it takes half of that, less 1 %."""
    text, level = refusal(4.0 * ALLOWED_PA), f"{4.0 * ALLOWED_PA:.4g}"
    assert f"from {level} to {level} Pa, which changes the lattice density by +8 %; at most 2 % is allowed" in text
    assert f"set flow.reference_pressure_pa = {level} (it is 0), or lattice.time_step_s = 0.00495" in text


def test_a_pressure_that_swings_too_far_needs_both():
    text = refusal(ALLOWED_PA, waveform={"period_s": 1.0, "sine": [4.0]})
    level = f"{ALLOWED_PA:.4g}"
    assert f"set flow.reference_pressure_pa = {level} (it is 0) and lattice.time_step_s = 0.00495" in text


def test_nothing_is_expected_of_outlets_beside_an_opening_of_given_pressure():
    """Through that the flow may leave as well."""
    outlets = [{"name": "outlet_1", "windkessel": {"resistance_pa_s_m3": 1e12}}, TABLE["openings"][2]]
    assert simulate(vessel(openings=[TABLE["openings"][0], *outlets])).step_number == 0


def told(initial_pa):
    """What is told of a channel that beats before a compliance that it takes many beats to fill."""
    tau_s, resistance = 5.0, ALLOWED_PA / 2.0 / FLOW_M3_S
    network = {"resistance_pa_s_m3": resistance, "compliance_m3_pa": tau_s / resistance}
    inlet = INLET | {"waveform": {"period_s": 1.0, "sine": [2.0]}}
    outlet = {"name": "outlet", "windkessel": network | {"initial_pressure_pa": initial_pa}}
    return describe_case(open_channel(openings=[inlet, outlet]))


def test_the_pressure_from_which_a_flow_repeats_itself_at_once_is_told_and_is_right():
    text = told(0.0)
    (start_pa,) = re.findall(r"initial_pressure_pa = (\S+) \(outlet\) repeats itself sooner", text)
    (repeats_s,) = re.findall(r"repeating after (\S+) s", text)
    assert float(repeats_s) > 5.0 and float(start_pa) < 0.5 * ALLOWED_PA
    text = told(float(start_pa))
    assert "repeating after 1 s" in text and "sooner" not in text
