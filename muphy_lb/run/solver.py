"""Solver: a case bound to ranks and devices, stepping in lattice units and answering in SI units."""

import gc
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, inf, isfinite, sqrt
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np

from muphy_lb.backends import load_helpers, make_backend, resolve_backend
from muphy_lb.base.errors import DivergedError, InputError
from muphy_lb.base.kept import helpers
from muphy_lb.base.precision import PRECISIONS
from muphy_lb.case.case import Case, as_case
from muphy_lb.case.output import GRADIENT
from muphy_lb.engine.autotune import tune
from muphy_lb.engine.engine import Engine
from muphy_lb.geometry.limits import shown
from muphy_lb.geometry.nodes import GeometryHeader
from muphy_lb.geometry.quantities import number_in_si
from muphy_lb.geometry.surfaces.triangles import SURFACES
from muphy_lb.lattice.exact_sums import from_two_parts, scale_of_sums
from muphy_lb.measure.flow_view import Health, OpeningState, whole_nodes
from muphy_lb.measure.monitor import Monitor, RunStatus, poll
from muphy_lb.measure.node_probe import NodeProbe
from muphy_lb.measure.node_sums import Measure, NodeSums
from muphy_lb.measure.records import WallForce
from muphy_lb.measure.shear.fields import STRESS_FIELDS, local_numbers, velocity_gradient
from muphy_lb.measure.shear.stress import RecordedStress
from muphy_lb.parallel import agreed_on_root, connect
from muphy_lb.parallel.choice import HaloConnector
from muphy_lb.run.description import described
from muphy_lb.run.preparation import Preparation
from muphy_lb.run.state import State, StateRecord
from muphy_lb.run.verdict import divergence_message
from muphy_lb.setup.boundaries import build_schedule, opening_conditions
from muphy_lb.setup.force import build_force
from muphy_lb.setup.geometry import is_surface
from muphy_lb.setup.waveforms import STEPS_OF_WAVE, fastest_of_flow_s

LOG = logging.getLogger(__name__)
ROUNDING = 1e-9  # share of a step by which the quotient of two times may miss a whole number of steps
COVER_A_TIME = "round it, or give the time to run_for(time_s), which takes as many steps as cover it"


