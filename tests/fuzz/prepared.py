"""A study of prepared geometries (.h5): damaged ones are given to all that reads them, and what they say is judged.

``python -m tests.fuzz.prepared [FOLDER] [--count N] [--seed SEED] [--out FILE]``. Each is read in
a child process, within 60 s and 2 GiB. The file of number K of a seed is always the same.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
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
from tests.fuzz.limited import LIMIT_MIB, LIMIT_S, READ, REFUSED, Ending, run
from tests.fuzz.prepared_damages import NAME, Damage, damage_of
from tests.vessel import changed, command, vessel

MAX_LETTERS = 1000
N_PARTS = 2
BAD_INPUT = (GeometryError, PartitionError)
NAMED, UNNAMED = 2, 4
"""Exit codes of a child: the file was refused as bad input, which names it; or the program ended in its own words."""


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


def read_damaged(folder: Path) -> int:
    """Read a damaged file; the exit code tells whether it was read, refused as bad input, or ended otherwise."""
    try:
        read_everywhere(folder)
    except (*BAD_INPUT, MuphyError) as error:
        print(error, file=sys.stderr, end="")
        return NAMED if isinstance(error, BAD_INPUT) else UNNAMED
    return 0


def judge(damage: Damage, ending: Ending) -> tuple[str, str]:
    """(verdict, message) of a damaged file, from all that reads it."""
    if violence := ending.violence():
        return violence, ""
    said = ending.out + ending.err
    if "Traceback" in said:
        return "TRACEBACK", said[-MAX_LETTERS:]
    if ending.exit_code not in (0, NAMED, UNNAMED):
        return f"ENDS WITH {ending.exit_code}", ""
    if ending.peak_mib - ending.begun_mib > LIMIT_MIB:
        return "MEMORY", ending.err
    if ending.exit_code:
        return _judge_message(ending.err, ending.exit_code == NAMED)
    if "Warning" in said:
        return "NOISE", said[-MAX_LETTERS:]
    return (READ, "") if damage.may_be_read else ("SWALLOWED", "")


def _judge_message(message: str, names_file: bool) -> tuple[str, str]:
    is_one = "\n" not in message and len(message) <= MAX_LETTERS and message.isprintable()
    is_named = not names_file or (NAME in message and "again" in message)
    return (REFUSED if is_one and is_named else "POOR MESSAGE"), message


def study(folder: Path, numbers: Iterable[int], seed: int) -> Iterator[Outcome]:
    """What came of each damaged file."""
    whole = (folder / NAME).read_bytes()
    for number in numbers:
        (folder / NAME).write_bytes(whole)
        damage = damage_of(seed, number)
        words = damage.apply(folder / NAME)
        ending = run(partial(read_damaged, folder), folder)
        grown_mib = ending.peak_mib - ending.begun_mib
        yield Outcome(number, words, *judge(damage, ending), ending.seconds, grown_mib)


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
        # What it compiles starts threads, which must not be there when others are forked.
        prepared = run(partial(write_sample, folder), folder)
        if prepared.exit_code:
            raise RuntimeError(f"no prepared geometry was written: {prepared.err}")
        outcomes = []
        for outcome in study(folder, range(options.first, options.first + options.count), options.seed):
            outcomes.append(outcome)
            print(line_of(outcome), flush=True)
    text = closing(outcomes, options.seed)
    print(text)
    if options.out:
        options.out.write_text("\n".join([*map(line_of, outcomes), text]) + "\n")
    return int(not all(outcome.is_good for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
