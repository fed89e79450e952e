"""A rank's part of a geometry contains all that the rank needs of the whole geometry."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from muphy_lb.boundaries.opening_geometry import opening_links
from muphy_lb.domain import IN_TABLE, LINKWISE, SPECULAR, Part, WallTreatment, cut_part, domain_from_part, open_corners
from muphy_lb.domain.links import opening_records
from muphy_lb.geometry.neighbours import NeighbourSearch, cut_links, neighbour_table
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.search import STENCIL_27
from muphy_lb.geometry.voxels import FIRST_OPENING, FLAG_DTYPE, FLUID, SOLID, Voxels, wall_flag
from muphy_lb.lattice import D2Q9, D3Q19, D3Q27
from tests.laws.walled import ScatteredDistances
from tests.support import IN, OUT, random_owner

KINDS = np.array([SOLID, wall_flag(0), wall_flag(1), FIRST_OPENING, FIRST_OPENING + 1], FLAG_DTYPE)
SLIPPING = WallTreatment((LINKWISE, SPECULAR), IN_TABLE)
SEEDS = range(6)
N_RANKS = 3


def geometry(seed, shape=(6, 7, 12), cuts=True):
    """Nodes of a random box with walls, openings, cut links and periodic axes."""
    rng = np.random.default_rng(seed)
    flags = np.where(rng.random(shape) < rng.choice([0.4, 0.9]), FLUID, rng.choice(KINDS, shape)).astype(FLAG_DTYPE)
    periodic = tuple(bool(axis) for axis in rng.integers(2, size=3))
    nodes = build_nodes(Voxels(flags, periodic=periodic, openings=(IN, OUT), walls=("one", "other")))
    return cut_links(nodes, ScatteredDistances()) if cuts else nodes


def shares(nodes, seed):
    """Owners at random, or of slabs."""
    slabs = np.arange(nodes.n_nodes) * N_RANKS // nodes.n_nodes
    return random_owner(nodes, N_RANKS, seed) if seed % 2 else slabs


def parts(seed):
    """Node list, owners, and the parts of all ranks."""
    nodes = geometry(seed)
    owner = shares(nodes, seed)
    return nodes, owner, [cut_part(nodes, owner, rank) for rank in range(N_RANKS)]


def assert_equal(one, other):
    """Records, and the arrays in them, are the same."""
    for field in fields(one):
        left, right = getattr(one, field.name), getattr(other, field.name)
        assert_equal(left, right) if is_dataclass(left) else np.testing.assert_array_equal(left, right, field.name)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_link_of_an_own_node_leads_where_it_leads_in_the_whole_list(seed):
    nodes, _, found = parts(seed)
    for part in found:
        table = NeighbourSearch(part.nodes).table(STENCIL_27, part.own)
        there = np.where(table < 0, table, part.number[table])
        assert np.array_equal(there, neighbour_table(nodes, STENCIL_27, part.number[part.own]))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_part_is_the_own_nodes_and_the_others_nodes_around_them(seed):
    nodes, owner, found = parts(seed)
    for part in found:
        table = neighbour_table(nodes, STENCIL_27, np.flatnonzero(owner == part.rank))
        assert np.array_equal(part.number, np.unique(table[table >= 0]))
        assert np.array_equal(part.owner, owner[part.number])
        assert np.array_equal(part.nodes.voxel, nodes.voxel[part.number])
        assert np.array_equal(part.nodes.group, nodes.group[part.number])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_part_has_the_cuts_of_all_its_nodes_and_no_others(seed):
    nodes, _, found = parts(seed)
    for part in found:
        voxel = part.nodes.voxel
        assert np.isin(part.nodes.cuts.voxel, voxel).all() and part.nodes.cuts.n_links > 0
        for vector in STENCIL_27:
            np.testing.assert_array_equal(part.nodes.cuts.of(voxel, vector), nodes.cuts.of(voxel, vector))


@pytest.mark.parametrize("lattice", [D3Q19, D3Q27], ids=lambda lattice: lattice.name)
@pytest.mark.parametrize("order", ["lexicographic", "curve"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_rank_builds_from_its_part_what_it_would_build_from_the_whole(lattice, order, seed):
    nodes, owner, found = parts(seed)
    for part in found:
        whole = Part(part.rank, nodes, None, owner.astype(np.int32))
        one, other = (domain_from_part(each, lattice, SLIPPING, order) for each in (part, whole))
        for name in ("number", "voxel", "n_edge", "pitch", "n_specular"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
        for name in ("halo", "links", "linkwise", "in_table", "specular"):
            assert_equal(getattr(one, name), getattr(other, name))
        every = np.arange(one.n_nodes)
        assert np.array_equal(one.neighbours(lattice.c, every), other.neighbours(lattice.c, every))


def test_the_random_geometries_have_links_of_every_kind():
    found = [domain_from_part(part, D3Q19, SLIPPING) for seed in SEEDS for part in parts(seed)[2]]
    for name in ("links", "linkwise", "in_table"):
        assert sum(getattr(domain, name).n_links for domain in found) > 0
    assert sum(domain.specular.node.size for domain in found) > 0
    assert any(domain.n_specular > domain.specular.node.size for domain in found), "no specular link crosses ranks"


def test_a_part_does_not_depend_on_the_chunks_in_which_the_list_is_looked_at(monkeypatch):
    nodes, owner, found = parts(0)
    for chunk in ("base.chunks.CHUNK", "geometry.search.VOXELS_PER_CHUNK", "geometry.nodes.LABELS_PER_CHUNK"):
        monkeypatch.setattr(f"muphy_lb.{chunk}", 13)
    for part in found:
        assert_equal(cut_part(nodes, owner, part.rank), part)


def test_the_part_of_a_rank_that_owns_all_is_the_list_itself():
    nodes = geometry(0)
    part = cut_part(nodes, np.zeros(nodes.n_nodes, int), 0)
    assert part.nodes is nodes and part.number is None and part.own.size == nodes.n_nodes


@pytest.mark.parametrize("lattice", [D2Q9, D3Q19, D3Q27], ids=lambda lattice: lattice.name)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_nodes_around_openings_tell_all_links_into_them(lattice, seed):
    """Those that free slip gives to openings, too; compared with a search among all nodes."""
    nodes = geometry(seed, (6, 7, 12) if lattice.dimension == 3 else (1, 20, 30), cuts=False)
    table = open_corners(neighbour_table(nodes, lattice.c), (1,), lattice)
    assert_equal(opening_links(nodes, lattice, (1,)), opening_records(table, nodes.voxel))
