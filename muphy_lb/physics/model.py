"""The contract of a physics: a model declares fields, stages and parameters, nothing else.

A stage names a kernel that every backend has (or brings one, :class:`muphy_lb.backends.Kernel`) and the operators
injected into it, and says which fields it reads and writes. From that the engine derives what is split into edge and
interior, what waits for what, what crosses between ranks and when, and which stretches become one launch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from muphy_lb.domain import ScalarBoundary, Streaming
from muphy_lb.lattice import Lattice
from muphy_lb.operators import Equilibrium, Operator

# Kernels over nodes that a stage may name; see ``muphy_lb.backends.interface.Backend.bind``.
STENCIL = "stencil"
SCALAR_STREAMING = "scalar_streaming"
NEIGHBOURS = "neighbours"
# Kernels over particles.
PARTICLES = "particles"
MIGRATE = "migrate"

# What a stage runs over, unless it is the name of a particle set.
NODES = "nodes"
AT_NEIGHBOURS = "@neighbours"
NOTHING: Mapping[str, "Value"] = MappingProxyType({})


class Provided(Enum):
    """Parameters whose values the engine provides.

    SCHEDULED: the component of the body force of that name, which the schedule sets for every step; an array of length
        one. STEP: number of the step at hand, an int64 array of length one. VOXEL: voxel id of every node, int64.
        LOOKUP: what is at a voxel, :class:`muphy_lb.backends.interface.LookupArrays`.
    """

    SCHEDULED = "scheduled"
    STEP = "step"
    VOXEL = "voxel"
    LOOKUP = "lookup"


SCHEDULED, STEP, VOXEL, LOOKUP = Provided.SCHEDULED, Provided.STEP, Provided.VOXEL, Provided.LOOKUP


class FieldValue(NamedTuple):
    """A parameter that is a field, or a column of a particle set (``"SET.column"``).

    Attributes:
        field: its name.
        is_new: of a field with two arrays, the one after the step; else the one before it.
    """

    field: str
    is_new: bool = False


Value = float | np.ndarray | np.integer | FieldValue | Provided
"""What a parameter may be: a number (a NumPy integer keeps its type), an (n,) array of the local nodes, real or
integer, a field, or something that the engine provides."""


class ScalarStreaming(NamedTuple):
    """Transport of a scalar by populations of its own: their lattice and its diffusivity, lattice units."""

    lattice: Lattice
    diffusivity: float


@dataclass(frozen=True)
class Field:
    """Values that every node has besides its populations.

    Attributes:
        name: for outputs and checkpoints.
        boundary: of a field that a stencil or scalar streaming advances: its condition at walls and openings. Such a
            field has two arrays, which steps use in turn, and crosses to other ranks.
        streaming: of populations of a scalar: how they are carried. Then the field has a component for each vector of
            that lattice, the values of a stage are what arrives, and the node function overwrites them by what leaves.
        is_state: whether the next step reads it, so that checkpoints hold it; fields with a boundary always are.
        alternates: whether it has two arrays, which steps use in turn, although no stencil advances it.
        dtype: ``"real"`` (the precision of the run), or a NumPy type for integers and flags.
        outside: value that neighbours see where there is no node; given, the field may be read at neighbours
            (``"name@neighbours"``) and crosses to other ranks whenever it was written before such a stage.
        accumulates: an int64 field that stages of this rank may add to at the nodes of others around it (its halo);
            behind the stage that writes it the halo is added to the nodes' own ranks, exactly, in any order.
    """

    name: str
    boundary: ScalarBoundary | None = None
    streaming: ScalarStreaming | None = None
    is_state: bool = False
    alternates: bool = False
    dtype: str | type = "real"
    outside: float | None = None
    accumulates: bool = False


def row_names(field_name: str, n_rows: int) -> list[str]:
    """Names of the components of a field: its own name, or one for each."""
    return [field_name] if n_rows == 1 else [f"{field_name}_{q}" for q in range(n_rows)]


POSITION = ("voxel_x", "voxel_y", "voxel_z"), ("offset_x", "offset_y", "offset_z")


@dataclass(frozen=True)
class ParticleSet:
    """Particles that move from node to node and from rank to rank; each belongs to the rank of its nearest node.

    Every set has the integer columns ``id``, ``voxel_x``, ``voxel_y``, ``voxel_z`` (the nearest voxel) and the real
    ones ``offset_x``, ``offset_y``, ``offset_z`` (from the voxel's centre, in [-1/2, 1/2) voxels), so that a position
    is exact whatever the rank and however large the box. Integers are int64, real numbers float64 in every precision.

    A ``PARTICLES`` stage calls its operator for every particle: ``reference(i, lattice, parameters)`` for an array of
    particles, ``update(i, parameters)`` for one. It may change its columns in place; a particle must stay within a
    voxel of its node, where there are nodes (parameter ``LOOKUP``, see :mod:`muphy_lb.domain.lookup`). A ``MIGRATE``
    stage brings offsets back to their range and particles to the ranks that own their nodes.

    Attributes:
        name: columns are known as ``"NAME.column"``.
        capacity: room for particles on one rank, and for those that leave it for one neighbour in one step; more is an
            error that names the set.
        integers, reals: names of further columns.
    """

    name: str
    capacity: int
    integers: tuple[str, ...] = ()
    reals: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of all integer and of all real columns."""
        return ("id", *POSITION[0], *self.integers), (*POSITION[1], *self.reals)


@dataclass(frozen=True)
class Stage:
    """One pass over the nodes, or over particles, beside the flow's own.

    Attributes:
        name: of its tasks in traces.
        kernel: name of a kernel, or a :class:`muphy_lb.backends.Kernel` that the physics brings.
        operators: operators injected into the kernel, in its order.
        parameters: value of each of their parameters, by name.
        field: the field that a ``STENCIL`` or ``SCALAR_STREAMING`` stage advances.
        reads: fields that it reads, ``"name"`` at its own node or ``"name@neighbours"``.
        writes: fields that it writes, at its own node.
        over: ``"nodes"``, or the name of a particle set.
    """

    name: str
    kernel: object
    operators: tuple[Operator, ...] = ()
    parameters: Mapping[str, Value] = field(default_factory=dict)
    field: str = ""
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    over: str = NODES

    @property
    def reads_at_neighbours(self) -> tuple[str, ...]:
        """Names of the fields that it reads at neighbours."""
        return tuple(name.removesuffix(AT_NEIGHBOURS) for name in self.reads if name.endswith(AT_NEIGHBOURS))


@dataclass(frozen=True)
class Model:
    """A flow on a lattice, and the physics beside it.

    Attributes:
        name: for messages and outputs.
        lattice: velocity set of the populations.
        streaming: how populations stream; it orders the phases of the flow's own step.
        equilibrium: the state without stresses.
        collision: what a node does.
        macroscopic: density and velocity from what is stored.
        force: the body force of both.
        openings, walls: operators of the links into openings and into walls that are not half-way at rest.
        parameters: value of each parameter of the collision and of ``macroscopic``, by name, in lattice units.
        fields: what nodes have besides populations.
        before: stages ahead of the flow's own step, in order.
        after: stages behind the flow's collision, in order; those that read at neighbours nothing that was written in
            the same step run beside its messages.
        particles: sets of particles.
    """

    name: str
    lattice: Lattice
    streaming: Streaming
    equilibrium: Equilibrium
    collision: Operator
    macroscopic: Operator
    force: Operator
    openings: Operator
    walls: Operator
    parameters: Mapping[str, Value]
    fields: tuple[Field, ...] = ()
    before: tuple[Stage, ...] = ()
    after: tuple[Stage, ...] = ()
    particles: tuple[ParticleSet, ...] = ()

    @property
    def has_scheduled_force(self) -> bool:
        """Whether the schedule sets the body force."""
        return any(value is SCHEDULED for value in self.parameters.values())
