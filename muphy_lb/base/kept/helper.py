"""A process that compiles kernels for another one (:mod:`muphy_lb.base.kept.helpers`)."""

import pickle
import signal
import sys
import traceback
from contextlib import suppress

from muphy_lb.base.kept import helpers
from muphy_lb.base.kept.turns import TakenError


def main() -> None:
    """Jobs from the standard input, each with its length ahead, until it is closed; a byte of answer for each, and one
    ahead."""
    helpers.is_helper = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other process, which may continue for a while
    jobs, answers = sys.stdin.buffer, sys.stdout.buffer
    _answer(answers)
    while length := jobs.read(helpers.LENGTH_BYTES):
        job = jobs.read(int.from_bytes(length, "big"))
        try:
            with suppress(TakenError):
                _do(pickle.loads(job))
        except Exception:  # the other process compiles the kernel and reports the error
            traceback.print_exc()
        _answer(answers)


def _answer(answers) -> None:
    answers.write(b".")
    answers.flush()


def _do(job) -> None:
    """Call a function, or compile a kernel: then the job is the class of its store, what prepares this process, the
    kernel, the types of its arguments and the file where it is looked for."""
    if callable(job):
        job()
        return
    store, prepare, kernel, signature, path = job
    if prepare():
        kernel._cache = store(kernel, {signature: path})
        kernel.compile(signature)


if __name__ == "__main__":
    main()
