"""A study of prepared geometries (.h5): damaged ones are given to all that reads them, and what they say is judged.

``python -m tests.fuzz.prepared [FOLDER] [--count N] [--seed SEED] [--out FILE]``. One child process reads one damaged
file after the other, within 60 s and 2 GiB each; where it dies or hangs, another goes on behind that file. The file of
number K of a seed is always the same.
"""

import argparse
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import muphy_lb.partition.__main__
import muphy_lb.run.loop
import muphy_lb.run.solver
from muphy_lb.base.errors import MuphyError
from muphy_lb.case.case import case_from_dict
from muphy_lb.domain import cut_part
from muphy_lb.geometry.errors import GeometryError
from muphy_lb.geometry.store import open_nodes, write_geometry
from muphy_lb.partition.errors import PartitionError
from muphy_lb.partition.store import list_partitions, open_partition, write_partition
from muphy_lb.run.description import describe_prepared
from muphy_lb.setup.geometry import load_nodes
from tests.fuzz.prepared_damages import NAME, Damage, damage_of
from tests.vessel import changed, command, vessel

LIMIT_S = 60
PATIENCE_S = LIMIT_S + 5
LIMIT_MIB = 2048
ADDRESS_SPACE = 2**33
MAX_LETTERS = 1000
N_PARTS = 2
REFUSED, READ = "refused", "read"
BAD_INPUT = (GeometryError, PartitionError)


class Outcome(NamedTuple):
    """What came of a damaged file: its number, the damage in words, the verdict (``refused``, ``read``, or what is
    wrong in capitals), the message, seconds, and MiB of memory at most."""

    number: int
    words: str
    verdict: str
    message: str
    seconds: float
    peak_mib: float

    @property
    def is_good(self) -> bool:
        """Whether it was refused in the right way, or read with the right to."""
        return self.verdict in (REFUSED, READ)


