"""Validation cases that ranks share find on any number of them what one finds.

To round-off: matrix products of the specification depend on how many nodes they are of.
"""

import sys

import numpy as np
import pytest

from muphy_lb.parallel import SerialCommunicator, connect
from muphy_lb.validation.case import Settings
from muphy_lb.validation.thermal import heated_bifurcation, heated_cavity

pytestmark = pytest.mark.mpi
RAYLEIGH, SIZE, FALLS = 1e4, 6, 12


def find_all(file, communicator):
    """The start of a history cube and a perturbed one, into ``file``."""
    settings = Settings(backend="numpy", communicator=communicator)
    cavity, history = heated_cavity.grid_sequence(RAYLEIGH, (SIZE,), settings)
    durations = heated_bifurcation.PhaseDurations(1, 1, 26, 1)
    perturbed = heated_bifurcation.perturbed_run(RAYLEIGH, (SIZE, SIZE, SIZE + 1), settings, durations)
    if communicator.rank == communicator.size - 1:
        found = {"wall": history.wall, "middle": history.middle, "change": history.change}
        np.savez(file, velocity=cavity.velocity, nusselt=cavity.nusselt, signals=perturbed.signals, **found)


def test_ranks_find_what_one_does(tmp_path, mpirun, monkeypatch):
    monkeypatch.setattr(heated_cavity, "MAX_FREE_FALLS", FALLS)
    find_all(tmp_path / "one.npz", SerialCommunicator())
    done = mpirun(2, ["-m", "tests.parallel.test_shared_cases", tmp_path / "two.npz"])
    assert done.returncode == 0, done.stderr
    one, two = np.load(tmp_path / "one.npz"), np.load(tmp_path / "two.npz")
    assert np.abs(one["signals"]).max() > 1e-6 and one["wall"].size > 1
    for name in one:
        np.testing.assert_allclose(two[name], one[name], rtol=1e-9, atol=1e-9 * np.abs(one[name]).max(), err_msg=name)


if __name__ == "__main__":
    heated_cavity.MAX_FREE_FALLS = FALLS
    find_all(sys.argv[1], connect())
