"""Performance model of a time step: costs of a GPU and of its messages, fitted to measurements.

A GPU computes its interior while the halo is packed, sent, received and unpacked, and then its edge:

    step = max(interior, halo) + edge + overhead           (see muphy_lb.partition.costs.step_seconds)
    interior = inner nodes * cost of a node,  edge = edge nodes * cost of a node
    halo = cost of an exchange + bytes * cost of a byte + messages * cost of a message

``overhead`` is the additional time of a step on several GPUs. A compact part of m nodes has a surface of about m^(2/3)
nodes; the number of populations that cross it is a multiple of that.

The communication of a geometry in many parts, determined by partitioning it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import cbrt

import numpy as np

from muphy_lb.bench.scaling.study import Point
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.lattice import Lattice
from muphy_lb.partition import costs
from muphy_lb.partition.halo import Exchange, count_loads
from muphy_lb.partition.partition import partition
from muphy_lb.partition.voxels import graph_from_voxels

# Condition number beyond which two costs cannot be fitted separately.
WORST_CONDITION = 50.0


@dataclass(frozen=True)
class RankLoad:
    """The load of the busiest GPU in a step."""

    nodes: float  # nodes, edge_nodes: number of all nodes, and of those that wait for messages
    edge_nodes: float = 0.0
    halo_bytes: float = 0.0  # bytes sent (and received)
    messages: float = 0.0  # number of messages sent


@dataclass(frozen=True)
class Machine:
    """Costs [s] of one GPU and of its connection to the others."""

    s_per_node: float  # cost of a node update
    s_overhead: float = 0.0  # overhead per step on several GPUs
    # s_per_exchange, s_per_byte: fixed cost, and cost per byte, of packing, sending and unpacking
    s_per_exchange: float = 0.0
    s_per_byte: float = 0.0
    s_per_message: float = 0.0  # additional cost per message
    overlaps: bool = True  # whether communication overlaps with the computation of the interior


@dataclass(frozen=True)
class Link:
    """A network: ``gb_s`` GB/s per GPU, ``latency_us`` microseconds per message."""

    gb_s: float
    latency_us: float


@dataclass(frozen=True)
class Observation:
    """A measured step: its load, its duration [s], and (bytes, seconds) of isolated exchanges."""

    load: RankLoad
    step_s: float
    exchanges: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Fit:
    """A machine fitted to observations; ``residuals``: predicted over measured step time, minus one, of each."""

    machine: Machine
    residuals: tuple[float, ...]


@dataclass(frozen=True)
class PartitionCut:
    """A partitioned geometry: the largest value of each count over the parts; ``imbalance``: largest over mean number
    of nodes; ``method``: how it was partitioned."""

    n_parts: int
    nodes: float
    edge_nodes: float
    populations: float
    neighbours: float
    imbalance: float
    method: str = "the study"


@dataclass(frozen=True)
class PartSurface:
    """Surface of a part of m nodes, as multiples of m^(2/3)."""

    populations: float  # populations that cross it
    edge_nodes: float  # nodes on it
    neighbours: float  # neighbours of an interior part
    imbalance: float = 1.0  # nodes of the largest part over the mean
    # parts at the boundary have fewer neighbours: of p parts, (1 - p^(-1/3)) of all surface is shared, as in a cube cut
    # into cubes. Otherwise the geometry is periodic.
    is_bounded: bool = True

    def load(self, n_nodes: float, n_parts: int, population_bytes: float) -> RankLoad:
        """Load of the busiest of ``n_parts`` GPUs that share ``n_nodes``."""
        if n_parts == 1:
            return RankLoad(n_nodes)
        nodes, shared = self.imbalance * n_nodes / n_parts, self.shared(n_parts)
        area = shared * cbrt(nodes) ** 2
        return RankLoad(
            nodes=nodes,
            edge_nodes=min(nodes, self.edge_nodes * area),
            halo_bytes=self.populations * area * population_bytes,
            messages=min(n_parts - 1, max(1.0, self.neighbours * shared)),
        )

    def shared(self, n_parts: int) -> float:
        """Share of all surface that lies between parts."""
        return 1.0 - 1.0 / cbrt(n_parts) if self.is_bounded else 1.0


def step_seconds(machine: Machine, load: RankLoad) -> float:
    """Time of one step of the busiest GPU [s]."""
    if not load.messages:
        return load.nodes * machine.s_per_node
    edge = load.edge_nodes * machine.s_per_node
    interior = (load.nodes - load.edge_nodes) * machine.s_per_node
    halo = machine.s_per_exchange + load.halo_bytes * machine.s_per_byte + load.messages * machine.s_per_message
    return float(costs.step_seconds(interior, halo, edge + machine.s_overhead, machine.overlaps))


def across(machine: Machine, link: Link) -> Machine:
    """The machine with messages that also cross a network: the smaller bandwidth, and its additional latency."""
    return replace(
        machine,
        s_per_byte=max(machine.s_per_byte, 1e-9 / link.gb_s),
        s_per_message=machine.s_per_message + 1e-6 * link.latency_us,
    )


def fit_machine(observations: Sequence[Observation]) -> Fit:
    """Least squares of relative errors, cost by cost; overlap of halo and interior is assumed if it fits better.
    ``observations``: at least one. The cost of a node is that on a single GPU, or else the smallest observed."""
    alone = [seen for seen in observations if not seen.load.messages]
    if alone:
        s_per_node = _one_cost([seen.load.nodes for seen in alone], [seen.step_s for seen in alone])
    else:
        s_per_node = min(seen.step_s / seen.load.nodes for seen in observations)
    exchanges = [exchange for seen in observations for exchange in seen.exchanges]
    sizes, seconds = [size for size, _ in exchanges], [taken for _, taken in exchanges]
    s_per_byte, s_per_exchange = _two_costs(sizes, [1.0] * len(sizes), seconds)
    machine = Machine(s_per_node, 0.0, s_per_exchange, s_per_byte)
    fits = [_fit_overhead(replace(machine, overlaps=overlaps), observations) for overlaps in (True, False)]
    return min(fits, key=lambda fit: sum(residual**2 for residual in fit.residuals))


def _fit_overhead(machine: Machine, observations) -> Fit:
    """The machine with its overhead per step on several GPUs."""
    shared = [seen for seen in observations if seen.load.messages]
    rest = [1.0 - step_seconds(machine, seen.load) / seen.step_s for seen in shared]
    relative = [1.0 / seen.step_s for seen in shared]
    overhead = np.dot(rest, relative) / np.dot(relative, relative) if shared else 0.0
    machine = replace(machine, s_overhead=max(0.0, float(overhead)))
    return Fit(machine, tuple(step_seconds(machine, seen.load) / seen.step_s - 1.0 for seen in observations))


def fit_surface(cuts: Sequence[PartitionCut], is_bounded: bool) -> PartSurface | None:
    """The surface of the parts of a geometry, averaged over all partitionings; None if there is none. ``cuts``: the
    geometry in several numbers of parts, each above one; ``is_bounded``: see :class:`PartSurface`."""
    if not cuts:
        return None
    shared = np.array([PartSurface(0.0, 0.0, 0.0, is_bounded=is_bounded).shared(cut.n_parts) for cut in cuts])
    areas = shared * np.cbrt([cut.nodes for cut in cuts]) ** 2
    return PartSurface(
        populations=float(np.mean([cut.populations for cut in cuts] / areas)),
        edge_nodes=float(np.mean([cut.edge_nodes for cut in cuts] / areas)),
        neighbours=float(np.mean([cut.neighbours for cut in cuts] / shared)),
        imbalance=max(cut.imbalance for cut in cuts),
        is_bounded=is_bounded,
    )


def cube_surface(populations_per_face: int, porosity: float, imbalance: float) -> PartSurface:
    """The surface of cubes cut out of a rock whose pores are ``porosity`` of every plane. ``populations_per_face``:
    populations of the lattice that cross a face of a node; ``porosity``: share of the rock that is fluid;
    ``imbalance``: nodes of the largest part over the mean."""
    area = 6.0 * cbrt(porosity)
    return PartSurface(populations_per_face * area, area, 26.0, imbalance)


def _two_costs(sizes, counts, seconds) -> tuple[float, float]:
    """Non-negative costs (per size, per count) with the least relative errors of the durations."""
    relative = _relative((sizes, counts), seconds)
    if relative.shape[0] > 1:
        scale = np.linalg.norm(relative, axis=0)
        if scale.all() and np.linalg.cond(relative / scale) < WORST_CONDITION:
            fitted = np.linalg.lstsq(relative / scale, np.ones(len(relative)), rcond=None)[0] / scale
            if fitted.min() >= 0.0:
                return float(fitted[0]), float(fitted[1])
    return _one_cost(sizes, seconds), 0.0


def _one_cost(sizes, seconds) -> float:
    """The cost per size with the least relative errors of the durations; 0 if nothing was measured."""
    relative = _relative((sizes,), seconds)[:, 0]
    return float(relative.sum() / (relative @ relative)) if relative.any() else 0.0


def _relative(columns, seconds) -> np.ndarray:
    """(n, columns) sizes over durations, for positive durations."""
    rows = [(*row, taken) for *row, taken in zip(*columns, seconds, strict=True) if taken > 0.0]
    table = np.array(rows, dtype=np.float64).reshape(-1, len(columns) + 1)
    return table[:, :-1] / table[:, -1:]


PARTS, LEAST_NODES_OF_A_PART = (8, 16, 64), 64
MOST_NODES, TILES = 60_000_000, "tiles"  # counting the links of more nodes takes minutes


def partition_cuts(nodes: NodeList, lattice: Lattice) -> list[PartitionCut]:
    """The geometry partitioned into each of ``PARTS`` by METIS on tiles; not at all if it is very large or too
    small."""
    if not PARTS[-1] * LEAST_NODES_OF_A_PART <= nodes.n_nodes <= MOST_NODES:
        return []
    graph, exchange = graph_from_voxels(nodes.voxel, nodes.shape, nodes.periodic), Exchange(lattice.c[1:])
    return [cut(graph, partition(graph, n_parts, TILES), exchange, TILES) for n_parts in PARTS]


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
