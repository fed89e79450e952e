"""Laws of the case record: defaults, writing back, overrides."""

import copy
import pickle
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muphy_lb.base.errors import InputError
from muphy_lb.base.key_units import unit_of
from muphy_lb.case.case import case_from_dict, load_case

TEXT = """
title = "a pipe"
[geometry]
file = "images/pipe.npy"
periodic = ["x", "z"]
[geometry.options]
fluid_value = 1
nested = {a = [1, 2.5], "odd key" = "x"}
[[openings]]
name = "inlet"
kind = "inlet"
centre_m = [0, 0.001, 0.001]
normal = [1, 0, 0]
velocity_m_s = 0.1
profile = "parabolic"
[[openings]]
name = "outlet"
pressure_pa = 0.0
[fluid]
density_kg_m3 = 1055.0
kinematic_viscosity_m2_s = 2.84e-6
[lattice]
relaxation_time = 0.8
[run]
steps = 10_000
"""


@pytest.fixture
def case_file(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_values_are_plain_attributes_absent_ones_defaults_and_the_folder_is_that_of_the_file(case_file):
    case = load_case(case_file)
    assert (case.geometry.file, case.openings[0].velocity_m_s, case.run.steps) == ("images/pipe.npy", 0.1, 10_000)
    assert (case.compute.backend, case.flow.acceleration_m_s2, case.run.max_mach) == ("auto", (0.0, 0.0, 0.0), 0.5)
    assert case.folder == case_file.parent and case.run.wall_time_s is None


def test_written_case_holds_every_default(case_file):
    written = tomllib.loads(load_case(case_file).to_toml())
    assert written["output"]["series_every_steps"] == 100


def test_case_written_for_another_folder_finds_the_same_geometry(case_file, tmp_path):
    written = tomllib.loads(load_case(case_file).to_toml(tmp_path / "out" / "run"))
    assert Path(tmp_path, "out", "run", written["geometry"]["file"]).resolve() == tmp_path / "images" / "pipe.npy"


@given(
    title=st.text(st.characters(exclude_categories=["Cs"])),
    options=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])).filter(lambda name: unit_of(name, {}) is None),
        st.recursive(
            st.booleans()
            | st.integers(-(2**63), 2**63 - 1)
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(st.characters(exclude_categories=["Cs"])),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab .\"'\n", max_size=3), inner),
            max_leaves=6,
        ),
        max_size=3,
    ),
)
def test_any_text_and_options_survive_writing(title, options):
    table = tomllib.loads(TEXT) | {"title": title}
    table["geometry"]["options"] = options
    case = case_from_dict(table)
    assert case_from_dict(tomllib.loads(case.to_toml())) == case


def test_case_cannot_be_changed(case_file):
    with pytest.raises(InputError, match="does not change"):
        load_case(case_file).run.steps = 1


def test_case_survives_pickling_with_its_folder(case_file):
    case = load_case(case_file)
    copied = pickle.loads(pickle.dumps(case))
    assert copied == case and copied.folder == case.folder


def test_making_a_case_leaves_the_given_tables_alone():
    table = tomllib.loads(TEXT)
    before = copy.deepcopy(table)
    case_from_dict(table)
    assert table == before


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("run.steps=100", lambda case: case.run.steps == 100),
        ("openings.inlet.velocity_m_s = 0.2", lambda case: case.openings[0].velocity_m_s == 0.2),
        ("compute.backend=cpu", lambda case: case.compute.backend == "cpu"),
        ('title="two words"', lambda case: case.title == "two words"),
        ("geometry.options.fluid_value=0", lambda case: case.geometry.options["fluid_value"] == 0),
        ("flow.acceleration_m_s2=[1, 0, 0]", lambda case: case.flow.acceleration_m_s2 == (1.0, 0.0, 0.0)),
        ("output.vtk=false", lambda case: case.output.vtk is False),
        ('run.wall_time="30:01:02"', lambda case: case.run.wall_time_s == 30 * 3600 + 62),
    ],
)
def test_override_sets_its_value(case_file, override, value):
    assert value(load_case(case_file, [override]))


def test_override_without_value_removes_the_key(case_file):
    case = load_case(case_file, ["run.steps=", "run.time_s=0.5"])
    assert (case.run.steps, case.run.time_s) == (None, 0.5)


@pytest.mark.parametrize("override", ["initial.file=", "thermal.nothing=", "wall_regions.x="])
def test_removing_a_key_makes_no_section(case_file, override):
    assert load_case(case_file, [override]) == load_case(case_file)
