"""A study of checkpoints: the newest of two is damaged, and a run is asked from where it continues, through both doors:
that by which a resume is refused early, and that by which the state is read.

``python -m tests.fuzz.checkpoints [--count N] [--seed SEED] [--out FILE]``. Three of four damages are to the bytes, as
a disk makes them; the others are files with a true header that hold something else. Each is read in a child process of
its own, within 60 s and 2 GiB. All is well if the older checkpoint is chosen, or the damaged file is refused with one
message because it says that another version wrote it.
"""

import argparse
import json
import logging
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

import h5py
import numpy as np

from muphy_lb.base.errors import InputError
from muphy_lb.base.files.sealed import HEADER_BYTES, seal
from muphy_lb.case.case import load_case
from muphy_lb.run.checkpoint import KIND, VERSION, newest, restore
from muphy_lb.run.folder import CASE_FILE, refuse_to_resume_other
from muphy_lb.run.solver import Solver
from tests.fuzz.limited import LIMIT_MIB, REFUSED, run
from tests.vessel import command, vessel, write_case

PASSED_OVER = "skipped"
GOOD = (PASSED_OVER, REFUSED)
OUTPUT = {"checkpoint_every_steps": 10}
QUICK = {"backend": "numpy"}


# --- damages to the bytes --------------------------------------------------------------------------------------------


def flip(path: Path, chance: random.Random, first: int = 0, last: int | None = None) -> str:
    """One bit."""
    whole = bytearray(path.read_bytes())
    position, bit = chance.randrange(first, last or len(whole)), chance.randrange(8)
    whole[position] ^= 1 << bit
    path.write_bytes(whole)
    return f"bit {bit} of byte {position}"


def flip_metadata(path: Path, chance: random.Random) -> str:
    """One bit of the first bytes, where HDF5's records lie."""
    return flip(path, chance, HEADER_BYTES, HEADER_BYTES + 8192)


def flip_header(path: Path, chance: random.Random) -> str:
    """One bit of the header, its filling excepted."""
    return flip(path, chance, 0, path.read_bytes().index(b"}") + 1)


def scribble(path: Path, chance: random.Random) -> str:
    """A stretch of noise."""
    whole = bytearray(path.read_bytes())
    first, n = chance.randrange(len(whole)), chance.choice((1, 8, 512, 4096))
    before = whole[first : first + n]
    noise = bytearray(chance.randbytes(len(before)))
    noise[0] ^= noise == before  # else nothing would be damaged
    whole[first : first + n] = noise
    path.write_bytes(whole)
    return f"{n} bytes of noise from byte {first}"


def cut(path: Path, chance: random.Random) -> str:
    """The end is missing."""
    size = chance.randrange(path.stat().st_size)
    os.truncate(path, size)
    return f"cut to {size} bytes"


def blank(path: Path, chance: random.Random) -> str:
    """The end is zeros, as after a loss of power."""
    whole = path.read_bytes()
    size = chance.randrange(len(whole) - 1000)
    path.write_bytes(whole[:size] + bytes(len(whole) - size))
    return f"zeros from byte {size}"


def lengthen(path: Path, chance: random.Random) -> str:
    """More than was written."""
    with path.open("ab") as file:
        file.write(chance.randbytes(chance.choice((1, 512, 100_000))))
    return "longer"


def no_file(path: Path, chance: random.Random) -> str:
    """A folder, a pipe, a dangling link, a device, an empty file."""
    path.unlink()
    kind = chance.choice(("folder", "pipe", "link", "device", "empty"))
    makers = {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "link": lambda: path.symlink_to("nowhere"),
        "device": lambda: path.symlink_to("/dev/zero"),
        "empty": path.touch,
    }
    makers[kind]()
    return kind


# --- files with a true header ----------------------------------------------------------------------------------------


def _without(name: str):
    def change(file):
        del file[name]

    return change


def _replaced(name: str, make: Callable[[h5py.File], None]):
    def change(file):
        del file[name]
        make(file)

    return change


def _attribute(name: str, value):
    def change(file):
        if value is None:
            del file.attrs[name]
        else:
            file.attrs[name] = value

    return change


