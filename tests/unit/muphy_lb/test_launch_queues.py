"""Kernels over nodes go to the queue of their nodes, as the order of a step supposes."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("numba_cuda")
from muphy_lb.backends.arrays import NodeRange, State
from muphy_lb.backends.cuda import kernels
from muphy_lb.backends.cuda.backend import DeviceTable
from muphy_lb.base.precision import FP32
from muphy_lb.lattice import D3Q19
from muphy_lb.operators import COMPRESSIBLE
from muphy_lb.operators.moments import AFTER_COLLISION, macroscopic
from muphy_lb.parallel.task import ON_EDGE, ON_INTERIOR
from muphy_lb.physics.particles.beads.model import NO_FORCE


@pytest.mark.parametrize("queue", [ON_EDGE, ON_INTERIOR])
def test_moments_are_taken_on_the_queue_of_their_nodes(queue):
    launched = []
    backend = SimpleNamespace(
        lattice=D3Q19, precision=FP32, launch=lambda *_, queue=ON_INTERIOR, **more: launched.append(queue)
    )
    words = np.zeros(1, np.uint32)
    state = State(np.zeros(19, np.float32), tuple(range(19)), DeviceTable(words, words, 19), 1)
    operator = macroscopic(AFTER_COLLISION, COMPRESSIBLE, NO_FORCE)
    kernels.moments(backend, operator, state, NodeRange(0, 1, queue), np.zeros(4, np.float32), ())
    assert launched == [queue]
