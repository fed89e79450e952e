"""The run table: whatever the addresses, what is decoded is what was compressed."""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.domain import STREAMINGS, WARP, all_addresses, build_addresses, build_local_domain, compress, decode
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import Voxels
from muphy_lb.lattice import D2Q9, D3Q19, LATTICES
from tests.random_domains import SPECIAL, SPECIAL_IN_SPACE, random_domain

pytestmark = pytest.mark.pairs

EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
SEEDS = pytest.mark.parametrize(
    "seeds", [range(100), pytest.param(range(100, 400), marks=pytest.mark.night)], ids=["a hundred", "all others"]
)
NARROW, WIDE = 2**32, 2**40
SIZES = pytest.mark.parametrize("n_slots", [10_000, NARROW, NARROW + 1, WIDE])
CASES = [(D2Q9, name) for name in SPECIAL] + [(D3Q19, name) for name in SPECIAL_IN_SPACE]


def is_restored(addresses, phase) -> bool:
    """Whether decoding a phase's table gives the plain one."""
    return np.array_equal(decode(addresses.runs(phase)), addresses.plain(phase))


def random_table(n_slots, seed=0, n_directions=5, n_warps=40):
    """(K, n) addresses below ``n_slots`` in runs of random lengths, many of them one, wherever a warp begins."""
    rng = np.random.default_rng(seed)
    shape = n_directions, n_warps * WARP
    is_start = rng.random(shape) < rng.choice([0.02, 0.2, 1.0], (n_directions, 1))
    is_start[:, 0] = True
    run = np.cumsum(is_start, axis=1) - 1
    longest = np.diff(np.append(np.flatnonzero(is_start), is_start.size)).max()
    start = rng.integers(0, n_slots - longest, shape)
    column = np.broadcast_to(np.arange(shape[1]), shape)
    begin = np.maximum.accumulate(np.where(is_start, column, 0), axis=1)
    return np.take_along_axis(start, run, axis=1) + column - begin


def breaks(table) -> int:
    """Positions inside the warps where addresses do not climb by one."""
    return int((np.diff(table.reshape(len(table), -1, WARP), axis=2) != 1).sum())


@SEEDS
@EVERY_LATTICE
def test_the_table_of_any_geometry_is_restored(lattice, seeds):
    """800 tables of each lattice at night: every fourth geometry in all three streamings, the others in one."""
    kinds = tuple(STREAMINGS.values())
    for seed in seeds:
        domain = random_domain(lattice, seed)
        for streaming in kinds if seed % 4 == 0 else (kinds[seed % 3],):
            addresses = build_addresses(domain, streaming)
            phases = range(len(addresses.patterns))
            assert all(is_restored(addresses, phase) for phase in phases), (seed, streaming.name)


@pytest.mark.parametrize(("lattice", "name"), CASES, ids=lambda value: getattr(value, "name", value))
@pytest.mark.parametrize("periodic", [(False,) * 3, (True,) * 3], ids=["walls", "periodic"])
def test_the_table_of_a_special_domain_is_restored(lattice, name, periodic):
    nodes = build_nodes(Voxels(SPECIAL_IN_SPACE[name], periodic=periodic))
    domain = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, lattice)
    for streaming in STREAMINGS.values():
        addresses = build_addresses(domain, streaming)
        assert all(is_restored(addresses, phase) for phase in range(len(addresses.patterns)))


@SIZES
@pytest.mark.parametrize("seed", range(20))
def test_any_addresses_are_restored(n_slots, seed):
    table = random_table(n_slots, seed)
    assert np.array_equal(decode(compress([table], len(table), n_slots)), table)


@SIZES
def test_addresses_without_any_order_are_restored(n_slots):
    table = np.random.default_rng(1).integers(0, n_slots, (3, 10 * WARP))
    assert np.array_equal(decode(compress([table], 3, n_slots)), table)


@SIZES
def test_a_run_at_the_end_of_a_warp_may_begin_at_the_first_address_and_at_the_last(n_slots):
    """The address that its lane 0 would have lies before the buffer, and wraps."""
    for lane in range(1, WARP):
        table = np.zeros((2, WARP), int)
        table[0, lane:] = np.arange(WARP - lane)
        table[1, lane] = n_slots - 1
        runs = compress([table], 2, n_slots)
        assert np.array_equal(decode(runs), table) and runs.bases.max() > n_slots // 2


@pytest.mark.parametrize(("n_slots", "dtype"), [(NARROW, np.uint32), (NARROW + 1, np.uint64)])
def test_bases_are_as_wide_as_the_buffer_needs(n_slots, dtype):
    table = np.full((1, WARP), n_slots - 1)
    runs = compress([table], 1, n_slots)
    assert runs.bases.dtype == dtype and np.array_equal(decode(runs), table)


@pytest.mark.parametrize("warps", [(40,), (1,) * 40, (7, 1, 32), (39, 1)], ids=str)
def test_parts_of_any_size_give_the_same_table(warps):
    table = random_table(10_000)
    whole = compress([table], len(table), 10_000)
    parts = compress(np.split(table, np.cumsum(warps[:-1]) * WARP, axis=1), len(table), 10_000)
    assert np.array_equal(parts.lines, whole.lines) and np.array_equal(parts.bases, whole.bases)


@pytest.mark.parametrize("seed", range(5))
def test_a_run_begins_with_each_warp_and_where_addresses_do_not_climb_by_one_and_nowhere_else(seed):
    table = random_table(10_000, seed)
    runs = compress([table], len(table), 10_000)
    assert runs.bases.size == 1 + table.size // WARP + breaks(table)
    assert runs.runs_per_warp == pytest.approx(1 + breaks(table) / (table.size // WARP))


def test_a_line_counts_the_runs_of_all_lines_before():
    table = random_table(10_000)
    runs = compress([table], len(table), 10_000)
    counts = np.bitwise_count(runs.lines[:, 1 : 1 + len(table)]).sum(axis=1)
    assert np.array_equal(runs.lines[:, 0], np.cumsum(counts) - counts)


@pytest.mark.parametrize("n_directions", [1, 3, 4, 8, 14, 18, 26])
def test_lines_are_whole_words_of_sixteen_bytes(n_directions):
    table = all_addresses(range(n_directions), n_directions, WARP)
    runs = compress([table], n_directions, 100_000)
    assert runs.lines.shape[1] % 4 == 0 and 0 <= runs.lines.shape[1] - (1 + n_directions) < 4
    assert np.array_equal(decode(runs), table)


def test_more_runs_than_a_line_can_count_are_refused(monkeypatch):
    table = random_table(10_000)
    n_runs = table.size // WARP + breaks(table)
    monkeypatch.setattr("muphy_lb.domain.runs.MAX_RUNS", n_runs)
    compress([table], len(table), 10_000)
    monkeypatch.setattr("muphy_lb.domain.runs.MAX_RUNS", n_runs - 1)
    with pytest.raises(InputError, match="more than .* runs on one rank; use more ranks"):
        compress([table], len(table), 10_000)
