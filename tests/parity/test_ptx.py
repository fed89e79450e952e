"""What the GPU's compiler makes of the stream kernels; needs no GPU."""

import json

import pytest

from muphy_lb.lattice import D3Q19
from tests.parity.cases import printed_by


@pytest.fixture(scope="module", params=["few", pytest.param("all", marks=pytest.mark.night)])
def kernels(request):
    """Findings about kernels: streamings, precisions, compute capabilities; a push compiles a few of them."""
    return json.loads(printed_by("tests.parity.ptx", request.param))


def names_where(kernels, condition) -> list[str]:
    """Names of the kernels that meet a condition."""
    return [kernel["name"] for kernel in kernels if condition(kernel)]


def test_no_population_lives_in_local_memory(kernels):
    assert not names_where(kernels, lambda kernel: kernel["in_local_memory"])


def test_kernels_call_no_function(kernels):
    assert not names_where(kernels, lambda kernel: kernel["calls"])


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_narrow_kernels_compute_in_single_precision(kernels, precision):
    narrow = [kernel for kernel in kernels if kernel["precision"] == precision]
    assert narrow and not names_where(narrow, lambda kernel: kernel["double_operations"])


def test_the_count_of_double_operations_sees_them(kernels):
    doubles = [kernel for kernel in kernels if kernel["precision"] == "fp64"]
    assert doubles and not names_where(doubles, lambda kernel: kernel["double_operations"] < D3Q19.q)


def reads_of_table(kernel) -> int:
    """How often a node reads its addresses: in place once more for its stores."""
    return 2 if "-aa" in kernel["name"] else 1


def test_a_node_loads_its_populations_once(kernels):
    assert not names_where(kernels, lambda k: k["loads"] != k["nodes"] * (D3Q19.q + reads_of_table(k) * k["entries"]))


def test_a_thread_reads_the_line_of_a_warp_in_words_of_sixteen_bytes(kernels):
    """Two nodes of one warp share a line."""

    def lines(kernel):
        return reads_of_table(kernel) * (2 if kernel["threads"] == "double" else 1)

    assert not names_where(kernels, lambda k: k["quads"] != lines(k) * -(-(1 + k["entries"]) // 4))


def test_a_node_stores_its_populations_once_and_two_neighbours_theirs_together(kernels):
    def stores(kernel):
        return D3Q19.q * (1 if kernel["threads"] == "paired" else kernel["nodes"])

    assert not names_where(kernels, lambda kernel: kernel["stores"] != stores(kernel))


@pytest.mark.parametrize(("name", "most"), [("bgk-pull0-fp32-single", 175), ("trt-pull0-fp32-single", 188)])
def test_a_collision_takes_few_operations(kernels, name, most):
    """Measured: 166 and 178, of which 24 give the rest population what keeps the mass."""
    (kernel,) = (kernel for kernel in kernels if kernel["name"] == name)
    assert D3Q19.q < kernel["operations"] <= most
