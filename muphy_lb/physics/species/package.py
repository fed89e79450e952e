"""Dissolved species as a physics package (:mod:`muphy_lb.physics.package`).

Walls let nothing through unless the case says otherwise: a value at the surface, a flux, or an uptake in proportion to
the value at the wall, k (c - c beyond), a Robin condition half-way or at the wall's place on its links
(:mod:`muphy_lb.domain.scalar_streaming`). An inlet holds the values that the case gives, or its fluid brings them;
of a species without one nothing enters. These values may have a course in time. Outlets carry species out without a
gradient.
"""

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import FP64, PRECISIONS
from muphy_lb.base.units import Units
from muphy_lb.boundaries.waveform import Bolus, StepMean, TableCourse, read_table
from muphy_lb.case.output import FIELDS, SPEED
from muphy_lb.case.section import did_you_mean
from muphy_lb.domain import FIXED, FLUX, INFLOW
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.lattice import lattice_named
from muphy_lb.measure.flow_view import OutputField, PreparedView, SettableFlow
from muphy_lb.measure.wall_exchange import WallExchange
from muphy_lb.model.flow import Flow
from muphy_lb.model.model import Field, FieldValue, Stage
from muphy_lb.operators import MOMENTUM_FIELDS
from muphy_lb.operators.observers import CARRYING_FIELDS
from muphy_lb.physics.scalar import (
    POPULATIONS,
    SMALL_DECAY,
    TINY,
    CarriedScalar,
    Condition,
    ScalarPhysics,
    gained_of,
    memory_of,
    refuse_half_precision,
    scalar_boundary,
)
from muphy_lb.physics.species.observers import SpeciesRecord, SpeciesSeries, SpeciesTold
from muphy_lb.physics.species.rates import RateLaw, read_law
from muphy_lb.physics.species.reactions import (
    PART,
    PARTS,
    SCALE_OF_NOTHING,
    Reactions,
    changes_of,
    parts_of_step,
    rate_of_change,
    refuse_stiff,
)
from muphy_lb.physics.species.residence import ResidenceTimes, entry_of
from muphy_lb.physics.species.section import SpeciesSection
from muphy_lb.setup.input_fields import Wanted, read_field
from muphy_lb.setup.waveforms import STEPS_OF_WAVE, factor_bounds, fastest_wave_s, waveform_factor

NAME = "species"
TAKEN = (*FIELDS, SPEED)
PERFECT = 1e9  # uptake, over diffusivity and voxel, beyond which a wall holds the value beyond it
LARGEST_DECAY = 0.5  # share that may decay in a step: its rate is then 2 % too fast
LOST = 0.03  # share of what sources do that rounding may take without a warning
WALL_FLUX = "_wall_flux"  # behind the name of a species: the field of its flux from walls


def set_species(simulation: SettableFlow, name: str, values) -> None:
    """Overwrite a species by (n,) values [its unit] of all nodes in node-list order, on rank 0, or by one number;
    collective. Raises InputError: no such species, another shape, or values that are not finite."""
    physics: Any = next(each for each in simulation.physics if each.name == NAME)
    names = [each.name for each in physics.scalars]
    if name not in names:
        raise InputError(f"set_species got {name!r}, which is not a species; {did_you_mean(name, names)}")
    given = simulation.scattered("set_species", values, 1)[0]
    now = [given if other == name else simulation.local_field(other) for other in names]
    physics.refuse_unfit(simulation, now, simulation.stride)
    found = physics.started(now, name, physics.carrier_of(simulation), simulation.stride)
    simulation.set_fields(physics.conducting(simulation, found))


def _names(view) -> tuple[str, ...]:
    return tuple(each.name for each in view.case.species)


def _links(view, name: str, wall: str):
    physics: Any = next(each for each in view.physics if each.name == NAME)
    return physics.told(view)[_names(view).index(name)].links_into(wall)


