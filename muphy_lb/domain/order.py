"""Run orders of a rank's nodes.

The run table is shortest where consecutive nodes are neighbours along x: lexicographic order. The other orders are for
comparison.
"""

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.nodes import NodeList
from muphy_lb.partition.curve import hilbert_index

LEXICOGRAPHIC = "lexicographic"
ORDERS = (LEXICOGRAPHIC, "tiles", "curve")
# Edge of a tile in voxels; along x a whole warp, so that runs stay long.
TILE_XYZ = (32, 8, 8)


def order_keys(nodes: NodeList, number: np.ndarray, order: str):
    """The index that sorts (n,) node-list numbers into an order.

    Raises:
        InputError: unknown order.
    """
    if order not in ORDERS:
        raise InputError(f"order is {order!r}; allowed: {', '.join(ORDERS)}")
    if order == LEXICOGRAPHIC or number.size == 0:
        return slice(None)
    xyz = nodes.coordinates(number)
    if order == "curve":
        return np.argsort(hilbert_index(xyz), kind="stable")
    tile = xyz // TILE_XYZ
    return np.lexsort((nodes.voxel[number], *tile.T))
