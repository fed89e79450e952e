"""The simulation of users: it runs, is changed, saved and asked in SI units, and no bit depends on how it is asked."""

import os
import signal
import threading
from contextlib import nullcontext

import numpy as np
import pytest

from muphy_lb import Case, DivergedError, InputError, Simulation
from muphy_lb.measure.monitor import Monitor, Request
from muphy_lb.run.solver import Solver
from tests.channel import OPEN, PERIODIC, changed, open_channel, periodic_channel, simulate
from tests.vessel import command

WATCHED = {"steady_watch": ["flow_rates"], "steady_interval_steps": 20}


@pytest.fixture
def channel():
    with Simulation(OPEN) as simulation:
        yield simulation


def state(simulation):
    """The populations of a user's simulation."""
    return simulation.core.engine.populations()


def populations_after(n_steps):
    """Those of the channel with openings, advanced by the solver alone."""
    return simulate(open_channel(), n_steps).engine.populations()


@pytest.mark.parametrize("case", [OPEN, open_channel(), Case(**OPEN)], ids=["tables", "case", "built in Python"])
def test_tables_and_cases_are_taken(case):
    with Simulation(case) as simulation:
        assert simulation.n_nodes == 48


def test_a_case_file_is_taken_with_changes(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(open_channel().to_toml())
    with Simulation.from_case(path, ["run.steps=7"]) as simulation:
        assert simulation.run().step_number == 7


def test_a_case_that_is_built_in_python_tells_all_that_is_wrong_with_it():
    with pytest.raises(InputError, match=r"(?s)the case has 3 problems:.*fluid.density_kg_m3 is -1.*run is missing"):
        tables = changed(PERIODIC, fluid={"density_kg_m3": -1.0}, lattice={"name": "D3Q20"})
        Case(**{name: table for name, table in tables.items() if name != "run"})


def test_runs_in_parts_have_the_bits_of_one_run(channel):
    channel.every(7, lambda sim: sim.fields)
    channel.step(3)
    channel.run(steps=10)
    channel.run_for(12 * channel.units.time_step_s)
    channel.run()
    assert np.array_equal(state(channel), populations_after(40))


def test_a_time_is_covered_by_whole_steps(channel):
    assert channel.run(time_s=0.105).step_number == 11


def test_a_run_until_steady_says_that_it_is():
    with Simulation(changed(OPEN, run=WATCHED)) as simulation:
        outcome = simulation.run_until_steady(1e-3, steps=4000)
        assert outcome.is_steady and outcome.ended == "steady" and outcome.is_sound
        assert simulation.openings["outlet"].flow_rate_m3_s == pytest.approx(
            simulation.openings["inlet"].flow_rate_m3_s, rel=1e-2
        )


def test_a_run_that_does_not_become_steady_says_so():
    with Simulation(changed(OPEN, run=WATCHED)) as simulation:
        outcome = simulation.run_until_steady(1e-6, steps=60)
        assert outcome.is_steady is False and not outcome.is_sound
        assert "NOT steady" in outcome.objections[0]


def test_the_steadiness_of_a_case_ends_its_run():
    with Simulation(changed(OPEN, run=WATCHED | {"steady_tolerance": 1e-2, "steps": 4000})) as simulation:
        assert simulation.run().ended == "steady"


def test_a_slow_flow_is_as_steady_as_a_fast_one():
    """Speeds that were summed in whole units of 1e-17 ended a run with 0.84 of its flow, and called it steady."""
    told = []
    for force in (1e-8, 1e-16):
        case = {
            "geometry": {"shape": "channel", "spacing_m": 1.0, "options": {"height": 10, "length": 4}},
            "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 1.0 / 6.0},
            "flow": {"acceleration_m_s2": [force, 0.0, 0.0]},
            "lattice": {"name": "D2Q9", "time_step_s": 1.0, "collision": "trt", "equilibrium": "stokes"},
            "compute": {"backend": "cpu", "precision": "fp64"},
            "run": {"steps": 2000, "steady_tolerance": 1e-3, "steady_interval_steps": 10},
        }
        with Simulation(case) as simulation:
            assert simulation.run().ended == "steady"
            told.append((simulation.step_number, simulation.health.mean_velocity_m_s / force))
    assert told[0][0] == told[1][0] and told[0][1] == pytest.approx(told[1][1], rel=1e-4)


def test_functions_are_called_after_every_so_many_steps(channel):
    steps = []

    @channel.every(8)
    def note(sim):
        steps.append(sim.step_number)

    channel.run(steps=20)
    channel.step(4)
    channel.forget(note)
    channel.run()
    assert steps == [8, 16, 24]


def test_a_function_may_stop_a_run(channel):
    channel.every(6, lambda sim: sim.step_number >= 12 and sim.stop())
    assert channel.run().ended == "stopped" and channel.step_number == 12
    channel.callbacks.clear()
    assert channel.run().step_number == 40


@pytest.mark.parametrize("call", ["step", "run", "run into a folder"])
def test_a_function_that_comes_on_the_way_is_called_from_the_next_step_on(channel, tmp_path, call):
    called = []

    @channel.every(6)
    def add(simulation):
        simulation.forget(add)
        simulation.every(3, lambda simulation: called.append(simulation.step_number))

    if call == "step":
        channel.step(14)
    else:
        channel.run(steps=14, folder=tmp_path / "out" if call == "run into a folder" else None)
    assert called == [9, 12]


def test_a_function_may_stop_a_run_and_be_forgotten_at_once(channel):
    @channel.every(6)
    def stop(simulation):
        simulation.forget(stop)
        simulation.stop()

    assert channel.run().step_number == 6


@pytest.mark.parametrize(
    "advance", [lambda sim: sim.step(1), lambda sim: sim.run(steps=2), Simulation.run_until_steady]
)
def test_a_function_cannot_advance_the_flow_that_is_advanced(channel, advance):
    channel.every(5, advance)
    with pytest.raises(InputError, match=r"being advanced; a function of every\(\) cannot"):
        channel.step(10)
    assert channel.step_number == 5
    channel.callbacks.clear()
    channel.step(10)
    assert channel.step_number == 15


@pytest.mark.parametrize(
    ("n_steps", "function", "words"),
    [
        (0, print, "must be 1 or more"),
        (1.5, print, "^every: the number of steps is 1.5"),
        (2, "print", "'print'; give"),
    ],
)
def test_a_function_of_no_steps_and_what_is_no_function_are_refused(channel, n_steps, function, words):
    with pytest.raises(InputError, match=words):
        channel.every(n_steps, function)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"steps": 1.5}, "^run: the number of steps is 1.5"),
        ({"time_s": -1.0}, "^run: the time is -1.0"),
        ({"time_s": 1.0, "steps": 3}, "give one of them"),
    ],
)
def test_a_run_of_no_length_or_of_two_is_refused_by_its_name(channel, options, words):
    with pytest.raises(InputError, match=words):
        channel.run(**options)


