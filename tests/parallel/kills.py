"""A campaign: runs are killed at random moments, and continued from what they left.

``python -m tests.parallel.kills FOLDER [-n KILLS] [--seed SEED] [--jobs JOBS] [--backend NAME] [--transport NAME]``
computes in FOLDER and prints a table.
"""

import signal
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.parallel import outcomes
from tests.parallel.disturbed import TORN, all_valid, continued, differences, newest_step
from tests.parallel.moments import END_S, Moment, disturbed, moments, send
from tests.vessel import ENDED


@dataclass(frozen=True)
class Outcome:
    """What came of a kill; ``torn``: a half-written checkpoint was left; ``told``: one line names who died; ``newest``:
    step of the newest checkpoint left; ``differs``: how the continued run differs from the undisturbed one, if so."""

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


def kill(case: Path, out: Path, moment: Moment):
    """Run a case until the moment; the finished command, its seconds to the end, processes left over."""
    return disturbed(case, out, moment, partial(send, signal.SIGKILL))


def outcome_of(case: Path, out: Path, moment: Moment, undisturbed: Path) -> Outcome:
    """Kill, look at what is left, continue on another number of ranks, compare."""
    done, seconds, left_over = kill(case, out, moment)
    folder = out / "checkpoints"
    torn, had_summary = any(folder.glob(TORN)), (out / "summary.json").exists()
    kept, valid = newest_step(folder), all_valid(folder)
    after = continued(case, out, moment.n_after)
    differs = differences(out, undisturbed) if after.returncode in ENDED else after.stderr.strip()[-300:]
    is_rank = isinstance(moment.rank, int)
    was_over = done.returncode in ENDED or had_summary  # then all is written, and nobody is left to tell
    own = [line for line in done.stderr.splitlines() if line.startswith("muphy-lb: ")]  # Open MPI adds lines of its own
    named = len(own) == 1 and f"rank {moment.rank} of {moment.n_ranks}" in own[0]
    return Outcome(
        case=moment.case,
        moment=str(moment),
        killed=moment.who,
        torn=torn,
        seconds=seconds,
        exit_code=done.returncode,
        left_over=left_over,
        told=named if is_rank and kept and not was_over else "Traceback" not in done.stderr,
        newest=kept,
        all_valid=valid,
        after=f"{moment.n_after}: {after.returncode}",
        differs=differs,
    )


study = partial(outcomes.study, outcome_of=outcome_of)
"""What came of a kill at each moment: of ``(folder, moments, compute=..., jobs=1, until=inf)``."""


def main() -> int:
    """The campaign; exit code 1 if an end was not clean."""

    def drawn(options) -> list[Moment]:
        return [moment.on_at_most(options.most_ranks) for moment in moments(options.n, options.seed)]

    return outcomes.campaign(__doc__, "kills", 20, drawn, study)


if __name__ == "__main__":
    sys.exit(main())
