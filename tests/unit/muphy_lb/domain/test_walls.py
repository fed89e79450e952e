"""Where the links into walls go: each to one of three treatments, and mirrors as the definition says."""

from itertools import product

import numpy as np
import pytest

from muphy_lb.domain import (
    AA,
    IN_TABLE,
    LINKWISE,
    SPECULAR,
    WallTreatment,
    build_addresses,
    build_local_domain,
    streaming_named,
)
from muphy_lb.domain.links import specular_links
from muphy_lb.geometry.neighbours import FIRST_WALL_LINK, WALL_LINK, neighbour_table
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels, wall_flag
from muphy_lb.lattice import D2Q9, D3Q15, D3Q19, D3Q27, LATTICES
from muphy_lb.lattice.layout import buffer_size
from tests.support import box_shape, random_owner

EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
THAT_SLIP = pytest.mark.parametrize("lattice", [D2Q9, D3Q19, D3Q27], ids=lambda lattice: lattice.name)
KINDS = np.array([SOLID, FLUID, FLUID, FLUID, wall_flag(0), wall_flag(1)], FLAG_DTYPE)


def mixed_nodes(lattice, seed=4):
    """Nodes of a box of fluid, plain solid and two labelled walls at random, periodic along y."""
    flags = KINDS[np.random.default_rng(seed).integers(KINDS.size, size=box_shape(lattice))]
    return build_nodes(Voxels(flags, periodic=(False, True, False), walls=("one", "other")))


def domains(nodes, lattice, treatment, n_ranks=3):
    """The domains of some ranks with random nodes."""
    owner = random_owner(nodes, n_ranks)
    return [build_local_domain(nodes, owner, rank, lattice, treatment) for rank in range(n_ranks)]


def records(domains, name):
    """Links of all ranks as a set of (node-list number, direction, wall)."""
    return {
        (int(domain.number[node]), int(q), int(wall))
        for domain in domains
        for node, q, wall in zip(
            *(getattr(getattr(domain, name), key) for key in ("node", "q", "boundary")), strict=True
        )
    }


def links_into(nodes, lattice, codes):
    """Links into walls of some codes as a set of (node, direction, wall); plain walls are number 2."""
    table = neighbour_table(nodes, lattice.c)
    return {
        (int(n), int(q), 2 if code == WALL_LINK else FIRST_WALL_LINK - code)
        for code in codes
        for q, n in np.argwhere(table == code)
    }


ONE, OTHER = FIRST_WALL_LINK, FIRST_WALL_LINK - 1


@EVERY_LATTICE
@pytest.mark.parametrize(
    ("treatment", "linkwise", "in_table"),
    [
        (WallTreatment((IN_TABLE, IN_TABLE)), (), (ONE, OTHER)),
        (WallTreatment((LINKWISE, IN_TABLE)), (ONE,), (OTHER,)),
        (WallTreatment((IN_TABLE, LINKWISE), LINKWISE), (OTHER, WALL_LINK), (ONE,)),
        (WallTreatment((LINKWISE, LINKWISE), LINKWISE), (ONE, OTHER, WALL_LINK), ()),
    ],
    ids=["none", "one", "plain", "all"],
)
def test_links_get_a_slot_where_their_wall_asks_for_it(lattice, treatment, linkwise, in_table):
    nodes = mixed_nodes(lattice)
    parts = domains(nodes, lattice, treatment)
    assert records(parts, "linkwise") == links_into(nodes, lattice, linkwise)
    assert records(parts, "in_table") == links_into(nodes, lattice, in_table)


@EVERY_LATTICE
def test_links_of_each_kind_are_sorted_by_wall_voxel_and_direction(lattice):
    for domain in domains(mixed_nodes(lattice), lattice, WallTreatment((LINKWISE, IN_TABLE), LINKWISE)):
        for links in (domain.linkwise, domain.in_table):
            keys = list(zip(links.boundary, links.voxel, links.q, strict=True))
            assert keys == sorted(set(keys)) and keys


@EVERY_LATTICE
def test_nodes_with_a_slotted_link_are_on_the_edge(lattice):
    for domain in domains(mixed_nodes(lattice), lattice, WallTreatment((LINKWISE, IN_TABLE))):
        assert domain.linkwise.node.max() < domain.n_edge


@EVERY_LATTICE
@pytest.mark.parametrize("streaming", ["pull", "push"])
def test_every_slot_of_a_wall_link_is_used_once(lattice, streaming):
    for domain in domains(mixed_nodes(lattice), lattice, WallTreatment((LINKWISE, IN_TABLE), LINKWISE)):
        addresses = build_addresses(domain, streaming_named(streaming))
        table, incoming = addresses.plain(0), addresses.linkwise[0].incoming
        slots = buffer_size(domain.pitch, lattice.q) + addresses.n_halo + np.arange(domain.linkwise.n_links)
        named = incoming if streaming == "pull" else addresses.linkwise[0].outgoing
        along_walls = np.lexsort((domain.linkwise.node, domain.linkwise.q))
        assert np.array_equal(named[along_walls], slots) and slots.size > 0
        assert np.isin(slots, table).all() and np.unique(table).size == table.size


