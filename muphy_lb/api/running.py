"""The loop of a user's simulation: steps, callbacks, the steady-state criterion, and an interruption that waits for a
whole step."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muphy_lb.base.errors import InputError, MuphyError
from muphy_lb.measure.flow_view import FlowView
from muphy_lb.measure.monitor import RunStatus, poll
from muphy_lb.measure.observer import Observer, tell_walls
from muphy_lb.measure.permeability import has_permeability
from muphy_lb.measure.settling import Settling
from muphy_lb.output.progress import ProgressBar
from muphy_lb.parallel import agreed
from muphy_lb.run.criteria import Periodicity, SteadyState, steady_watch
from muphy_lb.run.loop import COMPLETED, Clock

if TYPE_CHECKING:
    from muphy_lb.api.simulation import Simulation

STOPPED, INTERRUPTED = "stopped", "interrupted"


class CallbackError(MuphyError):
    """A function of a user failed; on the ranks where it did, its own exception is the cause."""


class Callback(Observer):
    """Calls a user's function after every so many steps, on every rank.

    Args:
        owner: the simulation that the function is handed.
        every: number of steps.
        function: ``function(simulation)``.
    """

    tells_walls = True

    def __init__(self, owner: "Simulation", every: int, function: Callable[["Simulation"], object]):
        self._owner, self.every, self.function = owner, every, function

    def act(self) -> None:
        """Call it, unless it has been forgotten on the way.

        Raises:
            CallbackError: it fails, on this or another rank.
        """
        if self in self._owner.callbacks:
            agreed(self._owner.core.communicator, self._call)

    def _call(self) -> None:
        try:
            self.function(self._owner)
        except MuphyError:
            raise
        except Exception as error:
            rank = self._owner.core.communicator.rank
            raise CallbackError(f"a function of every() failed on rank {rank}: {error!r}") from error

    def verdict(self) -> str | None:
        """Whether the function has asked for the end, on any rank."""
        if self._owner.core.step_number % self.every:
            return None
        return STOPPED if self._owner.core.communicator.maximum(self._owner.wants_to_stop) else None


class SteadinessCriterion(SteadyState):
    """The steady-state criterion without a file.

    Args:
        view: the flow.
        tolerance: allowed relative change per characteristic time.

    Attributes:
        history: what was looked at: step, time [s], quantities by group and name, and the change; on rank 0.
    """

    def __init__(self, view: FlowView, tolerance: float):
        super().__init__(view, Path(), None)
        self.watch, self.every = steady_watch(view, tolerance), view.case.run.steady_interval_steps
        self.history: list[tuple[int, float, dict, float]] = []

    def follow(self, view: FlowView) -> None:
        """Look at another flow from now on: the same, after a change."""
        self._view = view

    def write(self, groups: dict[str, dict[str, float]], change: float) -> None:
        """Remember a row."""
        self.history.append((self._view.step_number, self._view.time_s, groups, change))


class Repetition(Periodicity):
    """The criterion of periodicity without a file.

    Args:
        view: the flow.
    """

    def __init__(self, view: FlowView):
        super().__init__(view, Path(), None)

    def follow(self, view: FlowView) -> None:
        """Look at another flow from now on: the same, after a change, which begins anew with other beats."""
        if view is not self._view:
            state = self.state()
            super().__init__(view, Path(), None)
            self.restore(state)

    def write(self) -> None:
        """Keep no rows."""


class SettlingWatch(Observer):
    """Follows the flow that a permeability may be asked of, between runs as well.

    Args:
        owner: the simulation.
    """

    def __init__(self, owner: "Simulation"):
        self._owner = owner
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget the flow, which has changed."""
        core = self._owner.core
        every = core.case.run.check_interval_steps
        self.settling, self.every = Settling(every), every if has_permeability(core.case, core.header) else 0

    def act(self) -> None:
        """Look at the flow."""
        self.settling.look(self._owner.core)


Criterion = SteadinessCriterion | Repetition


def criterion_of(view: FlowView) -> Criterion | None:
    """What may end a run before its last step, as the case has it."""
    run = view.case.run
    if run.periodic_tolerance is not None:
        return Repetition(view)
    return None if run.steady_tolerance is None else SteadinessCriterion(view, run.steady_tolerance)


class Interruption:
    """Context in which Ctrl-C waits for the end of a step, so that the state stays whole; then it is raised."""

    def __init__(self) -> None:
        self.received = 0

    def __enter__(self) -> "Interruption":
        self._before: Any = None
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, kind, *_) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self.received and kind is None:
            raise KeyboardInterrupt

    def agreed(self, communicator) -> str | None:
        """A reason to end where any rank was interrupted, which all know from now on; collective."""
        self.received = communicator.maximum(self.received)
        return INTERRUPTED if self.received else None

    def _note(self, number: int, _frame) -> None:
        self.received = number


