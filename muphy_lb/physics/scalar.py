"""CarriedScalar: a scalar T that the flow carries and diffusion spreads, by populations g of its own.

    dT/dt + u . grad T = D lap T + production - decay T

A case may have any number of them, each with a name of its own for its fields and columns; those of a physics share a
carrier h (:mod:`muphy_lb.operators.scalar_transport`) and advance in one stage. Two instants belong to a step n: the
field ``NAME`` holds T(n) of the populations that arrive, S(n) the source of their amount T h, and the fields
``NAME_populations`` those that leave:

    T(n) h(n) = sum_q g_q + S(n) / 2,   sum_q g~_q = T(n) h(n) + S(n) / 2

``initial_fields`` hold both of step 0, so a scalar starts with populations of T + S / 2 times those of the carrier
(:meth:`CarriedScalar.start`). Populations are those of nodes beside openings and walls that let something through, and
of their neighbours; the others need T, ``NAME_gained``, S / 2h, and ``NAME_memory``
(:mod:`muphy_lb.operators.scalar_levels`) alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.narrow import known
from muphy_lb.base.precision import FP16, PRECISIONS
from muphy_lb.domain import FIXED, FLUX, OUTFLOW, LocalDomain, ScalarBoundary, ScalarSet
from muphy_lb.domain.links import is_wall
from muphy_lb.engine.transfers import NeighbourValues
from muphy_lb.geometry.nodes import GeometryHeader, voxel_coordinates
from muphy_lb.lattice import Lattice, scalar_lattice
from muphy_lb.measure.flow_view import FlowView, FromStored, OutputField, ProbedScalar
from muphy_lb.model.flow import Flow
from muphy_lb.model.model import (
    A_STEP_AGO,
    AT_NEIGHBOURS,
    BEFORE,
    Field,
    FieldValue,
    ScalarStreaming,
    Stage,
    Value,
    Where,
)
from muphy_lb.operators.observers import (
    CARRYING_FIELDS,
    N_AXES,
    PAST_GAPS,
    STORE_CARRYING,
    STORE_CARRYING_PAST_GAPS,
    WALLED,
)
from muphy_lb.operators.scalar_levels import KEPT, MARKED, MEMORY, OLD, carried_by_levels, sent
from muphy_lb.operators.scalar_transport import (
    CARRIER,
    GAIN,
    GAINED,
    LINKS,
    LOSS,
    NEAR,
    POPULATED,
    RATES,
    SHARE,
    STRIDE,
    VALUE,
    Carried,
    carried_collision,
    scalar_at_rest,
    scalar_rates,
)
from muphy_lb.physics.package import Physics
from muphy_lb.physics.scalar_series import OutletFluxes, Populations, ScalarSeries
from muphy_lb.setup.advice.costs import BYTES_PER_DIRECTION

POPULATIONS = "_populations"  # behind the name of a scalar
CARRIER_DIFFUSIVITY = 0.5  # of cs2, with relaxation times of 1
TINY = 1e-300
ROUNDING = 64.0  # in units of the last digit
NOTHING = 0.05  # share of a gradient in populations, below which rounding and higher moments hide it
FASTEST = 0.05  # speed [voxels a step] up to which diffusion along a flow is slower by at most 4 u^2, 1 %
SMALL_DECAY = 0.1  # share in a step up to which the rate of a decay is right to 0.1 %
LARGEST_DIFFUSIVITY = 0.3  # in lattice units, up to which a gap of six voxels fills and empties within 2 % of its rate
OF_LINKS, KEEPING = "_links", "_keeping"  # behind the name of the populations: fields of links, of 1 at their nodes
CARRYING = {name: FieldValue(name, is_new=True) for name in CARRYING_FIELDS}


class Condition(NamedTuple):
    """Boundary condition of a scalar; see :class:`muphy_lb.domain.ScalarBoundary`."""

    kind: int
    value: float = 0.0
    factor: float = 1.0
    course: Callable | None = None  #: factor of the value over time
    level: float = np.inf  #: value at which a wall takes up half as much as in proportion


def scalar_boundary(
    header: GeometryHeader, given: Mapping[str, Condition], at_inlets: int = FLUX, at_outlets: int = OUTFLOW
) -> ScalarBoundary:
    """The conditions of walls and openings by name; elsewhere no flux through walls and those of these kinds at
    openings."""
    kinds = {"outlet": at_outlets}
    found = [given.get(wall.name, Condition(FLUX)) for wall in header.walls] + [Condition(FLUX)]
    found += [given.get(each.name, Condition(kinds.get(each.kind, at_inlets))) for each in header.openings]
    kind, value, factor = (np.array(column) for column in list(zip(*found, strict=True))[:3])
    courses = {number: each.course for number, each in enumerate(found) if each.course is not None}
    levels = {number: each.level for number, each in enumerate(found) if np.isfinite(each.level)}
    return ScalarBoundary(kind, value.astype(float), len(header.walls), factor.astype(float), courses, levels)


@dataclass(frozen=True)
class CarriedScalar:
    """A scalar in lattice units."""

    name: str  #: of its field
    dimension: int  #: of the flow's lattice
    diffusivity: float  #: [voxels^2 a step]
    boundary: ScalarBoundary  #: its conditions at walls and openings
    production: float = 0.0  #: what the volume of a node gains in a step
    decay: float = 0.0  #: share that it loses in a step
    initial: float = 0.0  #: its value at the start
    unit: str = ""  #: its SI unit
    in_si: float = 1.0  #: its value of 1 in that unit
    half_gain: str = ""  #: name of a field with half of what it gains at each node in a step, instead of ``production``
    #: axis along which it has a slope of 1, beside the periodic rest which is its value; -1 without one
    slope_along: int = -1
    group: str = ""  #: name of the physics with whose scalars it shares a carrier; alone if not given
    has_carrier: bool = True  #: whether it is carried by one
    stored: str = ""  #: beginning of the names of its populations, if not ``NAME_populations``

    @property
    def lattice(self) -> Lattice:
        """Velocity set of its populations."""
        return scalar_lattice(self.dimension)

    @property
    def populations(self) -> str:
        """Beginning of the names of its populations."""
        return self.stored or self.name + POPULATIONS

    @property
    def rows(self) -> list[str]:
        """Names of its populations."""
        return [f"{self.populations}_{q}" for q in range(self.lattice.q)]

    @property
    def carrier(self) -> str:
        """Name of the field of its carrier, h - 1."""
        return f"{self.group or self.name}_carrier"

    @property
    def carrier_rows(self) -> list[str]:
        """Names of the carrier's populations, none without one."""
        return [f"{self.carrier}{POPULATIONS}_{q}" for q in range(self.lattice.q) if self.has_carrier]

    @property
    def column(self) -> str:
        """Name of its columns, which ends in its unit."""
        return "_".join(filter(None, (self.name, self.unit.replace("/", "_"))))

    @property
    def populations_set(self) -> ScalarSet:
        """Its populations."""
        return ScalarSet(self.populations, self.boundary, self.diffusivity, self.name)

    @property
    def carrier_boundary(self) -> ScalarBoundary:
        """The conditions of a carrier of this scalar alone, which at walls are those of every carrier."""
        return carrier_boundary((self,))

    @property
    def sources(self) -> dict[str, Value]:
        """Values of the parameters of its operators."""
        loss, rates = 0.5 * self.decay, scalar_rates(self.lattice, self.diffusivity)
        gain = FieldValue(self.half_gain) if self.half_gain else 0.5 * self.production
        values: dict[str, Value] = {GAIN: gain, LOSS: loss, SHARE: 1.0 / (1.0 + loss), KEPT: self.reflected}
        for what, field in ((VALUE, self.name), (GAINED, self.gained)):
            values |= {what: FieldValue(field, is_new=True), what + OLD: FieldValue(field)}
        values[MEMORY] = FieldValue(self.memory)
        values |= dict(zip(RATES, map(float, rates), strict=True))
        return {self.kind.parameter(what): value for what, value in values.items()}

    @property
    def conducts(self) -> float:
        """The share of a gradient in the leaving populations, along it and in its measure."""
        _, odd_rate = scalar_rates(self.lattice, self.diffusivity)
        return 1.0 - 1.0 / float(odd_rate)

    @property
    def reflected(self) -> float:
        """The share r of an arriving population that leaves in the opposite direction, with a minus."""
        return 1.0 - float(scalar_rates(self.lattice, self.diffusivity)[1])

    @property
    def kind(self) -> Carried:
        """The scalar as its collision describes it."""
        return Carried(self.name, bool(self.half_gain), self.slope_along, self.has_source)

    @property
    def has_source(self) -> bool:
        """Whether the scalar has a source or sink in the volume."""
        return bool(self.half_gain or self.production or self.decay)

    @property
    def has_levels(self) -> bool:
        """Whether it is carried without populations where that can be (:mod:`muphy_lb.operators.scalar_levels`)."""
        return self.has_carrier and self.slope_along < 0

    @property
    def gained(self) -> str:
        """Name of the field of S / 2h, if it has a source."""
        return gained_of(self.name)

    @property
    def memory(self) -> str:
        """Name of the field of its memory from step to step, if it is carried without populations."""
        return memory_of(self.name)

    @property
    def stored_values(self) -> tuple[str, ...]:
        """Names of the fields of its values at nodes."""
        return (self.name, self.gained) if self.has_source else (self.name,)

    def over(self, n_steps: int) -> "CarriedScalar":
        """The scalar in steps as long as several of these."""
        if n_steps == 1:
            return self
        rates = {name: n_steps * getattr(self, name) for name in ("diffusivity", "production", "decay")}
        return replace(self, boundary=self.boundary.over(n_steps), **rates)

    def carried_by(self, flow: Flow) -> Flow:
        """The flow with the scalar alone; see :func:`carried_by`."""
        return carried_by(flow, (self,))

    def start(
        self, scalar: np.ndarray, half_gain: np.ndarray | None = None, carrier: np.ndarray | None = None
    ) -> dict[str, np.ndarray]:
        """Its fields at step 0 of values (n,) where nothing is conducted. ``half_gain``: what it gains in half a step,
        if not by production and decay; ``carrier``: (Q, n) populations of the carrier, those at rest if not given."""
        leaving = scalar + (0.5 * (self.production - self.decay * scalar) if half_gain is None else half_gain)
        carried = scalar_at_rest(self.lattice, np.ones(1)) if carrier is None else carrier
        found = dict(zip(self.rows, leaving * carried, strict=True)) | {self.name: scalar}
        if self.has_source:
            found[self.gained] = leaving - scalar
        if self.has_levels:
            found[self.memory] = self.reflected * (leaving - scalar)
        return found

    def carrier_start(self) -> dict[str, np.ndarray]:
        """The carrier's fields at step 0."""
        rows = dict(zip(self.carrier_rows, scalar_at_rest(self.lattice, np.ones(1)), strict=True))
        return rows | dict.fromkeys((self.carrier, *CARRYING_FIELDS), np.zeros(1))

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


