"""A condition of one's own, through the contract alone: an outlet of resistance and capacitance that answers its flow.

The fluid is at rest between an inlet without flow and the outlet, whose capacitor discharges through its resistance:
p(t) = p(0) exp(-t / RC).
"""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.boundaries.feedback import Feedback
from muphy_lb.boundaries.opening_geometry import Condition
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.operators import PRESSURE, VELOCITY, Operator, named
from tests.support import Ranks, Setup, build_engine, random_nodes, random_owner, start_at_rest

RESISTANCE, CAPACITANCE, START = 4.0, 30.0, 1e-3
DECAY = np.exp(-1.0 / (RESISTANCE * CAPACITANCE))


def discharge(outflow, deviation, state, parameters):
    """Exact over one step of constant outflow: the specification."""
    pressure = parameters["decay"] * state[0] + (1.0 - parameters["decay"]) * parameters["resistance"] * outflow
    return pressure, (pressure,)


def discharge_node(lattice, precision, jit, at):
    """The same, compiled."""
    decay, resistance = at["decay"], at["resistance"]

    def advance(outflow, deviation, state, parameters):
        state[0] = parameters[decay] * state[0] + (1.0 - parameters[decay]) * parameters[resistance] * outflow
        return state[0]

    return jit(advance)


RC = Operator("rc", discharge, discharge_node, named("decay", "resistance"))
OUTLET = Feedback(RC, {"decay": DECAY, "resistance": RESISTANCE}, (START,), ("pressure",), START)


# Beyond the toy: what must hold of it.
CLOSED_INLET = Condition(VELOCITY, 0.0)
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])


def setup(lattice=D2Q9, feedback=OUTLET, **more) -> Setup:
    """A flow with the outlet."""
    return Setup(lattice, conditions=(CLOSED_INLET, Condition(PRESSURE, START, feedback=feedback)), **more)


@BACKENDS
@pytest.mark.parametrize("streaming", ["pull", "push", "aa"])
def test_without_flow_the_capacitor_discharges_exponentially(backend, streaming):
    """A resistance so small that the flow into the vessel does not matter: what is left is the exact factor."""
    alone = replace(OUTLET, parameters={"decay": DECAY, "resistance": 0.0})
    nodes = random_nodes(D2Q9, periodic=(False, True, True))
    engine = start_at_rest(build_engine(nodes, setup(feedback=alone, backend=backend, streaming=streaming)))
    engine.feedback.reset()
    engine.advance(60)
    state, value = engine.feedback.record()["1"]
    assert np.isclose(state, START * np.exp(-60 / (RESISTANCE * CAPACITANCE)), rtol=1e-12) and value == state


def run(nodes, chosen: Setup, owner, n_steps=40) -> tuple:
    """Populations and feedback of all ranks."""
    ranks = Ranks(nodes, chosen, owner)
    for engine in ranks.engines:
        engine.feedback.reset()
        start_at_rest(engine)
    ranks.step(n_steps)
    records = [engine.feedback.record() for engine in ranks.engines]
    assert all(record == records[0] for record in records)
    return ranks.populations(), records[0]


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("streaming", ["pull", "push", "aa"])
def test_the_outlet_does_not_depend_on_the_ranks(streaming, every):
    nodes = random_nodes(D3Q19)
    chosen = setup(D3Q19, replace(OUTLET, every=every), backend="cpu", streaming=streaming)
    alone = run(nodes, chosen, np.zeros(nodes.n_nodes, int))
    shared = run(nodes, chosen, random_owner(nodes, 3))
    assert np.array_equal(alone[0], shared[0]) and alone[1] == shared[1]
    assert 0.0 < alone[1]["1"][0] < START and np.abs(alone[0]).max() > 1e-6


@pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_the_outlet_is_compiled_as_it_is_specified(backend):
    nodes = random_nodes(D2Q9)
    everywhere = np.zeros(nodes.n_nodes, int)
    specified, compiled = (run(nodes, setup(backend=name), everywhere) for name in ("numpy", backend))
    assert np.abs(specified[0] - compiled[0]).max() < 1e-14
    assert np.isclose(specified[1]["1"][0], compiled[1]["1"][0], rtol=1e-12)
