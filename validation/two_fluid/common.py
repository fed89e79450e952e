"""Parts of several validation cases of two fluids."""

from functools import partial

import numpy as np

from muphy_lb.measure.flow_view import on_root
from muphy_lb.physics.two_fluid.observers import FLOW_OF_BOTH
from muphy_lb.run.solver import Solver
from muphy_lb.validation import limits

NU = 0.1


def phase_of(flow: Solver) -> np.ndarray:
    """(n,) phase of all nodes, on rank 0."""
    return on_root(flow.field("phase")).astype(np.float64)


def flows_of(flow: Solver) -> tuple[np.ndarray, np.ndarray]:
    """(3,) sums of the velocities of the first fluid over all nodes, and of the second one, by their shares; rank 0."""
    sums = on_root(flow.node_sums(FLOW_OF_BOTH).read())[0]
    return sums[:3], sums[3:]


refuse_half = partial(limits.refuse_half, reason="two fluids need more digits than fp16 has")
