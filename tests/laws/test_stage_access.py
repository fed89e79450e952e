"""A stage gets what it declares: arriving or stored populations, and neighbours, each by itself or with others."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from muphy_lb.engine.step import StepOrder
from muphy_lb.lattice import D2Q9, added
from muphy_lb.model.isothermal import Fluid, isothermal
from muphy_lb.model.model import ARRIVING, STORED, Field, FieldValue, Stage, Where
from muphy_lb.operators import Operator, named
from tests.support import Ranks, Setup, random_nodes, random_owner, random_populations

AMOUNT, ROUND_OFF = 2.0**-10, 1e-15


def summing(name: str) -> Operator:
    """Stores the sum of a node's populations in a field."""

    def reference(f, n, lattice, parameters):
        parameters[name][n] = added(f)

    def node(lattice, precision, jit, at):
        field, q_count = at[name], lattice.q

        def store(f, n, parameters):
            total = f[0]
            for q in range(1, q_count):
                total += f[q]
            parameters[field][n] = total

        return jit(store)

    return Operator(name, reference, node, named(name))


def supply(f, neighbours, n, lattice, parameters):
    """The population at rest gains an amount for every source beside the node: the specification."""
    f[0] += AMOUNT * parameters["source"][neighbours].sum(axis=0)


def supply_node(lattice, precision, jit, at):
    """The same at one node: the first population is changed."""
    source, count, amount = at["source"], lattice.q - 1, precision.real(AMOUNT)

    def add(f, neighbours, n, parameters):
        for k in range(count):
            f[0] += amount * parameters[source][neighbours[k]]
        return 1

    return jit(add)


SUPPLY = Operator("supply", supply, supply_node, named("source"))
FIELDS = (
    *(Field(name) for name in ("arrived", "kept")),
    Field("source", outside=0.0, fixed=lambda domain: (domain.number % 3 == 0) * 1.0),
    Field("chosen", dtype=np.int8, fixed=lambda domain: domain.number % 2),
)
VALUES = {name: FieldValue(name) for name in ("arrived", "kept", "source")}
BETWEEN = (
    Stage("arrived", (summing("arrived"),), VALUES, (ARRIVING,), ("arrived",)),
    Stage("supply", (SUPPLY,), VALUES, (ARRIVING, "source@neighbours"), (ARRIVING,), Where("chosen", 1)),
)
AFTER = (Stage("kept", (summing("kept"),), VALUES, (STORED,), ("kept",)),)


@dataclass(frozen=True)
class SupplySetup(Setup):
    """A flow of which some nodes gain mass."""

    def model(self):
        """Isothermal flow with the stages."""
        flow = isothermal(self.lattice, Fluid(self.rates), self.streaming)
        return replace(flow, fields=FIELDS, between=BETWEEN, after=AFTER)


def run(backend: str, streaming: str, n_ranks: int) -> tuple[np.ndarray, ...]:
    """Populations, and the sums of those that arrived and of those kept in the last of some steps."""
    nodes, setup = random_nodes(D2Q9, openings=False), SupplySetup(D2Q9, backend=backend, streaming=streaming)
    ranks = Ranks(nodes, setup, random_owner(nodes, n_ranks) if n_ranks > 1 else np.zeros(nodes.n_nodes, int))
    ranks.set_populations(random_populations(D2Q9, nodes.n_nodes))
    ranks.step(5)
    sums = np.empty((2, nodes.n_nodes))
    for engine in ranks.engines:
        sums[:, engine.domain.number] = [engine.fields.get(name, engine.parity) for name in ("arrived", "kept")]
    return ranks.populations(), *sums


def expected_gain() -> np.ndarray:
    """(n,) amounts that the nodes get, from the coordinates."""
    nodes = random_nodes(D2Q9, openings=False)
    places = {tuple(place): k for k, place in enumerate(nodes.coordinates().tolist())}
    gains = np.zeros(nodes.n_nodes)
    for place, k in places.items():
        for vector in D2Q9.c[1:].tolist():
            far = [a + b for a, b in zip(place, vector, strict=True)]
            wrapped = (x % s if p else x for x, s, p in zip(far, nodes.shape[::-1], nodes.periodic, strict=True))
            gains[k] += places.get(tuple(wrapped), 1) % 3 == 0
    return AMOUNT * gains * (np.arange(nodes.n_nodes) % 2)


