"""The solver as a library."""

import numpy as np

from muphy_lb.run.simulation import Simulation
from tests.vessel import write_case


def test_three_lines_give_the_velocity(tmp_path):
    simulation = Simulation.from_case(write_case(tmp_path), overrides=["compute.backend=numpy"])
    simulation.step(40)
    velocity = simulation.velocity_m_s()
    assert velocity.shape == (simulation.nodes.n_nodes, 3)
    assert 0.0 < np.abs(velocity).max() < 0.1
