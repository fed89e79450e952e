"""Relative permeability and drainage: what their folders hold is continued, or refused, never mixed."""

import csv
import json
import signal
from types import SimpleNamespace

import numpy as np
import pytest

from muphy_lb.apps.rock.curve import PERMEABILITIES, with_bars
from muphy_lb.apps.rock.displacement_steps import SaturationSteps, Steps, common_slope, with_permeabilities
from muphy_lb.apps.rock.relative_permeability import _told
from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.case.toml import toml_lines
from muphy_lb.measure.displacement import displacement_of
from muphy_lb.measure.permeability import nodes_in_rock
from muphy_lb.output.charts import line_chart
from muphy_lb.run.simulation import Simulation
from muphy_lb.run.solver import Solver
from muphy_lb.run.stop_signals import StopSignals
from tests.laws.smallest import merged
from tests.laws.test_two_fluid import FLOW, TENSION, channel
from tests.vessel import command

WAVEFORM = {"period_s": 10.0, "sine": [1.0]}
QUIET = {"compute": {"backend": "numpy"}, "output": {"picture": False, "report": False, "series_every_steps": 2}}
BETWEEN_PRESSURES = {
    "geometry": channel(10, 6, ends="open"),
    "openings": [
        {"name": "inlet", "pressure_pa": 0.0, "second_fluid": 1.0},
        {"name": "outlet", "pressure_pa": 0.0, "blocks_second": True},
    ],
    "two_fluid": {"second": [{"box_m": [[-9.0, -9.0, -9.0], [5.0, 99.0, 9.0]]}]},
    "run": {"steps": 40},
}
PERIODIC = {
    "geometry": channel(4, 6),
    "flow": {"acceleration_m_s2": [1e-5, 0.0, 0.0]},
    "walls": [{"name": "low", "box_m": [[-9.0, -9.0, -9.0], [9.0, 0.0, 9.0]], "wetting_angle_deg": 60.0}],
    "output": {"fields": ["phase"]},
    "run": {"steps": 80},
}


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """Function ``typed(case, *words)``: the exit code of a command on a case, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(case, *words):
        (tmp_path / "case.toml").write_text("\n".join(toml_lines(merged(FLOW, merged(QUIET, case)))))
        return command(words[0], "case.toml", *words[1:], "-o", "out")

    return run


def test_drainage_goes_on_with_the_same_case_alone(typed, tmp_path):
    table = tmp_path / "out" / "capillary_pressure.csv"
    typed(BETWEEN_PRESSURES, "drainage", "--pressures", "0.004,0.006")
    whole = table.read_bytes()
    typed(BETWEEN_PRESSURES, "drainage", "--pressures", "0.004", "--overwrite")
    for words, told in (
        (["0.004,0.006", "--set", "openings.outlet.pressure_pa=0.001"], r"outlet\.pressure_pa was 0\.0, is 0\.001"),
        (["0.004,0.006", "--settled-within", "0.5"], r"--settled-within was 0\.001, is 0\.5"),
        (["0.005,0.006"], r"--pressures began with 0\.004"),
        (["0.004", "--settled-within", "nan"], "--settled-within is nan; give a share"),
    ):
        with pytest.raises(InputError, match=told):
            typed(BETWEEN_PRESSURES, "drainage", "--pressures", *words)
    typed(BETWEEN_PRESSURES, "drainage", "--pressures", "0.004,0.006")
    assert table.read_bytes() == whole
    record = json.loads(table.with_suffix(".json").read_text())
    older = [{name: row[name] for name in row if name != "first_saturation"} for row in record["points"]]
    table.with_suffix(".json").write_text(json.dumps(record | {"points": older}))
    with pytest.raises(InputError, match="by another version of muphy-lb: it has no 'first_saturation', .*--overwrite"):
        typed(BETWEEN_PRESSURES, "drainage", "--pressures", "0.004")
    table.with_suffix(".json").write_text("{")
    with pytest.raises(InputError, match="is damaged, or not a record of this command; give --overwrite"):
        typed(BETWEEN_PRESSURES, "drainage", "--pressures", "0.004")


def test_a_saturation_settles_twice_in_a_row(typed, tmp_path):
    """In a first look the change of pressure may not have reached the interface."""
    assert typed(BETWEEN_PRESSURES, "drainage", "--pressures", "0.004", "--settled-within", "0.9") == 0
    assert json.loads((tmp_path / "out" / "capillary_pressure.json").read_text())["points"][0]["steps"] == 6


def test_a_saturation_is_held_by_the_share_that_enters(typed, tmp_path):
    """Where both fluids flow past each other; the share is that which leaves, and a stopped command continues."""
    openings = [{"name": "inlet", "velocity_m_s": 0.02}, {"name": "outlet", "pressure_pa": 0.0}]
    case = BETWEEN_PRESSURES | {"openings": openings, "run": {"steps": 4000}, "compute": {"backend": "cpu"}}
    words = ("drainage", "--settled-within", "0.02", "--saturations")
    assert typed(case, *words, "0.6,0.45") == 0
    table = tmp_path / "out" / "fractional_flow.csv"
    whole = table.read_bytes()
    rows = list(csv.DictReader(table.open()))
    assert [float(row["first_saturation"]) for row in rows] == pytest.approx([0.6, 0.45], abs=0.02)
    assert all(0.0 < float(row["second_share"]) < 1.0 and float(row["pressure_drop_pa"]) > 0.0 for row in rows)
    assert all(float(row["box_lengths"]) >= 8.0 for row in rows)
    typed(case, *words, "0.6", "--overwrite")
    typed(case, *words, "0.6,0.45")
    assert table.read_bytes() == whole
    # In so short a channel the saturation swings once or twice meanwhile, and has the error of a single value.
    assert all(float(row["saturation_error"]) < 0.06 and float(row["first_standard_error"]) > 0.0 for row in rows)
    for asked, told in (("1.2", "--saturations is '1.2'; give numbers"), ("0.7", "--saturations began with 0.6, 0.45")):
        with pytest.raises(InputError, match=told):
            typed(case, *words, asked)
    assert "capillary_pressure_pa" not in json.loads(table.with_suffix(".json").read_text())["points"][0]
    openings[1]["blocks_second"] = True
    with pytest.raises(InputError, match=r"outlet\.blocks_second keeps the second fluid in the rock"):
        typed(case, *words, "0.6")


def test_a_saturation_that_is_met_in_passing_has_not_settled(typed, tmp_path, capsys):
    """In the few steps of the case both fluids have not gone through the rock, and flow as they did before."""
    openings = [{"name": "inlet", "velocity_m_s": 0.02}, {"name": "outlet", "pressure_pa": 0.0}]
    case = BETWEEN_PRESSURES | {"openings": openings, "run": {"steps": 400}, "compute": {"backend": "cpu"}}
    assert typed(case, "drainage", "--settled-within", "0.02", "--saturations", "0.6") == 1
    (row,) = json.loads((tmp_path / "out" / "fractional_flow.json").read_text())["points"]
    assert row["first_saturation"] == pytest.approx(0.6, abs=0.02) and not row["is_settled"]
    assert row["box_lengths"] == pytest.approx(row["steps"] * 0.02 / 10)
    assert (
        "1.1 lengths of the rock: below 8 lengths mean flows remember their start; 8 lengths take"
        in capsys.readouterr().out
    )


def between_reservoirs(tmp_path, layers=12, **keys):
    """A slit between reservoirs of the first fluid, which the second one has to come through."""
    pores = np.ones((1, 8, 30), np.uint8)
    pores[:, 1:7] = 0
    np.save(tmp_path / "pores.npy", pores)
    options = {"fluid_value": 0, "reservoir_layers": layers}
    openings = [{"name": "inlet", "velocity_m_s": 0.004}, {"name": "outlet", "pressure_pa": 0.0}]
    fluids = {"second": [{"box_m": [[-9.0, -9.0, -9.0], [1.0, 99.0, 9.0]]}]}
    geometry = {"file": "pores.npy", "spacing_m": 1.0, "options": options}
    return {"geometry": geometry, "openings": openings, "two_fluid": fluids} | keys


def test_a_saturation_is_not_stuck_before_the_second_fluid_has_come_through_the_reservoir(typed, tmp_path):
    words = ("drainage", "--settled-within", "0.02", "--saturations", "0.6")
    assert typed(between_reservoirs(tmp_path, run={"steps": 200}), *words) == 1
    assert json.loads((tmp_path / "out" / "fractional_flow.json").read_text())["points"][0]["steps"] == 200 + 8 * 5 * 2


def test_the_capillary_number_of_a_point_leaves_reservoirs_out(tmp_path, monkeypatch):
    """Where both fluids are slower: it was up to an eighth too small."""
    monkeypatch.chdir(tmp_path)
    core = Solver(case_from_dict(merged(FLOW, merged(QUIET, between_reservoirs(tmp_path)))))
    velocity = np.where(nodes_in_rock(core)[:, None], [0.0, 0.03, 0.04], 0.01)
    monkeypatch.setattr(core, "velocity_m_s", lambda: velocity)
    steps = Steps(SimpleNamespace(core=core), displacement_of(core.case, "drainage"), "inlet", 0.1, StopSignals())
    assert steps.capillary_number() == pytest.approx(0.05 * 0.1 / TENSION)


@pytest.mark.night
def test_what_is_on_its_way_through_the_reservoir_is_not_let_in_again(typed, tmp_path):
    """0.68 was reached for 0.8, and what had not come to the rock yet counted as what flows in it. Slugs pass one after
    the other, with the speed of all: each fluid flows as it would alone, by its share of the slit. In 1.5 lengths one
    slug comes in, and nothing behind it: k of 0 was told."""
    case = between_reservoirs(tmp_path, 3, run={"steps": 40000}, compute={"backend": "cpu"})
    typed(case, "drainage", "--settled-within", "0.05", "--saturations", "0.8")
    found = json.loads((tmp_path / "out" / "fractional_flow.json").read_text())["points"][0]
    assert found["first_saturation"] == pytest.approx(0.8, abs=0.05) and found["box_lengths"] > 8.0
    for fluid, share in (("first", found["first_saturation"]), ("second", 1.0 - found["first_saturation"])):
        assert found[f"{fluid}_relative_permeability"] == pytest.approx(share, abs=0.05)


@pytest.mark.night
def test_a_reservoir_that_holds_too_much_is_told_once_that_has_come_in(typed, tmp_path):
    """0.8 was met in passing, and k of a slug that moves in was told, -0.5(5)."""
    case = between_reservoirs(tmp_path, run={"steps": 3000}, compute={"backend": "cpu"})
    assert typed(case, "drainage", "--settled-within", "0.02", "--saturations", "0.8") == 1
    found = json.loads((tmp_path / "out" / "fractional_flow.json").read_text())["points"][0]
    assert not found["is_settled"] and found["first_saturation"] == pytest.approx(0.54, abs=0.02)
    assert abs(found["second_relative_permeability"]) < 0.02


def test_charts_have_the_bars_of_both_permeabilities():
    rows = [{"first_saturation": s, **dict.fromkeys(PERMEABILITIES, 0.1 * s)} for s in (0.8, 0.4)]
    (x, y, x_error, y_error), _ = with_bars(rows).values()
    assert x.tolist() == [0.8, 0.4] and not x_error.any() and y.tolist() == y_error.tolist() == [0.1 * 0.8, 0.1 * 0.4]
    plain, with_errors = (line_chart("a", "b", "c", {"d": (x, y, *bars)}) for bars in ((), (x_error, y_error)))
    assert plain != with_errors


def test_a_reservoir_ahead_of_a_porous_plate_is_told(typed, tmp_path, capsys):
    """Once it is full of the second fluid the rock's first one has no way out."""
    case = between_reservoirs(tmp_path, 3, run={"steps": 20}) | {"openings": BETWEEN_PRESSURES["openings"]}
    for ends, is_told in (("open", True), ("inlet", False)):
        case["geometry"]["options"]["reservoir_ends"] = ends
        typed(case, "drainage", "--pressures", "0.001", "--overwrite")
        told = capsys.readouterr().out
        assert ("a reservoir lies between the rock and the porous plate" in told) == is_told
        assert "the rock begins at a saturation of the first fluid of 0.9" in told  # two of thirty columns
    case["openings"] = [
        {"name": "outlet", "pressure_pa": 0.0, "second_fluid": 1.0},
        {"name": "inlet", "pressure_pa": 0.0, "blocks_second": True},
    ]
    typed(case, "drainage", "--pressures", "0.001", "--overwrite")  # layers lie at the inlet alone, which is the plate
    assert "a reservoir lies between the rock and the porous plate" in capsys.readouterr().out


