"""Changes of a flow that continues: of its case, and of the ranks that own its nodes.

A case may change in the values that openings impose, in forces, and in the fluid; the time step, in which the state is
measured, stays, whichever key of the case has set it. Where the loads of the ranks change as the flow does, they are
watched, reported, and balanced again.
"""

import logging
import time
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.registry import PHYSICS, package, packages
from muphy_lb.case.boundaries import ANSWERING
from muphy_lb.case.case import Case, as_case
from muphy_lb.case.fluid import FlowSection
from muphy_lb.case.section import did_you_mean
from muphy_lb.case.toml import as_override
from muphy_lb.engine.engine import has_load, node_load
from muphy_lb.geometry.limits import shown
from muphy_lb.measure.flow_view import ViewerAction, whole_nodes
from muphy_lb.measure.monitor import Changes, Monitor
from muphy_lb.run.solver import Solver
from muphy_lb.setup.boundaries import WOMERSLEY
from muphy_lb.setup.waveforms import longest_period_s

LOG = logging.getLogger(__name__)
EXAMPLE = '{"openings.inlet.velocity_m_s": 0.2}'

FIXED = ("geometry", "compute", "initial", "probes")
"""Sections that say what the state belongs to, or what is there before the first step."""

FIXED_KEYS = ("lattice.name", "flow.reference_pressure_pa")  # keys of other sections that do
IMPOSED = ("velocity_m_s", "flow_rate_m3_s", "mass_flow_kg_s", "pressure_pa", "waveform")
"""Keys of openings whose values may change without a new engine, as long as velocities stay velocities, besides those
that a physics imposes."""

ACCELERATION = "acceleration_m_s2"  # key of [flow] that may turn, or become weaker, so as well
ROUND_OFF = 1e-9

OF_OPENINGS = {"profile", "profile_file", "non_reflecting", *ANSWERING}
OF_A_FLOW = {"flow", "fluid", "lattice", "rotation_rad_s", "slip", *IMPOSED, *OF_OPENINGS}
"""Names in the dotted keys of what a frozen flow does not follow."""

FROZEN = "run.frozen_after_s"

APART = ("title", "run", "output")  # sections that the state does not depend on
TIME_STEP = ("relaxation_time", "lattice_velocity", "time_step_s")


def changed(simulation: Solver, changes: Mapping[str, object]) -> Solver:
    """The simulation that continues from the present state of another, whose case has other values; collective.

    Only values of openings, or the direction of the body force: the same simulation, changed. Else a new one on the
    same nodes, to which the state moves; while it does, both are in memory.

    Args:
        simulation: the simulation, which stays as it is if the changes are refused.
        changes: values by dotted key, such as ``{"openings.inlet.velocity_m_s": 0.2}``; None removes a key.

    Raises InputError: a key that cannot change, or a case that cannot run.
    """
    case = changed_case(simulation, changes)
    if _imposes_alone(simulation.case, case):
        simulation.impose(case)
        return simulation
    _refuse_density(simulation.case, case)
    communicator = simulation.communicator
    nodes = simulation.nodes if communicator.rank == 0 else None
    other = Solver(case, communicator, nodes)  # type: ignore[arg-type]  # rank 0 has the list itself
    other.state.go_on_from(simulation.state.record())
    other.monitor, simulation.monitor = simulation.monitor, Monitor()
    other.monitor.follow(other)
    return other


def offered_actions(simulation: Solver) -> dict[str, ViewerAction]:
    """The actions on a flow that its physics offer, by name."""
    return {name: action for physics in simulation.physics for name, action in physics.offered.items()}


def try_change(simulation: Solver, change: Callable[[Mapping[str, object]], None], changes: Changes) -> str:
    """Do each of the things that viewers ask for: act on the flow as a physics offers it, and change values of the case
    by ``change``, all at once; the outcomes in words, which the log of rank 0 has, too. Collective."""
    step, offered = simulation.step_number, offered_actions(simulation)
    told = [
        _tried(step, partial(offered[name].act, simulation, value), {name: value})
        for name, value in changes
        if name in offered
    ]
    if of_case := {key: value for key, value in changes if key not in offered}:
        told.append(_tried(step, partial(change, of_case), of_case))
    return "; ".join(told)


def _tried(step: int, act: Callable[[], object], asked: Mapping[str, object]) -> str:
    """The outcome in words."""
    values = ", ".join(f"{key} = {shown(value)}" for key, value in asked.items())
    try:
        act()
    except InputError as error:
        LOG.warning("step %d: a viewer's change is refused (%s): %s", step, values, error)
        return str(error)
    LOG.info("step %d: a viewer has set %s", step, values)
    return f"set: {values}"


def checked_changes(changes: Mapping[str, object]) -> Mapping[str, object]:
    """Changes of a case that a user hands over. Raises InputError: they are no dictionary, or a value is none of a
    case."""
    if not isinstance(changes, Mapping):
        raise InputError(f"change: {shown(changes)} is not a dictionary; give values by dotted key, as in {EXAMPLE}")
    for path, value in changes.items():
        if not isinstance(path, str):
            raise InputError(f"change: {shown(path)} is no key of a case; give values by dotted key, as in {EXAMPLE}")
        as_override(path, value)
    return dict(changes)


