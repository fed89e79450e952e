"""Every rank gets its part of the geometry, from rank 0 or from the file, and nothing as large as the whole. What ranks
make of it: tests/parallel/test_rank_independence.py."""

import queue
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy as np
import pytest

from muphy_lb.case.case import case_from_dict
from muphy_lb.domain import cut_part
from muphy_lb.geometry.nodes import GeometryHeader, build_nodes
from muphy_lb.geometry.store import open_nodes, write_geometry
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.store import open_partition, write_partition
from muphy_lb.setup.distribute import DistributedGeometry
from muphy_lb.setup.geometry import load_nodes
from muphy_lb.setup.sharing import share_nodes
from tests.support import random_owner, random_voxels
from tests.unit.muphy_lb.domain.test_part import N_RANKS, assert_equal, geometry, shares
from tests.vessel import changed, vessel

PATIENCE_S = 30.0


class Threads(SerialCommunicator):
    """A rank among several of one process, as far as sharing a geometry needs it. One computes at a time: some of
    Numba's threading layers end the process when two threads start parallel loops at once."""

    def __init__(self, rank, letters, computing):
        self.rank, self.size, self._letters, self._computing = rank, N_RANKS, letters, computing

    def _next(self, letters):
        """Let others compute until a letter has come."""
        self._computing.release()
        try:
            return letters.get(timeout=PATIENCE_S)
        finally:
            self._computing.acquire()

    def send(self, array, rank):
        """Post a copy."""
        self._letters[self.rank][rank].put(array.copy())

    def receive(self, array, rank):
        """Wait for a letter of that size."""
        letter = self._next(self._letters[rank][self.rank])
        assert (letter.dtype, letter.shape) == (array.dtype, array.shape)
        array[...] = letter

    def broadcast(self, value):
        """The value of rank 0."""
        for other in range(1, N_RANKS) if self.rank == 0 else ():
            self._letters[0][other].put(value)
        return value if self.rank == 0 else self._next(self._letters[0][self.rank])

    def total(self, value):
        """Sum over all ranks."""
        for other in range(N_RANKS):
            self._letters[self.rank][other].put(value)
        return sum(self._next(letters[self.rank]) for letters in self._letters)


def on_all_ranks(work):
    """What ``work(communicator)`` returns on each rank."""
    letters = [[queue.Queue() for _ in range(N_RANKS)] for _ in range(N_RANKS)]
    computing = threading.Lock()

    def live(rank):
        with computing:
            return work(Threads(rank, letters, computing))

    with ThreadPoolExecutor(N_RANKS) as pool:
        return list(pool.map(live, range(N_RANKS)))


@pytest.fixture(params=["half-way", "bouzidi"])
def prepared(request, tmp_path):
    """The vessel's case on its prepared geometry, shared out among three ranks; and the nodes and owners."""
    walls = {"lattice": {"walls": request.param}}
    nodes, _ = load_nodes(vessel(**walls))
    owner = random_owner(nodes, N_RANKS)
    write_geometry(tmp_path / "vessel.h5", nodes)
    write_partition(tmp_path / "vessel.h5", "mine", owner, "by hand")
    table = changed(compute={"partition": "mine"}, **walls) | {"geometry": {"file": "vessel.h5"}}
    return case_from_dict(table, tmp_path), nodes, owner


@pytest.mark.parametrize("seed", range(4))
def test_a_part_read_from_the_file_is_the_one_cut_from_the_list(seed, tmp_path):
    nodes = geometry(seed)
    owner = shares(nodes, seed)
    write_geometry(tmp_path / "case.h5", nodes)
    write_partition(tmp_path / "case.h5", "p", owner, "by hand")
    for rank in range(N_RANKS):
        with open_nodes(tmp_path / "case.h5") as unread, open_partition(tmp_path / "case.h5", "p") as stored:
            part = cut_part(unread, stored, rank)
        assert_equal(part, cut_part(nodes, owner, rank))
        assert all(isinstance(values, np.ndarray) for values in (part.number, part.nodes.voxel, part.nodes.label_voxel))


def test_every_rank_reads_its_part_of_a_stored_partitioning(prepared):
    case, nodes, owner = prepared
    for rank, part in enumerate(on_all_ranks(lambda communicator: DistributedGeometry(case, communicator).part())):
        assert_equal(part, cut_part(nodes, owner, rank))


@pytest.mark.parametrize("walls", ["half-way", "bouzidi"])
def test_rank_0_deals_the_parts_of_a_geometry_that_it_has_made(walls):
    case = vessel(lattice={"walls": walls}, compute={"partition": "curve"})
    nodes, _ = load_nodes(case)
    owner = share_nodes(nodes, case, N_RANKS)
    for rank, part in enumerate(on_all_ranks(lambda communicator: DistributedGeometry(case, communicator).part())):
        assert_equal(part, cut_part(nodes, owner, rank))


def test_only_rank_0_has_the_list_and_only_when_it_asks_for_it(prepared):
    case, nodes, _ = prepared
    first, *others = on_all_ranks(lambda communicator: DistributedGeometry(case, communicator))
    assert first.header == nodes.header and all(other.nodes == nodes.header for other in others)
    assert first._nodes is None and np.array_equal(first.nodes.voxel, nodes.voxel)
    assert all(isinstance(other.nodes, GeometryHeader) for other in others)


def test_a_list_in_its_file_has_the_digest_of_the_list_and_an_inspection_gives_what_the_list_gives(prepared):
    case, nodes, _ = prepared
    from_file = on_all_ranks(lambda communicator: DistributedGeometry(case, communicator))[0]
    assert from_file.voxel_digest == DistributedGeometry(case, SerialCommunicator(), nodes).voxel_digest
    seen = on_all_ranks(lambda communicator: DistributedGeometry(case, communicator).inspect(lambda n: int(n.voxel[5])))
    assert seen == [int(nodes.voxel[5])] * N_RANKS


def test_owners_beyond_the_ranks_are_refused(prepared):
    case, _, owner = prepared
    with h5py.File(case.folder / "vessel.h5", "r+") as file:
        file["partition/mine/owner"][np.flatnonzero(owner == 1)[0]] = N_RANKS
    with pytest.raises(PartitionError, match=r"'mine' .* of \d+ nodes to ranks 0 to 2; create it again"):
        on_all_ranks(lambda communicator: DistributedGeometry(case, communicator).part())


def test_reading_a_part_takes_memory_for_the_part_not_for_the_list(tmp_path, monkeypatch):
    nodes = build_nodes(random_voxels((120, 40, 40)))
    write_geometry(tmp_path / "case.h5", nodes)
    write_partition(tmp_path / "case.h5", "p", np.arange(nodes.n_nodes) * 30 // nodes.n_nodes, "slabs")
    chunks = ("base.chunks.CHUNK", "geometry.search.VOXELS_PER_CHUNK", "geometry.nodes.LABELS_PER_CHUNK")
    for chunk in (*chunks, "geometry.store.STRETCH"):
        monkeypatch.setattr(f"muphy_lb.{chunk}", 1 << 8)

    def read():
        with open_nodes(tmp_path / "case.h5") as unread, open_partition(tmp_path / "case.h5", "p") as stored:
            return cut_part(unread, stored, 7)

    read()
    tracemalloc.start()
    part, (_, peak) = read(), tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert part.own.size < nodes.n_nodes / 25
    assert peak < nodes.voxel.nbytes / 2, f"{peak} bytes"
