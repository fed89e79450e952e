"""Laws of boundary values: what is asked for in SI units flows, and it goes through time as its waveform says."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import CS2
from muphy_lb.boundaries.wall_motion import wall_extent
from muphy_lb.boundaries.waveform import DrivingForce, FourierSeries
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FIRST_WALL, FLAG_DTYPE, FLUID, Voxels
from muphy_lb.run.trace import record_spans
from muphy_lb.setup.boundaries import CHUNK, BoundarySchedule, build_schedule, wall_motions
from tests.channel import (
    BOTTOM,
    DENSITY_KG_M3,
    HEIGHT,
    LENGTH,
    SPACING_M,
    SPEED_M_S,
    TIME_STEP_S,
    TOP,
    open_channel,
    periodic_channel,
    simulate,
)

AREA_M2 = HEIGHT * SPACING_M**2
VALUES, FORCE = np.array([2.0, -1.0, 1.0, 1.0]), np.array([3.0, 0.0, -4.0])
SERIES = FourierSeries(7.0, 1.0, (0.5,), (0.25, -0.125))
PULSE = {"period_s": 0.2, "mean": 1.0, "sine": [0.5]}


def schedule(factors=(None,) * 4, force_factor=None, ramp_steps=0, values=VALUES):
    """A schedule of two openings, a labelled wall and the others, in steps of half a second."""
    return BoundarySchedule(values, factors, DrivingForce(FORCE, force_factor), ramp_steps, 0.5)


def test_without_waveform_and_ramp_the_values_hold_for_ever():
    rows, until = schedule().rows(5)
    assert rows.tolist() == [[*VALUES, *FORCE]] and until == np.inf


def test_values_rise_from_rest_as_half_a_cosine_wave():
    rows, until = schedule(ramp_steps=10).rows(0)
    expected = 0.5 - 0.5 * np.cos(np.pi * np.arange(1, 11) / 10)
    assert np.abs(rows[:, :4] - expected[:, None] * VALUES).max() < 1e-15 and until == np.inf
    assert (rows[:, 4:] == FORCE).all()


def test_after_the_ramp_one_row_is_enough():
    assert schedule(ramp_steps=10).rows(25)[0].tolist() == [[*VALUES, *FORCE]]


def test_a_waveform_multiplies_its_own_value_half_a_step_before_the_end_of_the_step():
    rows, until = schedule((None, SERIES, None, None)).rows(3)
    times_s = 0.5 * (np.arange(4, 4 + CHUNK) - 0.5)
    assert np.array_equal(rows[:, [0, 2, 3]], np.broadcast_to(VALUES[[0, 2, 3]], (CHUNK, 3)))
    assert np.abs(rows[:, 1] + SERIES(times_s)).max() < 1e-15 and until == 3 + CHUNK


def test_a_waveform_multiplies_the_pressure_itself_and_not_what_it_is_above_the_reference():
    at_rest = np.array([0.0, 10.0, 0.0, 0.0])
    pulsatile = BoundarySchedule(VALUES, (None, SERIES, None, None), DrivingForce(FORCE, None), 10, 0.5, at_rest)
    steps = np.arange(4, 4 + CHUNK)
    ramp = 0.5 - 0.5 * np.cos(np.pi * np.minimum(steps / 10, 1.0))
    expected = ramp * (SERIES(0.5 * (steps - 0.5)) * (VALUES[1] + 10.0) - 10.0)
    assert np.abs(pulsatile.rows(3)[0][:, 1] - expected).max() < 1e-14


@pytest.mark.parametrize("reference_pa", [0.0, 0.3, -0.2])
def test_the_pressure_of_an_opening_follows_its_waveform_whatever_the_reference(reference_pa):
    """The lattice density says p - reference; with it added the pressure is that of the case times the waveform."""
    wave = {"period_s": 400 * TIME_STEP_S, "mean": 1.0, "sine": [0.5]}
    openings = [{"name": "inlet", "velocity_m_s": 1e-4}, {"name": "outlet", "pressure_pa": 0.1, "waveform": wave}]
    case = open_channel(openings=openings, flow={"reference_pressure_pa": reference_pa})
    simulation = simulate(case)
    found = build_schedule(case, simulation.nodes, simulation.conditions, DrivingForce(np.zeros(3)), simulation.units)
    pressure_pa = simulation.units.density_to_pressure(1.0 + found.rows(99)[0][0, 1], CS2)
    phase = 2 * np.pi * 99.5 / 400
    assert pressure_pa == pytest.approx(0.1 * (1.0 + 0.5 * np.sin(phase)), rel=1e-12)


def test_a_waveform_of_the_force_multiplies_the_force_at_the_end_of_the_step():
    rows, _ = schedule(force_factor=SERIES).rows(3)
    times_s = 0.5 * np.arange(4, 4 + CHUNK)
    assert np.abs(rows[:, 4:] - SERIES(times_s)[:, None] * FORCE).max() < 1e-14
    assert (rows[:, :4] == VALUES).all()


@pytest.mark.parametrize("start", [1, 7, 100, CHUNK - 1])
def test_the_row_of_a_step_does_not_depend_on_where_its_chunk_starts_bit_by_bit(start):
    pulsatile = schedule((SERIES, None, SERIES, None), SERIES, ramp_steps=50)
    first, later = pulsatile.rows(0)[0], pulsatile.rows(start)[0]
    assert np.array_equal(first[start:], later[: CHUNK - start])


@pytest.mark.parametrize(
    ("given", "changes", "is_periodic"),
    [
        ({}, True, False),
        ({"values": np.ones(1), "factors": (None,)}, False, False),
        ({"values": np.ones(1), "factors": (None,), "force_factor": SERIES}, True, True),
        ({"factors": (SERIES, None, None, None)}, True, True),
    ],
)
def test_a_schedule_knows_whether_anything_changes(given, changes, is_periodic):
    assert (schedule(**given).changes, schedule(**given).is_periodic) == (changes, is_periodic)


INFLOWS = {
    "mean velocity": {"velocity_m_s": 2e-3},
    "volume flow": {"flow_rate_m3_s": 2e-3 * AREA_M2},
    "mass flow": {"mass_flow_kg_s": 2e-3 * AREA_M2 * DENSITY_KG_M3},
}


@pytest.mark.parametrize("inflow", INFLOWS)
@pytest.mark.parametrize("profile", ["plug", "parabolic", "rectangular"])
def test_what_is_asked_for_at_the_inlet_flows_through_it(inflow, profile):
    simulation = simulate(open_channel(inlet=INFLOWS[inflow] | {"profile": profile}), 3)
    state = simulation.openings()["inlet"]
    assert state.area_m2 == pytest.approx(AREA_M2, rel=1e-13)
    assert state.flow_rate_m3_s == pytest.approx(2e-3 * AREA_M2, rel=1e-11)


def test_a_measured_profile_flows_as_asked_for(tmp_path):
    (tmp_path / "profile.csv").write_text("r_m,u\n0,7\n0.001,6\n0.004,0.5\n")
    inlet = {"velocity_m_s": 2e-3, "profile": "measured", "profile_file": "profile.csv"}
    simulation = simulate(open_channel(tmp_path, inlet), 3)
    assert simulation.openings()["inlet"].flow_rate_m3_s == pytest.approx(2e-3 * AREA_M2, rel=1e-11)


@pytest.mark.parametrize("n_steps", [1, 7, 25])
def test_a_pulsatile_inlet_lets_in_what_its_waveform_says(n_steps):
    simulation = simulate(open_channel(inlet={"velocity_m_s": 2e-3, "waveform": PULSE}), n_steps)
    factor = FourierSeries(0.2, 1.0, (), (0.5,))((n_steps - 0.5) * TIME_STEP_S)
    assert simulation.openings()["inlet"].flow_rate_m3_s == pytest.approx(2e-3 * AREA_M2 * factor, rel=1e-11)


def test_a_waveform_of_a_table_is_the_spline_through_it(tmp_path):
    time_s = np.linspace(0.0, 0.2, 41)
    table = np.column_stack((time_s, 1.0 + 0.5 * np.sin(2 * np.pi * time_s / 0.2)))
    np.savetxt(tmp_path / "pulse.csv", table, delimiter=",", header="t_s,factor")
    by_table = open_channel(tmp_path, {"velocity_m_s": 2e-3, "waveform": {"file": "pulse.csv"}})
    by_series = open_channel(inlet={"velocity_m_s": 2e-3, "waveform": PULSE})
    flows = [simulate(case, 13).openings()["inlet"].flow_rate_m3_s for case in (by_table, by_series)]
    assert flows[0] == pytest.approx(flows[1], rel=1e-5)


def test_a_ramp_holds_the_inlet_back():
    simulation = simulate(open_channel(run={"ramp_steps": 20}), 5)
    share = 0.5 - 0.5 * np.cos(np.pi * 5 / 20)
    assert simulation.openings()["inlet"].flow_rate_m3_s == pytest.approx(share * 2e-3 * AREA_M2, rel=1e-11)


def test_a_waveform_runs_on_across_the_border_of_a_chunk(monkeypatch):
    """With chunks of 8 steps instead of one."""
    case, states = open_channel(inlet={"velocity_m_s": 2e-3, "waveform": PULSE}), []
    for chunk in (8, CHUNK):
        monkeypatch.setattr("muphy_lb.setup.boundaries.CHUNK", chunk)
        states.append(simulate(case, 30).engine.populations())
    assert np.array_equal(*states)


PULSATILE = {
    "inlet": open_channel(inlet={"velocity_m_s": 2e-3, "waveform": PULSE}, run={"ramp_steps": 30}),
    "force": periodic_channel(flow={"acceleration_m_s2": [0.01, 0, 0], "waveform": PULSE}),
    "wall": periodic_channel(walls=[BOTTOM, TOP | {"velocity_m_s": [2e-3, 0, 0], "waveform": PULSE}]),
}


@pytest.mark.parametrize("what", PULSATILE)
@pytest.mark.parametrize("streaming", ["pull", "push"])
def test_a_pulsatile_flow_restarted_in_the_middle_goes_on_bit_by_bit(what, streaming):
    case = PULSATILE[what].model_copy(
        update={"compute": PULSATILE[what].compute.model_copy(update={"streaming": streaming})}
    )
    undisturbed, first = simulate(case, 40), simulate(case, 17)
    second = simulate(case, 3)
    second.state.restart_from(first.engine.populations(), 17, first.state.initial_mass)
    at_restart = [simulation.engine.moments() for simulation in (first, second)]
    second.step(23)
    assert np.array_equal(undisturbed.engine.populations(), second.engine.populations())
    assert np.array_equal(*at_restart)


def test_steps_of_a_time_line_do_not_move_the_waveform():
    undisturbed, traced = simulate(PULSATILE["inlet"], 20), simulate(PULSATILE["inlet"], 13)
    record_spans(traced, 5)
    traced.step(7)
    rates = [simulation.openings()["inlet"].flow_rate_m3_s for simulation in (undisturbed, traced)]
    assert rates[1] == pytest.approx(rates[0], rel=1e-9) and rates[0] != 0.0


def test_a_simulation_started_again_from_rest_repeats_itself_bit_by_bit():
    simulation = simulate(PULSATILE["force"], 11)
    first = simulation.engine.populations()
    simulation.state.start()
    simulation.step(11)
    assert np.array_equal(first, simulation.engine.populations())


def test_the_moving_wall_of_a_case_moves_in_lattice_units():
    case = periodic_channel(walls=[BOTTOM | {"velocity_m_s": [2e-3, 0, 0]}, TOP])
    simulation = simulate(case)
    bottom, top = simulation.motions
    assert bottom.velocity == pytest.approx((2e-3 / SPEED_M_S, 0, 0)) and bottom.moves and not top.moves


def test_a_turning_wall_turns_about_its_centre_in_lattice_units():
    wall = BOTTOM | {"rotation_rad_s": [0, 0, 2.0], "centre_m": [3e-3, -1e-3, 0]}
    motion = simulate(periodic_channel(walls=[wall, TOP])).motions[0]
    assert motion.rotation == pytest.approx((0, 0, 2.0 * TIME_STEP_S)) and motion.centre == pytest.approx((3, -1, 0))
    assert motion.at(np.array([[4.0, 0.0, 0.0]])) == pytest.approx(np.array([[-0.02, 0.02, 0.0]]))


def test_without_a_centre_a_wall_turns_about_the_middle_of_its_voxels():
    motion = simulate(periodic_channel(walls=[TOP | {"rotation_rad_s": [0, 0, 2.0]}])).motions[0]
    assert motion.centre == (0.5 * (LENGTH - 1), HEIGHT + 1.0, 0.0)


def test_the_middle_of_a_wall_that_no_fluid_touches_is_the_origin():
    simulation = simulate(periodic_channel())
    assert wall_extent(simulation.nodes, 5).centre == (0.0, 0.0, 0.0)


def test_a_body_across_a_periodic_border_has_its_middle_inside_and_short_arms():
    flags = np.full((1, 3, 10), FLUID, dtype=FLAG_DTYPE)
    flags[0, 1, [9, 0, 1]] = FIRST_WALL
    nodes = build_nodes(Voxels(flags, periodic=(True, False, False), walls=("body",)))
    extent = wall_extent(nodes, 0)
    assert extent.centre == (0.0, 1.0, 0.0) and extent.period[0] == 10.0
    assert extent.arm(np.array([[8.5, 1.0, 0.0]]), extent.centre) == pytest.approx(np.array([[-1.5, 0.0, 0.0]]))


def test_walls_that_the_case_does_not_name_rest():
    simulation = simulate(periodic_channel())
    unnamed = periodic_channel(walls=[])
    assert not any(motion.moves or motion.slips for motion in wall_motions(unnamed, simulation.nodes, simulation.units))


@pytest.mark.parametrize(
    ("name", "hint"),
    [("botom", "did you mean 'bottom'"), ("xyz", "it has bottom, top: take one of these, or give its box_m")],
)
def test_a_wall_that_the_geometry_does_not_have_is_refused(name, hint):
    with pytest.raises(InputError, match=f"walls.{name}: the geometry has no wall of that name; {hint}"):
        simulate(periodic_channel(walls=[BOTTOM, TOP, {"name": name}]))


def test_the_values_of_a_course_are_those_of_openings_then_walls():
    case = PULSATILE["inlet"]
    simulation = simulate(case)
    found = build_schedule(case, simulation.nodes, simulation.conditions, DrivingForce(np.zeros(3)), simulation.units)
    assert found.values == pytest.approx([2e-3 / SPEED_M_S, 0.0, 0.0, 0.0, 1.0])


BAD_TABLES = {
    "absent": (None, "cannot read"),
    "empty": ("", "has 0 rows"),
    "headings only": ("t,f\n", "has 0 rows"),
    "words": ("t,f\n0,1\n1,two\n", "cannot read"),
    "three columns": ("t,f,g\n0,1,1\n1,1,1\n", "has 2 rows of 3 columns; it must have two columns of finite numbers"),
    "one row": ("t,f\n0,1\n", "has 1 rows"),
}


@pytest.mark.parametrize("what", BAD_TABLES)
@pytest.mark.parametrize("use", ["waveform", "profile"])
@pytest.mark.filterwarnings("error")
def test_a_bad_table_is_refused_with_one_clear_message(tmp_path, what, use):
    text, expected = BAD_TABLES[what]
    if text is not None:
        (tmp_path / "table.csv").write_text(text)
    inlet = {"velocity_m_s": 2e-3}
    inlet |= {"waveform": {"file": "table.csv"}} if use == "waveform" else {}
    inlet |= {"profile": "measured", "profile_file": "table.csv"} if use == "profile" else {}
    key = "openings.inlet." + {"waveform": "waveform.file", "profile": "profile_file"}[use]
    with pytest.raises(InputError, match=f"^{key}: .*table.csv.*{expected}|^{key}: {expected} .*table.csv"):
        simulate(open_channel(tmp_path, inlet))


@pytest.mark.parametrize("text", ["t,f\n0,1\n1,1\n2,1\n", "t,f\n0,1\n1,2\n2,3\n3,4\n"], ids=["short", "open"])
def test_a_table_that_is_no_period_is_refused(tmp_path, text):
    (tmp_path / "table.csv").write_text(text)
    with pytest.raises(InputError, match="a period needs at least 4, and its last factor must equal its first"):
        simulate(open_channel(tmp_path, {"velocity_m_s": 2e-3, "waveform": {"file": "table.csv"}}))
