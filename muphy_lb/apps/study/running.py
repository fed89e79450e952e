"""Running members one after the other: each process takes one that no other has, until all have ended."""

import json
import math
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from muphy_lb.apps.study.members import Members, Outcome
from muphy_lb.apps.study.pack import WATCH, Ended, alone
from muphy_lb.apps.study.packed_members import run_packs
from muphy_lb.apps.study.packing import physics_sections
from muphy_lb.apps.study.phases import NODES, RESULTS, SET_UP, STEPS, Phases
from muphy_lb.apps.study.table import chosen_names
from muphy_lb.base.errors import DivergedError, InputError
from muphy_lb.base.key_units import is_number
from muphy_lb.base.phases import quietly
from muphy_lb.base.processes import python, variables
from muphy_lb.case.case import Case
from muphy_lb.parallel import agreed_on_root, from_root
from muphy_lb.parallel.watchdog import Sentry
from muphy_lb.run.checkpoint import geometry_of, restore
from muphy_lb.run.folder import CHECKPOINTS, PATTERN, SUMMARY_FILE
from muphy_lb.run.loop import ENDS, Clock, Run
from muphy_lb.run.solver import Solver
from muphy_lb.run.stop_signals import StopSignals
from muphy_lb.setup.distribute import DistributedGeometry
from muphy_lb.setup.geometry import is_prepared, load_nodes

OF_THE_COMPUTATION = (
    *("ranks", "wall_time_s", "stepping_time_s", "steps_per_s", "mflups", "mflups_fluid", "peak_memory_mib"),
    *("steps", "time_s", "time_step_s", "relaxation_time", "mass_relative_drift", "largest_density_change", "watch"),
    *("imbalance", "repartitions", "repartition_s", "steadiness", "balance"),
)
"""Entries of a summary that are no answers."""
LOOK_S = 0.1  # between two looks at further processes [s]
Answer = Callable[[Mapping[str, Any]], Mapping[str, float]]
"""A function of Python in place of a case: from values by parameter to answers by name."""


class Stopped(NamedTuple):
    """Why the members have not all ended: a signal, or nothing where others work on the rest."""

    by: str


def run_members(
    members: Members, numbers: Sequence[int], say: Callable[[str], None], communicator, model: Answer | None = None
) -> Stopped | None:
    """Run the given members that have not ended and that no other process is at; collective.

    Args:
        say: called with a line on every member.
        model: the function that answers in place of the case.

    Returns:
        None unless a signal stopped the work.

    Raises:
        OutputError: the disk refuses; members that have ended stay.
    """
    flows, is_checked = Flows(members, communicator, model), False
    with StopSignals() as signals:
        if members.asked.section.pack > 1 and model is None:
            run_packs(flows, numbers, say, signals)
        for number in numbers:
            begun = time.perf_counter()
            outcome = _claimed(members, number, flows, signals)
            if isinstance(outcome, Stopped):
                return outcome
            if outcome is None:
                continue
            say(_told(number, members.design.n_members, outcome, time.perf_counter() - begun))
            if outcome.answers and not is_checked:
                chosen_names(outcome.answers, members.asked.section.answers)
                is_checked = True
            if by := communicator.maximum(signals.received):
                return Stopped(_signal_name(by))
    return None


def _signal_name(number: int) -> str:
    return f"signal {signal.Signals(number).name}"


def _claimed(members: Members, number: int, flows: "Flows", signals) -> Outcome | Stopped | None:
    """The outcome of a member, which is kept; None if it has one, or another process is at it."""
    communicator = flows.communicator
    with ExitStack() as claims:

        def is_free() -> bool:
            return claims.enter_context(members.claimed(number)) and members.outcome(number) is None

        outcome = flows.outcome(number, signals) if from_root(communicator, is_free) else None
        if isinstance(outcome, Outcome):
            agreed_on_root(communicator, partial(members.finish, number, outcome))
    return outcome


def _of_function(model: Answer, values: Mapping[str, Any]) -> Outcome:
    try:
        found = {name: float(value) for name, value in model(values).items()}
    except (InputError, DivergedError, ArithmeticError) as error:
        return Outcome({}, _reason(error))
    return Outcome(found)


