"""Voxel flags: the single definition of the kinds of voxels.

A voxel image holds one ``uint8`` flag per voxel. Values below ``FIRST_OPENING`` are the fixed kinds;
``FIRST_OPENING + k`` marks a voxel of opening ``k``. Opening voxels are not fluid: they lie just outside the
flow, and the boundary condition of the opening is imposed at the midpoint of every lattice link from a fluid node
into one of them. ``FIRST_WALL + k`` marks a solid voxel of labelled wall ``k``: a wall with a name, such as a
moving lid or a body whose drag is computed. ``WALL`` is a solid voxel tagged as wall by the input (MUPHY's tag);
the flow treats it as ``SOLID``.

Openings and labelled walls share one numbering, ``flag - FIRST_OPENING``: walls start at ``FIRST_WALL_NUMBER``.
"""

import numpy as np

SOLID = 0
FLUID = 1
WALL = 2
FIRST_OPENING = 16
FIRST_WALL = 128
FIRST_WALL_NUMBER = FIRST_WALL - FIRST_OPENING
MAX_OPENINGS = FIRST_WALL - FIRST_OPENING
MAX_WALLS = 256 - FIRST_WALL

FLAG_DTYPE = np.uint8


def opening_flag(number: int) -> int:
    """Flag of the voxels of opening ``number`` (0-based)."""
    return FIRST_OPENING + number


def wall_flag(number: int) -> int:
    """Flag of the voxels of labelled wall ``number`` (0-based)."""
    return FIRST_WALL + number
