"""While a kernel compiles, a signature that Numba has found once is not looked for again, and the code is the same."""

import numba
import pytest
from numba import types

from muphy_lb.base.kept import signatures


def _polynomial(x):
    return ((x * x + x) * x + x) * x + x


@pytest.fixture
def looked_up(monkeypatch):
    """Types of the arguments for which Numba has looked."""
    found, look_up = [], signatures._look_up

    def noted(self, context, args, kws):
        found.append(args)
        return look_up(self, context, args, kws)

    monkeypatch.setattr(signatures, "_look_up", noted)
    return found


def test_a_signature_is_looked_for_once_a_kernel(looked_up):
    text, signature = [], (types.float64,)
    for _ in range(2):
        kernel = numba.njit(_polynomial)
        with signatures.remembered():
            kernel.compile(signature)
        text.append(kernel.nopython_signatures)
    assert text[0] == text[1] and kernel(2.0) == 30.0
    assert len(looked_up) == 4  # a product and a sum in each kernel


def test_without_a_kernel_of_this_program_numba_is_as_it_is(looked_up):
    kernel = numba.njit(_polynomial)
    kernel.compile((types.float64,))
    assert len(looked_up) > 4
