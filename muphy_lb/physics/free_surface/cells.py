"""What a cell is, and what becomes of it: the bits of the field ``cell``.

Between steps a cell is ``GAS``, ``INTERFACE`` or ``LIQUID``; a liquid cell never has a gas cell among its neighbours.
Within a step further bits tell what a cell turns into; each is set in one stage, so that other cells may read the other
bits meanwhile.
"""

GAS = 0
INTERFACE = 1
LIQUID = 2
FILLED = 4
"""an interface cell that has no room left and becomes liquid"""
EMPTIED = 8
"""an interface cell that has nothing left and becomes gas, unless it is ``NEEDED``"""
NEEDED = 16
"""an emptied cell that stays interface, since a neighbour becomes liquid"""
WETTED = 32
"""a gas cell that becomes interface, since a neighbour becomes liquid"""
BARED = 64
"""a liquid cell that becomes interface, since a neighbour becomes gas"""
WALL = 128
"""what is no node"""
OPENING = WALL | NEEDED
"""what is no node, but an opening"""

FLUID = INTERFACE | LIQUID
TURNING = FILLED | EMPTIED
CHANGED = FILLED | EMPTIED | WETTED | BARED
SURFACE = INTERFACE | WETTED | BARED

CELL, MASS, FILL = "cell", "liquid_mass", "fill"
"""Names of the fields: the cell; its mass of liquid, if it is interface; and the share of it that liquid fills."""
BUBBLE = "bubble"
"""Name of the field, if gas is compressed: number of the region of gas that a gas or interface cell belongs to."""
