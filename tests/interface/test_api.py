"""The solver as a library."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.run.solver import Solver
from tests.channel import periodic_channel, simulate
from tests.vessel import write_case


def test_three_lines_give_the_velocity(tmp_path):
    simulation = Solver.from_case(write_case(tmp_path), overrides=["compute.backend=numpy"])
    simulation.step(40)
    velocity = simulation.velocity_m_s()
    assert velocity.shape == (simulation.nodes.n_nodes, 3)
    assert 0.0 < np.abs(velocity).max() < 0.1


@pytest.fixture(scope="module")
def channel():
    return simulate(periodic_channel())


@pytest.mark.parametrize("n_steps", [3.0, np.float32(3), np.int64(3)])
def test_a_whole_number_of_steps_may_be_of_any_type(channel, n_steps):
    before = channel.step_number
    channel.step(n_steps)
    assert channel.step_number == before + 3


@pytest.mark.parametrize("n_steps", [10.5, 0.5, -3, -1.0, float("nan"), float("inf"), True, "x", None, np.ones(1)])
def test_any_other_number_of_steps_is_refused(channel, n_steps):
    with pytest.raises(InputError, match=r"the number of steps is .*whole number, 0 or more.*run_for") as refused:
        channel.step(n_steps)
    assert repr(n_steps) in str(refused.value)


@pytest.mark.parametrize(("in_steps", "n_steps"), [(0.0, 0), (0.3, 1), (1.0, 1), (2.0 + 1e-12, 2), (2.01, 3), (7, 7)])
def test_a_time_is_rounded_up_to_whole_steps(channel, in_steps, n_steps):
    before = channel.step_number
    channel.run_for(in_steps * channel.units.time_step_s)
    assert channel.step_number == before + n_steps


@pytest.mark.parametrize("time_s", [-1.0, float("nan"), float("inf"), True])
def test_a_time_that_is_none_is_refused(channel, time_s):
    with pytest.raises(InputError, match="the time is .*; it must be a finite number of seconds"):
        channel.run_for(time_s)


def test_a_time_in_another_unit_is_taken_and_a_length_is_refused(channel):
    before = channel.step_number
    channel.run_for(f"{3e3 * channel.units.time_step_s} ms")
    assert channel.step_number == before + 3
    with pytest.raises(InputError, match="run_for: the time is '1 m'; it has the unit 'm'"):
        channel.run_for("1 m")
