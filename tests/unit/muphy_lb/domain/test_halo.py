"""Both ends of the halo derive the same list without talking."""

from itertools import permutations

import numpy as np
import pytest

from muphy_lb.domain import build_local_domain
from muphy_lb.domain.links import REMOTE_LINK
from muphy_lb.lattice import LATTICES as ALL
from tests.shifted import shifted_voxels
from tests.support import random_nodes, random_owner

N_RANKS = 4
LATTICES = pytest.mark.parametrize("lattice", ALL.values(), ids=ALL)


@pytest.fixture(params=ALL.values(), ids=ALL)
def shared(request):
    """Node list and the domains of four ranks with random nodes, in a box that wraps in y."""
    nodes = random_nodes(request.param)
    owner = random_owner(nodes, N_RANKS)
    return nodes, [build_local_domain(nodes, owner, rank, request.param) for rank in range(N_RANKS)]


def remote_links(domain):
    """(direction, node) of the links to other ranks, and of those into openings with a mirror image there."""
    q, node = np.nonzero(domain.neighbours(domain.lattice.c, np.arange(domain.n_nodes)) == REMOTE_LINK)
    remote = domain.mirrors.remote
    return np.append(q, domain.links.q[remote]), np.append(node, domain.links.node[remote])


def arrivals(domain, nodes):
    """(S, 3) displacement, and direction on arrival, of every population that is sent."""
    lattice, mirrors = domain.lattice, domain.mirrors
    vector, q = lattice.c[domain.halo.send_q], domain.halo.send_q.copy()
    normals = np.array([opening.normal for opening in nodes.openings], dtype=int)
    normal = normals[domain.links.boundary[mirrors.remote]]
    across = (vector[mirrors.sent] * normal).sum(axis=1)[:, None] * normal
    reflected = vector[mirrors.sent] - 2 * across
    q[mirrors.sent] = [lattice.c.tolist().index(each) for each in reflected.tolist()]
    vector[mirrors.sent] -= across
    return vector, q


def message(starts, neighbours, rank):
    """Slice of the message from or to ``rank``; empty if the two are no neighbours."""
    if rank not in neighbours:
        return slice(0, 0)
    j = neighbours.index(rank)
    return slice(starts[j], starts[j + 1])


def test_sender_and_receiver_list_the_same_links_in_the_same_order(shared):
    nodes, domains = shared
    for a, b in permutations(range(N_RANKS), 2):
        sends, receives = domains[a].halo, domains[b].halo
        out = message(sends.send_start, sends.neighbours, b)
        into = message(receives.receive_start, receives.neighbours, a)
        vector, q = arrivals(domains[a], nodes)
        start = domains[a].voxel[sends.send_node[out]]
        target = shifted_voxels(start, vector[out], nodes.shape, nodes.periodic)
        assert np.array_equal(target, domains[b].voxel[receives.receive_node[into]])
        assert np.array_equal(q[out], receives.receive_q[into])
        assert "D3Q15" == domains[a].lattice.name or any(domain.mirrors.remote.size for domain in domains)


def test_every_remote_link_is_sent_once(shared):
    _, domains = shared
    for domain in domains:
        q, node = remote_links(domain)
        sent = list(zip(domain.halo.send_q, domain.halo.send_node, strict=True))
        assert sorted(sent) == sorted(zip(q, node, strict=True)) and sent


def test_every_remote_link_is_received_once_against_its_direction(shared):
    _, domains = shared
    for domain in domains:
        q, node = remote_links(domain)
        received = zip(domain.halo.receive_q, domain.halo.receive_node, strict=True)
        assert sorted(received) == sorted(zip(domain.lattice.opposite[q], node, strict=True))


def test_messages_are_sorted_by_destination_voxel_and_direction(shared):
    _, domains = shared
    for domain in domains:
        halo = domain.halo
        for rank in halo.neighbours:
            part = message(halo.receive_start, halo.neighbours, rank)
            keys = list(zip(domain.voxel[halo.receive_node[part]], halo.receive_q[part], strict=True))
            assert keys == sorted(set(keys)) and keys


def test_the_messages_cover_the_lists(shared):
    _, domains = shared
    for domain in domains:
        halo = domain.halo
        assert halo.neighbours == tuple(r for r in range(N_RANKS) if r in halo.neighbours)
        assert (halo.send_start[0], halo.send_start[-1]) == (0, halo.n_send)
        assert (halo.receive_start[0], halo.receive_start[-1]) == (0, halo.n_receive)


@LATTICES
def test_one_rank_has_no_halo(lattice):
    nodes = random_nodes(lattice)
    halo = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, lattice).halo
    assert halo.neighbours == () and halo.n_send == halo.n_receive == 0
