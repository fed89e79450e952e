"""Every mistake in a case file gets a message that names it, and all mistakes are reported together."""

import copy
import math
import tomllib

import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict, load_case

TEXT = """
[geometry]
shape = "pipe"
spacing_m = 1.0e-4
[[openings]]
name = "inlet"
kind = "inlet"
centre_m = [0, 0, 0]
normal = [0, 0, 1]
radius_m = 1.0e-3
velocity_m_s = 0.1
[[openings]]
name = "outlet"
pressure_pa = 0.0
[fluid]
density_kg_m3 = 1000.0
kinematic_viscosity_m2_s = 1.0e-6
[lattice]
relaxation_time = 0.8
[run]
steps = 100
"""
REMOVED = "no such key"


def changed(path, value):
    """The valid tables with one value replaced, added or removed."""
    table = whole = copy.deepcopy(tomllib.loads(TEXT))
    for key in path[:-1]:
        table = table.setdefault(key, {}) if isinstance(table, dict) else table[key]
    if value is REMOVED:
        del table[path[-1]]
    else:
        table[path[-1]] = value
    return whole


def message_of(table):
    with pytest.raises(InputError) as caught:
        case_from_dict(table)
    return str(caught.value)


MISTAKES = [
    (("run", "stepz"), 5, "run.stepz is an unknown key; did you mean 'steps'?"),
    (("fluid", "viscosity"), 5, "did you mean 'dynamic_viscosity_pa_s' or 'kinematic_viscosity_m2_s'?"),
    (("fluid", "dynamic_viscosity_pa_s"), 1e-3, "fluid needs exactly one of kinematic_viscosity_m2_s, dynamic_visc"),
    (("fluid", "kinematic_viscosity_m2_s"), REMOVED, "fluid needs exactly one of kinematic_viscosity_m2_s, dynamic_"),
    (("run", "qqq"), 5, "run.qqq is an unknown key; allowed: steps, time_s"),
    (("lattices",), {}, "lattices is an unknown key; did you mean 'lattice'?"),
    (("folder",), "x", "folder is an unknown key"),
    (("openings", 0, "velocity"), 1.0, "openings.inlet.velocity is an unknown key; did you mean 'velocity_m_s'?"),
    (("fluid", "density_kg_m3"), REMOVED, "fluid.density_kg_m3 is missing (density [kg/m3])"),
    (("fluid",), REMOVED, "fluid is missing"),
    (("fluid",), 3, "fluid is 3: must be a table"),
    (("openings",), {}, "openings is {}: must be a list"),
    (("openings", 0), 3, "openings[0] is 3: must be a table"),
    (("fluid", "density_kg_m3"), -1.0, "fluid.density_kg_m3 is -1.0: must be greater than 0"),
    (("fluid", "density_kg_m3"), math.nan, "fluid.density_kg_m3 is nan: must be"),
    (("fluid", "density_kg_m3"), math.inf, "fluid.density_kg_m3 is inf: must be a finite number"),
    (("openings", 1, "pressure_pa"), -math.inf, "openings.outlet.pressure_pa is -inf: must be a finite number"),
    (("fluid", "density_kg_m3"), "1000", "fluid.density_kg_m3 is '1000': must be a valid number"),
    (("fluid", "density_kg_m3"), True, "fluid.density_kg_m3 is True: must be a valid number"),
    (("run", "steps"), 1.5, "run.steps is 1.5: must be a whole number"),
    (("steps",), 100, "steps is not a section; did you mean run.steps?"),
    (("run", "wall_time"), 120, 'run.wall_time is 120: must be a string "HH:MM:SS"; 120 s are "00:02:00"'),
    (("run", "steps"), 0, "run.steps is 0: must be greater than 0"),
    (("run", "wall_time"), "1:99:00", "run.wall_time is '1:99:00'"),
    (
        ("run", "time_s"),
        1.0,
        "run needs exactly one of steps, time_s; it has steps and time_s;"
        " remove all but one (--set KEY= removes a key)",
    ),
    (("run", "steps"), REMOVED, "run needs exactly one of steps, time_s; it has none"),
    (("geometry", "file"), "a.stl", "geometry needs exactly one of file, shape; it has file and shape"),
    (("geometry", "spacing_m"), REMOVED, "geometry has a shape but no spacing_m"),
    (("geometry", "unit"), "km", "geometry.unit is 'km': must be m, cm, mm, um, a length such"),
    (("geometry", "periodic"), ["x", "w"], "geometry.periodic[1] is 'w': must be 'x', 'y' or 'z'"),
    (("geometry", "periodic"), "w", "geometry.periodic is 'w': must be letters out of 'xyz', as in 'xy', or a list"),
    (("geometry", "periodic"), ["xyz"], "geometry.periodic[0] is 'xyz': must be 'x', 'y' or 'z'"),
    (("geometry", "periodic"), [True, False], "must be letters out of 'xyz', as in 'xy', or a list of them"),
    (("flow", "turn"), {"rate_rad_s": 1.0}, "turn.rate_rad_s is an unknown key; allowed: axis, angle_rad, waveform"),
    (("geometry", "options"), {"a": [math.nan]}, "holds nan; allowed: finite numbers"),
    (("geometry", "options"), {"a": {"b": {1}}}, "holds {1}; allowed: finite numbers"),
    (("openings", 0, "normal"), [0, 1], "openings.inlet.normal is [0, 1]: must have 3 components (x, y, z)"),
    (("openings", 0, "normal"), [0, 0, 0], "openings.inlet.normal is [0, 0, 0]: must not be the zero vector"),
    (("openings", 0, "centre_m"), [0, 0, "1"], "openings.inlet.centre_m[2] is '1': must be a valid number"),
    (("openings", 0, "normal"), REMOVED, "openings.inlet gives part of a position: add normal"),
    (("openings", 1, "radius_m"), 1.0, "openings.outlet gives part of a position: add kind, centre_m, normal"),
    (("openings", 1, "name"), "inlet", "the case has 2 openings named 'inlet'; give each its own name"),
    (
        ("openings", 1, "name"),
        "left lung",
        "openings.left lung.name is 'left lung': must be letters, digits, _ and -, a letter first",
    ),
    (("openings", 1, "name"), "a,b", "openings.a,b.name is 'a,b'"),
    (("openings", 1, "name"), REMOVED, "openings[1].name is missing"),
    (("flow", "acceleration_m_s2"), [1.0], "flow.acceleration_m_s2 is [1.0]: must have 3 components"),
    (("lattice", "time_step_s"), 1e-5, "lattice needs exactly one of relaxation_time, time_step_s, lattice_velocity"),
    (("lattice", "name"), "D3Q7", "lattice.name is 'D3Q7': must be 'D2Q9', 'D3Q15'"),
    (
        ("output", "fields"),
        ["speed"],
        "output.fields[0] is 'speed': must be 'density', 'velocity', 'pressure', 'stress', 'strain_rate',"
        " 'shear_stress', 'shear_rate', 'velocity_gradient', 'temperature', 'fill', 'wetted', 'phase', 'second_share',"
        " 'age', 'dissipation' or 'permeability'",
    ),
    (("output", "fields_every_steps"), -1, "output.fields_every_steps is -1: must be greater than or equal to 0"),
]


