"""Force of the tension between two fluids, weight of the second one, and viscosity of both.

**Viscosity, weight.** 1 / nu is the mean of both fluids' by their shares of the voxel if the interface is sharp where
phi is 0, and the weight is that share of the second one's: layers that slide past each other have the stress of either,
and the flow of both together is that of sharp layers.
"""

import math

import numpy as np

from muphy_lb.operators import Operator
from muphy_lb.operators.closures import Closure
from muphy_lb.operators.operator import named
from muphy_lb.physics.two_fluid.operators import NORMAL, PHASE, STRENGTH
from muphy_lb.physics.two_fluid.profile import SHARPNESS

HALF_VOXEL = math.tanh(0.5 * SHARPNESS)
"""Phase half a voxel from the interface."""


def _sharp(n, parameters):
    """(m,) difference of the shares of both fluids in voxels that a sharp interface cuts."""
    return np.clip(parameters[PHASE][n] / HALF_VOXEL, -1.0, 1.0)


def _sharp_node(precision, jit, at):
    """Node function ``(n, parameters)`` of :func:`_sharp`."""
    real, phase = precision.real, at[PHASE]
    one, per_phase = real(1), real(1.0 / HALF_VOXEL)
    return jit(lambda n, parameters: min(max(per_phase * parameters[phase][n], -one), one))


def _force(n, parameters):
    return parameters[STRENGTH][n] * np.stack([parameters[name][n] for name in NORMAL])


def _force_node(lattice, precision, jit, at):
    strength, unit, zero = at[STRENGTH], precision.real(precision.unit), precision.real(0)
    x, y, z = (at[name] for name in NORMAL)

    def force(n, parameters):
        drawn = unit * parameters[strength][n]
        if drawn == zero:
            return zero, zero, zero
        return drawn * parameters[x][n], drawn * parameters[y][n], drawn * parameters[z][n]

    return jit(force)


SURFACE_FORCE = Operator("two-fluid-force", _force, _force_node, named(STRENGTH, *NORMAL))


SECOND_ACCELERATION = ("second_acceleration_x", "second_acceleration_y", "second_acceleration_z")


def _weight(n, parameters):
    return (0.5 - 0.5 * _sharp(n, parameters)) * np.array([[parameters[name]] for name in SECOND_ACCELERATION])


def _weight_node(lattice, precision, jit, at):
    unit, half, sharp = precision.real(precision.unit), precision.real(0.5), _sharp_node(precision, jit, at)
    x, y, z = (at[name] for name in SECOND_ACCELERATION)

    def weight(n, parameters):
        share = unit * (half - half * sharp(n, parameters))
        return share * parameters[x], share * parameters[y], share * parameters[z]

    return jit(weight)


WEIGHT = Operator("two-fluid-weight", _weight, _weight_node, named(PHASE, *SECOND_ACCELERATION))
"""A body force on the second fluid alone, by its share of a voxel that a sharp interface cuts."""


FLUIDITY = ("fluidity_first", "fluidity_second")
"""1 / (6 nu) of both fluids, nu in lattice units."""


def _mixed(omega, stress, n, parameters):
    shown, (first, second) = _sharp(n, parameters), (parameters[name] for name in FLUIDITY)
    return 1.0 / (0.5 + 1.0 / ((1.0 + shown) * first + (1.0 - shown) * second))


def _mixed_node(precision, jit, at):
    one, half, sharp = precision.real(1), precision.real(0.5), _sharp_node(precision, jit, at)
    first, second = (at[name] for name in FLUIDITY)

    def rate(omega, stress, n, parameters):
        shown = sharp(n, parameters)
        fluidity = (one + shown) * parameters[first] + (one - shown) * parameters[second]
        return one / (half + one / fluidity)

    return jit(rate)


def _of_planes(omega, parameters):
    """Relaxation rate of the first fluid at pressure planes, ``omega``; if the second fluid is thinner, at least 1, or
    that of the second."""
    first, second = (parameters[name] for name in FLUIDITY)
    return min(1.0 / (0.5 + 0.5 / second), max(omega, 1.0)) if second > first else omega


MIXTURE = Closure("two_fluid", _mixed, _mixed_node, named(PHASE, *FLUIDITY), False, (PHASE,), _of_planes)
"""The rate of the viscosity at a node by its phase."""
