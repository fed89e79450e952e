"""Every number of the case whose key ends in a unit may be given with another unit of the same dimension."""

import subprocess
import sys
import typing

import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.base.key_units import SI_UNITS, unit_of
from muphy_lb.case.case import Case, case_from_dict, load_case
from muphy_lb.case.section import Section

ENDS = {"m", "m2", "m3", "s", "s2", "pa", "kg", "k", "n", "j", "sn"}
"""Last parts of names that are units."""


def table(**changes):
    """A small case, with further keys of its sections."""
    sections = {
        "geometry": {"shape": "channel", "spacing_m": "0.1 mm", "options": {"length": 20, "height": 10}},
        "fluid": {"density_kg_m3": "1 g/mL", "kinematic_viscosity_m2_s": "1 mm2/s"},
        "lattice": {"name": "D2Q9", "relaxation_time": 0.8},
        "run": {"time_s": "10 ms"},
    }
    for name, keys in changes.items():
        sections[name] = sections.get(name, {}) | keys if isinstance(keys, dict) else keys
    return sections


def sections_of(annotation):
    """The sections in an annotation, and those in them."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
        for field in annotation.all_fields().values():
            yield from sections_of(field.annotation)
    for argument in typing.get_args(annotation):
        yield from sections_of(argument)


def numbers():
    """(section, key) of all keys that hold numbers that are not whole."""
    for section in set(sections_of(Case)):
        for key, field in section.all_fields().items():
            if "float" in str(field.annotation):
                yield section, key


def test_every_key_that_ends_in_a_unit_has_one():
    without = [key for _, key in numbers() if key.split("_")[-1] in ENDS and unit_of(key, {"index": 0.6}) is None]
    assert not without and len(list(numbers())) > 60


def test_every_unit_is_known():
    from muphy_lb.geometry.quantities import in_si

    assert all(in_si(f"2 {unit}", unit) == 2.0 for unit in SI_UNITS.values())


def test_texts_with_a_unit_become_numbers_in_nested_tables_and_lists():
    case = case_from_dict(
        table(
            fluid={
                "power_law": {
                    "consistency_pa_sn": "17 mPa s^0.7",
                    "index": 0.7,
                    "min_viscosity_m2_s": "1 mm^2/s",
                    "max_viscosity_m2_s": 1e-4,
                }
            },
            openings=[
                {
                    "name": "inlet",
                    "kind": "inlet",
                    "centre_m": ["1 mm", 0.002, "3000 um"],
                    "normal": [1, 0, 0],
                    "radius_m": "2 mm",
                    "flow_rate_m3_s": "60 mL/min",
                    "waveform": {"period_s": "800 ms", "cosine": [0.2]},
                },
                {"name": "outlet", "pressure_pa": "-1 mmHg"},
            ],
            output={"region_m": [["0 mm", "1 mm", 0], ["10 mm", "20 mm", "1 cm"]]},
        )
    )
    inlet, outlet = case.openings
    assert (case.geometry.spacing_m, case.run.time_s, case.fluid.density_kg_m3) == (1e-4, 0.01, 1000.0)
    assert (inlet.centre_m, inlet.radius_m, inlet.flow_rate_m3_s) == ((1e-3, 2e-3, 3e-3), 2e-3, 1e-6)
    assert (inlet.waveform.period_s, case.fluid.power_law.consistency_pa_sn) == (0.8, 0.017)
    assert outlet.pressure_pa == pytest.approx(-133.322387415)
    assert case.output.region_m == ((0.0, 1e-3, 0.0), (0.01, 0.02, 0.01))


def test_options_of_a_shape_take_units():
    case = case_from_dict(table(geometry={"shape": "branching_vessel", "options": {"parent_radius_m": "1.5 mm"}}))
    assert case.geometry.options["parent_radius_m"] == 1.5e-3


@pytest.mark.parametrize(
    ("section", "key", "value", "expected"),
    [
        ("run", "time_s", "3 mm", "run.time_s is '3 mm': has the unit 'mm', which is not of the dimension of s"),
        ("fluid", "density_kg_m3", "1 kg", "density_kg_m3 is '1 kg': has the unit 'kg', which is not of the dimension"),
        ("geometry", "spacing_m", "-1 mm", "geometry.spacing_m is -0.001: must be greater than 0"),
        ("geometry", "options", {"edge_m": "3 s"}, "holds edge_m = '3 s', which has the unit 's'"),
        ("lattice", "relaxation_time", "0.8 s", "lattice.relaxation_time is '0.8 s': must be a valid number"),
    ],
)
def test_a_unit_of_another_dimension_is_one_problem(section, key, value, expected):
    with pytest.raises(InputError) as caught:
        case_from_dict(table(**{section: {key: value}}))
    assert expected in str(caught.value) and "has 1 problem:" in str(caught.value)


def test_a_unit_on_the_command_line_needs_no_quotes_of_its_own(tmp_path):
    path = tmp_path / "case.toml"
    path.write_text(case_from_dict(table()).to_toml())
    case = load_case(path, ["geometry.spacing_m=0.2 mm", "fluid.kinematic_viscosity_m2_s=3.3mm2/s"])
    assert (case.geometry.spacing_m, case.fluid.kinematic_viscosity_m2_s) == (2e-4, 3.3e-6)


def test_a_case_without_such_texts_does_not_import_the_library():
    code = "import sys, muphy_lb.case.case as c; c.case_from_dict({}) if 0 else None; print('pint' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
