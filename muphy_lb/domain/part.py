"""The nodes that one rank stores: its own, and the ghost layer of nodes of other ranks one lattice vector away."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from muphy_lb.base.chunks import chunks
from muphy_lb.base.errors import InputError
from muphy_lb.base.narrow import triple
from muphy_lb.geometry.link_cuts import Cuts
from muphy_lb.geometry.nodes import NodeList, labels_near
from muphy_lb.geometry.search import Vicinity, distinct


@dataclass(frozen=True)
class Part:
    """The nodes of one rank and its ghost nodes: nodes of other ranks within one lattice vector of them. The
    surroundings of an own node are the same as in the whole list; those of a ghost node are incomplete, but for the
    cuts of its links."""

    rank: int
    nodes: NodeList  #: own and ghost nodes, in node-list order, their cuts, and the labels around the own nodes
    number: np.ndarray | None  #: (n,) int64 node-list number of each of them; None if this is the whole list
    owner: np.ndarray  #: (n,) int32 rank of each of them

    @property
    def own(self) -> np.ndarray:
        """(k,) int64 positions of the own nodes in ``nodes``."""
        return np.flatnonzero(self.owner == self.rank)


def cut_part(nodes: NodeList, owner: Any, rank: int) -> Part:
    """Cut the part of one rank out of the whole list, chunk by chunk.

    Args:
        nodes: the whole list; its arrays may be datasets of a file, of which only slices are read.
        owner: (n,) rank of every node; may also be a dataset.

    Raises InputError: the rank owns no node.
    """
    own = _own_voxels(nodes, owner, rank)
    if own.size == 0:
        raise InputError(
            f"rank {rank} owns none of the {nodes.n_nodes} fluid nodes; use fewer ranks or another partition"
        )
    if own.size == nodes.n_nodes and isinstance(nodes.voxel, np.ndarray):
        return Part(rank, nodes, None, np.broadcast_to(np.int32(rank), own.size))
    vicinity = Vicinity(own, nodes.shape, nodes.periodic)
    number, voxel, owner = _own_and_near(nodes, owner, rank, vicinity)
    label_voxel, label_number = labels_near(nodes, vicinity)
    near = replace(
        nodes,
        voxel=voxel,
        group_start=np.searchsorted(number, nodes.group_start),
        label_voxel=label_voxel,
        label_number=label_number,
        cuts=nodes.cuts and cuts_of(nodes.cuts, np.sort(voxel)),
    )
    return Part(rank, near, number, owner)


def _own_voxels(nodes: NodeList, owner, rank: int) -> np.ndarray:
    """Ascending voxel ids of the rank's nodes."""
    found = [np.empty(0, dtype=np.int64)]
    for chunk in chunks(nodes.n_nodes):
        mine = owner[chunk] == rank
        if mine.any():
            found.append(nodes.voxel[chunk][mine])
    own = np.concatenate(found)
    own.sort(kind="stable")  # fast, as it consists of few ascending sequences
    return own


def _own_and_near(nodes: NodeList, owner, rank: int, vicinity: Vicinity) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers, voxel ids and owners of the rank's own and ghost nodes, in node-list order."""
    found = []
    for chunk in chunks(nodes.n_nodes):
        voxel, ranks = nodes.voxel[chunk], owner[chunk]
        is_near = ranks == rank
        others = np.flatnonzero(~is_near)
        is_near[others] = vicinity.holds(voxel[others])
        near = np.flatnonzero(is_near)
        if near.size:
            found.append((chunk.start + near, voxel[near], ranks[near].astype(np.int32)))
    number, voxel, owner = (np.concatenate(column) for column in zip(*found, strict=True))
    return number, voxel, owner


def cuts_of(cuts: Cuts, near: np.ndarray) -> Cuts:
    """The cuts of the links that start from ascending voxels; the number of missed cuts remains that of the whole
    list, whose arrays may be HDF5 datasets."""
    found = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.uint8), np.empty(0))]
    for chunk in chunks(cuts.n_links):
        voxel = cuts.voxel[chunk]
        position = np.minimum(np.searchsorted(near, voxel), near.size - 1)
        mine = near[position] == voxel
        found.append((voxel[mine], cuts.direction[chunk][mine], cuts.distance[chunk][mine]))
    return Cuts(*triple(np.concatenate(column) for column in zip(*found, strict=True)), n_missed=cuts.n_missed)


@dataclass(frozen=True)
class GhostLayer:
    """The exchange of a field's values at neighbouring nodes: one value per node, one message each way per neighbour.
    Nodes are sorted by neighbour rank, then voxel id, on both sides, so the order need not be communicated."""

    #: (neighbours + 1,) message j is ``[send_start[j], send_start[j + 1])`` of the send list; the neighbours are those
    #: of the :class:`~muphy_lb.domain.HaloPlan`
    send_start: np.ndarray
    send_node: np.ndarray  #: local node of each value that is sent
    receive_start: np.ndarray  #: the same for the values that are received
    position: np.ndarray  #: position in the rank's part of each ghost node, in the order in which values are received


def plan_ghost_layer(part: Part, table: np.ndarray, local: np.ndarray, neighbours: tuple[int, ...]) -> GhostLayer:
    """Plan the ghost layer of a rank.

    Args:
        part: its part of the geometry.
        table: (Q, k) positions in the part of the neighbours of some own nodes, or link codes; all nodes with a link to
            another rank are among them.
        local: (k,) local numbers of these own nodes.
        neighbours: ranks, ascending.
    """
    owner, voxel = part.owner, part.nodes.voxel
    crosses = table >= 0
    crosses[crosses] = owner[table[crosses]] != part.rank
    _, column = np.nonzero(crosses)
    far = table[crosses].astype(np.int64)
    position = distinct(far)
    position = position[np.lexsort((voxel[position], owner[position]))]
    rank, own = np.unique(np.stack((owner[far], column)), axis=1)
    order = np.lexsort((voxel[table[0, own]], rank))
    bounds = np.array([*neighbours, np.iinfo(np.int64).max])
    return GhostLayer(
        send_start=np.searchsorted(rank[order], bounds),
        send_node=local[own[order]],
        receive_start=np.searchsorted(owner[position], bounds),
        position=position,
    )
