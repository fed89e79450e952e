"""Pressure of surface tension at interface cells."""

import numpy as np

from muphy_lb.operators import Operator


def _nothing(neighbours, n, lattice, parameters):
    return np.zeros(n.shape)


def _nothing_node(lattice, precision, jit, at):
    zero = precision.real(0)
    return jit(lambda neighbours, n, parameters: zero)


NO_TENSION = Operator("none", _nothing, _nothing_node)
