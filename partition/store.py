"""Partitionings stored in CASE.h5, next to the geometry whose nodes they distribute. Layout (version 1): one group
``/partition/NAME`` per partitioning with the dataset ``owner`` (n,) int32 in node order and the attributes ``n_parts``,
``method`` and ``version``."""

import math
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.base.files.atomic import atomic_write
from muphy_lb.base.files.hdf5 import CHECKSUMMED, opened, write_array, write_attributes
from muphy_lb.base.files.hdf5_input import MAX_NAME, InputArray, InputGroup, input_file, is_name, shown
from muphy_lb.partition.costs import NodeCost, weighted_by_kind, weights_from_groups
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.halo import Exchange
from muphy_lb.partition.voxels import VoxelGraph, graph_from_voxels

VERSION = 1
MAX_SIDE = 2**24  # voxels along an axis that a box may have
MAX_VOXELS = 2**58  # voxels that a box may have: neighbours of their ids are 64-bit integers

MAX_GROUPS = 256
EQUAL_COSTS: Mapping[int, float] = {}


@dataclass(frozen=True)
class StoredPartition:
    """The attributes of a partitioning in a file."""

    name: str
    n_parts: int
    method: str


def partition_name(method: str, n_parts: int) -> str:
    """The default name of a partitioning."""
    return f"{method}-{n_parts}"


def read_graph(path, cost: Mapping[int, float] = EQUAL_COSTS) -> VoxelGraph:
    """The graph of face neighbours of the nodes in a CASE.h5, weighted by the cost of their groups. Raises
    PartitionError: the file is missing, corrupt or without geometry, or ``cost`` contains an unknown group."""
    graph, group = _read_nodes(path)
    unknown = sorted(set(cost) - set(range(int(group.max()) + 1)))
    if unknown:
        raise PartitionError(f"there is no group {unknown[0]} in {path}; its groups are 0 to {group.max()}")
    return graph.with_weights(weights_from_groups(group, cost))


def read_weighted_graph(path, cost: NodeCost, exchange: Exchange) -> VoxelGraph:
    """The graph of face neighbours of the nodes in a CASE.h5, weighted by their kinds. Raises PartitionError: the file
    is missing, corrupt or without geometry."""
    graph, group = _read_nodes(path)
    return weighted_by_kind(graph, group, cost, exchange)


def _read_nodes(path) -> tuple[VoxelGraph, np.ndarray]:
    """The graph and the (n,) uint8 group of each node."""
    with _open_case(path) as file:
        geometry = file.subgroup("geometry")
        shape, periodic = geometry.integers("shape", (3,), 1, MAX_SIDE), geometry.flags("periodic", (3,))
        if math.prod(shape) >= MAX_VOXELS:
            raise geometry.refusal("shape", f"is {shape}; a box of less than {MAX_VOXELS} voxels is allowed")
        group_start = geometry.array("group_start", np.int64)[...]
        voxel = geometry.array("voxel", np.int64)[...]
        if (
            not 2 <= group_start.size <= MAX_GROUPS + 1
            or (group_start[0], group_start[-1]) != (0, voxel.size)
            or np.any(group_start[1:] < group_start[:-1])
        ):
            problem = f"is {shown(group_start)}; it must climb from 0 to {voxel.size}, the number of nodes"
            raise geometry.refusal("group_start", problem)
    try:
        graph = graph_from_voxels(voxel, shape, periodic)
    except PartitionError as error:
        raise geometry.refusal("voxel", f"is wrong: {error}") from error
    counts = np.diff(group_start)
    return graph, np.repeat(np.arange(counts.size, dtype=np.uint8), counts)


def write_partition(path, name: str, owner: np.ndarray, method: str) -> None:
    """Add a partitioning to a CASE.h5; one of the same name is replaced.

    A modified copy replaces the file atomically, so a failure leaves the file unchanged.

    Args:
        name: name of the partitioning, without "/".
        owner: (n,) integer part of each node, parts 0 to n_parts - 1, none of them empty.
        method: the method by which it was computed.

    Raises PartitionError: the file is missing, corrupt or without geometry; an invalid name; owners that do not match
    the geometry; OutputError: the file cannot be written.
    """
    if name in (".", "..") or "/" in name or not is_name(name):
        raise PartitionError(
            f"bad name {shown(ascii(name))} of a partitioning; give 1 to {MAX_NAME} printable letters without '/'"
        )
    owner = np.asarray(owner)
    with _open_case(path) as file:
        _check_owner(owner, _n_nodes(file), path)
    with _modified_copy(Path(path).resolve()) as file:
        file.pop(f"partition/{name}", None)
        group = file.create_group(f"partition/{name}")
        write_array(group, "owner", owner.astype(np.int32))
        write_attributes(group, {"n_parts": int(owner.max()) + 1, "method": method, "version": VERSION})


