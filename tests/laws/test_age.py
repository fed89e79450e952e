"""The age of the fluid: exact in the mean of what leaves a steady flow, and a closed form in a uniform one."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.output.series import read_series
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.physics.age.observers import AgeMean
from muphy_lb.physics.scalar_series import OutletFluxes
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.channel import BOTTOM, OPEN, SPACING_M, TOP, changed, open_channel, periodic_channel, simulate
from tests.vessel import vessel

VELOCITY_M_S, DIFFUSIVITY_M2_S = 5e-3, 2e-6
AGE = {"diffusivity_m2_s": DIFFUSIVITY_M2_S}
SHUT = [
    {"name": "inlet", "velocity_m_s": 0.02},
    {"name": "outlet_1", "pressure_pa": 0.0},
    {"name": "outlet_2", "velocity_m_s": 0.0},
]
OPENINGS = [
    {"name": "inlet", "velocity_m_s": VELOCITY_M_S, "profile": "parabolic"},
    {"name": "outlet", "pressure_pa": 0.0},
]


def aged(n_steps=0, **sections):
    """The open channel with an age."""
    return simulate(
        open_channel(**{"age": AGE, "openings": OPENINGS, "lattice": {"collision": "trt"}} | sections), n_steps
    )


def fluxes(simulation):
    """What measures its age at outlets."""
    (physics,) = simulation.physics
    return OutletFluxes(simulation, physics.scalars[0], physics.carrier)


def age_mean(simulation, folder):
    """What the end of a run tells of its age."""
    return AgeMean(fluxes(simulation), DIFFUSIVITY_M2_S, simulation, folder)


def total_age(simulation):
    """The amount of age that has left all nodes."""
    left = simulation.model_field("age") + simulation.model_field("age_gained")
    return (left * (1.0 + simulation.model_field("age_carrier"))).sum()


@pytest.mark.parametrize("streaming", ["pull", "push", "aa"])
def test_the_mean_age_of_what_leaves_a_steady_flow_is_volume_over_flow_rate(tmp_path, streaming):
    simulation = aged(1500, compute={"streaming": streaming})
    header = simulation.header
    volume_m3 = header.n_nodes * header.spacing_m**3
    expected_s = volume_m3 / simulation.openings()["outlet"].flow_rate_m3_s
    assert age_mean(simulation, tmp_path).finish()["outlet_mean_age_s"] == pytest.approx(expected_s, rel=1e-10)
    assert simulation.field("age").max() > 1.1 * expected_s  # slow fluid is older


def test_a_vessel_gains_in_every_step_what_does_not_leave_through_its_outlets():
    simulation = simulate(vessel(age={}, compute={"backend": "numpy", "precision": "fp64"}, run={"ramp_steps": 0}), 60)
    before, leaves = total_age(simulation), fluxes(simulation).leaving()
    simulation.advance(1)
    assert total_age(simulation) - before == pytest.approx(simulation.header.n_nodes - leaves.sum(), rel=1e-9)
    assert (leaves > 0.0).all() and leaves.size == 2


def test_a_uniform_flow_has_the_age_of_its_closed_form():
    """x / u + D / u^2 (1 - exp(-u (L - x) / D)): no flux of age at the inlet, no gradient at the outlet."""
    walls = [BOTTOM | {"slip": True}, TOP | {"slip": True}]
    openings = [{"name": "inlet", "velocity_m_s": VELOCITY_M_S}, OPENINGS[1]]
    simulation = aged(1000, walls=walls, openings=openings)
    x = simulation.nodes.coordinates()[:, 0]
    x_m, length_m = (x - x.min() + 0.5) * SPACING_M, (np.ptp(x) + 1) * SPACING_M
    mixed_s = DIFFUSIVITY_M2_S / VELOCITY_M_S**2
    expected_s = x_m / VELOCITY_M_S + mixed_s * (1.0 - np.exp((x_m - length_m) * VELOCITY_M_S / DIFFUSIVITY_M2_S))
    inside = x < x.max() - 1
    np.testing.assert_allclose(simulation.field("age")[inside], expected_s[inside], rtol=0.01)


def test_fluid_at_rest_grows_old_by_the_time():
    simulation = aged(50, openings=[{"name": "inlet", "velocity_m_s": 0.0}, OPENINGS[1]])
    inside = simulation.nodes.coordinates()[:, 0] < 5
    np.testing.assert_allclose(simulation.field("age")[inside], 49.5 * 1e-2, rtol=1e-3)


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_it_changes_no_bit_of_the_flow(precision):
    compute = {"precision": precision}
    plain, carried = (aged(40, compute=compute, age=age) for age in (None, AGE))
    rows = [np.array(list(each.populations())) for each in (plain, carried)]
    assert np.array_equal(*rows) and np.abs(rows[0]).max() > 0.0


def test_it_goes_with_dissipation():
    simulation = aged(25, dissipation={})
    np.testing.assert_array_equal(simulation.field("age"), aged(25).field("age"))
    assert simulation.field("dissipation").max() > 0.0


def test_an_outlet_through_which_nothing_leaves_has_no_age_and_that_is_said(tmp_path):
    case = vessel(age={}, compute={"backend": "numpy"}, run={"steps": 20, "ramp_steps": 0}, openings=SHUT)
    summary = Run(Solver(case, SerialCommunicator()), tmp_path).execute()[1]
    assert summary["age"]["outlet_2_mean_age_s"] is None and summary["age"]["volume_mean_age_s"] > 0.0
    (line,) = age_mean(Solver(case), tmp_path).lines(summary)
    assert "outlet_2 (nothing leaves)" in line and "nan" not in line
    assert "(nothing leaves)" in (tmp_path / "report.html").read_text()


def test_what_leaves_a_flow_that_beats_has_the_age_of_all_that_leaves_within_a_beat(tmp_path):
    """Over a beat that repeats, as much age leaves as the fluid gains: volume times period, over what has left."""
    waveform = {"period_s": 1.0, "sine": [2.0]}  # it turns back in every beat
    openings = [OPENINGS[0] | {"waveform": waveform}, OPENINGS[1]]
    run, compiled = {"time_s": 15.0, "steps": None}, {"backend": "cpu"}
    case = open_channel(age=AGE, openings=openings, run=run, output={"report": False}, compute=compiled)
    record = Run(Solver(case, SerialCommunicator()), tmp_path).execute()[1]["age"]
    series = read_series(tmp_path / "age.csv")
    last = series["time_s"] > 14.0
    simulation = Solver(case)
    volume_m3 = simulation.header.n_nodes * simulation.header.spacing_m**3
    area_m2 = simulation.openings()["inlet"].area_m2
    assert record["averaged_over_s"] == 1.0
    assert record["outlet_mean_age_s"] == pytest.approx(volume_m3 / (VELOCITY_M_S * area_m2), rel=0.01)
    assert np.isnan(series["outlet_mean_age_s"][last]).any()  # at times nothing leaves


def test_an_age_that_is_none_speaks_against_the_run(tmp_path):
    simulation = aged(60)
    mean = age_mean(simulation, tmp_path)
    assert mean.objections() == ()
    age = simulation.field("age")
    age[7] = -age.max()
    simulation.set_fields({"age": age})
    (text,) = mean.objections()
    assert "the age of the fluid goes from -" in text and "age.diffusivity_m2_s = " in text


@pytest.mark.parametrize(("n_steps", "is_told"), [(60, True), (1500, False)])
def test_an_age_that_still_grows_in_a_flow_that_is_steady_is_told(tmp_path, n_steps, is_told):
    """A run of a manifold that ended with its flow told 2.7 s for 116 s, and was sound."""
    simulation = aged(n_steps, run={"steady_tolerance": 1e-3})
    found = [text for text in age_mean(simulation, tmp_path).objections() if "the age is not steady" in text]
    assert bool(found) == is_told


def test_an_age_that_cannot_leave_and_two_diffusivities_are_refused():
    with pytest.raises(InputError, match="needs an outlet"):
        simulate(periodic_channel(age=AGE))
    with pytest.raises(InputError, match="schmidt and diffusivity_m2_s"):
        case_from_dict(changed(OPEN, age={"schmidt": 1.0, "diffusivity_m2_s": 1e-6}))
    with pytest.raises(InputError, match="fp16"):
        aged(compute={"precision": "fp16"})