class Species(ScalarPhysics):
    """The species of a case, in their own unit."""

    name = NAME
    excludes = frozenset({"fluctuating", "particles"})
    methods = MappingProxyType({"set_species": set_species})
    wall_exchange = WallExchange(_names, _links, set_species)

    def __init__(self, case, header: GeometryHeader, units: Units):
        refuse_half_precision(case, "[[species]]")
        names = tuple(each.name for each in case.species)
        taken = (*TAKEN, *MOMENTUM_FIELDS, *CARRYING_FIELDS, PART, PARTS, *(name + WALL_FLUX for name in names))
        taken += tuple(of(name) for of in (changes_of, gained_of, memory_of) for name in names)
        beginnings = tuple(name + POPULATIONS for name in names)
        for name in names:
            if name in taken or name.startswith(beginnings):
                raise InputError(f"species.{name} has the name of another field; give it another one")
        reacts = any(each.rate is not None for each in case.species)
        laws = tuple(_law(section, names) for section in case.species) if reacts else ()
        for section in () if reacts else case.species:
            _refuse_fast_decay(section, units.time_step_s)
        self._units, self._walls = units, dict[str, tuple[str, ...]]()
        super().__init__(*(self._scalar(case, header, section, reacts) for section in case.species))
        for number, section in enumerate(case.species):
            if self._walls[section.name]:
                values = partial(self._flux_from_walls, number)
                told = OutputField(f"{section.unit} m/s", values)
                self.output_fields = {**self.output_fields, section.name + WALL_FLUX: told}
        self._reactions = Reactions(names, laws, units.time_step_s) if reacts else None
        self._scales = [max(map(abs, (each.initial, *_given(case, each)))) for each in case.species]
        self._n_parts = parts_of_step(laws, self._scales, units.time_step_s)
        waves_s = (fastest_wave_s(each.waveform, case) for each in case.species if each.waveform is not None)
        self._longest_step_s = min(waves_s, default=inf) / STEPS_OF_WAVE
        self._precision = PRECISIONS[case.compute.precision]

    def _scalar(self, case, header: GeometryHeader, section: SpeciesSection, reacts: bool) -> CarriedScalar:
        units, dimension = self._units, lattice_named(case.lattice.name).dimension
        diffusivity_m2_s = section.diffusivity_m2_s or case.fluid.viscosity_m2_s / section.schmidt
        diffusivity = float(units.viscosity_to_lattice(diffusivity_m2_s))
        at_walls = _wall_conditions(case, section.name, diffusivity, units)
        self._walls[section.name] = tuple(at_walls)
        conditions = _opening_conditions(case, header, section, units)
        return CarriedScalar(
            section.name,
            dimension,
            diffusivity,
            scalar_boundary(header, at_walls | conditions),
            production=0.0 if reacts else section.production * units.time_step_s,
            decay=0.0 if reacts else section.decay_per_s * units.time_step_s,
            initial=section.initial,
            unit=section.unit,
            half_gain=changes_of(section.name) if reacts else "",
        )

    @classmethod
    def count(cls, case) -> int:
        """Number of species."""
        return len(case.species)

    def extend(self, flow: Flow) -> Flow:
        """The flow with the scalars, and with their reactions at the start of a step."""
        if self._reactions is not None:
            reactions, n_parts = self._over(self._reactions, flow.stride)
            names = reactions.names
            changes = tuple(map(changes_of, names))
            values = {name: FieldValue(name) for name in (*names, *changes)} | reactions.parameters(n_parts)
            stage = Stage("reactions", (reactions.operator(),), values, reads=(*names, *changes), writes=changes)
            flow = flow.with_fields(*(Field(name, is_state=True) for name in changes)).with_stages(before=(stage,))
        try:
            return super().extend(flow)
        except ValueError as error:
            raise InputError(f"[[species]] have a name of another field: {error}; give them other ones") from error

    def _over(self, reactions: Reactions, stride: int) -> tuple[Reactions, int]:
        """Reactions in steps as long as some of the flow's, and the parts of such a step."""
        reactions = replace(reactions, time_step_s=stride * self._units.time_step_s)
        return reactions, parts_of_step(reactions.laws, self._scales, reactions.time_step_s)

    def longest_stride(self, max_speed: float) -> float:
        """Longest step of a frozen flow, within which also reactions and waveforms change little."""
        laws = self._reactions.laws if self._reactions else ()
        stiffest = rate_of_change(laws, self._scales) * self._units.time_step_s
        of_courses = self._longest_step_s / self._units.time_step_s
        return min(super().longest_stride(max_speed), SMALL_DECAY / max(stiffest, TINY), of_courses)

    def restarted_at_rest(self, view) -> dict[str, np.ndarray]:
        """Fields of a restart without gradients, with reactions."""
        now = [view.local_field(each.name) for each in self.scalars]
        return self.started(now, carrier=self.carrier_of(view), stride=view.stride)

    def initial_fields(self, view) -> dict[str, np.ndarray]:
        """Initial fields of each species."""
        starts: list[np.ndarray] = []
        for section in view.case.species:
            values = np.full(1, section.initial)
            if section.initial_file is not None:
                wanted = Wanted(f"species.{section.name}.initial_file", section.name, 1, False)
                values = read_field(view.case.folder / section.initial_file, wanted, view.header, view.domain)[:, 0]
            starts.append(values)
        self.refuse_unfit(view, starts)
        return self.scalars[0].carrier_start() | self.conducting(view, self.started(starts), is_first=True)

    def refuse_unfit(self, view: PreparedView, values: Sequence[np.ndarray], stride: int = 1) -> None:
        """Refuse values (n,) or (1,) of all species at which a rate law is not finite, or too fast for the step;
        collective. Raises InputError: there are such."""
        if self._reactions is None:
            return
        (reactions, n_parts), largest = self._over(self._reactions, stride), view.communicator.maximum
        laws = reactions.laws
        found = [largest(float(np.abs(row).max(initial=0.0))) for row in values]
        for law in laws:
            with np.errstate(all="ignore"):
                rates = np.broadcast_to(law(values), np.broadcast(*values).shape)
            if view.communicator.total(int(np.count_nonzero(~np.isfinite(rates)))):
                raise InputError(
                    f"{law.key} = {law.text!r} is not finite at the values that species have at the start; add a small"
                    " constant where it divides, or start from other values"
                )
        refuse_stiff(laws, np.maximum(found, self._scales), n_parts, reactions.time_step_s)

    def started(
        self, values: Sequence[np.ndarray], only: str = "", carrier: np.ndarray | None = None, stride: int = 1
    ) -> dict[str, np.ndarray]:
        """The fields of values (n,) or (1,) of all species where nothing is conducted; those of ``only`` one, if named.
        They leave a node with what the first half of a step, as long as some of the flow's, has changed. ``carrier``:
        populations of their carrier, if not at rest."""
        found, halves = dict[str, np.ndarray](), [*values]
        if self._reactions is not None:
            reactions, n_parts = self._over(self._reactions, stride)
            halves = [*reactions.half_changes(values, n_parts)]
        scalars = [each.over(stride) for each in self.scalars]
        for scalar, start, half in zip(scalars, values, halves, strict=True):
            if only in ("", scalar.name):
                reacted = {scalar.half_gain: half} if scalar.half_gain else {}
                found |= scalar.start(start, half if scalar.half_gain else None, carrier) | reacted
        return found

    def describe(self) -> str:
        """Diffusivities, where they are smooth, and parts of a step for reactions, as text."""
        reacting = f"; reactions in {self._n_parts} part(s) of a step" if self._reactions else ""
        return super().describe() + reacting

    def warnings(self) -> tuple[str, ...]:
        """Species that do not follow in time, or change in a step by hardly more than rounding beside walls with a
        condition, where populations carry them."""
        largest = np.array([scale or SCALE_OF_NOTHING for scale in self._scales])
        rates = [each.decay * scale + abs(each.production) for each, scale in zip(self.scalars, largest, strict=True)]
        if self._reactions is not None:
            rates = [abs(float(law(largest))) * self._units.time_step_s for law in self._reactions.laws]
        rounding, told = 0.5 * float(np.finfo(self._precision.real).eps), []
        for scalar, scale, change in zip(self.scalars, self._scales, rates / largest, strict=True):
            if any(self._walls.values()) and scale > 0.0 and 0.0 < change < rounding / LOST:
                told.append(
                    f"species.{scalar.name} gains or loses {change:.2g} of its largest value in a time step, of which"
                    f" {self._precision.name} may round off up to {100.0 * min(1.0, rounding / change):.2g} % beside"
                    f" walls with a condition where the species stands still; set compute.precision = {FP64.name!r}"
                )
        return (*super().warnings(), *told)

    def _flux_from_walls(self, number: int, view) -> np.ndarray | None:
        return self.told(view)[number].flux_from_walls_si()

    def told(self, view) -> list[SpeciesTold]:
        """Measures each species."""
        pairs = zip(self.scalars, view.case.species, strict=True)
        return [
            SpeciesTold(view, each, self.carrier, self._walls[each.name], _bounds(view.case, own))
            for each, own in pairs
        ]

    def observers(self, view, folder, resume_step):
        """The time series of each species, and the record at the end."""
        told = self.told(view)
        series = [SpeciesSeries(each, view, folder, resume_step) for each in told]
        marking = []
        for section, each, own in zip(view.case.species, told, series, strict=True):
            entry = entry_of(view.case, view.header, section)
            if entry is not None and each.outlets:
                marking.append((section.name, (each.columns_of_outlets, each.column_of_all), entry, own))
        times = (ResidenceTimes(marking, view, folder),) if marking else ()
        return *series, SpeciesRecord(told, view, folder), *times