def test_relative_permeabilities_are_those_of_mean_flows_and_the_mean_gradient():
    """Ratios of batches, of which one has hardly any gradient, once told negative ones."""
    gradient = np.array([2.0, -0.01, 2.01, 4.0, 2.0, 2.0, 2.0, 2.0])
    batches = np.array([[0.5, 0.4, 0.6, 0.4, 0.06, -0.02, each, 0.2] for each in gradient])
    found = with_permeabilities(batches, 1.0)
    mean = found.mean(axis=0)
    assert mean[2:6] == pytest.approx(np.array([0.6, 0.4, 0.06, -0.02]) / gradient.mean())
    assert mean[6] == pytest.approx(0.2 / gradient.mean())
    assert found[:, 2].std() == pytest.approx(mean[2] * gradient.std() / gradient.mean())
    assert np.isnan(with_permeabilities(batches * [1, 1, 1, 1, 1, 1, -1, 1], 1.0)[:, 2:]).all()


def test_the_gradient_is_that_of_both_fluids_beside_their_capillary_pressure():
    """It was that of the first fluid alone, of a few nodes where little of it is left."""
    x, is_second = np.arange(30.0), np.arange(30) >= 11
    assert common_slope(x, 2.0 - 0.01 * x + 0.3 * is_second, is_second.astype(np.int64)) == pytest.approx((-0.01, 0.0))
    scattered = np.where(is_second, 2.3 - 0.01 * x, 2.0 + 0.2 * np.sin(5.0 * x))
    slope, apart = common_slope(x, scattered, is_second.astype(np.int64))
    assert slope == pytest.approx(-0.01, rel=1e-3) and apart < 1e-3  # blobs count less
    apart = common_slope(x, np.where(is_second, 2.3 - 0.02 * x, 2.0 - 0.01 * x), is_second.astype(np.int64))[1]
    assert 0.003 < apart <= 0.005  # the capillary pressure is not uniform
    blob = np.isin(x, (3.0, 4.0)).astype(np.int64)
    around = 2.0 - 0.01 * x + 0.02 * np.sin(5.0 * x)
    without = np.polyfit(x[blob == 0], around[blob == 0], 1)[0]
    assert common_slope(x, np.where(blob, 2.3 + 0.1 * x, around), blob)[0] == pytest.approx(without, abs=2e-3)
    assert common_slope(x, 2.0 - 0.01 * x, np.ones(30, np.int64)) == pytest.approx((-0.01, 0.0))
    assert np.isnan(common_slope(np.ones(3), np.arange(3.0), np.arange(3))).all()


