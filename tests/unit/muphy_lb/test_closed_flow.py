"""A case whose openings all impose a flow is refused where their sum would change the density of the fluid."""

import pytest

from muphy_lb.base.errors import InputError
from tests.channel import LENGTH, SPACING_M, open_channel, simulate
from tests.vessel import TABLE, vessel

SPEED_M_S, TIME_S = 2e-3, 0.8
INLET = {"name": "inlet", "velocity_m_s": SPEED_M_S}


def closed(outlet, **inlet):
    """The channel, through whose outlet fluid leaves with a velocity."""
    run = {"steps": None, "time_s": TIME_S}
    return open_channel(openings=[INLET | inlet, {"name": "outlet", **outlet}], run=run)


def test_flows_that_cancel_are_computed():
    assert simulate(closed({"velocity_m_s": -SPEED_M_S}), 2).step_number == 2


def test_an_inlet_alone_is_refused_with_the_change_of_the_density():
    """All fluid is as long as the channel: the density grows by way over length."""
    with pytest.raises(InputError, match=r"\(inlet, outlet\) impose a velocity or a flow rate") as caught:
        simulate(closed({"velocity_m_s": 0.0}))
    percent = 100.0 * SPEED_M_S * TIME_S / (LENGTH * SPACING_M)
    assert f"more enters than leaves, which would change the density by {percent:+.0f} %" in str(caught.value)
    assert "at most 10 % is allowed" in str(caught.value) and "pressure_pa" in str(caught.value)


def test_a_difference_within_a_period_is_refused_although_the_means_cancel():
    wave = {"period_s": 0.4, "sine": [5.0]}
    with pytest.raises(InputError, match=r"within a period of 0\.4 s what enters and what leaves differ at times"):
        simulate(closed({"velocity_m_s": -SPEED_M_S}, waveform=wave))
    assert simulate(closed({"velocity_m_s": -SPEED_M_S, "waveform": wave}, waveform=wave)).step_number == 0


def test_a_flow_rate_counts_as_a_velocity_does():
    openings = [{"name": name, "flow_rate_m3_s": 1e-6} for name in ("inlet", "outlet_1", "outlet_2")]
    with pytest.raises(InputError, match="more enters than leaves"):
        simulate(vessel(openings=openings, run={"steps": 100_000}))
    assert TABLE["openings"][1].keys() >= {"pressure_pa"}  # the vessel as it is has a pressure
