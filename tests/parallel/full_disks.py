"""A campaign: commands meet a full disk at a random byte, and are given once more with space enough.

``python -m tests.parallel.full_disks FOLDER [-n SITUATIONS] [--seed SEED] [--jobs JOBS] [--backend NAME]`` computes in
FOLDER and prints a table. Half of the disks are small file systems, where this user may mount some; on the others a
size limit of the process takes the place of a full disk.
"""

import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from types import MappingProxyType

from muphy_lb.base.errors import OutputError
from tests.conftest import run_and_stop
from tests.parallel import outcomes
from tests.parallel.disturbed import (
    CASES,
    MARK,
    N_STEPS,
    RESUME_S,
    continued,
    differences,
    on_ranks,
    processes,
    settings,
    solver,
    undisturbed_runs,
)
from tests.parallel.moments import END_S
from tests.parallel.small_disks import FULL, LIMITED, can_mount, filled, mounted, under_a_limit
from tests.parallel.whole_files import torn_files, unlike
from tests.vessel import ENDED

RUN, RESUME = "run", "resume"
HALF_WAY = N_STEPS // 2
LARGEST_SHARE = 0.95
MESSAGE = "cannot write "


def _geometry(_case: Path, out: Path) -> list:
    return ["geometry", "shape:sphere_pack", out / "nodes.h5", "--spacing-m", "1"]


def _partition(_case: Path, out: Path) -> list:
    return ["partition", out / "nodes.h5", "2,3"]


def _new(_case: Path, out: Path) -> list:
    return ["new", "channel", "--across", "12", "--yes", "-o", out / "case.toml"]


def _permeability(case: Path, out: Path) -> list:
    return ["permeability", case, "--json", out / "k.json", "--plot", out / "k.png"]


def _validate(_case: Path, out: Path) -> list:
    return ["validate", "--quick", "--backend", "cpu", "--json", out / "v.json", "--report", out, "plane-channel"]


def _trace(case: Path, out: Path) -> list:
    return ["trace", case, "-o", out / "trace.json"]


def _bench(case: Path, out: Path) -> list:
    return ["bench", case, "--steps", "10", "--runs", "1", "--json", out / "bench.json"]


TOOLS: Mapping[str, Callable[[Path, Path], list]] = MappingProxyType(
    {
        "geometry": _geometry,
        "partition": _partition,
        "new": _new,
        "permeability": _permeability,
        "validate": _validate,
        "trace": _trace,
        "bench": _bench,
    }
)
"""Name -> words of the command, from a case file and the folder to write in."""
BEFORE: Mapping[str, Callable[[Path, Path], list]] = MappingProxyType({"partition": _geometry})
"""What makes the file that a command changes."""
PERIODIC = """
[geometry]
shape = "random_spheres"
spacing_m = 3.2e-05
options = {size = 12, radius = 2.5, porosity = 0.5, seed = 1}
[fluid]
density_kg_m3 = 1000.0
kinematic_viscosity_m2_s = 1e-06
[flow]
acceleration_m_s2 = [1.74, 0.0, 0.0]
[lattice]
collision = "trt"
relaxation_time = 1.0
[compute]
backend = "cpu"
[run]
steps = 2000
"""


@dataclass(frozen=True)
class Situation:
    """A command, on a disk that ends at a share of what the command writes.

    Attributes:
        command: ``RUN``, ``RESUME`` or one of ``TOOLS``.
        disk: ``FULL`` or ``LIMITED``.
        share: of the bytes to write that find a place.
        case: of a run.
        n_ranks, n_after: ranks of the run, and of the one that continues it.
    """

    command: str
    disk: str
    share: float
    case: str
    n_ranks: int
    n_after: int


@dataclass(frozen=True)
class Outcome:
    """What came of a full disk; ``named``: one message, which names a file or folder there; ``torn``: files that are
    not whole; ``differs``: how the files differ from the undisturbed ones when there was space again, if so."""

    command: str
    disk: str
    case: str
    ranks: int
    n_bytes: int
    exit_code: int
    seconds: float
    named: bool
    traceback: bool
    left_over: int
    torn: str
    after: str
    differs: str

    @property
    def is_hit(self) -> bool:
        """Whether there was too little space."""
        return self.exit_code not in ENDED

    @property
    def is_clean(self) -> bool:
        """Ended with one message and its code, left no process and nothing torn, and came to the same files."""
        ended = not self.is_hit or (self.exit_code == OutputError.exit_code and self.named)
        quiet = not self.traceback and self.left_over == 0 and self.seconds < RESUME_S
        return ended and quiet and not self.torn and not self.differs


def situations(n: int, seed: int, most_ranks: int = 4, disks=(FULL, LIMITED)) -> list[Situation]:
    """``n`` random situations: three of a run, three of a resumed one, four of other commands, and so on."""
    chance, tools = random.Random(seed), 0
    found = []
    for number in range(n):
        kind = (RUN, RESUME, None, RUN, None, RESUME, None, RUN, RESUME, None)[number % 10]
        command = kind or list(TOOLS)[tools % len(TOOLS)]
        tools += kind is None
        n_ranks = chance.randint(1, most_ranks) if kind else 1
        others = [n for n in range(1, most_ranks + 1) if n != n_ranks] or [1]
        share = LARGEST_SHARE * chance.random() ** chance.choice((1, 3))  # some of them fail at the first bytes
        case = chance.choice(list(CASES)) if kind else ""
        found.append(Situation(command, chance.choice(disks), share, case, n_ranks, chance.choice(others)))
    return found


