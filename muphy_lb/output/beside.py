"""Work beside a run: pictures and meshes are made in a thread of their own while the next steps run."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

MOST_WAITING = 4  # works that may wait, each with all that it shows in memory; one more waits for the first of them


class Beside:
    """A queue of works that touch neither the flow nor its device, done one after the other in a thread."""

    def __init__(self) -> None:
        self._thread: ThreadPoolExecutor | None = None
        self._waiting: deque[Future] = deque()

    def do(self, work: Callable[[], None]) -> None:
        """Do it as soon as all that were given before are done. Raises MuphyError: one of these has failed."""
        self._thread = self._thread or ThreadPoolExecutor(1)
        while self._waiting and (len(self._waiting) >= MOST_WAITING or self._waiting[0].done()):
            self._waiting.popleft().result()
        self._waiting.append(self._thread.submit(work))

    def wait(self) -> None:
        """Wait until all are done. Raises MuphyError: the first of those that have failed."""
        failures = [error for work in self._waiting if (error := work.exception())]
        self._waiting.clear()
        if failures:
            raise failures[0]
