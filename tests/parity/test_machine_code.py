"""The large kernels stay small: a GPU fetches instructions from memory, too. Needs no GPU.

Code that loops were unrolled into, or functions that were called at eighteen links, once came to 350 kB for one kernel
of a free surface, which took half of a step before anybody looked.
"""

import json

import pytest

from tests.parity.cases import printed_by

pytestmark = pytest.mark.night

MARGIN = 1.25
SIZES = {
    "exchange, none": (7_800, 168),
    "completion, none": (4_850, 168),
    "tension, paraboloid": (7_400, 128),
    "exchange, paraboloid": (8_250, 168),
    "completion, paraboloid": (5_000, 168),
    "tension, contact-angle": (15_900, 128),
    "exchange, contact-angle": (16_750, 168),
    "completion, contact-angle": (5_000, 168),
    "amounts, two fluids": (950, 56),
    "normal, two fluids": (920, 40),
    "tension, two fluids": (2_000, 72),
}
"""Instructions, and most registers, of kernels in single precision for compute capability 9.0 (2026-11-30)."""


@pytest.fixture(scope="module")
def kernels():
    """Instructions and registers by name of the kernel."""
    return {each["name"]: each for each in json.loads(printed_by("tests.parity.machine_code", seconds=900))}


def test_every_large_kernel_is_looked_at(kernels):
    assert kernels.keys() == SIZES.keys()


@pytest.mark.parametrize("name", SIZES)
def test_the_machine_code_of_a_kernel_does_not_grow_unseen(kernels, name):
    instructions, registers = SIZES[name]
    assert 100 < kernels[name]["instructions"] <= MARGIN * instructions
    assert 16 <= kernels[name]["registers"] <= registers
