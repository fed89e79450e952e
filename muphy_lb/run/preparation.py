"""Preparation: a case bound to its ranks, up to where kernels would be compiled.

A run begins with it, and ``muphy-lb info`` ends with it: what the one refuses the other refuses, in the same words.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil, inf
from typing import Any
from weakref import WeakSet

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.registry import packages
from muphy_lb.boundaries.opening_geometry import (
    Condition,
    link_weights,
    oblique_weights,
    opening_areas_m2,
    opening_frames,
    opening_layers,
    outlets_of,
    pulsatile_weights,
    unscaled_flow,
)
from muphy_lb.case.case import Case
from muphy_lb.case.usual import refuse_out_of_plane
from muphy_lb.domain import PULL, LocalDomain, check_dimension, domain_from_part
from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.lattice import lattice_named
from muphy_lb.measure.node_probe import NodeProbe
from muphy_lb.measure.node_sums import NodeSums
from muphy_lb.model.beat import LEAST_INSTANTS, Beat
from muphy_lb.model.flow import Flow
from muphy_lb.model.model import Model
from muphy_lb.operators import OPENING_LAYER, near_openings
from muphy_lb.operators.forces import COMPONENTS
from muphy_lb.physics.package import Physics
from muphy_lb.run.criteria import refuse_to_watch_nothing
from muphy_lb.run.observers import check_observers
from muphy_lb.setup.advice.expected_pressures import refuse_density_changes, refuse_diverging
from muphy_lb.setup.advice.stability import share_of_rule, wants_other_moments
from muphy_lb.setup.boundaries import (
    build_schedule,
    link_conditions,
    opening_conditions,
    pulsatile_profiles,
    refuse_unreadable_walls,
    wall_motions,
    wall_treatment,
)
from muphy_lb.setup.collision import build_fluid
from muphy_lb.setup.distribute import DistributedGeometry, distributed
from muphy_lb.setup.force import build_force, uniform_acceleration_m_s2
from muphy_lb.setup.initial import initial_flow, refuse_openings
from muphy_lb.setup.numerics import Numerics, resolve
from muphy_lb.setup.waveforms import longest_period_s


class Preparation:
    """The geometry of a case, its numbers, the nodes of this rank, its physics and its start; no device, no
    populations.

    Args:
        communicator: the ranks; construction is collective.
        nodes: the geometry, distributed or on rank 0, if it is already there; else the case's geometry is read.

    Raises MuphyError: the case cannot be run; the message says why.
    """

    step_number = 0
    stride = 1  #: steps of the flow that a step of what it carries takes

    def __init__(self, case: Case, communicator, nodes: NodeList | DistributedGeometry | None = None):
        self.case, self.communicator = case, communicator
        kinds = packages(case)  # what cannot be computed together is refused before a geometry is read
        self.geometry = distributed(case, communicator, nodes, self._seen)
        self.lattice = lattice_named(case.lattice.name)
        self._survey_openings()
        self.motions = self.geometry.inspect(lambda nodes: wall_motions(case, nodes, self.units))
        self._refuse_two_pressures(kinds)
        self.physics: tuple[Physics, ...] = tuple(kind(case, self.header, self.units) for kind in kinds)
        self._probes: WeakSet[NodeProbe | NodeSums] = WeakSet()
        self._refuse_to_freeze()
        check_observers(self)
        self._lay_out()

    def _seen(self, header: GeometryHeader) -> None:
        """The header of a geometry is known, on rank 0, and its nodes are not numbered yet."""

    @property
    def header(self) -> GeometryHeader:
        """Header of the geometry, without its nodes."""
        return self.geometry.header

    @property
    def nodes(self) -> NodeList | Any:
        """The whole node list on rank 0, which may read it only now; the header elsewhere."""
        return self.geometry.nodes

    @property
    def units(self):
        """SI sizes of the lattice units."""
        return self.numerics.units

    @property
    def rises_until(self) -> int:
        """Step up to which what openings and walls impose rises from rest; 0 where they impose nothing."""
        return self._schedule.rises_until

    @property
    def frozen_from(self) -> float:
        """Number of the step behind which the flow stays as it is; infinite if it continues."""
        after_s = self.case.run.frozen_after_s
        return inf if after_s is None else self.units.time_to_steps(after_s)

    def starting_flow(self, put_fields: Callable, put_particles: Callable) -> tuple[np.ndarray, np.ndarray]:
        """Density (n,) or (1,) and velocity (3, n) or (3, 1) of the local nodes with which the case starts, lattice
        units; collective. ``put_fields``: takes the initial values of the fields of a physics, by name;
        ``put_particles``: takes the columns of all particles of a physics, by set and name. Raises InputError: the case
        cannot start so."""
        if self.case.initial is not None and self.case.initial.consistent_pressure:
            refuse_openings(self.header)
        density, velocity = initial_flow(self.case, self.header, self.domain, self.units)
        for physics in self.physics:
            put_fields(physics.initial_fields(self))
            put_particles(physics.initial_particles(self))
            density, velocity = physics.initial_flow(self) or (density, velocity)
        return density, velocity

    def _survey_openings(self) -> None:
        """Set the measures of openings, which need the nodes around all of them, and the numbers of the run, which
        follow from these."""
        inspect, case, lattice = self.geometry.inspect, self.case, self.lattice
        check_dimension(self.header, lattice)
        slips = {section.name for section in case.walls if section.slip}
        slip = [number for number, wall in enumerate(self.header.walls) if wall.name in slips]
        self.frames = frames = inspect(lambda nodes: opening_frames(nodes, lattice, slip))
        self.numerics = self._resolve(self.case)
        profiles = inspect(lambda nodes: pulsatile_profiles(case, nodes, lattice, frames, slip))
        self.conditions = opening_conditions(case, self.header, frames, self.units, float(lattice.cs2), profiles)
        self._carried = inspect(lambda nodes: unscaled_flow(nodes, lattice, frames, self.conditions, slip))

    def _resolve(self, case: Case) -> Numerics:
        refuse_out_of_plane(case)
        check_dimension(self.header, self.lattice, uniform_acceleration_m_s2(case, self.header))
        refuse_unreadable_walls(case)
        refuse_to_watch_nothing(case, self.header)
        areas_m2 = opening_areas_m2(self.header, self.frames)
        numerics = resolve(case, self.header.spacing_m, areas_m2, float(self.lattice.cs2))
        refuse_density_changes(case, self.header, self.frames, numerics)
        refuse_diverging(case, self.header, self.frames, numerics)
        return numerics

    def _refuse_two_pressures(self, kinds: tuple[type[Physics], ...]) -> None:
        for each in kinds:
            if self.case.initial is not None and self.case.initial.consistent_pressure and each.sets_pressure:
                raise InputError(
                    f"the case has initial.consistent_pressure and [{each.name}], which sets the initial pressure"
                    " itself; remove consistent_pressure, or give initial.pressure_file instead"
                )

    def _refuse_to_freeze(self) -> None:
        """Raise InputError for a flow that must continue."""
        if self.case.run.frozen_after_s is None:
            return
        feeling = [each.name for each in self.physics if not each.goes_on_in_frozen_flow]
        problem = ""
        if not self.physics:
            problem = "nothing that it carries; give [[species]] or [age], or remove run.frozen_after_s"
        elif feeling:
            problem = f"[{feeling[0]}], which needs the flow; remove one of the two"
        elif any(each.file for each in self.case.flow.accelerations):
            problem = "a record of accelerations; remove one of the two"
        elif longest_period_s(self.case) and not self.case.run.replayed_instants:
            problem = "a waveform; give run.replayed_instants = 40, too, which repeats a beat, or remove one of the two"
        elif self.case.compute.streaming != PULL.name:
            problem = f"compute.streaming = {self.case.compute.streaming!r}; set compute.streaming = {PULL.name!r}"
        if problem:
            raise InputError(f"run.frozen_after_s is given in a case with {problem}")
        longest_s, step_s = self.case.run.frozen_step_s, self.units.time_step_s
        if longest_s is not None and longest_s < step_s:
            raise InputError(
                f"run.frozen_step_s is {longest_s:.4g} s, shorter than a time step of the flow, {step_s:.4g} s; set"
                f" run.frozen_step_s = {1000.0 * step_s:.4g}, of which as much is taken as speeds, diffusivities and"
                " rates allow, or remove it"
            )
        steps, ramp = int(self.frozen_from), self.case.run.ramp_steps
        if self.case.run.replayed_instants:
            self._refuse_to_replay(self.case.run.replayed_instants)
        elif steps <= ramp:
            raise InputError(
                f"run.frozen_after_s is {steps} steps, and the flow starts for {ramp} (run.ramp_steps): set"
                f" run.frozen_after_s = {1.01 * self.units.steps_to_time(ramp + 1):.3g} or more, when it is steady"
            )

    def _refuse_to_replay(self, n_instants: int) -> None:
        """Raise InputError for a beat that is none, or does not have these instants, or begins too early."""
        period, period_s = self._steps_of_beat, longest_period_s(self.case)
        if not period_s:
            raise InputError(
                "run.replayed_instants is given, and nothing in the case repeats itself: give a waveform, or remove"
                " run.replayed_instants, so that a steady flow is frozen"
            )
        if n_instants > period:
            raise InputError(
                f"run.replayed_instants is {n_instants}, and a beat of {period_s:.4g} s has {int(period)} steps: set"
                f" run.replayed_instants = {max(LEAST_INSTANTS, min(int(period) // 4, 40))}"
            )
        beat, ramp = self._beat(0), self.case.run.ramp_steps
        first = beat.first if beat else 0
        if first < ramp:
            earliest_s = self.units.steps_to_time(ramp + 3 * ceil(period))
            raise InputError(
                f"run.frozen_after_s is {self.case.run.frozen_after_s:.4g} s, and the two beats of {period_s:.4g} s"
                f" that are compared ahead of it begin in the start of the flow (run.ramp_steps = {ramp}): set"
                f" run.frozen_after_s = {earliest_s:.4g} or more, when the flow repeats itself"
            )

    @property
    def _steps_of_beat(self) -> float:
        return longest_period_s(self.case) / self.units.time_step_s

    def _beat(self, row: int) -> Beat | None:
        """The beat that is stored and replayed, if one is; ``row``: length of the fields of a rank."""
        n_instants = self.case.run.replayed_instants
        if n_instants is None:
            return None
        return Beat(int(self.frozen_from), self._steps_of_beat, n_instants, self.units.time_step_s, row)

    def _lay_out(self) -> None:
        """The nodes of this rank, and what happens at them and at their links."""
        part, case = self.geometry.part(), self.case
        treatment = wall_treatment(case, self.motions)
        self.domain: LocalDomain = domain_from_part(part, self.lattice, treatment, case.compute.order)
        self.part_nodes: NodeList = part.nodes
        regime = self.numerics.relaxation_time, self.numerics.cell_reynolds
        force, force_operator, driving = build_force(case, self.header, self.domain, self.units)
        self.fluid = build_fluid(case, self.lattice, self.units, *regime)
        self.model = self._model(force, force_operator)
        self.model.order()  # which refuses a streaming that does not suit the stages
        links = self.domain.links
        weights = link_weights(self.header, self.lattice, links, self.frames, self.conditions, self._carried)
        openings = self.frames, self.conditions
        shapes = pulsatile_weights(self.header, self.lattice, links, openings, weights)
        of_pressures = np.zeros((2, links.n_links))
        if not self.model.occupied:
            of_pressures = oblique_weights(self.header, self.lattice, links, openings, self.model.plane_rate)
        weights += of_pressures[0]
        keeps_mass = any(physics.keeps_mass_at_walls for physics in self.physics)
        motions = [replace(motion, keeps_mass=keeps_mass) for motion in self.motions]
        self._at_links, self.n_fallback_links = link_conditions(
            self.domain, (weights, shapes), self.conditions, (case.lattice, *regime), motions, self.communicator
        )
        if self.frames:
            along = np.array([frame.along for frame in self.frames])
            self._at_links = replace(self._at_links, along=along, inside=of_pressures[1])
        self._schedule = build_schedule(case, self.header, self.conditions, driving, self.units, self.model.courses)

    def _model(self, force, force_operator) -> Model:
        streaming, given = self.case.compute.streaming, dict(zip(COMPONENTS, force, strict=True))
        has_gaps = self.domain.part.nodes.cuts is not None and not self.domain.walls.slip
        flow = Flow(self.lattice, self.fluid, streaming, force_operator, given, self.domain.solid, has_gaps=has_gaps)
        flow = replace(flow, stride=self.stride)
        if self.numerics.has_zones:
            flow = flow.with_collision(
                partial(near_openings, equilibrium=self.fluid.equilibrium), {OPENING_LAYER: self._zone_layers()}
            )
        for physics in self.physics:
            flow = flow.extended(physics.name, physics.extend)
        self.beat = self._beat(self.domain.pitch)
        flow = self.beat.stored_by(flow) if self.beat else flow
        self.fluid = flow.fluid  # whose viscosity a physics may have made its own
        return flow.model()

    def _regime(self, numerics: Numerics, conditions: tuple[Condition, ...]) -> tuple:
        """All of the layout that follows from the values that openings impose: zones, moments, the rule of walls, and
        what is behind an opening that answers its flow."""
        speeds = self.case.lattice, numerics.relaxation_time, numerics.cell_reynolds
        zones = [condition.lets_out for condition in conditions] if numerics.has_zones else []
        behind = [condition.feedback for condition in conditions]
        return zones, wants_other_moments(*speeds), share_of_rule(*speeds), behind

    def _zone_layers(self) -> np.ndarray:
        """(n,) layer of each local node in the zone of an outlet."""
        return opening_layers(self.header, self.domain.voxel, outlets_of(self.frames, self.conditions))


def prove(case: Case, communicator) -> Preparation:
    """The preparation of a case whose start has been tried, too; collective. Raises MuphyError: the case cannot be run;
    the message is that of a run."""
    prepared = Preparation(case, communicator)
    prepared.starting_flow(len, len)  # nothing takes over the fields and particles
    return prepared
