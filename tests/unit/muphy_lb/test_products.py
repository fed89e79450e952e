"""Node functions whose products are computed by a function of one's own."""

import pytest

from muphy_lb.operators.unroll import unroll, with_product


def recorded():
    """A product that keeps what it multiplies."""
    seen = []

    def product(a, b):
        seen.append((a, b))
        return a * b

    return product, seen


def test_every_product_of_a_function_goes_through_the_given_one():
    three = 3.0

    def function(x, y):
        z = three * x + y * (x * y)
        z *= 2.0
        return z - x / y

    product, seen = recorded()
    assert with_product(function, product)(5.0, 7.0) == function(5.0, 7.0)
    assert seen == [(3.0, 5.0), (5.0, 7.0), (7.0, 35.0), (260.0, 2.0)]


def test_an_unrolled_function_keeps_its_constants():
    weights, n = (2.0, 3.0, 0.0), 3

    def function(f):
        total = 0.0
        for k in range(n):
            total += weights[k] * f[k]
        return total

    product, seen = recorded()
    assert with_product(unroll(function), product)((1.0, 10.0, 100.0)) == 32.0
    assert seen == [(2.0, 1.0), (3.0, 10.0)]


def test_a_function_without_products_stays_as_it_is():
    def function(x):
        return x + 1

    assert with_product(function, None) is function


def test_a_lambda_that_multiplies_is_refused():
    function = lambda x: 2 * x  # noqa: E731
    with pytest.raises(ValueError, match="multiplies"):
        with_product(function, None)
