"""A campaign: runs are killed at random moments, and continued from what they left.

``python -m tests.parallel.kills FOLDER [-n KILLS] [--seed SEED] [--jobs JOBS] [--backend NAME] [--transport NAME]``
computes in FOLDER and prints a table.
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from types import MappingProxyType

import h5py
import numpy as np

from muphy_lb.case.case import case_from_dict
from muphy_lb.errors import InputError
from muphy_lb.run.checkpoint import PATTERN, newest
from tests.conftest import find_launcher, launcher_settings, run_and_stop, stop_group
from tests.vessel import changed

N_STEPS, EVERY = 600, 20
START_S, END_S, RESUME_S = 300.0, 30.0, 300.0
POLL_S = 0.0005
MARK = "MUPHY_KILLED_RUN"
RANK_NAMES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK")
# When: at any moment, while a checkpoint is written, before the first step, behind the last checkpoint.
ANY_MOMENT, WRITING, STARTING, ENDING = "any", "writing", "starting", "ending"
# Who, beside the number of a rank.
ALL, LAUNCHER = "all", "launcher"
NOTHING_TO_CONTINUE = 2

WARM = {
    "thermal": {
        "reference_k": 300.0,
        "diffusivity_m2_s": 2e-5,
        "expansion_1_k": 3e-3,
        "gravity_m_s2": [0.0, 0.0, -9.81],
    },
    "openings": [
        {"name": "inlet", "velocity_m_s": 0.02, "temperature_k": 310.0},
        {"name": "outlet_1", "pressure_pa": 0.0},
        {"name": "outlet_2", "pressure_pa": 0.0},
    ],
}
PULSE = {"period_s": 0.4, "mean": 1.0, "sine": [0.5]}
PULSATILE = [
    {"name": "inlet", "velocity_m_s": 0.02, "waveform": PULSE},
    {"name": "outlet_1", "pressure_pa": 0.0},
    {"name": "outlet_2", "pressure_pa": 0.0},
]
PIPE = {"shape": "stenosis", "spacing_m": 1e-3, "options": {"length": 36, "radius": 6.2, "extent": 20.0}}
THROUGH = [{"name": "inlet", "velocity_m_s": 0.02}, {"name": "outlet", "pressure_pa": 0.0}]
CASES: Mapping[str, dict] = MappingProxyType(
    {
        "vessel": {},
        "in place": {"compute": {"streaming": "aa"}},
        "pulsatile": {"openings": PULSATILE, "output": {"wall_shear": True}},
        "thermal": WARM,
        "thermal in place": WARM | {"compute": {"streaming": "aa", "precision": "fp64"}},
        "interpolated": {
            "geometry": PIPE,
            "openings": THROUGH,
            "lattice": {"walls": "bouzidi", "collision": "trt", "lattice_velocity": 0.015},
        },
    }
)


@dataclass(frozen=True)
class Moment:
    """When to kill whom: ``delay_s`` after the checkpoint of ``step``, while the next one is written, or ``delay_s``
    after the start or behind the last checkpoint; a rank by its number, ``ALL`` or the ``LAUNCHER``."""

    when: str
    rank: int | str
    step: int
    delay_s: float
    case: str = "vessel"
    n_ranks: int = 4
    n_after: int = 1


@dataclass(frozen=True)
class Outcome:
    """What came of a kill; ``torn``: a half-written checkpoint was left; ``told``: one line names who died; ``newest``:
    step of the newest checkpoint left; ``same``: how the continued run differs from the undisturbed one, if so."""

    case: str
    moment: str
    killed: str
    torn: bool
    seconds: float
    exit_code: int
    left_over: int
    told: bool
    newest: int
    all_valid: bool
    after: str
    differs: str

    @property
    def is_clean(self) -> bool:
        """Ended in time, left no process, only valid checkpoints, and continued to the same files."""
        ended = self.seconds < END_S and self.left_over == 0
        return ended and self.told and self.all_valid and not self.differs


def moments(n: int, seed: int) -> list[Moment]:
    """``n`` random moments, every third one aimed at the writing of a checkpoint."""
    chance = random.Random(seed)
    return [_moment(number, chance) for number in range(n)]


def _moment(number: int, chance: random.Random) -> Moment:
    n_ranks = chance.choice((2, 3, 4))
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


def write_case(folder: Path, name: str, compute: Mapping) -> Path:
    """One of the cases, with all that a run writes."""
    sections = dict(CASES[name])
    output = {"checkpoint_every_steps": EVERY, "vtk": True, "fields_every_steps": 100} | sections.pop("output", {})
    compute = {"backend": "cpu"} | sections.pop("compute", {}) | dict(compute)
    table = changed(**sections, compute=compute, run={"steps": N_STEPS, "ramp_steps": 0}, output=output)
    path = folder / f"{name.replace(' ', '_')}.toml"
    path.write_text(case_from_dict(table).to_toml())
    return path


def solver(n_ranks: int, *arguments) -> list[str]:
    """The command line of the solver on some ranks."""
    launcher = [find_launcher(), "-n", str(n_ranks)] if n_ranks > 1 else []
    return [*launcher, sys.executable, "-m", "muphy_lb", *map(str, arguments)]


def settings() -> dict[str, str]:
    """Environment of a run; several runs share the cores."""
    free = {"OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
    return os.environ | launcher_settings(find_launcher()) | free


def populations(folder: Path) -> np.ndarray:
    """(Q, n) populations of the newest checkpoint."""
    with h5py.File(newest(folder / "checkpoints").path) as file:
        return file["populations"][...]


def kill(case: Path, out: Path, moment: Moment) -> tuple[subprocess.CompletedProcess, float, int]:
    """Run a case until the moment; the finished command, its seconds to the end, processes left over."""
    mark, pipes = str(out), {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    line = solver(moment.n_ranks, "run", case, "-o", out)
    with subprocess.Popen(line, env=settings() | {MARK: mark}, start_new_session=True, **pipes) as process:
        try:
            _wait_for(moment, out / "checkpoints", process)
            _strike(moment, mark, process)
            struck = time.monotonic()
            told = process.communicate(timeout=END_S)
            while _processes(mark) and time.monotonic() < struck + END_S:
                time.sleep(0.05)
            seconds = time.monotonic() - struck
        finally:
            if process.poll() is None:
                stop_group(process)
    return subprocess.CompletedProcess(line, process.returncode, *told), seconds, len(_processes(mark))


def _strike(moment: Moment, mark: str, process) -> None:
    found = _processes(mark)
    ranks = {rank: pid for rank, pid in found.items() if isinstance(rank, int)}
    if moment.rank == LAUNCHER:
        victims = [process.pid]
    else:
        victims = list(ranks.values()) if moment.rank == ALL else [ranks[moment.rank]] if moment.rank in ranks else []
    for pid in victims:
        with contextlib.suppress(ProcessLookupError):  # it has come to its end by itself
            os.kill(pid, signal.SIGKILL)


def _wait_for(moment: Moment, folder: Path, process) -> None:
    deadline = time.monotonic() + START_S
    if moment.when == STARTING:
        time.sleep(moment.delay_s)
        return
    step = N_STEPS if moment.when == ENDING else moment.step
    while process.poll() is None and _newest_step(folder) < step:
        if time.monotonic() > deadline:
            raise RuntimeError(f"the run did not reach step {step}")
        time.sleep(POLL_S if moment.when == ENDING else 0.01)
    if moment.when != WRITING:
        time.sleep(moment.delay_s)
        return
    while process.poll() is None and not any(folder.glob(".step_*.tmp")):
        time.sleep(POLL_S)


def _newest_step(folder: Path) -> int:
    return max((int(path.stem[len("step_") :]) for path in folder.glob(PATTERN)), default=0)


def _processes(mark: str) -> dict:
    """Process ids of all that a run's launcher started: of ranks by rank, of others by themselves."""
    found = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            pid, text = int(folder.name), (folder / "environ").read_bytes().decode()
            environment = dict(entry.split("=", 1) for entry in text.split("\0") if "=" in entry)
            if environment.get(MARK) == mark:
                ranks = [int(environment[name]) for name in RANK_NAMES if name in environment]
                is_solver = b"muphy_lb" in (folder / "cmdline").read_bytes()
                found[ranks[0] if ranks and is_solver else f"process {pid}"] = pid
    return found