def test_a_streaming_without_two_fluids_is_refused_before_the_flow_of_one(typed, tmp_path, capsys):
    """Which takes the longest."""
    with pytest.raises(InputError, match=r"compute\.streaming is 'push' with \[two_fluid\]"):
        typed(
            between_reservoirs(tmp_path, compute={"streaming": "push"}),
            *("drainage", "--settled-within", "0.02", "--saturations", "0.6"),
        )
    assert "the first fluid alone" not in capsys.readouterr().out


def test_a_pressure_that_has_not_come_to_the_rock_is_refused(typed, tmp_path):
    """It was divided by."""
    with pytest.raises(InputError, match=r"does not fall from openings\.inlet .* in 20 steps"):
        typed(between_reservoirs(tmp_path, 40, run={"steps": 20}), "drainage", "--saturations", "0.6")


def test_the_flow_of_the_first_fluid_alone_is_stopped_by_a_signal(typed, tmp_path, monkeypatch, capsys):
    """Which comes first; a share that is given is told not to be used."""
    monkeypatch.setattr(StopSignals, "received", int(signal.SIGTERM))
    monkeypatch.setattr("muphy_lb.apps.rock.drainage.Simulation", None)
    words = ("drainage", "--saturations", "0.6", "--set", "openings.inlet.second_fluid=0.3")
    assert typed(between_reservoirs(tmp_path, run={"steps": 40}), *words) == 75
    assert "openings.inlet.second_fluid is not used" in capsys.readouterr().out


