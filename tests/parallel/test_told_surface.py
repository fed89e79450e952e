"""The wall shear stress that is told beside a free surface is the same on any number of ranks, for every streaming and
after a restart, also where gas sends nothing to the nodes that it is told of; and to tell it changes no bit."""

from itertools import product

import numpy as np
import pytest

from muphy_lb.case.case import case_from_dict
from muphy_lb.measure.shear.wall_shear import WallShear
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.run.checkpoint import checkpoint_path, restore, write_checkpoint
from muphy_lb.run.solver import Solver
from tests.laws.test_random_tanks import random_tank

FULL_BESIDE_GAS = 271130005
"""Seed of a tank in which a full voxel beside a wall has gas beside it."""
STEPS = (1, 1, 1, 7)
STREAMINGS = ("pull", "aa")
WAYS = tuple(product(STREAMINGS, (False, True)))


def tank(streaming: str, shear: bool = False, communicator=None) -> Solver:
    """The tank; ``shear``: its wall shear stress is recorded, as a mean of two steps."""
    tables, _ = random_tank(FULL_BESIDE_GAS)
    tables["compute"] |= {"backend": "cpu", "streaming": streaming}
    tables["output"] = {"wall_shear": shear}
    return Solver(case_from_dict(tables), communicator or SerialCommunicator())


def told(streaming: str, shear: bool = False, communicator=None) -> np.ndarray:
    """(k, m, 3) wall shear stress [Pa] in some states, on rank 0, of the step ahead or as a mean of two steps."""
    simulation, found = tank(streaming, shear, communicator), []
    for n_steps in STEPS:
        simulation.step(n_steps)
        found.append(WallShear(simulation).traction_pa())
    return np.array(found if simulation.communicator.rank == 0 else 0.0)


def told_everywhere(communicator) -> list[np.ndarray]:
    """What is told in every way, on rank 0."""
    return [told(*ways, communicator) for ways in WAYS]


def test_two_ranks_tell_what_one_tells(on_ranks):
    alone = told_everywhere(SerialCommunicator())  # and compiles for all ranks
    for ways, expected, found in zip(WAYS, alone, on_ranks(2, told_everywhere), strict=True):
        assert np.abs(expected).max() > 0.0
        assert expected.tobytes() == found.tobytes(), ways


@pytest.mark.parametrize("shear", [False, True])
def test_every_streaming_tells_the_same(shear):
    found = [told(streaming, shear=shear) for streaming in STREAMINGS]
    assert np.array_equal(*found)


@pytest.mark.parametrize("streaming", STREAMINGS)
def test_a_restart_tells_the_same(streaming, tmp_path):
    first, second = tank(streaming), tank(streaming)
    first.step(STEPS[0])
    write_checkpoint(checkpoint_path(tmp_path, first.step_number), first, {})
    restore(tmp_path, second)
    assert WallShear(first).traction_pa().tobytes() == WallShear(second).traction_pa().tobytes()


@pytest.mark.parametrize("streaming", STREAMINGS)
def test_to_tell_it_changes_nothing(streaming):
    asked, silent = tank(streaming, shear=True), tank(streaming)
    for n_steps in STEPS:
        for simulation in (asked, silent):
            simulation.step(n_steps)
        before = asked.state.fields() | dict(enumerate(asked.engine.buffers))
        before = {name: np.array(values) for name, values in before.items()}
        WallShear(asked).traction_pa()
        after = asked.state.fields() | dict(enumerate(asked.engine.buffers))
        assert all(np.array_equal(values, after[name]) for name, values in before.items())
    assert np.array_equal(asked.engine.populations(), silent.engine.populations())
    assert all(np.array_equal(values, silent.state.fields()[name]) for name, values in asked.state.fields().items())
