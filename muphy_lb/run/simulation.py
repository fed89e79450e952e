"""Simulation: a case bound to ranks and devices, stepping in lattice units and answering in SI units."""

from collections.abc import Mapping
from functools import cached_property
from math import ceil, inf, log2, sqrt
from os import PathLike
from types import MappingProxyType

import numpy as np

from muphy_lb.backends import make_backend, resolve_backend
from muphy_lb.boundaries.opening_geometry import link_weights, opening_areas_m2, opening_frames, unscaled_flow
from muphy_lb.boundaries.wall_motion import HALF_WAY, treat_walls
from muphy_lb.case.case import Case, as_case
from muphy_lb.domain import LocalDomain, check_dimension, domain_from_part, streaming_named
from muphy_lb.engine.autotune import tune
from muphy_lb.engine.engine import Engine
from muphy_lb.errors import DivergedError, InputError
from muphy_lb.geometry.nodes import GeometryHeader, NodeList
from muphy_lb.lattice import lattice_named
from muphy_lb.measure.flow_view import Health, OpeningState
from muphy_lb.measure.node_probe import NodeProbe
from muphy_lb.measure.opening_states import opening_states
from muphy_lb.measure.wall_forces import WallForce, labelled_links, wall_forces
from muphy_lb.operators.forces import COMPONENTS
from muphy_lb.parallel import HaloConnector, NodeGather, connect
from muphy_lb.physics.flow import Flow
from muphy_lb.physics.model import Model
from muphy_lb.physics.package import Physics, combined
from muphy_lb.physics.table import packages
from muphy_lb.precision import PRECISIONS
from muphy_lb.run.description import described, short
from muphy_lb.run.divergence import divergence_message
from muphy_lb.run.gathered import gathered_particles
from muphy_lb.run.monitored import refuse_to_watch_nothing
from muphy_lb.run.observers import check_observers
from muphy_lb.run.stepping import steps_covering, whole_steps
from muphy_lb.setup.boundaries import build_schedule, link_conditions, opening_conditions, wall_motions
from muphy_lb.setup.collision import build_fluid
from muphy_lb.setup.distribute import DistributedGeometry
from muphy_lb.setup.force import build_force, uniform_acceleration_m_s2
from muphy_lb.setup.numerics import Numerics, resolve

# Speeds are summed as integers, exact in any order; 2^60 leaves room for a mean speed of 4 in lattice units.
FIXED_POINT_BITS = 60
TRIAL_STEPS = 4
NO_FIELDS: Mapping[str, np.ndarray] = MappingProxyType({})


