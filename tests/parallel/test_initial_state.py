"""A flow starts the same on any number of ranks, bit for bit, whatever is computed from the field that is given."""

import numpy as np
import pytest

from muphy_lb.case.case import case_from_dict
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.solver import Solver

RANKS = 2
KINDS = (("pull", "bouzidi"), ("aa", "half-way"))


def rock(streaming, walls):
    """A case of a periodic rock, its SI units those of the lattice."""
    return case_from_dict(
        {
            "geometry": {
                "shape": "sphere_pack",
                "spacing_m": 1.0,
                "options": {"size": 9, "radius": 2.3, "porosity": 0.7},
            },
            "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.02},
            "flow": {"acceleration_m_s2": [1e-5, 0.0, 0.0]},
            "lattice": {"name": "D3Q19", "collision": "trt", "time_step_s": 1.0, "walls": walls},
            "compute": {"backend": "numpy", "precision": "fp64", "streaming": streaming},
            "run": {"steps": 10, "ramp_steps": 0},
        }
    )


def started(communicator) -> list[np.ndarray]:
    """Populations of every kind of flow after two steps, with a given and with the consistent pressure, on rank 0."""
    found = []
    for streaming, walls in KINDS:
        simulation = Solver(rock(streaming, walls), communicator)
        velocity = pressure = None
        if communicator.rank == 0:
            x, y, z = simulation.nodes.coordinates().T / 2.0
            velocity = 0.02 * np.stack((np.sin(y + z), np.cos(x) * np.sin(z), np.cos(x + y)), axis=-1)
            pressure = 1e-3 * np.sin(x * y)
        for consistent in (False, True):
            simulation.set_velocity_m_s(velocity, consistent_pressure=consistent)
            if not consistent:
                simulation.set_pressure_pa(pressure)
            simulation.step(2)
            found.append(np.array(list(simulation.populations())))
    return found


@pytest.mark.mpi
def test_any_number_of_ranks_starts_the_same(on_ranks):
    alone, shared = started(SerialCommunicator()), on_ranks(RANKS, started)
    assert all(np.array_equal(*pair) and np.abs(pair[0]).max() > 1e-4 for pair in zip(alone, shared, strict=True))
