"""A study as a command: its processes, its lines for people, and its exit code."""

from collections.abc import Callable
from pathlib import Path

from muphy_lb.apps.study.members import Members
from muphy_lb.apps.study.report import REPORT_FILE
from muphy_lb.apps.study.running import Stopped, Workers
from muphy_lb.apps.study.study import Study, members_of
from muphy_lb.apps.study.table import FILE
from muphy_lb.base.errors import InputError
from muphy_lb.geometry.limits import shown
from muphy_lb.parallel import from_root
from muphy_lb.run.loop import STOPPED_EXIT_CODE, stopped

MOST_JOBS = 1024
ALL_FAILED_EXIT_CODE = 1


def started(options, folder: Path, say: Callable[[str], None], communicator) -> int:
    """Run the study of a command line; see :func:`muphy_lb.apps.study.command.study`."""
    _check(options, communicator)
    if options.list:
        say("\n".join(_listed(members_of(options.study, folder, options.set))))
        return 0
    work = Study(options.study, folder, options.set, overwrite=options.overwrite, communicator=communicator)
    design = work.members.design
    say(f"{design.n_members} members of {', '.join(design.names)} by {design.sampler}; in {folder}")
    numbers = None if options.member is None else [options.member]
    stop = _run(work, options, numbers, say)
    if stop:
        return stopped(stop.by, folder, say)
    if options.no_results:
        return 0
    table = from_root(communicator, lambda: work.table)
    if table.n_missing:
        say(f"{table.n_missing} members have not ended yet; the results are written with the last of them")
        return STOPPED_EXIT_CODE if options.member is None else 0
    say("\n".join(work.write()))
    files = [FILE, "answers.json", REPORT_FILE]
    if options.parquet:
        files.append(from_root(communicator, lambda: table.write_parquet(folder).name))
    say(f"written to {folder}: {', '.join(files)}")
    return 0 if table.has_ended.any() else ALL_FAILED_EXIT_CODE


def _run(work: Study, options, numbers, say: Callable[[str], None]) -> Stopped | None:
    """Run members, with further processes if there are to be some; what these leave where they die runs behind them."""
    with Workers(_alone(options, work.members.folder), options.jobs - 1, work.members.folder) as workers:
        stopped = work.run(numbers, say)
        if stopped:
            workers.stop()
        stopped = workers.wait() or stopped
    return stopped if stopped or options.jobs == 1 else work.run(numbers, say)


def _check(options, communicator) -> None:
    if not 1 <= options.jobs <= MOST_JOBS:
        raise InputError(f"study: --jobs is {options.jobs}; allowed: 1 to {MOST_JOBS}")
    if options.jobs > 1 and (communicator.size > 1 or options.member is not None):
        other = "ranks of mpirun, which all work on each member" if communicator.size > 1 else "--member"
        raise InputError(
            f"study: --jobs {options.jobs} shares members among processes, and there is {other}; leave one out"
        )
    if options.member is not None and options.overwrite:
        raise InputError(
            f"study: --overwrite removes the outcomes of all members, and --member {options.member} runs one; leave"
            " --overwrite out, or give another output folder with -o"
        )


def _alone(options, folder: Path) -> list[str]:
    """The words of the same study in one process."""
    return ["study", options.study, "-o", str(folder), "--no-results", *(f"--set={text}" for text in options.set)]


def _listed(members: Members):
    for number in range(members.design.n_members):
        values = members.values(number)
        if number == 0:
            yield ", ".join(("member", *values))
        yield ", ".join([str(number), *(shown(value) for value in values.values())])