class Ahead:
    """Kernels of a case ahead of its nodes; construction is collective, and looks for the device. Raises MuphyError: it
    is not there.

    Attributes:
        on: name of the backend, and number of this rank on its machine.
    """

    def __init__(self, case: Case, communicator):
        if is_surface(case):
            helpers.expected(SURFACES)
        helpers.begin_early()  # ahead of the search
        backend = agreed_on_root(communicator, lambda: resolve_backend(case.compute.backend))
        self.on = communicator.broadcast(backend), communicator.local_rank  # which is collective at first
        self._case, self._n_ranks, self._has_seen = case, communicator.size, False
        if helpers.are_at_work():
            load_helpers(*self.on)

    def seen(self, header: GeometryHeader) -> None:
        """Start the compilation by helpers of the kernels of a step, once the first header, with an approximate number
        of nodes, is known."""
        if helpers.are_at_work() and not self._has_seen:
            self._has_seen = True
            from muphy_lb.run.rehearsal import rehearse

            rehearse(self._case, replace(header, n_nodes=-(-header.n_nodes // self._n_ranks)), *self.on)


class Solver(Preparation):
    """One flow.

    Three lines are enough: ``solver = Solver.from_case("vessel.toml"); solver.step(1000); u = solver.velocity_m_s()``.
    Field methods are collective: every rank calls them, rank 0 gets node-list-ordered arrays, the others None.
    Results are annotated ``| Any`` in place of ``| None``: a program of one rank reads them without a test.

    Args:
        case: the case, the path of its file, or its tables by name.
        communicator: the ranks; found by itself if not given.
        nodes: the geometry, distributed or on rank 0, if it is already there; else the case's geometry is read.

    Attributes:
        engine: the engine of this rank.
        state: the state, and how it is set.
        monitor: sees the flow between steps (:mod:`muphy_lb.measure.monitor`); at first one that never looks.

    Raises:
        MuphyError: the case cannot be run; the message says why.
    """

    def __init__(self, case: Case | str | PathLike | Mapping, communicator=None, nodes=None):
        case, communicator, self.monitor = as_case(case), communicator or connect(), Monitor()
        self._ahead = Ahead(case, communicator)
        super().__init__(case, communicator, nodes)
        self.engine: Engine = self._build_engine()
        self.state, self._has_stride = State(self), False
        for physics in self.physics:
            for name, method in physics.methods.items():
                setattr(self, name, partial(method, self))
        self.state.start()

    def _seen(self, header: GeometryHeader) -> None:
        self._ahead.seen(header)

    @classmethod
    def from_case(cls, case, overrides=(), communicator=None) -> "Solver":
        """Read a case file (or take its tables), change single keys (``"run.steps=100"``), and build the simulation."""
        return cls(as_case(case, overrides), communicator)

    def __repr__(self):
        return (
            f"<Solver {self.case.title!r}: {self.header.n_nodes:,} nodes of {self.header.spacing_m:.4g} m,"
            f" {self.lattice.name} on {self.backend_name}, step {self.step_number:,} (t = {self.time_s:.4g} s)>"
        )

    def describe(self) -> str:
        """A description of the flow and its computation, for people; collective."""
        return described(self, self.engine)

    @property
    def step_number(self) -> int:  # type: ignore[override]  # before the start it is 0
        """Steps since the start."""
        return self.state.step_number

    @property
    def backend_name(self) -> str:
        """The name of the backend that runs the kernels."""
        return self.engine.backend.name

    @property
    def device(self) -> str:
        """Name of the device."""
        return self.engine.backend.device

    @property
    def collision_name(self) -> str:
        """Name of the collision operator with all wrappers."""
        return self.engine.model.collision.name

    @property
    def time_s(self) -> float:
        """Physical time [s]."""
        return self.units.steps_to_time(self.step_number)

    def rebuild(self) -> None:
        """A domain and an engine without a state, for the present owners of the nodes; collective."""
        del self.domain, self.engine, self.part_nodes
        self.state.release()
        self.monitor.release()
        for probe in self._probes:
            probe.release()
        gc.collect()
        self._lay_out()
        self.engine = self._build_engine()

    def begin_anew(self) -> None:
        """An engine without a state, as ahead of the first step; collective."""
        self.stride, self._has_stride = 1, False
        self.rebuild()

    def impose(self, case: Case) -> None:
        """Take a case that differs from the present one in values of openings, the body force, [run] and [output]
        alone; they hold from the next step on. Where zones, the collision or the force follow from them, the engine is
        rebuilt. Collective. Raises InputError: the flow would be too fast, or the pressures too large."""
        numerics = self._resolve(case)
        conditions = opening_conditions(case, self.header, self.frames, self.units, float(self.lattice.cs2))
        for name, values in [item for physics in self.physics for item in physics.impose(case, self.domain).items()]:
            self.engine.fields.put(name, values)
        is_laid_out = self._regime(numerics, conditions) == self._regime(self.numerics, self.conditions)
        is_laid_out &= case.flow == self.case.flow  # the body force is a number in the kernels' parameters
        record = None if is_laid_out else self.state.record()
        if is_laid_out:  # results stay those of the last step
            self.state.keep_measures()
        self.case, self.numerics, self.conditions = case, numerics, conditions
        if record is not None:
            self.rebuild()
            self.state.go_on_from(record)
            return
        driving = build_force(case, self.header, self.domain, self.units)[2]
        self._schedule = build_schedule(case, self.header, conditions, driving, self.units, self.model.courses)
        self.upload_schedule()
        if not self._schedule.changes:  # all of them are zero from now on
            self.engine.schedule(self._schedule.at(np.array([self.step_number + 1.0])))

    def step(self, n_steps: float = 1) -> None:
        """Advance by a whole number of steps; every ``run.check_interval_steps`` its health is checked. The ``monitor``
        may request a pause in between, or an end before the last of them. Raises InputError: ``n_steps`` is not whole,
        or negative; DivergedError: the flow is unstable; see :meth:`health`."""
        last, every = self.step_number + whole_steps(n_steps), self.case.run.check_interval_steps
        while self.step_number < last:
            until = min(last, (self.step_number // every + 1) * every, self.monitor.next_step)
            self.advance(int(until) - self.step_number, until == last or until >= self.monitor.next_step)
            if self.is_due(every):
                self.health()
            if self.step_number >= self.monitor.next_step and poll(self.monitor, lambda: RunStatus(last)):
                break
        self.monitor.rest(RunStatus(last))

    def advance(self, n_steps: int, is_told: bool = True) -> int:
        """Advance by some steps without looking at the flow; ``is_told`` where wall forces or the stress beside walls
        may be asked for behind the last of them (:class:`muphy_lb.run.walls.WallMeasures`). Where what a frozen flow
        carries takes longer steps, the last of these may lead beyond. Returns the number of updates of every node."""
        last, walls, n_updates = self.step_number + n_steps, self.state.walls, 0
        while self.step_number < last:
            lengthens_at = self._lengthens_at
            if self.step_number >= lengthens_at:
                self._lengthen_steps()
                continue
            if self.step_number >= self._scheduled_until:
                self.upload_schedule()
            until = min(self._scheduled_until, self.engine.actions.next_step(self.step_number), lengthens_at, last)
            stretch = ceil((until - self.step_number) / self.stride)
            if is_told and until == last and walls.are_measured:
                self.engine.advance(stretch - 1)
                walls.remember()
                self.engine.advance(1)
            else:
                self.engine.advance(stretch)
            self.state.step_number += stretch * self.stride
            n_updates += stretch
            self.engine.actions.act(self.step_number)
        if self.step_number >= self._scheduled_until:
            self.upload_schedule()  # what is measured ahead of a step has its values
        return n_updates

    def is_due(self, every: int) -> bool:
        """Whether an action with an interval of steps is due after the present step."""
        return self.step_number % every < self.stride

    @property
    def _lengthens_at(self) -> float:
        """Step after which the scalars of the frozen flow take steps of their own, if these have not been chosen."""
        is_plain = self.case.run.frozen_step_s is None and self.stride == 1 and self.beat is None
        return inf if is_plain or self._has_stride else self.frozen_from

    def _lengthen_steps(self) -> None:
        """Choose the steps of the scalars in the frozen flow, and continue with them."""
        max_speed, longest_s = self.health().max_speed, self.case.run.frozen_step_s or 0.0
        fastest_s = inf
        if self.beat:
            self.beat.check()
            max_speed, fastest_s = max(max_speed, self.beat.largest), fastest_of_flow_s(self.case)
        allowed = min(physics.longest_stride(max_speed) for physics in self.physics)
        longest_s = min(longest_s, fastest_s / STEPS_OF_WAVE)
        stride = max(1, int(min(allowed, (1.0 + ROUNDING) * longest_s / self.units.time_step_s)))
        self._has_stride = True
        if self.communicator.rank == 0:
            step_s = self.units.steps_to_time(stride)
            LOG.info(
                "the flow is frozen; what it carries advances in steps of %.4g s (%d time steps of the flow)",
                step_s,
                stride,
            )
        if stride != self.stride:
            record = self.state.record()
            self._take_stride(stride)
            self.state.go_on_from(record)

    def follow_stride(self, record: StateRecord) -> None:
        """A domain and an engine without a state, in which what the frozen flow carries takes the steps of a record, if
        no others have been chosen; the case has the next ones chosen again. Collective."""
        if not self._has_stride and record.stride != self.stride and record.step > self.frozen_from:
            self._take_stride(record.stride)

    def _take_stride(self, stride: int) -> None:
        self.stride = stride
        self.rebuild()

    def run_for(self, time_s: float) -> None:
        """Advance by a time [s], rounded up to whole steps: by less than ``units.time_step_s`` more than asked for.
        Raises InputError: ``time_s`` is not a finite number, or negative."""
        self.step(steps_covering(time_s, self.units.time_step_s))

    def timed_mflups(self, n_steps: int) -> float:
        """Million node updates per second of all ranks over some steps, which the step number does not count."""
        self.communicator.barrier()
        feedback = self.engine.feedback
        before = feedback.record() if feedback else None
        seconds = self.communicator.maximum(self.engine.time_steps(n_steps))
        self.upload_schedule()
        self.engine.set_step_number(self.step_number)
        if feedback and before is not None:
            feedback.restore(before)
        return n_steps * self.header.n_nodes / seconds / 1e6

    def density(self) -> np.ndarray | Any:
        """(n,) lattice density on rank 0."""
        return self._collect(self.engine.moments()[:1], lambda rows: 1.0 + rows[0])

    def pressure_pa(self) -> np.ndarray | Any:
        """(n,) pressure [Pa] on rank 0."""
        at_rest, scale = self.units.reference_pressure_pa, self.units.pascals_per_density(float(self.lattice.cs2))
        return self._collect(self.engine.moments()[:1], lambda rows: at_rest + scale * rows[0])

    def velocity_m_s(self) -> np.ndarray | Any:
        """(n, 3) velocity (x, y, z) [m/s] on rank 0."""
        return self._collect(self.engine.moments()[1:], lambda rows: self.units.velocity_to_si(np.stack(rows, axis=-1)))

    def field(self, name: str) -> np.ndarray | Any:
        """(n, ...) values of an output field on rank 0: density [kg/m3], velocity [m/s], pressure [Pa], those of stress
        and rate of strain (:mod:`muphy_lb.measure.shear.fields`), or one that a physics of the case brings along."""
        if name == "density":
            return self._collect(self.engine.moments()[:1], lambda rows: (1.0 + rows[0]) * self.units.density_kg_m3)
        own = {"velocity": self.velocity_m_s, "pressure": self.pressure_pa}
        if name in own:
            return own[name]()
        if name in STRESS_FIELDS:
            in_si = STRESS_FIELDS[name].in_si
            return self._collect(local_numbers(self), lambda rows: in_si(np.stack(rows), self.units))
        if name == GRADIENT:
            velocity, strain = self.velocity_m_s(), self.field("strain_rate")
            return None if velocity is None else velocity_gradient(whole_nodes(self), velocity, strain)
        fields = {key: field for physics in self.physics for key, field in physics.output_fields.items()}
        return fields[name].values(self)

    def model_field(self, name: str) -> np.ndarray | Any:
        """(n,) values of a field of the model as it is stored, in node-list order on rank 0."""
        return self.collect(self.local_field(name))

    def local_field(self, name: str) -> np.ndarray:
        """(m,) values of a field of the model on the nodes of this rank as it is stored."""
        return self.engine.fields.get(name, self.engine.parity)

    def particles(self) -> dict[str, dict[str, np.ndarray]] | None:
        """Columns of all particles by set and name, by ascending id, on rank 0."""
        return self.state.particles()

    def populations(self):
        """Yield, direction by direction, the (n,) stored populations in node-list order (None off rank 0)."""
        for row in self.engine.populations():
            yield self.collect(row)

    def collect(self, row: np.ndarray) -> np.ndarray | Any:
        """Values (n,) of the local nodes as one array in node-list order, on rank 0."""
        return self.state.gather.collect(row)

    def openings(self) -> dict[str, OpeningState] | Any:
        """State of every opening by name, on rank 0; sums run in an order that does not depend on the ranks."""
        return self.state.openings.present(self)

    def wall_forces(self, averaged: bool = True) -> dict[str, WallForce] | Any:
        """Force and torque of the fluid on every labelled wall, on rank 0: the mean of two steps if ``averaged``, else
        that of the step ahead."""
        return self.state.walls.forces(averaged)

    def recorded_stress(self) -> RecordedStress | None:
        """The stress beside walls that the run records; None if the case does not ask for it."""
        return self.state.walls.stress()

    def set_velocity_m_s(self, values, stress: bool = True, consistent_pressure: bool = False) -> None:
        """See :meth:`muphy_lb.run.state.State.set_velocity_m_s`."""
        self.state.set_velocity_m_s(values, stress, consistent_pressure)

    def set_pressure_pa(self, values, stress: bool = True) -> None:
        """See :meth:`muphy_lb.run.state.State.set_pressure_pa`."""
        self.state.set_pressure_pa(values, stress)

    def set_fields(self, fields: Mapping[str, np.ndarray]) -> None:
        """See :meth:`muphy_lb.run.state.State.set_fields`."""
        self.state.set_fields(fields)

    def scattered(self, what: str, values, n_components: int) -> np.ndarray:
        """See :meth:`muphy_lb.run.state.State.scattered`."""
        return self.state.scattered(what, values, n_components)

    def node_probe(self, voxel: np.ndarray | None, fields: Sequence[str] = ()) -> NodeProbe:
        """A reader of the fluid nodes with (m,) ascending voxel ids, given on rank 0, with these fields of the model,
        or those that probes record; collective."""
        scalars = [scalar.field for physics in self.physics for scalar in physics.probed]
        probe = NodeProbe(lambda: self.engine, self.communicator, voxel, fields or scalars)
        self._probes.add(probe)
        return probe

    def node_sums(self, measure: Measure) -> NodeSums:
        """Sums of numbers of all nodes; collective."""
        sums = NodeSums(lambda: self.engine, self.communicator, measure, self.header.n_nodes)
        self._probes.add(sums)
        return sums

    def health(self) -> Health:
        """Mass change, largest and mean speed. Raises DivergedError: a value is not finite, or the Mach number passes
        ``run.max_mach``; the message says where."""
        totals, n = self.engine.totals(), self.header.n_nodes
        max_speed = self.communicator.maximum(totals.speed)
        if not max_speed <= self.case.run.max_mach * sqrt(float(self.lattice.cs2)):
            raise DivergedError(divergence_message(self, self.engine.moments()[1:]))
        whole, rest = self.communicator.total(totals.flow[:2])
        mean_speed = float(from_two_parts(whole, rest, scale_of_sums(n))) / n
        drift = (self.communicator.total(totals.mass) - self.state.initial_mass) / (n + self.state.initial_mass)
        return Health(drift, max_speed, mean_speed)

    def mean_velocity_m_s(self) -> np.ndarray:
        """(3,) mean velocity (x, y, z) of all nodes [m/s], on every rank and for any number of them; collective."""
        n, sums = self.header.n_nodes, self.communicator.total(self.engine.totals().flow[2:]).reshape(3, 2)
        return self.units.velocity_to_si(from_two_parts(sums[:, 0], sums[:, 1], scale_of_sums(n)) / n)

    def largest_density_change(self) -> float:
        """Largest difference of the lattice density from 1, on every rank; collective."""
        return self.communicator.maximum(float(np.abs(self.engine.moments()[0]).max(initial=0.0)))

    def _build_engine(self) -> Engine:
        compute, (name, local_rank) = self.case.compute, self._ahead.on
        backend = make_backend(name, self.lattice, PRECISIONS[compute.precision], local_rank)
        connector = HaloConnector(self.communicator, compute.transport)
        scale = scale_of_sums(self.header.n_nodes)
        engine = Engine(backend, connector, self.domain, self.model, self._at_links, scale)
        tune(engine)
        engine.warm_up()
        if self.case.run.frozen_after_s is not None:
            engine.frozen_from = self.frozen_from
        return engine

    @property
    def present_force(self) -> np.ndarray:
        """(3,) uniform body force per volume of this step, lattice units; a field of forces is not in it."""
        return self._schedule.at(np.array([float(self.step_number)]))[0][-3:]

    def set_present(self, step_number: int) -> None:
        """Hand the engine the number of the present step, and its boundary values and force."""
        self.engine.set_present(self._schedule.at(np.array([float(step_number)]))[0])
        self.engine.set_step_number(step_number)

    def upload_schedule(self) -> None:
        """Hand the engine boundary values and force of the steps to come; also after some that did not count."""
        self._scheduled_until = inf
        if self._schedule.changes:
            rows, self._scheduled_until = self._schedule.rows(self.step_number, self.stride)
            self.engine.schedule(rows)

    def _collect(self, rows, finish):
        collected = [self.state.gather.collect(row) for row in rows]
        return finish(collected) if self.communicator.rank == 0 else None


def whole_steps(n_steps, call: str = "step", remedy: str = COVER_A_TIME) -> int:
    """A number of steps; a float counts if it is whole. ``n_steps``: what was given; ``call``, ``remedy``: to what, and
    what else to give, for the message of the error. Raises InputError: it is not a whole number of 0 or more."""
    is_number = isinstance(n_steps, Real) and not isinstance(n_steps, bool)
    if not is_number or not isfinite(n_steps) or n_steps < 0 or n_steps != int(n_steps):
        raise InputError(f"{call}: the number of steps is {n_steps!r}; it must be a whole number, 0 or more: {remedy}")
    return int(n_steps)


def steps_covering(time_s, time_step_s: float, call: str = "run_for") -> int:
    """The least number of steps that cover a time [s], a number or a text with a unit such as ``"1 ms"``; ``call``: to
    which it was given, for the message of the error. Raises InputError: it is not a finite time of 0 or more."""
    if isinstance(time_s, str):
        try:
            time_s = number_in_si(time_s, "s")
        except ValueError as error:
            raise InputError(f"{call}: the time is {shown(time_s)}; it {error}") from error
    is_number = isinstance(time_s, Real) and not isinstance(time_s, bool)
    if not is_number or not isfinite(time_s) or time_s < 0:
        raise InputError(f"{call}: the time is {time_s!r}; it must be a finite number of seconds, 0 or more")
    steps = float(time_s) / time_step_s
    return ceil(steps - ROUNDING * max(1.0, steps))