def changed_case(simulation: Solver, changes: Mapping[str, object]) -> Case:
    """The case of a simulation with other values, and with the same time step. Raises InputError: as of
    :func:`changed`."""
    for path in changes:
        _refuse_fixed(path)
        if FROZEN not in changes:
            refuse_frozen(simulation, simulation.step_number, path)
    before = simulation.case
    case = as_case(before, [as_override(path, value) for path, value in changes.items()])
    is_kept = before.fluid.viscosity_m2_s == case.fluid.viscosity_m2_s and before.fluid == case.fluid
    if before.lattice.time_step_s is not None or (before.lattice.relaxation_time is not None and is_kept):
        return case
    others = [as_override(f"lattice.{key}", None) for key in TIME_STEP if getattr(case.lattice, key) is not None]
    return as_case(case, [*others, as_override("lattice.time_step_s", simulation.units.time_step_s)])


def imposes_alone(simulation: Solver, changes: Mapping[str, object]) -> bool:
    """Whether changes are such that the engine of a simulation stays. Raises InputError: as of :func:`changed`."""
    return _imposes_alone(simulation.case, changed_case(simulation, changes))


def refuse_while_writing(simulation: Solver, changes: Mapping[str, object]) -> None:
    """Refuse changes during a run into a folder whose observers measure one engine, and average over one period. Raises
    InputError: another engine would be needed."""
    if not imposes_alone(simulation, changes):
        raise InputError(
            f"change: {', '.join(changes)} cannot change during a run into a folder; values of openings and"
            " the direction of the body force can, as long as the period of the flow stays and no profile is"
            f" {WOMERSLEY!r}: make two runs of it"
        )


def _refuse_fixed(path: str) -> None:
    section, _, key = path.partition(".")
    if section not in Case.model_fields:
        raise InputError(
            f"change: {path!r} begins with no section of a case; {did_you_mean(section, list(Case.model_fields))}"
        )
    if section in FIXED or path in FIXED_KEYS or (section == "lattice" and key in TIME_STEP):
        raise InputError(
            f"change: {path} cannot change while the flow continues, since the state belongs to it; make another"
            " simulation, as in Simulation.from_case(simulation.case, [...])"
        )


def refuse_frozen(simulation: Solver, step: int, path: str) -> None:
    """Raise InputError for a key that the flow does not follow behind a step, since it is frozen."""
    section, *_ = names = path.split(".")
    physics: Any = package(section) if section in PHYSICS else None
    is_felt = physics is not None and not physics.is_carried
    if step >= simulation.frozen_from and (is_felt or OF_A_FLOW.intersection(names)):
        raise InputError(
            f"change: {path} would change nothing, since the flow is frozen from step {simulation.frozen_from}"
            f" on; change {FROZEN} as well, to a later time or to None"
        )


def _refuse_density(old: Case, new: Case) -> None:
    """Raise InputError for another density beside an opening with a network, whose state is a pressure in units of the
    density: neither its pressure nor that of the fluid around it would stay what it is."""
    names = [opening.name for opening in new.openings if any(getattr(opening, key) is not None for key in ANSWERING)]
    before, after = old.fluid.density_kg_m3, new.fluid.density_kg_m3
    if names and before != after:
        raise InputError(
            f"change: fluid.density_kg_m3 cannot change from {before:g} to {after:g} while openings.{names[0]} answers"
            " its flow: all pressures of the fluid would change by that ratio, but not those stored behind the opening;"
            " make another simulation, as in Simulation.from_case(simulation.case, [...])"
        )


def _imposes_alone(old: Case, new: Case) -> bool:
    """Whether two cases differ in values of openings, or in what no step depends on, alone."""
    names = [name for name in type(old).model_fields if name not in (*APART, "openings", "flow")]
    if any(getattr(old, name) != getattr(new, name) for name in names if name != "lattice"):
        return False
    if not _turns_force(old.flow, new.flow):
        return False
    if any(
        getattr(old.run, name) != getattr(new.run, name)
        for name in ("frozen_after_s", "frozen_step_s", "replayed_instants")
    ):
        return False
    ours, theirs = (case.lattice.model_dump(exclude=set(TIME_STEP)) for case in (old, new))
    if ours != theirs or len(old.openings) != len(new.openings):
        return False
    if any(section.profile == WOMERSLEY for section in new.openings):  # its shapes lie on the device
        return False
    if longest_period_s(old) != longest_period_s(new):  # what averages over a period, or waits for it, begins again
        return False
    imposed = set(IMPOSED).union(*(physics.imposes for physics in packages(new)))
    return all(_same_but_imposed(*pair, imposed) for pair in zip(old.openings, new.openings, strict=True))