def test_a_step_raises_when_the_flow_diverges():
    fast = changed(PERIODIC, flow={"acceleration_m_s2": [100.0, 0.0, 0.0]}, run={"check_interval_steps": 1000})
    with Simulation(fast) as simulation, pytest.raises(DivergedError, match="diverged|unstable|Mach"):
        simulation.step(20)


@pytest.mark.parametrize("is_written", [False, True])
def test_ctrl_c_is_raised_after_a_whole_step_and_leaves_a_checkpoint(channel, tmp_path, is_written):
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    channel.every(10, lambda sim: os.kill(os.getpid(), signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            channel.run(folder=tmp_path / "out" if is_written else None)
    finally:
        signal.signal(signal.SIGINT, before)
    assert channel.step_number in (10, 20)
    with Simulation.load(tmp_path / "out") if is_written else nullcontext(channel) as found:
        assert np.array_equal(state(found), populations_after(found.step_number))


def test_a_run_in_another_thread_leaves_signals_alone(channel):
    thread = threading.Thread(target=channel.run)
    thread.start()
    thread.join()
    assert channel.step_number == 40


def test_a_progress_bar_is_shown_where_it_is_asked_for(capsys):
    with Simulation(OPEN, progress=True) as simulation:
        simulation.run()
    assert "40/40" in capsys.readouterr().out


def test_nothing_is_left_to_run_is_told_and_no_bar_is_shown_in_a_log(channel, capsys):
    channel.run()
    assert capsys.readouterr().out == ""
    with pytest.raises(InputError, match=r"all 40 steps of the case are made; .*run\(steps=40\)"):
        channel.run()


@pytest.mark.parametrize("changes", [{"openings.inlet.velocity_m_s": 2e-3}, {"fluid.density_kg_m3": 1000.0}])
def test_a_change_to_the_same_value_changes_no_bit(channel, changes):
    channel.step(13)
    channel.change(changes)
    channel.step(27)
    assert np.array_equal(state(channel), populations_after(40))


def test_a_new_engine_goes_on_with_the_bits_of_the_old_one(channel):
    channel.step(13)
    core = channel.core
    channel.change({"flow.acceleration_m_s2": [1e-9, 0.0, 0.0]})
    assert channel.core is not core
    assert np.array_equal(state(channel), core.engine.populations())
    channel.change({"flow.acceleration_m_s2": [0.0, 0.0, 0.0]})
    channel.step(27)
    assert np.array_equal(state(channel), populations_after(40))


@pytest.mark.parametrize("velocity_m_s", [3e-3, 0.0])
def test_an_inlet_that_is_changed_has_its_new_flow_rate_at_the_next_step(channel, velocity_m_s):
    channel.step(20)
    core = channel.core
    channel.change({"openings.inlet.velocity_m_s": velocity_m_s})
    channel.step(1)
    inlet = channel.openings["inlet"]
    assert channel.core is core
    assert inlet.flow_rate_m3_s == pytest.approx(velocity_m_s * inlet.area_m2, rel=1e-9, abs=1e-20)
    assert channel.case.openings[0].velocity_m_s == velocity_m_s


@pytest.mark.parametrize("streaming", ["pull", "aa", "push"])
def test_openings_tell_of_the_step_that_was_made_until_the_next_one_after_a_change(streaming):
    with Simulation(changed(OPEN, compute={**OPEN["compute"], "streaming": streaming})) as simulation:
        simulation.step(20)
        before, core = dict(simulation.openings), simulation.core
        simulation.change({"openings.inlet.velocity_m_s": 3e-3, "fluid.kinematic_viscosity_m2_s": 2e-6})
        assert simulation.core is not core
        assert dict(simulation.openings) == before
        simulation.step(1)
        inlet = simulation.openings["inlet"]
        assert inlet.flow_rate_m3_s == pytest.approx(3e-3 * inlet.area_m2, rel=1e-6)


def test_openings_of_a_flow_that_is_set_after_a_change_are_those_of_that_flow(channel):
    """A pressure p above that of the outlet drives p / (rho dx / dt), 1e-3 m/s, through it at once."""
    channel.step(20)
    channel.change({"fluid.kinematic_viscosity_m2_s": 2e-6})
    before = channel.openings["outlet"]
    channel.set_pressure_pa(0.1)
    faster = (channel.openings["outlet"].flow_rate_m3_s - before.flow_rate_m3_s) / before.area_m2
    assert faster == pytest.approx(1e-3, rel=0.02)


def test_a_pulsating_profile_keeps_its_shape_when_its_flow_changes():
    inlet = {"velocity_m_s": 2e-3, "profile": "womersley", "waveform": {"period_s": 1.0, "mean": 1.0, "sine": [0.5]}}
    table, rates = changed(OPEN, openings=[{"name": "inlet", **inlet}, OPEN["openings"][1]]), []
    for velocity_m_s in (2e-3, 3e-3):
        with Simulation(table) as simulation:
            simulation.step(20)
            simulation.change({"openings.inlet.velocity_m_s": velocity_m_s})
            simulation.step(5)
            rates.append(simulation.openings["inlet"].flow_rate_m3_s)
    assert rates[0] > 0.0 and rates[1] == pytest.approx(1.5 * rates[0], rel=1e-9)


class _Watcher(Monitor):
    """Looks at every fifth step, and asks for the end at step 20."""

    def __init__(self, core):
        self.core, self.seen, self.next_step = core, [], 5

    def look(self, status):
        self.seen.append((self.core.step_number, status.last_step))
        self.next_step = self.core.step_number + 5
        return Request(stop=self.core.step_number == 20)


def test_whoever_looks_on_sees_the_steps_and_may_end_the_run(channel):
    channel.core.monitor = watcher = _Watcher(channel.core)
    channel.step(7)
    outcome = channel.run()
    assert watcher.seen == [(5, 7), (10, 40), (15, 40), (20, 40)]
    assert outcome.step_number == 20 and outcome.ended != "completed"


def test_steps_after_a_run_that_was_stopped_are_all_made(channel):
    channel.every(5, lambda simulation: simulation.stop())
    assert channel.run().step_number == 5
    channel.forget(channel.callbacks[0].function)
    channel.every(2, lambda simulation: None)
    channel.step(11)
    assert channel.step_number == 16


def test_a_function_that_is_forgotten_on_the_way_is_called_no_more(channel):
    called = []

    def once(simulation):
        called.append(simulation.step_number)
        simulation.forget(once)

    channel.every(5, once)
    channel.step(20)
    assert called == [5]


@pytest.mark.parametrize("tolerance", ["much", float("nan"), 0.0])
def test_a_tolerance_that_is_no_number_above_zero_is_refused(channel, tolerance):
    with pytest.raises(InputError, match=f"steady_tolerance is '?{tolerance}"):
        channel.run_until_steady(tolerance)


def test_a_view_ends_with_the_next_one_and_with_the_simulation():
    pytest.importorskip("bokeh", reason="bokeh is not installed; pip install 'muphy_lb[view]'")
    with Simulation(OPEN) as simulation:
        first = simulation.view()
        second = simulation.view()
        assert first._page._process.poll() is not None and second._page._process.poll() is None
        assert second.url in str(second) and f'src="{second.url}"' in second._repr_html_()
    assert second._page._process.poll() is not None


def test_the_pressure_behind_an_outlet_that_lets_sound_out_is_the_changed_one():
    outlet = OPEN["openings"][1] | {"non_reflecting": True}
    table, found = changed(OPEN, openings=[OPEN["openings"][0], outlet]), []
    for pressure_pa in (0.0, 0.01):
        with Simulation(table) as simulation:
            simulation.step(200)
            simulation.change({"openings.outlet.pressure_pa": pressure_pa})
            simulation.step(600)
            found.append(simulation.openings["outlet"].mean_pressure_pa)
    assert found[1] - found[0] == pytest.approx(0.01, rel=0.02)


def test_a_force_that_is_changed_drives_the_flow():
    with Simulation(changed(PERIODIC, flow={"acceleration_m_s2": [1e-3, 0.0, 0.0]})) as simulation:
        simulation.step(20)
        slow = simulation.health.max_velocity_m_s
        simulation.change({"flow.acceleration_m_s2": [2e-3, 0.0, 0.0]})
        simulation.step(1)
        gained = simulation.health.max_velocity_m_s - slow
        assert 1e-5 < gained < 2.5e-5  # a step of 0.01 s of 2e-3 m/s2, less what walls take away


def test_the_time_step_stays_when_the_viscosity_changes():
    tau = changed(OPEN, lattice={"time_step_s": None, "relaxation_time": 0.8})
    with Simulation(tau) as simulation:
        time_step_s = simulation.units.time_step_s
        simulation.change({"fluid.kinematic_viscosity_m2_s": 2e-5})
        assert simulation.units.time_step_s == pytest.approx(time_step_s, rel=1e-12)
        assert simulation.core.numerics.relaxation_time == pytest.approx(1.1, rel=1e-9)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"geometry.spacing_m": 2e-3}, "geometry.spacing_m cannot change"),
        ({"lattice.time_step_s": 1e-3}, "lattice.time_step_s cannot change"),
        ({"opening.inlet.velocity_m_s": 1.0}, "did you mean 'openings'"),
        ({"openings.inlet.velocity_m_s": 5.0}, "voxels per time step"),
        ({"openings.inlet.velocity": 1e-3}, "did you mean 'velocity_m_s'"),
        ({"openings.inlet.velocity_m_s": object()}, "give a number"),
    ],
)
def test_what_cannot_change_is_refused_and_the_flow_goes_on(channel, changes, words):
    channel.step(5)
    with pytest.raises(InputError, match=words):
        channel.change(changes)
    channel.step(35)
    assert np.array_equal(state(channel), populations_after(40))


