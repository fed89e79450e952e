"""A study: ranks of a run are killed at random moments, and the run is continued from what it left.

``python -m tests.parallel.kills FOLDER [-n KILLS] [--seed SEED]`` computes in FOLDER and prints a table.
"""

import argparse
import contextlib
import csv
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, fields
from pathlib import Path

import h5py
import numpy as np

from muphy_lb.errors import InputError
from muphy_lb.run.checkpoint import PATTERN, newest
from tests.conftest import find_launcher, launcher_settings, stop_group
from tests.vessel import command, write_case

N_RANKS, N_STEPS, EVERY = 4, 3000, 20
LAST_TARGET = 2400  # the run must still be under way when the signal comes
START_S, END_S = 240.0, 30.0
POLL_S = 0.0005
MARK = "MUPHY_KILL_STUDY"
RANK_NAMES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK")
ANY_MOMENT, WRITING = "any", "writing"


@dataclass(frozen=True)
class Moment:
    """When to kill which rank: after the checkpoint of ``step`` and ``delay_s``, or while the next one is written."""

    when: str
    rank: int
    step: int
    delay_s: float


@dataclass(frozen=True)
class Outcome:
    """What came of a kill; ``step`` is the last one recorded, ``torn``: a half-written checkpoint was left."""

    moment: str
    rank: int
    step: int
    torn: bool
    seconds: float
    exit_code: int
    left_over: int
    told: bool
    newest: int
    all_valid: bool
    same: bool

    @property
    def is_clean(self) -> bool:
        """Ended in time, said who died, left no process, only valid checkpoints, and continued to the same state."""
        ended = self.exit_code != 0 and self.seconds < END_S and self.left_over == 0
        return ended and self.told and self.all_valid and self.same


def moments(n: int, seed: int) -> list[Moment]:
    """``n`` random moments, every second one aimed at the writing of a checkpoint."""
    chance = random.Random(seed)
    return [
        Moment(
            when=(ANY_MOMENT, WRITING)[number % 2],
            rank=chance.randrange(N_RANKS),
            step=chance.randrange(EVERY, LAST_TARGET, EVERY),
            delay_s=chance.uniform(0.0, 0.05),
        )
        for number in range(n)
    ]


def study_case(folder: Path, vtk: bool = True) -> Path:
    """The case: a vessel with everything that a run writes."""
    output = {"checkpoint_every_steps": EVERY, "vtk": vtk, "fields_every_steps": 100 * vtk}
    return write_case(folder, compute={"backend": "cpu"}, run={"steps": N_STEPS}, output=output)


def undisturbed(case: Path, folder: Path) -> np.ndarray:
    """(Q, n) populations at the end, computed in one go by one rank."""
    command("run", case, "-o", folder, "--set", f"output.checkpoint_every_steps={N_STEPS}")
    return populations(folder)


def populations(folder: Path) -> np.ndarray:
    """(Q, n) populations of the newest checkpoint."""
    with h5py.File(newest(folder / "checkpoints").path) as file:
        return file["populations"][...]


def kill(case: Path, out: Path, moment: Moment) -> tuple[subprocess.CompletedProcess, float, int]:
    """Run a case on all ranks until the moment; the finished command, its seconds to the end, processes left over."""
    launcher, mark = find_launcher(), str(out)
    line = [launcher, "-n", str(N_RANKS), sys.executable, "-m", "muphy_lb", "run", str(case), "-o", str(out)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(line, env=os.environ | launcher_settings(launcher) | {MARK: mark}, **pipes) as process:
        try:
            _wait_for(moment, out / "checkpoints", process)
            os.kill(_processes(mark)[moment.rank], signal.SIGKILL)
            struck = time.monotonic()
            told = process.communicate(timeout=END_S)
            seconds = time.monotonic() - struck
        finally:
            if process.poll() is None:
                stop_group(process)
    return subprocess.CompletedProcess(line, process.returncode, *told), seconds, len(_processes(mark))


def _wait_for(moment: Moment, folder: Path, process) -> None:
    deadline = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline:
        if _newest_step(folder) >= moment.step:
            break
        time.sleep(0.01)
    else:
        raise RuntimeError(f"the run did not reach step {moment.step}")
    if moment.when == ANY_MOMENT:
        time.sleep(moment.delay_s)
        return
    while not any(folder.glob(".step_*.tmp")):
        time.sleep(POLL_S)


def _newest_step(folder: Path) -> int:
    return max((int(path.stem[len("step_") :]) for path in folder.glob(PATTERN)), default=0)


def _processes(mark: str) -> dict:
    """Process ids of all that a study's launcher started: of ranks by rank, of others by themselves."""
    found = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            pid, text = int(folder.name), (folder / "environ").read_bytes().decode()
            environment = dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)
            if environment.get(MARK) == mark:
                ranks = [int(environment[name]) for name in RANK_NAMES if name in environment]
                found[ranks[0] if ranks else f"process {pid}"] = pid
    return found


def outcome_of(case: Path, out: Path, moment: Moment, reference: np.ndarray) -> Outcome:
    """Kill, look at what is left, continue on one rank, compare."""
    done, seconds, left_over = kill(case, out, moment)
    folder = out / "checkpoints"
    torn = any(folder.glob(".step_*.tmp"))
    kept, valid = _newest_step(folder), _all_valid(folder)
    rows = list(csv.DictReader((out / "openings.csv").open()))
    command("resume", out, "--set", f"output.checkpoint_every_steps={N_STEPS}")
    return Outcome(
        moment=f"{moment.step} {'writing' if moment.when == WRITING else f'+ {1e3 * moment.delay_s:.1f} ms'}",
        rank=moment.rank,
        step=int(rows[-1]["step"]),
        torn=torn,
        seconds=seconds,
        exit_code=done.returncode,
        left_over=left_over,
        told=done.stderr.count("\n") == 1 and f"rank {moment.rank} of {N_RANKS}" in done.stderr,
        newest=kept,
        all_valid=valid,
        same=np.array_equal(populations(out), reference),
    )


def _all_valid(folder: Path) -> bool:
    """Whether there are checkpoints and each of them could be continued from: ``newest`` is asked one by one."""
    paths = sorted(folder.glob(PATTERN))
    for path in paths:
        with tempfile.TemporaryDirectory(dir=folder) as alone:
            os.link(path, Path(alone, path.name))
            try:
                newest(Path(alone))
            except InputError:
                return False
    return bool(paths)


def study(folder: Path, when: list[Moment]) -> list[Outcome]:
    """What came of a kill at each moment."""
    case = study_case(folder)
    reference = undisturbed(case, folder / "undisturbed")
    return [outcome_of(case, folder / f"kill-{k}", moment, reference) for k, moment in enumerate(when)]


def table(outcomes) -> str:
    """One line a kill."""
    heads = [field.name for field in fields(Outcome)]
    lines = [heads, *([_cell(getattr(outcome, name)) for name in heads] for outcome in outcomes)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def _cell(value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def main() -> int:
    """The study; exit code 1 if an end was not clean."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-n", type=int, default=20, help="number of kills (default 20)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    with contextlib.redirect_stdout(sys.stderr):
        outcomes = study(options.folder, moments(options.n, options.seed))
    n_clean = sum(outcome.is_clean for outcome in outcomes)
    print(table(outcomes))
    print(f"{n_clean} of {len(outcomes)} clean: {N_RANKS} ranks, seed {options.seed}, {N_STEPS} steps in all")
    return int(n_clean < len(outcomes))


if __name__ == "__main__":
    sys.exit(main())
