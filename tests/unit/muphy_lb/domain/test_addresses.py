"""The plain address table: a permutation of a closed domain, and no address used twice in any other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from muphy_lb.domain import AA, STREAMINGS, all_addresses, build_addresses, build_local_domain, streaming_named
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, Voxels
from muphy_lb.lattice import D2Q9, D3Q15, D3Q19, D3Q27
from muphy_lb.lattice import LATTICES as ALL
from muphy_lb.lattice.layout import buffer_size
from tests.random_domains import SPECIAL, SPECIAL_IN_SPACE
from tests.support import random_nodes, random_owner
from tests.tables import are_permutations, own_rows, phases, whole_map

pytestmark = pytest.mark.pairs

EVERY_STREAMING = pytest.mark.parametrize("streaming", STREAMINGS)
LATTICES = pytest.mark.parametrize("lattice", ALL.values(), ids=ALL)
QUICK = settings(max_examples=40, deadline=None)
IN_SPACE = st.sampled_from([D3Q15, D3Q19, D3Q27])
PERIODIC = st.tuples(st.booleans(), st.booleans(), st.booleans())
STREAMING = st.sampled_from(tuple(STREAMINGS))


def some_flags(shapes):
    """Strategy: voxel flags of such a shape with at least one fluid voxel."""
    fluid = shapes.flatmap(lambda shape: arrays(FLAG_DTYPE, shape, elements=st.integers(0, 1)))
    return fluid.filter(lambda flags: flags.any())


SPACE = some_flags(st.tuples(*[st.integers(1, 5)] * 3))
PLANE = some_flags(st.tuples(st.just(1), st.integers(1, 7), st.integers(1, 7)))
DOMAINS = st.tuples(PLANE, st.just(D2Q9)) | st.tuples(SPACE, IN_SPACE)


def whole_domain(nodes, lattice):
    """All nodes on one rank."""
    return build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, lattice)


def closed(flags, periodic, lattice, streaming):
    """Addresses of a geometry without openings on one rank."""
    domain = whole_domain(build_nodes(Voxels(flags, periodic=periodic)), lattice)
    return build_addresses(domain, streaming_named(streaming))


CASES = [(D2Q9, name) for name in SPECIAL] + [(D3Q19, name) for name in SPECIAL_IN_SPACE]


@pytest.mark.parametrize(("lattice", "name"), CASES, ids=lambda value: getattr(value, "name", value))
@pytest.mark.parametrize("periodic", [(False,) * 3, (True,) * 3], ids=["walls", "periodic"])
@EVERY_STREAMING
def test_the_table_of_a_closed_special_domain_is_a_permutation(lattice, name, periodic, streaming):
    assert are_permutations(closed(SPECIAL_IN_SPACE[name], periodic, lattice, streaming))


@settings(max_examples=80, deadline=None)
@given(DOMAINS, PERIODIC, STREAMING)
def test_the_table_of_a_closed_domain_is_a_permutation(domain, periodic, streaming):
    flags, lattice = domain
    assert are_permutations(closed(flags, periodic, lattice, streaming))


@QUICK
@given(SPACE, PERIODIC, IN_SPACE)
def test_pull_undoes_push(flags, periodic, lattice):
    pull, push = (whole_map(closed(flags, periodic, lattice, streaming)) for streaming in ("pull", "push"))
    assert np.array_equal(pull[push], np.arange(pull.size)) and np.array_equal(push[pull], np.arange(pull.size))


def is_in_place(addresses, phase):
    """Whether each node stores exactly where it loaded, and no two nodes touch the same address."""
    pattern, nodes = addresses.patterns[phase], np.arange(addresses.domain.n_nodes)
    loaded, stored = (addresses.resolve(phase, locations, nodes) for locations in (pattern.load, pattern.store))
    return np.array_equal(np.sort(loaded, axis=0), np.sort(stored, axis=0)) and np.unique(loaded).size == loaded.size


@QUICK
@given(SPACE, PERIODIC, IN_SPACE)
def test_a_step_in_place_stores_where_it_loads_and_nowhere_else(flags, periodic, lattice):
    addresses = closed(flags, periodic, lattice, "aa")
    assert all(is_in_place(addresses, phase) for phase in phases(addresses))


@LATTICES
def test_a_step_in_place_stores_where_it_loads_on_every_rank_and_at_openings(lattice):
    for domain in shared_domains(lattice):
        addresses = build_addresses(domain, AA)
        assert domain.links.n_links and all(is_in_place(addresses, phase) for phase in phases(addresses))


@QUICK
@given(SPACE, PERIODIC, IN_SPACE, STREAMING)
def test_a_step_of_a_closed_domain_loads_and_stores_every_population_once(flags, periodic, lattice, streaming):
    addresses = closed(flags, periodic, lattice, streaming)
    nodes = np.arange(addresses.domain.n_nodes)
    everything = np.sort(all_addresses(range(lattice.q), lattice.q, nodes.size), axis=None)
    for phase, pattern in enumerate(addresses.patterns):
        for locations in (pattern.load, pattern.store):
            assert np.array_equal(np.sort(addresses.resolve(phase, locations, nodes), axis=None), everything)


def shared_domains(lattice):
    """Domains of three ranks with random nodes."""
    nodes = random_nodes(lattice)
    owner = random_owner(nodes, 3)
    return [build_local_domain(nodes, owner, rank, lattice) for rank in range(3)]


@LATTICES
@EVERY_STREAMING
def test_no_address_of_a_shared_domain_is_used_twice(lattice, streaming):
    for domain in shared_domains(lattice):
        addresses = build_addresses(domain, streaming_named(streaming))
        for phase in phases(addresses):
            table = addresses.plain(phase)
            assert np.unique(table).size == table.size
            assert table.min() >= 0 and table.max() < addresses.n_slots


@LATTICES
@EVERY_STREAMING
def test_every_halo_and_link_slot_is_used(lattice, streaming):
    """In place each phase uses its own; the openings read those of their mirror images at other ranks."""
    for domain in shared_domains(lattice):
        addresses = build_addresses(domain, streaming_named(streaming))
        n_slots = addresses.n_halo + domain.links.n_links
        slots = buffer_size(domain.pitch, lattice.q) + np.arange(n_slots)
        used = np.concatenate([addresses.plain(phase).ravel() for phase in phases(addresses)])
        reflected = addresses.reflected[0][1:, domain.mirrors.link[domain.mirrors.node.size :]].ravel()
        assert np.array_equal(np.sort(np.append(used[used >= slots[0]], reflected)), slots)
        assert 0 <= addresses.n_slots - (slots[-1] + 1) <= 1


@LATTICES
@EVERY_STREAMING
def test_what_a_rank_packs_and_unpacks_lies_in_its_buffer_and_is_touched_once(lattice, streaming):
    """But for populations that planes of openings reflect, which two nodes of other ranks may read."""
    for domain in shared_domains(lattice):
        addresses = build_addresses(domain, streaming_named(streaming))
        for exchange in addresses.exchanges:
            whole = np.arange(addresses.n_slots)
            packed, unpacked = whole[exchange.pack], whole[exchange.unpack]
            n_twice = packed.size - np.unique(packed).size
            assert packed.size == exchange.n_pack > 0 and n_twice <= domain.halo.sent_images.size
            assert np.unique(unpacked).size == unpacked.size == exchange.n_unpack > 0


@LATTICES
@EVERY_STREAMING
def test_single_entries_are_those_of_the_table_and_padding_stays(lattice, streaming):
    addresses = build_addresses(whole_domain(random_nodes(lattice), lattice), streaming_named(streaming))
    rng = np.random.default_rng(0)
    q, node = rng.integers(1, lattice.q, 50), rng.integers(addresses.domain.n_nodes, size=50)
    expected = np.empty(50, int)
    for phase, pattern in enumerate(addresses.patterns):
        mine, table = pattern.exchanges(q), addresses.plain(phase)
        expected[mine] = table[np.searchsorted(pattern.directions, q[mine]), node[mine]]
    assert np.array_equal(addresses.at(q, node), expected)
    n = addresses.domain.n_nodes
    assert n < addresses.domain.pitch
    for phase in phases(addresses):
        assert np.array_equal(addresses.plain(phase)[:, n:], own_rows(addresses, phase)[:, n:])


@LATTICES
@EVERY_STREAMING
def test_the_table_does_not_depend_on_the_parts_that_it_is_built_in(lattice, streaming, monkeypatch):
    nodes = random_nodes(lattice)
    owner, found = random_owner(nodes, 2), []
    for part in (1 << 20, 96):
        for module in ("addresses", "local"):
            monkeypatch.setattr(f"muphy_lb.domain.{module}.CHUNK_NODES", part)
        addresses = build_addresses(build_local_domain(nodes, owner, 0, lattice), streaming_named(streaming))
        found.append(np.concatenate([addresses.plain(phase) for phase in phases(addresses)]))
    assert np.array_equal(*found)


@EVERY_STREAMING
def test_addresses_are_unsigned_and_narrow(streaming):
    runs = build_addresses(whole_domain(random_nodes(D3Q19), D3Q19), streaming_named(streaming)).runs(0)
    assert runs.lines.dtype == runs.bases.dtype == np.uint32
