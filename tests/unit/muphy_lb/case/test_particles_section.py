"""The list of tables [[particles]]: each has the keys of its kind."""

import tomllib

import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import case_from_dict
from muphy_lb.physics.particles.tracers.section import TracersSection

DYE = {"name": "dye", "kind": "tracers", "count": 10}


def case_with(*particles):
    """A small case with some tables of particles."""
    return case_from_dict(
        {
            "geometry": {"shape": "channel", "spacing_m": 1e-3, "options": {"length": 6, "height": 5, "width": 1}},
            "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-5},
            "lattice": {"name": "D2Q9", "time_step_s": 1e-2},
            "run": {"steps": 20},
            "particles": list(particles),
        }
    )


def test_a_table_of_particles_has_the_keys_of_its_kind_and_is_written_back():
    case = case_with(DYE, {**DYE, "name": "ink", "seed": 3})
    assert [type(each) for each in case.particles] == [TracersSection] * 2
    text = case.to_toml()
    assert text.count("[[particles]]") == 2 and 'kind = "tracers"' in text and "seed = 3" in text


@pytest.mark.parametrize("start", [{"count": 3}, {"positions_m": [[1e-3, 2e-3, 0.0]]}, {"file": "a.csv"}])
@pytest.mark.parametrize("kind", [{"kind": "tracers"}, {"kind": "beads", "mass_kg": 1e-9, "friction_kg_s": 1e-9}])
def test_a_case_that_is_written_is_read_again(kind, start):
    plane = {"name": "cut", "point_m": [1e-3, 0.0, 0.0], "normal": [1.0, 0.0, 0.0]}
    text = case_with({"name": "p", **kind, **start, "planes": [plane]}).to_toml()
    assert case_from_dict(tomllib.loads(text)).to_toml() == text


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({**DYE, "kind": "tracer"}, "particles.dye.kind is 'tracer': must be 'tracers'"),
        ({"name": "dye", "count": 10}, "particles.dye.kind is missing"),
        ({**DYE, "count": -1, "cuont": 1}, "particles.dye.cuont is an unknown key; did you mean 'count'"),
        ({**DYE, "file": "a.csv"}, "particles.dye needs exactly one of count, file"),
        ({**DYE, "opening": "in", "box_m": [[0, 0, 0], [1, 1, 1]]}, "particles.dye has box_m and opening"),
        ({"name": "dye", "kind": "tracers", "positions_m": []}, "particles.dye.positions_m"),
        (7, "particles[0] is 7: must be a table"),
    ],
)
def test_what_is_wrong_with_a_table_of_particles_is_told_in_its_place(table, words):
    with pytest.raises(InputError) as error:
        case_with(table)
    assert words in str(error.value)


def test_particles_of_one_name_are_refused():
    with pytest.raises(InputError, match="has 2 particles named 'dye'"):
        case_with(DYE, DYE)
