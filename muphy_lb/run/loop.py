"""The time loop: steps, observers with triggers, and every reason to stop."""

import json
import logging
import shlex
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from muphy_lb.base.errors import InputError, MuphyError
from muphy_lb.base.files.atomic import check_writable, no_link, output_errors, write_text
from muphy_lb.base.phases import LOOKING, STEPPING, WRITING, phase, spent_on
from muphy_lb.base.version import __version__
from muphy_lb.measure.monitor import Changes, RunStatus, poll
from muphy_lb.measure.observer import Observer, tell_walls
from muphy_lb.output.report_html import REPORT_FILE, write_report
from muphy_lb.parallel import agreed, agreed_on_root, all_agreed
from muphy_lb.run.changes import Rebalancing, changed, imposes_alone, offered_actions, refuse_while_writing, try_change
from muphy_lb.run.checkpoint import checkpoint_path, keep_only, newest_for, restore, restore_memory, write_checkpoint
from muphy_lb.run.criteria import PERIODIC, STEADY
from muphy_lb.run.folder import CASE_FILE, CHECKPOINTS, SUMMARY_FILE, FolderLock
from muphy_lb.run.observers import check_observers, create_observers, remove_files, summarise
from muphy_lb.run.progress import Clock, Progress, occupied
from muphy_lb.run.solver import Solver
from muphy_lb.run.stop_signals import Interruption, StopSignals
from muphy_lb.run.verdict import DOUBTFUL, NOT_JUDGED, judge
from muphy_lb.setup.waveforms import longest_period_s

LOG = logging.getLogger(__name__)
STOP_FILE = "STOP"
N_CHECKPOINTS = 2
COMPLETED = "completed"
ENDS = (COMPLETED, STEADY, PERIODIC)
STOPPED_EXIT_CODE = 75


def stopped(by: str, folder: Path, say: Callable[[str], None]) -> int:
    """Print why a command has stopped that continues when it is repeated; returns its exit code."""
    say(f"stopped by {by}; to continue, give the same command again (what is done is in {folder})")
    return STOPPED_EXIT_CODE


def ending(reason: str) -> str:
    """Reason for the end of a run, as text."""
    return reason if reason in ENDS else f"stopped by {reason}"


class CheckpointWriter:
    """Writes checkpoints; the last ``N_CHECKPOINTS`` are kept. ``observers``: whose memory is part of the state;
    ``written``: checkpoints that this run has written before it was resumed."""

    tells_walls = True

    def __init__(self, simulation: Solver, folder: Path, observers: Sequence[Observer], written=()):
        self.every = simulation.case.output.checkpoint_every_steps
        self._simulation, self._folder, self._observers = simulation, folder, observers
        self._written = tuple(written)

    def forget(self) -> None:
        """Write the present step again: the flow has been changed."""
        path = checkpoint_path(self._folder, self._simulation.step_number)
        self._written = tuple(each for each in self._written if each != path)

    def act(self) -> None:
        """Write one, unless this step has one. Raises DivergedError: the flow is unstable; the earlier checkpoints
        stay."""
        path = checkpoint_path(self._folder, self._simulation.step_number)
        if path in self._written:
            return
        self._simulation.health()
        all_agreed(self._simulation.communicator, [observer.wait for observer in self._observers])
        states = {observer.name: observer.state() for observer in self._observers}
        write_checkpoint(path, self._simulation, {name: state for name, state in states.items() if state is not None})
        self._written = (*self._written, path)[-N_CHECKPOINTS:]
        agreed_on_root(self._simulation.communicator, lambda: keep_only(self._written, self._folder))


