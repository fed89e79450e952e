"""The partitioning methods by name."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np

from muphy_lb.partition.cartesian import cartesian_cut
from muphy_lb.partition.curve import hilbert_cut
from muphy_lb.partition.metis import metis_cut
from muphy_lb.partition.tiles import tile_cut
from muphy_lb.partition.voxels import VoxelGraph


def _metis(graph: VoxelGraph, n_parts: int, shares=None) -> np.ndarray:
    return metis_cut(graph.links, n_parts, shares)


CARTESIAN = ("X", "Y", "Z", "XY", "XZ", "YZ", "XYZ")
METHODS: Mapping[str, Callable[..., np.ndarray]] = MappingProxyType(
    {"metis": _metis, "tiles": tile_cut, "curve": hilbert_cut}
    | {axes: partial(cartesian_cut, axes=axes.lower()) for axes in CARTESIAN}
)
"""Functions of (graph, number of parts, shares; None: equal) that return (n,) int32 owners with no part empty."""
