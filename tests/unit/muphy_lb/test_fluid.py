"""Laws of the collision that a case asks for: its parts, and its parameters in lattice units."""

import re

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import Units
from muphy_lb.lattice import LATTICES
from muphy_lb.operators import (
    BGK,
    CARREAU_YASUDA,
    CASSON,
    COMPRESSIBLE,
    CONSTANT,
    INCOMPRESSIBLE,
    POWER_LAW,
    REGULARISED,
    SMAGORINSKY,
    STOKES,
    TRT,
)
from muphy_lb.setup.collision import build_fluid
from tests.channel import DENSITY_KG_M3, SPACING_M, SPEED_M_S, TIME_STEP_S, periodic_channel, simulate

UNITS = Units(SPACING_M, TIME_STEP_S, DENSITY_KG_M3)
TAU = 0.8
VISCOSITY_SCALE = SPACING_M**2 / TIME_STEP_S
CY = {"zero_viscosity_m2_s": 1.6e-5, "infinite_viscosity_m2_s": 3e-6, "relaxation_time_s": 2.0, "index": 0.4}
POWER = {"consistency_pa_sn": 0.02, "index": 0.7, "min_viscosity_m2_s": 1e-6, "max_viscosity_m2_s": 1e-4}
YIELD = {"yield_stress_pa": 0.005, "infinite_viscosity_m2_s": 3e-6, "max_viscosity_m2_s": 1e-4}


def collision_of(fluid=(), lattice=()):
    """The collision of a channel with keys of [fluid] and [lattice] added."""
    case = periodic_channel(fluid=dict(fluid), lattice=dict(lattice))
    return build_fluid(case, LATTICES[case.lattice.name], UNITS, TAU)


def test_without_a_word_it_is_a_newtonian_compressible_bgk_fluid():
    fluid = collision_of()
    assert (fluid.relaxation, fluid.equilibrium, fluid.closure) == (BGK, COMPRESSIBLE, CONSTANT)
    assert fluid.rates == (1 / TAU,)


@pytest.mark.parametrize(
    ("name", "equilibrium"), [("compressible", COMPRESSIBLE), ("incompressible", INCOMPRESSIBLE), ("stokes", STOKES)]
)
def test_the_equilibrium_goes_by_its_name(name, equilibrium):
    assert collision_of(lattice={"equilibrium": name}).equilibrium is equilibrium


def test_two_relaxation_times_take_the_magic_number():
    fluid = collision_of(lattice={"collision": "trt", "magic": 0.25})
    assert (fluid.relaxation, fluid.rates) == (TRT, (1 / TAU, 0.25))


def test_the_regularised_collision_has_one_rate():
    fluid = collision_of(lattice={"collision": "regularised"})
    assert (fluid.relaxation, fluid.rates) == (REGULARISED, (1 / TAU,))


@pytest.mark.parametrize("name", LATTICES)
def test_many_relaxation_times_take_magic_and_the_rates_given(name):
    fluid = collision_of(lattice={"name": name, "collision": "mrt", "magic": 0.1, "rates": {"bulk": 1.25}})
    assert fluid.relaxation.name == "mrt" and fluid.rates[:2] == (1 / TAU, 0.1) and 1.25 in fluid.rates[2:]


def test_an_unknown_family_of_rates_is_refused():
    with pytest.raises(InputError, match="rates name the family 'bulkk'; D2Q9 has: .*bulk"):
        collision_of(lattice={"collision": "mrt", "rates": {"bulkk": 1.2}})


def test_the_smagorinsky_constant_follows_the_rates():
    fluid = collision_of(lattice={"collision": "trt", "smagorinsky": 0.17})
    assert (fluid.closure, fluid.rates) == (SMAGORINSKY, (1 / TAU, 0.1875, 0.17))