def test_the_unchanged_case_is_valid():
    assert case_from_dict(tomllib.loads(TEXT)).run.steps == 100


@pytest.mark.parametrize(("path", "value", "expected"), MISTAKES, ids=lambda part: str(part)[:40])
def test_mistake_is_named(path, value, expected):
    assert expected in message_of(changed(path, value))


@pytest.mark.parametrize(("path", "value"), [mistake[:2] for mistake in MISTAKES[6:16]])
def test_one_mistake_is_one_problem(path, value):
    assert "has 1 problem:" in message_of(changed(path, value))


def test_lattice_velocity_needs_a_velocity_to_refer_to():
    table = changed(("lattice",), {"lattice_velocity": 0.1})
    table["openings"] = table["openings"][1:]
    assert "no opening and no wall imposes a velocity; give lattice.reference_velocity_m_s" in message_of(table)


def test_all_mistakes_are_told_together():
    table = changed(("run",), {"stepz": 5, "steps": -1, "time_s": 1.0})
    table["openings"][0] |= {"name": "outlet", "normal": [0, 0], "pressure_pa": "x"}
    lines = message_of(table).splitlines()
    expected = ("run.stepz", "run.steps", "run needs", "openings.outlet.normal", "openings.outlet.pressure_pa")
    missing = [
        text for text in (*expected, "openings.outlet needs", "the case has 2 openings") if text not in str(lines)
    ]
    assert not missing and lines[0] == "case has 7 problems:"


