"""Laws of any physics, over the table of them: a new one gets them with its smallest case (tests/laws/smallest.py).

A closed flow keeps its mass, a restart changes no bit, nor do ranks and streaming in place, compiled code computes the
specification, and what cannot be computed together is refused.
"""

import math
import tomllib
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.base.registry import PHYSICS, package
from muphy_lb.case.case import as_case, case_from_dict
from muphy_lb.domain import STREAMINGS
from muphy_lb.measure.monitor import Monitor, Request
from muphy_lb.run.checkpoint import checkpoint_path, restore, write_checkpoint
from muphy_lb.run.loop import Run
from muphy_lb.run.solver import Solver
from tests.laws.smallest import has, smallest

N_STEPS = 14
RANKS = (2, 3)
EVERY_PHYSICS = pytest.mark.parametrize("name", PHYSICS)
CLOSED = [name for name in PHYSICS if not smallest(name).openings]
ROUND_OFF = 1e-12


def state(simulation: Solver) -> np.ndarray | None:
    """All that the next step follows from, one array in an order that does not depend on the ranks; None off rank 0."""
    rows = [*simulation.populations(), *map(simulation.collect, simulation.state.fields().values())]
    sets = simulation.particles() or {}
    if simulation.communicator.rank:
        return None
    columns = [column for _, each in sorted(sets.items()) for _, column in sorted(each.items())]
    return np.concatenate([np.ravel(row).astype(np.float64) for row in (*rows, *columns)])


def advanced(case, n_steps=N_STEPS) -> Solver:
    """The simulation of a case, some steps later."""
    simulation = Solver(case)
    simulation.step(n_steps)
    return simulation


@cache
def computed(name: str, backend: str, streaming: str = "pull") -> np.ndarray:
    """The state of the smallest case after the steps."""
    return state(advanced(smallest(name, compute={"backend": backend, "streaming": streaming})))


@EVERY_PHYSICS
def test_the_smallest_case_moves_in_every_part_of_its_state(name):
    simulation = Solver(smallest(name))
    before = [*np.array(list(simulation.populations())), *simulation.state.fields().values()]
    simulation.step(N_STEPS)
    after = [*np.array(list(simulation.populations())), *simulation.state.fields().values()]
    assert not any(np.array_equal(*pair) for pair in zip(before, after, strict=True))


@EVERY_PHYSICS
def test_a_case_that_is_written_is_read_again(name):
    case = smallest(name)
    assert case_from_dict(tomllib.loads(case.to_toml())) == case
    assert as_case(case, ["run.steps=3"]).run.steps == 3


@pytest.mark.parametrize("name", CLOSED)
def test_a_closed_flow_keeps_its_mass(name):
    assert abs(advanced(smallest(name)).health().mass_drift) < ROUND_OFF


@EVERY_PHYSICS
@pytest.mark.parametrize("streaming", STREAMINGS)
@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_a_restart_is_going_on_bit_by_bit(name, precision, streaming, tmp_path):
    case = smallest(name, compute={"streaming": streaming, "precision": precision})
    try:
        first = advanced(case, N_STEPS // 2)
    except InputError as refusal:
        assert streaming in str(refusal)
        return
    write_checkpoint(checkpoint_path(tmp_path, N_STEPS // 2), first, {})
    second = Solver(case)
    restore(tmp_path, second)
    assert np.array_equal(state(first), state(second))
    for simulation in (first, second):
        simulation.step(N_STEPS - N_STEPS // 2)
    assert np.array_equal(state(first), state(second))


WRITING = {
    "compute": {"backend": "cpu"},
    "run": {"steps": N_STEPS},
    "output": {"series_every_steps": 2, "picture": False, "report": False, "vtk": False},
}


class GoingBack(Monitor):
    """Asks for a checkpoint, goes back to it some steps later, and once looks no more."""

    next_step, keeps_checkpoints, told = 4, True, ""

    def look(self, status):
        at = self.next_step
        self.next_step = 9 if at == 4 else math.inf
        return Request(checkpoint=at == 4, go_back=at == 9)


def gone_back(name: str, folder, communicator=None) -> Run:
    """A run of the smallest case that has gone back once."""
    simulation = Solver(smallest(name, **WRITING), communicator)
    simulation.monitor = GoingBack()
    run = Run(simulation, folder)
    run.execute()
    assert simulation.monitor.told == "back at step 4"
    return run


@EVERY_PHYSICS
def test_a_run_that_goes_back_to_a_checkpoint_ends_as_one_that_does_not(name, tmp_path):
    assert np.array_equal(state(gone_back(name, tmp_path / "back").simulation), computed(name, "cpu"))
    Run(Solver(smallest(name, **WRITING)), tmp_path / "straight").execute()
    found, expected = (sorted((tmp_path / folder).glob("*.csv")) for folder in ("back", "straight"))
    assert [path.name for path in found] == [path.name for path in expected]
    assert [path.read_text() for path in found] == [path.read_text() for path in expected]


@EVERY_PHYSICS
@pytest.mark.parametrize("streaming", [name for name, streaming in STREAMINGS.items() if streaming.in_place])
def test_in_place_has_the_bits_of_pull_or_is_refused(name, streaming):
    try:
        found = computed(name, "cpu", streaming)
    except InputError as refusal:
        assert streaming in str(refusal)
    else:
        assert np.array_equal(found, computed(name, "cpu"))


@EVERY_PHYSICS
def test_compiled_code_computes_the_specification(name):
    specified = computed(name, "numpy")
    assert np.abs(computed(name, "cpu") - specified).max() < ROUND_OFF * np.abs(specified).max()


def back_on_ranks(communicator, name: str, folder) -> np.ndarray | None:
    """The state behind a run that has gone back, on rank 0."""
    return state(gone_back(name, folder, communicator).simulation)


@pytest.mark.mpi
@EVERY_PHYSICS
def test_ranks_change_no_bit(name, on_ranks, tmp_path):
    """Also those of a run that has gone back to a checkpoint on them."""
    for n_ranks in RANKS:
        found = on_ranks(n_ranks, back_on_ranks, name, tmp_path / f"on_{n_ranks}")
        assert np.array_equal(found, computed(name, "cpu")), f"{n_ranks} ranks"


@pytest.mark.parametrize(("first", "second"), [*combinations(PHYSICS, 2)])
def test_two_physics_are_computed_together_or_refused_by_name(first, second):
    case, both = smallest(first, second), has(first) | has(second)
    pairs = [(a, b) for a in both for b in both if a < b]
    excluded = [(a, b) for a, b in pairs if b in package(a).excludes or a in package(b).excludes]
    try:
        found = state(advanced(case))
    except InputError as refusal:
        names = {name for name in both if f"[{name}]" in str(refusal)}
        assert any(names == {*pair} for pair in excluded) if excluded else names
    else:
        assert not excluded and np.isfinite(found).all()
