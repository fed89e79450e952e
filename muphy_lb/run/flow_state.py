"""FlowState: how the state of a simulation is set, at the start, from a checkpoint, and by the user."""

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.wall_motion import HALF_WAY
from muphy_lb.engine.neighbour_values import NeighbourValues
from muphy_lb.measure.flow_view import OpeningState
from muphy_lb.parallel import agreed_on_root
from muphy_lb.run.kept_forces import KeptForces
from muphy_lb.run.kept_openings import KeptOpenings
from muphy_lb.setup.consistent_pressure import PressureEquation, momentum_flux, refuse_openings
from muphy_lb.setup.initial import check_density, check_velocity
from muphy_lb.setup.initial_stress import VelocityGradient, stress_of, viscosity_of

if TYPE_CHECKING:
    from muphy_lb.engine.engine import Engine
    from muphy_lb.physics.package import Physics

NO_FIELDS: Mapping[str, np.ndarray] = MappingProxyType({})


def refuse_two_starts(case, physics: "tuple[type[Physics], ...]") -> None:
    """Refuse a section [initial] beside a physics that sets the flow itself.

    Raises:
        InputError: both are there.
    """
    for each in physics:
        if case.initial is not None and each.sets_flow:
            raise InputError(
                f"the case has [initial] and [{each.name}], which says itself with which pressure and velocity the flow"
                " starts; remove [initial]"
            )


