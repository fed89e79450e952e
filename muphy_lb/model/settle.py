"""Settling: a particle whose offset leads into a neighbouring voxel is there from then on."""

import numpy as np

from muphy_lb.domain.lookup import HERE, LAYER, WALL, crossed, crossed_node, into_box_node, look_around_nodes, look_up
from muphy_lb.model.model import POSITION
from muphy_lb.operators import Operator, named
from muphy_lb.operators.unroll import unroll

VOXEL, OFFSET = POSITION


def settle(i, lattice, parameters) -> np.ndarray:
    """Wrap the offsets of particles into their range; (n,) nodes at which they are then, ``WALL`` if at none. Particles
    without one are left in their voxel, until the engine reports their loss: only nodes have their surroundings
    in the lookup."""
    lookup = parameters["lookup"]
    box, _, wraps = np.asarray(lookup.size)[:LAYER].reshape(3, 3, 1)
    voxel, offset = (np.stack([parameters[name][i] for name in names]) for names in POSITION)
    hop = crossed(offset)
    is_within = (crossed(offset - hop) == 0).all(axis=0)
    node = np.where(is_within, look_up(lookup, *(voxel + hop)), WALL)
    hop = np.where(node >= 0, hop, 0)
    voxel, offset = voxel + hop, offset - hop
    voxel = np.where(wraps == 1, voxel % box, voxel)
    for names, values in zip(POSITION, (voxel, offset), strict=True):
        for name, along in zip(names, values, strict=True):
            parameters[name][i] = along
    return node


def settle_node(jit, at):
    """Node function of :func:`settle`, ``(i, parameters)``, for one particle; ``HERE`` if it is in its voxel still."""
    (place, around), hop_of, into_box = look_around_nodes(jit), crossed_node(jit), into_box_node(jit)
    lookup, voxel, offset = at["lookup"], tuple(at[name] for name in VOXEL), tuple(at[name] for name in OFFSET)
    here, wall, nowhere = np.int32(HERE), np.int32(WALL), np.int32(0)

    def update(i, parameters):
        x, y, z = (
            hop_of(parameters[offset[0]][i]),
            hop_of(parameters[offset[1]][i]),
            hop_of(parameters[offset[2]][i]),
        )
        if x == nowhere and y == nowhere and z == nowhere:
            return here
        known, hop, is_within = parameters[lookup], (x, y, z), True
        for k in range(3):
            is_within = is_within and hop_of(parameters[offset[k]][i] - hop[k]) == nowhere
        own = place(known, parameters[voxel[0]][i], parameters[voxel[1]][i], parameters[voxel[2]][i])
        node = around(known, own, x, y, z) if is_within else wall
        if node >= nowhere:
            for k in range(3):
                parameters[offset[k]][i] -= hop[k]
                parameters[voxel[k]][i] = into_box(parameters[voxel[k]][i] + hop[k], known.size[k], known.size[6 + k])
        return node

    return jit(unroll(update))


SETTLE = Operator(
    "settle", settle, lambda lattice, precision, jit, at: settle_node(jit, at), named("lookup", *VOXEL, *OFFSET)
)
"""The last of what a ``MIGRATE`` stage does, where nothing before it knows the node."""
