"""What lies within one lattice vector of some nodes, compared with following every vector from every node."""

import numpy as np
import pytest

from muphy_lb.geometry import search
from muphy_lb.geometry.search import STENCIL_27, Vicinity
from tests.shifted import shifted_voxels

SHAPES = [(5, 6, 7), (1, 4, 9), (2, 1, 3), (1, 1, 1), (3, 2, 40)]
WRAPS = [(False, False, False), (True, False, True), (True, True, True)]


def some_voxels(shape, share, seed=3):
    """Ascending ids of a share of the voxels of a box."""
    return np.flatnonzero(np.random.default_rng(seed).random(np.prod(shape)) < share)


@pytest.mark.parametrize("periodic", WRAPS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("share", [0.0, 0.04, 0.4])
def test_a_vicinity_holds_the_nodes_and_all_their_neighbours_and_no_other_voxel(shape, periodic, share):
    nodes, every = some_voxels(shape, share), np.arange(np.prod(shape))
    around = np.concatenate([shifted_voxels(nodes, vector, shape, periodic) for vector in STENCIL_27])
    held = Vicinity(nodes, shape, periodic).holds(every)
    assert np.array_equal(held, np.isin(every, around))


def test_a_vicinity_is_asked_in_any_order_and_in_any_number_of_pieces(monkeypatch):
    shape, periodic = (5, 6, 7), (True, False, False)
    around = Vicinity(some_voxels(shape, 0.05), shape, periodic)
    asked = np.random.default_rng(0).permutation(np.prod(shape))
    together = around.holds(asked)
    monkeypatch.setattr(search, "VOXELS_PER_CHUNK", 7)
    assert np.array_equal(around.holds(asked), together)
    assert np.array_equal(together, np.concatenate([around.holds(piece) for piece in np.array_split(asked, 5)]))
    assert together.any() and not together.all()
