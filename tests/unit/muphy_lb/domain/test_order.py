"""Orders of a rank's nodes: the same nodes, edge first, and neighbours that stay near."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.domain import ORDERS, build_local_domain
from muphy_lb.domain.local import TILE_XYZ
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.lattice import D3Q19
from tests.support import random_nodes, random_owner, random_voxels

EVERY_ORDER = pytest.mark.parametrize("order", ORDERS)


def long_box():
    """Nodes of a box several tiles long."""
    return build_nodes(random_voxels((11, 10, 70), fluid=0.9))


def ordered(nodes, order):
    """All nodes on one rank in an order."""
    return build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, D3Q19, order=order)


@EVERY_ORDER
def test_every_order_has_the_same_edge_and_the_same_interior(order):
    nodes = random_nodes(D3Q19)
    owner = random_owner(nodes, 2)
    expected, found = (build_local_domain(nodes, owner, 0, D3Q19, order=name) for name in (ORDERS[0], order))
    assert found.n_edge == expected.n_edge
    for part in (slice(found.n_edge), slice(found.n_edge, None)):
        assert np.array_equal(np.sort(found.number[part]), np.sort(expected.number[part]))


@EVERY_ORDER
@pytest.mark.parametrize("openings", [True, False], ids=["all edge", "no edge"])
def test_every_order_bears_an_empty_edge_or_interior(order, openings):
    nodes = random_nodes(D3Q19, openings=openings)
    owner = random_owner(nodes, 4) if openings else np.zeros(nodes.n_nodes, int)
    domain = build_local_domain(nodes, owner, 0, D3Q19, order=order)
    assert domain.n_edge == (domain.n_nodes if openings else 0)


def test_tiles_follow_one_another():
    nodes = long_box()
    tile = nodes.coordinates(ordered(nodes, "tiles").number) // TILE_XYZ
    changes = np.count_nonzero((np.diff(tile, axis=0) != 0).any(axis=1))
    assert changes == len(np.unique(tile, axis=0)) - 1 > 4


def test_consecutive_nodes_of_the_curve_are_nearer_than_those_of_the_list():
    nodes = long_box()
    steps = [np.abs(np.diff(nodes.coordinates(ordered(nodes, order).number), axis=0)).sum(axis=1) for order in ORDERS]
    assert steps[2].max() < steps[0].max() / 2


def test_an_unknown_order_is_refused():
    with pytest.raises(InputError, match="order is 'zigzag'; allowed: lexicographic, tiles, curve"):
        ordered(random_nodes(D3Q19), "zigzag")
