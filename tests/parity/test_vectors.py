"""The loop over nodes of the CPU is compiled to vector instructions: losing them would be silent and cost a lot."""

import re

import numpy as np
import pytest

from muphy_lb.backends.cpu import skeletons
from muphy_lb.base.kept import cpu_store as kernel_store
from muphy_lb.base.precision import FP32, FP64, Precision
from muphy_lb.domain import PULL
from muphy_lb.lattice import D3Q19
from muphy_lb.operators import BGK, collision
from tests.parity.cpu_features import needs_wide_vectors

PACKED = re.compile(r"^\s+v(?:add|sub|mul)p[sd]\b.*[yz]mm", re.MULTILINE)
SCALAR = re.compile(r"^\s+v?(?:add|sub|mul)s[sd]\b", re.MULTILINE)
STREAMED = re.compile(r"^\s+v?movnt", re.MULTILINE)


def assembly(precision: Precision) -> str:
    """Of the D3Q19 pull loop, stores past the caches."""
    (pattern,) = PULL.patterns(D3Q19)
    skeleton = skeletons.stream_collide(collision(BGK), pattern, D3Q19, precision, streams=True)
    buffer, lines = np.zeros(64, precision.storage), np.zeros((1, 20), np.uint32)
    parameters = tuple(precision.real(value) for value in (1.25, 0, 0, 0))
    skeleton.sweep(buffer, buffer, lines, np.zeros(1, np.int32), 0, 0, parameters, ())
    (text,) = skeleton.sweep.inspect_asm().values()
    return text


@needs_wide_vectors
@pytest.mark.parametrize("precision", [FP64, FP32], ids=["fp64", "fp32"])
def test_the_node_loop_computes_with_vectors_and_stores_them_past_the_caches(precision, tmp_path, monkeypatch):
    """Scalar arithmetic is left for what no node changes, such as 1 - omega."""
    monkeypatch.setattr(kernel_store, "folder", lambda: tmp_path)  # a kernel from a file has no assembly to look at
    text = assembly(precision)
    assert len(PACKED.findall(text)) > 100 and len(SCALAR.findall(text)) < 20
    assert len(STREAMED.findall(text)) >= D3Q19.q
