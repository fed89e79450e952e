"""CarriedScalar: a scalar T that the flow carries and diffusion spreads, by populations g of its own.

    dT/dt + u . grad T = D lap T + production - decay T

A case may have any number of them, each with a name of its own for its fields, stages and columns. Two instants belong
to a step n: the field ``NAME`` holds T(n) of the populations that arrive, S(n) = production - decay T(n) its source,
and the field ``NAME_populations`` those that leave:

    T(n) = sum_q g_q + S(n) / 2,   sum_q g~_q = T(n) + S(n) / 2

(:func:`muphy_lb.operators.scalar_transport.carried_collision`). ``initial_fields`` hold both of step 0, so a scalar
starts with populations of T + S / 2 (:meth:`CarriedScalar.start`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import FP16, PRECISIONS
from muphy_lb.case.section import did_you_mean
from muphy_lb.domain import FIXED, FLUX, OUTFLOW, ScalarBoundary
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.lattice import Lattice, scalar_lattice
from muphy_lb.measure.flow_view import FlowView, FromStored, OutputField, ProbedScalar
from muphy_lb.model.flow import Flow
from muphy_lb.model.model import (
    AT_NEIGHBOURS,
    SCALAR_STREAMING,
    Field,
    FieldValue,
    ScalarStreaming,
    Stage,
    Value,
    row_names,
)
from muphy_lb.operators import STORE_VELOCITY, VELOCITY_FIELDS, Operator
from muphy_lb.operators.scalar_transport import (
    GAIN,
    LOSS,
    RATES,
    SCALAR,
    SHARE,
    carried_collision,
    scalar_at_rest,
    scalar_rates,
)
from muphy_lb.physics.package import Physics
from muphy_lb.physics.scalar_series import OutletFluxes, ScalarSeries
from muphy_lb.setup.advice.costs import BYTES_PER_DIRECTION

POPULATIONS = "_populations"  # behind the name of a scalar
VELOCITY = {name: FieldValue(name) for name in VELOCITY_FIELDS}
STORED = tuple(Field(name) for name in VELOCITY_FIELDS)


class Condition(NamedTuple):
    """Boundary condition of a scalar; see :class:`muphy_lb.domain.ScalarBoundary`."""

    kind: int
    value: float = 0.0
    factor: float = 1.0


def scalar_boundary(
    header: GeometryHeader, given: Mapping[str, Condition], at_inlets: int = FLUX, at_outlets: int = OUTFLOW
) -> ScalarBoundary:
    """The conditions of walls and openings by name; elsewhere no flux through walls and those of these kinds at
    openings."""
    kinds = {"outlet": at_outlets}
    found = [given.get(wall.name, Condition(FLUX)) for wall in header.walls] + [Condition(FLUX)]
    found += [given.get(each.name, Condition(kinds.get(each.kind, at_inlets))) for each in header.openings]
    kind, value, factor = (np.array(column) for column in zip(*found, strict=True))
    return ScalarBoundary(kind, value.astype(float), len(header.walls), factor.astype(float))


def fixed_at(header: GeometryHeader, values: Mapping[str, float], key: str) -> dict[str, Condition]:
    """Conditions of given values at walls and openings by name. Raises InputError: a name of neither; ``key`` is the
    key of the case with the values."""
    known = [*(opening.name for opening in header.openings), *(wall.name for wall in header.walls)]
    for name in values:
        if name not in known:
            raise InputError(f"{key} names {name!r}, which is no opening and no wall; {did_you_mean(name, known)}")
    return {name: Condition(FIXED, value) for name, value in values.items()}


@dataclass(frozen=True)
class CarriedScalar:
    """A scalar in lattice units."""

    name: str  #: of its field
    dimension: int  #: of the flow's lattice
    diffusivity: float  #: [voxels^2 a step]
    boundary: ScalarBoundary  #: its conditions at walls and openings
    production: float = 0.0  #: what it gains at every node in a step
    decay: float = 0.0  #: share that it loses in a step
    initial: float = 0.0  #: its value at the start
    unit: str = ""  #: its SI unit
    in_si: float = 1.0  #: its value of 1 in that unit
    stored: str = ""  #: name of the field of its populations, if not ``NAME_populations``
    half_gain: str = ""  #: name of a field with half of what it gains at each node in a step, instead of ``production``

    @property
    def lattice(self) -> Lattice:
        """Of its populations."""
        return scalar_lattice(self.dimension)

    @property
    def populations(self) -> str:
        """Name of the field of its populations, and of the stage that advances them."""
        return self.stored or self.name + POPULATIONS

    @property
    def rows(self) -> list[str]:
        """Names of the components of that field."""
        return row_names(self.populations, self.lattice.q)

    @property
    def column(self) -> str:
        """Name of its columns, which ends in its unit."""
        return "_".join(filter(None, (self.name, self.unit.replace("/", "_"))))

    @property
    def population_field(self) -> Field:
        """The field of its populations."""
        return Field(self.populations, self.boundary, ScalarStreaming(self.lattice, self.diffusivity))

    def stage(self, collision: Operator, parameters: Mapping[str, Value], reads=(), writes=()) -> Stage:
        """The stage behind the collision of the flow that streams and collides its populations.

        Args:
            collision: operator of the arriving populations.
            parameters: values of its parameters, but for the rates of the diffusivity and the velocity.
            reads, writes: fields in addition to velocity and populations.
        """
        rates = dict(zip(RATES, scalar_rates(self.lattice, self.diffusivity), strict=True))
        values: dict[str, Value] = {**rates, **VELOCITY, **parameters}
        reads = (self.populations + AT_NEIGHBOURS, *reads, *VELOCITY_FIELDS)
        writes = (self.populations, *writes)
        return Stage(self.populations, SCALAR_STREAMING, (collision,), values, self.populations, reads, writes)

    def carried_by(self, flow: Flow) -> Flow:
        """The flow with the scalar. Raises InputError: nodes of the flow lie in solids."""
        if flow.solid is not None:
            raise InputError(f"{self.name!r} is carried by fluid, and nodes of the case lie in walls; leave one out")
        loss = 0.5 * self.decay
        gain = FieldValue(self.half_gain) if self.half_gain else 0.5 * self.production
        source: dict[str, Value] = {GAIN: gain, LOSS: loss, SHARE: 1.0 / (1.0 + loss), SCALAR: FieldValue(self.name)}
        collide, reads = carried_collision(self.lattice, bool(self.half_gain)), filter(None, (self.half_gain,))
        stage = self.stage(collide, source, tuple(reads), (self.name,))
        flow = flow.observed_by(STORE_VELOCITY, VELOCITY).with_stages(after=(stage,))
        fields = (self.population_field, Field(self.name, is_state=True), *STORED)
        return replace(flow, name=f"{flow.name}-{self.name}").with_fields(*fields)

    def start(self, scalar: np.ndarray, half_gain: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Its fields at step 0 of values (n,) where nothing moves and nothing is conducted. ``half_gain``: what it
        gains in half a step, if not by production and decay."""
        leaving = scalar + (0.5 * (self.production - self.decay * scalar) if half_gain is None else half_gain)
        return {**dict(zip(self.rows, scalar_at_rest(self.lattice, leaving), strict=True)), self.name: scalar}

    def scaled(self, stored: np.ndarray) -> np.ndarray:
        """Values in SI units of stored ones, in their precision."""
        return stored * self.in_si

    def values_si(self, stored: np.ndarray) -> np.ndarray:
        """Values in SI units, float64, of stored ones."""
        return self.scaled(stored.astype(np.float64))

    def field_si(self, view: FlowView) -> np.ndarray | None:
        """(n,) values of all nodes in SI units, on rank 0; collective."""
        stored = view.model_field(self.name)
        return None if stored is None else self.values_si(stored)