def gained_of(name: str) -> str:
    """Name of the field of S / 2h of a scalar."""
    return f"{name}_gained"


def memory_of(name: str) -> str:
    """Name of the field that stores the memory of a scalar from step to step."""
    return f"{name}_memory"


def carrier_boundary(scalars: tuple[CarriedScalar, ...]) -> ScalarBoundary:
    """The conditions of the carrier of some scalars: walls let nothing through; openings hold it at 1, but for those
    through which all of these flow out freely, unless that are all openings."""
    n_walls = scalars[0].boundary.n_walls
    kind = np.where([each.boundary.kind == OUTFLOW for each in scalars], OUTFLOW, FIXED).min(axis=0)
    kind[: n_walls + 1] = FLUX
    if not (kind == FIXED).any():  # nothing would keep it near 1
        kind[n_walls + 1 :] = FIXED
    return ScalarBoundary(kind, np.where(kind == FIXED, 1.0, 0.0), n_walls)


def links_into_walls(domain: LocalDomain) -> np.ndarray:
    """(n,) int8 bits of the links of the nodes of a rank along x, y, z ahead, then behind, that lead into walls."""
    found, _ = _links(domain)
    return found


def past_gaps(domain: LocalDomain) -> np.ndarray:
    """(n,) factor by which the momentum of the nodes of a rank carries what flows through the gaps between the voxels
    ahead of them and the walls that cut the links of these, by the slope from the node to the wall
    (:mod:`muphy_lb.measure.plane_shares`)."""
    nodes, factor = domain.part.nodes, np.ones(domain.n_nodes)
    cuts, steps = known(nodes.cuts), np.eye(N_AXES, dtype=np.int64)
    place, size = voxel_coordinates(domain.voxel[: domain.n_nodes], nodes.shape), np.array(nodes.shape[::-1])
    vectors = np.concatenate((steps, -steps))
    for vector, code in zip(vectors, domain.neighbours_with_ghosts(vectors, slice(0, domain.n_nodes)), strict=True):
        inside = np.flatnonzero(code >= 0)
        ahead = ((place[inside] + vector) % size) @ np.array([1, size[0], size[0] * size[1]])
        distance = cuts.of(ahead, vector)
        factor[inside] += np.nan_to_num((distance - 0.5) ** 2 / (2.0 + 2.0 * distance))
    return factor


