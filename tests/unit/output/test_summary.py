"""The summary is strict JSON."""

import json
from pathlib import Path

import numpy as np
import pytest

from muphy_lb.output.summary import write_summary


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