OVERRIDES = [
    ("run.steps", "override 'run.steps' is not of the form section.key=value"),
    ("=3", "override '=3' is not of the form section.key=value"),
    ("run.steps=[1", "override 'run.steps=[1': '[1' is not a TOML value; put a string in double quotes"),
    ("run.steps=two words", "'two words' is not a TOML value"),
    ("run.steps=many", "run.steps is 'many': must be a whole number"),
    (
        "openings[0].velocity_m_s=1",
        "an entry of a list goes by its name, as in openings.inlet; there are: inlet, outlet",
    ),
    ("run.stepz=1", "run.stepz is an unknown key; did you mean 'steps'?"),
    ("openings.inlt.velocity_m_s=1.0", "there is no entry named 'inlt'; there are: inlet, outlet"),
    ("openings.inlet=1.0", "openings.inlet cannot be set; name a key of a table"),
    ("run.steps.x=1", "run.steps.x cannot be set"),
    ("run.steps.x.y=1", "'x' lies below a plain value"),
]


@pytest.mark.parametrize(("override", "expected"), OVERRIDES)
def test_bad_override_is_named(tmp_path, override, expected):
    (tmp_path / "case.toml").write_text(TEXT, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_case(tmp_path / "case.toml", [override])
    assert expected in str(caught.value)


def test_mistakes_of_overrides_and_file_are_told_together(tmp_path):
    (tmp_path / "case.toml").write_text(TEXT + "stepz = 3", encoding="utf-8")
    with pytest.raises(InputError, match="has 2 problems"):
        load_case(tmp_path / "case.toml", ["run.steps"])


def test_absent_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no\.toml does not exist"):
        load_case(tmp_path / "no.toml")


def test_directory_is_refused(tmp_path):
    with pytest.raises(InputError, match="is a directory; name the .toml file"):
        load_case(tmp_path)


def test_bad_toml_is_told_with_its_line(tmp_path):
    (tmp_path / "case.toml").write_text("[run]\nsteps = \n", encoding="utf-8")
    with pytest.raises(InputError, match=r"not valid TOML: .*line 2"):
        load_case(tmp_path / "case.toml")


def test_binary_file_is_refused(tmp_path):
    (tmp_path / "case.toml").write_bytes(b"\x89HDF\r\n\x1a\n\xff")
    with pytest.raises(InputError, match="not text in UTF-8"):
        load_case(tmp_path / "case.toml")


def test_message_starts_with_the_name_of_the_file(tmp_path):
    (tmp_path / "case.toml").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"^case file .*case\.toml has 4 problems"):
        load_case(tmp_path / "case.toml")


def test_input_errors_end_with_their_own_exit_code():
    assert InputError.exit_code == 2


def test_a_whole_number_may_have_an_exponent():
    assert case_from_dict(changed(("run", "steps"), 1e4)).run.steps == 10_000


def test_a_case_that_has_been_read_does_not_change():
    case = case_from_dict(tomllib.loads(TEXT))
    with pytest.raises(InputError, match=r"steps = 5: a case that has been read does not change.*from_case"):
        case.run.steps = 5
    with pytest.raises(InputError, match="'stepz' is not a key of a case; did you mean 'steps'"):
        case.run.stepz = 5


@pytest.mark.parametrize(("name", "kind"), [("artery.vtp", "vessel"), ("rock.mha", "rock")])
def test_a_geometry_in_place_of_a_case_is_pointed_to_new(tmp_path, name, kind):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(InputError, match=f"is a geometry .* muphy-lb new {kind} .*{name}"):
        load_case(tmp_path / name)


def test_a_prepared_geometry_in_place_of_a_case_is_told_what_its_case_holds(tmp_path):
    (tmp_path / "rock.h5").write_bytes(b"x")
    with pytest.raises(InputError, match=r"a case file is wanted \(TOML\): one with file = 'rock.h5' alone in"):
        load_case(tmp_path / "rock.h5")
