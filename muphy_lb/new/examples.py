"""The command ``muphy-lb examples``: list the example cases that come with the package, or copy one."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

from muphy_lb.base.errors import InputError
from muphy_lb.case.section import did_you_mean

FOLDER = Path(__file__).parent.parent / "examples"
ENDING = ".toml"


def add_options(parser) -> None:
    """Add the options of the command to an argument parser."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="the example to copy (default: list all)")
    parser.add_argument("-o", "--output", metavar="CASE.toml", help="file to write (default: NAME.toml)")


def examples(options, say: Callable[[str], None], communicator) -> int:
    """List the examples, or copy one with its comments; returns the exit code 0. Raises InputError: no example of that
    name, or the file exists; OutputError: the file cannot be written."""
    if communicator.rank > 0:
        return 0
    found = {path.relative_to(FOLDER).with_suffix("").as_posix(): path for path in sorted(FOLDER.rglob(f"*{ENDING}"))}
    if options.name is None:
        if options.output:
            raise InputError(f"examples: -o {options.output} needs the NAME of an example; without one they are listed")
        width = max(map(len, found))
        lines = [f"{name:<{width}}  {_subject(path)}" for name, path in found.items()]
        say("\n".join([*lines, "copy one with: muphy-lb examples NAME"]))
        return 0
    name = options.name.removesuffix(ENDING)
    if name not in found:
        raise InputError(f"examples: there is no example {name!r}; {did_you_mean(name, list(found))}")
    source, target = found[name], Path(options.output or Path(name).name + ENDING)
    if target.exists():
        raise InputError(f"examples: {target} exists; give another name with -o")
    from muphy_lb.base.files.atomic import write_text

    command = "compare" if source.parent != FOLDER else "run"
    text = re.sub(r"examples/[\w/]+\.toml", str(target).replace("\\", r"\\"), source.read_text(encoding="utf-8"))
    write_text(target, text)
    say(f"written to {target}; run it with: muphy-lb {command} {shlex.quote(str(target))}")
    return 0


def _subject(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("#").partition(" Run:")[0].strip()