def _turns_force(old: FlowSection, new: FlowSection) -> bool:
    """Whether two body forces differ in direction alone, or the new one is weaker: what a case with it would be refused
    for, such as too fast a fall, the old one would have been."""
    ours, theirs = (section.model_dump(exclude={ACCELERATION}) for section in (old, new))
    before, after = (np.linalg.norm(section.acceleration_m_s2) for section in (old, new))
    return ours == theirs and (before == after or 0.0 < after <= before * (1.0 + ROUND_OFF))


def _same_but_imposed(old, new, imposed: set[str]) -> bool:
    if old == new:
        return True
    answers = any(getattr(section, key) is not None for section in (old, new) for key in ANSWERING)
    ours, theirs = (section.model_dump(exclude=imposed) for section in (old, new))
    return not answers and ours == theirs and old.has_pressure == new.has_pressure


WORTH = 0.95  # imbalance that other owners must come below, over the present one, for the state to move


class Rebalancing:
    """Watches the load of the ranks of a simulation, and gives nodes to other ranks when it is far from equal.

    The flow does not depend on it by a bit. Between two moves the fullest rank must have cost the others as much time
    as the move before took, so that moves take at most as long as what they are to save.

    Attributes:
        every: number of steps between two looks; 0 where loads do not change, or there is one rank.
        imbalance: load of the fullest rank over its share, when last looked at; None before.
    """

    tells_walls = False

    def __init__(self, simulation: Solver):
        compute, size = simulation.case.compute, simulation.communicator.size
        self._simulation, self._limit = simulation, compute.rebalance
        self.every = compute.rebalance_every_steps if size > 1 and has_load(simulation.engine) else 0
        self.imbalance: float | None = None
        self._n_moves, self._moving_s, self._last_s = 0, 0.0, 0.0
        self._lost_s, self._stepping_s = 0.0, 0.0

    def act(self, stepping_s: float) -> None:
        """Look at the loads, and balance them if that is worth it; collective. ``stepping_s``: time that the run has
        spent stepping."""
        simulation = self._simulation
        load = node_load(simulation.engine)
        loads = simulation.communicator.gather(float(load.sum(dtype=np.float64)))
        if simulation.communicator.broadcast(self._is_due(loads, stepping_s) if loads else None):
            self._balance(load, loads)

    def record(self) -> dict:
        """The record in the summary; empty where loads do not change."""
        if not self.every:
            return {}
        return {"imbalance": self.imbalance, "repartitions": self._n_moves, "repartition_s": self._moving_s}

    def status(self) -> str:
        """Its part of the progress line."""
        return f" | imbalance {self.imbalance:.2f}" if self.imbalance else ""

    def _is_due(self, loads, stepping_s: float) -> bool:
        self.imbalance = self._imbalance_of(loads)
        self._lost_s += (stepping_s - self._stepping_s) * (1.0 - 1.0 / self.imbalance)
        self._stepping_s = stepping_s
        return 0.0 < self._limit < self.imbalance and self._lost_s >= self._last_s

    def _balance(self, load: np.ndarray, loads) -> None:
        simulation, before = self._simulation, time.perf_counter()
        owner, found = self._other_owners(simulation.collect(load))
        if simulation.communicator.broadcast(found is not None and found < WORTH * (self.imbalance or 0.0)):
            repartition(simulation, owner)
            self._n_moves += 1
            self._tell(loads, found, time.perf_counter() - before)
            self.imbalance = found
        self._last_s, self._lost_s = time.perf_counter() - before, 0.0
        self._moving_s += self._last_s

    def _other_owners(self, load: np.ndarray | None) -> tuple[np.ndarray | None, float | None]:
        """Owners of all nodes by their load, and the imbalance with them, on rank 0."""
        if load is None:
            return None, None
        from muphy_lb.setup.sharing import share_nodes

        simulation, size = self._simulation, self._simulation.communicator.size
        owner = share_nodes(whole_nodes(simulation), simulation.case, size, load)
        return owner, self._imbalance_of(np.bincount(owner, load, minlength=size))

    @cached_property
    def _shares(self) -> np.ndarray:
        from muphy_lb.partition.costs import part_shares

        return part_shares(self._simulation.case.compute.rank_speeds or None, self._simulation.communicator.size)

    def _imbalance_of(self, loads) -> float:
        total = float(np.sum(loads))
        return float((np.asarray(loads) / self._shares).max() / total) if total else 1.0

    def _tell(self, loads, found: float | None, seconds: float) -> None:
        if self._simulation.communicator.rank == 0:
            LOG.info(
                "step %d: loads of the ranks %s (imbalance %.2f); nodes redistributed: imbalance %.2f, after %.2f s",
                self._simulation.step_number,
                ", ".join(f"{load:.4g}" for load in loads),
                self.imbalance,
                found,
                seconds,
            )


def repartition(simulation: Solver, owner: np.ndarray | None) -> None:
    """Give the nodes other owners, (n,) on rank 0, and continue; collective.

    No later step, and no output of one, differs by a bit.
    """
    record = simulation.state.record()
    simulation.geometry.share(owner)
    simulation.rebuild()
    simulation.state.go_on_from(record)