STRUCTURES: Mapping[str, Callable[[h5py.File], None]] = MappingProxyType(
    {
        "no populations": _without("populations"),
        "populations a group": _replaced("populations", lambda f: f.create_group("populations")),
        "populations huge": _replaced(
            "populations", lambda f: f.create_dataset("populations", (19, 2**40), "f4", chunks=(1, 2**16))
        ),
        "populations unallocated": _replaced(
            "populations", lambda f: f.create_dataset("populations", (19, 2**34), "f4")
        ),
        "populations text": _replaced("populations", lambda f: f.create_dataset("populations", data="text")),
        "populations flat": _replaced("populations", lambda f: f.create_dataset("populations", data=[1.0, 2.0])),
        "populations elsewhere": _replaced(
            "populations", lambda f: f.create_dataset("populations", (2, 8), "f4", external=[("/etc/passwd", 0, 64)])
        ),
        "populations linked": _replaced(
            "populations", lambda f: f.__setitem__("populations", h5py.ExternalLink("/etc/passwd", "x"))
        ),
        "a type": _replaced("populations", lambda f: f.__setitem__("populations", np.dtype("i4"))),
        "no case": _without("case"),
        "case a group": _replaced("case", lambda f: f.create_group("case")),
        "case a number": _replaced("case", lambda f: f.create_dataset("case", data=3)),
        "no step": _attribute("step", None),
        "step text": _attribute("step", "text"),
        "step an array": _attribute("step", [1, 2]),
        "case no TOML": _replaced("case", lambda f: f.create_dataset("case", data="[", dtype=h5py.string_dtype())),
        "no lattice": _attribute("lattice", None),
        "time step text": _attribute("time_step_s", "1e-3"),
        "feedback no JSON": _attribute("feedback", "{"),
        "feedback a list": _attribute("feedback", "[]"),
        "watch no JSON": _attribute("watch", "[" * 10_000),
        "wall forces a number": _attribute("wall_forces", 3),
    }
)


def restructure(path: Path, chance: random.Random) -> str:
    """Something else in a file whose header is true."""
    name = chance.choice(sorted(STRUCTURES))
    with h5py.File(path, "r+") as file:
        STRUCTURES[name](file)
    seal(path, KIND, VERSION)
    return name


def another_version(path: Path, chance: random.Random) -> str:
    """A file of another version, or of release 0.5."""
    version = chance.choice((4, VERSION - 1, VERSION + 1, 99, 10**30))
    if version == 4:
        path.write_bytes(path.read_bytes()[HEADER_BYTES:])
    else:
        seal(path, KIND, version)
    return f"version {version}"


DAMAGES = (flip, flip, flip_metadata, flip_metadata, flip_header, scribble, cut, blank, lengthen, no_file)
STRANGERS = (restructure, restructure, another_version)


def damage(number: int, seed: int, path: Path) -> tuple[str, bool]:
    """Damage a file; what was done, as text, and whether a refusal is right."""
    chance = random.Random(f"{seed}:{number}")
    kind = chance.choice(STRANGERS if number % 4 == 3 else DAMAGES)
    return f"{kind.__name__}: {kind(path, chance)}", kind is another_version


# --- judging ---------------------------------------------------------------------------------------------------------


def judged(folder: Path, older: Path, may_refuse: bool) -> str:
    """What came of asking for the newest checkpoint, in a child process: ``GOOD``, or what is wrong in capitals."""
    ending = run(partial(ask, folder, older, may_refuse), folder.parent)
    if ending.exit_code:
        return ending.violence() or f"TRACEBACK {ending.err[-300:]}"
    return "MEMORY" if ending.peak_mib - ending.begun_mib > LIMIT_MIB else ending.violence() or ending.out


def ask(folder: Path, older: Path, may_refuse: bool) -> None:
    """Ask for the newest checkpoint of a run, and print the verdict."""
    logging.disable()
    try:
        early = refuse_to_resume_other(folder.parent, load_case(folder.parent / CASE_FILE))
        found = newest(folder)
        print(PASSED_OVER if found.path == early.path == older else "BELIEVED", end="")
    except InputError as error:
        is_one = "\n" not in str(error) and len(str(error)) < 1000
        print(REFUSED if may_refuse and is_one else f"REFUSAL {error}", end="")


def study(folder: Path, count: int, seed: int) -> list[tuple[str, str]]:
    """(damage, verdict) of each number; the older checkpoint is continued from at the end."""
    case = write_case(folder, compute=QUICK, output=OUTPUT, run={"steps": 20})
    command("run", case, "-o", folder / "out")
    older, last = sorted((folder / "out" / "checkpoints").glob("step_*.h5"))
    whole, found = last.read_bytes(), []
    for number in range(count):
        words, may_refuse = damage(number, seed, last)
        found.append((words, judged(last.parent, older, may_refuse)))
        _clear(last)
        last.write_bytes(whole)
    os.truncate(last, 1000)
    simulation = Solver(vessel(compute=QUICK, output=OUTPUT, run={"steps": 20}))
    if restore(last.parent, simulation).step != 10:
        raise RuntimeError("the older checkpoint was not continued from")
    return found


def _clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def main() -> int:
    """The study; exit code 1 if any damage was believed, crashed, hung or was badly refused."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="number of damages (default 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="JSON file of all verdicts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = study(Path(folder), options.count, options.seed)
    if options.out:
        options.out.write_text(json.dumps(found, indent=1))
    for words, verdict in found:
        if verdict not in GOOD:
            print(f"{words}: {verdict}")
    for verdict, n in Counter(v if v in GOOD else v.split()[0] for _, v in found).most_common():
        print(f"{n:7d} {verdict}")
    return int(any(verdict not in GOOD for _, verdict in found))


if __name__ == "__main__":
    sys.exit(main())
