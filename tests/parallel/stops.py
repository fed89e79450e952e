"""A campaign: runs are stopped at random moments, by a signal or a STOP file, and continued.

``python -m tests.parallel.stops FOLDER [-n STOPS] [--seed SEED] [--jobs JOBS] [--backend NAME] [--transport NAME]``
computes in FOLDER and prints a table.
"""

import json
import random
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from muphy_lb.run.loop import CASE_FILE, STOP_FILE, STOPPED_EXIT_CODE
from muphy_lb.run.stop_signals import STOP_SIGNALS
from tests.conftest import find_launcher
from tests.parallel import outcomes
from tests.parallel.disturbed import N_STEPS, TORN, all_valid, continued, differences, newest_step
from tests.parallel.moments import END_S, LAUNCHER, START_S, STARTING, Moment, disturbed, moments, send
from tests.vessel import ENDED

# Every so many runs the kernels must be compiled first; before the delay, python has begun.
COMPILING_EVERY, COMPILING_S, BEGUN_S = 10, 20.0, 1.0
INTERRUPTED = 128 + signal.SIGINT
# What mpirun hands on to the ranks; the other signals end mpirun itself, and with it the ranks, sooner or later.
HANDED_ON = {"HYDRA": {signal.SIGUSR1, signal.SIGTERM, signal.SIGINT}, "Open MPI": {signal.SIGUSR1}}


@dataclass(frozen=True)
class Stop:
    """How to stop a run: ``signal`` None for a STOP file; ``compiles``: with an empty cache of compiled kernels."""

    moment: Moment
    signal: signal.Signals | None
    compiles: bool

    @property
    def case(self) -> str:
        """The case that runs."""
        return self.moment.case

    @property
    def patience_s(self) -> float:
        """Time to end: a run that has not begun obeys after its first steps, behind all compilation, and ignores
        a STOP file that is there before it."""
        return START_S if self.moment.when == STARTING else END_S

    def __str__(self):
        return f"{self.signal.name if self.signal else STOP_FILE}, {'compiling' if self.compiles else self.moment}"


@dataclass(frozen=True)
class Outcome:
    """What came of a stop; ``expected``: the exit code is one of those promised, ``told``: stopped or completed, as the
    last line says, with a checkpoint of just that step; ``handed_on``: the signal reached ranks as it was sent;
    ``voices``: lines of the solver's own on stderr; ``differs``:
    how the continued run differs from the undisturbed one, if so."""

    case: str
    stop: str
    stopped: str
    seconds: float
    in_time: bool
    exit_code: int
    expected: bool
    told: bool
    traceback: bool
    handed_on: bool
    voices: int
    left_over: int
    newest: int
    all_valid: bool
    after: str
    differs: str

    @property
    def is_clean(self) -> bool:
        """Ended in time as promised, left no process, only valid checkpoints, and continued to the same files."""
        ended = self.in_time and self.expected and self.told and self.left_over == 0
        return ended and not self.traceback and self.is_one_voice and self.all_valid and not self.differs

    @property
    def is_one_voice(self) -> bool:
        """Whether one rank at most spoke; where mpirun kills the ranks, each that it has killed is named."""
        return self.voices <= 1 or not self.handed_on


def stops(n: int, seed: int, most_ranks: int = 4) -> list[Stop]:
    """``n`` random stops; every tenth run has to compile its kernels."""
    chance = random.Random(seed)
    return [_stop(k, moment.on_at_most(most_ranks), chance) for k, moment in enumerate(moments(n, seed, 1))]


def _stop(number: int, moment: Moment, chance: random.Random) -> Stop:
    compiles = number % COMPILING_EVERY == COMPILING_EVERY - 1
    how = chance.choice((*STOP_SIGNALS, None))
    if compiles:
        moment = replace(moment, when=STARTING, delay_s=chance.uniform(0.0, COMPILING_S))
    if moment.when == STARTING:  # an interpreter that has not begun to run the solver cannot obey
        moment = replace(moment, delay_s=BEGUN_S + moment.delay_s)
    return Stop(moment, how, compiles)


