"""Wet share of the face between two interface cells, from the fillings of both."""

import numpy as np

ALIKE, UNLIKE = 0.3, 0.6  # difference of the fills of cells side by side along a surface, and across it
SOFT = 1e-3
"""Added to the liquid of the emptier and to the room of the fuller of two cells, for the share of their face that is
wet: between a full and an empty one it is a half."""


def level(own, other):
    """Wet share of a face below a level surface: links within a layer carry 2/3 of its flux, those to the next ones 1/6
    each, of which gas takes none, so that a layer that is filled to f carries f with 3/2 f - 1/4. Cells move with the
    inertia of at least half a voxel, and carry as much, unless they are almost empty; with less, waves of two voxels
    grow."""
    both = own + other
    return np.minimum(np.maximum(0.75 * both - 0.25, 0.5), 10.0 * both)


def level_node(precision, jit):
    """Node function of :func:`level`."""
    half, more, quarter, most = (precision.real(x) for x in (0.5, 0.75, 0.25, 10))

    def share(own, other):
        both = own + other
        return min(max(more * both - quarter, half), most * both)

    return jit(share)


def steep(own, other):
    """Wet share of a face if the surface is a plane along or across it."""
    liquid, room = np.minimum(own, other) + SOFT, 1.0 - np.maximum(own, other) + SOFT
    return liquid / (liquid + room)


def steep_node(precision, jit):
    """Node function of :func:`steep`."""
    one, soft = precision.real(1), precision.real(SOFT)

    def share(own, other):
        liquid, room = min(own, other) + soft, one - max(own, other) + soft
        return liquid / (liquid + room)

    return jit(share)


def either(own, other):
    """The same between cells that differ by more than ``UNLIKE``; by less than ``ALIKE`` what a layer carries, 3/2 f -
    1/4, but at least 1/2 - f, or waves of two voxels grow below a fill of 0.2 where the viscosity is small."""
    both = own + other
    along = np.minimum(np.maximum(0.75 * both - 0.25, 0.5 - 0.5 * both), 10.0 * both)
    across = np.clip((np.abs(own - other) - ALIKE) / (UNLIKE - ALIKE), 0.0, 1.0)
    return along + across * (steep(own, other) - along)


def either_node(precision, jit):
    """Node function of :func:`either`."""
    zero, one, alike, scale = (precision.real(x) for x in (0, 1, ALIKE, 1.0 / (UNLIKE - ALIKE)))
    half, more, quarter, most = (precision.real(x) for x in (0.5, 0.75, 0.25, 10))
    steep_of = steep_node(precision, jit)

    def share(own, other):
        both, across = own + other, min(max((abs(own - other) - alike) * scale, zero), one)
        along = min(max(more * both - quarter, half - half * both), most * both)
        return along + across * (steep_of(own, other) - along)

    return jit(share)
