"""Cells: the bits of the field ``cell``, their mass, and the gas beside them.

The kind of a cell, and its next one: the bits of the field ``cell``.

Between steps a cell is ``GAS``, ``INTERFACE``, ``LIQUID`` or ``SHORE``; a liquid cell never has a gas cell among its
neighbours. Within a step further bits mark what a cell turns into; each is set in one stage, so that other cells may
read the other bits meanwhile.

- The mass of a cell, and its support.
- The pressure of the gas beside an interface cell, as density minus 1: one for all gas, or that of the region whose
  number the cell holds.
"""

from functools import cache

import numpy as np

from muphy_lb.operators import Operator
from muphy_lb.operators.operator import joined, named
from muphy_lb.operators.unroll import unroll

GAS = 0
INTERFACE = 1
LIQUID = 2
FILLED = 4  # an interface cell that has no room left and becomes liquid
EMPTIED = 8  # an interface cell that has nothing left and becomes gas, unless it is ``NEEDED``
NEEDED = 16  # an emptied cell that stays interface, since a neighbour becomes liquid
WETTED = 32  # a gas cell that becomes interface, since a neighbour becomes liquid
BARED = 64  # a liquid cell that becomes interface, since a neighbour becomes gas
DRAINED = EMPTIED | BARED
"""An emptied cell beside an opening, which stays interface: gas has come in through that, or it would hold a debt."""
WALL = 128  # a solid voxel
OPENING = WALL | NEEDED  # a voxel of an opening
SHORE_NEXT = LIQUID | NEEDED  # a liquid cell that is a shore from the next step on
SHORE = LIQUID | NEEDED | EMPTIED
"""A liquid cell with dry cells beside it, which collides with the interface and not with the bulk. It becomes one, and
is none any more, a step after its neighbours: marks change behind the bulk, and lists are made beside it."""
DRY = 0.49
"""Filling below which an interface cell is dry: a bit less than a half, since starts fill cells by halves, and rounding
should not decide."""

FLUID = INTERFACE | LIQUID
TURNING = FILLED | EMPTIED
CHANGED = FILLED | EMPTIED | NEEDED | WETTED | BARED
SURFACE = INTERFACE | WETTED | BARED


def is_liquid(cell):
    """Whether cells are liquid between steps, of numbers or arrays of them."""
    return (cell == LIQUID) | (cell == SHORE)


CELL, MASS, FILL = "cell", "liquid_mass", "fill"
"""Names of the fields: the cell; its mass of liquid, if it is interface; and the share of it that liquid fills. In a
step that of a shore is the mass, over the weight of a link, that each dry neighbour owes for it."""
SUPPORT = "support"
"""Name of the field: share of the body force that the stress below the surface of an interface cell supports, up to
``SUPPORTED``: liquid at rest, and films, are supported, falling drops are not."""
SUPPORTED = 6
LAST_TENSION = "last_tension"
"""Name of the field, with surface tension: the density that it added to an interface cell in the step before; 0 if the
cell is new, or if its neighbours give only a range, whose end it holds within a step."""
TENSION_AHEAD = "tension_ahead"
"""Name of the field, with surface tension: the density that it adds to an interface cell in this step."""
HELD = "held"
"""Name of the field: density less 1 at which a dry interface cell is held in this step; ``NOT_HELD`` for others,
and between exchange and completion ``INCOMPLETE`` for wet ones with dry cells beside them."""
NOT_HELD, INCOMPLETE = -1.0, -2.0
BUBBLE = "bubble"
"""Name of the field, if gas is compressed: number of the region of gas that a gas or interface cell belongs to."""


def density_node(lattice, precision, jit):
    """Node function: density of populations."""
    one, n_pairs = precision.real(1), lattice.q // 2

    def density(f):
        found = one + f[0]
        for p in range(n_pairs):
            found += f[2 * p + 1] + f[2 * p + 2]
        return found

    return jit(unroll(density))


@cache
def counted(moments: Operator) -> Operator:
    """Moments with the mass of liquid in a cell, minus 1, in the place of the density: liquid cells have that of their
    populations, and all have what the field of masses holds."""

    def reference(stored, n, lattice, parameters):
        found = moments.reference(stored, n, lattice, parameters)
        of_populations = np.where(parameters[CELL][n] & LIQUID, 1.0 + found[0], 0.0)
        found[0] = of_populations + parameters[MASS][n] - 1.0
        return found

    def node(lattice, precision, jit, at):
        moments_at, cell, mass, one = moments.node(lattice, precision, jit, at), at[CELL], at[MASS], precision.real(1)

        def mass_and_velocity(f, n, parameters):
            deviation, ux, uy, uz = moments_at(f, n, parameters)
            held = parameters[mass][n]
            if not parameters[cell][n] & LIQUID:
                return held - one, ux, uy, uz
            return deviation + held, ux, uy, uz

        return jit(mass_and_velocity)

    return Operator(f"{moments.name}-counted", reference, node, joined(moments.parameters, named(CELL, MASS)))


GAS_DEVIATION = "gas_deviation"  # parameter: density of the gas pressure minus 1
DEVIATIONS = "bubble_deviations"
"""Parameter: by its number, the density of the pressure of a region less that of ``gas_deviation``."""


def _constant(n, parameters):
    return parameters[GAS_DEVIATION]


def _constant_node(lattice, precision, jit, at):
    gas = at[GAS_DEVIATION]
    return jit(lambda n, parameters: parameters[gas])


def _of_region(n, parameters):
    return parameters[GAS_DEVIATION] + parameters[DEVIATIONS][parameters[BUBBLE][n]]


def _of_region_node(lattice, precision, jit, at):
    gas, bubble, deviations = at[GAS_DEVIATION], at[BUBBLE], at[DEVIATIONS]
    return jit(lambda n, parameters: parameters[gas] + parameters[deviations][parameters[bubble][n]])


ONE_PRESSURE = Operator("one-pressure", _constant, _constant_node, named(GAS_DEVIATION))
IN_BUBBLES = Operator("bubbles", _of_region, _of_region_node, named(GAS_DEVIATION, BUBBLE, DEVIATIONS))