def _law(section: SpeciesSection, names: tuple[str, ...]) -> RateLaw:
    """The rate law of a species with its production and decay."""
    law = read_law(f"species.{section.name}.rate", section.rate or "0", names, section.rates)
    own = ast.Subscript(ast.Name("c", ast.Load()), ast.Constant(names.index(section.name)), ast.Load())
    lost = ast.BinOp(ast.Constant(section.decay_per_s), ast.Mult(), own)
    gained = ast.BinOp(law.tree, ast.Add(), ast.Constant(section.production))
    return RateLaw(law.key, law.text, ast.BinOp(gained, ast.Sub(), lost))


def _refuse_fast_decay(section: SpeciesSection, time_step_s: float) -> None:
    """Raise InputError for a decay that a step does not follow."""
    share, name = section.decay_per_s * time_step_s, section.name
    if share > LARGEST_DECAY:
        raise InputError(
            f"species.{name}.decay_per_s is {section.decay_per_s:g}, {share:.3g} in a time step; allowed: up to"
            f" {LARGEST_DECAY:g}: give lattice.time_step_s = {0.95 * LARGEST_DECAY / section.decay_per_s:.2g}, or a"
            f" rate law, which is integrated in parts of a step: rate = '-k * {name}'"
        )


def _given(case, section: SpeciesSection) -> list[float]:
    """The values of a species at walls and openings, the lowest and the highest of those that change in time."""
    name, bounds = section.name, _course_bounds(case, section)
    tables = [(opening.species or {}) | (opening.species_inflow or {}) for opening in case.openings]
    at_openings = [factor * table[name] for table in tables if name in table for factor in bounds]
    return at_openings + [wall.species[name] for wall in case.walls if name in (wall.species or {})]


