"""Nothing depends on the number of ranks: several engines in one process against one engine."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.domain import STREAMINGS
from muphy_lb.lattice import D2Q9, D3Q19
from tests.support import THROUGH_FLOW, Ranks, Setup, random_nodes, random_owner, random_populations

STEPS = 50
BOTH = pytest.mark.parametrize("streaming", STREAMINGS)
LATTICES = pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
BASE = Setup(D3Q19, force=(1e-5, 2e-5, 0.0), conditions=THROUGH_FLOW)


def populations_after(nodes, setup, owner):
    """(Q, n) populations in node-list order after the run."""
    ranks = Ranks(nodes, setup, owner)
    ranks.set_populations(random_populations(setup.lattice, nodes.n_nodes))
    ranks.step(STEPS)
    return ranks.populations()


@LATTICES
@BOTH
@pytest.mark.parametrize("n_ranks", [2, 4])
def test_compiled_populations_do_not_depend_on_the_ranks_bit_by_bit(lattice, streaming, n_ranks):
    nodes = random_nodes(lattice)
    setup = replace(BASE, lattice=lattice, backend="cpu", streaming=streaming)
    alone = populations_after(nodes, setup, np.zeros(nodes.n_nodes, int))
    shared = populations_after(nodes, setup, random_owner(nodes, n_ranks))
    assert np.isfinite(alone).all() and np.array_equal(alone, shared)


@LATTICES
@BOTH
def test_specified_populations_do_not_depend_on_the_ranks(lattice, streaming):
    """The specification multiplies matrices, whose last bit depends on their shape: round-off of 50 steps."""
    nodes = random_nodes(lattice)
    setup = replace(BASE, lattice=lattice, streaming=streaming)
    alone = populations_after(nodes, setup, np.zeros(nodes.n_nodes, int))
    shared = populations_after(nodes, setup, random_owner(nodes, 5))
    assert np.abs(alone - shared).max() < 1e-13


@BOTH
def test_the_totals_of_all_ranks_add_up(streaming):
    nodes = random_nodes(D3Q19)
    setup = replace(BASE, streaming=streaming, backend="cpu")
    sums = []
    for owner in (np.zeros(nodes.n_nodes, int), random_owner(nodes, 3)):
        ranks = Ranks(nodes, setup, owner)
        ranks.set_populations(random_populations(D3Q19, nodes.n_nodes))
        ranks.step(5)
        totals = [engine.totals() for engine in ranks.engines]
        sums.append((sum(total.fixed_speed for total in totals), max(total.speed for total in totals)))
    assert sums[0] == sums[1]
