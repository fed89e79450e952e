"""The command ``muphy-lb slurm``: write a batch script that runs a case, or continues with it, under SLURM."""

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

from muphy_lb.base.errors import InputError
from muphy_lb.run.folder import CHECKPOINTS, PATTERN

LONGEST_WARNING_S = 300  # time before the limit at which ranks receive the signal to write a checkpoint, of long jobs

DEFAULT_OUTPUT = "out"


def add_options(parser) -> None:
    """Add the options of the command to an argument parser."""
    parser.add_argument("case", metavar="CASE.toml", help="the case that the job runs; submitted again, it continues")
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
    """Write or print the script; returns the exit code 0. Raises InputError: an option out of bounds, a case that
    cannot be read, or the file exists; OutputError: the file cannot be written."""
    if communicator.rank > 0:
        return 0
    from muphy_lb.base.files.atomic import write_text
    from muphy_lb.case.case import load_case

    _check(options)
    load_case(options.case)
    text = _script(options)
    if options.output is None:
        say(text.rstrip())
        return 0
    if Path(options.output).exists():
        raise InputError(f"slurm: {options.output} exists; give another name with -o")
    write_text(options.output, text)
    say(f"written to {options.output}; submit it with: sbatch {shlex.quote(options.output)}")
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


def _script(options) -> str:
    """The script. Every rank sees all GPUs of its node and takes its own; ranks that follow each other share a node, so
    that neighbours are mostly on the same one."""
    case, gpus, python = Path(options.case), options.gpus_per_node, Path(sys.executable)
    folder = shlex.quote(str(options.run_output or Path(DEFAULT_OUTPUT) / case.stem))
    of_gpus = f"#SBATCH --gpus-per-node={gpus}\n#SBATCH --gpu-bind=none\n" if gpus else ""
    mpi = 'export SLURM_MPI_TYPE="${SLURM_MPI_TYPE:-pmi2}" # the protocol of the MPICH of this Python\n'
    warning_s = min(LONGEST_WARNING_S, _seconds(options.time) // 4)
    return f"""\
#!/usr/bin/env bash
# Runs {case.name}; submitted again, it continues from the newest checkpoint. Written by muphy-lb slurm.
#
#SBATCH --job-name={re.sub(r"[^A-Za-z0-9_.-]", "_", case.stem)}
#SBATCH --nodes={options.nodes}
#SBATCH --ntasks-per-node={gpus or options.ranks_per_node}
{of_gpus}#SBATCH --distribution=block
#SBATCH --cpus-per-task={options.cpus_per_rank}
#SBATCH --time={options.time}
# {warning_s} s before the limit every rank gets SIGUSR1: write a checkpoint and stop.
#SBATCH --signal=USR1@{warning_s}
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun does not take it from the batch job by itself
export NUMBA_NUM_THREADS=$SLURM_CPUS_PER_TASK
{mpi if (python.parent / "mpirun").exists() else ""}set -- run {shlex.quote(str(case))} -o {folder}
compgen -G {folder}/{CHECKPOINTS}/'{PATTERN}' > /dev/null && set -- resume {folder}
exec srun {shlex.quote(str(python))} -m muphy_lb "$@"
"""
