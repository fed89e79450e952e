"""Boussinesq force: a uniform one, and one proportional to a field, F = F_0 + b T.

The last seven parameters belong to it: the field T, the three components of b, and of F_0 (which alone, as with every
force, comes in stored units).
"""

import numpy as np

from muphy_lb.operators.operator import Operator

# Where the lifting field stands among the parameters; its factors and the uniform force follow.
LIFTING = -7


def _reference(n, parameters):
    field, *factors = parameters[LIFTING:]
    return np.array(factors[3:]).reshape(3, 1) + np.array(factors[:3]).reshape(3, 1) * field[n]


def _node(lattice, precision, jit):
    unit = precision.real(precision.unit)

    def force(n, parameters):
        lift = unit * parameters[LIFTING][n]
        fx = parameters[-3] + parameters[-6] * lift
        fy = parameters[-2] + parameters[-5] * lift
        return fx, fy, parameters[-1] + parameters[-4] * lift

    return jit(force)


BUOYANCY = Operator("buoyancy", _reference, _node)
