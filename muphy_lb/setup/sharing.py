"""From the node list of a case to the owner of every node: which of several ranks computes it."""

import logging

import numpy as np

from muphy_lb.backends import resolve_backend
from muphy_lb.base.errors import InputError
from muphy_lb.base.phases import SHARING, phase
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.case.case import Case
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.lattice import lattice_named
from muphy_lb.partition.costs import NODE_COSTS, STEP_COSTS, weighted_by_kind, weights_from_loads
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.halo import Exchange
from muphy_lb.partition.methods import METHODS
from muphy_lb.partition.partition import AUTO, check_parts, partition_with_reason
from muphy_lb.partition.store import list_partitions, partition_name, read_partition
from muphy_lb.partition.voxels import graph_from_voxels
from muphy_lb.setup.geometry import is_prepared

LOG = logging.getLogger(__name__)


def share_nodes(nodes: NodeList, case: Case, n_ranks: int, load: np.ndarray | None = None) -> np.ndarray:
    """(n,) int32 owner of every node, by ``compute.partition`` of the case.

    That is the name of a partitioning stored in the prepared geometry, or of a method; a stored ``METHOD-N`` for this
    number of ranks is used before the method is run again. The automatic choice is logged with its reasons. Given what
    each node costs, ``load`` (n,), nodes are shared by that alone: no stored partitioning is used, and where the case
    names one, the choice is automatic.

    Raises PartitionError: it is neither; a stored partitioning is for another number of ranks; more ranks than nodes;
    InputError: ``compute.rank_speeds`` is not empty and not one number for each rank.
    """
    _rank_speeds(case, n_ranks)
    if n_ranks == 1:
        return np.broadcast_to(np.int32(0), nodes.n_nodes)
    name = stored_name(case, n_ranks) if load is None else None
    if name is not None:
        stored = read_partition(case.folder / case.geometry.file, name)
        if stored.size == nodes.n_nodes:  # otherwise the geometry was tiled
            return stored
    method = case.compute.partition
    if load is not None and method not in METHODS:
        method = AUTO
    with phase(f"sharing {nodes.n_nodes:,} nodes among {n_ranks} ranks ({method})", SHARING):
        return _owners(nodes, case, method, n_ranks, load)


def _owners(nodes: NodeList, case: Case, method: str, n_ranks: int, load: np.ndarray | None) -> np.ndarray:
    """(n,) int32 owner of every node by a method; see :func:`share_nodes`."""
    backend, speeds = resolve_backend(case.compute.backend), _rank_speeds(case, n_ranks)
    population_bytes = np.dtype(PRECISIONS[case.compute.precision].storage).itemsize
    exchange = Exchange(lattice_named(case.lattice.name).c[1:], population_bytes)
    graph = graph_from_voxels(nodes.voxel, nodes.shape, nodes.periodic)
    check_parts(graph, n_ranks, method)
    if load is None:
        graph = weighted_by_kind(graph, nodes.group, NODE_COSTS[backend], exchange)
    else:
        graph = graph.with_weights(weights_from_loads(load))
    owner, choice = partition_with_reason(graph, n_ranks, method, exchange, STEP_COSTS[backend], speeds)
    if choice.reason:
        LOG.info(choice.reason)
    return owner


def _rank_speeds(case: Case, n_ranks: int) -> tuple[float, ...] | None:
    speeds = case.compute.rank_speeds
    if speeds and len(speeds) != n_ranks:
        raise InputError(
            f"compute.rank_speeds has {len(speeds)} values for {n_ranks} ranks; give one for each rank, or leave it out"
        )
    return speeds or None


def stored_name(case: Case, n_ranks: int) -> str | None:
    """Name of the stored partitioning that these ranks will use; None if there is none, or only one rank. Raises
    PartitionError: the one that the case asks for is for another number of ranks; InputError: ``compute.rank_speeds``
    is for another number of ranks."""
    speeds = _rank_speeds(case, n_ranks)
    if n_ranks == 1 or not is_prepared(case):
        return None
    path, name = case.folder / case.geometry.file, case.compute.partition
    parts = {record.name: record.n_parts for record in list_partitions(path)}
    # Cuts for equal ranks do not suit unequal ones; what the command stores by default is METIS's.
    methods = () if speeds else (name, "metis") if name == AUTO else (name,)
    for candidate in (name, *(partition_name(method, n_ranks) for method in methods)):
        if candidate in parts and parts[candidate] != n_ranks:
            raise PartitionError(
                f"partitioning {candidate!r} of {path} is for {parts[candidate]} ranks, this run has {n_ranks};"
                " give another name or method in compute.partition, or start as many ranks"
            )
        if candidate in parts:
            return candidate
    return None
