"""What is stored changes by what has entered, and the study of it would notice a leak."""

from dataclasses import replace
from fractions import Fraction

import pytest

from muphy_lb.base.precision import FP64
from muphy_lb.engine.boundary_links import SUM_SCALE
from muphy_lb.lattice import D3Q19
from muphy_lb.validation.case import Settings
from muphy_lb.validation.flow import balance
from muphy_lb.validation.thermal import heat_balance

SIZE, N_STEPS = 8, 60
NUMPY = Settings(quick=True, backend="numpy")
LEAK = 1e-6


def largest(budget):
    """Largest drift of each quantity."""
    _, drifts = balance.followed(budget, N_STEPS)
    return {name: max(map(abs, values)) for name, values in drifts.items()}


@pytest.fixture
def counted_twice(monkeypatch):
    """Counters that count a little more than what passes."""

    def count(outflow, deviation, state, parameters):
        return parameters["value"], (state[0] + (1.0 + LEAK) * outflow, state[1])

    monkeypatch.setattr(balance, "COUNT", replace(balance.COUNT, reference=count))


def test_a_vessel_balances():
    assert max(largest(balance.open_vessel(SIZE, NUMPY)).values()) < 1e-12


def test_a_vessel_whose_outlets_count_wrongly_does_not_balance(counted_twice):
    (drift,) = largest(balance.open_vessel(SIZE, NUMPY)).values()
    assert drift > balance.TOLERANCES["fp64"]


def test_counters_do_not_round():
    outflow, begun, n = (14 * 2**44 + 12345) / SUM_SCALE, (1e7, 0.75), 1000
    expected = Fraction(begun[0]) + Fraction(begun[1]) + n * Fraction(outflow)
    specified, compiled = begun, list(begun)
    advance = balance.COUNT.compile(D3Q19, FP64, lambda function: function)
    for _ in range(n):
        value, specified = balance.COUNT.reference(outflow, 0.0, specified, {"value": 0.5})
        assert value == advance(outflow, 0.0, compiled, (0.5,)) == 0.5
    assert sum(map(Fraction, specified)) == sum(map(Fraction, compiled)) == expected


def test_a_cavity_balances_while_it_cools():
    budget = heat_balance.heated_budget(SIZE, NUMPY)
    before = heat_balance.StoredHeat(budget.simulation).total()
    assert max(largest(budget).values()) < 1e-14
    after = heat_balance.StoredHeat(budget.simulation).total()
    assert after < 0.99 * before == pytest.approx(0.99 * 0.5 * SIZE**3)


def test_a_wall_that_returns_too_much_is_noticed():
    budget = heat_balance.heated_budget(SIZE, NUMPY)
    stored = heat_balance.StoredHeat(budget.simulation)
    stored._constant = (1.0 + LEAK) * stored._constant
    assert abs(sum(stored.drift() for _ in range(3))) < 1e-12  # the walls are alike: what one gains the other loses
    stored._weight = (1.0 + LEAK) * stored._weight
    assert abs(stored.drift()) > balance.TOLERANCES["fp64"]
