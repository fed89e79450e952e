"""The table of neighbours: what is decoded is where the neighbours lie, and warps that are alike share a record."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.domain import WARP, build_local_domain, build_neighbours
from muphy_lb.domain.addresses import NodeNeighbours
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import Voxels
from muphy_lb.lattice import D2Q9, D3Q19, LATTICES
from tests.random_domains import SPECIAL_IN_SPACE, random_domain

EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
N_GEOMETRIES = 12


def decoded(neighbours: NodeNeighbours) -> np.ndarray:
    """The same, of all nodes at once, from the words of the table."""
    table, count = neighbours.records(), len(neighbours.vectors)
    node = np.arange(neighbours.domain.pitch)
    record, lane = 4 * table[node // WARP].astype(np.int64), node % WARP
    base, found = record - (-(1 + count) // 4) * 4, np.empty((count, node.size), dtype=np.int64)
    for k in range(count):
        mask = table[record + 1 + k]
        started = np.bitwise_count(mask & (np.uint32(0xFFFFFFFF) >> (WARP - 1 - lane).astype(np.uint32)))
        found[k] = np.minimum((table[base + started - 1] + node) % 2**32, table[record])
        base = base + np.bitwise_count(mask)
    return found


@EVERY_LATTICE
def test_the_neighbours_in_any_geometry_are_restored(lattice):
    """Walls of all kinds, openings, neighbours on other ranks, periodic boxes."""
    for seed in range(N_GEOMETRIES):
        neighbours = build_neighbours(random_domain(lattice, seed), lattice.c[1:])
        assert np.array_equal(decoded(neighbours), neighbours.plain()), seed


@pytest.mark.parametrize("name", SPECIAL_IN_SPACE)
def test_the_neighbours_in_a_special_domain_are_restored(name):
    nodes = build_nodes(Voxels(SPECIAL_IN_SPACE[name]))
    domain = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, D3Q19)
    neighbours = build_neighbours(domain, D3Q19.c[1:])
    assert np.array_equal(decoded(neighbours), neighbours.plain())


@EVERY_LATTICE
def test_an_address_is_that_of_the_neighbour_or_lies_behind_all_nodes(lattice):
    domain = random_domain(lattice, 3)
    neighbours = build_neighbours(domain, lattice.c[1:])
    plain, codes = neighbours.plain()[:, : domain.n_nodes], domain.neighbours_with_ghosts(lattice.c[1:], slice(None))
    assert np.array_equal(plain[codes >= 0], codes[codes >= 0])
    assert (plain[codes < 0] >= neighbours.first_outside).all() and plain.max() == neighbours.n_slots - 1


def test_warps_that_are_alike_share_a_record():
    """A box of 64 x 24 x 24 voxels has two warps to a row, in nine kinds of rows: 18 records, or 19 with padding."""
    nodes = build_nodes(Voxels(np.ones((24, 24, 64), dtype=np.uint8)))
    domain = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, D3Q19)
    neighbours = build_neighbours(domain, D3Q19.c[1:])
    table = neighbours.records()
    assert np.unique(table[: domain.pitch // WARP]).size in (18, 19)
    assert 4.0 * table.size < 0.25 * domain.pitch


def test_more_nodes_than_the_table_can_address_are_refused():
    domain = random_domain(D2Q9, 0)
    neighbours = build_neighbours(domain, D2Q9.c[1:])
    too_many = NodeNeighbours(domain, neighbours.vectors, 2**31 + 1, neighbours.exchange, 2**31 - WARP)
    with pytest.raises(InputError, match="more ranks"):
        too_many.records()
