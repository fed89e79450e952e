"""Boussinesq force proportional to a temperature, F = b T; it is added to the uniform force."""

import numpy as np

from muphy_lb.operators.operator import Operator, named

TEMPERATURE_FIELD = "buoyant_temperature"  # name of the parameter: the field T over the temperature of zero buoyancy
COMPONENTS = ("buoyancy_x", "buoyancy_y", "buoyancy_z")
"""Names of the parameters b: force per volume and unit of temperature, lattice units."""


def _reference(n, parameters):
    factors = np.array([parameters[name] for name in COMPONENTS]).reshape(3, 1)
    return factors * parameters[TEMPERATURE_FIELD][n]


def _node(lattice, precision, jit, at):
    unit, field = precision.real(precision.unit), at[TEMPERATURE_FIELD]
    x, y, z = (at[name] for name in COMPONENTS)

    def force(n, parameters):
        temperature = unit * parameters[field][n]
        return parameters[x] * temperature, parameters[y] * temperature, parameters[z] * temperature

    return jit(force)


BUOYANCY = Operator("buoyancy", _reference, _node, named(TEMPERATURE_FIELD, *COMPONENTS))
