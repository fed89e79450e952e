"""The communication of a geometry in many parts, determined by partitioning it."""

import numpy as np

from muphy_lb.bench.scaling.model import PartitionCut
from muphy_lb.bench.scaling.study import Point
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.lattice import Lattice
from muphy_lb.partition.halo import Exchange, count_loads
from muphy_lb.partition.partition import partition
from muphy_lb.partition.voxels import graph_from_voxels

PARTS = (8, 16, 64)
LEAST_NODES_OF_A_PART = 64
# METIS takes minutes beyond the first, and the graph too much memory beyond the second.
MOST_NODES_FOR_METIS, MOST_NODES = 6_000_000, 60_000_000
METIS, PLANES = "metis", "XYZ"


def partition_cuts(nodes: NodeList, lattice: Lattice) -> list[PartitionCut]:
    """The geometry partitioned into each of ``PARTS``: by METIS, by planes if it is large, not at all if it is very
    large or too small."""
    if not PARTS[-1] * LEAST_NODES_OF_A_PART <= nodes.n_nodes <= MOST_NODES:
        return []
    method = METIS if nodes.n_nodes <= MOST_NODES_FOR_METIS else PLANES
    graph, exchange = graph_from_voxels(nodes.voxel, nodes.shape, nodes.periodic), Exchange(lattice.c[1:])
    return [cut(graph, partition(graph, n_parts, method), exchange, method) for n_parts in PARTS]


def cut(graph, owner: np.ndarray, exchange: Exchange, method: str) -> PartitionCut:
    """Evaluate a partitioning of a geometry. ``graph``: its nodes, each of weight 1; ``owner``: (n,) part of each node;
    ``exchange``: the links along which populations are exchanged; ``method``: text: how it was partitioned."""
    sizes = np.bincount(owner)
    (load,) = count_loads(graph, [owner], sizes.size, exchange)
    return PartitionCut(
        n_parts=sizes.size,
        nodes=float(sizes.max()),
        edge_nodes=float(load.edge_work.max()),
        populations=float(load.populations.max()),
        neighbours=float(load.neighbours.max()),
        imbalance=float(sizes.max() / sizes.mean()),
        method=method,
    )


def cut_of_point(point: Point) -> PartitionCut:
    """The parts of a measured point; edge nodes include those next to openings."""
    return PartitionCut(
        n_parts=point.ranks,
        nodes=point.most_nodes,
        edge_nodes=point.most_edge_nodes,
        populations=point.most_halo_bytes / point.storage_bytes,
        neighbours=point.most_neighbours,
        imbalance=point.most_nodes / point.nodes_per_rank,
    )
