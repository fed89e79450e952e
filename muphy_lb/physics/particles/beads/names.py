"""Names of the columns, fields and parameters of beads."""

from muphy_lb.model.model import POSITION

VOXEL, OFFSET = POSITION
VELOCITY = ("velocity_x", "velocity_y", "velocity_z")
FORCE = ("force_x", "force_y", "force_z")
TRAVELLED = ("travelled_x", "travelled_y", "travelled_z")
PLACE = ("place_x", "place_y", "place_z")
HEAD, NEXT, CELL = "head", "next", "cell"

WANTED, ARRIVING, PUSH = "bead_nodes", "bead_flow", "bead_push"

AT_BORDER, MARKED = 1, 2
"""Bits of ``WANTED``: nodes that beads of other ranks can push, and those that beads of this one push."""

FORCE_UNIT = 2.0**-44
"""Unit of forces that are added up as integers, lattice units: exact in any order, and large enough for 2^19."""

SHIFT = 40
PLACE_UNIT = 2.0**-SHIFT
"""Unit of positions known to every rank, in voxels."""
