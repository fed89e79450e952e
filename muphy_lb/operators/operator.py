"""Operator: one equation, written once as a node function and once as its vectorised specification."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from muphy_lb.base.precision import Precision
from muphy_lb.lattice import Lattice
from muphy_lb.lattice.layout import RECORD


class Parameter(NamedTuple):
    """A value that an operator reads by name: a number, an array of nodes, or a field."""

    name: str  #: unique within an operator; composed operators share the parameters of equal name
    #: whether node functions get it times ``precision.unit`` (what is linear in the populations, such as a body force);
    #: the specification gets it in lattice units
    in_stored_units: bool = False


@dataclass(frozen=True)
class Operator:
    """An equation that a kernel evaluates for every node or link."""

    name: str  #: for messages and tables
    #: the specification: vectorised NumPy over (Q, n) arrays, obvious and independent. It reads its parameters from a
    #: mapping by name.
    reference: Callable
    #: factory ``node(lattice, precision, jit, at)`` of the node function; ``jit`` is the identity, Numba's njit or a
    #: CUDA device-function decorator, ``precision`` a :class:`~muphy_lb.base.precision.Precision`: the node function
    #: computes with scalars of its ``real``. ``at`` maps the name of a parameter to its position in the flat tuple that
    #: compiled code is given; it is read when the function is made, so names cost nothing at run time. Populations and
    #: all that is linear in them (density deviation, body force, momentum that enters through a link) go in and out in
    #: stored units, times ``precision.unit``; velocities, rates, and stress over density do not. The specification
    #: knows rho_0 = 1 only.
    node: Callable
    parameters: tuple[Parameter, ...] = ()  #: what it reads, in the order of the flat tuple
    #: registers a thread that a kernel of a GPU may have for it at a range or at listed nodes, with real numbers of 32
    #: bits; None: as many as the compiler takes
    registers: int | None = None
    #: factory, as ``node``, of a node function ``(n, parameters)``: whether the update does anything at a node. A GPU
    #: asks before it reads what the update is given beside the arriving populations.
    concerns: Callable | None = None
    near: int | None = None  #: how many of the neighbours of a node it looks at, the first ones; None: all

    def compile(self, lattice: Lattice, precision: Precision, jit) -> Callable:
        """The node function of an operator that a kernel calls directly; cached: kernels share its compiled code."""
        return node_function(self, lattice, precision, jit)

    def by_name(self, values: tuple) -> dict:
        """Values in the order of ``parameters``, as the specification reads them."""
        return {parameter.name: value for parameter, value in zip(self.parameters, values, strict=True)}


@cache
def node_function(operator: Operator, lattice: Lattice, precision: Precision, jit) -> Callable:
    """See :meth:`Operator.compile`."""
    return operator.node(lattice, precision, jit, positions(operator.parameters))


def named(*names: str) -> tuple[Parameter, ...]:
    """Parameters that are not in stored units."""
    return tuple(Parameter(name) for name in names)


def positions(parameters: tuple[Parameter, ...]) -> dict[str, int]:
    """Position of each parameter in the flat tuple, by name."""
    return {parameter.name: k for k, parameter in enumerate(parameters)}


def joined(*groups: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    """The parameters of composed operators, each name once, in order of first appearance. Raises ValueError: two
    operators disagree on whether a parameter is in stored units."""
    found: dict[str, Parameter] = {}
    for parameter in (parameter for group in groups for parameter in group):
        if found.setdefault(parameter.name, parameter) != parameter:
            raise ValueError(f"parameter {parameter.name!r} is in stored units for one operator and not for another")
    return tuple(found.values())


def constants(lattice: Lattice, precision: Precision) -> tuple:
    """Weights and vector components as tuples of typed scalars: (w, cx, cy, cz). Integer literals times float32 would
    compile to double precision; typed constants keep the arithmetic in ``precision.real``."""
    real = precision.real
    weights = tuple(real(weight) for weight in lattice.w)
    components = tuple(tuple(real(x) for x in column) for column in lattice.c.T)
    return weights, *components


def constant_tables(lattice: Lattice, precision: Precision) -> tuple:
    """:func:`constants` as arrays, for loops that are not unrolled: a tuple is read by an index that is known only when
    a kernel runs through a branch for each of its items."""
    return tuple(np.array(each) for each in constants(lattice, precision))


@cache
def in_turn(*operators: Operator) -> Operator:
    """Operators of particles, ``(i, parameters)``, one after the other; what the last returns."""
    if len(operators) == 1:
        return operators[0]
    first, others = operators[0], in_turn(*operators[1:])

    def reference(i, lattice, parameters):
        first.reference(i, lattice, parameters)
        return others.reference(i, lattice, parameters)

    def node(lattice, precision, jit, at):
        begin, go_on = first.node(lattice, precision, jit, at), others.node(lattice, precision, jit, at)

        def update(i, parameters):
            begin(i, parameters)
            return go_on(i, parameters)

        return jit(update)

    parameters = joined(first.parameters, others.parameters)
    return Operator(f"{first.name}, {others.name}", reference, node, parameters)


def rest_populations(lattice: Lattice) -> np.ndarray:
    """(Q, 1) populations w_q rho_0 of a fluid at rest, which storage subtracts (rho_0 = 1)."""
    return lattice.w[:, None]


def exchanger(jit) -> Callable:
    """Node function ``exchange(array, index, value)``, which stores a value and returns the one before; safe where
    several threads exchange one entry (a backend with such threads puts its own on its ``jit``)."""

    def exchange(array, index, value):
        before = array[index]
        array[index] = value
        return before

    return getattr(jit, "exchange", None) or jit(exchange)


def opaque(jit) -> Callable:
    """Node function that returns a number as it is, for one that depends on a condition: what follows from it is to be
    computed behind the condition, so that it is rounded identically in every kernel (a backend whose compilers might do
    otherwise puts its own on its ``jit``)."""
    return getattr(jit, "opaque", None) or jit(lambda number: number)


def strict(jit) -> Callable:
    """The compiler of node functions whose products are rounded by themselves, in a stage that reads no populations (a
    backend that may round a product and a sum together puts it on its ``jit``)."""
    return getattr(jit, "strict", jit)


def vector_reader(jit) -> Callable:
    """Node function ``read(array, n)`` -> the three components of a vector at node n, which lie beside each other
    (:data:`muphy_lb.lattice.layout.RECORD`; a backend that reads them at once puts its own on its ``jit``)."""
    record, one, two = np.uint64(RECORD), np.uint64(1), np.uint64(2)

    def read(array, n):
        k = np.uint64(n) * record
        return array[k], array[k + one], array[k + two]

    return getattr(jit, "read_vector", None) or jit(read)


def vector_writer(jit) -> Callable:
    """Node function ``write(array, n, x, y, z)``, the counterpart of :func:`vector_reader`."""
    record, one, two = np.uint64(RECORD), np.uint64(1), np.uint64(2)

    def write(array, n, x, y, z):
        k = np.uint64(n) * record
        array[k] = x
        array[k + one] = y
        array[k + two] = z

    return getattr(jit, "write_vector", None) or jit(write)