def _links(domain: LocalDomain) -> tuple[np.ndarray, np.ndarray]:
    """Links as of :func:`links_into_walls`, and (2 ``N_AXES``, n) the neighbours of the nodes."""
    found, steps = np.zeros(domain.n_nodes, dtype=np.int8), np.eye(N_AXES, dtype=np.int64)
    codes = domain.neighbours_with_ghosts(np.concatenate((steps, -steps)), slice(0, domain.n_nodes))
    for bit, row in enumerate(codes):
        found |= is_wall(row).astype(np.int8) << bit
    return found, codes


def links_of_sets(domain: LocalDomain, sets: Sequence[ScalarSet]) -> np.ndarray:
    """(n,) int8 links as of :func:`links_into_walls`, with ``POPULATED`` at nodes with a link at which one of the sets
    is not simply returned, and ``NEAR`` at these, at their neighbours, and beside nodes of other ranks."""
    found, codes = _links(domain)
    acts, leads = np.any([each.boundary.acts for each in sets], axis=0), codes < 0
    leads[leads] = acts[sets[0].boundary.numbers_of(codes[leads].astype(np.int64))]
    is_populated = np.array(leads.any(axis=0))
    is_near = np.array(is_populated | (codes >= domain.pitch).any(axis=0))
    for row in codes:
        is_own = (row >= 0) & (row < domain.n_nodes)
        is_near[is_own] |= is_populated[row[is_own]]
    return found | np.where(is_populated, POPULATED, 0).astype(np.int8) | np.where(is_near, NEAR, 0).astype(np.int8)


