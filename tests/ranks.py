"""Ranks that wait for work: one launch of mpirun for all tests of a session that call functions on several ranks.

A rank takes more than a second to import, and no time while it waits.
"""

import contextlib
import pickle
import socket
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from time import monotonic

MOST_RANKS = 3
ENDS_WITHIN_S, LOOKS_EVERY_S = 10.0, 0.5


class WaitingRanks:
    """Processes of one mpirun, begun at the first call, and again at the next one where a call has failed.

    Args:
        launch: starts a command on so many ranks, with its messages in a file: ``launch(n_ranks, arguments, file)``.
        stop: ends what ``launch`` has started, with all its ranks.
        folder: for the socket and the messages.
        timeout_s: of a call [s].
    """

    def __init__(self, launch: Callable[..., Popen], stop: Callable[[Popen], None], folder: Path, timeout_s: float):
        self._launch, self._stop, self._folder, self._timeout_s = launch, stop, folder, timeout_s
        self._process: Popen | None = None
        self._ranks: list[Connection] = []

    def __call__(self, n_ranks: int, function: Callable, *arguments):
        """``function(communicator, *arguments)`` of rank 0, computed on ranks 0 to ``n_ranks`` - 1.

        The function is one of a module; arguments and its result are pickled. Raises AssertionError: a rank has failed
        or does not answer; the message has what it told.
        """
        if self._process is None:
            self._start()
        asked = self._ranks[:n_ranks]
        for rank in asked:
            rank.send((n_ranks, function, arguments))
        answers: dict[Connection, object] = {}
        while len(answers) < n_ranks:
            ready = wait([rank for rank in asked if rank not in answers], self._timeout_s)
            for rank in ready:
                failure, answers[rank] = self._answer(rank)
                if failure:
                    self._fail(failure)
            if not ready:
                self._fail(f"{n_ranks - len(answers)} of {n_ranks} ranks do not answer in {self._timeout_s} s")
        return answers[asked[0]]

    def close(self) -> None:
        """End the ranks, by force where one is busy."""
        for rank in self._ranks:
            rank.close()
        if self._process is not None:
            with contextlib.suppress(TimeoutExpired):
                self._process.wait(ENDS_WITHIN_S)
            if self._process.poll() is None:
                self._stop(self._process)
        self._process, self._ranks = None, []

    def _start(self) -> None:
        path = self._folder / "ranks"
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as door, self._messages.open("w") as messages:
            door.bind(str(path))
            door.listen(MOST_RANKS)
            self._process = self._launch(MOST_RANKS, ["-m", "tests.ranks", path], messages)
            until = monotonic() + self._timeout_s
            try:
                found = dict(self._greeted(door, self._process, until) for _ in range(MOST_RANKS))
            except (TimeoutError, EOFError):
                self._fail("the ranks have not begun")
        self._ranks = [found[rank] for rank in range(MOST_RANKS)]

    def _greeted(self, door: socket.socket, process: Popen, until: float) -> tuple[int, Connection]:
        while not wait([door], LOOKS_EVERY_S):
            if process.poll() is not None or monotonic() > until:
                raise TimeoutError
        caller, _ = door.accept()
        rank = Connection(caller.detach())
        return rank.recv(), rank

    @property
    def _messages(self) -> Path:
        return self._folder / "ranks.txt"

    def _answer(self, rank: Connection) -> tuple[str, object]:
        try:
            return rank.recv()
        except (EOFError, ConnectionError):
            return "a rank has ended", None

    def _fail(self, reason: str) -> None:
        self.close()
        raise AssertionError(f"{reason}\n{self._messages.read_text()[-10_000:]}")


def serve(path: str) -> None:
    """Call what is asked for, until the one who asks is gone."""
    from mpi4py import MPI

    from muphy_lb.parallel.communicator import MpiCommunicator

    world = MpiCommunicator(MPI)
    groups = {n_ranks: world.first(n_ranks) for n_ranks in range(2, MOST_RANKS + 1)}
    with socket.socket(socket.AF_UNIX) as door:
        door.connect(path)
        asker = Connection(door.detach())
    asker.send(world.rank)
    while True:
        try:
            n_ranks, function, arguments = asker.recv()
        except (EOFError, ConnectionError):
            return
        try:
            answer = "", function(groups[n_ranks], *arguments)
            pickle.dumps(answer)
        except BaseException:
            answer = traceback.format_exc(), None
        asker.send(answer)


if __name__ == "__main__":
    serve(sys.argv[1])
