"""Laws of the body force: a pressure drop is one, a constant field or series is one, and a bad file is reported."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.waveform import Turn
from muphy_lb.operators import FIELD, VARYING
from muphy_lb.operators.forces import COMPONENTS
from muphy_lb.setup.force import uniform_acceleration_m_s2
from tests.channel import DENSITY_KG_M3, HEIGHT, LENGTH, SPACING_M, SPEED_M_S, TIME_STEP_S, periodic_channel, simulate

ACCELERATION = (0.02, 0.01, 0.0)
STREAMINGS = ("pull", "push")
SHAPE = (1, HEIGHT + 2, LENGTH, 3)
# Round-off of 30 steps; the specification adds and subtracts w_q.
ROUND_OFF = 1e-14


def velocity(flow, folder=".", streaming="pull", n_steps=30):
    """(n, 3) velocity in lattice units that a [flow] section drives."""
    case = periodic_channel(folder, flow=flow, compute={"streaming": streaming})
    return simulate(case, n_steps).velocity_m_s() / SPEED_M_S


def save_field(folder, field):
    """The [flow] section of a field of accelerations."""
    np.save(folder / "field.npy", field)
    return {"acceleration_file": "field.npy"}


def test_the_acceleration_reaches_the_fluid_in_lattice_units():
    simulation = simulate(periodic_channel(flow={"acceleration_m_s2": ACCELERATION}))
    expected = np.array(ACCELERATION) * TIME_STEP_S**2 / SPACING_M
    parameters = simulation.engine.model.parameters
    assert simulation.present_force == pytest.approx(expected)
    assert [parameters[name] for name in COMPONENTS] == pytest.approx(list(expected))


def test_a_pressure_drop_over_the_box_is_the_body_force_of_its_gradient():
    drop_pa = 0.02 * DENSITY_KG_M3 * LENGTH * SPACING_M
    by_drop, by_force = velocity({"pressure_drop_pa": [drop_pa, 0, 0]}), velocity({"acceleration_m_s2": [0.02, 0, 0]})
    assert np.abs(by_drop - by_force).max() < ROUND_OFF and np.abs(by_force).max() > 1e-3


def test_acceleration_and_pressure_drop_add_up():
    drop_pa = 0.02 * DENSITY_KG_M3 * LENGTH * SPACING_M
    case = periodic_channel(flow={"pressure_drop_pa": [drop_pa, 0, 0], "acceleration_m_s2": ACCELERATION})
    assert uniform_acceleration_m_s2(case, simulate(case).nodes) == pytest.approx((0.04, 0.01, 0.0))


@pytest.mark.parametrize(
    ("flow", "told"),
    [
        ({"pressure_drop_pa": [0, 1, 0]}, r"along y, where the box is not periodic; give geometry.periodic = \['y'\]"),
        ({"acceleration_m_s2": [0, 0, 0.5]}, r"is \[0.0, 0.0, 0.5\], but lattice D2Q9 is two-dimensional"),
    ],
)
def test_a_force_that_the_box_or_the_lattice_cannot_have_is_refused(flow, told):
    with pytest.raises(InputError, match=told):
        simulate(periodic_channel(flow=flow))


@pytest.mark.parametrize("streaming", STREAMINGS)
@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_a_field_that_is_the_same_everywhere_is_a_uniform_force(tmp_path, streaming, number):
    field = save_field(tmp_path, np.full(SHAPE, ACCELERATION, number))
    found = velocity(field, tmp_path, streaming)
    expected = velocity({"acceleration_m_s2": ACCELERATION}, streaming=streaming)
    rounded = ROUND_OFF if number is np.float64 else 1e-8
    assert np.abs(found - expected).max() < rounded and np.abs(expected).max() > 1e-3


@pytest.mark.parametrize("streaming", STREAMINGS)
def test_a_series_that_is_constant_is_a_uniform_force(streaming):
    """From the very first collision on."""
    series = {"acceleration_m_s2": ACCELERATION, "waveform": {"period_s": 1.0}}
    expected = velocity({"acceleration_m_s2": ACCELERATION}, streaming=streaming)
    assert np.abs(velocity(series, streaming=streaming) - expected).max() < ROUND_OFF


@pytest.mark.parametrize(
    ("flow", "operator"),
    [
        ({"acceleration_file": "field.npy"}, FIELD),
        ({"acceleration_m_s2": ACCELERATION, "waveform": {"period_s": 0.3, "cosine": [0.5]}}, VARYING),
    ],
    ids=["field", "varying"],
)
def test_compiled_code_feels_the_force_that_the_specification_feels(tmp_path, flow, operator):
    rng = np.random.default_rng(1)
    save_field(tmp_path, rng.uniform(-0.02, 0.02, SHAPE) * (1.0, 1.0, 0.0))
    states = []
    for name in ("numpy", "cpu"):
        simulation = simulate(periodic_channel(tmp_path, flow=flow, compute={"backend": name}), 20)
        assert simulation.engine.model.collision.name.endswith(operator.name)
        states.append(simulation.velocity_m_s() / SPEED_M_S)
    assert np.abs(states[0] - states[1]).max() < 1e-12 and np.abs(states[0]).max() > 1e-4


def test_a_field_acts_where_it_is(tmp_path):
    """Upwards in one half, downwards in the other: no flow in the mean, and a flow in each."""
    field = np.zeros(SHAPE)
    field[:, :, : LENGTH // 2, 1], field[:, :, LENGTH // 2 :, 1] = 0.02, -0.02
    simulation = simulate(periodic_channel(tmp_path, flow=save_field(tmp_path, field)), 1)
    y_velocity, x = simulation.velocity_m_s()[:, 1], simulation.nodes.coordinates()[:, 0]
    assert np.abs(y_velocity.sum()) < 1e-15 and np.array_equal(y_velocity > 0, x < LENGTH // 2)


def test_a_field_adds_to_the_acceleration(tmp_path):
    half = tuple(0.5 * component for component in ACCELERATION)
    field = save_field(tmp_path, np.full(SHAPE, half)) | {"acceleration_m_s2": half}
    expected = velocity({"acceleration_m_s2": ACCELERATION})
    assert np.abs(velocity(field, tmp_path) - expected).max() < ROUND_OFF


def test_push_and_pull_agree_on_a_pulsatile_force():
    """They collide at the same times. The velocity that push tells takes half of the force of one step before."""
    period_s, amplitude = 0.2, 0.5
    flow = {"acceleration_m_s2": ACCELERATION, "waveform": {"period_s": period_s, "cosine": [amplitude]}}
    pull, push = (velocity(flow, streaming=streaming) for streaming in STREAMINGS)
    change = amplitude * 2 * np.pi * TIME_STEP_S / period_s
    bound = 0.5 * change * np.abs(ACCELERATION).max() * TIME_STEP_S**2 / SPACING_M
    assert ROUND_OFF < np.abs(pull - push).max() < bound


BAD_FIELDS = {
    "shape": (
        lambda path: np.save(path, np.zeros((2, 2, 3))),
        r"float64 of shape \(2, 2, 3\); it must hold numbers of shape",
    ),
    "longer": (
        lambda path: (np.save(path, np.zeros(SHAPE)), path.write_bytes(path.read_bytes() + bytes(8))),
        r"holds \d+ bytes; its array of shape .* needs \d+: write one array into it",
    ),
    "words": (lambda path: np.save(path, np.full(SHAPE, "a")), "it must hold numbers of shape"),
    "objects": (lambda path: np.save(path, np.full(SHAPE, None), allow_pickle=True), "cannot read"),
    "absent": (lambda path: None, "cannot read"),
    "infinite": (lambda path: np.save(path, np.full(SHAPE, np.inf)), "not finite at fluid nodes"),
    "along z": (
        lambda path: np.save(path, np.full(SHAPE, 0.5)),
        "two-dimensional but the body force has z component 0.5",
    ),
}


@pytest.mark.parametrize("what", BAD_FIELDS)
def test_a_bad_field_is_refused_with_one_clear_message(tmp_path, what):
    write, expected = BAD_FIELDS[what]
    write(tmp_path / "field.npy")
    with pytest.raises(InputError, match=expected):
        simulate(periodic_channel(tmp_path, flow={"acceleration_file": "field.npy"}))


def test_an_archive_of_arrays_is_refused(tmp_path):
    np.savez(tmp_path / "field.npz", a=np.zeros(SHAPE))
    with pytest.raises(InputError, match="holds several arrays; it must hold numbers of shape"):
        simulate(periodic_channel(tmp_path, flow={"acceleration_file": "field.npz"}))


QUARTER = np.pi / 2.0
ROCKED = {"angle_rad": 0.4, "waveform": {"period_s": 0.5, "mean": 0.0, "sine": [1.0]}}


def test_a_force_turns_right_handed_about_its_axis():
    turn = Turn(np.array([0.0, 0.0, 1.0]), QUARTER)
    assert turn(np.array([2.0, 0.0, 1.0]), np.zeros(1))[0] == pytest.approx([0.0, 2.0, 1.0], abs=1e-15)
    about_all = Turn(np.full(3, 1.0 / np.sqrt(3.0)), 2.0 * np.pi / 3.0, lambda time_s: time_s)
    assert about_all(np.array([1.0, 2.0, 3.0]), np.ones(1))[0] == pytest.approx([3.0, 1.0, 2.0])
    assert about_all(np.array([1.0, 2.0, 3.0]), np.full(1, 3.0))[0] == pytest.approx([1.0, 2.0, 3.0])


def test_a_turn_that_does_not_change_is_another_direction():
    turned = velocity({"acceleration_m_s2": [0.02, 0.0, 0.0], "turn": {"angle_rad": QUARTER}})
    assert np.array_equal(np.round(turned, 12), np.round(velocity({"acceleration_m_s2": [0.0, 0.02, 0.0]}), 12))
    assert turned[:, 1].max() > 1e-4


def test_a_turn_in_time_has_the_angle_of_its_waveform():
    case = periodic_channel(flow={"acceleration_m_s2": ACCELERATION, "turn": ROCKED})
    simulation = simulate(case, 7)
    force = simulation.present_force / simulation.units.acceleration_to_lattice(1.0)
    angle = 0.4 * np.sin(2.0 * np.pi * simulation.time_s / 0.5)
    x, y, _ = ACCELERATION
    expected = [x * np.cos(angle) - y * np.sin(angle), x * np.sin(angle) + y * np.cos(angle), 0.0]
    assert force == pytest.approx(expected, rel=1e-12) and abs(angle) > 1e-3


def test_push_and_pull_agree_on_a_force_that_turns():
    """As on a pulsatile one."""
    pull, push = (velocity({"acceleration_m_s2": ACCELERATION, "turn": ROCKED}, streaming=each) for each in STREAMINGS)
    change = 0.4 * 2 * np.pi * TIME_STEP_S / 0.5
    bound = 0.5 * change * np.linalg.norm(ACCELERATION) * TIME_STEP_S**2 / SPACING_M
    assert ROUND_OFF < np.abs(pull - push).max() < bound


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        ({"turn": ROCKED}, "has a turn but no acceleration_m_s2"),
        (
            {"acceleration_m_s2": ACCELERATION, "pressure_drop_pa": [1.0, 0.0, 0.0], "turn": ROCKED},
            "a turn and pressure_drop_pa",
        ),
        ({"acceleration_m_s2": ACCELERATION, "turn": {"angle_rad": 1.0, "axis": [1.0, 0.0, 0.0]}}, "flow.turn.axis"),
        ({"acceleration_m_s2": ACCELERATION, "turn": {"angle_rad": 1.0, "axis": [0.0, 0.0, 0.0]}}, "axis"),
        (
            {"acceleration_m_s2": ACCELERATION, "turn": {"angle_rad": 1.0, "waveform": {"period_s": 1e-9}}},
            "flow.turn.waveform has a wave of",
        ),
    ],
)
def test_a_turn_that_makes_no_sense_is_refused(flow, message):
    with pytest.raises(InputError, match=message):
        simulate(periodic_channel(flow=flow))


SHAKEN = {"acceleration_m_s2": [0.3, 0.0, 0.0], "waveform": {"period_s": 0.5, "mean": 0.0, "sine": [1.0]}}


def record(folder, headings, rows):
    """The [flow] section of gravity and a record of accelerations."""
    lines = [",".join(f"{value:g}" for value in row) for row in rows]
    (folder / "record.csv").write_text("\n".join((headings, *lines)) + "\n")
    return {"acceleration_m_s2": ACCELERATION, "accelerations": [{"file": "record.csv"}]}


def test_accelerations_add_up_each_with_its_own_course_in_time_and_do_not_turn(tmp_path):
    flow = record(tmp_path, "time [ms],x [cm/s^2],y,z", [[0, 0, 0.0, 0], [1000 * TIME_STEP_S, 2.0, 0.01, 0]])
    flow = flow | {"turn": ROCKED, "accelerations": [SHAKEN, *flow["accelerations"]]}
    simulation = simulate(periodic_channel(tmp_path, flow=flow), 7)
    force = simulation.present_force / simulation.units.acceleration_to_lattice(1.0)
    phase = np.sin(2.0 * np.pi * simulation.time_s / 0.5)
    turned = Turn(np.array([0.0, 0.0, 1.0]), 0.4 * phase)(np.array(ACCELERATION), np.zeros(1))[0]
    assert force == pytest.approx(turned + [0.3 * phase + 0.02, 0.01, 0.0], rel=1e-12)


def test_a_record_is_straight_between_its_rows_and_stays_what_it_was_behind_the_last(tmp_path):
    flow = record(tmp_path, "t,x,y,z", [[0, 0.0, 0, 0], [4 * TIME_STEP_S, 0.04, 0, 0], [6 * TIME_STEP_S, 0.0, 0, 0]])
    simulation = simulate(periodic_channel(tmp_path, flow=flow))
    found = []
    for _ in range(8):
        simulation.step()
        found.append(simulation.present_force[0] / simulation.units.acceleration_to_lattice(1.0))
    record_m_s2 = np.array([0.01, 0.02, 0.03, 0.04, 0.02, 0.0, 0.0, 0.0])
    assert np.array(found) == pytest.approx(ACCELERATION[0] + record_m_s2, abs=1e-12)


@pytest.mark.parametrize("streaming", STREAMINGS)
def test_a_single_acceleration_with_a_waveform_is_the_acceleration_of_the_flow_with_it(streaming):
    found, expected = (velocity(flow, streaming=streaming) for flow in ({"accelerations": [SHAKEN]}, SHAKEN))
    assert np.array_equal(found, expected) and np.abs(expected).max() > 1e-3


BAD_ACCELERATIONS = {
    "constant": ({"acceleration_m_s2": ACCELERATION}, r"flow.accelerations\[0\] has no waveform"),
    "both": (SHAKEN | {"file": "record.csv"}, r"flow.accelerations\[0\]"),
    "out of the plane": (SHAKEN | {"acceleration_m_s2": [0.0, 0.0, 0.5]}, "two-dimensional"),
    "fast": (SHAKEN | {"waveform": {"period_s": 1e-9}}, r"flow.accelerations\[0\].waveform has a wave of"),
    "absent": ({"file": "nothing.csv"}, r"flow.accelerations\[0\].file: cannot read"),
}


@pytest.mark.parametrize("what", BAD_ACCELERATIONS)
def test_an_acceleration_that_makes_no_sense_is_refused(what):
    term, message = BAD_ACCELERATIONS[what]
    with pytest.raises(InputError, match=message):
        simulate(periodic_channel(flow={"accelerations": [term]}))


@pytest.mark.parametrize(
    ("headings", "row", "message"),
    [
        ("t,x,y", [1, 0, 0], "must have four columns"),
        ("t,x,y", [1, 0, 0, 0], "3 headings over 4 columns"),
        ("t,x [m/s],y,z", [1, 0, 0, 0], r"the heading 'x \[m/s\]' has the unit 'm/s'"),
        ("t,x,y,z", [-1, 0, 0, 0], "the first one ascending"),
    ],
)
def test_a_bad_record_is_refused(tmp_path, headings, row, message):
    flow = record(tmp_path, headings, [[0.0] * len(row), row])
    with pytest.raises(InputError, match=message):
        simulate(periodic_channel(tmp_path, flow=flow))


def test_a_field_of_accelerations_is_not_shaken():
    flow = {"acceleration_file": "field.npy", "accelerations": [SHAKEN]}
    with pytest.raises(InputError, match="has accelerations and an acceleration_file"):
        periodic_channel(flow=flow)