def read_partition(path, name: str) -> np.ndarray:
    """(n,) int32 owners of the named partitioning of a CASE.h5. Raises PartitionError: no such file, no partitioning of
    this name (the message lists the existing ones), another version."""
    with _open_case(path) as file:
        owner = _open_owner(file, name)[...]
        _check_owner(owner, owner.size, path)
        group = file.subgroup("partition").subgroup(name)
        n_parts = int(owner.max()) + 1
        group.integers("n_parts", (), n_parts, n_parts)
    return owner


@contextmanager
def open_partition(path, name: str) -> Iterator[InputArray]:
    """(n,) int32 owners of the named partitioning in the open file, of which slices are read on access.

    The owners themselves are not checked: every rank takes the nodes that are its own, and the ranks together find
    whether these are all nodes (:meth:`muphy_lb.setup.distribute.DistributedGeometry.part`).

    Raises PartitionError: as :func:`read_partition`, except for the values of owners.
    """
    with _open_case(path) as file:
        yield _open_owner(file, name)


def list_partitions(path) -> tuple[StoredPartition, ...]:
    """The partitionings of a CASE.h5, by name. Raises PartitionError: the file is missing, corrupt or without geometry,
    or a partitioning is incomplete."""
    with _open_case(path) as file:
        n_nodes = _n_nodes(file)
        stored = file.subgroup("partition") if "partition" in file else None
        return tuple(_record(stored, name, n_nodes) for name in stored.names()) if stored else ()


def _record(stored: InputGroup, name: str, n_nodes: int) -> StoredPartition:
    group = stored.subgroup(name)
    return StoredPartition(name, group.integers("n_parts", (), 1, n_nodes), group.text("method"))


def _open_owner(file: InputGroup, name: str) -> InputArray:
    """The owners of a partitioning, of the right type and number, not read."""
    stored = file.subgroup("partition") if "partition" in file else None
    names = stored.names() if stored else []
    if stored is None or name not in names:
        raise PartitionError(
            f"{file.path} has no partitioning {name!r}; it has: {', '.join(names) or 'none'};"
            " make it with muphy-lb partition CASE.h5 N_PARTS --name NAME"
        )
    group = stored.subgroup(name)
    group.check_version(VERSION)
    owner = group.array("owner", np.int32)
    _check_length(owner, _n_nodes(file), file.path)
    return owner


def _n_nodes(file: InputGroup) -> int:
    return int(file.subgroup("geometry").array("voxel", np.int64).size)


def _check_length(owner, n_nodes: int, path) -> None:
    if owner.shape != (n_nodes,):
        raise PartitionError(f"owners of shape {owner.shape} for the {n_nodes} nodes of {path}; partition it again")


def _check_owner(owner: np.ndarray, n_nodes: int, path) -> None:
    """Owners are the numbers from 0 to the last part, all of them used."""
    _check_length(owner, n_nodes, path)
    lowest, highest = int(owner.min()), int(owner.max())
    if lowest < 0 or highest >= n_nodes or np.bincount(owner).min() == 0:
        raise PartitionError(
            f"owners for {path} lie between {lowest} and {highest} with a negative or unused number;"
            " every part from 0 to the last needs a node: partition it again"
        )


@contextmanager
def _open_case(path) -> Iterator[InputGroup]:
    """Open a CASE.h5 for reading; PartitionError unless it holds nodes."""
    name = Path(path).name
    commands = f"muphy-lb geometry INPUT {name} and muphy-lb partition {name} N_PARTS"
    with input_file(path, PartitionError, commands) as file:
        if _n_nodes(file) == 0:
            raise file.refusal("geometry/voxel", "is empty")
        yield file


@contextmanager
def _modified_copy(path: Path) -> Iterator[h5py.File]:
    """A copy of an HDF5 file, open for writing, that replaces the file when the context ends without an error."""
    with atomic_write(path) as copy:
        shutil.copy(path, copy)
        with opened(copy, "r+", CHECKSUMMED) as file:
            yield file