def test_the_density_beside_an_outlet_that_answers_cannot_change():
    outlet = {"name": "outlet", "windkessel": {"resistance_pa_s_m3": 1e5}}
    with Simulation(changed(OPEN, openings=[OPEN["openings"][0], outlet])) as simulation:
        simulation.step(5)
        before = state(simulation)
        with pytest.raises(InputError, match=r"density_kg_m3 cannot change from 1000 to 1060 while openings\.outlet"):
            simulation.change({"fluid.density_kg_m3": 1060.0})
        assert np.array_equal(state(simulation), before)
        simulation.change({"openings.outlet.windkessel.resistance_pa_s_m3": 2e5})


def test_a_saved_simulation_is_loaded_bit_for_bit(channel, tmp_path):
    channel.run(steps=17)
    channel.save(tmp_path / "saved")
    with Simulation.load(tmp_path / "saved") as loaded:
        assert loaded.step_number == 17
        loaded.run()
        assert np.array_equal(state(loaded), populations_after(40))


def test_it_saves_into_its_own_folder_alone_and_no_run_is_written_over(channel, tmp_path):
    channel.save(tmp_path / "saved")
    channel.step(3)
    channel.save(tmp_path / "saved")
    assert [path.name for path in (tmp_path / "saved/checkpoints").iterdir()] == ["step_000000000003.h5"]
    with Simulation(OPEN) as other, pytest.raises(InputError, match="folder of another run.*overwrite=True"):
        other.save(tmp_path / "saved")
    with pytest.raises(InputError, match="holds checkpoints of an earlier run"):
        channel.run(folder=tmp_path / "saved")


