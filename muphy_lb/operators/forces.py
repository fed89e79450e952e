"""Body force at a node: uniform, a field, or varying in time; and sums of forces. The three components are parameters
in stored units: three numbers; three arrays with one value per local node; or three arrays of length one that the
schedule overwrites."""

from functools import cache

import numpy as np

from muphy_lb.operators.operator import Operator, Parameter, joined

COMPONENTS = ("force_x", "force_y", "force_z")
_PARAMETERS = tuple(Parameter(name, in_stored_units=True) for name in COMPONENTS)


def _components(parameters) -> list:
    return [parameters[name] for name in COMPONENTS]


def _uniform(n, parameters):
    return np.array(_components(parameters)).reshape(3, 1)


def _uniform_node(lattice, precision, jit, at):
    x, y, z = _components(at)
    return jit(lambda n, parameters: (parameters[x], parameters[y], parameters[z]))


def _field(n, parameters):
    return np.stack([component[n] for component in _components(parameters)])


def _field_node(lattice, precision, jit, at):
    x, y, z = _components(at)
    return jit(lambda n, parameters: (parameters[x][n], parameters[y][n], parameters[z][n]))


def _varying(n, parameters):
    return np.array([component[0] for component in _components(parameters)]).reshape(3, 1)


def _varying_node(lattice, precision, jit, at):
    x, y, z = _components(at)
    return jit(lambda n, parameters: (parameters[x][0], parameters[y][0], parameters[z][0]))


UNIFORM = Operator("uniform", _uniform, _uniform_node, _PARAMETERS)
FIELD = Operator("field", _field, _field_node, _PARAMETERS)
VARYING = Operator("varying", _varying, _varying_node, _PARAMETERS)


@cache
def sum_of_forces(first: Operator, second: Operator) -> Operator:
    """The force F_1 + F_2; cached: one object for equal arguments, since compiled code is cached by operator."""

    def reference(n, parameters):
        return first.reference(n, parameters) + second.reference(n, parameters)

    def node(lattice, precision, jit, at):
        force_1 = first.node(lattice, precision, jit, at)
        force_2 = second.node(lattice, precision, jit, at)

        def force(n, parameters):
            ax, ay, az = force_1(n, parameters)
            bx, by, bz = force_2(n, parameters)
            return ax + bx, ay + by, az + bz

        return jit(force)

    return Operator(f"{first.name}+{second.name}", reference, node, joined(first.parameters, second.parameters))
