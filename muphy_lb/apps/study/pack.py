"""A pack of members that are stepped together, each until its own end, where it continues as a flow of its own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from muphy_lb.apps.study.packing import PackedSolver, Place, Survey, name_of, packed_nodes, places_of
from muphy_lb.geometry.nodes import NodeList, voxel_coordinates
from muphy_lb.measure.shear.stress import STRESS, VOXEL
from muphy_lb.run.criteria import STEADY, SteadyWatch, groups_of_openings, steady_watch
from muphy_lb.run.loop import COMPLETED
from muphy_lb.run.solver import Solver
from muphy_lb.run.state import StateRecord

WATCH = "watch"


class Taken(NamedTuple):
    """The state of a member."""

    populations: np.ndarray | None  #: (Q, n) stored populations in the order of its own node list, on rank 0
    #: feedback, stress: states of its outlets, and of the stress beside its walls
    feedback: Mapping[str, list[float]]
    stress: Mapping[str, np.ndarray]


NOTHING = Taken(None, MappingProxyType({}), MappingProxyType({}))


@dataclass(frozen=True)
class Ended:
    """The end of a member of a pack."""

    key: Any  #: of the member
    reason: str  #: why it ended; empty where its flow became unstable, which is reported when it is run alone
    step: int  #: number of the last step
    taken: Taken  #: its state
    watch: Mapping[str, Any]  #: state of its criterion


class Pack:
    """Members side by side. Collective.

    Args:
        surveys: of the members, by their keys; all of them with the same numbers.
        lists: their nodes on rank 0, in that order; None elsewhere.

    Attributes:
        solver: steps all of them.
    """

    def __init__(self, surveys: Mapping[Any, Survey], lists: Sequence[NodeList] | None, communicator):
        self._surveys, self._lists, self._communicator = dict(surveys), lists, communicator
        own = list(self._surveys.values())
        places = places_of([survey.header for survey in own], lists)
        self._places: dict[Any, Place] = dict(zip(self._surveys, places, strict=True))
        nodes = None if lists is None else packed_nodes(lists, places)
        self.solver = PackedSolver(own, places, communicator, nodes)
        run = own[0].case.run
        self._watches: dict[Any, SteadyWatch] = {
            key: steady_watch(survey, run.steady_tolerance) for key, survey in self._surveys.items()
        }
        self._every = run.steady_interval_steps if run.steady_tolerance is not None else 0

    @property
    def keys(self) -> list:
        """The keys of the members, in their order."""
        return list(self._surveys)

    def advance(self, is_stopped: Callable[[], bool] = lambda: False) -> list[Ended]:
        """Step until a member ends; returns all that end then, and those whose flow has become unstable.

        Args:
            is_stopped: asked at every check of the flow, on every rank; where it holds, nothing is returned.
        """
        solver = self.solver
        last, check = solver.numerics.steps, solver.case.run.check_interval_steps
        while True:
            step = solver.step_number
            looks = [(step // interval + 1) * interval for interval in (check, self._every) if interval]
            target = min(last, *looks)
            is_look = bool(self._every) and target % self._every == 0
            solver.advance(target - step, is_look or target == last)
            reasons = dict.fromkeys(self._unstable(), "") if target % check == 0 or target == last else {}
            reasons |= {key: STEADY for key in self._steady() if key not in reasons} if is_look else {}
            if target == last:
                reasons = dict.fromkeys(self.keys, COMPLETED) | reasons
            if reasons:
                return self._ended(reasons)
            if target % check == 0 and is_stopped():
                return []

    def without(self, keys: Sequence) -> "Pack | None":
        """The pack of the other members, which continues from here; None without others."""
        rest = {key: survey for key, survey in self._surveys.items() if key not in keys}
        if not rest:
            return None
        if len(rest) == len(self._surveys):
            return self
        is_root = self._lists is not None
        lists = (
            [nodes for key, nodes in zip(self.keys, self._lists or (), strict=True) if key in rest] if is_root else None
        )
        taken = self._taken(list(rest))
        other = Pack(rest, lists, self._communicator)
        other._watches = {key: self._watches[key] for key in rest}
        other._take(self.solver.step_number, taken)
        return other

    def _steady(self) -> list:
        """The members that are steady at a look, on every rank."""
        states = self.solver.openings()
        found = []
        if states is not None:
            for number, (key, survey) in enumerate(self._surveys.items()):
                names = [opening.name for opening in survey.header.openings]
                own = {name: states[name_of(name, number)] for name in names}
                is_steady = self._watches[key].look(groups_of_openings(own, self.solver.units.reference_pressure_pa))
                if is_steady and self.solver.step_number >= self.solver.rises_until:
                    found.append(key)
        return self._communicator.broadcast(found)

    def _unstable(self) -> list:
        """The members in which a velocity is not finite or beyond the largest Mach number, on every rank."""
        most = self.solver.case.run.max_mach * sqrt(float(self.solver.lattice.cs2))
        if self._communicator.maximum(self.solver.engine.totals().speed) <= most:
            return []
        velocity = self.solver.velocity_m_s()
        found = []
        if velocity is not None:
            speed = self.solver.units.velocity_to_lattice(np.linalg.norm(velocity, axis=1))
            found = [key for key, place in self._places.items() if not np.all(speed[place.number] <= most)]
        return self._communicator.broadcast(found)

    def _ended(self, reasons: Mapping[Any, str]) -> list[Ended]:
        sound = [key for key, reason in reasons.items() if reason]
        taken, step = self._taken(sound), self.solver.step_number
        every = {"every": self._every}
        return [
            Ended(key, reason, step, taken.get(key, NOTHING), self._watches[key].record() | every)
            for key, reason in reasons.items()
        ]

    def _taken(self, keys: Sequence) -> dict[Any, Taken]:
        """Populations, states of outlets and stress of members; collective."""
        if not keys:
            return {}
        solver = self.solver
        rows = [row for row in solver.populations()]
        feedback = solver.engine.feedback.record() if solver.engine.feedback else {}
        stress = solver.state.stress_record()
        found = {}
        for key in keys:
            place, survey = self._places[key], self._surveys[key]
            own = None if self._communicator.rank else np.stack([row[place.number] for row in rows])
            last = place.opening + len(survey.header.openings)
            outlets = {
                str(int(number) - place.opening): values
                for number, values in feedback.items()
                if place.opening <= int(number) < last
            }
            found[key] = Taken(own, outlets, self._own_stress(stress, key))
        return found

    def _own_stress(self, stress: Mapping[str, np.ndarray], key) -> dict[str, np.ndarray]:
        if not stress:
            return {}
        place, shape = self._places[key], self._surveys[key].header.shape
        x, y, z = voxel_coordinates(stress[VOXEL], self.solver.header.shape).T
        z = z - place.layer
        mine = (z >= 0) & (z < shape[0])
        return {VOXEL: ((z * shape[1] + y) * shape[2] + x)[mine], STRESS: stress[STRESS][:, mine]}

    def _take(self, step: int, taken: Mapping[Any, Taken]) -> None:
        """Continue from the states of members that came from a larger pack."""
        solver, rows = self.solver, [None] * self.solver.lattice.q
        if self._communicator.rank == 0:
            whole = np.empty((solver.lattice.q, solver.header.n_nodes), solver.engine.real)
            for key, place in self._places.items():
                whole[:, place.number] = taken[key].populations
            rows = list(whole)
        feedback = {
            str(int(number) + place.opening): values
            for key, place in self._places.items()
            for number, values in taken[key].feedback.items()
        }
        solver.state.go_on_from(_record(solver, step, rows, feedback, {}))


def alone(solver: Solver, ended: Ended) -> None:
    """Bring the flow of a member by itself to where it ended in a pack; collective."""
    own = ended.taken
    rows = [None] * solver.lattice.q if own.populations is None else list(own.populations)
    solver.state.go_on_from(_record(solver, ended.step, rows, own.feedback, own.stress))


def _record(solver: Solver, step: int, rows: Sequence, feedback: Mapping, stress: Mapping) -> StateRecord:
    real = solver.engine.real
    return StateRecord(
        step=step,
        initial_mass=solver.state.initial_mass,
        populations=np.stack([solver.state.gather.scatter(row, real) for row in rows]),
        fields={},
        feedback=feedback,
        particles={},
        sums={},
        forces={},
        actions={},
        leaving={},
        stress=stress,
    )
