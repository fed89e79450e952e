"""State: the populations, fields and particles of a flow, and all other data from which its next step follows."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.engine.engine import Engine
from muphy_lb.engine.sums import last_sums, restore_sums
from muphy_lb.engine.transfers import NeighbourValues, leaving_populations, restore_leaving
from muphy_lb.measure.records import OpeningState
from muphy_lb.parallel import NodeGather, agreed_on_root
from muphy_lb.run.openings import KeptOpenings
from muphy_lb.run.walls import WallMeasures
from muphy_lb.setup.initial import (
    PressureEquation,
    VelocityGradient,
    check_density,
    check_velocity,
    momentum_flux,
    refuse_openings,
    stress_of,
    viscosity_of,
)

if TYPE_CHECKING:
    from muphy_lb.run.solver import Solver


@dataclass(frozen=True, eq=False)
class StateRecord:
    """A state in memory; it holds what a checkpoint does."""

    #: step, initial_mass: number of the step, and mass of the start
    step: int
    initial_mass: float
    populations: np.ndarray  #: (Q, n) stored populations of this rank's nodes
    fields: Mapping[str, np.ndarray]  #: (n,) fields of this rank's nodes, by name
    feedback: Mapping[str, list[float]]  #: states of conditions that answer their flow, by number of the opening
    particles: Mapping[str, Mapping]  #: columns of all particles, by set and name
    #: sums that the last collision has read, by field (:mod:`muphy_lb.engine.sums`)
    sums: Mapping[str, Mapping[str, np.ndarray]]
    #: records of the wall forces of this step, by name of the wall, which need the step before
    forces: Mapping[str, Mapping]
    actions: Mapping[str, Mapping[str, np.ndarray]]  #: arrays that each action remembers, by name
    leaving: Mapping[str, np.ndarray]  #: populations that left through openings (:mod:`muphy_lb.engine.transfers`)
    stress: Mapping[str, np.ndarray]  #: record of the stress beside walls, on rank 0
    openings: Mapping[str, OpeningState] | None = None  #: states of the openings of a state that moves, on rank 0
    #: collects the rows of a state that moves to other owners or to another flow; None for one of a file
    gather: NodeGather | None = None
    stride: int = 1  #: steps of the flow that one of what it carries takes


class State:
    """The state of a flow: set at the start, by the user, and from a record.

    Arrays that a user hands in are in node-list order, that of ``velocity_m_s()``, on rank 0; other ranks give None.

    Args:
        flow: the flow, whose engine holds the populations.

    Attributes:
        step_number: steps since the start.
        initial_mass: mass of the start, the sum of rho - 1.
        openings, walls: measures of the present step that need the step before.
    """

    def __init__(self, flow: "Solver"):
        self._flow, self.step_number, self.initial_mass = flow, 0, 0.0
        self.openings, self.walls = KeptOpenings(), WallMeasures(flow)

    @property
    def _engine(self) -> Engine:
        return self._flow.engine  # another one after a move of nodes

    def release(self) -> None:
        """Release the engine and the nodes of this rank, before these change."""
        for name in ("gather", "_neighbours", "_gradient"):
            self.__dict__.pop(name, None)
        self.walls.begin_anew()

    def start(self) -> None:
        """Step 0 of the case: density 1 and velocity 0, or the flow of [initial] or of a physics."""
        self.step_number = 0
        self._forget_measures()
        if self._engine.feedback:
            self._engine.feedback.reset()
        self._flow.set_present(0)
        restore_sums(self._engine, {})
        density, velocity = self._flow.starting_flow(self.set_fields, self.set_particles)
        section = self._flow.case.initial
        with_stress = section is not None and section.stress
        self._start_from(density, velocity, with_stress, section is not None and section.consistent_pressure)
        self._engine.actions.start()

    def set_velocity_m_s(self, values, stress: bool = True, consistent_pressure: bool = False) -> None:
        """Overwrite the velocity; the pressure stays as it is unless it is computed.

        Args:
            values: (n, 3) velocity (x, y, z) [m/s] of all nodes, or (3,) of each.
            stress: whether the populations have the viscous stress of the field
                (:mod:`muphy_lb.operators.initial`).
            consistent_pressure: compute the pressure from it (:mod:`muphy_lb.setup.initial`).

        Raises InputError: another shape, values that are not finite or too fast; a pressure is to be computed, and a
        physics sets it.
        """
        velocity = self._flow.units.velocity_to_lattice(self.scattered("set_velocity_m_s", values, 3))
        self._check(check_velocity, "set_velocity_m_s: the velocity", velocity)
        self._overwrite(1.0 + self._engine.moments()[0].astype(np.float64), velocity, stress, consistent_pressure)

    def set_pressure_pa(self, values, stress: bool = True) -> None:
        """Overwrite the pressure [Pa], with the reference pressure, by (n,) values of all nodes or one number;
        the velocity stays as it is. Raises InputError: another shape, values that are not finite or too large; a
        physics sets the pressure."""
        self._refuse_pressure()
        rows = self.scattered("set_pressure_pa", values, 1)
        density = self._flow.units.pressure_to_density(rows[0], float(self._flow.lattice.cs2))
        self._check(check_density, "set_pressure_pa: the pressure", density)
        self._overwrite(density, self._engine.moments()[1:].astype(np.float64), stress, False)

    def scattered(self, what: str, values, n_components: int) -> np.ndarray:
        """(k, n) float64 values of the local nodes of those that a user hands in on rank 0; collective. Raises
        InputError: they have another shape, or are not finite."""
        communicator, n_nodes = self._flow.communicator, self._flow.header.n_nodes
        problem = agreed_on_root(communicator, lambda: _problem(what, values, n_nodes, n_components))
        if problem := communicator.broadcast(problem):
            raise InputError(problem)
        whole: list | np.ndarray = [None] * n_components
        if communicator.rank == 0:
            array = np.asarray(values, dtype=np.float64)
            rows = array[:, None] if n_components == 1 and array.ndim == 1 else np.atleast_2d(array)
            whole = np.broadcast_to(rows, (n_nodes, n_components)).T
        return np.stack([self.gather.scatter(row) for row in whole])

    def set_fields(self, fields: Mapping[str, np.ndarray]) -> None:
        """Overwrite fields of the model by values on the local nodes, (n,) in run order or (1,), by name."""
        for name, values in fields.items():
            self._engine.fields.set(name, values)

    def set_particles(self, found: Mapping[str, Mapping]) -> None:
        """Overwrite the particles of some sets, on all ranks."""
        for name, columns in found.items():
            self._engine.particle_sets.set(name, columns)

    def fields(self) -> dict[str, np.ndarray]:
        """(n,) values on the local nodes of every field that is part of the state, by name."""
        fields = self._engine.fields
        return {name: fields.get(name, self._engine.parity) for name in fields.evolving}

    def particles(self) -> dict[str, dict[str, np.ndarray]] | None:
        """Columns of all particles by set and name, by ascending id, on rank 0; collective."""
        found = {}
        for each in self._engine.model.particles:
            parts = self._flow.communicator.gather(self._engine.particle_sets.get(each.name))
            if parts:
                joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
                order = np.argsort(joined["id"])
                found[each.name] = {name: column[order] for name, column in joined.items()}
        return None if self._flow.communicator.rank else found

    def forces_record(self) -> dict[str, dict]:
        """Records of the wall forces by name of the wall, on rank 0; else empty; collective."""
        forces = self.walls.forces() if self._flow.header.walls else None
        return {name: asdict(force) for name, force in (forces or {}).items()}

    def stress_record(self) -> dict[str, np.ndarray]:
        """The stress beside walls on rank 0, if the run records it; else empty; collective."""
        stress = self.walls.stress()
        return stress.record() if stress else {}

    def keep_measures(self) -> None:
        """Measure the results of the present step, before conditions change; collective."""
        self.forces_record()
        self.stress_record()
        if self._flow.header.openings:
            self.openings.restore(self.openings.present(self._flow), self.step_number)

    def record(self) -> StateRecord:
        """The present state; collective."""
        communicator, engine = self._flow.communicator, self._engine
        forces = self.forces_record()
        return StateRecord(
            step=self.step_number,
            initial_mass=self.initial_mass,
            populations=engine.populations(),
            fields=self.fields(),
            gather=NodeGather(communicator, self._flow.domain.number, self._flow.header.n_nodes),
            forces=communicator.broadcast(forces),
            feedback=communicator.broadcast(engine.feedback.record() if engine.feedback else {}),
            particles=communicator.broadcast(self.particles()),
            sums=communicator.broadcast(last_sums(engine, communicator)),
            actions=communicator.broadcast(engine.actions.record()),
            leaving=communicator.broadcast(leaving_populations(engine, communicator)),
            stress=self.stress_record(),
            openings=self.openings.present(self._flow),
            stride=self._flow.stride,
        )

    def go_on_from(self, record: StateRecord) -> None:
        """Continue from a state of the same nodes; collective.

        Parts that the flow does not have, such as the fields of a physics that its case has no more, are left out; what
        it has beside stays as at the start.
        """
        self._flow.follow_stride(record)
        engine, gather = self._engine, record.gather
        fields = {name: row for name, row in record.fields.items() if name in engine.fields.evolving}
        populations = record.populations
        if gather:
            populations = np.stack([self._moved(row, gather) for row in populations])
            fields = {name: self._moved(row, gather) for name, row in fields.items()}
        self.restart_from(populations, record.step, record.initial_mass, fields)
        for physics in self._flow.physics:
            self.set_fields(physics.restarted(self._flow, record.stride))
        if engine.feedback:
            engine.feedback.restore(_left(record.feedback, engine.feedback.record()))
        names = [each.name for each in engine.model.particles]
        self.set_particles({name: record.particles[name] for name in names if name in record.particles})
        if gather:
            self.openings.restore(record.openings, record.step)
        restore_sums(engine, record.sums)
        engine.actions.restore(engine.actions.record() | dict(record.actions))
        restore_leaving(engine, record.leaving)
        self.walls.restore(record.forces, record.stress)

    def restart_from(
        self,
        populations: np.ndarray,
        step_number: int,
        initial_mass: float,
        fields: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        """Continue from stored populations (Q, n) of the local nodes and, by name, fields (n,) alone."""
        self.set_fields(fields or {})
        self._engine.set_populations(populations)
        self.step_number, self.initial_mass = step_number, initial_mass
        self._forget_measures()
        self._flow.set_present(step_number)
        self._flow.upload_schedule()

    def _moved(self, row: np.ndarray, gather: NodeGather) -> np.ndarray:
        """Values of the nodes of this rank, from those of its former nodes."""
        return self.gather.scatter(gather.collect(row), row.dtype)

    def _forget_measures(self) -> None:
        self.walls.forget()
        self.openings.forget()

    def _refuse_pressure(self) -> None:
        for each in self._flow.physics:
            if each.sets_pressure:
                raise InputError(
                    f"[{each.name}] sets the initial pressure itself; give it by the section [initial]"
                    " of the case, if not by that of the physics"
                )

    def _overwrite(self, density, velocity, stress: bool, consistent_pressure: bool) -> None:
        if self._flow.step_number >= self._flow.frozen_from:
            raise InputError(
                f"the flow is frozen from step {self._flow.frozen_from} on (run.frozen_after_s), and what it carries"
                " is transported with its velocity: set the flow before, or give a later run.frozen_after_s"
            )
        if consistent_pressure:
            self._refuse_pressure()
        self._forget_measures()
        self._start_from(density, velocity, stress, consistent_pressure)

    def _check(self, check, what: str, values: np.ndarray) -> None:
        """Raise the error of a check of the values of any rank, on all ranks."""
        problem = ""
        try:
            check(what, values, self._flow.domain, self._flow.units)
        except InputError as error:
            problem = str(error)
        if problem := self._flow.communicator.maximum(problem):
            raise InputError(problem)

    def _start_from(self, density, velocity, with_stress: bool, with_pressure: bool) -> None:
        """Continue from density (n,) or (1,) and velocity (3, n) or (3, 1), lattice units."""
        stress, fluid = None, self._flow.fluid
        if with_pressure or (with_stress and velocity.shape[1] > 1):
            velocity = np.broadcast_to(velocity, (3, self._flow.domain.n_nodes))
            strain = self._gradient.of(velocity)
            if with_pressure:
                density = self._consistent_density(density, velocity, strain)
            inertia = density if fluid.equilibrium.is_compressible else 1.0
            parameters = self._engine.host_parameters() if fluid.closure.reads else None
            stress = stress_of(fluid, inertia, strain, parameters) if with_stress else None
        self._engine.start_from(density, velocity, stress)
        self._flow.upload_schedule()
        self.initial_mass = self._flow.communicator.total(self._engine.totals().mass)

    def _consistent_density(self, density, velocity: np.ndarray, strain: np.ndarray) -> np.ndarray:
        """(n,) density of the same mean that belongs to a velocity field."""
        flow, model = self._flow, self._engine.model
        refuse_openings(flow.header)
        n = np.arange(flow.domain.n_nodes)
        parameters = self._engine.host_parameters()
        force = model.force.reference(n, parameters)
        flux = momentum_flux(model.equilibrium, velocity, strain, viscosity_of(flow.fluid, strain, parameters))
        equation = PressureEquation(flow.lattice, self._neighbours, flow.communicator, flow.header.n_nodes)
        return 1.0 + equation.mean(np.broadcast_to(density - 1.0, n.shape)) + equation.density(flux, force)

    @cached_property
    def gather(self) -> NodeGather:
        """Collects rows of the local nodes on rank 0, and scatters them."""
        return NodeGather(self._flow.communicator, self._flow.domain.number, self._flow.header.n_nodes)

    @cached_property
    def _neighbours(self) -> NeighbourValues:
        return NeighbourValues(self._flow.domain, self._flow.communicator)

    @cached_property
    def _gradient(self) -> VelocityGradient:
        flow = self._flow
        is_half_way = flow.case.lattice.walls == HALF_WAY
        return VelocityGradient(flow.domain, self._neighbours, flow.part_nodes, flow.motions, is_half_way)


def _left(states: Mapping[str, list[float]], own: Mapping[str, list[float]]) -> dict[str, list[float]]:
    """Of the states of openings that answered their flow, those that still have a condition which does, with as many
    numbers; the others begin again."""
    return {number: record for number, record in states.items() if len(own.get(number, ())) == len(record)}


def _problem(what: str, values, n_nodes: int, n_components: int) -> str | None:
    """Reason to refuse values given by a user, on rank 0."""
    one, many = ((), (n_nodes,)) if n_components == 1 else ((n_components,), (n_nodes, n_components))
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return f"{what}: the values are of type {type(values).__name__}; give an array of numbers of shape {many}"
    if array.shape not in (one, many):
        return (
            f"{what}: the values have shape {array.shape}; allowed: {many}, the nodes in the order of velocity_m_s(),"
            f" or {one} for all nodes"
        )
    return None if np.isfinite(array).all() else f"{what}: the values are not all finite; give numbers"