def outcome_of(case: Path, out: Path, moment: Moment, undisturbed: Path) -> Outcome:
    """Kill, look at what is left, continue on another number of ranks, compare."""
    done, seconds, left_over = kill(case, out, moment)
    folder = out / "checkpoints"
    torn, had_summary = any(folder.glob(".step_*.tmp")), (out / "summary.json").exists()
    kept, valid = _newest_step(folder), _all_valid(folder)
    after = run_and_stop(solver(moment.n_after, "resume", out), settings(), RESUME_S)
    if not kept and after.returncode == NOTHING_TO_CONTINUE:
        after = run_and_stop(solver(moment.n_after, "run", case, "-o", out), settings(), RESUME_S)
    differs = differences(out, undisturbed) if after.returncode == 0 else after.stderr.strip()[-300:]
    is_rank = isinstance(moment.rank, int)
    was_over = done.returncode == 0 or had_summary  # then all is written, and nobody is left to tell
    own = [line for line in done.stderr.splitlines() if line.startswith("muphy-lb: ")]  # Open MPI adds lines of its own
    named = len(own) == 1 and f"rank {moment.rank} of {moment.n_ranks}" in own[0]
    return Outcome(
        case=moment.case,
        moment=moment.when if moment.when in (STARTING, ENDING) else f"{moment.when} {moment.step}",
        killed=f"{moment.rank} of {moment.n_ranks}",
        torn=torn,
        seconds=seconds,
        exit_code=done.returncode,
        left_over=left_over,
        told=named if is_rank and kept and not was_over else "Traceback" not in done.stderr,
        newest=kept,
        all_valid=valid or not kept,
        after=f"{moment.n_after}: {after.returncode}",
        differs=differs,
    )