class ScalarPhysics(Physics):
    """A physics of scalars that the flow carries and does not feel.

    Args:
        scalars: these.
    """

    def __init__(self, *scalars: CarriedScalar):
        self.scalars = scalars
        self.output_fields = {
            each.name: OutputField(each.unit, each.field_si, FromStored((each.name,), each.values_si))
            for each in scalars
        }
        self.probed = tuple(ProbedScalar(each.name, each.column, each.scaled) for each in scalars)

    @classmethod
    def count(cls, case) -> int:
        """How many scalars the case has."""
        return 1

    @classmethod
    def bytes_per_node(cls, case, lattice) -> float:
        """Memory of the stored velocity and, of each scalar, of its value, two copies of its populations, and the table
        of addresses."""
        q_count, n_scalars = scalar_lattice(lattice.dimension).q, cls.count(case)
        real = np.dtype(PRECISIONS[case.compute.precision].real)
        return (3 + n_scalars * (1 + 2 * q_count)) * real.itemsize + n_scalars * (q_count - 1) * BYTES_PER_DIRECTION

    def extend(self, flow: Flow) -> Flow:
        """The flow with one scalar after the other."""
        for each in self.scalars:
            flow = each.carried_by(flow)
        return flow

    def initial_fields(self, view) -> dict[str, np.ndarray]:
        """Each scalar with its initial value everywhere."""
        starts = (each.start(np.full(1, each.initial)) for each in self.scalars)
        return {name: values for start in starts for name, values in start.items()}

    def describe(self) -> str:
        """Where the scalars have no ripples, as text."""
        return "; ".join(f"{each.name}: {smooth_below(each.diffusivity)}" for each in self.scalars)

    def observers(self, view, folder, resume_step):
        """The time series of each scalar."""
        return tuple(ScalarSeries(OutletFluxes(view, each), view, folder, resume_step) for each in self.scalars)


def refuse_half_precision(case, section: str) -> None:
    """Raise InputError for a scalar, of that section of the case, in half precision."""
    if case.compute.precision == FP16.name:
        raise InputError(
            f"compute.precision is 'fp16' with {section}, which changes by less than its digits in a step;"
            " allowed: 'fp32', 'fp64'"
        )


def setting_of(section, key: str, diffusivity_m2_s: float, viscosity_m2_s: float) -> str:
    """The setting that gives a scalar a diffusivity, by the key that its section, at ``key`` in the case, has
    already."""
    if section.schmidt is not None:
        return f"{key}.schmidt = {viscosity_m2_s / diffusivity_m2_s:.2g}"
    return f"{key}.diffusivity_m2_s = {diffusivity_m2_s:.2g}"


def smooth_below(diffusivity: float) -> str:
    """The speed below which a scalar of a diffusivity in lattice units has no ripples, as text."""
    speed = 2.0 * diffusivity
    return f"without ripples where a node is slower than {speed:.3g} voxels a step (Peclet number of a voxel 2)"
