"""``muphy-lb new vessel`` with a beating heart: outlets give the pressures asked for; messages where none can."""

import tomllib

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.feedback import ImposedPressure, LumpedOutlet, windkessel
from muphy_lb.case.case import load_case
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from muphy_lb.setup.advice.expected_pressures import expected_pressures_pa
from muphy_lb.setup.waveforms import waveform_factor
from tests.interface.test_new_command import write

MMHG = 133.322
HEART = ["--mean-pressure", "93 mmHg", "--pulse-pressure", "40 mmHg"]
SMALL = ["vessel", "--fluid", "water", "--spacing", 5e-4, "--velocity", 0.02]
SOFT = ["--mean-pressure", 100.0, "--pulse-pressure", 80.0, "--beat", 0.2]


def pressures_of(case) -> np.ndarray:
    """(60, 400) pressure behind the outlets of a case in each beat, without the vessel."""
    inlet, *others = case.openings
    outlets = [
        LumpedOutlet(
            windkessel(w.resistance_pa_s_m3, w.compliance_m3_pa, w.characteristic_resistance_pa_s_m3),
            ImposedPressure(),
            w.initial_pressure_pa,
            16,
        )
        for w in (opening.windkessel for opening in others)
    ]
    step_s = inlet.waveform.period_s / 400.0
    flow = inlet.flow_rate_m3_s * waveform_factor(case, inlet.waveform)(step_s * np.arange(60 * 400))
    return expected_pressures_pa(outlets, flow, step_s)[0].reshape(60, 400)


@pytest.mark.parametrize("pulse", [30.0, 40.0, 80.0])
def test_the_networks_of_a_new_vessel_give_the_mean_and_the_pulse_pressure(pulse, tmp_path):
    path, _ = write(tmp_path, ["vessel", "--mean-pressure", "93 mmHg", "--pulse-pressure", f"{pulse} mmHg"])
    first, *_, last = pressures_of(load_case(path)) / MMHG
    assert last.mean() == pytest.approx(93.0, rel=0.002) and np.ptp(last) == pytest.approx(pulse, rel=0.01)
    np.testing.assert_allclose(first, last, atol=5e-3 * pulse)  # it starts as any beat does


def test_outlets_share_resistance_and_compliance_by_murrays_law(tmp_path):
    """Flow as the cube of the radii, 6 to 4.7 voxels; all time constants are equal."""
    tables = {}
    for exponent in (2.0, 3.0):
        path, _ = write(tmp_path, [*SMALL, *SOFT, "--murray", exponent, "--yes"])
        first, second = (opening["windkessel"] for opening in tomllib.loads(path.read_text())["openings"][1:])
        assert second["resistance_pa_s_m3"] * second["compliance_m3_pa"] == pytest.approx(
            first["resistance_pa_s_m3"] * first["compliance_m3_pa"], rel=1e-4
        )
        tables[exponent] = second["resistance_pa_s_m3"] / first["resistance_pa_s_m3"]
    assert tables[3.0] == pytest.approx(tables[2.0] ** 1.5, rel=1e-3) and tables[2.0] > 1.3


def test_given_shares_and_a_given_flow_are_kept(tmp_path):
    words = ["vessel", *HEART, "--flow-rate", "12 mL/min", "--split", "outlet_1=0.8", "--split", "outlet_2=0.2"]
    path, said = write(tmp_path, words)
    case = load_case(path)
    one, two = (opening.windkessel.resistance_pa_s_m3 for opening in case.openings[1:])
    assert two / one == pytest.approx(4.0, rel=1e-4) and "outlet_1 0.8, outlet_2 0.2" in said
    assert case.openings[0].flow_rate_m3_s == pytest.approx(2e-7, rel=1e-4)
    assert case.openings[0].profile == "womersley" and case.run.periodic_tolerance == 0.01


def test_a_new_vessel_with_a_heart_raises_no_other_warning(tmp_path):
    """But for the relaxation time, which small steps in time bring about: the pressure asks for them."""
    path, said = write(tmp_path, ["vessel", *HEART])
    warnings = [line for line in said.splitlines() if line.startswith("warning")]
    assert all("is close to 0.5" in line for line in warnings) and "Womersley number" in said
    assert load_case(path).flow.reference_pressure_pa == pytest.approx(93.0 * MMHG, rel=1e-4)


@pytest.mark.night
def test_the_run_of_a_new_vessel_has_the_pressures_asked_for(tmp_path):
    """With 4 to 6 voxels across, within 5 % of the mean and 14 % of the pulse; it ends by itself. The pulse of the
    smaller outlet is 13.1 % low; an update every 16 steps, late by as much, made it 11.4 %."""
    path, _ = write(tmp_path, [*SMALL, *SOFT])
    small = ["compute.backend=cpu", "output.picture=false", "output.vtk=false", "output.report=false"]
    reason, summary = Run(Solver(load_case(path, small), SerialCommunicator()), tmp_path / "out").execute()
    assert reason == "periodic" and summary["verdict"] == "sound"
    for name in ("outlet_1", "outlet_2"):
        beat = summary["periodicity"]["last_beat"][name]
        assert beat["pressure_pa"] == pytest.approx(100.0, rel=0.05)
        assert beat["highest_pressure_pa"] - beat["lowest_pressure_pa"] == pytest.approx(80.0, rel=0.14)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--mean-pressure", 100], "--mean-pressure needs --pulse-pressure, too"),
        (["--flow-rate", 1e-7], "--flow-rate needs --mean-pressure and --pulse-pressure, too"),
        ([*SOFT[:2], "--pulse-pressure", 250], "would fall below zero"),
        ([*SOFT[:2], "--pulse-pressure", 1], "with a mean of 100 Pa and this waveform it can be 2"),
        ([*SOFT, "--murray", 9], "--murray is 9; it must be 1 to 4"),
        ([*SOFT, "--murray", 3, "--split", "outlet_1=1"], "--murray and --split are both given"),
        ([*SOFT, "--split", "outlet_1=0.4", "--split", "outlet_2=0.5"], "they add up to 0.9"),
        ([*SOFT, "--split", "outlet_1=0.4", "--split", "out=0.6"], "the outlets are outlet_1, outlet_2"),
        ([*SOFT, "--split", "outlet_1"], "is not OUTLET=SHARE"),
        ([*SOFT, "--flow-rate", 1e-7, "--velocity", 0.1], "--velocity and --flow-rate are both given"),
        (["--mean-pressure", 0.0, "--pulse-pressure", 1.0], "--mean-pressure is 0; give a number above zero"),
    ],
)
def test_what_no_circulation_has_is_refused(words, expected, tmp_path):
    with pytest.raises(InputError, match=expected):
        write(tmp_path, ["vessel", *words])


def test_a_heart_does_not_beat_in_a_rock(tmp_path):
    with pytest.raises(InputError, match="leave it out for a rock"):
        write(tmp_path, ["rock", *HEART])
