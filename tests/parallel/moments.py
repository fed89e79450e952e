"""Moments of a run at which a campaign sends a signal, and the ranks that it is sent to."""

import os
import random
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from tests.conftest import stop_group
from tests.parallel.disturbed import CASES, EVERY, MARK, N_STEPS, TORN, newest_step, processes, settings, solver

START_S, END_S = 300.0, 30.0
POLL_S = 0.0005
# When: at any moment, while a checkpoint is written, before the first step, behind the last checkpoint.
ANY_MOMENT, WRITING, STARTING, ENDING = "any", "writing", "starting", "ending"
# Who, beside the number of a rank.
ALL, LAUNCHER = "all", "launcher"
NOTHING_ELSE = MappingProxyType({})


@dataclass(frozen=True)
class Moment:
    """When to disturb whom: ``delay_s`` after the checkpoint of ``step``, while the next one is written, or ``delay_s``
    after the start or behind the last checkpoint; a rank by its number, ``ALL`` or the ``LAUNCHER``."""

    when: str
    rank: int | str
    step: int
    delay_s: float
    case: str = "vessel"
    n_ranks: int = 4
    n_after: int = 1

    def __str__(self):
        return self.when if self.when in (STARTING, ENDING) else f"{self.when} {self.step}"

    @property
    def who(self) -> str:
        """The ranks that are disturbed, as text."""
        return f"{self.rank} of {self.n_ranks}"

    def on_at_most(self, most: int) -> "Moment":
        """The moment on at most so many ranks."""
        n_ranks = min(self.n_ranks, most)
        rank = self.rank % n_ranks if isinstance(self.rank, int) else self.rank
        after = 1 if n_ranks > 1 and min(self.n_after, most) == n_ranks else min(self.n_after, most)
        return replace(self, n_ranks=n_ranks, rank=rank, n_after=after)


def moments(n: int, seed: int, fewest_ranks: int = 2) -> list[Moment]:
    """``n`` random moments, every third one aimed at the writing of a checkpoint."""
    chance = random.Random(seed)
    return [_moment(number, chance, fewest_ranks) for number in range(n)]


def _moment(number: int, chance: random.Random, fewest_ranks: int) -> Moment:
    n_ranks = chance.choice(range(fewest_ranks, 5))
    when = (ANY_MOMENT, WRITING, chance.choice((STARTING, ENDING, ANY_MOMENT)))[number % 3]
    return Moment(
        when=when,
        rank=chance.choice((*range(n_ranks), ALL, LAUNCHER)),
        step=chance.randrange(EVERY, N_STEPS // 2, EVERY),
        delay_s=chance.uniform(0.0, {STARTING: 6.0, ENDING: 0.6}.get(when, 0.05)),
        case=list(CASES)[number % len(CASES)],
        n_ranks=n_ranks,
        n_after=chance.choice([n for n in (1, 2, 3, 4) if n != n_ranks]),
    )


def disturbed(
    case: Path,
    out: Path,
    moment: Moment,
    disturb: Callable,
    environment: Mapping[str, str] = NOTHING_ELSE,
    patience_s: float = END_S,
) -> tuple[subprocess.CompletedProcess, float, int]:
    """Run a case, and disturb it at the moment.

    Args:
        case, out: case file and output folder.
        moment: when; ``disturb`` may ask it for whom.
        disturb: called with the process ids of the moment's victims.
        environment: of the run, beside the usual one.
        patience_s: time that the command has to end.

    Returns:
        The finished command, its seconds from the disturbance to the end, the number of processes left over.
    """
    mark, pipes = str(out), {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    line = solver(moment.n_ranks, "run", case, "-o", out)
    surroundings = settings() | {MARK: mark} | dict(environment)
    with subprocess.Popen(line, env=surroundings, start_new_session=True, **pipes) as process:
        try:
            _wait_for(moment, out / "checkpoints", process)
            disturb(_victims(moment, mark, process))
            struck = time.monotonic()
            told = process.communicate(timeout=patience_s)
            while processes(mark) and time.monotonic() < struck + END_S:
                time.sleep(0.05)
            seconds = time.monotonic() - struck
        finally:
            if process.poll() is None:
                stop_group(process)
    return subprocess.CompletedProcess(line, process.returncode, *told), seconds, len(processes(mark))


def send(number: int, victims) -> None:
    """Send a signal to processes; one may have come to its end by itself."""
    for pid in victims:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _victims(moment: Moment, mark: str, process) -> list[int]:
    """Process ids; those of ranks that have not begun or have ended are not among them, and some may be none."""
    if moment.rank == LAUNCHER or moment.n_ranks == 1:
        return [process.pid] if process.poll() is None else []
    ranks = {rank: pid for rank, pid in processes(mark).items() if isinstance(rank, int)}
    if moment.rank == ALL:
        return list(ranks.values())
    return [ranks[moment.rank]] if moment.rank in ranks else []


def _wait_for(moment: Moment, folder: Path, process) -> None:
    deadline = time.monotonic() + START_S
    if moment.when == STARTING:
        time.sleep(moment.delay_s)
        while process.poll() is None and not _victims(moment, str(folder.parent), process):
            if time.monotonic() > deadline:
                raise RuntimeError(f"rank {moment.rank} did not begin")
            time.sleep(0.01)
        return
    step = N_STEPS if moment.when == ENDING else moment.step
    while process.poll() is None and newest_step(folder) < step:
        if time.monotonic() > deadline:
            raise RuntimeError(f"the run did not reach step {step}")
        time.sleep(POLL_S if moment.when == ENDING else 0.01)
    if moment.when != WRITING:
        time.sleep(moment.delay_s)
        return
    while process.poll() is None and not any(folder.glob(TORN)):
        time.sleep(POLL_S)
