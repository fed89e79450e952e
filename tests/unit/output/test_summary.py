"""The summary is strict JSON."""

import json
from pathlib import Path

import numpy as np
import pytest

from muphy_lb.measure.flow_series import opening_lines
from muphy_lb.output.series import flow_split, pressure_drops_pa, write_summary

OPENINGS = {
    "a": {"kind": "inlet", "flow_rate_m3_s": 3.0, "mean_pressure_pa": 10.0, "area_m2": 1.0},
    "b": {"kind": "inlet", "flow_rate_m3_s": 1.0, "mean_pressure_pa": 40.0, "area_m2": 2.0},
    "c": {"kind": "outlet", "flow_rate_m3_s": 1.0, "mean_pressure_pa": 2.0, "area_m2": 1.0},
    "d": {"kind": "outlet", "flow_rate_m3_s": 3.0, "mean_pressure_pa": 0.0, "area_m2": 1.0},
}


def read_strict(path):
    """Parse JSON; refuse the words NaN and Infinity."""
    return json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_values_come_back(tmp_path):
    record = {"a": 1, "b": {"c": [1.5, "x", None, True]}}
    write_summary(tmp_path / "s.json", record)
    assert read_strict(tmp_path / "s.json") == record


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float32("nan"), np.array([np.nan])])
def test_what_is_not_finite_becomes_null(tmp_path, value):
    write_summary(tmp_path / "s.json", {"a": value})
    assert read_strict(tmp_path / "s.json")["a"] in (None, [None])


def test_numpy_values_and_paths_become_plain(tmp_path):
    write_summary(tmp_path / "s.json", {"a": np.int64(3), "b": np.arange(2), "c": Path("x"), "d": (np.float64(0.5),)})
    assert read_strict(tmp_path / "s.json") == {"a": 3, "b": [0, 1], "c": "x", "d": [0.5]}


def test_what_has_no_json_form_is_refused_and_nothing_written(tmp_path):
    with pytest.raises(TypeError):
        write_summary(tmp_path / "s.json", {"a": object()})
    assert list(tmp_path.iterdir()) == []


def test_flow_split_is_the_share_of_each_outlet():
    assert flow_split(OPENINGS) == {"c": 0.25, "d": 0.75}


def test_there_is_no_split_without_two_outlets_or_without_flow():
    assert flow_split({name: OPENINGS[name] for name in "abc"}) == {}
    assert flow_split({name: OPENINGS[name] | {"flow_rate_m3_s": 0.0} for name in OPENINGS}) == {}


def test_pressure_drops_are_those_from_the_mean_inlet_to_each_outlet():
    assert pressure_drops_pa(OPENINGS) == {"c": 28.0, "d": 30.0}
    assert pressure_drops_pa({"c": OPENINGS["c"]}) == {}


def test_a_summary_without_measurements_has_no_lines():
    assert opening_lines({"openings": {}, "flow_split": {}, "pressure_drops_pa": {}}) == []