def _course(case, section: SpeciesSection, units: Units) -> StepMean | None:
    """The factor over time of the values of a species at openings; None if they stay. Raises InputError: its table
    cannot be read."""
    factor: Callable | None = waveform_factor(case, section.waveform)
    if section.bolus is not None and section.bolus.file is not None:
        factor = TableCourse(*_bolus_table(case, section, section.bolus.file))
    elif section.bolus is not None:
        length_s = inf if section.bolus.length_s is None else section.bolus.length_s
        factor = Bolus(section.bolus.start_s, length_s, units.time_step_s)
    return None if factor is None else StepMean(factor, units.time_step_s)


def _bolus_table(case, section: SpeciesSection, file: str) -> tuple[np.ndarray, np.ndarray]:
    return read_table(case.folder / file, f"species.{section.name}.bolus.file")


def _course_bounds(case, section: SpeciesSection) -> tuple[float, float]:
    """The lowest and the highest factor of its values at openings."""
    if section.bolus is None:
        return factor_bounds(section.waveform, case)
    if section.bolus.file is None:
        return 0.0, 1.0
    _, values = _bolus_table(case, section, section.bolus.file)
    return float(values.min()), float(values.max())


def _opening_conditions(case, header: GeometryHeader, section: SpeciesSection, units: Units) -> dict[str, Condition]:
    """The conditions of openings with a value for a species, by name. Raises InputError: an outlet is to bring it."""
    course, found, kinds = _course(case, section, units), {}, {each.name: each.kind for each in header.openings}
    for opening in case.openings:
        held, brought = ((table or {}).get(section.name) for table in (opening.species, opening.species_inflow))
        if brought is not None and kinds.get(opening.name) == "outlet":
            raise InputError(
                f"openings.{opening.name}.species_inflow has {section.name!r}, and the opening is an outlet, which"
                " brings no fluid; give it at an inlet"
            )
        if brought is not None:
            found[opening.name] = Condition(INFLOW, brought, course=course)
        elif held is not None:
            found[opening.name] = Condition(FIXED, held, course=course)
    return found


