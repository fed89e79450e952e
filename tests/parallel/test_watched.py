"""A run that is watched, and its pictures, are the same on any number of ranks."""

import numpy as np
import pytest

import muphy_lb
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.parallel.watched import CHANGE, N_AFTER, N_BEFORE
from tests.unit.muphy_lb.view.test_live import EACH
from tests.vessel import vessel

pytestmark = [pytest.mark.mpi, pytest.mark.night]


def test_a_watched_run_on_any_ranks_has_the_bits_of_one_that_nobody_looks_at(mpirun, tmp_path):
    found = []
    for n_ranks in (1, 3):
        done = mpirun(n_ranks, ["-m", "mpi4py", "-m", "tests.parallel.watched", tmp_path / f"ranks{n_ranks}"])
        assert done.returncode == 0, done.stdout + done.stderr
        found.append(np.load(tmp_path / f"ranks{n_ranks}.npz"))
    for name in found[0].files:
        assert np.array_equal(found[0][name], found[1][name]), name
    simulation = Solver(vessel(**EACH))
    Run(simulation, tmp_path / "alone").execute()
    assert np.array_equal(found[0]["arr_0"], np.array(list(simulation.populations())))
    with muphy_lb.Simulation(vessel(**EACH)) as flow:
        flow.run(steps=N_BEFORE)
        flow.change(CHANGE)
        flow.run(steps=N_AFTER)
        assert np.array_equal(found[0]["arr_1"], np.array(list(flow.core.populations())))
