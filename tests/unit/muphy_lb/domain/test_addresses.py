"""The address table: a permutation of a closed domain, and no address used twice in any other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from geometry.flags import FLAG_DTYPE
from geometry.nodes import build_nodes
from geometry.voxels import Voxels
from muphy_lb.domain import STREAMINGS, build_addresses, build_local_domain
from muphy_lb.lattice import D2Q9, D3Q15, D3Q19, D3Q27
from muphy_lb.lattice import LATTICES as ALL
from tests.support import random_nodes, random_owner

BOTH = pytest.mark.parametrize("streaming", STREAMINGS)
LATTICES = pytest.mark.parametrize("lattice", ALL.values(), ids=ALL)
QUICK = settings(max_examples=40, deadline=None)
IN_SPACE = st.sampled_from([D3Q15, D3Q19, D3Q27])
PERIODIC = st.tuples(st.booleans(), st.booleans(), st.booleans())


def some_flags(shapes):
    """Strategy: voxel flags of such a shape with at least one fluid voxel."""
    fluid = shapes.flatmap(lambda shape: arrays(FLAG_DTYPE, shape, elements=st.integers(0, 1)))
    return fluid.filter(lambda flags: flags.any())


SPACE = some_flags(st.tuples(*[st.integers(1, 5)] * 3))
PLANE = some_flags(st.tuples(st.just(1), st.integers(1, 7), st.integers(1, 7)))


def closed_tables(flags, periodic, lattice):
    """(pull table, push table) of a geometry without openings on one rank."""
    nodes = build_nodes(Voxels(flags, periodic=periodic))
    domain = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, lattice)
    return tuple(build_addresses(domain, streaming).table for streaming in STREAMINGS)


def is_permutation(table):
    """Whether every address of the table's own rows occurs once."""
    return np.array_equal(np.sort(table.ravel()), np.arange(table.size))


def checkerboard(shape):
    """Flags of alternating fluid and solid."""
    return (np.indices(shape).sum(axis=0) % 2).astype(FLAG_DTYPE)


SPECIAL = {
    "one node": np.ones((1, 1, 1), FLAG_DTYPE),
    "row along x": np.ones((1, 1, 9), FLAG_DTYPE),
    "row along y": np.ones((1, 9, 1), FLAG_DTYPE),
    "31 nodes": np.ones((1, 1, 31), FLAG_DTYPE),
    "32 nodes": np.ones((1, 4, 8), FLAG_DTYPE),
    "33 nodes": np.ones((1, 3, 11), FLAG_DTYPE),
    "checkerboard": checkerboard((1, 7, 9)),
}
SPECIAL_IN_SPACE = SPECIAL | {"row along z": np.ones((9, 1, 1), FLAG_DTYPE), "3D checkerboard": checkerboard((4, 5, 6))}
CASES = [(D2Q9, name) for name in SPECIAL] + [(D3Q19, name) for name in SPECIAL_IN_SPACE]


@pytest.mark.parametrize(("lattice", "name"), CASES, ids=lambda value: getattr(value, "name", value))
@pytest.mark.parametrize("periodic", [(False,) * 3, (True,) * 3], ids=["walls", "periodic"])
def test_the_table_of_a_closed_special_domain_is_a_permutation(lattice, name, periodic):
    assert all(is_permutation(table) for table in closed_tables(SPECIAL_IN_SPACE[name], periodic, lattice))


@QUICK
@given(SPACE, PERIODIC, IN_SPACE)
def test_the_table_of_a_closed_domain_is_a_permutation_in_space(flags, periodic, lattice):
    assert all(is_permutation(table) for table in closed_tables(flags, periodic, lattice))


@QUICK
@given(PLANE, PERIODIC)
def test_the_table_of_a_closed_domain_is_a_permutation_in_the_plane(flags, periodic):
    assert all(is_permutation(table) for table in closed_tables(flags, periodic, D2Q9))


@QUICK
@given(SPACE, PERIODIC, IN_SPACE)
def test_pull_undoes_push(flags, periodic, lattice):
    pull, push = (table.ravel() for table in closed_tables(flags, periodic, lattice))
    assert np.array_equal(pull[push], np.arange(pull.size))


@LATTICES
@BOTH
def test_no_address_of_a_shared_domain_is_used_twice(lattice, streaming):
    nodes = random_nodes(lattice)
    owner = random_owner(nodes, 3)
    for rank in range(3):
        addresses = build_addresses(build_local_domain(nodes, owner, rank, lattice), streaming)
        assert np.unique(addresses.table).size == addresses.table.size
        assert addresses.table.max() < addresses.n_slots


@LATTICES
@BOTH
def test_every_halo_and_link_slot_is_used(lattice, streaming):
    nodes = random_nodes(lattice)
    owner = random_owner(nodes, 3)
    for rank in range(3):
        domain = build_local_domain(nodes, owner, rank, lattice)
        addresses = build_addresses(domain, streaming)
        slots = np.arange(addresses.halo_start, addresses.n_slots)
        assert np.isin(slots, addresses.table).all()
        assert slots.size == addresses.n_halo + domain.links.n_links > 0


@LATTICES
@BOTH
def test_the_rest_population_stays(lattice, streaming):
    nodes = random_nodes(lattice)
    domain = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, lattice)
    assert np.array_equal(build_addresses(domain, streaming).table[0], np.arange(domain.pitch))


@LATTICES
@BOTH
def test_padding_stays(lattice, streaming):
    nodes = random_nodes(lattice)
    domain = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, lattice)
    table = build_addresses(domain, streaming).table
    own = np.arange(table.size).reshape(table.shape)
    assert domain.n_nodes < domain.pitch
    assert np.array_equal(table[:, domain.n_nodes :], own[:, domain.n_nodes :])


@BOTH
def test_addresses_are_unsigned_and_narrow(streaming):
    nodes = random_nodes(D3Q19)
    domain = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, D3Q19)
    assert build_addresses(domain, streaming).table.dtype == np.uint32