def test_a_power_law_is_the_same_in_lattice_units():
    """The viscosity at a shear rate, computed in lattice units and converted, is that of the SI law."""
    fluid = collision_of({"power_law": POWER})
    consistency, index, lowest, highest = fluid.rates[1:]
    shear_rate = 3.0
    in_lattice = consistency * (shear_rate * TIME_STEP_S) ** (index - 1)
    expected = POWER["consistency_pa_sn"] / DENSITY_KG_M3 * shear_rate ** (POWER["index"] - 1)
    assert fluid.closure is POWER_LAW and in_lattice * VISCOSITY_SCALE == pytest.approx(expected, rel=1e-12)
    assert (lowest, highest) == pytest.approx((1e-6 / VISCOSITY_SCALE, 1e-4 / VISCOSITY_SCALE))


def test_a_carreau_yasuda_fluid_is_the_same_in_lattice_units():
    fluid = collision_of({"carreau_yasuda": CY})
    nu_0, nu_inf, time, transition, index, lowest, highest = fluid.rates[1:]
    assert (nu_0, nu_inf) == pytest.approx((1.6e-5 / VISCOSITY_SCALE, 3e-6 / VISCOSITY_SCALE))
    assert (time, transition, index) == pytest.approx((2.0 / TIME_STEP_S, 2.0, 0.4))
    assert fluid.closure is CARREAU_YASUDA and (lowest, highest) == (nu_inf, nu_0)


def test_the_bounds_of_a_shear_thickening_carreau_yasuda_fluid_are_in_order():
    swapped = CY | {"zero_viscosity_m2_s": 3e-6, "infinite_viscosity_m2_s": 1.6e-5, "index": 1.5}
    lowest, highest = collision_of({"carreau_yasuda": swapped}).rates[-2:]
    assert lowest < highest


def test_a_casson_fluid_is_the_same_in_lattice_units():
    fluid = collision_of({"casson": YIELD})
    root_stress, root_viscosity, nu_inf, nu_max = fluid.rates[1:]
    shear_rate = 3.0
    rate = shear_rate * TIME_STEP_S
    in_lattice = (root_stress + root_viscosity * rate**0.5) ** 2 / rate
    expected = ((0.005 / DENSITY_KG_M3) ** 0.5 + (3e-6 * shear_rate) ** 0.5) ** 2 / shear_rate
    assert fluid.closure is CASSON and in_lattice * VISCOSITY_SCALE == pytest.approx(expected, rel=1e-12)
    assert (nu_inf, nu_max) == pytest.approx((3e-6 / VISCOSITY_SCALE, 1e-4 / VISCOSITY_SCALE))


@pytest.mark.parametrize("law", [{"power_law": POWER}, {"carreau_yasuda": CY}, {"casson": YIELD}])
def test_an_eddy_viscosity_and_a_law_of_viscosity_are_refused_together(law):
    with pytest.raises(
        InputError, match=rf"lattice.smagorinsky = 0.1 and .fluid.{next(iter(law))}. .* only one"
    ) as told:
        collision_of(law, {"smagorinsky": 0.1})
    remedy = re.findall(r"--set ([a-z_.]+)=([a-z-]*)", str(told.value))
    *changes, _ = [(key.removeprefix("lattice."), value or None) for key, value in remedy]
    collision_of(law, {"smagorinsky": 0.1} | dict(changes))


def test_a_power_law_of_index_one_flows_like_the_newtonian_fluid():
    """Measured: 3e-18 m/s of 1e-3."""
    newtonian = POWER | {"consistency_pa_sn": 1e-5 * DENSITY_KG_M3, "index": 1.0}
    flow = {"acceleration_m_s2": [0.02, 0, 0]}
    with_law, without = (
        simulate(periodic_channel(fluid=fluid, flow=flow), 30).velocity_m_s()
        for fluid in ({"power_law": newtonian}, {})
    )
    assert np.abs(with_law - without).max() < 1e-13 * SPEED_M_S and np.abs(without).max() > 1e-4 * SPEED_M_S