def links_of_all(domain: LocalDomain) -> np.ndarray:
    """(n,) int8 links into walls, with ``POPULATED`` everywhere."""
    return links_into_walls(domain) | np.int8(POPULATED)


def carried_by(flow: Flow, scalars: tuple[CarriedScalar, ...]) -> Flow:
    """The flow with some scalars that share a carrier. Raises InputError: nodes of the flow lie in solids."""
    scalars = tuple(each.over(flow.stride) for each in scalars)
    first, names = scalars[0], ", ".join(repr(each.name) for each in scalars)
    if flow.solid is not None:
        raise InputError(f"{names}: carried by fluid, and nodes of the case lie in walls; leave one out")
    diffusivity = CARRIER_DIFFUSIVITY * float(first.lattice.cs2)
    carrier = ScalarSet(first.carrier + POPULATIONS, carrier_boundary(scalars), diffusivity)
    field = (first.group or first.name) + POPULATIONS
    sets = carrier, *(each.populations_set for each in scalars)
    has_levels, links = all(each.has_levels for each in scalars), field + OF_LINKS
    values: dict[str, Value] = {LINKS: FieldValue(links), STRIDE: float(flow.stride)}
    values |= CARRYING | {CARRIER: FieldValue(first.carrier, is_new=True)}
    for each in scalars:
        values |= each.sources
    momentum = CARRYING_FIELDS[: first.dimension]
    stage = Stage(
        field,
        (carried_collision(first.lattice, tuple(each.kind for each in scalars)),),
        values,
        reads=(field + AT_NEIGHBOURS, links, *filter(None, (each.half_gain for each in scalars)), *CARRYING_FIELDS),
        writes=(field, first.carrier, *(name for each in scalars for name in each.stored_values)),
        where=Where(field + KEEPING, 1) if has_levels else None,
    )
    flow = replace(flow, name=f"{flow.name}-{field.removesuffix(POPULATIONS)}").with_stages(after=(stage,))
    observer = STORE_CARRYING_PAST_GAPS if flow.has_gaps else STORE_CARRYING
    fixed = [Field(WALLED, dtype=np.int8, fixed=links_into_walls)]
    fixed += [Field(PAST_GAPS, fixed=past_gaps)] if flow.has_gaps else []
    flow = flow.observed_by(observer, CARRYING | {each.name: FieldValue(each.name) for each in fixed})
    value = Field("", outside=0.0, is_state=True, alternates=True, guarded=True)
    flow = flow.with_fields(
        Field(field, streaming=ScalarStreaming(first.lattice, sets, has_carrier=True)),
        *fixed,
        *(replace(value, name=name) for name in stage.writes[1:]),
        *(replace(value, name=name, is_state=name in momentum) for name in CARRYING_FIELDS),
    )
    if not has_levels:
        return flow.with_fields(Field(links, dtype=np.int8, fixed=links_of_all))
    memories = tuple(each.memory for each in scalars)
    old = {name + OLD: FieldValue(name) for name in CARRYING_FIELDS} | {CARRIER + OLD: FieldValue(first.carrier)}
    levels = Stage(
        f"{field}_levels",
        (carried_by_levels(first.lattice, tuple(each.kind for each in scalars)),),
        {**values, **old, MARKED: FieldValue(field + KEEPING)},
        reads=(
            *(name + AT_NEIGHBOURS for name in (links, *CARRYING_FIELDS, *stage.writes[1:])),
            *(name + BEFORE for name in (first.carrier, *momentum)),
            *memories,
            *filter(None, (each.half_gain for each in scalars)),
        ),
        writes=(*stage.writes[1:], *memories, field + KEEPING),
    )
    return flow.with_stages(before=(levels,)).with_fields(
        *(Field(name, is_state=True) for name in memories),
        Field(links, dtype=np.int8, fixed=partial(links_of_sets, sets=sets), outside=0),
        Field(field + KEEPING, dtype=np.int8),
    )