@pytest.mark.night
@pytest.mark.mpi
def test_a_saturation_is_held_by_the_same_share_on_two_ranks(typed, tmp_path, mpirun):
    """At an inlet whose flow rises at first, as by default; and nothing is held by what leaves."""
    openings = [{"name": "inlet", "velocity_m_s": 0.02}, {"name": "outlet", "pressure_pa": 0.0}]
    case = BETWEEN_PRESSURES | {"openings": openings, "run": {"steps": 40, "ramp_steps": 20}}
    words = ("drainage", "--settled-within", "0.1", "--saturations", "0.6")
    typed(case, *words)
    done = mpirun(2, ["-m", "muphy_lb", words[0], "case.toml", *words[1:], "-o", "two"], timeout=60)
    assert done.returncode in (0, 1) and not done.stderr.count("Traceback"), done.stderr
    one, two = ((tmp_path / name / "fractional_flow.csv").read_bytes() for name in ("out", "two"))
    assert one == two
    openings[0]["velocity_m_s"] = -0.02
    with pytest.raises(InputError, match="at a flow rate above 0"):
        typed(case, *words, "--overwrite")


def test_a_signal_ends_a_point_at_the_next_check_of_the_flow(typed, monkeypatch):
    """It was heard after a twentieth of the steps of the case."""
    made = []

    def step(sim, n_steps=1):
        made.append(n_steps)
        monkeypatch.setattr(StopSignals, "received", int(signal.SIGTERM))

    monkeypatch.setattr(Simulation, "step", step)
    case = BETWEEN_PRESSURES | {"run": {"steps": 10_000, "check_interval_steps": 50}}
    assert typed(case, "drainage", "--pressures", "0.004") == 75
    assert sum(made) == 50


