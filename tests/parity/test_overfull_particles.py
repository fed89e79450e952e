"""More particles than a rank has room for: the backends keep as many as there is room for, and say that there were
more."""

import numpy as np
import pytest

from muphy_lb.backends import make_backend
from muphy_lb.backends.arrays import MigrationArrays, ParticleArrays
from muphy_lb.base.precision import FP64
from muphy_lb.lattice import D3Q19
from tests.parity.cases import printed_by

CAPACITY, MOST, N_COLUMNS = 4, 3, 7
ARRIVING = (1, 3)
"""From two ranks, beside one that is there: one too many."""
EXPECTED = "4 1 [0, 1, 1, 1]"


def received(backend) -> str:
    """Number of particles then, the status, and the first column sorted, as a text."""
    zeros, messages = backend.zeros, np.zeros((len(ARRIVING), 1 + N_COLUMNS * MOST))
    messages[:, 0], messages[:, 1:] = ARRIVING, 1.0
    arrays = ParticleArrays(
        zeros(4 * CAPACITY, np.int32),
        zeros(3 * CAPACITY, np.float64),
        zeros(0, np.float64),
        backend.array(np.ones(1, int)),
    )
    counters = (zeros(1, np.int64) for _ in range(3))
    migration = MigrationArrays(
        zeros(messages.size, np.float64),
        backend.array(messages.reshape(-1)),
        None,
        zeros(1, np.int64),
        *counters,
        zeros(CAPACITY, np.int8),
        zeros(3, np.int64),
        MOST,
    )
    backend.bind("receive_particles", arrays, migration, CAPACITY)()
    count, status, integers = (backend.to_host(each) for each in (arrays.count, migration.status, arrays.integers))
    return f"{count[0]} {status[0]} {sorted(integers[:CAPACITY].tolist())}"


@pytest.mark.parametrize("name", ["numpy", "cpu"])
def test_a_full_set_keeps_its_room(name):
    assert received(make_backend(name, D3Q19, FP64)) == EXPECTED


def test_a_full_set_keeps_its_room_on_a_gpu_in_the_simulator():
    assert printed_by("tests.parity.test_overfull_particles", simulator=True).strip() == EXPECTED


if __name__ == "__main__":
    print(received(make_backend("cuda", D3Q19, FP64)))
