"""What tests of flows share."""

import numba
import pytest


@pytest.fixture(autouse=True)
def one_thread():
    """Domains of a few thousand nodes: on a busy machine threads would wait for each other longer than they work."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)
