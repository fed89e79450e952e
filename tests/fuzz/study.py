"""A study: damaged inputs are given to the command lines, and what they say is judged.

``python -m tests.fuzz.study [FOLDER] [--quick] [--seed SEED] [--out FILE]`` writes the inputs to FOLDER and prints a
table. With ``--count N`` these are N random inputs of all families of :mod:`tests.fuzz.campaign`.
Each command runs in a child process forked from this one, which has everything imported and compiled already: what runs
there is the ``main`` of the program. Numba has one thread and the one layer that survives a fork.
"""

import argparse
import contextlib
import dataclasses
import io
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numba

import muphy_lb.__main__
import muphy_lb.geometry.__main__
import muphy_lb.geometry.clean
import muphy_lb.geometry.inspection
import muphy_lb.geometry.openings.preview
import muphy_lb.geometry.store
import muphy_lb.run.loop
import muphy_lb.run.solver
from tests.fuzz.campaign import FAMILIES, campaign, counts
from tests.fuzz.damages import Damage, damages, quick
from tests.fuzz.limited import LIMIT_MIB, LIMIT_S, READ, REFUSED, Ending, run
from tests.fuzz.samples import BY_NAME, SAMPLES, SOLVER, Sample

numba.config.THREADING_LAYER = "workqueue"
STOPPED, DOUBTFUL = 75, 6
"""Exit code of a run that ended before its last step, since the fuzzer allows it a few seconds only."""

MAX_LINES, MAX_LETTERS = 6, 1000
LISTED = r"^  \S"
"""Line of a problem in the list of problems of a case."""

REMARKS = r"^_?TIFF\w+: .*\n"
"""Lines that libtiff writes to the standard error of its own accord."""

SHOWN = 160


@dataclass(frozen=True)
class Outcome:
    """A damage and what came of it; the verdict is ``refused``, ``read``, or what is wrong in capitals."""

    damage: Damage
    ending: Ending
    verdict: str

    @property
    def is_good(self) -> bool:
        """Whether it was refused in the right way, or read with the right to."""
        return self.verdict in (REFUSED, READ)

    @property
    def message(self) -> str:
        """The first line said: of the error, or of what was noted on reading."""
        lines = (self.ending.err or self.ending.out).strip().splitlines() or [""]
        return lines[0] if len(lines[0]) <= SHOWN else lines[0][:SHOWN] + "..."


def judge(damage: Damage, ending: Ending) -> str:
    """``refused`` or ``read`` if all is well, else what is not."""
    ending = dataclasses.replace(ending, err=re.sub(REMARKS, "", ending.err, flags=re.MULTILINE))
    said = ending.out + ending.err
    if violence := ending.violence():
        return violence
    if "Traceback" in said or "unexpected error" in said:
        return "TRACEBACK"
    if ending.peak_mib > LIMIT_MIB:
        return "MEMORY"
    if "Unable to allocate" in said or "MemoryError" in said:
        return "NOT ASKED"
    if ending.exit_code in (0, STOPPED, DOUBTFUL):
        return _judge_reading(damage, ending)
    lines = ending.err.strip().splitlines()
    most = len(re.findall(LISTED, ending.err, re.MULTILINE)) if damage.sample.program == SOLVER else 0
    too_long = len(lines) > MAX_LINES + most or len(ending.err) > MAX_LETTERS + most * MAX_LETTERS // 4
    if not lines or too_long or "Warning" in ending.err:
        return f"{len(lines)} LINES OF {len(ending.err)} LETTERS"
    names = (Path(damage.sample.name).name, damage.sample.target or damage.sample.name, *damage.sample.also_names)
    is_about_options = damage.options is not None
    return REFUSED if is_about_options or any(name in ending.err for name in names) else "NAMES NO FILE"


def _judge_reading(damage: Damage, ending: Ending) -> str:
    if damage.harmless is None:
        return "SWALLOWED"
    if ending.err.strip():
        return "WARNINGS"
    return READ if re.search(damage.harmless, ending.out) else f"DOES NOT SAY {damage.harmless!r}"


def outcome_of(damage: Damage, folder: Path) -> Outcome:
    """Write the input to the new ``folder``, damage it, and give it to its program."""
    folder.mkdir(parents=True)
    damage.sample.write(folder)
    damage.apply(folder / damage.sample.name)
    ending = run(_command(damage.sample, damage.options), folder)
    return Outcome(damage, ending, judge(damage, ending))


