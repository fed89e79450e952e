"""All that the next step follows from is in a checkpoint: conditions that answer the flow, particles, sums."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

import muphy_lb.run.preparation as preparation
from muphy_lb.base.files.sealed import seal
from muphy_lb.boundaries.opening_geometry import Condition
from muphy_lb.operators import PRESSURE
from muphy_lb.output.series import read_series
from muphy_lb.run.checkpoint import KIND, VERSION, checkpoint_path, newest, restore, write_checkpoint
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.laws import test_toy_outlet as toy_outlet
from tests.vessel import vessel

OFTEN = {"checkpoint_every_steps": 20}
WAVE = {"waveform": {"period_s": 0.03, "mean": 1.0, "sine": [0.5]}}
PULSATILE = [
    {"name": "inlet", "velocity_m_s": 0.02, **WAVE},
    {"name": "outlet_1", "pressure_pa": 0.0},
    {"name": "outlet_2", "pressure_pa": 0.0},
]


def run(folder, n_steps, resume=False, **sections):
    """The simulation of a run."""
    case = vessel(run={"steps": n_steps}, output=OFTEN, compute={"backend": "numpy"}, **sections)
    simulation = Solver(case)
    Run(simulation, folder, resume=resume).execute()
    return simulation


def populations(simulation):
    """(Q, n)."""
    return np.array(list(simulation.populations()))


@pytest.fixture
def answering_outlet(monkeypatch):
    """The second opening is the toy outlet, whose state is a pressure of 100 Pa a lattice unit."""
    made = preparation.opening_conditions
    outlet = Condition(PRESSURE, 0.0, feedback=replace(toy_outlet.OUTLET, names=("pressure_pa",), units=(100.0,)))

    def conditions(*arguments):
        first, _, *others = made(*arguments)
        return (first, outlet, *others)

    monkeypatch.setattr(preparation, "opening_conditions", conditions)


def test_an_outlet_that_answers_goes_on_with_its_state(tmp_path, answering_outlet):
    whole = run(tmp_path / "whole", 60)
    run(tmp_path / "parts", 40)
    resumed = run(tmp_path / "parts", 60, resume=True)
    assert np.array_equal(populations(whole), populations(resumed))
    assert whole.engine.feedback.record() == resumed.engine.feedback.record()
    files = [(tmp_path / name / "openings.csv").read_text() for name in ("whole", "parts")]
    assert files[0] == files[1]


@pytest.mark.parametrize("streaming", ["pull", "push", "aa"])
def test_the_flow_through_openings_is_known_right_after_a_resume(tmp_path, streaming):
    """An outlet updated in every step measures it ahead of the first one."""
    outlet = {"resistance_pa_s_m3": 1e6, "compliance_m3_pa": 1e-7, "every_steps": 1}
    given = {"openings": [PULSATILE[0], {"name": "outlet_1", "windkessel": outlet}, PULSATILE[2]]}
    given["compute"] = {"backend": "numpy", "streaming": streaming}
    first = Solver(vessel(**given))
    first.step(40)
    write_checkpoint(checkpoint_path(tmp_path, 40), first, {})
    second = Solver(vessel(**given))
    restore(tmp_path, second)
    assert first.openings() == second.openings()
    for simulation in (first, second):
        simulation.step(5)
    assert np.array_equal(populations(first), populations(second))
    assert first.engine.feedback.record() == second.engine.feedback.record()


def test_the_state_of_an_outlet_that_answers_is_a_column(tmp_path, answering_outlet):
    simulation = run(tmp_path, 60)
    column = read_series(tmp_path / "openings.csv")["outlet_1_pressure_pa"]
    (state, _) = simulation.engine.feedback.record()["1"]
    assert column[-1] == 100.0 * state and np.ptp(column) > 0.0
    opening = simulation.openings()["outlet_1"]
    assert opening.feedback == {"pressure_pa": 100.0 * state} and simulation.openings()["inlet"].feedback == {}


@pytest.mark.parametrize("change", [lambda ids: ids[:-7], lambda ids: ids.astype(np.int16)])
def test_particles_of_another_number_or_type_are_not_gone_on_from(tmp_path, caplog, change):
    simulation = run(tmp_path, 40, particles=[{"name": "tracers", "kind": "tracers", "count": 50}])
    last = newest(tmp_path / "checkpoints").path
    with h5py.File(last, "r+") as file:
        ids = file["particles/tracers/id"][...]
        del file["particles/tracers/id"]
        file["particles/tracers/id"] = change(ids)
    seal(last, KIND, VERSION)
    assert restore(tmp_path / "checkpoints", simulation).step == 20
    assert "'particles/tracers" in caplog.text and "is skipped" in caplog.text


def pulsatile(n_steps):
    """A simulation whose wall shear stress is averaged over its last period."""
    output = OFTEN | {"wall_shear": True}
    return Solver(vessel(run={"steps": n_steps}, output=output, compute={"backend": "numpy"}, openings=PULSATILE))


def shear(folder, n_steps, resume=False):
    """The record of the wall shear stress of a run."""
    _, summary = Run(pulsatile(n_steps), folder, resume=resume).execute()
    return summary["wall_shear"]


def test_the_average_over_a_period_is_that_of_an_undisturbed_run(tmp_path):
    whole = shear(tmp_path / "whole", 60)
    (tmp_path / "interrupted").mkdir()
    stopped = pulsatile(60)
    interrupt_at(stopped, 40, Run(stopped, tmp_path / "interrupted"))
    assert shear(tmp_path / "interrupted", 60, resume=True) == whole and whole["samples"] > 10


def test_a_run_that_is_given_more_steps_averages_over_its_new_last_period_alone(tmp_path):
    shear(tmp_path / "parts", 40)
    assert shear(tmp_path / "parts", 80, resume=True) == shear(tmp_path / "whole", 80)


def interrupt_at(simulation, step, run):
    """Begin a run and end it as a kill would, behind the checkpoint of a step."""

    class Killed(Exception):
        pass

    advance = simulation.advance

    def advance_or_die(*arguments):
        if simulation.step_number >= step:
            raise Killed
        return advance(*arguments)

    simulation.advance = advance_or_die
    with pytest.raises(Killed):
        run.execute()