@EVERY_LATTICE
def test_in_place_a_row_and_a_slot_change_parts(lattice):
    """What enters is filled in apart from what leaves, and leaves from where the step before has stored it."""
    for domain in domains(mixed_nodes(lattice), lattice, WallTreatment((LINKWISE, IN_TABLE), LINKWISE)):
        addresses = build_addresses(domain, AA)
        first, (even, odd) = buffer_size(domain.pitch, lattice.q) + addresses.n_halo, addresses.linkwise
        assert np.array_equal(even.outgoing, odd.incoming) and np.array_equal(even.incoming, odd.outgoing)
        assert ((even.outgoing < first) == (even.incoming >= first)).all() and domain.linkwise.n_links > 0
        back, node = lattice.opposite[domain.linkwise.q], domain.linkwise.node
        nodes, column = np.unique(node, return_inverse=True)
        for phase, (before, at) in enumerate(zip((1, 0), addresses.linkwise, strict=True)):
            loaded = addresses.resolve(phase, addresses.patterns[phase].load, nodes)
            stored = addresses.resolve(before, addresses.patterns[before].store, nodes)
            assert np.array_equal(at.incoming, loaded[back, column])
            assert np.array_equal(at.outgoing, stored[domain.linkwise.q, column])


@EVERY_LATTICE
def test_nodes_behind_walls_are_on_the_edge_where_they_are_read(lattice):
    nodes, sizes = mixed_nodes(lattice), []
    for reads in (False, True):
        treatment = WallTreatment((LINKWISE, IN_TABLE), reads_behind=reads)
        for domain in domains(nodes, lattice, treatment, 2):
            links = domain.linkwise
            beyond = domain.neighbours(lattice.c, links.node)[lattice.opposite[links.q], np.arange(links.n_links)]
            assert not reads or beyond.max() < domain.n_edge
            assert np.array_equal(np.sort(domain.number), np.flatnonzero(random_owner(nodes, 2) == domain.part.rank))
            sizes.append((beyond >= domain.n_edge).sum())
    assert len(sizes) == 4


def test_only_slotted_walls_have_slots():
    table = np.array([[0, 1, 2], [WALL_LINK, FIRST_WALL_LINK, 4], [FIRST_WALL_LINK - 1, 5, 6]])
    assert WallTreatment((LINKWISE, IN_TABLE)).has_linkwise(table).tolist() == [False, True, False]
    assert WallTreatment((SPECULAR, LINKWISE), LINKWISE).has_linkwise(table).tolist() == [True, False, False]
    assert not WallTreatment((IN_TABLE, SPECULAR)).has_linkwise(table).any()


def reflection(lattice, table, slip, n, q):
    """(far node, direction there) of a link into a slip wall, from the definition; None where it bounces back."""
    number = {vector: k for k, vector in enumerate(lattice.vectors)}
    vector = lattice.vectors[q]
    alone = {axis: tuple(vector[axis] * (i == axis) for i in range(3)) for axis in range(3) if vector[axis]}
    outwards = [axis for axis in alone if table[number[alone[axis]], n] < 0]
    if table[q, n] not in slip or len(outwards) != 1 or table[number[alone[outwards[0]]], n] not in slip:
        return None
    tangent = tuple(0 if i == outwards[0] else vector[i] for i in range(3))
    if not any(tangent) or table[number[tangent], n] < 0:
        return None
    back = tuple(-vector[i] if i == outwards[0] else vector[i] for i in range(3))
    return int(table[number[tangent], n]), number[back]


@THAT_SLIP
@pytest.mark.parametrize("kinds", [(SPECULAR, IN_TABLE), (IN_TABLE, SPECULAR), (SPECULAR, SPECULAR)])
def test_slip_walls_reflect_links_as_the_definition_says(lattice, kinds):
    nodes = mixed_nodes(lattice)
    table = neighbour_table(nodes, lattice.c)
    slip = [FIRST_WALL_LINK - k for k, kind in enumerate(kinds) if kind == SPECULAR]
    found = specular_links(table, WallTreatment(kinds), lattice)
    expected = {
        (n, q, *far)
        for q, n in product(range(1, lattice.q), range(nodes.n_nodes))
        if (far := reflection(lattice, table, slip, n, q))
    }
    rows = list(zip(found.node, found.q_out, found.far, found.q_far, strict=True))
    assert set(rows) == expected and len(rows) == len(expected) > 0
    assert np.array_equal(found.q_in, lattice.opposite[found.q_out])


@THAT_SLIP
def test_what_a_mirror_sends_out_comes_back_through_the_mirrored_link(lattice):
    """Every reflected link has its reverse among the reflected links: they stay paired across ranks."""
    nodes = mixed_nodes(lattice)
    found = specular_links(neighbour_table(nodes, lattice.c), WallTreatment((SPECULAR, IN_TABLE)), lattice)
    there = set(zip(found.node, found.q_out, found.far, found.q_far, strict=True))
    back = set(zip(found.far, lattice.opposite[found.q_far], found.node, lattice.opposite[found.q_out], strict=True))
    assert there == back and there


def test_without_slip_walls_nothing_is_mirrored():
    nodes = mixed_nodes(D3Q15)
    found = specular_links(neighbour_table(nodes, D3Q15.c), WallTreatment((LINKWISE, IN_TABLE)), D3Q15)
    assert found.node.size == found.far.size == 0
