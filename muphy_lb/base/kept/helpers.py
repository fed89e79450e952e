"""Kernels compiled side by side: processes beside this one compile those that a run will launch, and keep them on disk.

Threads do not compile side by side, since Numba holds one lock. So at the first kernel that is not kept, and at each
one that is bound to its arguments later, a helper is asked for it, one per thread of Numba beside the first. This
process continues, and compiles, at its launch, a kernel that no helper has begun; for one that a helper has begun it
waits (:mod:`muphy_lb.base.kept.turns`). Helpers that fail or die leave their kernels to this process.
"""

import atexit
import itertools
import os
import pickle
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import config
from numba.core.sigutils import normalize_signature

from muphy_lb.base.processes import python

LENGTH_BYTES = 8
MOST_HELPERS = 11
FEWEST_HELPERS = 3
"""Fewer compete with this process for the cores of a small machine, and each begins with imports of a second."""

RANKS_HERE = (
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
    "MV2_COMM_WORLD_LOCAL_SIZE",
    "SLURM_STEP_TASKS_PER_NODE",  # such as "8(x2),7"
)
"""Variables of launchers: number of ranks on this machine, or on each."""

IDLE_S = 60.0  # time without a job after which a helper ends: each has 0.1 GB or more, and a run takes hours


NOW, LATER, IDLE = range(3)
"""Urgency of jobs: kernels that the run will launch; usual ones; what is done for want of anything else."""


class Helpers:
    """Processes that compile; they are started as they are asked, and end without jobs, or with this process. ``most``:
    how many there may be."""

    def __init__(self, most: int):
        self._most, self._jobs, self._count = most, queue.PriorityQueue[tuple[int, int, bytes]](), itertools.count()
        self._processes = list[subprocess.Popen]()
        atexit.register(self._end)

    def load(self, work: bytes) -> None:
        """Have each of them do a work, a pickled function, as soon as it has nothing else to do."""
        for _ in range(self._most):
            self._jobs.put((IDLE, next(self._count), work))

    def ask(self, job: bytes, urgency: int = NOW) -> None:
        """Have a job done, as :mod:`muphy_lb.base.kept.helper` reads it, ahead of all that are less urgent."""
        self._jobs.put((urgency, next(self._count), job))
        if len(self._processes) >= self._most:
            return
        line = python("muphy_lb.base.kept.helper")
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        try:
            process = subprocess.Popen(line, env=environment, **pipes)
        except OSError:  # no process more: those that are there, and this one, do the work
            self._most = len(self._processes)
            return
        self._processes.append(process)
        threading.Thread(target=self._serve, args=(process,), daemon=True).start()

    def _serve(self, process) -> None:
        """Hand a helper one job after the other, until it ends, or has had none for long: another one takes its place
        when it is needed."""
        with suppress(OSError, ValueError):
            is_up = process.stdout.read(1)  # what is most urgent then is its first job
            while is_up:
                try:
                    _, _, job = self._jobs.get(timeout=IDLE_S)
                except queue.Empty:
                    self._processes.remove(process)
                    process.communicate()
                    return
                process.stdin.write(len(job).to_bytes(LENGTH_BYTES, "big") + job)
                process.stdin.flush()
                if not process.stdout.read(1):
                    return

    def _end(self) -> None:
        for process in self._processes:
            process.kill()


_waiting: list[Callable[[], None]] | None = []  # requests for usual kernels; None once helpers have begun
_of_subject: dict[str, list[Callable[[], None]]] = {}  # the same of subjects that no run has had yet
_helpers: Helpers | None = None
is_helper = False  # whether this process is one itself


def n_helpers() -> int:
    """Number of processes beside this one that may compile; 0 where too few cores are its own."""
    n_own, n_all = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    n_cores = min(n_own, n_all // _n_ranks_here())  # ranks that no launcher has bound have all cores together
    most = min(MOST_HELPERS, n_cores - 1, config.NUMBA_NUM_THREADS - 1)
    return 0 if is_helper or most < FEWEST_HELPERS else most


def _n_ranks_here() -> int:
    """Number of ranks on this machine, as a launcher says it; MPI is not connected yet."""
    said = [re.match(r"[1-9]\d*", os.environ.get(name, "")) for name in RANKS_HERE]
    return next((int(number[0]) for number in said if number), 1)


def are_at_work() -> bool:
    """Whether there are helpers, since a kernel has had to be compiled."""
    return _helpers is not None


def begin_early() -> None:
    """A run begins: if the first of the usual kernels is not kept, it is one that compiles."""
    for request in (_waiting or ())[:1] if n_helpers() else ():
        request()


def begin() -> None:
    """A kernel has to be compiled: ask for the usual ones, too."""
    global _waiting, _helpers
    if _waiting is None:
        return
    requests, _waiting = _waiting, None
    most = n_helpers()
    if most:
        _helpers = Helpers(most)
        for request in requests:
            request()


def usually(kernel, types: str | tuple, subject: str = "") -> None:
    """A function that nearly every run calls with arguments of these types of Numba: it is compiled beside others as
    soon as a kernel has to be compiled. ``subject``: of one that every run calls that has to do with a subject; it is
    asked for when that is :func:`expected`."""

    def request():
        ask(kernel, normalize_signature(types)[0], NOW if subject else LATER)

    if subject:
        _of_subject.setdefault(subject, []).append(request)
    elif _waiting is None:
        request()
    else:
        _waiting.append(request)


def expected(subject: str) -> None:
    """A run has to do with a subject: ask for its usual kernels."""
    for request in _of_subject.pop(subject, ()) if n_helpers() else ():
        request()


def ahead(kernel, arguments: tuple) -> None:
    """A kernel will be launched with these arguments: a helper compiles it, if it is not kept."""
    if n_helpers():
        ask(kernel, tuple(kernel.typeof_pyval(each) for each in arguments))


def load(work: Callable[[], object]) -> None:
    """Let each helper do a work that loads what it will need, while it has nothing else to do."""
    if _helpers:
        _helpers.load(pickle.dumps(work))


def ask(kernel, signature: tuple, urgency: int = NOW) -> None:
    """Let a helper compile a kernel, unless it is kept, or cannot be, or there are no helpers."""
    store: Any = getattr(kernel, "_cache", None)
    path = store.lacking(signature) if hasattr(store, "lacking") else None
    if path is None or signature in kernel.overloads:
        return
    begin()
    if _helpers:
        with suppress(Exception):  # what cannot be sent is compiled here
            _helpers.ask(store.dumps((type(store), store.preparation(), kernel, signature, path)), urgency)
