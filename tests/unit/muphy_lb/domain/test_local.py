"""One rank's nodes: run order, local numbers, and what is refused."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.domain import build_local_domain
from muphy_lb.domain.links import REMOTE_LINK
from muphy_lb.geometry.neighbours import FIRST_OPENING_LINK, WALL_LINK, neighbour_table
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.lattice import LATTICES as ALL
from muphy_lb.lattice.layout import GROUP, TILE
from tests.support import random_nodes, random_owner, random_voxels

pytestmark = pytest.mark.pairs

LATTICES = pytest.mark.parametrize("lattice", ALL.values(), ids=ALL)
RANKS = pytest.mark.parametrize("n_ranks", [1, 2, 5])


def slabs(nodes, n_ranks):
    """Owners by x: few links cross, so that most nodes are interior."""
    x = nodes.coordinates()[:, 0]
    return x * n_ranks // (x.max() + 1)


def long_channel(lattice):
    """Nodes of a channel long enough for an interior of several groups."""
    return build_nodes(random_voxels((1 if lattice.dimension == 2 else 5, 11, 60), fluid=0.9))


def domains(nodes, owner, lattice):
    """The domains of all ranks."""
    return [build_local_domain(nodes, owner, rank, lattice) for rank in range(owner.max() + 1)]


def neighbours(domain):
    """(Q, n) local node or code at the end of every link."""
    return domain.neighbours(domain.lattice.c, np.arange(domain.n_nodes))


def leaves(domain):
    """(n,) truth: the node has a link to another rank or into an opening."""
    return (neighbours(domain) <= FIRST_OPENING_LINK).any(axis=0)


@LATTICES
@RANKS
def test_every_node_belongs_to_one_domain_and_keeps_its_voxel(lattice, n_ranks):
    nodes = random_nodes(lattice)
    found = list(domains(nodes, random_owner(nodes, n_ranks), lattice))
    number = np.concatenate([domain.number for domain in found])
    assert np.array_equal(np.sort(number), np.arange(nodes.n_nodes))
    assert np.array_equal(np.concatenate([domain.voxel for domain in found]), nodes.voxel[number])


@LATTICES
@pytest.mark.parametrize("owners", [slabs, random_owner], ids=["slabs", "random"])
def test_no_interior_node_has_a_link_that_leaves(lattice, owners):
    nodes = long_channel(lattice)
    for domain in domains(nodes, owners(nodes, 3), lattice):
        assert not leaves(domain)[domain.n_edge :].any()


@LATTICES
def test_nodes_that_leave_come_first_the_edge_is_filled_up_to_whole_groups_and_both_keep_their_order(lattice):
    nodes = long_channel(lattice)
    for domain in domains(nodes, slabs(nodes, 3), lattice):
        leaving = leaves(domain)
        needed = int(leaving.sum())
        assert 0 < needed < domain.n_nodes and leaving[:needed].all()
        assert needed <= domain.n_edge < needed + GROUP and domain.n_edge % GROUP == 0
        assert (np.diff(domain.number[:needed]) > 0).all() and (np.diff(domain.number[domain.n_edge :]) > 0).all()


def test_a_closed_domain_of_one_rank_has_no_edge():
    nodes = random_nodes(D3Q19, openings=False)
    domain = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, D3Q19)
    assert domain.n_edge == 0 and np.array_equal(domain.number, np.arange(nodes.n_nodes))


@LATTICES
@RANKS
def test_local_links_lead_where_the_links_of_the_geometry_lead(lattice, n_ranks):
    nodes = random_nodes(lattice)
    owner = random_owner(nodes, n_ranks)
    for rank, domain in enumerate(domains(nodes, owner, lattice)):
        far = neighbour_table(nodes, lattice.c, domain.number)
        local = neighbours(domain)
        here = (far >= 0) & (owner[far] == rank)
        assert np.array_equal(domain.number[local[here]], far[here])
        assert (local[(far >= 0) & ~here] == REMOTE_LINK).all()
        assert np.array_equal(local[far < 0], far[far < 0])


@LATTICES
def test_link_records_are_the_links_into_openings(lattice):
    nodes = random_nodes(lattice)
    owner = random_owner(nodes, 3)
    found = set()
    for domain in domains(nodes, owner, lattice):
        links = domain.links
        found |= set(zip(domain.number[links.node], links.q, links.boundary, strict=True))
    table = neighbour_table(nodes, lattice.c)
    q, node = np.nonzero(table < WALL_LINK)
    assert found == set(zip(node, q, FIRST_OPENING_LINK - table[q, node], strict=True)) and found


@LATTICES
def test_link_records_are_sorted_by_opening_voxel_and_direction(lattice):
    nodes = random_nodes(lattice)
    links = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, lattice).links
    keys = list(zip(links.boundary, links.voxel, links.q, strict=True))
    assert keys == sorted(keys) and set(links.boundary) == {0, 1}


@pytest.mark.parametrize(("n", "pitch"), [(1, TILE), (TILE - 1, TILE), (TILE, TILE), (TILE + 1, 2 * TILE)])
def test_the_pitch_is_the_next_whole_tile(n, pitch):
    nodes = build_nodes(random_voxels((1, 1, n), fluid=1.0))
    domain = build_local_domain(nodes, np.zeros(n, int), 0, D2Q9)
    assert (domain.n_nodes, domain.pitch) == (n, pitch)


def test_a_rank_without_nodes_is_refused():
    nodes = random_nodes(D2Q9)
    with pytest.raises(InputError, match=f"rank 3 owns none of the {nodes.n_nodes} fluid nodes; use fewer ranks"):
        build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 3, D2Q9)


def test_a_plane_lattice_in_a_box_of_several_layers_is_refused():
    nodes = random_nodes(D3Q19)
    with pytest.raises(InputError, match=r"D2Q9 is two-dimensional .* 6 layers along z; use D3Q19"):
        build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, D2Q9)