def stop(case: Path, out: Path, how: Stop) -> tuple[subprocess.CompletedProcess, float, int, int]:
    """Run a case until the moment; the finished command, its seconds to the end, processes left over, and the step of
    the newest checkpoint when it was stopped."""
    cache = {"NUMBA_CACHE_DIR": f"{out}-cache"} if how.compiles else {}
    seen = []

    def act(victims) -> None:
        seen.append(newest_step(out / "checkpoints") if victims else N_STEPS)
        send(how.signal, victims) if how.signal else _leave_stop_file(out)

    return *disturbed(case, out, how.moment, act, cache, how.patience_s), seen[0]


def _leave_stop_file(out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / STOP_FILE).touch()


def outcome_of(case: Path, out: Path, how: Stop, undisturbed: Path) -> Outcome:
    """Stop, look at what is left, continue on another number of ranks, compare."""
    done, seconds, left_over, step = stop(case, out, how)
    kept, valid = newest_step(out / "checkpoints"), all_valid(out / "checkpoints")
    expected, told = is_expected(done.returncode, how, out, step), _is_told(done, how, out, kept)
    torn = any((out / "checkpoints").glob(TORN))
    after = continued(case, out, how.moment.n_after)
    return Outcome(
        case=how.case,
        stop=str(how),
        stopped=how.moment.who,
        seconds=seconds,
        in_time=seconds < how.patience_s,
        exit_code=done.returncode,
        expected=expected,
        told=told and not torn,
        traceback="Traceback" in done.stdout + done.stderr,
        handed_on=not _is_lost(how),
        voices=sum(line.startswith("muphy-lb: ") for line in done.stderr.splitlines()),
        left_over=left_over,
        newest=kept,
        all_valid=valid,
        after=f"{how.moment.n_after}: {after.returncode}",
        differs=differences(out, undisturbed, kept) if after.returncode in ENDED else after.stderr.strip()[-300:],
    )


def is_expected(code: int, how: Stop, out: Path, step: int) -> bool:
    """Whether an exit code is that of a run that stopped, or was over, or had not begun and died of the signal; in the
    first half of its steps a run has to stop."""
    if _is_lost(how):
        return True
    if code in (*ENDED, STOPPED_EXIT_CODE):
        return code == STOPPED_EXIT_CODE or not 0 < step <= N_STEPS // 2
    if how.signal is None:
        return False
    joined = how.signal | signal.SIGKILL  # Hydra kills the other ranks, and joins what all of them ended with
    of_signal = {-how.signal, how.signal, 128 + how.signal, joined}
    if _summary(out).get("ended"):  # a process that is over may die of what comes then
        return code in of_signal
    own = {INTERRUPTED} if how.signal == signal.SIGINT else of_signal
    return not (out / CASE_FILE).exists() and code in own


def _is_told(done, how: Stop, out: Path, kept: int) -> bool:
    """Whether a run that stopped or came to its end says so, and has a checkpoint of that step."""
    summary = _summary(out)
    if done.returncode in ENDED:
        return summary.get("ended") == "completed" and kept == N_STEPS
    if done.returncode != STOPPED_EXIT_CODE or _is_lost(how):
        return True
    reason = f"signal {how.signal.name}" if how.signal else "STOP file"
    return summary.get("ended") == reason and f"stopped by {reason}" in done.stdout and kept == summary["steps"]


def _is_lost(how: Stop) -> bool:
    """Whether the signal ends mpirun, which then ends the ranks in its own way."""
    at_launcher = how.moment.rank == LAUNCHER and how.moment.n_ranks > 1
    return at_launcher and how.signal is not None and how.signal not in _handed_on()


def _handed_on() -> set:
    told = subprocess.run([find_launcher(), "--version"], capture_output=True, text=True).stdout
    return next((signals for name, signals in HANDED_ON.items() if name in told), set(STOP_SIGNALS))


def _summary(out: Path) -> dict:
    path = out / "summary.json"
    return json.loads(path.read_text()) if path.exists() else {}


def main() -> int:
    """The campaign; exit code 1 if an end was not clean."""
    signal.signal(signal.SIGHUP, lambda *_: None)  # runs would inherit that nohup ignores it
    study = partial(outcomes.study, outcome_of=outcome_of)
    return outcomes.campaign(__doc__, "stops", 100, lambda each: stops(each.n, each.seed, each.most_ranks), study)


if __name__ == "__main__":
    sys.exit(main())
