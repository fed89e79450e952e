"""The state of a simulation in memory, which moves row by row over rank 0: to other owners, or to another simulation of
the same nodes. It holds what a checkpoint does."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from muphy_lb.engine.leaving import leaving_populations, restore_leaving
from muphy_lb.measure.flow_view import OpeningState
from muphy_lb.parallel import NodeGather

if TYPE_CHECKING:
    from muphy_lb.run.solver import Solver


@dataclass(frozen=True, eq=False)
class MovedState:
    """What the next step follows from.

    Attributes:
        step, initial_mass: of the simulation.
        populations: (Q, n) of this rank's nodes.
        fields: (n,) of this rank's nodes, by name.
        gather: puts such rows together on rank 0.
        forces, feedback, particles, actions, leaving: records, on all ranks.
        stress: record of the stress beside walls, on rank 0.
        openings: states of the openings, on rank 0.
    """

    step: int
    initial_mass: float
    populations: np.ndarray
    fields: Mapping[str, np.ndarray]
    gather: NodeGather
    forces: Mapping[str, Mapping]
    feedback: dict[str, list]
    particles: Mapping[str, Mapping]
    actions: Mapping[str, Mapping[str, np.ndarray]]
    leaving: Mapping[str, np.ndarray]
    stress: Mapping[str, np.ndarray]
    openings: Mapping[str, OpeningState] | None


def state_of(simulation: "Solver") -> MovedState:
    """The present state; collective."""
    communicator, engine = simulation.communicator, simulation.engine
    forces = simulation.wall_forces() if simulation.header.walls else None
    return MovedState(
        step=simulation.step_number,
        initial_mass=simulation.initial_mass,
        populations=engine.populations(),
        fields=simulation.evolving(),
        gather=NodeGather(communicator, simulation.domain.number, simulation.header.n_nodes),
        forces=communicator.broadcast({name: asdict(force) for name, force in (forces or {}).items()}),
        feedback=communicator.broadcast(engine.feedback.record() if engine.feedback else {}),
        particles=communicator.broadcast(simulation.particles()),
        actions=communicator.broadcast(engine.actions.record()),
        leaving=communicator.broadcast(leaving_populations(engine, communicator)),
        stress=stress_record(simulation),
        openings=simulation.openings(),
    )


def go_on_from(state: MovedState, simulation: "Solver") -> None:
    """Continue a simulation of the same nodes, whoever owns them, from a state; collective.

    What the simulation does not have, such as the fields of a physics that its case has no more, is left out; what it
    has beside stays as at the start.
    """
    new = NodeGather(simulation.communicator, simulation.domain.number, simulation.header.n_nodes)

    def moved(row: np.ndarray) -> np.ndarray:
        return new.scatter(state.gather.collect(row), row.dtype)

    populations = np.stack([moved(row) for row in state.populations])
    engine = simulation.engine
    fields = {name: moved(row) for name, row in state.fields.items() if name in engine.fields.evolving}
    simulation.restart_from(populations, state.step, state.initial_mass, fields)
    sets = {each.name: state.particles[each.name] for each in engine.model.particles if each.name in state.particles}
    simulation.restart_others(feedback_that_is_left(state.feedback, engine), sets, state.forces)
    simulation.restore_openings(state.openings)
    engine.actions.restore(engine.actions.record() | dict(state.actions))
    restore_leaving(engine, state.leaving)
    restore_stress(simulation, state.stress)


def stress_record(simulation: "Solver") -> dict[str, np.ndarray]:
    """The stress beside walls in the present state on rank 0, if the run records it; collective."""
    recorded = simulation.recorded_stress()
    return recorded.record() if recorded else {}


def restore_stress(simulation: "Solver", record: Mapping[str, np.ndarray]) -> None:
    """Continue from a record of :func:`stress_record`, given on rank 0; collective."""
    recorded = simulation.recorded_stress()
    if recorded:
        recorded.restore(record)


def feedback_that_is_left(states: Mapping[str, list[float]], engine) -> dict[str, list[float]]:
    """Of the states of openings that answered their flow, those that still have a condition which does, with as many
    numbers; the others begin anew."""
    own = engine.feedback.record() if engine.feedback else {}
    return {number: record for number, record in states.items() if len(own.get(number, ())) == len(record)}
