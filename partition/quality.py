"""Quality of a partitioning: load balance, cut, communication volume, and predicted step time."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass

import numpy as np

from muphy_lb.partition.costs import StepCost, part_shares
from muphy_lb.partition.graph import Graph
from muphy_lb.partition.halo import Exchange, PartLoads, count_loads, tile_loads
from muphy_lb.partition.voxels import VoxelGraph

COLUMNS = (
    ("parts", "d"),
    ("imbalance", ".4f"),
    ("edge cut", "d"),
    ("neighbours", ".1f"),
    ("at most", "d"),
    ("halo bytes", "d"),
    ("at most", "d"),
    ("boundary nodes", "d"),
    ("step us", ".2f"),
)
D3Q19_FP32 = Exchange()
H200 = StepCost()


@dataclass(frozen=True)
class Quality:
    """Quality measures of one partitioning."""

    n_parts: int  #: number of parts
    imbalance: float  #: weight of the heaviest part divided by its share; 1 is perfect
    edge_cut: int  #: number of faces (each counted once) between different parts
    mean_neighbours: float  #: mean number of parts with which a part exchanges messages
    max_neighbours: int  #: largest number of them
    halo_bytes: int  #: bytes sent by all ranks in a step: one population per directed link between parts
    max_halo_bytes: int  #: bytes sent by the rank that sends most
    boundary_nodes: int  #: number of nodes with a link to another part
    step_us: float  #: predicted time of a step [us], by :class:`muphy_lb.partition.costs.StepCost`

    def row(self) -> tuple[str, ...]:
        """The measures as text, one for each of ``COLUMNS``."""
        return tuple(format(value, spec) for value, (_, spec) in zip(astuple(self), COLUMNS, strict=True))

    def __str__(self) -> str:
        """The measures in one line, without the predicted time, which depends on the machine."""
        parts, imbalance, cut, mean, most, halo, most_halo, boundary, _ = self.row()
        return (
            f"{parts} parts, imbalance {imbalance}, edge cut {cut}, neighbours {mean} (at most {most}),"
            f" halo bytes per step {halo} (at most {most_halo} per rank), boundary nodes {boundary}"
        )


def quality(
    graph: VoxelGraph,
    owner: np.ndarray,
    n_parts: int,
    exchange: Exchange = D3Q19_FP32,
    cost: StepCost = H200,
    shares=None,
) -> Quality:
    """Evaluate a partitioning.

    Args:
        graph: the graph that was partitioned.
        owner: (n,) integer part of each node.
        n_parts: number of parts.
        exchange: the data exchanged between parts.
        cost: cost model of the machine, for the predicted time.
        shares: relative speeds of the ranks; equal by default.
    """
    return qualities(graph, {"": owner}, n_parts, exchange, cost, shares)[""]


def qualities(
    graph: VoxelGraph,
    owners: Mapping[str, np.ndarray],
    n_parts: int,
    exchange: Exchange = D3Q19_FP32,
    cost: StepCost = H200,
    shares=None,
) -> dict[str, Quality]:
    """Evaluate several named partitionings at once; arguments as for :func:`quality`."""
    loads = count_loads(graph, list(owners.values()), n_parts, exchange)
    return _by_name(owners, loads, exchange, cost, part_shares(shares, n_parts))


def tile_qualities(
    tiles: Graph, owners: Mapping[str, np.ndarray], exchange: Exchange, cost: StepCost, shares: np.ndarray, unit: float
) -> dict[str, Quality]:
    """Estimate several named partitionings of tiles at once, from faces between them alone.

    Args:
        tiles, unit: as of :func:`muphy_lb.partition.halo.tile_loads`.
        owners: (t,) integer part of each tile, by name.
        exchange, cost: as of :func:`quality`.
        shares: (n_parts,) share of the work of each part.
    """
    loads = [tile_loads(tiles, owner, shares.size, exchange, unit) for owner in owners.values()]
    return _by_name(owners, loads, exchange, cost, shares)


def _by_name(names, loads, exchange, cost, shares) -> dict[str, Quality]:
    return {
        name: _quality(load, exchange, shares, cost.seconds(load, exchange, shares).max())
        for name, load in zip(names, loads, strict=True)
    }


def _quality(load: PartLoads, exchange: Exchange, shares: np.ndarray, step_s: float) -> Quality:
    sent = load.populations * exchange.bytes_per_population
    return Quality(
        n_parts=shares.size,
        imbalance=float((load.work / shares).max() / load.work.sum()),
        edge_cut=load.cut_faces,
        mean_neighbours=float(load.neighbours.mean()),
        max_neighbours=int(load.neighbours.max()),
        halo_bytes=int(sent.sum()),
        max_halo_bytes=int(sent.max()),
        boundary_nodes=load.edge_nodes,
        step_us=1e6 * float(step_s),
    )


def quality_table(rows: list[tuple[str, Quality, str]]) -> str:
    """A table with one line per partitioning: its method, its measures, and a mark at the end."""
    lines = [("method", *(name for name, _ in COLUMNS)), *((method, *found.row()) for method, found, _ in rows)]
    marks = ["", *(mark for *_, mark in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join([*(text.rjust(width) for text, width in zip(line, widths, strict=True)), mark]).rstrip()
        for line, mark in zip(lines, marks, strict=True)
    )
