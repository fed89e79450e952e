"""Advection and diffusion of a temperature by finite differences.

T(t + 1) = T + kappa Lap* T - u . grad* T, with differences over the velocity set D3Q19:

    d_x* T = T(x+1) - T(x-1) - 1/8 sum over the face diagonals of their x-component times T
    Lap* T = 2 sum of the 6 along the axes - 1/4 sum of the 12 diagonals - 9 T

Obrecht, Kuznik, Tourancheau, Roux, Comput. Fluids 54, 118 (2012), Eqs. (16)-(18). On D2Q9 the same without
z. Stable for kappa < 1/12 and kappa >= u^2 / 2; the effective diffusivity along a flow is lower by u^2 / 2.

Values are those of the node, then of its neighbours along the vectors 1, 2, ... of the lattice.
"""

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.lattice import Lattice, combined
from muphy_lb.operators.observers import VELOCITY_FIELDS
from muphy_lb.operators.operator import Operator, named
from muphy_lb.operators.unroll import unroll

# Of the node, along an axis, along a diagonal.
LAPLACIAN = {"D3Q19": (-9.0, 2.0, -0.25), "D2Q9": (-5.0, 1.5, -0.25)}
GRADIENT = {"D3Q19": (0.0, 1.0, -0.125), "D2Q9": (0.0, 0.75, -0.125)}
LARGEST_DIFFUSIVITY = 1.0 / 12.0
DIFFUSIVITY = "diffusivity"


def difference_weights(lattice: Lattice) -> tuple[np.ndarray, np.ndarray]:
    """(Q,) weights of the Laplacian and (3, Q) of the gradient. Raises InputError: a lattice without such
    differences."""
    if lattice.name not in LAPLACIAN:
        raise InputError(
            f"lattice.name is {lattice.name!r}; a temperature by finite differences needs {' or '.join(LAPLACIAN)}; set"
            " one of these, or thermal.method = 'double-distribution'"
        )
    n_components = np.abs(lattice.c).sum(axis=1)
    laplacian = np.array(LAPLACIAN[lattice.name])[n_components]
    return laplacian, np.array(GRADIENT[lattice.name])[n_components] * lattice.c.T


def _reference(values, n, lattice, parameters):
    laplacian, gradient = difference_weights(lattice)
    slope = combined(gradient, values)
    velocity = [parameters[name][n] for name in VELOCITY_FIELDS]
    advection = sum(component * along for component, along in zip(velocity, slope, strict=True))
    return values[0] + parameters[DIFFUSIVITY] * combined(laplacian, values) - advection


def _node(lattice, precision, jit, at):
    real, pair_count = precision.real, lattice.q // 2
    weights, gradient = difference_weights(lattice)
    along = tuple(real(w) for w in weights)
    gx, gy, gz = (tuple(real(w) for w in row) for row in gradient)
    centre, zero = real(weights[0]), real(0)
    diffusivity = at[DIFFUSIVITY]
    x, y, z = (at[name] for name in VELOCITY_FIELDS)

    def update(values, n, parameters):
        laplacian, tx, ty, tz = centre * values[0], zero, zero, zero
        for p in range(pair_count):
            laplacian += along[2 * p + 1] * (values[2 * p + 1] + values[2 * p + 2])
            tx += gx[2 * p + 1] * (values[2 * p + 1] - values[2 * p + 2])
            ty += gy[2 * p + 1] * (values[2 * p + 1] - values[2 * p + 2])
            tz += gz[2 * p + 1] * (values[2 * p + 1] - values[2 * p + 2])
        advection = parameters[x][n] * tx + parameters[y][n] * ty + parameters[z][n] * tz
        return values[0] + (parameters[diffusivity] * laplacian - advection)

    return jit(unroll(update))


TEMPERATURE = Operator("temperature", _reference, _node, named(DIFFUSIVITY, *VELOCITY_FIELDS))
