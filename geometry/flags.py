"""The only table of voxel kinds.

A voxel image holds one ``uint8`` flag per voxel. Values below ``FIRST_OPENING`` are the fixed kinds;
``FIRST_OPENING + k`` marks a voxel that belongs to opening number ``k``. Opening voxels are not fluid:
they lie just outside the flow, and every lattice link from a fluid node into one of them carries the
boundary condition of that opening at its midpoint. ``WALL`` is a solid voxel that the input named as
wall (MUPHY's tag); the flow treats it as ``SOLID``.
"""

import numpy as np

SOLID = 0
FLUID = 1
WALL = 2
FIRST_OPENING = 16
MAX_OPENINGS = 256 - FIRST_OPENING

FLAG_DTYPE = np.uint8


def opening_flag(number: int) -> int:
    """Flag of the voxels of opening ``number`` (0-based)."""
    return FIRST_OPENING + number
