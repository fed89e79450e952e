"""Pulsating flows in Python: they end when they are periodic, are stopped, and continue after changes of their case."""

import numpy as np
import pytest

from muphy_lb import InputError, Simulation
from tests.channel import OPEN, changed

PERIOD_STEPS, PERIOD_S = 40, 0.4
WAVE = {"period_s": PERIOD_S, "mean": 1.0, "sine": [0.5]}
INLET = {"name": "inlet", "velocity_m_s": 2e-3, "waveform": WAVE}
WINDKESSEL = {"resistance_pa_s_m3": 1e6, "compliance_m3_pa": 1e-6}


def beating(n_steps=600, tolerance=1e-2, outlet=None, **sections):
    """A channel of 40 steps a beat as tables."""
    openings = [INLET, outlet or OPEN["openings"][1]]
    run = {"steps": n_steps, "periodic_tolerance": tolerance}
    return changed(OPEN, openings=openings, run=run, **sections)


def test_a_run_in_memory_ends_at_the_step_of_one_into_a_folder(tmp_path):
    ends = []
    for folder in (None, tmp_path / "out"):
        with Simulation(beating()) as simulation:
            outcome = simulation.run(folder=folder)
            assert outcome.ended == "periodic" and outcome.is_steady
            ends.append(outcome.step_number)
    assert ends[0] == ends[1] < 600


def test_a_flow_that_was_stepped_before_is_compared_from_its_second_whole_beat_on(tmp_path):
    with Simulation(beating(tolerance=0.1)) as simulation:
        simulation.step(10 * PERIOD_STEPS + 5)
        assert simulation.run(folder=tmp_path / "out").step_number == 13 * PERIOD_STEPS


def test_other_beats_are_not_compared_with_those_before():
    slower = PERIOD_STEPS * 3 // 2
    with Simulation(beating(n_steps=900, tolerance=0.1)) as simulation:
        simulation.step(5)
        simulation.every(75, lambda sim: sim.change({"openings.inlet.waveform.period_s": 1.5 * PERIOD_S}))
        outcome = simulation.run()
    assert outcome.ended == "periodic" and outcome.step_number % slower == 0 and outcome.step_number >= 4 * slower


@pytest.mark.parametrize("is_written", [False, True])
def test_a_callback_ends_a_run_after_its_own_step(is_written, tmp_path):
    seen = []
    with Simulation(beating()) as simulation:

        @simulation.every(15)
        def stop(sim):
            seen.append(sim.step_number)
            sim.stop()

        outcome = simulation.run(folder=tmp_path / "out" if is_written else None)
    assert seen == [15] and outcome.step_number == 15 and outcome.ended == "stopped"


def test_a_steady_state_of_a_case_that_asks_for_a_periodic_one_is_refused():
    with (
        Simulation(beating()) as simulation,
        pytest.raises(InputError, match=r"a pulsating flow is never steady; call run"),
    ):
        simulation.run_until_steady()


def test_the_period_stays_during_a_run_into_a_folder(tmp_path):
    with Simulation(beating()) as simulation:
        simulation.every(20, lambda sim: sim.change({"openings.inlet.waveform.period_s": 0.5}))
        with pytest.raises(InputError, match="as long as the period of the flow stays and no profile is 'womersley'"):
            simulation.run(folder=tmp_path / "out")


def test_a_physics_that_is_taken_out_leaves_the_flow_as_it_is():
    with Simulation(beating(age={}, dissipation={})) as simulation:
        simulation.step(20)
        before = simulation.core.engine.populations()
        simulation.change({"age": None})
        simulation.change({"dissipation": None})
        assert np.array_equal(simulation.core.engine.populations(), before)


def test_an_outlet_of_another_kind_begins_with_a_state_of_its_own():
    bed = {f"{name}_resistance_pa_s_m3": 1e6 for name in ("arterial", "microcirculatory", "venous")}
    bed |= {"arterial_compliance_m3_pa": 1e-6, "myocardial_compliance_m3_pa": 1e-6}
    with Simulation(beating(outlet={"name": "outlet", "windkessel": WINDKESSEL})) as simulation:
        simulation.step(20)
        simulation.change({"openings.outlet.windkessel": None, "openings.outlet.coronary": bed})
        (record,) = simulation.core.engine.feedback.record().values()
        simulation.step(5)
        assert not any(record[:4]) and simulation.health.max_velocity_m_s < 1e-2


def test_the_reference_of_all_pressures_does_not_change():
    with Simulation(OPEN) as simulation, pytest.raises(InputError, match="reference_pressure_pa cannot change"):
        simulation.change({"flow.reference_pressure_pa": 100.0})