def test_the_command_line_goes_on_from_a_saved_array(tmp_path):
    box = np.zeros((1, 8, 8), dtype=bool)
    box[:, [0, -1]] = True
    table = changed(PERIODIC, geometry={"periodic": ["x", "z"]}, walls=[], flow={"acceleration_m_s2": [1e-3, 0.0, 0.0]})
    table["geometry"] = {"periodic": ["x", "z"], "spacing_m": 1e-3}
    with Simulation(table, geometry=box, fluid_value=False) as simulation:
        simulation.run(steps=10)
        simulation.save(tmp_path / "saved")
        simulation.run()
        whole = simulation.core.engine.populations()
    assert command("resume", tmp_path / "saved") == 0
    with Simulation.load(tmp_path / "saved") as resumed:  # the field file of the finished run
        assert resumed.step_number in (10, 40)
        resumed.step(40 - resumed.step_number)
        assert np.allclose(state(resumed), whole, atol=1e-7)


def test_a_finished_run_is_loaded_from_its_fields(tmp_path):
    case = changed(OPEN, output={"vtk": True})
    with Simulation(case) as simulation:
        outcome = simulation.run(folder=tmp_path / "out")
        velocity = simulation.velocity_m_s()
    assert outcome.step_number == 40 and (tmp_path / "out/report.html").exists()
    for checkpoint in (tmp_path / "out").glob("checkpoints/*.h5"):
        checkpoint.unlink()
    with Simulation.load(tmp_path / "out") as loaded:
        assert loaded.step_number == 40
        assert np.allclose(loaded.velocity_m_s(), velocity, atol=1e-8)