def write_sample(folder: Path) -> None:
    """A vessel with three openings, a labelled wall, cut links and two partitionings; and a case that runs on it."""
    walls = {"lattice": {"walls": "bouzidi"}}
    box = {"name": "patch", "box_m": [[-1.0, -1.0, -1.0], [1.0, 1.0, 0.0]]}
    nodes, _ = load_nodes(vessel(walls=[box], **walls))
    write_geometry(folder / NAME, nodes)
    for n_parts in (N_PARTS, 3):
        owner = [k * n_parts // nodes.n_nodes for k in range(nodes.n_nodes)]
        write_partition(folder / NAME, f"curve-{n_parts}", owner, "curve")
    few = {"steps": 2, "ramp_steps": 1, "check_interval_steps": 1}
    table = changed(run=few, compute={"backend": "numpy"}, **walls) | {"geometry": {"file": NAME}}
    (folder / "case.toml").write_text(case_from_dict(table, folder).to_toml(folder))


def read_everywhere(folder: Path) -> None:
    """All that reads a prepared geometry: info, the parts of ranks, the partition command, a run."""
    path = folder / NAME
    print(describe_prepared(path))
    for name in [record.name for record in list_partitions(path) if record.n_parts == N_PARTS]:
        with open_nodes(path, is_checked=True) as nodes, open_partition(path, name) as owner:
            sizes = [cut_part(nodes, owner, rank).own.size for rank in range(N_PARTS)]
        print(f"parts of {sizes} nodes")
    if muphy_lb.partition.__main__.main([str(path), str(N_PARTS), "--method", "curve", "--name", "new"]):
        raise PartitionError("the partition command refuses what info has read")
    command("run", folder / "case.toml", "-o", folder / "out", "--overwrite")


def judged(damage: Damage, folder: Path) -> tuple[str, str]:
    """(verdict, message) of a damaged file, from all that reads it."""
    said = folder / "said.txt"
    with said.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        read_everywhere(folder)
    except (*BAD_INPUT, MuphyError) as error:
        return _judge_message(str(error), isinstance(error, BAD_INPUT))
    except BaseException:
        return "TRACEBACK", traceback.format_exc()[-MAX_LETTERS:]
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    text = said.read_text(errors="replace")
    if "Traceback" in text or "Warning" in text:
        return "NOISE", text[-MAX_LETTERS:]
    return (READ, "") if damage.may_be_read else ("SWALLOWED", "")


def _judge_message(message: str, names_file: bool) -> tuple[str, str]:
    is_one = "\n" not in message and len(message) <= MAX_LETTERS and message.isprintable()
    is_named = not names_file or (NAME in message and "again" in message)
    return (REFUSED if is_one and is_named else "POOR MESSAGE"), message


def _live(numbers: Sequence[int], seed: int, whole: bytes, folder: Path, report: int) -> None:
    """The life of a child: it damages and reads one file after the other, and reports each."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in numbers:
        (folder / NAME).write_bytes(whole)
        damage = damage_of(seed, number)
        _tell(report, number, "not yet damaged")
        words = damage.apply(folder / NAME)
        _tell(report, number, words)
        Path("/proc/self/clear_refs").write_text("5")
        start, before = time.monotonic(), _memory_mib("VmRSS")
        verdict, message = judged(damage, folder)
        seconds, peak = time.monotonic() - start, _memory_mib("VmHWM") - before
        if verdict in (REFUSED, READ) and (peak > LIMIT_MIB or seconds > LIMIT_S):
            verdict = "MEMORY" if peak > LIMIT_MIB else "HANG"
        _tell(report, number, words, verdict, message, seconds, peak)


def _tell(report: int, *words) -> None:
    os.write(report, json.dumps(words).encode() + b"\n")


def _memory_mib(what: str) -> float:
    """Resident memory of this process now (``VmRSS``) or at most (``VmHWM``); what it has from its parent counts."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 2**10


def study(folder: Path, numbers: Sequence[int], seed: int) -> Iterator[Outcome]:
    """What came of each damaged file."""
    whole, numbers = (folder / NAME).read_bytes(), list(numbers)
    while numbers:
        ends, report = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                _live(numbers, seed, whole, folder, report)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(report)
        for outcome in _outcomes(child, ends):
            numbers.remove(outcome.number)
            yield outcome
        os.close(ends)


def _outcomes(child: int, ends: int) -> Iterator[Outcome]:
    """The outcomes that a child reports until it has ended, last of all of the file that it died of, if it did."""
    begun, rest = None, b""
    while select.select([ends], [], [], PATIENCE_S)[0]:
        got = os.read(ends, 2**16)
        if not got:
            break
        *lines, rest = (rest + got).split(b"\n")
        for line in map(json.loads, lines):
            begun = None if len(line) > 2 else line
            if begun is None:
                yield Outcome(*line)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        yield Outcome(*(begun or (-1, "?")), "HANG", "", PATIENCE_S, 0.0)
        return
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if begun:
        verdict = f"KILLED BY {signal.Signals(-status).name}" if status < 0 else f"ENDS WITH {status}"
        yield Outcome(*begun, verdict, "", 0.0, 0.0)


def line_of(outcome: Outcome) -> str:
    """A line of the table."""
    message = " ".join(outcome.message.split())
    numbers = f"{outcome.number:5}  {outcome.seconds:5.2f} s  {outcome.peak_mib:5.0f} MiB"
    return f"{numbers}  {outcome.verdict:12}  {outcome.words}: {message}"


def closing(outcomes: Sequence[Outcome], seed: int) -> str:
    """The counts."""
    verdicts = ", ".join(f"{n} {verdict}" for verdict, n in Counter(o.verdict for o in outcomes).most_common())
    longest, largest = max(o.seconds for o in outcomes), max(o.peak_mib for o in outcomes)
    return (
        f"{sum(o.is_good for o in outcomes)} of {len(outcomes)} damaged prepared geometries end well: {verdicts};"
        f" longest {longest:.1f} s of {LIMIT_S}, most memory {largest:.0f} MiB of {LIMIT_MIB}, seed {seed}"
    )


def main() -> int:
    """The study; exit code 1 if any file did not end well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="where to work (default: nowhere)")
    parser.add_argument("--count", type=int, default=300, metavar="N", help="damaged files (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, metavar="K", help="number of the first (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the table there too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as nowhere:
        folder = options.folder or Path(nowhere)
        folder.mkdir(parents=True, exist_ok=True)
        _in_a_child(write_sample, folder)
        outcomes = []
        for outcome in study(folder, range(options.first, options.first + options.count), options.seed):
            outcomes.append(outcome)
            print(line_of(outcome), flush=True)
    text = closing(outcomes, options.seed)
    print(text)
    if options.out:
        options.out.write_text("\n".join([*map(line_of, outcomes), text]) + "\n")
    return int(not all(outcome.is_good for outcome in outcomes))


def _in_a_child(work, *arguments) -> None:
    """Call in a child process: what it compiles starts threads, which must not be there when others are forked."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work(*arguments)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError(f"{work.__name__} failed in its child process")


if __name__ == "__main__":
    sys.exit(main())
