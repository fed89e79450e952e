"""The command ``muphy-lb permeability``: the permeability of a rock, along one direction or as a tensor."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np

from muphy_lb.case.case import Case, load_case
from muphy_lb.errors import InputError
from muphy_lb.files.atomic import atomic_write, check_writable
from muphy_lb.measure.permeability import (
    DARCY_M2,
    Permeability,
    driving_acceleration,
    mean_pore_size,
    measured_permeability,
)
from muphy_lb.measure.permeability_observer import distribution_chart, permeability_lines
from muphy_lb.output.summary import write_summary
from muphy_lb.run.monitored import monitored
from muphy_lb.run.simulation import Simulation
from muphy_lb.run.steady_state import SteadyWatch

TOLERANCE = 1e-4
LOOKS_PER_TIME = 10
UNSETTLED_EXIT_CODE = 1


@dataclass(frozen=True)
class Flow:
    """One flow: what it tells, whether it settled, after how many steps, and the limit of k along the force [m2] that
    the last three looks point to."""

    permeability: Permeability
    settled: bool
    steps: int
    limit_m2: float

    def record(self) -> dict:
        """All of it, for files."""
        own = {"settled": self.settled, "steps": self.steps, "permeability_limit_m2": self.limit_m2}
        return own | self.permeability.record()


def add_options(parser) -> None:
    """Give an argument parser the options of the command."""
    parser.add_argument("case", help="case file (TOML) of a flow that a uniform body force drives")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--axis", choices="xyz", help="turn the force along this axis (default: as in the case)")
    which.add_argument("--tensor", action="store_true", help="one flow along each axis: the whole tensor")
    parser.add_argument("--json", metavar="FILE", help="write the outcome")
    parser.add_argument("--plot", metavar="FILE", help="draw the distribution of the velocity in the pores (PNG)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change a key of the case")


def permeability(options, say: Callable[[str], None], communicator) -> int:
    """Run one flow, or one along each axis, until k settles; returns the exit code: 1 if one did not.

    The tolerance is ``run.steady_tolerance``, 1e-4 without it, per ``run.steady_time_s``, without it d^2 / nu with the
    mean pore size d; ``run.steps`` is the most.

    Args:
        options: parsed options, see :func:`add_options`.
        say: told each outcome as it comes, as text.
        communicator: the ranks.

    Raises:
        InputError: no flow of which this can be told.
        DivergedError: a flow became unstable.
        OutputError: a file cannot be written.
    """
    is_root = communicator.rank == 0
    if is_root:
        for file in filter(None, (options.json, options.plot)):
            check_writable(Path(file).parent)
    case = communicator.broadcast(load_case(options.case, options.set) if is_root else None)
    flows: dict[str, Flow] = {}
    for name, turned in _cases(case, options):
        flow = settled_flow(turned, communicator)
        if flow is not None:
            flows[name] = flow
            say(_described(flow))
    if is_root:
        _conclude(flows, options, say)
    settled = communicator.broadcast(all(flow.settled for flow in flows.values()) if is_root else None)
    return 0 if settled else UNSETTLED_EXIT_CODE


def settled_flow(case: Case, communicator, nodes=None) -> Flow | None:
    """The flow of a case once k has settled, on rank 0; collective.

    Args:
        case: what to run.
        communicator: the ranks.
        nodes: the geometry, on rank 0, if it is already there.
    """
    simulation = Simulation(_watching(case), communicator, nodes)
    driving_acceleration(case, simulation.header)
    interval, watch = _criterion(simulation)
    last, looks, settled = simulation.numerics.steps, [], False
    while simulation.step_number < last and not settled:
        simulation.step(min(interval, last - simulation.step_number))
        simulation.health()
        groups = monitored(simulation)
        if groups:
            looks.append(list(groups["permeability"].values()))
            settled = watch.look(groups)
        settled = communicator.broadcast(settled)
    found = measured_permeability(simulation)
    return Flow(found, settled, simulation.step_number, _limit_m2(found, looks)) if found else None


def tensor_m2(flows) -> np.ndarray:
    """(k, k) permeability tensor [m2] of flows along x, y (and z); column j belongs to the force along axis j."""
    return np.array([flow.permeability.column_m2[: len(flows)] for flow in flows]).T


def _cases(case: Case, options):
    """Name and case of each flow."""
    if not (options.tensor or options.axis):
        yield "flow", case
        return
    strength = float(np.linalg.norm(case.flow.acceleration_m_s2))
    if strength == 0.0 or any(case.flow.pressure_drop_pa):
        raise InputError(
            "permeability: --tensor and --axis turn flow.acceleration_m_s2 along the axes, and the case has none, or a"
            " pressure_drop_pa beside it; give the body force alone, as in --set flow.acceleration_m_s2=[1.0, 0.0, 0.0]"
        )
    axes = ("xy" if case.lattice.name.startswith("D2") else "xyz") if options.tensor else options.axis
    for axis in axes:
        force = tuple(strength * (axis == other) for other in "xyz")
        yield axis, case.model_copy(update={"flow": case.flow.model_copy(update={"acceleration_m_s2": force})})


def _watching(case: Case) -> Case:
    """The case with a criterion on k."""
    tolerance = case.run.steady_tolerance or TOLERANCE
    watch = {"steady_watch": ("permeability",), "steady_tolerance": tolerance}
    return case.model_copy(update={"run": case.run.model_copy(update=watch)})


def _criterion(simulation: Simulation) -> tuple[int, SteadyWatch]:
    """Steps between two looks, and the criterion; collective."""
    case, time_step_s = simulation.case, simulation.units.time_step_s
    time_s = case.run.steady_time_s
    if time_s is None:
        pore_size_m = mean_pore_size(simulation) * simulation.header.spacing_m
        time_s = min(pore_size_m**2 / case.fluid.viscosity_m2_s, simulation.numerics.steps * time_step_s)
    interval = max(case.run.steady_interval_steps, ceil(time_s / time_step_s / LOOKS_PER_TIME))
    return interval, SteadyWatch(case.run.steady_tolerance, max(1.0, time_s / (interval * time_step_s)))


def _limit_m2(found: Permeability, looks) -> float:
    """Aitken's limit of k along the force from the last three looks; k itself where they do not converge."""
    if len(looks) < 3:
        return found.permeability_m2
    first, second, third = (float(np.dot(look, found.acceleration_m_s2)) for look in looks[-3:])
    step, before = third - second, second - first
    if third <= 0.0 or not 0.0 <= step * before < before**2:
        return found.permeability_m2
    return found.permeability_m2 * (third + step**2 / (before - step)) / third


