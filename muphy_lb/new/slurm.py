"""The command ``muphy-lb slurm``: write a batch script that runs a case, or goes on with it, under SLURM."""

import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from muphy_lb.base.errors import InputError
from muphy_lb.run.folder import CHECKPOINTS, PATTERN

LONGEST_WARNING_S = 300
"""Time before the limit at which ranks are told to write a checkpoint, of long jobs."""

DEFAULT_OUTPUT = "out"


def add_options(parser) -> None:
    """Add the options of the command to an argument parser."""
    parser.add_argument("case", metavar="CASE.toml", help="the case that the job runs; submitted again, it goes on")
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="number of nodes (default: %(default)s)")
    gpus = "GPUs of each node, one rank each; 0: CPUs alone (default: %(default)s)"
    parser.add_argument("--gpus-per-node", type=int, default=4, metavar="N", help=gpus)
    ranks = "without GPUs: ranks of each node (default: %(default)s)"
    parser.add_argument("--ranks-per-node", type=int, default=1, metavar="N", help=ranks)
    parser.add_argument("--cpus-per-rank", type=int, default=8, metavar="N", help="cores (default: %(default)s)")
    parser.add_argument(
        "--time", default="04:00:00", metavar="HH:MM:SS", help="limit of the job (default: %(default)s)"
    )
    out = f"output folder of the run (default: {DEFAULT_OUTPUT}/CASE)"
    parser.add_argument("--run-output", metavar="OUT", help=out)
    parser.add_argument("-o", "--output", metavar="JOB.sh", help="file to write (default: print the script)")


def slurm(options, say: Callable[[str], None], communicator) -> int:
    """Write or print the script; returns the exit code 0.

    Args:
        options: parsed options, see :func:`add_options`.
        say: called with text.
        communicator: the ranks; only the first one works.

    Raises:
        InputError: an option out of bounds, a case that cannot be read, or the file exists.
        OutputError: the file cannot be written.
    """
    if communicator.rank > 0:
        return 0
    from muphy_lb.base.files.atomic import write_text
    from muphy_lb.case.case import load_case

    _check(options)
    load_case(options.case)
    text = "\n".join(_lines(options)) + "\n"
    if options.output is None:
        say(text.rstrip())
        return 0
    if Path(options.output).exists():
        raise InputError(f"slurm: {options.output} exists; give another name with -o")
    write_text(options.output, text)
    say(f"written to {options.output}; submit it with: sbatch {options.output}")
    return 0


def _check(options) -> None:
    least = {"nodes": 1, "gpus_per_node": 0, "ranks_per_node": 1, "cpus_per_rank": 1}
    for name, smallest in least.items():
        if getattr(options, name) < smallest:
            key = name.replace("_", "-")
            raise InputError(f"slurm: --{key} is {getattr(options, name)}; give {smallest} or more")
    if options.gpus_per_node and options.ranks_per_node != 1:
        raise InputError(
            f"slurm: --ranks-per-node {options.ranks_per_node} goes with --gpus-per-node 0; every GPU has one rank"
        )
    if not re.fullmatch(r"[0-9]+:[0-5][0-9]:[0-5][0-9]", options.time) or not _seconds(options.time):
        raise InputError(f"slurm: --time is {options.time!r}; give HH:MM:SS, such as 04:00:00")


def _seconds(time: str) -> int:
    hours, minutes, seconds = map(int, time.split(":"))
    return 3600 * hours + 60 * minutes + seconds


def _lines(options) -> Iterator[str]:
    """The script, line by line."""
    case = Path(options.case)
    output = Path(options.run_output or Path(DEFAULT_OUTPUT) / case.stem)
    yield "#!/usr/bin/env bash"
    yield f"# Runs {case.name}; submitted again, it goes on from the newest checkpoint. Written by muphy-lb slurm."
    yield "#"
    yield from (f"#SBATCH --{line}" for line in _directives(options, case.stem))
    warning_s = min(LONGEST_WARNING_S, _seconds(options.time) // 4)
    yield f"# {warning_s} s before the limit every rank gets SIGUSR1: write a checkpoint and stop."
    yield f"#SBATCH --signal=USR1@{warning_s}"
    yield "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun does not take it from the batch job by itself"
    yield "export NUMBA_NUM_THREADS=$SLURM_CPUS_PER_TASK"
    python = Path(sys.executable)
    if (python.parent / "mpirun").exists():
        yield 'export SLURM_MPI_TYPE="${SLURM_MPI_TYPE:-pmi2}" # what the MPICH beside this Python speaks'
    folder = shlex.quote(str(output))
    yield f"set -- run {shlex.quote(str(case))} -o {folder}"
    yield f"compgen -G {folder}/{CHECKPOINTS}/'{PATTERN}' > /dev/null && set -- resume {folder}"
    yield f'exec srun {shlex.quote(str(python))} -m muphy_lb "$@"'


def _directives(options, name: str) -> Iterator[str]:
    """What is asked of the cluster."""
    gpus = options.gpus_per_node
    yield f"job-name={re.sub(r'[^A-Za-z0-9_.-]', '_', name)}"
    yield f"nodes={options.nodes}"
    yield f"ntasks-per-node={gpus or options.ranks_per_node}"
    if gpus:
        yield f"gpus-per-node={gpus}"
        yield "gpu-bind=none"  # every rank sees all GPUs of its node and takes its own
    yield "distribution=block"  # ranks that follow each other share a node: neighbours are then mostly on the same one
    yield f"cpus-per-task={options.cpus_per_rank}"
    yield f"time={options.time}"
