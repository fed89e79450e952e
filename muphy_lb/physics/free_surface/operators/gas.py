"""The pressure of the gas beside an interface cell, as density minus 1: one for all gas, or that of the region whose
number the cell holds."""

from muphy_lb.operators import Operator
from muphy_lb.operators.operator import named
from muphy_lb.physics.free_surface.cells import BUBBLE

GAS_DEVIATION = "gas_deviation"
"""Parameter: density of the gas pressure minus 1."""
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