@contextmanager
def advancing(owner: "Simulation", call: str) -> Iterator[None]:
    """Context in which a simulation is advanced, by one call at a time.

    Raises:
        InputError: it is advanced already: a callback, or another thread, calls.
    """
    if owner.is_advancing:
        raise InputError(
            f"{call}: this simulation is being advanced; a function of every() cannot advance it further, and is called"
            " again after so many steps"
        )
    owner.is_advancing, owner.wants_to_stop, failure = True, False, None
    try:
        yield
    except CallbackError as error:
        failure = error.__cause__ or error
    finally:
        owner.is_advancing = False
    if failure:
        raise failure


def drive(owner: "Simulation", last: int, watch: Criterion | None, clock: Clock, bar: ProgressBar) -> str:
    """Advance a simulation to a step, or until an observer or a user ends it; returns why it ended. Collective.

    Callbacks may change the case (``owner.change``), which may put another core in place of the present one, and add
    or remove callbacks, which counts from the next step on.

    Raises:
        DivergedError: the flow became unstable; the message says where, and what helps.
        KeyboardInterrupt: Ctrl-C, after a whole step.
    """
    reason, observers = None, _observers(owner, watch)
    with Interruption() as interruption:
        while reason is None and owner.core.step_number < last:
            core, observers = owner.core, _observers(owner, watch)
            target = min(last, _next_event(core, observers))
            is_told = target in (last, core.monitor.next_step) or tell_walls(observers, target)
            _advance(core, target, is_told, clock)
            if core.step_number % core.case.run.check_interval_steps == 0 or core.step_number == last:
                _look(core, observers, clock, bar)
                reason = interruption.agreed(core.communicator)
            if reason is None:
                _act(core.step_number, observers)
                reason = _verdict(owner, observers)
            reason = reason or _poll(owner.core, last, observers, interruption)
        owner.core.monitor.rest(_status(last, observers))
    return reason or COMPLETED


def _observers(owner: "Simulation", watch: Criterion | None) -> list[Observer]:
    return [owner.settling, *owner.callbacks, *([watch] if watch else [])]


def _look(core, observers: Sequence[Observer], clock: Clock, bar: ProgressBar) -> None:
    """Look at the flow, and tell of it."""
    velocity_m_s = core.units.velocity_to_si(core.health().max_speed)
    bar.move_to(core.step_number)
    if bar.is_drawn:
        watched = "".join(f" | {text}" for observer in observers if (text := observer.status()))
        bar.tell(f"{clock.mflups(core.header.n_nodes):.1f} MFLUPS", f"max velocity {velocity_m_s:.4g} m/s{watched}")


def _poll(core, last: int, observers: Sequence[Observer], interruption: Interruption) -> str | None:
    """Let whoever looks on see this step, if that is due; why to end the run, if that is asked for."""
    if core.step_number < core.monitor.next_step:
        return None

    def status() -> RunStatus:
        return _status(last, observers)

    return poll(core.monitor, status, asked_to_stop=lambda: interruption.agreed(core.communicator))


def _status(last: int, observers: Sequence[Observer]) -> RunStatus:
    return RunStatus(last, tuple(filter(None, [observer.steadiness() for observer in observers])))


def _act(step: int, observers: Sequence[Observer]) -> None:
    """Let those act that are due."""
    for observer in observers:
        if observer.every and step % observer.every == 0:
            observer.act()


def _verdict(owner: "Simulation", observers: Sequence[Observer]) -> str | None:
    """The first reason of an observer to end; each is asked, since asking is collective."""
    for observer in observers:
        if isinstance(observer, Criterion):
            observer.follow(owner.core)
    verdicts = [observer.verdict() for observer in observers]
    return next(filter(None, verdicts), None)


def _next_event(core, observers: Sequence[Observer]) -> int:
    intervals = [core.case.run.check_interval_steps, *(each.every for each in observers if each.every)]
    events = [(core.step_number // every + 1) * every for every in intervals]
    return int(min(*events, core.monitor.next_step))


def _advance(core, target: int, is_told: bool, clock: Clock) -> None:
    before, n_steps = time.perf_counter(), target - core.step_number
    core.advance(n_steps, is_told)
    core.engine.backend.synchronise()
    clock.stepping_s += time.perf_counter() - before
    clock.steps += n_steps