@pytest.mark.parametrize("streaming", ["pull", "aa"])
@pytest.mark.parametrize("backend", ["numpy", "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_what_a_stage_adds_to_arriving_populations_the_collision_keeps(backend, streaming):
    f, arrived, kept = run(backend, streaming, 1)
    gain = expected_gain()
    assert gain.max() > AMOUNT and np.abs(kept - arrived - gain).max() < ROUND_OFF
    assert np.abs(added(f) - kept).max() < ROUND_OFF
    assert all(np.array_equal(*pair) for pair in zip((f, arrived, kept), run(backend, streaming, 2), strict=True))


@dataclass(frozen=True)
class KeptBefore(Setup):
    """A flow of which a stage ahead of the step sums the stored populations."""

    def model(self):
        """Isothermal flow with the stage."""
        return replace(isothermal(self.lattice, Fluid(self.rates), self.streaming), fields=FIELDS, before=AFTER)


@pytest.mark.parametrize("streaming", ["pull", "push", "aa"])
@pytest.mark.parametrize("n_ranks", [1, 2])
def test_ahead_of_a_step_a_stage_gets_what_the_step_before_has_stored(n_ranks, streaming):
    nodes = random_nodes(D2Q9, openings=False)
    ranks = Ranks(nodes, KeptBefore(D2Q9, streaming=streaming), random_owner(nodes, n_ranks))
    ranks.set_populations(random_populations(D2Q9, nodes.n_nodes))
    for _ in range(3):
        expected = added(ranks.populations())
        ranks.step(1)
        for engine in ranks.engines:
            found = engine.fields.get("kept", engine.parity)
            assert np.abs(found - expected[engine.domain.number]).max() < ROUND_OFF


KEEP, KEPT = (summing("kept"),), ("kept",)


@pytest.mark.parametrize(
    ("place", "stage", "message"),
    [
        ("before", ((ARRIVING,), KEPT), "arriving populations, which are there between streaming and collision alone"),
        ("after", ((ARRIVING,), KEPT), "arriving populations, which are there between streaming and collision alone"),
        ("after", ((STORED,), (STORED, *KEPT)), "writes populations that it cannot write"),
        ("between", ((STORED,), (ARRIVING, *KEPT)), "writes populations that it cannot write"),
        ("after", ((STORED, "keep"), KEPT), "declares 'keep', which is not a field; there are arrived, kept, source"),
        ("after", ((STORED,), KEPT, Where("choice", 1)), "declares 'choice', which is not a field"),
        ("after", ((STORED, "kept@neighbours"), KEPT), "reads 'kept' at neighbours, where it has no values"),
        ("after", ((STORED, "arrived"), KEPT), "declares 'arrived', which its operators do not use"),
        ("after", ((STORED,), ()), "uses the field 'kept', which it does not declare"),
        ("after", ((), KEPT), "has the arguments n, lattice, parameters, and 'kept' takes f, n, lattice, parameters"),
    ],
)
def test_another_access_than_that_of_its_operators_is_refused(place, stage, message):
    model = replace(
        isothermal(D2Q9, Fluid((1.25,)), "pull"), fields=FIELDS, **{place: (Stage("keep", KEEP, VALUES, *stage),)}
    )
    with pytest.raises(ValueError, match=f"stage 'keep' .*{message}"):
        StepOrder(model)


def test_stored_populations_that_change_as_arriving_ones_are_refused():
    model = isothermal(D2Q9, Fluid((1.25,)), "pull")
    changing, summed = Stage("change", KEEP, VALUES, (ARRIVING,), (ARRIVING, *KEPT)), AFTER[0]
    StepOrder(replace(model, fields=FIELDS, between=(summed, changing)))
    for between in ((changing, summed), (replace(changing, reads=(ARRIVING, STORED)),)):
        with pytest.raises(ValueError, match="reads stored populations that are changed as arriving populations"):
            StepOrder(replace(model, fields=FIELDS, between=between))


def test_a_parameter_without_a_value_is_refused():
    stage = Stage("keep", KEEP, {}, (STORED,), KEPT)
    with pytest.raises(ValueError, match="stage 'keep' gives no parameter 'kept' to 'kept'"):
        StepOrder(replace(isothermal(D2Q9, Fluid((1.25,)), "pull"), fields=FIELDS, after=(stage,)))
