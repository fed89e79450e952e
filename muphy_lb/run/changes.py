"""Changes of a case while its flow goes on: of what openings impose, of forces, of the fluid.

The time step, in which the state is measured, stays what it is, whichever key of the case has set it.
"""

from collections.abc import Mapping

from muphy_lb.base.errors import InputError
from muphy_lb.case.boundaries import ANSWERING
from muphy_lb.case.case import Case, as_case
from muphy_lb.case.section import did_you_mean
from muphy_lb.case.toml import as_override
from muphy_lb.geometry.limits import shown
from muphy_lb.run.moved_state import go_on_from, state_of
from muphy_lb.run.onlooker import Onlooker
from muphy_lb.run.solver import Solver
from muphy_lb.setup.pulsatile import WOMERSLEY
from muphy_lb.setup.waveforms import longest_period_s

EXAMPLE = '{"openings.inlet.velocity_m_s": 0.2}'

FIXED = ("geometry", "compute", "initial", "probes")
"""Sections that say what the state belongs to, or what is there before the first step."""

FIXED_KEYS = ("lattice.name", "flow.reference_pressure_pa")
"""Keys of other sections that do."""

IMPOSED = ("velocity_m_s", "flow_rate_m3_s", "mass_flow_kg_s", "pressure_pa", "waveform")
"""Keys of openings whose values may change without a new engine, as long as velocities stay velocities."""

APART = ("title", "run", "output")
"""Sections that the state does not depend on."""

TIME_STEP = ("relaxation_time", "lattice_velocity", "time_step_s")


def changed(simulation: Solver, changes: Mapping[str, object]) -> Solver:
    """The simulation that goes on from the present state of another, whose case has other values; collective.

    Only values of openings: the same simulation, changed. Else a new one on the same nodes, to which the state moves;
    while it does, both are in memory.

    Args:
        simulation: the simulation, which stays as it is if the changes are refused.
        changes: values by dotted key, such as ``{"openings.inlet.velocity_m_s": 0.2}``; None removes a key.

    Raises:
        InputError: a key that cannot change, or a case that cannot run.
    """
    case = changed_case(simulation, changes)
    if _imposes_alone(simulation.case, case):
        simulation.impose(case)
        return simulation
    _refuse_density(simulation.case, case)
    communicator = simulation.communicator
    nodes = simulation.nodes if communicator.rank == 0 else None
    other = Solver(case, communicator, nodes)  # type: ignore[arg-type]  # rank 0 has the list itself
    go_on_from(state_of(simulation), other)
    other.onlooker, simulation.onlooker = simulation.onlooker, Onlooker()
    other.onlooker.follow(other)
    return other


def checked_changes(changes: Mapping[str, object]) -> Mapping[str, object]:
    """Changes of a case that a user hands over.

    Raises:
        InputError: they are no dictionary, or a value is none of a case.
    """
    if not isinstance(changes, Mapping):
        raise InputError(f"change: {shown(changes)} is no dictionary; give values by dotted key, as in {EXAMPLE}")
    for path, value in changes.items():
        as_override(path, value)
    return dict(changes)


def changed_case(simulation: Solver, changes: Mapping[str, object]) -> Case:
    """The case of a simulation with other values, and with the same time step.

    Raises:
        InputError: as of :func:`changed`.
    """
    for path in changes:
        _refuse_fixed(path)
    before = simulation.case
    case = as_case(before, [as_override(path, value) for path, value in changes.items()])
    is_kept = before.fluid.viscosity_m2_s == case.fluid.viscosity_m2_s and before.fluid == case.fluid
    if before.lattice.time_step_s is not None or (before.lattice.relaxation_time is not None and is_kept):
        return case
    others = [as_override(f"lattice.{key}", None) for key in TIME_STEP if getattr(case.lattice, key) is not None]
    return as_case(case, [*others, as_override("lattice.time_step_s", simulation.units.time_step_s)])


def refuse_while_writing(simulation: Solver, changes: Mapping[str, object]) -> None:
    """Refuse changes during a run into a folder whose observers measure one engine, and average over one period.

    Raises:
        InputError: another engine would be needed.
    """
    if not _imposes_alone(simulation.case, changed_case(simulation, changes)):
        raise InputError(
            f"change: {', '.join(changes)} cannot change during a run into a folder; values of openings can, as long as"
            f" the period of the flow stays and no profile is {WOMERSLEY!r}: make two runs of it"
        )


def _refuse_fixed(path: str) -> None:
    section, _, key = path.partition(".")
    if section not in Case.model_fields:
        raise InputError(
            f"change: {path!r} begins with no section of a case; {did_you_mean(section, list(Case.model_fields))}"
        )
    if section in FIXED or path in FIXED_KEYS or (section == "lattice" and key in TIME_STEP):
        raise InputError(
            f"change: {path} cannot change while the flow goes on, since the state belongs to it; make another"
            " simulation, as in Simulation.from_case(simulation.case, [...])"
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
    names = [name for name in type(old).model_fields if name not in (*APART, "openings")]
    if any(getattr(old, name) != getattr(new, name) for name in names if name != "lattice"):
        return False
    if not _same_lattice(old, new) or len(old.openings) != len(new.openings):
        return False
    if any(section.profile == WOMERSLEY for section in new.openings):  # its shapes lie on the device
        return False
    if longest_period_s(old) != longest_period_s(new):  # what averages over a period, or waits for it, begins anew
        return False
    return all(_same_but_imposed(*pair) for pair in zip(old.openings, new.openings, strict=True))


def _same_lattice(old: Case, new: Case) -> bool:
    """Whether two sections are the same but for the key that sets the time step."""
    ours, theirs = (case.lattice.model_dump(exclude=set(TIME_STEP)) for case in (old, new))
    return ours == theirs


def _same_but_imposed(old, new) -> bool:
    if old == new:
        return True
    answers = any(getattr(section, key) is not None for section in (old, new) for key in ANSWERING)
    ours, theirs = (section.model_dump(exclude=set(IMPOSED)) for section in (old, new))
    return not answers and ours == theirs and old.has_pressure == new.has_pressure
