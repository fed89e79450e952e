"""Stages do the same arithmetic whatever the streaming, also behind the GPU's compilers; needs no GPU.

A GPU can round a product and a sum together, which its compilers do where they see fit. Then two kernels of one node
function may differ in the last digit.
"""

import json
import os
import subprocess
import sys
from collections import Counter

import pytest

from tests.conftest import ROOT
from tests.parity.cases import CANNOT_RUN

OF_FUNCTIONS = 30
"""Measured: 25, in the powers, arc cosines, sines and cosines of the compiler's library; without ``strict_jit`` 300."""


@pytest.fixture(scope="module")
def kernels():
    """What the PTX of every kernel holds, by stage."""
    env = os.environ | {"NUMBA_ENABLE_CUDASIM": "0", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.parity.ptx_streamings"]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=900)
    if done.returncode == CANNOT_RUN:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr[-3000:]
    found = {}
    for kernel in json.loads(done.stdout):
        found.setdefault(kernel["stage"], []).append(kernel)
    return found


@pytest.mark.parametrize("stage", ["exchange", "refill", "step", "plain step"])
def test_kernels_of_both_streamings_have_the_same_floating_point_instructions(kernels, stage):
    assert len(kernels[stage]) == 3
    assert all(each["instructions"] == kernels[stage][0]["instructions"] for each in kernels[stage])


def test_nodes_that_collide_with_the_exchange_round_as_those_that_collide_by_themselves(kernels):
    """Compilers share sums of both, which changes no digit as long as no product is rounded together with a sum."""
    (both,), (exchange, *_), (step, *_) = (kernels[stage] for stage in ("both", "exchange", "step"))
    assert step["instructions"]["mul.rn.f64"] > 20
    assert "fma.rn.f64" not in step["instructions"] and step["free_products"] == 0
    for name in ("mul.rn.f64", "rcp.rn.f64"):
        assert both["instructions"][name] == exchange["instructions"][name] + step["instructions"][name]
    for name in ("fma.rn.f64", "mul.f64"):
        assert both["instructions"][name] == exchange["instructions"][name]
    assert both["free_products"] == exchange["free_products"]


def test_a_field_that_nodes_advance_behind_their_collision_rounds_as_by_itself(kernels):
    temperature, other = (Counter(each["instructions"]) for each in kernels["temperature"])
    assert temperature == other and temperature["fma.rn.f64"] > 5
    assert len(kernels["heated"]) == 3
    for both, flow in zip(kernels["heated"], kernels["flow"], strict=True):
        assert Counter(both["instructions"]) == Counter(flow["instructions"]) + temperature


def test_no_product_of_a_stage_is_left_to_be_rounded_together_with_a_sum(kernels):
    assert [each["free_products"] for each in kernels["refill"]] == [0] * 3
    assert max(each["free_products"] for each in kernels["exchange"]) <= OF_FUNCTIONS


def test_the_count_of_such_products_sees_them(kernels):
    assert all(each["free_products"] > 10 for each in kernels["plain step"])
