"""The command ``muphy-lb doctor``: looks at all that the solver needs, and says what to install. It works where
packages are missing that every other command needs. Under a launcher all ranks take part in the trials of the
transports, and rank 0 reports."""

import argparse
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

from muphy_lb.base.errors import printable
from muphy_lb.base.version import __version__
from muphy_lb.doctor import findings
from muphy_lb.doctor.findings import BROKEN, MISSING, OK, Finding
from muphy_lb.output.terminal import AS_BEFORE, GREEN, RED, YELLOW, is_redrawn

CANNOT_RUN_EXIT_CODE = 1
TOPIC_WIDTH = 20
COLOURS = {OK: GREEN, MISSING: YELLOW, BROKEN: RED}
RANK_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID")


def parser() -> argparse.ArgumentParser:
    """The parser of the command's options."""
    made = argparse.ArgumentParser(
        prog="muphy-lb doctor", description="Check everything that the solver needs, and name what to install."
    )
    made.add_argument("--json", action="store_true", help="print what was found as JSON")
    return made


def doctor(words: Sequence[str], say: Callable[[str], None]) -> int:
    """Examine this machine and print the findings; returns the exit code: 1 if the solver cannot run here."""
    options = parser().parse_args(words)
    rank, answer = _ask_all_ranks()
    if rank > 0:
        return 0
    tell = (lambda _text: None) if options.json else say
    tell(f"muphy-lb {__version__}: what this machine offers")
    found = []
    for finding in _examined(answer):
        found.append(finding)
        line = printable(finding.line(TOPIC_WIDTH))
        colour = COLOURS.get(finding.state) if is_redrawn() else None
        tell(line.replace(finding.state, f"{colour}{finding.state}{AS_BEFORE}", 1) if colour else line)
    can_run = not any(finding.is_fatal for finding in found)
    if options.json:
        tables = [asdict(finding) for finding in found]
        say(json.dumps({"version": __version__, "can_run": can_run, "findings": tables}, indent=2))
    tell("the solver can run here" if can_run else "the solver CANNOT run here: see what is needed above")
    return 0 if can_run else CANNOT_RUN_EXIT_CODE


def _examined(answer: dict | None) -> Iterator[Finding]:
    """All findings, one after the other; ``answer`` is that of the ranks, where a launcher has started several."""
    among = findings.ranks if answer is None else lambda: findings.among(answer)
    f = findings
    for look in (f.python, f.packages, f.processors, f.gpus, among, f.caches):
        try:
            yield from look()
        except Exception as error:  # a failure is a finding, too, so that the other looks follow
            yield Finding(look.__name__, BROKEN, f"cannot be examined: {type(error).__name__}: {error}")


def _ask_all_ranks() -> tuple[int, dict | None]:
    """The rank of this process, and on rank 0 what the trial among all ranks says; None where there is one rank."""
    rank = next((int(os.environ[name]) for name in RANK_VARIABLES if name in os.environ), None)
    if rank is None:
        return 0, None
    from muphy_lb.doctor.trial import try_ranks

    try:
        from muphy_lb.parallel.communicator import connect

        communicator = connect()
        if communicator.size == 1:
            return 0, None
        answer = try_ranks(communicator)
        communicator.finalise()
        return communicator.rank, answer
    except Exception as error:  # it is what the user wants to hear of
        return rank, {"failure": f"{type(error).__name__}: {error}"}
