"""Distribution of the geometry: every rank gets its part, and of the whole only small records."""

import hashlib
import logging
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from muphy_lb.base.chunks import chunks
from muphy_lb.case.case import Case
from muphy_lb.domain import Part, cut_part
from muphy_lb.geometry.link_cuts import Cuts
from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.parallel import agreed_on_root, from_root
from muphy_lb.partition.errors import PartitionError
from muphy_lb.setup.geometry import load_nodes, open_case_nodes

LOG = logging.getLogger(__name__)
NODE_TYPES = {"voxel": np.int64, "group_start": np.int64, "label_voxel": np.int64, "label_number": np.uint8}
CUT_TYPES = {"voxel": np.int64, "direction": np.uint8, "distance": np.float64}
Seen = Callable[[GeometryHeader], None]
PART_TYPES = {"number": np.int64, "owner": np.int32}


class DistributedGeometry:
    """The geometry of a run, distributed among the ranks.

    A prepared geometry with a partitioning for these ranks stays in its file: each rank reads its own part of it.
    Otherwise rank 0 holds the node list and sends the parts, one after the other. No other rank ever holds an array
    over all nodes. Rank 0 checks the whole file before the others open it; they do not check it again.

    Attributes:
        header: the whole geometry without its node arrays, on every rank.
        report: one line on its source and on what cleaning kept.

    Args:
        communicator: the ranks; construction is collective.
        nodes: the node list, on rank 0, if it is already available.
        seen: gets the header on rank 0 ahead of the numbering of nodes that are to be numbered.

    Raises:
        GeometryError, InputError, PartitionError: as in ``muphy_lb.setup.geometry`` and ``sharing``.
    """

    def __init__(self, case: Case, communicator, nodes: NodeList | None = None, seen: Seen | None = None):
        self._case, self._communicator = case, communicator
        self._nodes: NodeList | Any = nodes
        self._owner: np.ndarray | None = None
        self._part: Part | None = None
        found = from_root(communicator, lambda: self._find(seen))
        self.header, self.report, self._partition = found

    def _find(self, seen: Seen | None) -> tuple[GeometryHeader, str, str | None]:
        """The header, a report, and the name of the stored partitioning if the list stays in its file."""
        if self._nodes is not None:
            return self._nodes.header, "geometry: taken from memory as it is", None
        case, name = self._case, self._stored_name()
        if name is None:
            self._nodes, report = load_nodes(case, seen=seen)
            return self._nodes.header, report, None
        LOG.info("reading the geometry: %s", case.geometry.file)
        with open_case_nodes(case) as nodes:
            return nodes.header, f"read {case.geometry.file}, each rank its part of {name!r}", name

    def inspect(self, measure: Callable):
        """The result of ``measure(nodes)`` for the whole list, on every rank; collective. It is evaluated on rank 0.
        The arrays of the list may be datasets of a file, to be read in slices."""

        def measured():
            with self._opened() as nodes:
                return measure(nodes)

        return from_root(self._communicator, measured)

    def part(self) -> Part:
        """This rank's part; collective. Raises InputError, PartitionError: a rank without nodes; nodes of ranks that do
        not exist."""
        if self._part is None:
            self._part = self._cut()
        return self._part

    def _cut(self) -> Part:
        communicator = self._communicator
        if self._partition is None:
            owner = agreed_on_root(communicator, self._shared)
            if communicator.rank:
                return _receive(communicator, self.header)
            for rank in range(1, communicator.size):
                _send(communicator, cut_part(self._nodes, owner, rank), rank)
            return cut_part(self._nodes, owner, 0)
        from muphy_lb.partition.store import open_partition

        path = self._case.folder / self._case.geometry.file
        with open_case_nodes(self._case, is_checked=True) as nodes, open_partition(path, self._partition) as owner:
            part = cut_part(nodes, owner, communicator.rank)
        n_owned = communicator.total(int(part.own.size))
        if n_owned != self.header.n_nodes:
            raise PartitionError(
                f"partitioning {self._partition!r} of {path} gives {n_owned} of {self.header.n_nodes} nodes to"
                f" ranks 0 to {communicator.size - 1}; create it again"
            )
        return part

    def share(self, owner: np.ndarray | None) -> None:
        """Give the nodes other owners, (n,) on rank 0, from the next :meth:`part` on."""
        self._owner, self._partition, self._part = owner, None, None
        if self._communicator.rank == 0:
            self._nodes = self.nodes

    @property
    def nodes(self) -> NodeList | GeometryHeader:
        """The whole list on rank 0, read on first use; the header elsewhere."""
        if self._communicator.rank:
            return self.header
        if self._nodes is None:
            self._nodes, _ = load_nodes(self._case)
        return self._nodes

    @cached_property
    def voxel_digest(self) -> str:
        """On rank 0, the SHA-256 of all voxel ids in node-list order: by which a checkpoint identifies the geometry."""
        digest = hashlib.sha256()
        with self._opened() as nodes:
            for chunk in chunks(nodes.n_nodes):
                digest.update(np.ascontiguousarray(nodes.voxel[chunk]).data)
        return digest.hexdigest()

    def _opened(self):
        return open_case_nodes(self._case, is_checked=True) if self._nodes is None else nullcontext(self._nodes)

    def _stored_name(self) -> str | None:
        if self._shares_nothing:
            return None
        from muphy_lb.setup.sharing import stored_name

        return stored_name(self._case, self._communicator.size)

    def _shared(self) -> np.ndarray:
        if self._owner is not None:
            return self._owner
        if self._shares_nothing:
            return np.broadcast_to(np.int32(0), self._nodes.n_nodes)
        from muphy_lb.setup.sharing import share_nodes

        return share_nodes(self._nodes, self._case, self._communicator.size)

    @property
    def _shares_nothing(self) -> bool:
        return self._communicator.size == 1 and not self._case.compute.rank_speeds