class Simulation:
    """One flow.

    Three lines are enough: ``sim = Simulation.from_case("vessel.toml"); sim.step(1000); u = sim.velocity_m_s()``.
    Field methods are collective: every rank calls them, rank 0 gets node-list-ordered arrays, the others None.

    Args:
        case: the case, the path of its file, or its tables by name.
        communicator: the ranks; found by itself if not given.
        nodes: the geometry, on rank 0, if it is already there; else the case's geometry is read.

    Raises:
        MuphyError, GeometryError, PartitionError: the case cannot be run; the message says why.
    """

    def __init__(self, case: Case | str | PathLike | Mapping, communicator=None, nodes: NodeList | None = None):
        self.case = case = as_case(case)
        self.communicator = communicator or connect()
        self._backend_name = self.communicator.broadcast(self._on_root(lambda: resolve_backend(case.compute.backend)))
        self.geometry = DistributedGeometry(case, self.communicator, nodes)
        self.lattice = lattice_named(case.lattice.name)
        self._survey_openings()
        self.motions = self.geometry.inspect(lambda nodes: wall_motions(case, nodes, self.units))
        check_observers(self)  # before kernels are compiled, which may take a minute
        self.domain: LocalDomain = self._build_domain()
        self.engine: Engine = self._build_engine()
        self._has_started = False
        self.measured_mflups: float = self.timed_mflups(TRIAL_STEPS)
        self.step_number: int = 0
        self._forces_step: int | None = None
        self.start_from_rest()

    @classmethod
    def from_case(cls, case, overrides=(), communicator=None) -> "Simulation":
        """Read a case file (or take its tables), change single keys (``"run.steps=100"``), and build the simulation."""
        return cls(as_case(case, overrides), communicator)

    def __repr__(self):
        return short(self)

    def describe(self) -> str:
        """What will be computed, for people; collective."""
        return described(self)

    @property
    def header(self) -> GeometryHeader:
        """All of the geometry but its nodes."""
        return self.geometry.header

    @property
    def nodes(self) -> NodeList | GeometryHeader:
        """The whole node list on rank 0, which may read it only now; the header elsewhere."""
        return self.geometry.nodes

    @property
    def units(self):
        """SI sizes of the lattice units."""
        return self.numerics.units

    @property
    def backend_name(self) -> str:
        """What runs the kernels."""
        return self.engine.backend.name

    @property
    def device(self) -> str:
        """On what, in words."""
        return self.engine.backend.device

    @property
    def collision_name(self) -> str:
        """The collision operator, with all that is put into it."""
        return self.engine.model.collision.name

    @property
    def time_s(self) -> float:
        """Physical time [s]."""
        return self.units.steps_to_time(self.step_number)

    def start_from_rest(self) -> None:
        """Density 1, velocity 0, or what a physics starts with; step 0."""
        self._has_started, self.step_number, self._forces_step = True, 0, None
        if self.engine.feedback:
            self.engine.feedback.reset()
        self.engine.set_present(self._course.at(np.zeros(1))[0])
        self.engine.set_step_number(0)
        density, velocity = np.ones(1), np.zeros((3, 1))
        for physics in self.physics:
            self.set_fields(physics.initial_fields(self))
            self._set_particles(physics.initial_particles(self))
            density, velocity = physics.initial_flow(self) or (density, velocity)
        self.engine.start_from(density, velocity)
        self.upload_schedule()
        self.initial_mass = self.communicator.total(self.engine.totals().mass)

    def restart_from(self, populations: np.ndarray, step_number: int, initial_mass: float, fields=NO_FIELDS) -> None:
        """Continue from stored populations (Q, n) of the local nodes and, by name, fields (n,); what else belongs to
        the state comes by :meth:`restart_others`."""
        self.set_fields(fields)
        self.engine.set_populations(populations)
        self.step_number, self.initial_mass, self._forces_step = step_number, initial_mass, None
        self.engine.set_present(self._course.at(np.array([float(step_number)]))[0])
        self.engine.set_step_number(step_number)
        self.upload_schedule()

    def restart_others(self, feedback: Mapping[str, list], particles: Mapping[str, Mapping], wall_forces) -> None:
        """Continue from states of conditions with feedback, by number of the opening, from the columns of all
        particles, by set and name, and from records of the wall forces of this step, which need the step before."""
        if wall_forces:
            stored = {name: WallForce.from_record(record) for name, record in wall_forces.items()}
            self._forces, self._forces_step = self._on_root(lambda: stored), self.step_number
        if self.engine.feedback:
            self.engine.feedback.restore(feedback)
        self._set_particles(particles)

    def _set_particles(self, found: Mapping[str, Mapping]) -> None:
        """Overwrite the particles of some sets, on all ranks."""
        for name, columns in found.items():
            self.engine.particle_sets.set(name, columns)

    def step(self, n_steps: float = 1) -> None:
        """Advance by a whole number of steps.

        Raises:
            InputError: ``n_steps`` is not whole, or negative.
        """
        left = whole_steps(n_steps)
        while left > 0:
            if self.step_number >= self._scheduled_until:
                self.upload_schedule()
            stretch = int(min(left, self._scheduled_until - self.step_number))
            self.engine.advance(stretch)
            self.step_number += stretch
            left -= stretch

    def run_for(self, time_s: float) -> None:
        """Advance by a time [s], rounded up to whole steps: by less than ``units.time_step_s`` more than asked for.

        Raises:
            InputError: ``time_s`` is not a finite number, or negative.
        """
        self.step(steps_covering(time_s, self.units.time_step_s))

    def timed_mflups(self, n_steps: int) -> float:
        """Million node updates per second of all ranks over some steps, which the step number does not count."""
        self.communicator.barrier()
        feedback = self.engine.feedback
        before = feedback.record() if feedback else None
        seconds = self.communicator.maximum(self.engine.time_steps(n_steps))
        if self._has_started:
            self.upload_schedule()
            self.engine.set_step_number(self.step_number)
        if feedback and before is not None:
            feedback.restore(before)
        return n_steps * self.header.n_nodes / seconds / 1e6

    def density(self) -> np.ndarray | None:
        """(n,) lattice density on rank 0."""
        return self._collect(self.engine.moments()[:1], lambda rows: 1.0 + rows[0])

    def pressure_pa(self) -> np.ndarray | None:
        """(n,) pressure relative to the reference pressure [Pa] on rank 0."""
        scale = self._pressure_scale()
        return self._collect(self.engine.moments()[:1], lambda rows: scale * rows[0])

    def velocity_m_s(self) -> np.ndarray | None:
        """(n, 3) velocity (x, y, z) [m/s] on rank 0."""
        return self._collect(self.engine.moments()[1:], lambda rows: self.units.velocity_to_si(np.stack(rows, axis=-1)))

    def field(self, name: str) -> np.ndarray | None:
        """(n, ...) values of an output field on rank 0: density [kg/m3], velocity [m/s], pressure [Pa], or one that a
        physics of the case brings along."""
        if name == "density":
            return self._collect(self.engine.moments()[:1], lambda rows: (1.0 + rows[0]) * self.units.density_kg_m3)
        own = {"velocity": self.velocity_m_s, "pressure": self.pressure_pa}
        if name in own:
            return own[name]()
        fields = {key: field for physics in self.physics for key, field in physics.output_fields.items()}
        return fields[name].values(self)

    def model_field(self, name: str) -> np.ndarray | None:
        """(n,) values of a field of the model as it is stored, in node-list order on rank 0."""
        return self.collect(self.engine.fields.get(name, self.engine.parity))

    def set_fields(self, fields: Mapping[str, np.ndarray]) -> None:
        """Overwrite fields of the model by values on the local nodes, (n,) in run order or (1,), by name."""
        for name, values in fields.items():
            self.engine.fields.set(name, values)

    def evolving(self) -> dict[str, np.ndarray]:
        """(n,) values on the local nodes of every field that is part of the state, by name."""
        fields = self.engine.fields
        return {name: fields.get(name, self.engine.parity) for name in fields.evolving}

    def particles(self) -> dict[str, dict[str, np.ndarray]] | None:
        """Columns of all particles by set and name, by ascending id, on rank 0."""
        return gathered_particles(self.engine, self.communicator)

    def populations(self):
        """Yield, direction by direction, the (n,) stored populations in node-list order (None off rank 0)."""
        for row in self.engine.populations():
            yield self.collect(row)

    def collect(self, row: np.ndarray) -> np.ndarray | None:
        """Values (n,) of the local nodes as one array in node-list order, on rank 0."""
        return self._gather.collect(row)

    def openings(self) -> dict[str, OpeningState] | None:
        """State of every opening by name, on rank 0; sums run in an order that does not depend on the ranks."""
        count = len(self.header.openings)
        sums = self.communicator.total(self.engine.opening_sums(count))
        if self.communicator.rank:
            return None
        return opening_states(self, sums, self.engine.feedback.record() if self.engine.feedback else {})

    def wall_forces(self, averaged: bool = True) -> dict[str, WallForce] | None:
        """Force and torque of the fluid on every labelled wall, on rank 0; collective.

        Args:
            averaged: over this step and the one before, where that is still there: interpolated walls leave an
                oscillation of period two. The answer is kept.
        """
        if not averaged:
            return self._measure_forces(averaged)
        if self._forces_step != self.step_number:
            self._forces, self._forces_step = self._measure_forces(averaged), self.step_number
        return self._forces

    def _measure_forces(self, averaged: bool) -> dict[str, WallForce] | None:
        labelled, links, distance = self.labelled_links
        return wall_forces(self, links, distance, self.engine.wall_exchange(averaged)[labelled])

    def node_probe(self, voxel: np.ndarray | None) -> NodeProbe:
        """A reader of the fluid nodes with (m,) ascending voxel ids, given on rank 0; collective."""
        scalars = [scalar.field for physics in self.physics for scalar in physics.probed]
        return NodeProbe(self.engine, self.communicator, voxel, scalars)

    @cached_property
    def labelled_links(self):
        """The local links into labelled walls, on first use; see
        :func:`muphy_lb.measure.wall_forces.labelled_links`."""
        return labelled_links(self._part_nodes, self.domain)

    def health(self) -> Health:
        """Mass change, largest and mean speed.

        Raises:
            DivergedError: a value is not finite, or the Mach number passes ``run.max_mach``; the message says where.
        """
        totals = self.engine.totals()
        max_speed = self.communicator.maximum(totals.speed)
        if not max_speed <= self.case.run.max_mach * sqrt(float(self.lattice.cs2)):
            raise DivergedError(divergence_message(self, self.engine.moments()[1:]))
        n = self.header.n_nodes
        mean_speed = self.communicator.total(totals.fixed_speed) / self._speed_scale() / n
        drift = (self.communicator.total(totals.mass) - self.initial_mass) / (n + self.initial_mass)
        return Health(drift, max_speed, mean_speed)

    def largest_density_change(self) -> float:
        """Largest difference of the lattice density from 1, on every rank; collective."""
        return self.communicator.maximum(float(np.abs(self.engine.moments()[0]).max(initial=0.0)))

    @cached_property
    def _gather(self) -> NodeGather:
        return NodeGather(self.communicator, self.domain.number, self.header.n_nodes)

    def _on_root(self, work):
        return work() if self.communicator.rank == 0 else None

    def _survey_openings(self) -> None:
        """What only the nodes around all openings tell, and the numbers of the run, which follow from that."""
        inspect, case, lattice = self.geometry.inspect, self.case, self.lattice
        slips = {section.name for section in case.walls if section.slip}
        slip = [number for number, wall in enumerate(self.header.walls) if wall.name in slips]
        self.frames = frames = inspect(lambda nodes: opening_frames(nodes, lattice, slip))
        self.numerics = self._resolve()
        self.conditions = opening_conditions(case, self.header, frames, self.units, float(lattice.cs2))
        self._carried = inspect(lambda nodes: unscaled_flow(nodes, lattice, frames, self.conditions, slip))

    def _build_domain(self) -> LocalDomain:
        part = self.geometry.part()
        self._part_nodes = part.nodes
        treatment = treat_walls(self.case.lattice.walls, self.motions)
        return domain_from_part(part, self.lattice, treatment, self.case.compute.order)

    def _resolve(self) -> Numerics:
        check_dimension(self.header, self.lattice, uniform_acceleration_m_s2(self.case, self.header))
        if self.case.lattice.walls != HALF_WAY and not streaming_named(self.case.compute.streaming).fills_slots:
            raise InputError(
                f"lattice.walls is {self.case.lattice.walls!r}, which needs compute.streaming = 'pull': the"
                f" others have no access to what they sent away; set compute.streaming = 'pull' or lattice.walls ="
                f" {HALF_WAY!r}"
            )
        refuse_to_watch_nothing(self.case, self.header)
        areas_m2 = opening_areas_m2(self.header, self.frames)
        return resolve(self.case, self.header.spacing_m, areas_m2, float(self.lattice.cs2))

    def _build_engine(self) -> Engine:
        case = self.case
        backend = make_backend(
            self._backend_name, self.lattice, PRECISIONS[case.compute.precision], self.communicator.local_rank
        )
        force, force_operator, present = build_force(case, self.header, self.domain, self.units)
        self.fluid = build_fluid(case, self.lattice, self.numerics.relaxation_time, self.units)
        self.physics: tuple[Physics, ...] = self._physics()
        model = self._model(force, force_operator)
        links = self.domain.links
        weights = link_weights(self.header, self.lattice, links, self.frames, self.conditions, self._carried)
        self.n_fallback_links: int
        conditions, self.n_fallback_links = link_conditions(
            self.domain, self._part_nodes, weights, self.conditions, case.lattice, self.motions
        )
        self._course = build_schedule(case, self.header, self.conditions, present, self.units)
        connector = HaloConnector(self.communicator, case.compute.transport)
        engine = Engine(backend, connector, self.domain, model, conditions, self._speed_scale())
        tune(engine)
        engine.warm_up()
        return engine

    def _physics(self) -> tuple[Physics, ...]:
        """What the case asks for beside the flow."""
        return tuple(kind(self.case, self.header, self.units) for kind in combined(packages(self.case)))

    def _model(self, force, force_operator) -> Model:
        streaming, given = self.case.compute.streaming, dict(zip(COMPONENTS, force, strict=True))
        flow = Flow(self.lattice, self.fluid, streaming, force_operator, given, self.domain.solid)
        for physics in self.physics:
            flow = physics.extend(flow)
        return flow.model()

    @property
    def present_force(self) -> np.ndarray:
        """(3,) uniform body force per volume of this step, lattice units; a field of forces is not in it."""
        return self._course.at(np.array([float(self.step_number)]))[0][-3:]

    def upload_schedule(self) -> None:
        """Hand the engine boundary values and force of the steps to come; also after some that did not count."""
        self._scheduled_until = inf
        if self._course.changes:
            rows, self._scheduled_until = self._course.rows(self.step_number)
            self.engine.schedule(rows)

    def _speed_scale(self) -> float:
        return 2.0 ** (FIXED_POINT_BITS - ceil(log2(self.header.n_nodes + 1)))

    def _pressure_scale(self) -> float:
        return self.units.density_to_pressure(2.0, float(self.lattice.cs2))

    def _collect(self, rows, finish):
        collected = [self._gather.collect(row) for row in rows]
        return finish(collected) if self.communicator.rank == 0 else None
