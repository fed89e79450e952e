"""Substances by name: their numbers, and the sections of the case that name them."""

import sys

import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.case.case import as_case, case_from_dict
from muphy_lb.case.substances import properties
from tests.laws.smallest import FLOW, merged

BARE = {key: value for key, value in FLOW.items() if key != "fluid"}


@pytest.mark.parametrize(
    ("name", "conditions", "density", "viscosity"),
    [  # IAPWS by CoolProp 8.0 for water; CRC Handbook, 97th ed., for 10 % of NaCl at 20 degrees and mercury at 25
        ("water", (298.15, 101325.0), 997.05, 8.9e-4),
        ("water", (333.15, 1e7), 987.5, 4.69e-4),
        ("brine", (293.15, 101325.0, 0.1), 1070.7, 1.193e-3),
        ("mercury", (298.15,), 13534.0, 1.526e-3),
    ],
)
def test_a_substance_has_its_density_and_viscosity(name, conditions, density, viscosity):
    assert properties(name, *conditions) == (pytest.approx(density, rel=3e-3), pytest.approx(viscosity, rel=0.03))


@pytest.mark.parametrize(
    ("temperature_c", "viscosity_upa_s"),
    [(10, 1305.9), (20, 1001.6), (37, 691.3), (60, 466.0), (100, 281.6), (200, 134.4)],
)
def test_water_has_its_viscosity_within_a_per_cent(temperature_c, viscosity_upa_s):
    """Of IAPWS 2008; it was 2.1 % low at 20 degrees, and a flow between pressures so much too fast."""
    found = properties("water", 273.15 + temperature_c, 2e6)[1]
    assert found == pytest.approx(1e-6 * viscosity_upa_s, rel=0.01 if temperature_c == 200 else 1e-3)


def test_a_case_takes_what_it_does_not_give_from_the_substance_and_keeps_it():
    second = {"substance": "mercury", "interfacial_tension_n_m": 0.4}
    fluid = {"substance": "brine", "at_temperature_k": 333.15, "salinity": 0.1, "density_kg_m3": 1000.0}
    case = case_from_dict(merged(BARE, {"fluid": fluid, "two_fluid": second}))
    assert case.fluid.density_kg_m3 == 1000.0
    assert case.fluid.dynamic_viscosity_pa_s == properties("brine", 333.15, salinity=0.1)[1]
    assert case.two_fluid.dynamic_viscosity_pa_s == properties("mercury", 293.15)[1]
    assert case_from_dict(case.model_dump(exclude_none=True)).to_toml() == case.to_toml()


def test_a_change_of_a_substance_or_its_conditions_changes_what_followed_from_them():
    """A number that the case gives itself stays."""
    case = case_from_dict(BARE | {"fluid": {"substance": "water"}})
    for change, conditions in (
        ({"fluid.at_temperature_k": 310.15}, ("water", 310.15)),
        ({"fluid.substance": "brine", "fluid.salinity": 0.1}, ("brine", 293.15, 101325.0, 0.1)),
    ):
        fluid = as_case(case, change).fluid
        assert (fluid.density_kg_m3, fluid.dynamic_viscosity_pa_s) == properties(*conditions)
    heavy = as_case(case, {"fluid.density_kg_m3": 1000.0})
    assert as_case(heavy, {"fluid.at_temperature_k": 310.15}).fluid.density_kg_m3 == 1000.0
    assert as_case(case, {"fluid.kinematic_viscosity_m2_s": 1e-6}).fluid.dynamic_viscosity_pa_s is None


@pytest.mark.parametrize(
    ("fluid", "told"),
    [
        ({"substance": "wine"}, "fluid.substance"),
        (
            {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 1.0, "at_temperature_k": 300.0},
            "has at_temperature_k but no",
        ),
        (
            {"substance": "water", "at_temperature_k": 700.0},
            r"fluid\.substance cannot be computed: water is known from 273\.15 to 473\.15 K",
        ),
        ({"substance": "water", "at_temperature_k": 400.0}, "water boils at 400 K and 101325 Pa; give at_pressure_pa"),
        ({"substance": "water", "salinity": 0.1}, "has salinity and substance = 'water'"),
        ({"substance": "brine", "salinity": "3.5 %"}, r"fluid\.salinity is '3\.5 %'"),
        ({"substance": "decane"}, "decane needs the package CoolProp, which is not installed; pip install"),
    ],
)
def test_a_substance_that_is_not_known_is_refused(monkeypatch, fluid, told):
    monkeypatch.setitem(sys.modules, "CoolProp", None)
    monkeypatch.setitem(sys.modules, "CoolProp.CoolProp", None)
    with pytest.raises(InputError, match=told):
        case_from_dict(BARE | {"fluid": fluid})
