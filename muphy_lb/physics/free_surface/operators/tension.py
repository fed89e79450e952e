"""The pressure of surface tension in a step.

The curvature is that of the fillings before the step, and its pressure would act a step late: what swings with omega
would gain omega^2 / 2, which exceeds the damping of short waves where the surface tension exceeds a few times the
viscosity. So it is extrapolated by the change in the step before, unless this exceeds ``SUDDEN``: a curvature that
jumps, where cells of a splash turn, does not continue jumping. A plane that cuts off a corner moves faster than the
cell fills, and the error of the curvature with it: extrapolated in full, that drags the surface, and drops in space
lost their oscillation 1.3 to 1.45 times too fast. So the change counts in proportion to the mean cross-section of what
the plane cuts off, up to ``WIDE``, which level layers always have; with a contact angle it counts in full. Where the
neighbours give only a range of it, at the ends of steep columns along walls, the surface has the density of the liquid
in the cell, within that range, which the exchange knows.

It is found by a stage of its own: it needs fillings alone, so that more cells than in the exchange are at work at once
on a GPU.
"""

from functools import cache

import numpy as np

from muphy_lb.operators import Operator
from muphy_lb.operators.operator import joined, named, strict
from muphy_lb.physics.free_surface.capillarity import SHARPEST, TENSION
from muphy_lb.physics.free_surface.cells import FILL, LAST_TENSION, TENSION_AHEAD
from muphy_lb.physics.free_surface.contact_angle import CONTACT_ANGLE

SUDDEN = 0.1  # change of the curvature in a step [1/voxel] beyond which it is no motion of a resolved surface
WIDE = 0.5  # mean cross-section of what a plane cuts off of a cell from which on the change counts in full
THINNEST = 1e-3  # depth of it that is taken for smaller ones, which rounding spoils
RAISED = 4.0 * SHARPEST
"""Of a range, ``TENSION_AHEAD`` holds the least density and ``LAST_TENSION`` the largest, raised by this times the
tension, which no single one reaches."""
REGISTERS = 128  # of a thread in single precision: four blocks of 128 in a multiprocessor


@cache
def tension_ahead(capillarity: Operator) -> Operator:
    """Operator over interface cells: the density that surface tension adds to that of the gas, a step ahead.

    Args:
        capillarity: ``(neighbours, n, parameters)`` -> that density by the curvature, and how deep the smaller part of
            the cell is that its plane cuts off; with a contact angle the least and the largest density.
    """

    has_range = capillarity is CONTACT_ANGLE

    def reference(neighbours, n, lattice, parameters):
        (now, other), before = capillarity.reference(neighbours, n, lattice, parameters), parameters[LAST_TENSION][n]
        most = other if has_range else now
        is_known = (before != 0.0) & (abs(now - before) <= SUDDEN * parameters[TENSION])
        fill = parameters[FILL][n].astype(float)
        width = 1.0 if has_range else np.minimum(fill, 1.0 - fill) / (WIDE * np.maximum(other, THINNEST))
        ahead = now + np.minimum(width, 1.0) * (now - before)
        parameters[TENSION_AHEAD][n] = np.where((now == most) & is_known, ahead, now)
        parameters[LAST_TENSION][n] = np.where(now < most, most + RAISED * parameters[TENSION], now)

    def node(lattice, precision, jit, at):
        jit, sudden, raised = strict(jit), precision.real(SUDDEN), precision.real(RAISED)
        fill, wide, thinnest, one = at[FILL], precision.real(WIDE), precision.real(THINNEST), precision.real(1)
        tension_at, zero = capillarity.node(lattice, precision, jit, at), precision.real(0)
        last, ahead, tension = at[LAST_TENSION], at[TENSION_AHEAD], at[TENSION]

        def width(n, parameters, depth):
            share = parameters[fill][n]
            return min(min(share, one - share) / (wide * max(depth, thinnest)), one)

        width_of = jit((lambda n, parameters, depth: one) if has_range else width)

        def update(neighbours, n, parameters):
            (now, other), before = tension_at(neighbours, n, parameters), parameters[last][n]
            if has_range and now < other:
                parameters[ahead][n] = now
                parameters[last][n] = other + raised * parameters[tension]
                return
            change, largest = now - before, sudden * parameters[tension]
            is_known = before != zero and abs(change) <= largest
            parameters[ahead][n] = now + width_of(n, parameters, other) * change if is_known else now
            parameters[last][n] = now

        return jit(update)

    parameters = joined(named(LAST_TENSION, TENSION_AHEAD), capillarity.parameters)
    return Operator(f"tension-ahead-{capillarity.name}", reference, node, parameters, registers=REGISTERS)