class FlowState:
    """The part of a simulation that sets its state; see :class:`muphy_lb.run.solver.Solver`.

    Arrays that a user hands in are in node-list order, that of ``velocity_m_s()``, on rank 0; other ranks give None.
    """

    engine: "Engine"
    physics: "tuple[Physics, ...]"
    step_number: int
    _forces: KeptForces
    _openings: KeptOpenings

    def __getattr__(self: Any, name: str):
        """A method that a physics of the case brings along."""
        if not name.startswith("_"):
            for physics in self.__dict__.get("physics", ()):
                if name in physics.methods:
                    return physics.methods[name].__get__(self)
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def start_from_rest(self: Any) -> None:
        """Step 0 of the case: density 1 and velocity 0, or what [initial] or a physics starts with."""
        self.step_number = 0
        self._forget_measures()
        if self.engine.feedback:
            self.engine.feedback.reset()
        self.engine.set_present(self._course.at(np.zeros(1))[0])
        self.engine.set_step_number(0)
        density, velocity = self.starting_flow(self.set_fields, self._set_particles)
        section = self.case.initial
        with_stress = section is not None and section.stress
        self._start_from(density, velocity, with_stress, section is not None and section.consistent_pressure)
        self.engine.actions.start()

    def set_velocity_m_s(self: Any, values, stress: bool = True, consistent_pressure: bool = False) -> None:
        """Overwrite the velocity; the pressure stays as it is unless it is computed.

        Args:
            values: (n, 3) velocity (x, y, z) [m/s] of all nodes, or (3,) of each.
            stress: whether the populations have the viscous stress of the field
                (:mod:`muphy_lb.operators.initial`).
            consistent_pressure: compute the pressure from it (:mod:`muphy_lb.setup.consistent_pressure`).

        Raises:
            InputError: another shape, values that are not finite or too fast; a physics sets the flow itself.
        """
        rows = self.scattered("set_velocity_m_s", values, 3)
        velocity = self.units.velocity_to_lattice(rows)
        self._checked(check_velocity, "set_velocity_m_s: the velocity", velocity)
        self._overwrite(1.0 + self.engine.moments()[0].astype(np.float64), velocity, stress, consistent_pressure)

    def set_pressure_pa(self: Any, values, stress: bool = True) -> None:
        """Overwrite the pressure [Pa], relative to the reference pressure, by (n,) values of all nodes or one number;
        the velocity stays as it is.

        Raises:
            InputError: as :meth:`set_velocity_m_s`.
        """
        rows = self.scattered("set_pressure_pa", values, 1)
        density = self.units.pressure_to_density(rows[0], float(self.lattice.cs2))
        self._checked(check_density, "set_pressure_pa: the pressure", density)
        self._overwrite(density, self.engine.moments()[1:].astype(np.float64), stress, False)

    def scattered(self: Any, what: str, values, n_components: int) -> np.ndarray:
        """(k, n) float64 values of the local nodes of those that a user hands in on rank 0; collective.

        Raises:
            InputError: they have another shape, or are not finite.
        """
        problem = self._on_root(lambda: _problem(what, values, self.header.n_nodes, n_components))
        if problem := self.communicator.broadcast(problem):
            raise InputError(problem)
        is_root = self.communicator.rank == 0
        shape = (self.header.n_nodes, n_components)
        whole = np.broadcast_to(_as_rows(values, n_components), shape).T if is_root else [None] * n_components
        return np.stack([self._gather.scatter(row) for row in whole])

    def restart_from(
        self: Any, populations: np.ndarray, step_number: int, initial_mass: float, fields=NO_FIELDS
    ) -> None:
        """Continue from stored populations (Q, n) of the local nodes and, by name, fields (n,); what else belongs to
        the state comes by :meth:`restart_others`."""
        self.set_fields(fields)
        self.engine.set_populations(populations)
        self.step_number, self.initial_mass = step_number, initial_mass
        self._forget_measures()
        self.engine.set_present(self._course.at(np.array([float(step_number)]))[0])
        self.engine.set_step_number(step_number)
        self.upload_schedule()

    def restart_others(self: Any, feedback: Mapping[str, list], particles: Mapping[str, Mapping], wall_forces) -> None:
        """Continue from states of conditions with feedback, by number of the opening, from the columns of all
        particles, by set and name, and from records of the wall forces of this step, which need the step before."""
        if wall_forces:
            self._forces.restore(self._on_root(lambda: wall_forces), self.step_number)
        if self.engine.feedback:
            self.engine.feedback.restore(feedback)
        self._set_particles(particles)

    def _set_particles(self, found: Mapping[str, Mapping]) -> None:
        """Overwrite the particles of some sets, on all ranks."""
        for name, columns in found.items():
            self.engine.particle_sets.set(name, columns)

    def set_fields(self, fields: Mapping[str, np.ndarray]) -> None:
        """Overwrite fields of the model by values on the local nodes, (n,) in run order or (1,), by name."""
        for name, values in fields.items():
            self.engine.fields.set(name, values)

    def restore_openings(self: Any, states: Mapping[str, OpeningState] | None) -> None:
        """Take the states of the openings at this step, on rank 0, which were measured before a change."""
        self._openings.restore(states, self.step_number)

    def _forget_measures(self: Any) -> None:
        """Keep nothing that was measured in another flow."""
        self._forget_two_steps()
        self._openings.forget()

    def _overwrite(self: Any, density, velocity, stress: bool, consistent_pressure: bool) -> None:
        """Overwrite the flow in the middle of a run, or at its start."""
        for each in self.physics:
            if each.sets_flow:
                raise InputError(f"[{each.name}] says itself where there is fluid and how it flows; it is not set here")
        self._forget_measures()
        self._start_from(density, velocity, stress, consistent_pressure)

    def _checked(self: Any, check, what: str, values: np.ndarray) -> None:
        """Raise what a check says of the values of any rank, on all ranks."""
        problem = ""
        try:
            check(what, values, self.domain, self.units)
        except InputError as error:
            problem = str(error)
        if problem := self.communicator.maximum(problem):
            raise InputError(problem)

    def _start_from(self: Any, density, velocity, with_stress: bool, with_pressure: bool) -> None:
        """Go on from density (n,) or (1,) and velocity (3, n) or (3, 1), lattice units."""
        stress, n = None, self.domain.n_nodes
        if with_pressure or (with_stress and velocity.shape[1] > 1):
            velocity = np.broadcast_to(velocity, (3, n))
            strain = self._gradient.of(velocity)
            if with_pressure:
                density = self._consistent_density(density, velocity, strain)
            inertia = density if self.fluid.equilibrium.is_compressible else 1.0
            stress = stress_of(self.fluid, inertia, strain) if with_stress else None
        self.engine.start_from(density, velocity, stress)
        self.upload_schedule()
        self.initial_mass = self.communicator.total(self.engine.totals().mass)

    def _consistent_density(self: Any, density, velocity: np.ndarray, strain: np.ndarray) -> np.ndarray:
        """(n,) density of the same mean that belongs to a velocity field."""
        refuse_openings(self.header)
        model, n = self.engine.model, np.arange(self.domain.n_nodes)
        force = model.force.reference(n, self.engine.host_parameters())
        flux = momentum_flux(model.equilibrium, velocity, strain, viscosity_of(self.fluid, strain))
        equation = PressureEquation(self.lattice, self._neighbours, self.communicator, self.header.n_nodes)
        return 1.0 + equation.mean(np.broadcast_to(density - 1.0, n.shape)) + equation.density(flux, force)

    @cached_property
    def _neighbours(self: Any) -> NeighbourValues:
        return NeighbourValues(self.domain, self.communicator)

    @cached_property
    def _gradient(self: Any) -> VelocityGradient:
        is_half_way = self.case.lattice.walls == HALF_WAY
        return VelocityGradient(self.domain, self._neighbours, self._part_nodes, self.motions, is_half_way)

    def _on_root(self, work):
        return agreed_on_root(self.communicator, work)


def _as_rows(values, n_components: int) -> np.ndarray:
    """Values of all nodes as (n, k) or (1, k)."""
    array = np.asarray(values, dtype=np.float64)
    return array[:, None] if n_components == 1 and array.ndim == 1 else np.atleast_2d(array)


def _problem(what: str, values, n_nodes: int, n_components: int) -> str | None:
    """What is wrong with values that a user hands in, on rank 0."""
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
