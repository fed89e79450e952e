"""Bounds of case files: size, depth and numbers are sane, and whatever is not ends in one message of sane length."""

import os
import re
import tomllib

import pytest

from muphy_lb.__main__ import _refuse_to_forget
from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.waveform import read_table
from muphy_lb.case.boundaries import WaveformSection
from muphy_lb.case.case import as_case, case_from_dict, load_case
from muphy_lb.setup.numerics import resolve
from muphy_lb.setup.waveforms import waveform_factor

TEXT = """\
title = "a channel"

[geometry]
shape = "channel"
spacing_m = 1e-4

[[openings]]
name = "inlet"
velocity_m_s = 0.01

[fluid]
density_kg_m3 = 1000.0
kinematic_viscosity_m2_s = 1e-6

[lattice]
relaxation_time = 0.8

[run]
steps = 4
"""
LONGEST = 8000


def said(tmp_path, text, *overrides) -> str:
    """What a case file is refused with."""
    (tmp_path / "case.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_case(tmp_path / "case.toml", overrides)
    assert len(str(caught.value)) < LONGEST
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("steps = 4", "steps = " + "9" * 5000, "not valid TOML: it holds an integer of thousands of digits"),
        ("steps = 4", "steps = " + "9" * 4000, "run.steps is an integer of 13288 bits"),
        ("steps = 4", "steps = 0x" + "f" * 100000, "run.steps is an integer of 400000 bits"),
        ("1e-6", "9" * 4000, "fluid.kinematic_viscosity_m2_s is an integer of"),
        ("1e-6", "1e300", r"fluid.kinematic_viscosity_m2_s is 1e\+300: it must be at most 1e\+30"),
        ("1e-6", "1e-300", "fluid.kinematic_viscosity_m2_s is 1e-300: must be at least 1e-30"),
        ("title", ".".join(["a"] * 100000), "a key of 100000 parts; at most 32 are allowed"),
        ("[run]", "[" + ".".join(["a"] * 100000) + "]\n[run]", "a key of 100000 parts"),
        ("[run]", "[run]\nx = " + "[" * 5000, "not valid TOML"),
        ("[run]", "[run]\n" + "k" * 100000 + " = 1", r"run.k{60}\.\.\. is an unknown key"),
        ("[lattice]", "[lattice]\nsmagorinsky = 1e20", "lattice.smagorinsky is 1e.20: must be less than or equal to 1"),
        ("[run]", "[flow]\nacceleration_m_s2 = 5\n[run]", "flow.acceleration_m_s2 is 5: must be a list"),
        ("[run]", "[output]\nfields = 5\n[run]", "output.fields is 5: must be a list"),
        ('"inlet"', '"' + "x" * 300 + '"', "name is 'xxx"),
    ],
)
def test_a_value_beyond_all_bounds_is_one_message(tmp_path, old, new, message):
    text = said(tmp_path, TEXT.replace(old, new, 1))
    assert re.search(message, text), text


@pytest.mark.parametrize(
    "override",
    [
        "run.steps=" + "[" * 100000,
        "run.steps=" + "9" * 5000,
        "run.steps=" + "9" * 4000,
        "run.steps=" + "{a=" * 500,
        ".".join(["a"] * 100000) + "=1",
        "openings.inlet.velocity_m_s={a = {a = {}}}",
    ],
)
def test_an_override_beyond_all_bounds_is_one_message(tmp_path, override):
    assert "1 problem" in said(tmp_path, TEXT, override)


def test_not_more_than_twenty_problems_are_listed_and_the_others_counted(tmp_path):
    text = said(tmp_path, TEXT + "".join(f"stops{k} = 1\n" for k in range(2000)))
    assert text.count("is an unknown key") == 20 and "has 1980 more problems" in text


def test_problems_of_many_entries_are_cut_too(tmp_path):
    assert said(tmp_path, TEXT + "[[openings]]\nname = 5\n" * 500).count("\n") < 25


