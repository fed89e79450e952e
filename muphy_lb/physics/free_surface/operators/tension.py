"""The pressure of surface tension in a step.

The curvature is that of the fillings before the step, and its pressure would act a step late: what swings with omega
would gain omega^2 / 2, which exceeds the damping of short waves where the surface tension exceeds a few times the
viscosity. So it is extrapolated by the change in the step before, unless this exceeds ``SUDDEN``: a curvature that
jumps, where cells of a splash turn, does not go on jumping. Where the neighbours tell no more than a range of it, at
the ends of steep columns along walls, the surface has the density of the liquid in the cell, within that range, which
the exchange knows.

It is found by a stage of its own: it needs fillings alone, so that more cells than in the exchange are at work at once
on a GPU.
"""

from functools import cache

import numpy as np

from muphy_lb.operators import Operator
from muphy_lb.operators.operator import joined, named, strict
from muphy_lb.physics.free_surface.capillarity import SHARPEST, TENSION
from muphy_lb.physics.free_surface.cells import LAST_TENSION, TENSION_AHEAD
from muphy_lb.physics.free_surface.contact_angle import CONTACT_ANGLE

SUDDEN = 0.1  # change of the curvature in a step [1/voxel] beyond which it is no motion of a resolved surface
RAISED = 4.0 * SHARPEST
"""Of a range, ``TENSION_AHEAD`` holds the least density and ``LAST_TENSION`` the largest, raised by this times the
tension, which no single one reaches."""
REGISTERS = 128  # of a thread in single precision: four blocks of 128 in a multiprocessor


@cache
def tension_ahead(capillarity: Operator) -> Operator:
    """Operator over interface cells: the density that surface tension adds to that of the gas, a step ahead.

    Args:
        capillarity: ``(neighbours, n, parameters)`` -> that density by the curvature; with a contact angle the least
            and the largest one.
    """

    has_range = capillarity is CONTACT_ANGLE

    def reference(neighbours, n, lattice, parameters):
        found, before = capillarity.reference(neighbours, n, lattice, parameters), parameters[LAST_TENSION][n]
        now, most = found if has_range else (found, found)
        is_known = (before != 0.0) & (abs(now - before) <= SUDDEN * parameters[TENSION])
        parameters[TENSION_AHEAD][n] = np.where((now == most) & is_known, now + (now - before), now)
        parameters[LAST_TENSION][n] = np.where(now < most, most + RAISED * parameters[TENSION], now)

    def node(lattice, precision, jit, at):
        jit, sudden, raised = strict(jit), precision.real(SUDDEN), precision.real(RAISED)
        range_at = tension_at = capillarity.node(lattice, precision, jit, at)
        last, ahead, tension, zero = at[LAST_TENSION], at[TENSION_AHEAD], at[TENSION], precision.real(0)
        if not has_range:

            def both(neighbours, n, parameters):
                found = tension_at(neighbours, n, parameters)
                return found, found

            range_at = jit(both)

        def update(neighbours, n, parameters):
            (now, most), before = range_at(neighbours, n, parameters), parameters[last][n]
            if now < most:
                parameters[ahead][n] = now
                parameters[last][n] = most + raised * parameters[tension]
                return
            largest = sudden * parameters[tension]
            is_known = before != zero and abs(now - before) <= largest
            parameters[ahead][n] = now + (now - before) if is_known else now
            parameters[last][n] = now

        return jit(update)

    parameters = joined(named(LAST_TENSION, TENSION_AHEAD), capillarity.parameters)
    return Operator(f"tension-ahead-{capillarity.name}", reference, node, parameters, registers=REGISTERS)