def _command(sample: Sample, options: tuple[str, ...] | None = None) -> Callable[[], int]:
    main = muphy_lb.__main__.main if sample.program == SOLVER else muphy_lb.geometry.__main__.main
    asked = sample if options is None else dataclasses.replace(sample, options=options)
    return partial(main, asked.arguments())


def warm_up(folder: Path) -> None:
    """Run a few whole inputs in this process, so that what they compile is there in every child."""
    for name in ("image.mha", "tube.stl", "pack.xyz", "duct.gmy", "case.toml"):
        place = folder / f"warm-{name}"
        place.mkdir(parents=True)
        BY_NAME[name].write(place)
        with contextlib.chdir(place), contextlib.redirect_stdout(io.StringIO()):
            _command(BY_NAME[name])()


def check_samples(folder: Path) -> None:
    """ValueError where a sample is refused before it is damaged."""
    for sample in SAMPLES:
        place = folder / f"whole-{sample.name.replace('/', '-')}"
        place.mkdir(parents=True)
        sample.write(place)
        ending = run(_command(sample), place)
        if ending.exit_code not in (0, DOUBTFUL) or ending.err:
            raise ValueError(f"the whole {sample.name} is refused: exit code {ending.exit_code}, {ending.err}")


def table(outcomes: Sequence[Outcome]) -> str:
    """One line a damaged input."""
    rows = [("no", "input", "damage", "verdict", "exit", "s", "MiB", "first line said")]
    for number, outcome in enumerate(outcomes, 1):
        ending = outcome.ending
        numbers = (str(ending.exit_code), f"{ending.seconds:.2f}", f"{ending.peak_mib:.0f}")
        damage = outcome.damage
        rows.append((str(number), damage.sample.name, damage.name, outcome.verdict, *numbers, outcome.message))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[-1] = 0
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def closing(outcomes: Sequence[Outcome], seed: int) -> str:
    """The counts."""
    n_good = sum(outcome.is_good for outcome in outcomes)
    verdicts = ", ".join(f"{n} {verdict}" for verdict, n in Counter(o.verdict for o in outcomes).most_common())
    longest = max(outcome.ending.seconds for outcome in outcomes)
    largest = max(outcome.ending.peak_mib for outcome in outcomes)
    formats = len({outcome.damage.sample.name for outcome in outcomes})
    return (
        f"{n_good} of {len(outcomes)} damaged inputs ({formats} kinds) end well: {verdicts};"
        f" longest {longest:.1f} s of {LIMIT_S}, most memory {largest:.0f} MiB of {LIMIT_MIB}, seed {seed}"
    )


def study(folder: Path, chosen: Sequence[Damage]) -> list[Outcome]:
    """What came of each damage."""
    return [outcome_of(damage, folder / f"{number:03d}") for number, damage in enumerate(chosen, 1)]


def main() -> int:
    """The study; exit code 1 if any input did not end well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="where to keep the inputs (default: nowhere)")
    parser.add_argument("--quick", action="store_true", help="a few inputs only")
    parser.add_argument("--only", metavar="NAME", choices=BY_NAME, help=f"one kind: {', '.join(BY_NAME)}")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=0, metavar="N", help="N random inputs in place of the tables")
    parser.add_argument("--family", metavar="NAME", choices=FAMILIES, help=f"of a campaign: {', '.join(FAMILIES)}")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table there too")
    options = parser.parse_args()
    chosen = campaign(options.seed, options.count, options.family)
    if options.quick or not options.count:
        chosen += (quick if options.quick else damages)(options.seed)
    chosen = [one for one in chosen if options.only in (None, one.sample.name)]
    with tempfile.TemporaryDirectory() as nowhere:
        folder = (options.folder or Path(nowhere)).absolute()
        warm_up(folder)
        if not options.quick:
            check_samples(folder)
        outcomes = study(folder, chosen)
    text = f"{table(outcomes)}\n{counts(outcomes)}\n{closing(outcomes, options.seed)}"
    print(text)
    if options.out:
        options.out.write_text(text + "\n")
    return int(not all(outcome.is_good for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