class ScalarPhysics(Physics):
    """A physics of scalars that the flow carries and does not feel.

    Args:
        scalars: these.
    """

    goes_on_in_frozen_flow = is_carried = True

    def __init__(self, *scalars: CarriedScalar):
        self.scalars = scalars = tuple(replace(each, group=self.name) for each in scalars)
        self.output_fields = {
            each.name: OutputField(each.unit, each.field_si, FromStored((each.name,), each.values_si))
            for each in scalars
        }
        self.probed = tuple(ProbedScalar(each.name, each.column, each.scaled) for each in scalars)

    @classmethod
    def count(cls, case) -> int:
        """Number of scalars of the case."""
        return 1

    @property
    def carrier(self) -> Populations:
        """The carrier of the scalars."""
        return Populations(self.scalars[0].carrier_rows, carrier_boundary(self.scalars))

    @classmethod
    def bytes_per_node(cls, case, lattice) -> float:
        """Memory of two copies of the momentum and the carrier, of each scalar of two of its value and its gain and of
        its memory, of two of all populations, and of the tables of addresses."""
        q_count, n_scalars = scalar_lattice(lattice.dimension).q, cls.count(case)
        real = np.dtype(PRECISIONS[case.compute.precision].real)
        numbers = 8 + 5 * n_scalars + 2 * (1 + n_scalars) * q_count
        return numbers * real.itemsize + ((1 + n_scalars) * q_count + lattice.q) * BYTES_PER_DIRECTION

    def extend(self, flow: Flow) -> Flow:
        """The flow with the scalars."""
        return carried_by(flow, self.scalars)

    def initial_fields(self, view) -> dict[str, np.ndarray]:
        """Initial fields: each scalar has its initial value everywhere."""
        found = self.scalars[0].carrier_start()
        for each in self.scalars:
            found |= each.start(np.full(1, each.initial))
        return found

    @property
    def has_levels(self) -> bool:
        """Whether the scalars are carried without populations where that can be."""
        return all(each.has_levels for each in self.scalars)

    def longest_stride(self, max_speed: float) -> float:
        """Largest number of flow steps that one step of the scalars may span in a frozen flow of that speed [voxels a
        step]."""
        return min(
            FASTEST / max(max_speed, TINY),
            *(LARGEST_DIFFUSIVITY / each.diffusivity for each in self.scalars),
            *(SMALL_DECAY / max(each.decay, TINY) for each in self.scalars),
        )

    def restarted(self, view, before: int) -> dict[str, np.ndarray]:
        """The scalars leave their nodes as in steps of another length: with their sources and gradients; in steps as
        long as before they do where populations have become needed, as beside a wall that lets nothing through no
        more."""
        if before == view.stride and not self._lacks_populations(view):
            return {}
        if not self.has_levels:
            return self._restarted_populations(view, before)
        found = self.conducting(view, self.restarted_at_rest(view), is_steady=True)
        return found | dict(zip(self.scalars[0].carrier_rows, self.carrier_of(view), strict=True))

    def _restarted_populations(self, view, before: int) -> dict[str, np.ndarray]:
        """The same of scalars that have populations everywhere."""
        carrier, found = self.carrier_of(view), self.restarted_at_rest(view)
        for each in self.scalars:
            left = np.array([view.local_field(row) for row in each.rows], dtype=np.float64)
            left -= left.sum(axis=0) / carrier.sum(axis=0) * carrier
            odd, share = 0.5 * (left - left[each.lattice.opposite]), each.over(view.stride).conducts
            share = share / each.over(before).conducts if abs(each.over(before).conducts) > NOTHING else 0.0
            found |= {row: found[row] + share * part for row, part in zip(each.rows, odd, strict=True)}
        return found

    def conducting(
        self, view, found: dict[str, np.ndarray], is_steady: bool = False, is_first: bool = False
    ) -> dict[str, np.ndarray]:
        """Fields of scalars, with memories that belong to their populations; collective.

        Args:
            found: fields of the local nodes, where nothing is conducted.
            is_steady: whether the populations shall have their gradients, as where they change slowly.
            is_first: whether the carrier is at rest, ahead of the first step.
        """
        for each in self.scalars if self.has_levels else ():
            if each.name in found and np.size(found[each.rows[0]]) > 1:
                found |= self._conducting(view, each, found, is_steady, is_first)
        return found

    def _conducting(self, view, scalar: CarriedScalar, found, is_steady: bool, is_first: bool) -> dict[str, np.ndarray]:
        """With e_q what leaves beside B h_q, the memory is the sum of e_q(x - c_q) - r (A(x - c_q) - T) h_q'(t - 1)
        (:mod:`muphy_lb.operators.scalar_levels`); of a gradient, e_q = (1 - 1 / odd rate) w_q c_q . grad T h."""
        lattice, own, ones = scalar.lattice, scalar.over(view.stride), np.ones(view.domain.n_nodes)
        before = scalar_at_rest(lattice, ones) if is_first else self.carrier_of(view, A_STEP_AGO)
        near, left = NeighbourValues(view.domain, view.communicator), np.array([found[row] for row in scalar.rows])
        value, gained = found[scalar.name] * ones, found.get(scalar.gained, 0.0) * ones
        codes = near.places(lattice.c[1:], slice(0, ones.size))
        places = np.where(codes >= 0, codes, np.arange(ones.size))  # links into walls return what a node sends
        around, beside = near.with_ghosts(np.array([value, value - gained])), np.zeros_like(left)
        if is_steady:
            slopes = 0.5 * (around[0][places] - around[0][places[lattice.opposite[1:] - 1]])
            beside[1:] = own.conducts * lattice.w[1:, None] * slopes * self.carrier_of(view).sum(axis=0)
        memory, all_beside = own.reflected * gained * before[0], near.with_ghosts(beside)
        for q, back in enumerate(lattice.opposite[1:], start=1):
            code, place = codes[back - 1], places[back - 1]
            arriving = np.where(code >= 0, all_beside[q][place], beside[back])
            memory += arriving - own.reflected * (around[1][place] - value) * before[back]
        return dict(zip(scalar.rows, left + beside, strict=True)) | {scalar.memory: memory}

    def _lacks_populations(self, view) -> bool:
        """Whether populations are needed where there have been none, so that their sums differ from the leaving
        amounts; collective."""
        if not self.has_levels:
            return False
        links = view.local_field(f"{self.name}{POPULATIONS}{OF_LINKS}")
        near, is_populated = NeighbourValues(view.domain, view.communicator), links & POPULATED != 0
        codes = near.places(self.scalars[0].lattice.c[1:], slice(0, view.domain.n_nodes))
        beside = near.with_ghosts(is_populated[None])[0][np.maximum(codes, 0)] & (codes >= 0)
        carrier, tolerance = (
            self.carrier_of(view),
            ROUNDING * np.finfo(PRECISIONS[view.case.compute.precision].real).eps,
        )
        rows = np.array([view.local_field(row) for row in self.scalars[0].carrier_rows])
        is_wrong = np.abs(rows - carrier).max(axis=0) > tolerance
        for each in self.scalars:
            leaving = np.sum([view.local_field(name) for name in each.stored_values], axis=0, dtype=np.float64)
            rows = np.array([view.local_field(row) for row in each.rows], dtype=np.float64)
            wrong = np.abs(rows.sum(axis=0) - leaving * carrier.sum(axis=0))
            largest = max(float(np.abs(values).max(initial=0.0)) for values in (leaving, rows))
            is_wrong |= wrong > tolerance * view.communicator.maximum(largest)
        return view.communicator.total(int((is_wrong & (is_populated | beside.any(axis=0))).sum())) > 0

    def restarted_at_rest(self, view) -> dict[str, np.ndarray]:
        """Fields of a restart without gradients."""
        carrier, found = self.carrier_of(view), dict[str, np.ndarray]()
        for each in self.scalars:
            found |= each.over(view.stride).start(view.local_field(each.name), carrier=carrier)
        return found

    def carrier_of(self, view, of: str = "") -> np.ndarray:
        """(Q, n) populations of the carrier that leave nodes of this rank; ``of``: ``A_STEP_AGO`` for a step before."""
        if not self.has_levels:
            return np.array([view.local_field(row) for row in self.scalars[0].carrier_rows])
        first = self.scalars[0]
        momentum = np.zeros((N_AXES, view.domain.n_nodes))
        momentum[: first.dimension] = [view.local_field(name + of) for name in CARRYING_FIELDS[: first.dimension]]
        return sent(first.lattice, 1.0 + view.local_field(first.carrier + of).astype(np.float64), momentum, view.stride)

    def describe(self) -> str:
        """The speed below which the scalars have no ripples, as text."""
        return "; ".join(f"{each.name}: {smooth_below(each.diffusivity)}" for each in self.scalars)

    def warnings(self) -> tuple[str, ...]:
        """Warnings of scalars with a wrong rate of change in time."""
        return tuple(
            f"{each.name}: its diffusivity is {each.diffusivity:.3g} in lattice units; above {LARGEST_DIFFUSIVITY:g}"
            " it changes at a wrong rate in narrow gaps (what is steady is right); make lattice.time_step_s"
            f" {each.diffusivity / LARGEST_DIFFUSIVITY:.2g} times shorter"
            for each in self.scalars
            if each.diffusivity > LARGEST_DIFFUSIVITY
        )

    def observers(self, view, folder, resume_step):
        """The time series of each scalar."""
        fluxes = (OutletFluxes(view, each, self.carrier) for each in self.scalars)
        return tuple(ScalarSeries(each, view, folder, resume_step) for each in fluxes)


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
    return f"without ripples where a node is slower than {speed:.3g} voxels a step (cell Peclet number 2)"
