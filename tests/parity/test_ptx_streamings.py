"""Stages do the same arithmetic whatever the streaming, also behind the GPU's compilers; needs no GPU.

A GPU can round a product and a sum together, which its compilers do where they see fit. Then two kernels of one node
function may differ in the last digit.
"""

import json
from collections import Counter

import pytest

from tests.parity.cases import printed_by

OF_FUNCTIONS = 30
"""Measured: 25, in the powers, arc cosines, sines and cosines of the compiler's library; without ``strict_jit`` 300."""


@pytest.fixture(scope="module")
def kernels():
    """What the PTX of every kernel holds, by stage."""
    found = {}
    for kernel in json.loads(printed_by("tests.parity.ptx_streamings", seconds=900)):
        found.setdefault(kernel["stage"], []).append(kernel)
    return found


@pytest.mark.parametrize("stage", ["exchange", "completion", "refill", "step", "plain step"])
def test_kernels_of_both_streamings_have_the_same_floating_point_instructions(kernels, stage):
    assert len(kernels[stage]) == 3
    assert all(each["instructions"] == kernels[stage][0]["instructions"] for each in kernels[stage])


@pytest.mark.parametrize("place, stage", list(enumerate(("exchange", "completion"))))
def test_nodes_that_collide_behind_a_stage_round_as_those_that_collide_by_themselves(kernels, place, stage):
    """Compilers share sums of both, which changes no digit as long as no product is rounded together with a sum."""
    assert len(kernels["both"]) == 2
    both, alone, step = kernels["both"][place], kernels[stage][0], kernels["step"][0]
    assert step["instructions"]["mul.rn.f64"] > 20
    assert "fma.rn.f64" not in step["instructions"] and step["free_products"] == 0
    for name in ("mul.rn.f64", "rcp.rn.f64"):
        assert both["instructions"][name] == alone["instructions"][name] + step["instructions"][name]
    for name in ("fma.rn.f64", "mul.f64"):
        assert both["instructions"][name] == alone["instructions"][name]
    assert both["free_products"] == alone["free_products"]


def test_a_field_that_nodes_advance_behind_their_collision_rounds_as_by_itself(kernels):
    temperature, other = (Counter(each["instructions"]) for each in kernels["temperature"])
    assert temperature == other and temperature["fma.rn.f64"] > 5
    assert len(kernels["heated"]) == 3
    for both, flow in zip(kernels["heated"], kernels["flow"], strict=True):
        assert Counter(both["instructions"]) == Counter(flow["instructions"]) + temperature


def test_no_product_of_a_stage_is_left_to_be_rounded_together_with_a_sum(kernels):
    assert [each["free_products"] for each in kernels["refill"]] == [0] * 3
    assert max(each["free_products"] for each in (*kernels["exchange"], *kernels["completion"])) <= OF_FUNCTIONS


def test_the_count_of_such_products_sees_them(kernels):
    assert all(each["free_products"] > 10 for each in kernels["plain step"])