class Campaign:
    """Undisturbed files of all commands, and the attempts.

    Args:
        folder: for all files.
        which: the situations.
        compute: keys of that section of the cases.
        jobs: commands at a time.
    """

    def __init__(self, folder: Path, which: list[Situation], compute: Mapping, jobs: int):
        self._folder = folder
        self._runs = undisturbed_runs(folder, sorted({each.case for each in which if each.case}), compute, jobs)
        self._case = folder / "periodic.toml"
        self._case.write_text(PERIODIC)
        for name in sorted({each.command for each in which} & set(TOOLS)):
            self._prepare(name, self._reference(name))
            self._check(solver(1, *TOOLS[name](self._case, self._reference(name))))

    def attempt(self, number: int, each: Situation) -> Outcome:
        """Give the command on the small disk, look at what is left, give it again with space, compare."""
        disk = self._folder / f"disk-{number}"
        with mounted(disk) if each.disk == FULL else nullcontext():
            out = disk / "out"
            out.mkdir(parents=True)
            return self._attempt_run(each, out) if each.case else self._attempt_tool(each, out)

    def _attempt_run(self, each: Situation, out: Path) -> Outcome:
        case, undisturbed = self._runs[each.case]
        words = ["run", case, "-o", out]
        if each.command == RESUME:
            self._check(solver(each.n_after, *words, "--set", f"run.steps={HALF_WAY}"))
            words = ["resume", out, "--set", f"run.steps={N_STEPS}"]
        seen = self._limited(each, words, out, undisturbed)
        after = continued(case, out, each.n_after)
        differs = differences(out, undisturbed, HALF_WAY) if after.returncode in ENDED else after.stderr.strip()[-300:]
        return Outcome(**seen, after=f"{each.n_after}: {after.returncode}", differs=differs)

    def _attempt_tool(self, each: Situation, out: Path) -> Outcome:
        reference = self._reference(each.command)
        self._prepare(each.command, out)
        words = TOOLS[each.command](self._case, out)
        seen = self._limited(each, words, out, reference)
        after = run_and_stop(solver(1, *words), settings(), RESUME_S)
        differs = unlike(out, reference) if after.returncode in ENDED else after.stderr.strip()[-300:]
        return Outcome(**seen, after=f"1: {after.returncode}", differs=differs)

    def _limited(self, each: Situation, words: list, out: Path, undisturbed: Path) -> dict:
        """Fields of the outcome of a command for which there is too little space."""
        n_bytes = int(each.share * _need(each, undisturbed))
        line, room = solver(each.n_ranks, *words), partial(filled, out.parent, n_bytes)
        if each.disk == LIMITED:
            line, room = on_ranks(each.n_ranks, *under_a_limit(n_bytes, *words)), nullcontext
        before = time.monotonic()
        with room():
            done = _finished(line, out)
        told = [text for text in done.stderr.splitlines() if MESSAGE in text]
        return {
            "command": each.command,
            "disk": each.disk,
            "case": each.case,
            "ranks": each.n_ranks,
            "n_bytes": n_bytes,
            "exit_code": done.returncode,
            "seconds": time.monotonic() - before,
            "named": len(told) == 1 and str(out) in told[0],
            "traceback": "Traceback" in done.stdout + done.stderr,
            "left_over": len(processes(str(out))),
            "torn": torn_files(out),
        }

    def _reference(self, command: str) -> Path:
        return self._folder / f"undisturbed_{command}"

    def _prepare(self, command: str, out: Path) -> None:
        out.mkdir(exist_ok=True)
        if command in BEFORE:
            self._check(solver(1, *BEFORE[command](self._case, out)))

    def _check(self, line: list) -> None:
        done = run_and_stop(line, settings(), RESUME_S)
        if done.returncode not in ENDED:
            raise RuntimeError(f"{' '.join(line)} failed: {done.stderr}")


def _need(each: Situation, undisturbed: Path) -> int:
    """Bytes that a command writes: of all files on a full disk, of the largest under a limit; a run that is resumed
    needs those of one checkpoint more than it has."""
    kind = "*.h5" if each.command == RESUME else "*"
    sizes = [path.stat().st_size for path in undisturbed.rglob(kind) if path.is_file()]
    return max(sizes) if each.disk == LIMITED or each.command == RESUME else sum(sizes)


def _finished(line: list, out: Path) -> subprocess.CompletedProcess:
    """The finished command, all of whose processes carry the mark and were given time to end."""
    done = run_and_stop(line, settings() | {MARK: str(out)}, RESUME_S)
    deadline = time.monotonic() + END_S
    while processes(str(out)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return done


def study(folder: Path, which: list[Situation], compute: Mapping, jobs=1, until=inf) -> list[Outcome]:
    """What came of each situation; arguments as of :func:`tests.parallel.outcomes.study`."""
    return outcomes.attempts(Campaign(folder, which, compute, jobs).attempt, which, jobs, until)


def main() -> int:
    """The campaign; exit code 1 if an end was not clean."""
    disks = (FULL, LIMITED) if can_mount() else (LIMITED,)

    def drawn(options) -> list[Situation]:
        return situations(options.n, options.seed, options.most_ranks, disks)

    def more(found: list[Outcome]) -> str:
        return f"; {sum(each.is_hit for each in found)} had too little space; disks {' and '.join(disks)}"

    return outcomes.campaign(__doc__, "situations", 60, drawn, study, more)


if __name__ == "__main__":
    sys.exit(main())
