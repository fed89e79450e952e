"""Sharing the fluid of an image among ranks from Python."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from muphy_lb.partition.costs import STEP_COSTS
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.halo import Exchange
from muphy_lb.partition.partition import AUTO, partition_with_reason
from muphy_lb.partition.quality import Quality, quality, quality_table
from muphy_lb.partition.voxels import graph_from_voxels

NOBODY = -1
AXES = "xyz"
BYTES_OF_POPULATION = {"fp64": 8, "fp32": 4, "fp16": 2}


@dataclass(frozen=True, eq=False)
class Sharing:
    """The ranks that own the fluid of a box.

    Attributes:
        owner: (nz, ny, nx) int32 rank of each voxel, ``NOBODY`` where there is no fluid.
        method: the method, also where it was chosen automatically.
        quality: load balance, halo, and predicted time of a step.
        reason: of an automatic choice, with the table of what was tried; else empty.
    """

    owner: np.ndarray
    method: str
    quality: Quality
    reason: str = ""

    def __repr__(self):
        return self.reason or quality_table([(self.method, self.quality, "")])


def share(
    fluid: np.ndarray,
    ranks: int | Sequence[float],
    method: str = AUTO,
    *,
    periodic: Sequence[str] = (),
    precision: str = "fp32",
    backend: str = "cuda",
) -> Sharing:
    """Share the fluid voxels of an image among ranks.

    Args:
        fluid: (nz, ny, nx) truth values, as ``muphy_lb.geometry.read(...).fluid``.
        ranks: their number; or, of ranks that are not equally fast, the relative speed of each.
        method: "auto", the one with the shortest predicted step; or "metis", "curve", "tiles", "X" to "XYZ".
        periodic: axes along which the box repeats, as in a case: ("x", "y").
        precision: "fp64", "fp32" or "fp16": bytes of a population that crosses.
        backend: "cuda", "cpu" or "numpy": whose costs predict the time of a step.

    Raises:
        PartitionError: no image of truth values, no fluid, more ranks than fluid voxels, a speed that is not positive,
            or an unknown name.
    """
    fluid = np.asarray(fluid)
    if fluid.dtype != np.bool_ or fluid.ndim != 3:
        raise PartitionError(
            f"the fluid is an array of shape {fluid.shape} and type {fluid.dtype}; allowed: (nz, ny, nx) truth values,"
            " such as geometry.read(...).fluid"
        )
    for what, name, allowed in (("precision", precision, BYTES_OF_POPULATION), ("backend", backend, STEP_COSTS)):
        if name not in allowed:
            raise PartitionError(f"{what} is {name!r}; allowed: {', '.join(allowed)}")
    if set(periodic) - set(AXES):
        raise PartitionError(f"periodic is {periodic!r}; allowed: some of {', '.join(AXES)}, as in ['x', 'y']")
    voxel = np.flatnonzero(fluid)
    graph = graph_from_voxels(voxel, fluid.shape, [axis in periodic for axis in AXES])
    exchange, cost = Exchange(bytes_per_population=BYTES_OF_POPULATION[precision]), STEP_COSTS[backend]
    speeds = None if isinstance(ranks, Integral) else ranks
    n_parts = ranks if speeds is None else len(speeds)
    part, choice = partition_with_reason(graph, n_parts, method, exchange, cost, speeds)
    owner = np.full(fluid.shape, NOBODY, dtype=np.int32)
    owner.flat[voxel] = part
    return Sharing(owner, choice.method, quality(graph, part, n_parts, exchange, cost, speeds), str(choice))
