"""The command ``muphy-lb warm``: compile all kernels that a case uses, but those of pictures, ahead of its run, for
queues and containers."""

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from muphy_lb.case.case import load_case
from muphy_lb.parallel import agreed_on_root
from muphy_lb.parallel.task import CYCLE
from muphy_lb.run.loop import Run
from muphy_lb.run.options import NO_PICTURES
from muphy_lb.run.solver import Solver

N_STEPS = 2 * CYCLE + 2
"""Steps that launch every kernel: recorded ones, single ones, and those ahead of looks at the flow."""

INTERVALS = ("series_every_steps", "fields_every_steps", "checkpoint_every_steps")


def warm(options, say: Callable[[str], None], communicator) -> int:
    """Compile, or find compiled, all kernels of a case but those of pictures, by a short run of it into a folder that
    is removed; returns the exit code 0; collective. Raises MuphyError: the case cannot be run."""
    began = time.perf_counter()
    case = communicator.broadcast(_short(options) if communicator.rank == 0 else None)
    kept = agreed_on_root(communicator, TemporaryDirectory)
    folder = Path(communicator.broadcast(kept and kept.name))
    try:
        Run(Solver(case, communicator), folder, shows_progress=False).execute()
    finally:
        if kept:
            kept.cleanup()
    took_s = time.perf_counter() - began
    say(f"all kernels of {options.case} but those of pictures are compiled, after {took_s:.1f} s")
    return 0


def _short(options):
    """The case with a few steps, in which all looks at the flow are taken."""
    changes = [*options.set, *NO_PICTURES, "run.time_s=", "run.wall_time=", f"run.steps={N_STEPS}"]
    case = load_case(options.case, changes)
    looks = {name: CYCLE for name in INTERVALS if getattr(case.output, name)}
    return load_case(options.case, [*changes, *(f"output.{name}={every}" for name, every in looks.items())])
