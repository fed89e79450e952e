"""Rates of families of moments: defaults, replacements and refusals."""

import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.lattice import D2Q9, D3Q15, D3Q19, D3Q27, LATTICES
from muphy_lb.operators import MRT, collision, mrt_for
from muphy_lb.operators.operator import named

BAD = [
    ({"shaer": 1.0}, r"family 'shaer'; D3Q19 has: bulk, energy_square, energy_flux, shear, fourth, third"),
    ({"momentum": 1.0}, "family 'momentum'; D3Q19 has"),
    ({"fifth": 1.0}, "family 'fifth'; D3Q19 has"),
    ({"shear": 1.2}, "rate of 'shear' is 1.2; allowed: 'viscosity'"),
    ({"bulk": 0.0}, r"rate of 'bulk' is 0.0; allowed: a number in \(0, 2\], 'viscosity' or 'magic'"),
    ({"bulk": 2.1}, "rate of 'bulk' is 2.1; allowed"),
    ({"bulk": float("nan")}, "rate of 'bulk' is nan; allowed"),
    ({"bulk": True}, "rate of 'bulk' is True; allowed"),
    ({"bulk": "constant"}, "rate of 'bulk' is 'constant'; allowed"),
    ({"third": "fast"}, "rate of 'third' is 'fast'; allowed"),
]


@pytest.mark.parametrize("lattice", [D2Q9, D3Q27], ids=lambda lattice: lattice.name)
def test_sets_without_published_constants_relax_with_omega_and_lambda(lattice):
    assert mrt_for(lattice) == (MRT, (3 / 16,))


@pytest.mark.parametrize(
    ("lattice", "constants"), [(D3Q15, (1.6, 1.2, 1.6, 1.2)), (D3Q19, (1.19, 1.4, 1.2, 1.4, 1.98))]
)
def test_published_constants_are_the_default(lattice, constants):
    relaxation, rates = mrt_for(lattice)
    assert rates == (3 / 16, *constants) and len(relaxation.parameters) == 2 + len(constants)


@pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
def test_the_same_choice_gives_the_same_relaxation_and_so_the_same_kernel(lattice):
    first, second = (mrt_for(lattice, {"bulk": rate})[0] for rate in (1.0, 1.5))
    assert first is second and collision(first) is collision(second)


def test_the_order_in_which_rates_are_given_does_not_matter():
    rates = {"bulk": 1.1, "energy_square": 1.2, "energy_flux": 1.3}
    assert mrt_for(D2Q9, rates) == mrt_for(D2Q9, dict(reversed(rates.items())))


def test_a_given_rate_replaces_the_default_in_its_place():
    assert mrt_for(D3Q19, {"energy_flux": 1.7}, 0.25)[1] == (0.25, 1.19, 1.4, 1.7, 1.4, 1.98)


def test_a_family_is_given_to_the_viscosity_or_to_lambda_by_name():
    rates = {"bulk": "viscosity", "energy_square": "viscosity", "energy_flux": "magic", "third": "magic"}
    relaxation, parameters = mrt_for(D3Q19, rates)
    assert parameters == (3 / 16, 1.4)
    assert relaxation.parameters == named("omega", "magic", "rate_fourth")


@pytest.mark.parametrize(("rates", "message"), BAD, ids=[str(rates) for rates, _ in BAD])
def test_a_rate_that_cannot_be_is_refused(rates, message):
    with pytest.raises(InputError, match=message):
        mrt_for(D3Q19, rates)


@pytest.mark.parametrize("magic", [0.0, -1.0, float("nan")])
def test_a_magic_parameter_that_is_not_positive_is_refused(magic):
    with pytest.raises(InputError, match="magic is .*; allowed: a number above 0"):
        mrt_for(D2Q9, magic=magic)
