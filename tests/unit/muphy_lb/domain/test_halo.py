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
    """(direction, node) of the links to other ranks."""
    return np.nonzero(domain.neighbours(domain.lattice.c, np.arange(domain.n_nodes)) == REMOTE_LINK)


def remote_images(domain):
    """Links into openings with a mirror image on another rank, and the directions of these."""
    n_near = domain.mirrors.node.size
    return domain.links.select(domain.mirrors.link[n_near:]), domain.mirrors.q[n_near:]


def arrivals(domain):
    """(S, 3) displacement, and direction on arrival, of every population that is sent."""
    lattice, halo = domain.lattice, domain.halo
    vector, q = lattice.c[halo.send_q], halo.send_q.copy()
    links, image_q = remote_images(domain)
    vector[halo.sent_images] = np.tile((lattice.c[links.q] - lattice.c[image_q]) // 2, (2, 1))
    q[halo.sent_images] = np.tile(image_q, 2)
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
        vector, q = arrivals(domains[a])
        start = domains[a].voxel[sends.send_node[out]]
        target = shifted_voxels(start, vector[out], nodes.shape, nodes.periodic)
        assert np.array_equal(target, domains[b].voxel[receives.receive_node[into]])
        assert np.array_equal(q[out], receives.receive_q[into])
        assert any(domain.mirrors.n_remote for domain in domains)


def test_every_remote_link_is_sent_once_and_received_once_against_its_direction(shared):
    _, domains = shared
    for domain in domains:
        q, node = remote_links(domain)
        links, image_q = remote_images(domain)
        images = [*zip(links.q, links.node, strict=True)]
        sent = list(zip(domain.halo.send_q, domain.halo.send_node, strict=True))
        assert sent and sorted(sent) == sorted(
            [*zip(q, node, strict=True), *images, *zip(image_q, links.node, strict=True)]
        )
        received = zip(domain.halo.receive_q, domain.halo.receive_node, strict=True)
        assert sorted(received) == sorted([*zip(domain.lattice.opposite[q], node, strict=True), *images, *images])


def test_messages_cover_the_lists_and_are_sorted_by_destination_voxel_and_direction(shared):
    _, domains = shared
    for domain in domains:
        halo = domain.halo
        assert halo.neighbours == tuple(r for r in range(N_RANKS) if r in halo.neighbours)
        assert (halo.send_start[0], halo.send_start[-1]) == (0, halo.n_send)
        assert (halo.receive_start[0], halo.receive_start[-1]) == (0, halo.n_receive)
        for rank in halo.neighbours:
            part = message(halo.receive_start, halo.neighbours, rank)
            streams = np.setdiff1d(np.arange(part.start, part.stop), halo.received_images)
            keys = list(zip(domain.voxel[halo.receive_node[streams]], halo.receive_q[streams], strict=True))
            assert keys == sorted(set(keys)) and keys


@LATTICES
def test_one_rank_has_no_halo(lattice):
    nodes = random_nodes(lattice)
    halo = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, lattice).halo
    assert halo.neighbours == () and halo.n_send == halo.n_receive == 0
