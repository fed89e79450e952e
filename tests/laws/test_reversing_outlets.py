"""An outlet whose flow reverses in every period stays stable; what crosses openings is what the mass changes by."""

import numpy as np
import pytest

from tests.channel import open_channel, simulate

PERIOD, N_PERIODS = 40, 12
BED = {"characteristic_resistance_pa_s_m3": 1e6, "resistance_pa_s_m3": 1e7, "compliance_m3_pa": 4e-8, "every_steps": 1}
OUTLETS = {
    "pressure": {"pressure_pa": 0.0},
    "non-reflecting": {"pressure_pa": 0.0, "non_reflecting": True},
    "windkessel": {"windkessel": BED},
}


def swinging(outlet, streaming):
    """A channel whose inlet, of given velocity, swings about zero."""
    wave = {"period_s": PERIOD * 1e-2, "mean": 0.0, "sine": [1.0]}
    inlet = {"name": "inlet", "velocity_m_s": 2e-3, "profile": "parabolic", "waveform": wave}
    openings = [inlet, {"name": "outlet"} | OUTLETS[outlet]]
    return open_channel(openings=openings, lattice={"collision": "trt"}, compute={"streaming": streaming})


@pytest.fixture(scope="module", params=OUTLETS)
def crossed(request):
    """Mass after each step, and what entered and left in it [lattice units]; push measures what has just crossed."""
    simulation = simulate(swinging(request.param, "push"))
    rows = []
    for _ in range(N_PERIODS * PERIOD):
        simulation.advance(1)
        flows = (state.flow_rate_m3_s for state in simulation.openings().values())
        rows.append((simulation.density().sum(), *map(simulation.units.flow_rate_to_lattice, flows)))
    return np.array(rows).T


def test_all_that_crosses_the_openings_in_a_step_is_the_change_of_mass(crossed):
    mass, entered, left = crossed
    np.testing.assert_allclose(np.diff(mass), (entered - left)[1:], atol=1e-6 * np.abs(entered).max())


def test_an_outlet_that_reverses_in_every_period_stays_bounded(crossed):
    _, entered, left = crossed
    periods = left.reshape(N_PERIODS, PERIOD)
    assert (periods.min(axis=1) < 0.0).all() and (periods.max(axis=1) > 0.0).all()
    swing = np.ptp(periods, axis=1)
    assert swing[-1] < 1.02 * swing[2:6].max() and swing[-1] < 4.0 * np.ptp(entered)


@pytest.mark.parametrize("outlet", OUTLETS)
def test_streaming_does_not_matter_to_it(outlet):
    pull, in_place = (simulate(swinging(outlet, streaming), 3 * PERIOD) for streaming in ("pull", "aa"))
    np.testing.assert_allclose(in_place.velocity_m_s(), pull.velocity_m_s(), atol=1e-12)
