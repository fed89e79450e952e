"""Partitionings stored in CASE.h5, next to the geometry whose nodes they distribute.

Layout (version 1): one group ``/partition/NAME`` per partitioning with the dataset ``owner`` (n,) int32 in node order
and the attributes ``n_parts``, ``method`` and ``version``.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.partition.costs import NodeCost
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.halo import Exchange
from muphy_lb.partition.kinds import weighted_by_kind
from muphy_lb.partition.voxels import VoxelGraph, graph_from_voxels
from muphy_lb.partition.weights import weights_from_groups

VERSION = 1
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
    """The graph of face neighbours of the nodes in a CASE.h5, weighted by the cost of their groups.

    Raises:
        PartitionError: the file is missing, corrupt or without geometry, or ``cost`` contains an unknown group.
    """
    graph, group = _read_nodes(path)
    unknown = sorted(set(cost) - set(range(int(group.max()) + 1)))
    if unknown:
        raise PartitionError(f"there is no group {unknown[0]} in {path}; its groups are 0 to {group.max()}")
    return graph.with_weights(weights_from_groups(group, cost))


def read_weighted_graph(path, cost: NodeCost, exchange: Exchange) -> VoxelGraph:
    """The graph of face neighbours of the nodes in a CASE.h5, weighted by their kinds.

    Raises:
        PartitionError: the file is missing, corrupt or without geometry.
    """
    graph, group = _read_nodes(path)
    return weighted_by_kind(graph, group, cost, exchange)


def _read_nodes(path) -> tuple[VoxelGraph, np.ndarray]:
    """The graph and the (n,) uint8 group of each node."""
    with _open_case(path) as file:
        geometry = file["geometry"]
        try:
            voxel, group_start = geometry["voxel"][...], geometry["group_start"][...]
            shape, periodic = geometry.attrs["shape"], geometry.attrs["periodic"]
        except KeyError as error:
            raise PartitionError(f"{path}: /geometry is incomplete: {error}; make it anew") from error
    counts = np.diff(group_start)
    return graph_from_voxels(voxel, shape, periodic), np.repeat(np.arange(counts.size, dtype=np.uint8), counts)


def write_partition(path, name: str, owner: np.ndarray, method: str) -> None:
    """Add a partitioning to a CASE.h5; one of the same name is replaced.

    A modified copy replaces the file atomically, so a failure leaves the file unchanged.

    Args:
        path: the file.
        name: name of the partitioning, without "/".
        owner: (n,) integer part of each node, parts 0 to n_parts - 1, none of them empty.
        method: the method by which it was computed.

    Raises:
        PartitionError: the file is missing, corrupt, without geometry or not writable; an invalid name; owners that
            do not match the geometry.
    """
    if name in ("", ".", "..") or "/" in name:
        raise PartitionError(f"bad name {name!r} of a partitioning; give a non-empty one without '/'")
    owner = np.asarray(owner)
    with _open_case(path) as file:
        _check_owner(owner, file["geometry/voxel"].size, path)
    with _modified_copy(Path(path).resolve()) as file:
        file.pop(f"partition/{name}", None)
        group = file.create_group(f"partition/{name}")
        group.create_dataset("owner", data=owner.astype(np.int32))
        group.attrs.update(n_parts=int(owner.max()) + 1, method=method, version=VERSION)


def read_partition(path, name: str) -> np.ndarray:
    """(n,) int32 owners of the named partitioning of a CASE.h5.

    Raises:
        PartitionError: no such file, no partitioning of this name (the message lists the existing ones), another
            version.
    """
    with open_partition(path, name) as stored:
        owner = stored[...]
    _check_owner(owner, owner.size, path)
    return owner


@contextmanager
def open_partition(path, name: str) -> Iterator[h5py.Dataset]:
    """(n,) int32 owners of the named partitioning as a dataset of the open file, of which slices are read on access.

    Raises:
        PartitionError: as :func:`read_partition`, except for empty parts, which are not checked here.
    """
    with _open_case(path) as file:
        stored = file.get("partition", {})
        if name not in stored:
            raise PartitionError(
                f"{path} has no partitioning {name!r}; it has: {', '.join(stored) or 'none'};"
                " make it with muphy-lb partition CASE.h5 N_PARTS --name NAME"
            )
        version = stored[name].attrs.get("version")
        if version != VERSION:
            raise PartitionError(
                f"{path}: partitioning {name!r} has version {version}, this program reads {VERSION}; make it anew"
            )
        owner = stored[name]["owner"]
        _check_length(owner, file["geometry/voxel"].size, path)
        yield owner


def list_partitions(path) -> tuple[StoredPartition, ...]:
    """The partitionings of a CASE.h5, by name.

    Raises:
        PartitionError: the file is missing, corrupt or without geometry.
    """
    with _open_case(path) as file:
        return tuple(
            StoredPartition(name, int(group.attrs["n_parts"]), str(group.attrs["method"]))
            for name, group in file.get("partition", {}).items()
        )


def _check_length(owner, n_nodes: int, path) -> None:
    if owner.shape != (n_nodes,):
        raise PartitionError(
            f"owners of shape {owner.shape} for the {n_nodes} nodes of {path}; partition this geometry anew"
        )


def _check_owner(owner: np.ndarray, n_nodes: int, path) -> None:
    _check_length(owner, n_nodes, path)
    if owner.min() < 0 or np.bincount(owner).min() == 0:
        raise PartitionError(
            f"owners for {path} lie between {owner.min()} and {owner.max()} with a negative or unused number;"
            " every part from 0 to the last needs a node"
        )


@contextmanager
def _open_case(path) -> Iterator[h5py.File]:
    """Open a CASE.h5 for reading; PartitionError unless it holds nodes."""
    if not Path(path).is_file():
        raise PartitionError(f"there is no file {path}; make it with muphy-lb geometry")
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise PartitionError(f"{path} is not a readable HDF5 file (truncated?): {error}; make it anew") from error
    with file:
        if "geometry/voxel" not in file:
            raise PartitionError(f"{path} has no dataset /geometry/voxel; make it with muphy-lb geometry")
        yield file


@contextmanager
def _modified_copy(path: Path) -> Iterator[h5py.File]:
    """A copy of an HDF5 file, open for writing, that replaces the file when the context ends without an error."""
    copy = None
    try:
        handle, copy = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        shutil.copy(path, copy)
        with h5py.File(copy, "r+") as file:
            yield file
        with open(copy, "rb+") as written:
            os.fsync(written.fileno())
        os.replace(copy, path)
    except OSError as error:
        raise PartitionError(
            f"cannot write {path}: {error}; check the folder, its rights and the free space"
        ) from error
    finally:
        if copy is not None:
            Path(copy).unlink(missing_ok=True)
