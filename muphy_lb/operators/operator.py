"""Operator: one equation, written once as a node function and once as its vectorised specification."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from muphy_lb.lattice import Lattice
from muphy_lb.precision import Precision


@dataclass(frozen=True)
class Operator:
    """A piece of physics that a skeleton calls for every node or link.

    Attributes:
        name: for messages and tables.
        reference: the specification: vectorised NumPy over (Q, n) arrays, obvious and independent.
        node: factory ``node(lattice, precision, jit)`` of the node function; ``jit`` is the identity, Numba's njit or a
            CUDA device-function decorator, ``precision`` a :class:`~muphy_lb.precision.Precision`: the node function
            computes with scalars of its ``real``. Populations and all that is linear in them (density deviation, body
            force, momentum that enters through a link) go in and out in stored units, times ``precision.unit``;
            velocities, rates, and stress over density do not. The specification knows rho_0 = 1 only.
    """

    name: str
    reference: Callable
    node: Callable


def constants(lattice: Lattice, precision: Precision) -> tuple:
    """Weights and vector components as tuples of typed scalars: (w, cx, cy, cz).

    Integer literals times float32 would compile to double precision; typed constants keep the arithmetic in
    ``precision.real``.
    """
    real = precision.real
    weights = tuple(real(weight) for weight in lattice.w)
    components = tuple(tuple(real(x) for x in column) for column in lattice.c.T)
    return weights, *components


def shift(lattice: Lattice) -> np.ndarray:
    """(Q, 1) rest populations w_q rho_0 that storage subtracts (rho_0 = 1)."""
    return lattice.w[:, None]