def test_a_run_into_a_folder_has_the_bits_of_one_in_memory(channel, tmp_path):
    called = []
    channel.every(20, lambda sim: called.append(sim.step_number))
    channel.run(folder=tmp_path / "out")
    assert np.array_equal(state(channel), populations_after(40))
    assert called == [20, 40]


def test_a_folder_without_a_state_is_not_loaded(tmp_path):
    with pytest.raises(InputError, match=r"has no case.toml"):
        Simulation.load(tmp_path)


def test_a_closed_simulation_has_given_back_its_arrays_and_answers_no_more(channel):
    backend = channel.core.engine.backend
    assert backend.allocated_bytes > 0
    channel.wall_shear()
    channel.close()
    assert backend.allocated_bytes == 0
    channel.close()
    assert repr(channel) == "Simulation(closed)"
    with pytest.raises(InputError, match="is closed"):
        channel.step(1)


def test_methods_of_a_physics_are_those_of_the_simulation(channel):
    with pytest.raises(AttributeError, match="has no attribute 'nothing_m_s'"):
        channel.nothing_m_s()


def test_the_solver_below_is_there_for_those_who_want_it(channel):
    assert isinstance(channel.core, Solver)
    assert simulate(periodic_channel()).header.n_nodes == channel.n_nodes
