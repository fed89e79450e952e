"""Profile of a run: the wall time of every phase on every rank, from the start of the process on."""

from collections.abc import Mapping

from muphy_lb.base.phases import PROFILE
from muphy_lb.run.observers import process_peak_mib

MOST_COLUMNS = 8  # ranks up to which each has a column of its own


def profile_of_ranks(communicator) -> dict | None:
    """The profile of all ranks on rank 0, None elsewhere; collective. ``phases_s``: seconds on each rank by phase, of
    :data:`muphy_lb.base.phases.PHASES`; ``wall_s``: their sum; ``peak_memory_mib``: of each rank."""
    gathered = communicator.gather((PROFILE.seconds(), process_peak_mib()))
    if gathered is None:
        return None
    of_ranks, peaks_mib = zip(*gathered, strict=True)
    phases_s = {name: [seconds[name] for seconds in of_ranks] for name in of_ranks[0]}
    wall_s = [sum(seconds.values()) for seconds in of_ranks]
    return {"phases_s": phases_s, "wall_s": wall_s, "peak_memory_mib": list(peaks_mib)}


def profile_table(profile: Mapping) -> str:
    """A profile as text: one line a phase; a column for each rank, or with many of them the least, mean and most."""
    n_ranks = len(profile["wall_s"])
    heads = [f"rank {rank}" for rank in range(n_ranks)] if n_ranks <= MOST_COLUMNS else ["least", "mean", "most"]
    lines = {f"{name} [s]": values for name, values in profile["phases_s"].items()}
    lines |= {"from start to end [s]": profile["wall_s"], "peak memory [MiB]": profile["peak_memory_mib"]}
    width = max(map(len, lines))
    rows = [f"{'':<{width}}" + "".join(f"{head:>10}" for head in heads)]
    for name, values in lines.items():
        shown = values if n_ranks <= MOST_COLUMNS else (min(values), sum(values) / n_ranks, max(values))
        rows.append(f"{name:<{width}}" + "".join(f"{value:10.2f}" for value in shown))
    return "\n".join(rows)