def _described(flow: Flow) -> str:
    lines = permeability_lines(flow.permeability.record())
    word = "settled" if flow.settled else "warning: NOT settled"
    return "\n".join([*lines, f"{word} after {flow.steps:,} steps; limit {flow.limit_m2:.5g} m2"])


def _conclude(flows: dict[str, Flow], options, say) -> None:
    """The tensor, and the files."""
    record: dict[str, object] = {"flows": {name: flow.record() for name, flow in flows.items()}}
    if options.tensor:
        tensor = tensor_m2(list(flows.values()))
        record["tensor_m2"] = tensor
        say(_tensor_text(tensor))
    if options.json:
        write_summary(options.json, record)
    if options.plot:
        chart = distribution_chart({name: flow.permeability.distribution for name, flow in flows.items()})
        with atomic_write(options.plot) as temporary:
            temporary.write_bytes(chart)


def _tensor_text(tensor: np.ndarray) -> str:
    rows = ["  ".join(f"{value:12.5g}" for value in row) for row in tensor]
    skew = np.abs(tensor - tensor.T).max() / np.abs(tensor).max()
    principal = np.linalg.eigvalsh(0.5 * (tensor + tensor.T))
    values = ", ".join(f"{value:.5g} m2 = {value / DARCY_M2:.5g} darcy" for value in principal)
    return "\n".join(
        [
            "tensor [m2], a column for each direction of the force:",
            *rows,
            f"principal values: {values}",
            f"asymmetry: {skew:.2g} of the largest entry",
        ]
    )
