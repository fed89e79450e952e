"""What the GPU's compiler makes of collisions other than BGK, in single precision; needs no GPU."""

import json

import pytest

from tests.parity.cases import printed_by


@pytest.fixture(scope="module")
def kernels():
    """Findings about every kernel of the sample."""
    return json.loads(printed_by("tests.parity.ptx_collisions"))


@pytest.mark.parametrize(
    "finding", ["in_local_memory", "calls", "double_operations", "surplus_loads", "surplus_stores"]
)
def test_collisions_are_straight_lines_in_registers_and_single_precision(kernels, finding):
    sample = kernels["all"]
    assert sample and {kernel["name"]: kernel[finding] for kernel in sample if kernel[finding]} == {}


@pytest.mark.parametrize("finding", ["free_products", "fused"])
def test_a_strict_collision_rounds_every_product_by_itself(kernels, finding):
    sample = kernels["strict"]
    assert sample and {kernel["name"]: kernel[finding] for kernel in sample if kernel[finding]} == {}
