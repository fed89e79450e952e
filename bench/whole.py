"""Whole runs of a case, from the command to its exit, by phase: a first start, with no kernel and no measurement kept,
and a second one, which finds what the first has left."""

import json
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from muphy_lb.base.errors import InputError, MuphyError
from muphy_lb.base.processes import python, variables
from muphy_lb.run.folder import SUMMARY_FILE
from muphy_lb.run.verdict import DOUBTFUL_EXIT_CODE

STARTS = ("first", "second")
KEPT_IN = ("NUMBA_CACHE_DIR", "MUPHY_CACHE")
"""Variables of the environment that name the folders of kernels and of measurements."""

TOLD = ("title", "device", "backend", "precision", "streaming", "ranks", "n_fluid", "steps", "mflups")
LAST_LINES = 5
COMPLETE = (0, DOUBTFUL_EXIT_CODE)  # exit codes of a run that came to its end


def time_whole(options, say: Callable[[str], None], communicator) -> tuple[str, str, list[dict]]:
    """Title, device and records of both starts. Raises InputError: several ranks take part; MuphyError: a run fails."""
    if communicator.size > 1:
        raise InputError(
            f"bench: --whole starts runs of its own, and {communicator.size} ranks were started; start one, with"
            f" --launcher 'mpirun -n {communicator.size}'"
        )
    changes = [*options.set, *([f"compute.backend={options.backend}"] if options.backend else [])]
    line = [*shlex.split(options.launcher or ""), *python("muphy_lb", "run", options.case, "--profile")]
    with TemporaryDirectory() as kept:
        folder = Path(kept)
        line += ["-o", str(folder / "out"), "--overwrite", *(f"--set={change}" for change in changes)]
        environment = variables(os.environ) | dict.fromkeys(KEPT_IN, str(folder / "kept"))
        records = [{"start": start} | _timed(line, environment, folder / "out" / SUMMARY_FILE) for start in STARTS]
    say(_table(records))
    return records[0]["title"], records[0]["device"], records


def _timed(line: Sequence[str], environment: Mapping[str, str], summary: Path) -> dict:
    """The record of one run: that of its profile, ``command_s`` from the command to its exit, and what it was. Raises
    MuphyError: the run fails or is stopped."""
    summary.unlink(missing_ok=True)  # of the start before
    began = time.perf_counter()
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    command_s = time.perf_counter() - began
    if done.returncode not in COMPLETE or not summary.exists():
        last = "\n".join((done.stderr or done.stdout).splitlines()[-LAST_LINES:])
        lacking = "" if summary.exists() else " and no summary"
        raise MuphyError(f"bench: the run ended with code {done.returncode}{lacking}:\n{last}")
    found = json.loads(summary.read_text(encoding="utf-8"))
    return {name: found[name] for name in TOLD} | {"command_s": command_s} | found["profile"]


def _table(records: Sequence[dict]) -> str:
    """Table of both starts side by side; of several ranks the longest time and the most memory."""
    lines = {f"{name} [s]": [max(record["phases_s"][name]) for record in records] for name in records[0]["phases_s"]}
    lines["from command to exit [s]"] = [record["command_s"] for record in records]
    lines["peak memory [MiB]"] = [max(record["peak_memory_mib"]) for record in records]
    one, width = records[0], max(map(len, lines))
    head = (
        f"{one['title']}: {one['n_fluid']:,} nodes, {one['steps']:,} steps on {one['device']}, {one['ranks']} ranks,"
        f" {one['precision']}, {one['streaming']}"
    )
    rows = [head, f"{'start':<{width}}" + "".join(f"{start:>10}" for start in STARTS)]
    return "\n".join(rows + [f"{name:<{width}}" + "".join(f"{x:10.2f}" for x in both) for name, both in lines.items()])