def test_a_pressure_that_changes_by_itself_is_refused(typed):
    openings = [BETWEEN_PRESSURES["openings"][0], {"name": "outlet", "pressure_pa": 0.0, "waveform": WAVEFORM}]
    with pytest.raises(InputError, match=r"openings\.outlet\.waveform changes what"):
        typed(BETWEEN_PRESSURES | {"openings": openings}, "drainage", "--pressures", "0.004")


def test_a_force_beside_the_pressures_is_refused(typed):
    with pytest.raises(InputError, match=r"flow\.acceleration_m_s2 drives the flow beside the pressures"):
        typed(BETWEEN_PRESSURES | {"flow": PERIODIC["flow"]}, "drainage", "--pressures", "0.004")


def test_relative_permeability_takes_keys_of_both_fluids_and_damaged_summaries(typed, tmp_path):
    """Angles of walls and fields of both fluids, which the flow of the first alone knows nothing of."""
    words, folder = ("relative-permeability", "--saturations", "0.5,0.3"), tmp_path / "out"
    typed(PERIODIC, *words)
    table = folder / "relative_permeability.csv"
    before = table.read_bytes()
    (folder / "saturation_0.5" / "summary.json").write_text("{")
    typed(PERIODIC, *words)
    assert table.read_bytes() == before
    rows = list(csv.DictReader(table.open()))
    assert [row["started_from"] for row in rows] == ["invasion", "saturation_0.5"]
    assert [float(row["first_saturation"]) for row in rows] == pytest.approx([0.5, 0.3], abs=0.05)
    assert {row["second_parts"] for row in rows} == {"1"}


def test_pores_that_no_opening_reaches_are_refused(typed, tmp_path):
    pores = np.ones((1, 12, 20), np.uint8)
    pores[:, 1:7], pores[:, 9:11, 5:10] = 0, 0
    np.save(tmp_path / "pores.npy", pores)
    options = {"fluid_value": 0, "reservoir_layers": 3}
    geometry = {"file": "pores.npy", "spacing_m": 1.0, "keep": "all", "options": options}
    with pytest.raises(InputError, match=r"4\.95% of the nodes lie in pores that no opening reaches"):
        typed(BETWEEN_PRESSURES | {"geometry": geometry}, "drainage", "--pressures", "0.004")


def test_a_saturation_of_less_than_a_voxel_is_refused(typed):
    with pytest.raises(InputError, match="has less than a voxel of 24"):
        typed(PERIODIC, "relative-permeability", "--saturations", "0.001")


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"output": {"series_every_steps": 0}}, r"output\.series_every_steps steps, which is 0"),
        ({"flow": {"waveform": WAVEFORM}}, r"flow\.waveform changes them"),
    ],
)
def test_mean_flows_that_cannot_be_known_are_refused(keys, told):
    with pytest.raises(InputError, match=told):
        Solver(case_from_dict(merged(FLOW, merged(PERIODIC, {"two_fluid": {"known_within": 0.1}} | keys))))