def distributed(
    case: Case,
    communicator,
    given: NodeList | DistributedGeometry | None = None,
    seen: Seen | None = None,
) -> DistributedGeometry:
    """The geometry of a case, distributed among the ranks; collective unless it is so already. ``given``: the geometry,
    or on rank 0 its node list, if it is already there; ``seen``: as of :class:`DistributedGeometry`."""
    return given if isinstance(given, DistributedGeometry) else DistributedGeometry(case, communicator, given, seen)


def _send(communicator, part: Part, rank: int) -> None:
    """Send a part: the sizes of its arrays and the number of missed cuts (-1: no cuts), then the arrays."""
    cuts = part.nodes.cuts
    arrays = [getattr(part, name) for name in PART_TYPES] + [getattr(part.nodes, name) for name in NODE_TYPES]
    arrays += [np.empty(0, dtype) if cuts is None else getattr(cuts, name) for name, dtype in CUT_TYPES.items()]
    sizes = [*(array.size for array in arrays), -1 if cuts is None else cuts.n_missed]
    for array in (np.array(sizes, dtype=np.int64), *arrays):
        communicator.send(np.ascontiguousarray(array), rank)


def _receive(communicator, header: GeometryHeader) -> Part:
    n_arrays = len(PART_TYPES) + len(NODE_TYPES) + len(CUT_TYPES)
    *sizes, n_missed = _received(communicator, n_arrays + 1, np.int64).tolist()
    sizes = iter(sizes)

    def arrays(types) -> dict:
        return {name: _received(communicator, next(sizes), dtype) for name, dtype in types.items()}

    listed, of_nodes, of_cuts = arrays(PART_TYPES), arrays(NODE_TYPES), arrays(CUT_TYPES)
    cuts = None if n_missed < 0 else Cuts(**of_cuts, n_missed=n_missed)
    frame = {name: value for name, value in vars(header).items() if name != "n_nodes"}
    return Part(communicator.rank, NodeList(**frame, **of_nodes, cuts=cuts), **listed)


def _received(communicator, size: int, dtype) -> np.ndarray:
    array = np.empty(size, dtype)
    communicator.receive(array, 0)
    return array
