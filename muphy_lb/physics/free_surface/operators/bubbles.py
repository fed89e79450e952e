"""The pressure of a region of gas, whose number its gas and interface cells hold."""

from functools import cache

from muphy_lb.operators import Operator
from muphy_lb.operators.operator import joined, named
from muphy_lb.physics.free_surface.cells import BUBBLE

DEVIATIONS = "bubble_deviations"
"""Parameter: by that number, the density of the pressure of a region less that of ``gas_deviation``."""


@cache
def in_bubbles(capillarity: Operator) -> Operator:
    """What surface tension adds to the density of the gas, with what the pressure of the cell's region adds to it."""

    def reference(neighbours, n, lattice, parameters):
        of_region = parameters[DEVIATIONS][parameters[BUBBLE][n]]
        return of_region + capillarity.reference(neighbours, n, lattice, parameters)

    def node(lattice, precision, jit, at):
        bubble, deviations, of_tension = at[BUBBLE], at[DEVIATIONS], capillarity.node(lattice, precision, jit, at)

        def deviation(neighbours, n, parameters):
            return parameters[deviations][parameters[bubble][n]] + of_tension(neighbours, n, parameters)

        return jit(deviation)

    parameters = joined(named(BUBBLE, DEVIATIONS), capillarity.parameters)
    return Operator(f"bubbles-{capillarity.name}", reference, node, parameters)