MANY = "[" + "0.1," * 50_000 + "]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[probes]]\nname = 'p'\npoint_m = [0, 0, 0]\n" * 1001, "probes holds 1001 entries; at most 1000"),
        (f"[flow]\nwaveform = {{period_s = 1.0, sine = {MANY}}}", "waveform.sine holds 50000 entries; at most 200"),
        (f"[compute]\nrank_speeds = {MANY[:-1] * 3}]".replace(",[", ","), "rank_speeds holds 150000 entries"),
        ("[free_surface]\n" + "[[free_surface.liquid]]\nlevel_m = 1.0\n" * 20_000, "liquid holds 20000 entries"),
        (
            "[free_surface.bubbles]\n" + "[[free_surface.bubbles.spheres]]\nradius_m = 1.0\n" * 20_000,
            "bubbles.spheres holds 20000 entries",
        ),
        ("[[segments]]\nname = 's'\n" * 1001 + "[[wall_regions]]\n" * 1001, "(?s)segments holds .*wall_regions holds"),
        (f"[output]\nfields = {MANY}", "output.fields holds 50000 entries"),
    ],
)
def test_a_list_without_bounds_is_refused_by_its_length(tmp_path, text, message):
    text = said(tmp_path, f"{TEXT}{text}\n")
    assert re.search(message, text), text
    assert text.count("\n") < 4


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_tables_of_any_line_ends_are_read(tmp_path, end):
    (tmp_path / "table.csv").write_bytes(f"t,f{end}0,1{end}0.5,2{end}1,1{end}".encode())
    time_s, value = read_table(tmp_path / "table.csv", "waveform.file")
    assert time_s.tolist() == [0, 0.5, 1] and value.tolist() == [1, 2, 1]


@pytest.mark.parametrize("rows", ["t;f\n0;1\n1;1\n", "t;f\n0,0;1,5\n1,0;1,5\n", "t,f\n0,0;1,5\n1,0;1,5\n"])
def test_tables_with_semicolons_are_told_what_a_table_is(tmp_path, rows):
    (tmp_path / "table.csv").write_text(rows)
    with pytest.raises(InputError, match=r"second line is '.*;.*divided by commas, and numbers have points"):
        read_table(tmp_path / "table.csv", "waveform.file")


def test_a_file_that_is_too_long_or_no_file_is_not_read(tmp_path):
    assert "at most 4194304" in said(tmp_path, TEXT + "#" * 2**22)
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(InputError, match="is a pipe or a device"):
        load_case(tmp_path / "pipe.toml")


@pytest.mark.parametrize("name", ["x" * 300 + ".toml", "a\0b.toml"])
def test_names_that_no_file_can_have_are_refused(name):
    with pytest.raises(InputError, match="case file"):
        load_case(name)


def test_an_output_folder_with_too_long_a_name_holds_no_checkpoints():
    _refuse_to_forget("x" * 300)


@pytest.mark.parametrize("rows", ["0,1e308\n1,1e308\n", "0,1\n1e200,1\n"])
def test_tables_hold_numbers_whose_products_are_numbers(tmp_path, rows):
    (tmp_path / "table.csv").write_text("r,v\n" + rows)
    with pytest.raises(InputError, match="two columns of finite numbers, at most 1e.30"):
        read_table(tmp_path / "table.csv", "openings.inlet.profile_file")


@pytest.mark.parametrize("changes", ["run.steps=10", [10]])
def test_changes_of_a_case_are_not_one_text(changes):
    with pytest.raises(
        InputError, match=r"of type (str|list); give values by dotted key, such as .* a list of strings"
    ):
        as_case(tomllib.loads(TEXT), changes)


@pytest.mark.parametrize(
    "changes", [{"run.steps": 10, "run.wall_time": "00:00:03"}, ["run.steps=10", "run.wall_time=00:00:03"]]
)
def test_changes_of_a_case_are_a_dictionary_or_texts(changes):
    case = as_case(tomllib.loads(TEXT), changes)
    assert (case.run.steps, case.run.wall_time_s) == (10, 3.0)
    assert case_from_dict(tomllib.loads(case.to_toml())) == case


def test_a_table_is_not_read_from_a_device():
    with pytest.raises(InputError, match="waveform.file: cannot read /dev/zero: it is a pipe or a device"):
        read_table("/dev/zero", "waveform.file")


def test_a_curve_that_leaves_its_points_by_far_is_refused(tmp_path):
    (tmp_path / "wave.csv").write_text("t,f\n0,1\n1e-300,0.5\n0.75,0.7\n1,1\n")
    case = case_from_dict(tomllib.loads(TEXT), tmp_path)
    with pytest.raises(InputError, match="some points are much closer together than others"):
        waveform_factor(case, WaveformSection(file="wave.csv"))


def with_waveform(**keys):
    """The case with a waveform at its inlet."""
    table = tomllib.loads(TEXT)
    table["openings"][0]["waveform"] = keys
    return case_from_dict(table)


def test_a_waveform_faster_than_the_time_steps_is_refused():
    step_s = resolve(with_waveform(period_s=1.0, sine=[0.5])).units.time_step_s
    for keys in ({"period_s": 1.9 * step_s, "sine": [0.5]}, {"period_s": 7.9 * step_s, "cosine": [0.0, 0.0, 0.0, 0.5]}):
        with pytest.raises(InputError, match=r"openings.inlet.waveform has a wave of .*1\.9\d* time steps; at least 2"):
            resolve(with_waveform(**keys))
    resolve(with_waveform(period_s=2.1 * step_s, sine=[0.5]))
