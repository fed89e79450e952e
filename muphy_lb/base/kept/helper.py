"""A process that compiles kernels for another one (:mod:`muphy_lb.base.kept.helpers`)."""

import pickle
import signal
import sys
import traceback
from contextlib import suppress

from muphy_lb.base.kept import helpers
from muphy_lb.base.kept.turns import TakenError


def main() -> None:
    """Jobs from the standard input, each with its length ahead, until it is closed; a byte of answer for each."""
    helpers.is_helper = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other process, which may go on for a while
    jobs, answers = sys.stdin.buffer, sys.stdout.buffer
    while length := jobs.read(helpers.LENGTH_BYTES):
        job = jobs.read(int.from_bytes(length, "big"))
        try:
            with suppress(TakenError):
                _compile(job)
        except Exception:  # the other process compiles the kernel, and tells what is wrong with it
            traceback.print_exc()
        answers.write(b".")
        answers.flush()


def _compile(job: bytes) -> None:
    """Compile a kernel: the job is the class of its store, what prepares this process, the kernel, the types of its
    arguments and the file where it is looked for."""
    store, prepare, kernel, signature, path = pickle.loads(job)
    if prepare():
        kernel._cache = store(kernel, {signature: path})
        kernel.compile(signature)


if __name__ == "__main__":
    main()
