"""A physics of one's own in two passes, through the contract alone: cells that turn beside two or more of their kind.

The first pass counts a cell's neighbours of kind 1 and marks whether it will turn; the second turns it, and with it all
unmarked neighbours of marked cells that are marked by nobody else. In between, the marks cross between ranks.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from muphy_lb.engine.step import StepBinder, StepKind
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.model.isothermal import Fluid, isothermal
from muphy_lb.model.model import Field, FieldValue, Stage
from muphy_lb.operators import Operator, named
from muphy_lb.parallel.task import ON_EDGE, ON_INTERIOR
from tests.support import Ranks, Setup, random_nodes, random_owner, random_populations

FLAGS = named("kind", "mark")
WALL = 9


def mark(neighbours, n, lattice, parameters):
    """Which cells turn: the specification."""
    beside = (parameters["kind"][neighbours] == 1).sum(axis=0)
    parameters["mark"][n] = (parameters["kind"][n] == 0) & (beside == 2)


def mark_node(lattice, precision, jit, at):
    """The same for one node."""
    kind, marked, count = at["kind"], at["mark"], lattice.q - 1

    def decide(neighbours, n, parameters):
        beside = 0
        for k in range(count):
            if parameters[kind][neighbours[k]] == 1:
                beside += 1
        parameters[marked][n] = 1 if parameters[kind][n] == 0 and beside == 2 else 0

    return jit(decide)


def turn(neighbours, n, lattice, parameters):
    """Marked cells turn to kind 1, cells of kind 1 beside three or more marked ones back to kind 0."""
    beside = (parameters["mark"][neighbours] == 1).sum(axis=0)
    own = parameters["kind"][n]
    parameters["kind"][n] = np.where(parameters["mark"][n] == 1, 1, np.where(beside > 2, 0, own))


def turn_node(lattice, precision, jit, at):
    """The same for one node."""
    kind, marked, count = at["kind"], at["mark"], lattice.q - 1

    def convert(neighbours, n, parameters):
        beside = 0
        for k in range(count):
            if parameters[marked][neighbours[k]] == 1:
                beside += 1
        if parameters[marked][n] == 1:
            parameters[kind][n] = 1
        elif beside > 2:
            parameters[kind][n] = 0

    return jit(convert)


VALUES = {name: FieldValue(name) for name in ("kind", "mark")}
FIELDS = (Field("kind", dtype=np.int32, outside=WALL, is_state=True), Field("mark", dtype=np.int32, outside=WALL))
PASSES = (
    Stage("mark", (Operator("mark", mark, mark_node, FLAGS),), VALUES, ("kind@neighbours",), ("mark",)),
    Stage("turn", (Operator("turn", turn, turn_node, FLAGS),), VALUES, ("mark@neighbours",), ("kind",)),
)


# Beyond the toy: what must hold of it.
@dataclass(frozen=True)
class ConversionSetup(Setup):
    """A flow with cells that turn."""

    def model(self):
        """Isothermal flow, and two passes behind it."""
        return replace(isothermal(self.lattice, Fluid(self.rates), self.streaming), fields=FIELDS, after=PASSES)


def start_of(nodes) -> np.ndarray:
    """(n,) kinds in node-list order, a third of them 1."""
    return (np.random.default_rng(3).random(nodes.n_nodes) < 0.3).astype(np.int32)


def run(nodes, setup, owner, n_steps=12):
    """Kinds of all nodes in node-list order."""
    ranks, start = Ranks(nodes, setup, owner), start_of(nodes)
    for engine in ranks.engines:
        engine.fields.set("kind", start[engine.domain.number])
    ranks.set_populations(random_populations(setup.lattice, nodes.n_nodes))
    ranks.step(n_steps)
    found = np.empty(nodes.n_nodes, np.int32)
    for engine in ranks.engines:
        found[engine.domain.number] = engine.fields.get("kind", engine.parity)
    return found


def by_hand(nodes, lattice, n_steps=12) -> np.ndarray:
    """The same by dictionaries of coordinates."""
    nz, ny, nx = nodes.shape
    place = [tuple(int(x) for x in row) for row in nodes.coordinates()]
    size = (nx, ny, nz)
    kind = dict(zip(place, start_of(nodes).tolist(), strict=True))

    def neighbours(cell):
        for vector in lattice.c[1:].tolist():
            far = [a + b for a, b in zip(cell, vector, strict=True)]
            wrapped = tuple(x % s if p else x for x, s, p in zip(far, size, nodes.periodic, strict=True))
            yield wrapped

    for _ in range(n_steps):
        marks = {c: kind[c] == 0 and sum(kind.get(o) == 1 for o in neighbours(c)) == 2 for c in place}
        kind = {
            c: 1 if marks[c] else 0 if sum(marks.get(o, False) for o in neighbours(c)) > 2 else kind[c] for c in place
        }
    return np.array([kind[c] for c in place])


BACKENDS = pytest.mark.parametrize("backend", ["numpy", "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])


@BACKENDS
@pytest.mark.parametrize("n_ranks", [1, 2, 3])
@pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
def test_cells_turn_as_by_hand_on_any_ranks(lattice, backend, n_ranks):
    nodes = random_nodes(lattice, openings=False)
    owner = random_owner(nodes, n_ranks) if n_ranks > 1 else np.zeros(nodes.n_nodes, int)
    found = run(nodes, ConversionSetup(lattice, backend=backend), owner)
    assert np.array_equal(found, by_hand(nodes, lattice))
    assert 0 < found.sum() < nodes.n_nodes and not np.array_equal(found, start_of(nodes))


def test_the_interior_of_a_pass_is_under_way_before_messages_and_its_edge_comes_behind_them():
    nodes = random_nodes(D2Q9, openings=False)
    halves = np.arange(nodes.n_nodes) * 2 // nodes.n_nodes
    for engine in Ranks(nodes, ConversionSetup(D2Q9, backend="numpy"), halves).engines:
        assert 0 < engine.domain.n_edge < engine.domain.n_nodes
        tasks = StepBinder(engine).bind(StepKind(parity=0))
        turns = [k for k, task in enumerate(tasks) if task.stage == "turn"]
        assert [tasks[k].queue for k in turns] == [ON_INTERIOR, ON_EDGE]
        between = [task.stage for task in tasks[turns[0] + 1 : turns[1]]]
        assert between[0] == "pack" and between[-1] == "unpack" and "exchange" in between