def differences(out: Path, undisturbed: Path) -> str:
    """Which files of a continued run are not those of the undisturbed one."""
    found = []
    if not np.array_equal(populations(out), populations(undisturbed)):
        found.append("populations")
    for path in sorted(undisturbed.glob("*.csv")):
        if not (out / path.name).exists() or (out / path.name).read_bytes() != path.read_bytes():
            found.append(path.name)
    for path in sorted(undisturbed.glob("*.vtkhdf")):
        if not (out / path.name).exists() or _arrays(out / path.name) != _arrays(path):
            found.append(path.name)
    return ", ".join([*found, *(name for name in ("summary.json", "report.html") if not (out / name).exists())])


def _arrays(path: Path) -> dict[str, bytes]:
    """All numbers of an HDF5 file by name."""
    found = {}

    def keep(name, item):
        if isinstance(item, h5py.Dataset) and item.dtype.kind in "iuf":
            found[name] = item[...].tobytes()

    with h5py.File(path) as file:
        file.visititems(keep)
    return found


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


def study(
    folder: Path, when: list[Moment], compute: Mapping = MappingProxyType({}), jobs=1, until=inf
) -> list[Outcome]:
    """What came of a kill at each moment.

    Args:
        folder: for all files.
        when: the moments.
        compute: keys of that section of the cases.
        jobs: runs at a time.
        until: time of ``time.monotonic()`` after which no other run is begun.
    """
    names = sorted({moment.case for moment in when})
    cases = {name: write_case(folder, name, compute) for name in names}
    undisturbed = {name: folder / f"undisturbed_{case.stem}" for name, case in cases.items()}

    def attempt(number: int, moment: Moment) -> Outcome | None:
        if time.monotonic() > until:
            return None
        outcome = outcome_of(cases[moment.case], folder / f"kill-{number}", moment, undisturbed[moment.case])
        print(f"{number}: {'clean' if outcome.is_clean else outcome}", flush=True)  # should the campaign be cut short
        return outcome

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda name: _run_alone(cases[name], undisturbed[name]), names))
        found = pool.map(attempt, range(len(when)), when)
        return [outcome for outcome in found if outcome]


def _run_alone(case: Path, out: Path) -> None:
    """The undisturbed run, by one rank."""
    done = run_and_stop(solver(1, "run", case, "-o", out), settings(), 2 * RESUME_S)
    if done.returncode:
        raise RuntimeError(f"the undisturbed run of {case} failed: {done.stderr}")


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
    """The campaign; exit code 1 if an end was not clean."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-n", type=int, default=20, help="number of kills (default 20)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (default 1)")
    parser.add_argument("--backend", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--transport", help="compute.transport (default: that of the case)")
    parser.add_argument("--most-ranks", type=int, default=4, help="ranks of a run at most (default 4)")
    parser.add_argument("--seconds", type=float, default=inf, help="begin no other run after that time")
    options = parser.parse_args()
    options.folder.mkdir(parents=True)
    until = time.monotonic() + options.seconds
    compute = {"backend": options.backend} | ({"transport": options.transport} if options.transport else {})
    when = [_limited(moment, options.most_ranks) for moment in moments(options.n, options.seed)]
    outcomes = study(options.folder, when, compute, options.jobs, until)
    n_clean = sum(outcome.is_clean for outcome in outcomes)
    print(table(outcomes))
    print(f"{n_clean} of {len(outcomes)} clean: seed {options.seed}, {N_STEPS} steps in all, {compute}")
    return int(n_clean < len(outcomes))


def _limited(moment: Moment, most: int) -> Moment:
    """The moment on at most so many ranks."""
    n_ranks = min(moment.n_ranks, most)
    rank = moment.rank % n_ranks if isinstance(moment.rank, int) else moment.rank
    values = {field.name: getattr(moment, field.name) for field in fields(Moment)}
    after = 1 if n_ranks > 1 and min(moment.n_after, most) == n_ranks else min(moment.n_after, most)
    return Moment(**(values | {"n_ranks": n_ranks, "rank": rank, "n_after": after}))


if __name__ == "__main__":
    sys.exit(main())
