"""Beats of a flow that are stored and replayed: the scalars of the flow going on, on any ranks and after restarts."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.physics.scalar_series import OutletFluxes
from muphy_lb.run import changes
from muphy_lb.run.checkpoint import checkpoint_path, restore, write_checkpoint
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.channel import OPEN, changed, open_channel, simulate

PERIOD_S, FROZEN_S = 1.007, 8.0  # 100.7 steps a beat
WALTZ = {"period_s": 0.7 * PERIOD_S, "cosine": [0.1]}
REPLAYED = {"frozen_after_s": FROZEN_S, "replayed_instants": 32}


def beating(speed_m_s=2e-4, waveform=None, folder=".", **sections):
    """A channel with a pulsating inlet, whose age and whose species, which enters behind 700 steps, are told."""
    inlet = {"name": "inlet", "velocity_m_s": speed_m_s, "species_inflow": {"drug": 2.0}}
    inlet["waveform"] = waveform or {"period_s": PERIOD_S, "cosine": [0.6], "sine": [0.0, 0.3]}
    geometry = OPEN["geometry"] | {"options": OPEN["geometry"]["options"] | {"length": 12}}
    given = {
        "species": [{"name": "drug", "diffusivity_m2_s": 1e-6, "bolus": {"start_s": 7.0}}],
        "age": {"diffusivity_m2_s": 1e-6},
        "geometry": geometry,
        "openings": [inlet, OPEN["openings"][1]],
        "compute": {"backend": "cpu"},
        "run": {"steps": 5000, "ramp_steps": 50, "check_interval_steps": 10},
    }
    for name, keys in sections.items():
        given[name] = given[name] | keys if isinstance(given.get(name), dict) else keys
    return open_channel(folder, **given)


def scalars(simulation) -> np.ndarray:
    """Drug and age of all nodes on rank 0."""
    found = [simulation.field(name) for name in ("drug", "age")]
    return np.array([]) if found[0] is None else np.stack(found)


@pytest.mark.parametrize("n_instants", [32, 100])
def test_a_replay_carries_as_the_flow_going_on(n_instants):
    flowing = scalars(simulate(beating(), 1300))
    replayed = simulate(beating(run=REPLAYED | {"replayed_instants": n_instants}), 1300)
    error = np.abs(scalars(replayed) - flowing).max(axis=1) / flowing.max(axis=1)
    assert replayed.beat.difference < 8e-3
    assert error.max() < 1e-4


def test_compiled_code_computes_the_specification():
    specified, compiled = (
        scalars(simulate(beating(run=REPLAYED, compute={"backend": name}), 900)) for name in ("numpy", "cpu")
    )
    assert np.abs(compiled - specified).max() < 1e-13 * specified.max()


def test_longer_steps_of_a_replay_lead_to_the_same_values():
    slow = {"period_s": 4.0 * PERIOD_S, "cosine": [0.6]}
    run = {"frozen_after_s": 20.0, "replayed_instants": 32}
    short, long = (simulate(beating(waveform=slow, run=run | more), 3000) for more in ({}, {"frozen_step_s": 1.0}))
    assert (short.stride, long.stride) == (1, 8)
    error = np.abs(scalars(long) - scalars(short)).max(axis=1) / scalars(short).max(axis=1)
    assert error.max() < 0.01


@pytest.mark.parametrize("stopped_at", [863, 1350, 1409])
def test_a_restart_changes_no_bit(stopped_at, tmp_path):
    """Also in the beats that are stored, and in longer steps."""
    slow = {"period_s": 4.0 * PERIOD_S, "cosine": [0.6]}
    run = {"frozen_after_s": 14.0, "replayed_instants": 32, "frozen_step_s": 1.0}
    case = beating(waveform=slow, run=run)
    simulation = simulate(case, stopped_at)
    write_checkpoint(checkpoint_path(tmp_path, simulation.step_number), simulation, {})
    resumed = Solver(case, SerialCommunicator())
    restore(tmp_path, resumed)
    for each in (simulation, resumed):
        each.advance(1500 - each.step_number)
    assert np.array_equal(scalars(simulation), scalars(resumed)) and resumed.stride == 8
    assert simulation.beat.difference == resumed.beat.difference


def test_outlets_of_a_replay_tell_the_mean_of_what_leaves_now():
    """Not over the flow rate at the end of the beat, which openings() keeps."""
    told = []
    for run, by_carrier in (({}, True), (REPLAYED, False)):
        simulation = simulate(beating(run=run), 1025)
        age = next(each for each in simulation.physics if each.name == "age")
        fluxes = OutletFluxes(simulation, age.scalars[0], age.carrier, by_carrier)
        told.append(fluxes.means_si(fluxes.numbers()))
    assert told[1] == pytest.approx(told[0], rel=1e-4)


def test_what_a_frozen_flow_does_not_follow_is_refused(tmp_path):
    """Also where a run is resumed with it."""
    clot = {"name": "clot", "permeability_m2": 1e-6, "box_m": [[3e-3, 2e-3, -1.0], [7e-3, 5e-3, 1.0]]}
    simulation = simulate(beating(run=REPLAYED, porous_medium=[clot]), 810)
    for key, value in (("porous_medium.clot.permeability_m2", 1e-8), ("openings.inlet.profile", "plug")):
        with pytest.raises(InputError, match=f"{key} would change nothing"):
            changes.changed(simulation, {key: value})
    write_checkpoint(checkpoint_path(tmp_path, 810), simulation, {})
    faster = Solver(beating(speed_m_s=4e-4, run=REPLAYED, porous_medium=[clot]), SerialCommunicator())
    with pytest.raises(InputError, match="openings.inlet.velocity_m_s would change nothing"):
        restore(tmp_path, faster)


def replayed_scalars(communicator) -> np.ndarray:
    """Drug and age behind a replay, on rank 0."""
    simulation = Solver(beating(run=REPLAYED), communicator)
    simulation.advance(900)
    return scalars(simulation)


@pytest.mark.mpi
@pytest.mark.parametrize("n_ranks", [pytest.param(2, marks=pytest.mark.night), 3])
def test_ranks_change_no_bit(n_ranks, on_ranks):
    assert np.array_equal(on_ranks(n_ranks, replayed_scalars), replayed_scalars(SerialCommunicator()))


def test_openings_stay_at_the_end_of_the_beat():
    simulation = simulate(beating(run=REPLAYED), 800)
    before = simulation.openings()
    simulation.advance(50)
    assert simulation.openings() == before


def test_a_beat_that_differs_from_the_one_before_is_not_replayed():
    """Also by a run with files, and by another beat that is stored no more."""
    slow = {"kinematic_viscosity_m2_s": 2e-7}
    case = beating(fluid=slow, run=REPLAYED | {"frozen_after_s": 2.6})
    with pytest.raises(InputError, match=r"its last two beats differ by .* set run.frozen_after_s = 4.61"):
        simulate(case, 500)
    simulation = simulate(beating(run=REPLAYED), 850)
    with pytest.raises(InputError, match="does not hold the two beats ahead"):
        changes.changed(simulation, {"run.replayed_instants": 40}).advance(1)
    other = changes.changed(simulation, {"species.drug.diffusivity_m2_s": 2e-6})
    other.advance(50)
    assert np.isfinite(scalars(other)).all()


def test_the_summary_tells_how_much_the_beats_differ(tmp_path):
    summary = Run(Solver(beating(folder=tmp_path, run=REPLAYED | {"steps": 900})), tmp_path).execute()[1]
    assert 0.0 < summary["frozen"]["beats_differ"] < 6e-3
    assert not [text for text in summary["objections"] if "frozen" in text]


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"run": {"frozen_after_s": 4.0}}, "a waveform; give run.replayed_instants = 40"),
        ({"run": {"replayed_instants": 40}}, "has replayed_instants but no frozen_after_s"),
        ({"run": REPLAYED | {"replayed_instants": 120}}, "a beat of 1.007 s has 100 steps: set .* = 25"),
        ({"run": REPLAYED | {"frozen_after_s": 1.0}}, "set run.frozen_after_s = 3.53 or more"),
        (
            {"run": REPLAYED, "flow": {"acceleration_m_s2": [1e-4, 0.0, 0.0], "waveform": WALTZ}},
            "the flow would not repeat itself in that time",
        ),
    ],
)
def test_what_cannot_be_replayed_is_refused(sections, message):
    with pytest.raises(InputError, match=message):
        simulate(beating(**sections))


def test_a_flow_without_waveform_has_no_beat():
    steady = changed(OPEN, run={"frozen_after_s": 4.0, "replayed_instants": 40}, age={"diffusivity_m2_s": 1e-6})
    with pytest.raises(InputError, match="nothing in the case repeats itself"):
        simulate(open_channel(**steady))
