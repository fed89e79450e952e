"""The nodes that have fluid at present: all of them, unless a physics leaves some without."""

import numpy as np

from muphy_lb.geometry.nodes import NodeList
from muphy_lb.measure.flow_view import FlowView, whole_nodes
from muphy_lb.output.region import chosen_nodes


def filled_shares(view: FlowView) -> np.ndarray | None:
    """(n,) share of every node that is fluid, in node-list order on rank 0; None elsewhere, and where all are full by
    themselves. Collective."""
    fractions = [physics.volume_fraction for physics in view.physics if physics.volume_fraction]
    return view.field(fractions[0]) if fractions else None


def nodes_with_fluid(view: FlowView, *values: np.ndarray | None) -> tuple[NodeList, list] | None:
    """The nodes with fluid, and what of (n,) ``values`` at all nodes is theirs, on rank 0 (None elsewhere); all nodes
    where none has any. Collective.

    Args:
        view: the flow.
        values: on rank 0, (n,) in node-list order, or None for nothing.
    """
    fraction = filled_shares(view)
    if view.communicator.rank:
        return None
    nodes, with_fluid = whole_nodes(view), np.empty(0, np.int64) if fraction is None else np.flatnonzero(fraction > 0.0)
    if not with_fluid.size:
        return nodes, list(values)
    return chosen_nodes(nodes, nodes.voxel[with_fluid]), [None if each is None else each[with_fluid] for each in values]