class Loop:
    """The steps of a simulation between the events that its observers and its monitor wait for.

    Args:
        observers: of the run; those that come later are asked as well.
    """

    def __init__(self, simulation: Solver, clock: Clock, observers: list[Observer]):
        self.simulation, self.clock, self.observers = simulation, clock, observers

    def acting(self) -> Sequence:
        """Observers and actions that are due at regular intervals of steps."""
        return self.observers

    def next_event(self, last: int) -> int:
        """The next step at which an observer or the monitor acts, or the last step."""
        step, check = self.simulation.step_number, self.simulation.case.run.check_interval_steps
        intervals = [check, *(each.every for each in self.acting() if each.every)]
        events = [(step // interval + 1) * interval for interval in intervals]
        return int(min(last, *events, self.simulation.monitor.next_step))

    def tells_walls(self, step: int) -> bool:
        """Whether wall forces or stress, which are means with the step before, may be requested then."""
        return step >= self.simulation.monitor.next_step or tell_walls(self.acting(), step)

    def step_to(self, target: int, is_told: bool) -> None:
        """Advance, and count the time."""
        before, step = time.perf_counter(), self.simulation.step_number
        with spent_on(STEPPING):
            self.clock.updates_of_each += self.simulation.advance(target - step, is_told)
            self.simulation.engine.backend.synchronise()
        self.clock.stepping_s += time.perf_counter() - before
        self.clock.steps += self.simulation.step_number - step

    def status(self, last: int) -> RunStatus:
        """The last step, and how far criteria are met."""
        return RunStatus(last, tuple(filter(None, [observer.steadiness() for observer in self.observers])))

    def poll(self, last: int, asked_to_stop: Callable[[], str | None], **options) -> str | None:
        """Let the monitor see this step, if a look is due; the reason to end the run, if it requests that."""
        if self.simulation.step_number < self.simulation.monitor.next_step:
            return None
        return poll(self.simulation.monitor, lambda: self.status(last), asked_to_stop=asked_to_stop, **options)


class Run(Loop):
    """A run of a simulation into an output folder.

    Args:
        resume: continue from the newest checkpoint in the folder.
        clock: counts the wall time; made here if not given.
        shows_progress: whether there is a bar in place of lines; None: where somebody sees it.

    The folder is locked until :meth:`execute` ends. From then on ``verdict`` says, on every rank, what the result is
    worth (:mod:`muphy_lb.run.verdict`).

    Raises:
        OutputError: the folder cannot be written, or another run writes there.
        InputError: resume without a valid checkpoint, or the case asks for what cannot be measured.
    """

    def __init__(
        self,
        simulation: Solver,
        folder,
        resume: bool = False,
        clock: Clock | None = None,
        shows_progress: bool | None = None,
    ):
        super().__init__(simulation, clock or Clock(), [])
        self.folder = Path(folder)
        self._root = simulation.communicator.rank == 0
        self._lock = agreed_on_root(simulation.communicator, self._locked)
        try:
            self._prepare(simulation, resume)
            self.rebalancing = Rebalancing(simulation)
            self.progress = Progress(simulation, self.observers, self.rebalancing, self.clock, shows_progress)
        except BaseException:  # a traceback that somebody looks at would keep the lock
            self._release()
            raise

    def _locked(self) -> FolderLock:
        check_writable(self.folder)
        lock = FolderLock(self.folder)
        if _removed(self.folder / STOP_FILE):  # it was meant for an earlier run
            LOG.warning("removed %s, left from before this run", self.folder / STOP_FILE)
        return lock

    def _release(self) -> None:
        if self._lock:
            self._lock.release()

    def _prepare(self, simulation: Solver, resume: bool) -> None:
        """Read the checkpoint to continue from, and make the observers; collective."""
        check_observers(simulation)
        checkpoint = restore(self.folder / CHECKPOINTS, simulation) if resume else None
        if not resume:
            agreed_on_root(simulation.communicator, self._begin_folder)
        self.observers = create_observers(simulation, self.folder, checkpoint.step if checkpoint else None)
        for observer in self.observers:
            if checkpoint:
                restore_memory(checkpoint, observer.name, observer.restore)
        self._is_resumed, self.verdict, self._stopped_by = checkpoint is not None, NOT_JUDGED, ""
        written = (checkpoint.path,) if checkpoint else ()
        self.checkpoints = CheckpointWriter(simulation, self.folder / CHECKPOINTS, self.observers, written)

    def _write_case(self) -> None:
        write_text(self.folder / CASE_FILE, self.simulation.case.to_toml(self.folder))

    def execute(self, signals: StopSignals | Interruption | None = None) -> tuple[str, dict | None]:
        """Run to the end; returns why it ended and, on rank 0 and if there was anything to do, the summary.

        Args:
            signals: a surrounding context that takes signals; without one they keep their usual effect.

        Raises DivergedError: the flow became unstable.
        """
        try:
            reason = self._reason_to_finish()
            made, asked = self.simulation.step_number, self.simulation.numerics.steps
            if reason is None and made >= asked:
                how_many = f"all its {asked} steps" if made == asked else f"{made} steps, more than its {asked}"
                if self._root:
                    LOG.info("the run in %s has made %s; to continue: %s", self.folder, how_many, self._longer())
                self.verdict = self.simulation.communicator.broadcast(self._summary().get("verdict", NOT_JUDGED))
                return COMPLETED, None
            if self._is_resumed:
                agreed_on_root(self.simulation.communicator, self._write_case)
            with spent_on(LOOKING):
                reason = reason or self._advance(signals or StopSignals())
            self.simulation.monitor.end(self.status(self.simulation.numerics.steps), ending(reason))
            with spent_on(WRITING):
                return reason, self._finish(reason)
        finally:
            self._end()

    def conclude(self, reason: str, states: Mapping[str, dict]) -> dict | None:
        """Write the results of a flow that has been advanced elsewhere; returns the summary on rank 0. ``reason``: why
        it ended; ``states``: of observers that have followed it, by name."""
        try:
            for observer in self.observers:
                if observer.name in states:
                    observer.restore(states[observer.name])
            with spent_on(WRITING):
                return self._finish(reason)
        finally:
            self._end()

    def _end(self) -> None:
        """Wait for all output beside the run, then unlock the folder, even after failures."""

        def wait_for(observer: Observer) -> None:
            with suppress(MuphyError):  # of a run that has ended so far, it has been raised
                observer.wait()

        with ExitStack() as stack:
            stack.callback(self._release)
            for observer in reversed(self.observers):
                stack.callback(wait_for, observer)

    def _reason_to_finish(self) -> str | None:
        """Reason why a resumed run, which had reached its end, only has to write its last files."""
        simulation, reason = self.simulation, None
        if self._root and self._is_resumed and self._summary().get("steps") != simulation.step_number:
            is_complete = simulation.step_number >= simulation.numerics.steps
            met = [observer.reason for observer in self.observers if observer.is_satisfied]
            reason = met[0] if met else COMPLETED if is_complete else None
        return simulation.communicator.broadcast(reason)

    def _summary(self) -> dict:
        """The summary that an earlier run has left in the folder; empty if there is none, or another process's."""
        try:
            with open(self.folder / SUMMARY_FILE, encoding="utf-8", opener=no_link) as file:
                summary = json.load(file)
        except (OSError, ValueError):
            return {}
        return summary if isinstance(summary, dict) else {}

    def _longer(self) -> str:
        """The command that gives the run, or what is left of it, as much again."""
        run, last = self.simulation.case.run, self.simulation.numerics.steps
        resume = f"muphy-lb resume {shlex.quote(str(self.folder))}"
        if self.simulation.step_number < last:
            return resume
        two_periods_s, made = 2.0 * longest_period_s(self.simulation.case), self.simulation.step_number
        n_steps = max(2 * last, 2 * made, self.simulation.units.time_to_steps(two_periods_s))
        time_s = max(2.0 * (run.time_s or 0.0), 2.0 * self.simulation.time_s, two_periods_s)
        longer = f"run.time_s={time_s:.6g}" if run.time_s else f"run.steps={n_steps}"
        return f"{resume} --set {longer}"

    def _begin_folder(self) -> None:
        """Remove the files of an earlier run, since a failure must not leave its results, and write the case."""
        with output_errors(self.folder):
            for name in (SUMMARY_FILE, REPORT_FILE):
                (self.folder / name).unlink(missing_ok=True)
            remove_files(self.folder)
        keep_only((), self.folder / CHECKPOINTS)
        self._write_case()

    def _advance(self, signals) -> str:
        last = self.simulation.numerics.steps
        self.clock.count(occupied(self.simulation))
        self.simulation.state.walls.remember()  # set up once, ahead of the steps that are timed
        with self.progress:
            while self.simulation.step_number < last:
                every = self.rebalancing.every  # before the steps that follow: this one has been observed already
                if every and (self.clock.steps == 0 or self.simulation.is_due(every)):
                    self.rebalancing.act(self.clock.stepping_s)
                target = self.next_event(last)
                is_told = target == last or self.tells_walls(target)
                self._step_to(target, is_told)
                self._act(self.observers)
                verdicts = self._of_observers(self._verdict)
                self._act((self.checkpoints,))
                reason = next(filter(None, verdicts), None)
                self._stopped_by = "" if reason else self._reason_to_stop(signals) or self._poll(signals) or ""
                if self._stopped_by and self.simulation.state.walls.are_measured and not is_told:
                    self._step_to(self.simulation.step_number + 1, is_told=True)
                    self._act((*self.observers, self.checkpoints))
                if reason or self._stopped_by:
                    return reason or self._stopped_by
        return COMPLETED

    def acting(self) -> Sequence:
        """The observers, the writer of checkpoints, and the balance of loads."""
        return (*self.observers, self.checkpoints, self.rebalancing)

    def _step_to(self, target: int, is_told: bool) -> None:
        self.step_to(target, is_told)
        self.progress.move()

    def _act(self, acting: Sequence[Observer | CheckpointWriter]) -> None:
        """Run the observers that are due; an observer that one of them adds waits for the next step."""

        def act(each: Observer | CheckpointWriter) -> None:
            with self.clock.look(each, each.every):
                each.act()

        if due := [partial(act, each) for each in acting if each.every and self.simulation.is_due(each.every)]:
            all_agreed(self.simulation.communicator, due)

    def _verdict(self, observer: Observer) -> str | None:
        """Its reason to end the run; where it is due, it looks at the flow for that."""
        if not observer.every or not self.simulation.is_due(observer.every):
            return observer.verdict()
        with self.clock.look((observer, "verdict"), observer.every):
            return observer.verdict()

    def _reason_to_stop(self, signals) -> str | None:
        every = self.simulation.case.run.check_interval_steps
        if not self.simulation.is_due(every):
            return None
        with self.clock.look("health", every):
            health = self.simulation.health()
        self.progress.estimate()
        progress_due, stop = self.simulation.communicator.broadcast(self._root_decision() if self._root else None)
        if progress_due:
            self.progress.tell(health)
        return self._signal(signals) or stop

    def _signal(self, signals) -> str | None:
        number = self.simulation.communicator.maximum(signals.received)
        return f"signal {signal.Signals(number).name}" if number else None

    def _poll(self, signals) -> str | None:
        """Let the monitor see this step; returns the reason to end the run, if there is one."""

        def asked_to_stop() -> str | None:
            stop = self.simulation.communicator.broadcast(self._root_decision()[1] if self._root else None)
            return self._signal(signals) or stop

        return self.poll(
            self.simulation.numerics.steps,
            asked_to_stop,
            write_checkpoint=lambda: self.checkpoints.act(),  # a change may bring another writer
            change=self._change_for_viewer,
            go_back=self._go_back,
        )

    def _change_for_viewer(self, changes: Changes) -> str:
        """Take other values of the case, with which that of the folder is the changed one from then on, and act on the
        flow, whose present step is written again then. For another engine the run continues as ``resume --set``
        does."""

        def change(values: Mapping[str, object]) -> None:
            if not self.simulation.monitor.keeps_checkpoints:
                refuse_while_writing(self.simulation, values)
            if imposes_alone(self.simulation, values):
                changed(self.simulation, values)
            else:
                self.checkpoints.act()
                self._go_on_with(changed(self.simulation, values))
            agreed_on_root(self.simulation.communicator, self._write_case)

        told = try_change(self.simulation, change, changes)
        if any(name in offered_actions(self.simulation) for name, _ in changes):
            self.checkpoints.forget()
            for observer in self.observers:
                observer.forget()
        return told

    def _go_back(self) -> str:
        """Continue from the newest checkpoint of the folder, with the case as it is now; the outcome in words."""
        step = self.simulation.step_number
        try:
            checkpoint = newest_for(self.folder / CHECKPOINTS, self.simulation)
        except InputError as error:
            LOG.warning("step %d: a viewer's return is refused: %s", step, error)
            return f"there is no checkpoint to go back to; write one first ({error})"
        self._of_observers(lambda observer: observer.wait())
        self.simulation.begin_anew()
        self._go_on_with(self.simulation)
        LOG.info("step %d: a viewer has gone back to step %d", step, checkpoint.step)
        return f"back at step {checkpoint.step}"

    def _go_on_with(self, simulation: Solver) -> None:
        """Continue from the newest checkpoint with a simulation of this flow, and with observers as of a run that is
        resumed."""
        self._prepare(simulation, resume=True)
        self.clock.looks.clear()  # those of the observers before
        self.simulation, self.rebalancing = simulation, Rebalancing(simulation)
        self.progress.follow(simulation, self.observers, self.rebalancing)
        simulation.state.walls.remember()
        simulation.monitor.follow(simulation)

    def _root_decision(self) -> tuple[bool, str | None]:
        """Whether a progress line is due, and rank 0's own reason to stop."""
        run, due = self.simulation.case.run, self.progress.is_due()
        if _removed(self.folder / STOP_FILE):
            return due, "STOP file"
        if run.wall_time_s is not None and self.clock.wall_time_s >= run.wall_time_s:
            return due, f"wall time {run.wall_time}"
        return due, None

    def _finish(self, reason: str) -> dict | None:
        simulation = self.simulation
        self.clock.count(occupied(simulation))
        fluid = self.clock.occupied_mflups
        speed = {
            "wall_time_s": self.clock.wall_time_s,
            "stepping_time_s": self.clock.stepping_s,
            "steps_per_s": self.clock.steps_per_s,
            "mflups": self.clock.mflups(simulation.header.n_nodes),
            **({} if fluid is None else {"mflups_fluid": fluid}),
            **self.rebalancing.record(),
        }
        with spent_on(LOOKING):
            verdict = judge(simulation, self.observers, self._longer(), self._stopped_by)
        self.verdict = verdict.word
        if self.checkpoints.every or reason not in ENDS or verdict.word == DOUBTFUL:
            self.checkpoints.act()  # of a doubtful flow too: it may only need more steps
        with phase(f"writing fields and pictures to {self.folder}", WRITING):
            found = self._of_observers(lambda observer: observer.finish())
            records = {observer.name: record for observer, record in zip(self.observers, found, strict=True)}
        outcome = {
            "version": __version__,
            "ended": reason,
            "converged": any(observer.is_satisfied for observer in self.observers),
            **verdict.record(),
            **{name: record for name, record in records.items() if record is not None},
        }
        communicator, folder = simulation.communicator, self.folder
        summary = agreed(communicator, lambda: summarise(simulation, folder, speed, outcome))
        self._of_observers(lambda observer: observer.close())
        self._of_observers(lambda observer: observer.wait())

        def report() -> None:
            parts = [observer.section(summary) for observer in self.observers]
            write_report(folder, summary, parts, with_plots=simulation.case.output.picture)

        if simulation.case.output.report:
            agreed_on_root(communicator, report)
        return summary

    def _of_observers(self, ask: Callable) -> list:
        """Results of all observers, collected even if one of them fails."""
        return all_agreed(self.simulation.communicator, [partial(ask, observer) for observer in self.observers])

    def closing_lines(self, summary: dict) -> list[str]:
        """The closing lines of the observers of a finished run, on rank 0."""
        return [line for observer in self.observers for line in observer.lines(summary)]


def _removed(path: Path) -> bool:
    """Whether a file or link existed and has been removed; failures are ignored."""
    try:
        path.unlink()
    except OSError:
        return False
    return True