class Flows:
    """Runs members as flows, and hands the nodes of one to the next where the geometry is the same. ``communicator``:
    the ranks, of which all work on each member; ``model``: the function that answers in place of the case."""

    def __init__(self, members: Members, communicator, model: Answer | None = None):
        self.members, self.communicator, self._model = members, communicator, model
        self._key: tuple | None = None
        self._nodes: Any = None
        self._shared: tuple[tuple, DistributedGeometry] | None = None

    def outcome(self, number: int, signals) -> Outcome | Stopped:
        """Run one member; a flow that cannot be run or becomes unstable is a failure with its reason. Collective.
        Raises OutputError: the disk refuses."""
        folder = self.members.path(number)
        if self._model is not None:
            return _of_function(self._model, self.members.values(number))
        try:
            return self._run(self.members.flow_case(number), folder, signals)
        except (DivergedError, InputError) as error:
            return Outcome({}, _reason(error))

    def _run(self, case: Case, folder: Path, signals) -> Outcome | Stopped:
        is_root, phases = self.communicator.rank == 0, Phases()
        resume = self.communicator.broadcast(any((folder / CHECKPOINTS).glob(PATTERN)) if is_root else None)
        geometry = geometry_of(None, case, self.communicator) if resume else self._geometry_of(case)
        phases.end(NODES)
        with Sentry(self.communicator, folder), quietly():
            solver, clock = Solver(case, self.communicator, geometry), Clock()
            if self.members.start is not None and not resume:
                restore(self.members.start, solver)
                _refuse_no_step(solver)
            run = Run(solver, folder, resume, clock, shows_progress=False)
            phases.end(SET_UP)
            ended, summary = run.execute(signals)
        phases.end(RESULTS)
        phases.move(RESULTS, STEPS, clock.stepping_s)
        if ended not in ENDS:
            return Stopped(ended)
        if self.communicator.rank == 0:
            summary = summary or json.loads((folder / SUMMARY_FILE).read_text(encoding="utf-8"))
        return self._outcome(summary, phases.seconds)

    def concluded(self, number: int, ended: Ended, nodes, seconds: Mapping[str, float]) -> Outcome:
        """The outcome of a member that a pack has advanced to its end, by itself, which is kept; collective. ``nodes``:
        of the member; ``seconds``: its share of the time of the pack by phase [s]."""
        folder, phases = self.members.path(number), Phases(seconds)
        with Sentry(self.communicator, folder), quietly():
            solver = Solver(self.members.flow_case(number), self.communicator, nodes)
            alone(solver, ended)
            try:
                summary = Run(solver, folder, shows_progress=False).conclude(ended.reason, {WATCH: dict(ended.watch)})
            except DivergedError as error:
                outcome = Outcome({}, _reason(error))
            else:
                phases.end(RESULTS)
                outcome = self._outcome(summary, phases.seconds)
        agreed_on_root(self.communicator, lambda: self.members.finish(number, outcome))
        return outcome

    def _outcome(self, summary: dict | None, seconds: Mapping[str, float]) -> Outcome:
        summary = self.communicator.broadcast(summary)
        return Outcome(answers_of(summary), "", summary["verdict"], summary["steps"], dict(seconds))

    def _geometry_of(self, case: Case) -> DistributedGeometry:
        """The geometry of a case, distributed: that of the member before where it is the same, with all that follows
        from it alone."""
        key = _geometry_key(case), case.compute
        if self._shared is None or self._shared[0] != key:
            self._shared = None
            self._shared = key, DistributedGeometry(case, self.communicator, self.shared_nodes(case))
        return self._shared[1]

    def shared_nodes(self, case: Case):
        """The nodes of a case on rank 0, those of the member before where the geometry is the same."""
        if is_prepared(case):
            return None
        if self._key != (key := _geometry_key(case)):
            with quietly():
                self._nodes = agreed_on_root(self.communicator, lambda: load_nodes(case)[0])
            self._key = key
        return self._nodes


def _geometry_key(case: Case) -> tuple:
    """Keys of a case from which its geometry follows."""
    places = [(each.name, each.kind, each.centre_m, each.normal, each.radius_m) for each in case.openings]
    walls = [(each.name, each.box_m) for each in case.walls]
    return case.geometry, case.lattice.name, case.lattice.walls, places, walls, physics_sections(case)


def _refuse_no_step(solver: Solver) -> None:
    made, asked = solver.step_number, solver.numerics.steps
    if made >= asked:
        raise InputError(f"study.start has made {made} steps, and the run ends after {asked}; give more run.steps")


def answers_of(summary: Mapping) -> dict[str, float]:
    """The numbers of a summary that are answers, by dotted name."""
    return {name: value for name, value in _numbers(summary, "") if name.split(".")[0] not in OF_THE_COMPUTATION}


def _numbers(value, name: str):
    """(dotted name, number) of nested tables and lists."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield from _numbers(entry, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for key, entry in enumerate(value):
            yield from _numbers(entry, f"{name}.{key}")
    elif is_number(value) and math.isfinite(value):
        yield name, float(value)


def _reason(error: Exception) -> str:
    """The first lines of an error, on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _told(number: int, n_members: int, outcome: Outcome, seconds: float) -> str:
    if outcome.failure:
        return f"member {number} of {n_members}: failed after {seconds:.1f} s: {outcome.failure}"
    steps = f", {outcome.steps:,} steps" if outcome.steps else ""
    return f"member {number} of {n_members}: {outcome.verdict or 'done'}{steps}, {seconds:.1f} s"


class Workers:
    """Context of further processes that work on the same members, each with its share of the cores, and with one of the
    GPUs in turn where CUDA_VISIBLE_DEVICES lists them. An error ends them. ``command``: words of the command line that
    runs the study in one process; ``n_workers``: number of further processes."""

    def __init__(self, command: Sequence[str], n_workers: int, folder: Path):
        gpus = [gpu for gpu in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if gpu]
        self._processes = []
        for k in range(1, n_workers + 1):
            own = {"CUDA_VISIBLE_DEVICES": gpus[k % len(gpus)]} if gpus else {}
            with open(folder / f"worker_{k}.log", "w", encoding="utf-8") as log:
                self._processes.append(
                    subprocess.Popen(
                        python("muphy_lb", *command),
                        env=variables(os.environ) | own | {"NUMBA_NUM_THREADS": str(threads(n_workers + 1))},
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                    )
                )

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is not None:
            self.stop()
        self.wait()

    def stop(self) -> None:
        """Ask all processes to stop."""
        for process in self._processes:
            process.terminate()

    def wait(self) -> Stopped | None:
        """Wait until all have ended; a signal stops them."""
        with StopSignals() as signals:
            signals.set_up()
            while any(process.poll() is None for process in self._processes):
                if signals.received:
                    self.stop()
                time.sleep(LOOK_S)
        return Stopped(_signal_name(signals.received)) if signals.received else None


def threads(n_processes: int) -> int:
    """Threads of each of some processes on the cores of this machine."""
    return max(1, len(os.sched_getaffinity(0)) // n_processes)