def _bounds(case, section: SpeciesSection) -> tuple[float, float]:
    """The range of values that a species cannot leave: of one that nothing produces that of the values of the case, and
    0; with sources only a species without negative values has a bound, 0."""
    name = section.name
    given = _given(case, section)
    fluxes = [(wall.species_flux or {}).get(name, 0.0) for wall in case.walls]
    low, high = min(0.0, section.initial, *given), max(0.0, section.initial, *given)
    if section.initial_file or low < 0.0 or min(section.production, *fluxes, 0.0) < 0.0:
        return -inf, inf
    return low, inf if section.rate or section.production or any(fluxes) else high


def _wall_conditions(case, name: str, diffusivity: float, units: Units) -> dict[str, Condition]:
    """The conditions of walls at which a species of a diffusivity in lattice units is not simply kept in, by name. A
    wall that takes up ``rate (c - beyond)`` is one that conducts (:mod:`muphy_lb.domain.scalar_boundary`)."""
    found = {}
    for wall in case.walls:
        value, flux = (wall.species or {}).get(name), (wall.species_flux or {}).get(name)
        uptake_m_s = (wall.species_uptake_m_s or {}).get(name)
        if uptake_m_s is not None:
            b = uptake_m_s / units.speed_m_s / diffusivity
            level = (wall.species_saturation or {}).get(name, inf)
            if b > PERFECT and level == inf:
                found[wall.name] = Condition(FIXED, value or 0.0)
                continue
            b = min(b, PERFECT)
            beyond = 2.0 * b * (value or 0.0) / (2.0 + b)
            found[wall.name] = Condition(FLUX, beyond, (2.0 - b) / (2.0 + b), level=level)
        elif flux is not None:
            found[wall.name] = Condition(FLUX, flux / units.speed_m_s / diffusivity)
        elif value is not None:
            found[wall.name] = Condition(FIXED, value)
    return found


PHYSICS = Species
