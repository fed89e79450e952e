"""Nothing depends on the number of ranks, on the order of a rank's nodes, or on the parts in which it is looked at."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.domain import ORDERS, STREAMINGS, WARP
from muphy_lb.lattice import D2Q9, D3Q19
from tests.laws.walled import MOVING, walled_nodes
from tests.parity.plain_python import PlainPython
from tests.support import (
    THROUGH_FLOW,
    Ranks,
    Setup,
    advance,
    build_engine,
    random_nodes,
    random_owner,
    random_populations,
)

pytestmark = pytest.mark.pairs

STEPS = 50
EVERY_STREAMING = pytest.mark.parametrize("streaming", STREAMINGS)
LATTICES = pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
BASE = Setup(D3Q19, force=(1e-5, 2e-5, 0.0), conditions=THROUGH_FLOW)


def populations_after(nodes, setup, owner):
    """(Q, n) populations in node-list order after the run."""
    ranks = Ranks(nodes, setup, owner)
    ranks.set_populations(random_populations(setup.lattice, nodes.n_nodes))
    ranks.step(STEPS)
    return ranks.populations()


@LATTICES
@EVERY_STREAMING
@pytest.mark.parametrize(("backend", "n_ranks"), [("cpu", 2), ("cpu", 4), ("numpy", 5)])
def test_populations_do_not_depend_on_the_ranks_bit_by_bit(lattice, streaming, backend, n_ranks):
    nodes = random_nodes(lattice)
    setup = replace(BASE, lattice=lattice, backend=backend, streaming=streaming)
    alone = populations_after(nodes, setup, np.zeros(nodes.n_nodes, int))
    shared = populations_after(nodes, setup, random_owner(nodes, n_ranks))
    assert np.isfinite(alone).all() and np.array_equal(alone, shared)


@EVERY_STREAMING
def test_the_totals_of_all_ranks_add_up(streaming):
    nodes = random_nodes(D3Q19)
    setup = replace(BASE, streaming=streaming, backend="cpu")
    sums = []
    for owner in (np.zeros(nodes.n_nodes, int), random_owner(nodes, 3)):
        ranks = Ranks(nodes, setup, owner)
        ranks.set_populations(random_populations(D3Q19, nodes.n_nodes))
        ranks.step(5)
        totals = [engine.totals() for engine in ranks.engines]
        flow = np.sum([total.flow for total in totals], axis=0).tolist()
        sums.append((max(total.speed for total in totals), flow))
    assert sums[0] == sums[1]


@LATTICES
@EVERY_STREAMING
@pytest.mark.parametrize("walled", [False, True], ids=["openings", "moving walls"])
@pytest.mark.parametrize("n_ranks", [1, 2])
def test_populations_do_not_depend_on_the_order_of_the_nodes_bit_by_bit(lattice, streaming, walled, n_ranks):
    nodes = walled_nodes(lattice) if walled else random_nodes(lattice)
    what = {"motions": MOVING} if walled else {"conditions": THROUGH_FLOW}
    setup, found, numbers = Setup(lattice, streaming=streaming, force=BASE.force, **what), [], []
    for order in ORDERS:
        ranks = Ranks(nodes, PlainPython.of(replace(setup, order=order)), random_owner(nodes, n_ranks))
        ranks.set_populations(random_populations(lattice, nodes.n_nodes))
        ranks.step(3)
        found.append(ranks.populations())
        numbers.append(ranks.engines[0].domain.number)
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    assert not np.array_equal(numbers[0], numbers[2]) and np.abs(found[0]).max() > 1e-3


def seen(lattice, streaming, backend):
    """Populations and moments after two and three steps of an engine begun with populations, and with equilibrium."""
    nodes = random_nodes(lattice)
    setup = replace(BASE, lattice=lattice, streaming=streaming, backend=backend)
    rng, found = np.random.default_rng(2), []
    engine = build_engine(nodes, setup)
    engine.set_populations(random_populations(lattice, nodes.n_nodes))
    for n_steps in (2, 1):
        advance(engine, n_steps)
        found += [engine.populations(), engine.moments()]
    engine.start_from(rng.uniform(0.9, 1.1, nodes.n_nodes), np.zeros((3, nodes.n_nodes)))
    return np.concatenate([*found, engine.populations(), engine.moments()])


@LATTICES
@EVERY_STREAMING
@pytest.mark.parametrize("backend", ["numpy", "cpu"])
def test_what_is_seen_of_a_domain_does_not_depend_on_the_parts_in_which_it_is_looked_at(
    lattice, streaming, backend, monkeypatch
):
    whole = seen(lattice, streaming, backend)
    monkeypatch.setattr("muphy_lb.engine.transfers.CHUNK_NODES", 3 * WARP)
    parts = seen(lattice, streaming, backend)
    assert whole.shape[1] > 3 * WARP and whole.shape[1] % WARP
    assert np.array_equal(parts, whole)
