"""The open channel of Bang and Salomonsen in many sizes, by NumPy, on the CPU and on a GPU (their Tables 5 and 6).

J. Bang, J. Salomonsen, bachelor's thesis, University of Copenhagen (2011). The other scenes, and pictures of all:
``muphy-lb compare``.
"""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import muphy_lb
from muphy_lb.backends import BACKENDS
from muphy_lb.base.errors import InputError
from muphy_lb.bench.compare import study
from muphy_lb.bench.compare.command import usable_plan
from muphy_lb.bench.papers import published
from muphy_lb.bench.papers.table import Study
from muphy_lb.case.case import load_case

NAME, CASE = "bang", Path(muphy_lb.__file__).parent / "examples" / "compare" / "tunnel.toml"
SECONDS = 2.0  # of a measurement


def time_bang(options, say: Callable[[str], None], communicator) -> Study:
    """The channel in the paper's sizes, or in one. Raises InputError: several ranks."""
    if communicator.size > 1:
        raise InputError(f"bench: --paper {NAME} runs in one process, and {communicator.size} ranks were started")
    case = load_case(CASE, options.set)
    backends = ("numpy", options.backend) if options.backend not in (None, "auto", "numpy") else tuple(BACKENDS)
    sizes = (options.size,) if options.size else published.BANG_SIZES
    plan, unusable = usable_plan(case, backends, sizes, options.precision, (options.steps, SECONDS))
    say(f"{case.title}\n{study.HEADER}")
    timings = study.time_all(case, plan, lambda timing: say(study.row(timing)))
    say(study.notes(timings, unusable))
    agreements = list(study.check_agreement(case, plan))
    say(study.agreement_text(agreements))
    differences = {found.backend: found.difference for found in reversed(agreements)}
    found = tables(timings) | {published.BANG_13: {"": (differences.get("cpu"), differences.get("cuda"))}}
    return Study(NAME, timings[-1].device, [asdict(timing) for timing in timings], found)


def tables(timings) -> dict:
    """Seconds and speed-up by size, in the first precision."""
    first = [timing for timing in timings if timing.precision == timings[0].precision]
    seconds, speed_up = {}, {}
    for backend in dict.fromkeys(timing.backend for timing in first):
        by_size = {timing.size: timing for timing in first if timing.backend == backend}
        found = [by_size.get(size) for size in published.BANG_SIZES]
        seconds[backend] = tuple(timing and timing.seconds_per_1000_steps for timing in found)
        speed_up[f"{backend} over {first[0].backend}"] = tuple(timing and timing.speed_up for timing in found)
    del speed_up[f"{first[0].backend} over {first[0].backend}"]
    return {published.BANG_5_6: seconds, published.BANG_SPEED_UP: speed_up}
