"""Unrolled node functions compute the same, in straight lines."""

import ast
import linecache
import traceback

import numpy as np
import pytest

from muphy_lb.operators.unroll import unroll

SIGNS = (np.float32(0), np.float32(1), np.float32(-1), np.float32(0.3))
COUNT = 4


def tree_of(function) -> list:
    """Every syntax node of an unrolled function."""
    return list(ast.walk(ast.parse(function.__generated_source__)))


def weighted_sum(signs=SIGNS, count=COUNT):
    """A node function in the style of the operators, not unrolled."""

    def node(f, x):
        total = x
        for q in range(count):
            total += signs[q] * f[q]
        return total

    return node


def source_of(expression: str, value) -> tuple:
    """(result of ``expression`` with the constant tuple c = (value,) and x, the unrolled one's result, its source)."""

    def product(x):
        return c[0] * x + d[0]

    def difference(x):
        return x - c[0]

    def reversed_difference(x):
        return c[0] - x

    def quotient(x):
        return (c[0] + x) / d[0]

    c, d = (value,), (np.float64(3),)
    plain = {f.__name__: f for f in (product, difference, reversed_difference, quotient)}[expression]
    unrolled = unroll(plain)
    return plain(2.5), unrolled(2.5), unrolled.__generated_source__


def test_an_unrolled_function_returns_the_same():
    f = np.linspace(1, 2, COUNT).astype(np.float32)
    plain = weighted_sum()
    assert unroll(plain)(f, np.float32(0.5)) == plain(f, np.float32(0.5))


def test_zeros_and_factors_of_one_are_left_out_and_other_constants_are_names_of_the_same_type():
    function, source = unroll(weighted_sum()), unroll(weighted_sum()).__generated_source__
    assert not any(isinstance(node, ast.For) for node in tree_of(function)) and "f[0]" not in source
    assert "total += f[1]" in source and "total += -f[2]" in source
    assert function.__globals__["signs_3"] is SIGNS[3] and "signs_3 * f[3]" in source


@pytest.mark.parametrize("expression", ["product", "difference", "reversed_difference", "quotient"])
@pytest.mark.parametrize("value", [np.float64(0), np.float64(1), np.float64(-1), np.float64(2)])
def test_folding_keeps_the_value(expression, value):
    plain, unrolled, _ = source_of(expression, value)
    assert unrolled == plain


def test_nested_loops_are_unrolled():
    def node(f):
        total = 0
        for i in range(2):
            for j in range(2):
                total += (i + 1) * f[2 * i + j]
        return total

    unrolled = unroll(node)
    assert unrolled(list(range(4))) == node(list(range(4))) == 11
    assert not any(isinstance(item, ast.For) for item in tree_of(unrolled))


def test_loops_inside_one_that_ends_by_a_condition_are_unrolled():
    def node(f):
        total, left = 0, f[0]
        while left:
            for i in range(3):
                total += f[i]
            left -= 1
        return total

    unrolled = unroll(node)
    assert unrolled([2, 3, 4]) == node([2, 3, 4]) == 18
    assert not any(isinstance(item, ast.For) for item in tree_of(unrolled))


def test_loops_inside_loops_take_the_index_outside_them():
    rows = ((np.float64(1), np.float64(0)), (np.float64(-1), np.float64(3)))

    def node(f):
        total = 0.0
        for i in range(2):
            for j in range(2):
                total += rows[i][j] * f[j]
        return total

    unrolled = unroll(node)
    assert unrolled([2.0, 5.0]) == node([2.0, 5.0]) == 15.0
    assert unrolled.__generated_source__.count("total +=") == 3 and "rows_1_1 * f[1]" in unrolled.__generated_source__


def test_entries_of_a_tuple_of_integers_serve_as_indices():
    order = (2, 0)

    def node(f):
        total = 0
        for i in range(2):
            total += (i + 1) * f[order[i]]
        return total

    unrolled = unroll(node)
    assert unrolled([3, 4, 5]) == node([3, 4, 5]) == 11 and "f[2]" in unrolled.__generated_source__


def test_a_local_vector_becomes_scalars():
    zero, count, last = 0.5, 3, 2

    def node(f):
        total = [zero] * count
        for i in range(count):
            total[i] += f[i]
        total[last] *= total[0]
        return total[1], total[last]

    unrolled = unroll(node)
    assert unrolled([1.0, 2.0, 3.0]) == node([1.0, 2.0, 3.0]) == (2.5, 5.25)
    assert "total[" not in unrolled.__generated_source__ and "total_2 *= total_0" in unrolled.__generated_source__


def test_the_whole_of_a_local_vector_is_a_tuple_of_its_scalars():
    zero, count, first = 0.5, 2, 0

    def node(f):
        total = [zero] * count
        for i in range(count):
            total[i] += f[i]
        total[first] += sum(total)
        return total

    assert tuple(node([1.0, 2.0])) == unroll(node)([1.0, 2.0]) == (5.5, 2.5)
    assert "return (total_0, total_1)" in unroll(node).__generated_source__


def test_a_local_vector_without_entries_vanishes():
    zero, none = 0.0, 0

    def node(x):
        total = [zero] * none
        for i in range(none):
            x += total[i]
        return x

    unrolled = unroll(node)
    assert unrolled(1.5) == 1.5 and "total" not in unrolled.__generated_source__


def test_a_loop_of_unknown_length_stays_a_loop():
    def node(f, n):
        total = 0
        for i in range(n):
            total += f[i]
        return total

    unrolled = unroll(node)
    assert unrolled([1, 2, 3], 3) == 6 and any(isinstance(item, ast.For) for item in tree_of(unrolled))


def test_a_product_with_a_zero_constant_in_place_is_kept():
    zero = (0.0,)

    def node(x):
        x *= zero[0]
        return x

    assert unroll(node)(5.0) == 0.0


def test_a_zero_constant_added_or_subtracted_in_place_is_left_out():
    zero = (0.0,)

    def node(x):
        x += zero[0]
        x -= zero[0]
        return x

    unrolled = unroll(node)
    assert unrolled(5.0) == 5.0 and "=" not in unrolled.__generated_source__


def test_two_functions_of_one_factory_keep_their_own_constants():
    two, three = (unroll(weighted_sum((np.float64(k),), 1)) for k in (2, 3))
    assert (two([1.0], 0.0), three([1.0], 0.0)) == (2.0, 3.0)


def test_a_traceback_shows_the_generated_line():
    function = unroll(weighted_sum())
    with pytest.raises(IndexError) as caught:
        function([1.0], np.float32(0))
    assert "total += f[1]" in "".join(traceback.format_exception(caught.value))
    assert linecache.getline(function.__code__.co_filename, 1).startswith("def node")


def test_loops_within_a_loop_of_unknown_length_and_within_a_condition_are_unrolled():
    count, zero, factor = 2, np.float64(0), (np.float64(3), np.float64(5))

    def node(values, is_wanted):
        total = [zero] * count
        for k in range(len(values)):
            for i in range(count):
                total[i] += factor[i] * values[k]
        if is_wanted:
            for i in range(count):
                total[i] += factor[i]
        return total

    unrolled = unroll(node)
    assert unrolled([1.0, 2.0], True) == (12.0, 20.0) and unrolled([1.0], False) == (3.0, 5.0)
    assert unrolled.__generated_source__.count("for ") == 1
