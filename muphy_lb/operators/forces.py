"""Body force at a node: the same everywhere, or a field.

The last three parameters of a node function belong to the force: three numbers, or three arrays with a value per local
node; or three arrays of length one that change with time. Node functions take and return them in stored units.
"""

import numpy as np

from muphy_lb.operators.operator import Operator


def _uniform(n, parameters):
    return np.array(parameters[-3:]).reshape(3, 1)


def _uniform_node(lattice, precision, jit):
    return jit(lambda n, parameters: (parameters[-3], parameters[-2], parameters[-1]))


def _field(n, parameters):
    return np.stack([component[n] for component in parameters[-3:]])


def _field_node(lattice, precision, jit):
    return jit(lambda n, parameters: (parameters[-3][n], parameters[-2][n], parameters[-1][n]))


def _varying(n, parameters):
    return np.array([component[0] for component in parameters[-3:]]).reshape(3, 1)


def _varying_node(lattice, precision, jit):
    return jit(lambda n, parameters: (parameters[-3][0], parameters[-2][0], parameters[-1][0]))


UNIFORM = Operator("uniform", _uniform, _uniform_node)
FIELD = Operator("field", _field, _field_node)
VARYING = Operator("varying", _varying, _varying_node)