def test_flows_of_another_method_are_refused(typed, tmp_path):
    """Such as those that started in the widest pores, whose numbers are others."""
    words = ("relative-permeability", "--saturations", "0.5")
    typed(PERIODIC, *words)
    (tmp_path / "out" / "saturation_0.5" / "method.txt").unlink()
    with pytest.raises(InputError, match=r"of another method \(that of an earlier version; now start by invasion"):
        typed(PERIODIC, *words)
    typed(PERIODIC, *words, "--overwrite")
    typed(BETWEEN_PRESSURES, "drainage", "--pressures", "0.004", "--overwrite")
    table = tmp_path / "out" / "capillary_pressure.json"
    record = json.loads(table.read_text())
    table.write_text(json.dumps(record | {"method": "another"}))
    with pytest.raises(InputError, match="the method was another, is start by invasion"):
        typed(BETWEEN_PRESSURES, "drainage", "--pressures", "0.004,0.006")


def test_too_few_looks_are_told(typed, capsys):
    """It told "nan" alone."""
    assert typed(PERIODIC, "relative-permeability", "--saturations", "0.5", "--set", "run.steps=20") == 1
    assert "NOT known, by too few looks: give more run.steps" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("lengths", "moved", "is_known", "told"),
    [
        (9.0, 0.3, True, "known after 1,000 steps and 9 lengths of the box"),
        (0.5, 0.0, True, "since the second quarter of the run: interfaces rest, and the flow is that of its start"),
        (0.0, 0.0, False, "below 8 lengths mean flows remember their start"),
        (0.5, 0.1, False, "below 8 lengths mean flows remember their start; 8 lengths take some 1.6e+04 steps"),
        (9.0, 0.3, False, "NOT known as well as asked for after 1,000 steps and 9 lengths of the box"),
    ],
)
def test_what_a_flow_remembers_is_told(lengths, moved, is_known, told):
    row = dict.fromkeys(PERMEABILITIES, 0.5) | {"first_saturation": 0.6, "capillary_number": 0.01, "steps": 1000}
    assert told in _told(row | {"box_lengths": lengths, "moved_share": moved, "is_known": is_known})


def test_a_rock_without_a_way_through_is_refused_before_the_flow_of_one(typed, tmp_path, capsys):
    """Its relative permeabilities were noise over a permeability of 0, "settled" or not."""
    pores = np.ones((1, 8, 20), np.uint8)
    pores[:, 1:7] = 0
    pores[:, :, 10] = 1
    np.save(tmp_path / "pores.npy", pores)
    cut = {"file": "pores.npy", "spacing_m": 1.0, "options": {"fluid_value": 0}}
    periodic = {"geometry": cut | {"periodic": "x"}}
    with pytest.raises(InputError, match="no pore leads round the box along x, where the force acts"):
        typed(PERIODIC | periodic | {"walls": []}, "relative-permeability", "--saturations", "0.5")
    assert "the first fluid alone" not in capsys.readouterr().out
    cut = {"geometry": cut | {"options": {"fluid_value": 0, "reservoir_layers": 3}}}
    with pytest.raises(InputError, match=r"no pore leads from openings\.inlet to another opening"):
        typed(BETWEEN_PRESSURES | cut, "drainage", "--pressures", "0.004")


def test_the_next_saturation_begins_with_the_share_that_leaves(typed, tmp_path, monkeypatch):
    """Each began with none, and had to learn it again."""
    begun = []

    class Steps(SaturationSteps):
        def at(self, point):
            begun.append(self._left)
            return super().at(point)

    monkeypatch.setattr("muphy_lb.apps.rock.drainage.SaturationSteps", Steps)
    openings = [{"name": "inlet", "velocity_m_s": 0.02}, {"name": "outlet", "pressure_pa": 0.0}]
    case, words = BETWEEN_PRESSURES | {"openings": openings, "run": {"steps": 40}}, ("drainage", "--saturations")
    typed(case, *words, "0.6,0.55,0.5")
    points = json.loads((tmp_path / "out" / "fractional_flow.json").read_text())["points"]
    assert begun == [0.0, *(point["leaving_share"] for point in points[:-1])]
    assert begun[1] != 0.0
    typed(case, *words, "0.6,0.55", "--overwrite")
    typed(case, *words, "0.6,0.55,0.5")
    assert begun == [*begun[:3], *begun[:3]]
