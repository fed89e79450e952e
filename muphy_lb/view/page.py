"""The address of a page, and the process that serves it."""

import contextlib
import os
import secrets
import socket
import subprocess
import threading
import time
from importlib.metadata import version
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import NamedTuple

from muphy_lb.base.errors import InputError
from muphy_lb.base.processes import python, variables
from muphy_lb.parallel.watchdog import RANK_VARIABLES
from muphy_lb.view.messages import Answer, Description, Picture, Update

LOOPBACK = "127.0.0.1"
PAGE = "run"
PATIENCE_S = 3.0
N_WAITING, MOST_ANSWERS = 64, 100
BETWEEN_S = 0.01  # time between two messages to the process, which has to draw [s]
TOKEN_BYTES = 24
FIRST_OTHER_BOKEH = (3, 10)
"""From this version on the callbacks of a page run in threads; those of this page belong to the event loop."""
SHARE_OF_CORES, MOST_THREADS = 4, 8
THREADS = str(min(MOST_THREADS, max(2, (os.cpu_count() or 1) // SHARE_OF_CORES)))
"""Of the process, which draws beside the steps."""


class ServerSocket(NamedTuple):
    """Where a page will be: a listening socket on the loopback interface, and the secret part of its address."""

    listener: socket.socket
    token: str

    @property
    def port(self) -> int:
        """The port."""
        return self.listener.getsockname()[1]

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{LOOPBACK}:{self.port}/{self.token}/{PAGE}"

    def directions(self) -> str:
        """How to look at the page, from this machine or another one."""
        tunnel = f"ssh -N -L {self.port}:{LOOPBACK}:{self.port} {socket.gethostname()}"
        return f"live view: {self.url}\n  from another machine: {tunnel}, then open the same address there"


def open_socket(port: int) -> ServerSocket:
    """Take a port for a page. ``port``: which; 0 for any free one. Raises InputError: it is no port, or taken; or the
    packages for the page are missing, or of another version."""
    if find_spec("bokeh") is None:
        raise InputError(
            "--view needs the package bokeh, which this Python does not have; install the extra muphy_lb[view]"
        )
    found = version("bokeh")
    if tuple(map(int, found.split(".")[:2])) >= FIRST_OTHER_BOKEH:
        raise InputError(
            f"--view needs bokeh before {'.'.join(map(str, FIRST_OTHER_BOKEH))}, and this Python has {found}; install"
            " the extra muphy_lb[view]"
        )
    if not isinstance(port, int) or not 0 <= port < 1 << 16:
        raise InputError(f"--view: the port is {port!r}; allowed: whole numbers from 0, for any free one, to 65535")
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Of its connections, too: the small parts of a message would wait for the browser's delayed acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listener.bind((LOOPBACK, port))
        listener.listen(N_WAITING)
    except OSError as error:
        listener.close()
        raise InputError(
            f"--view: port {port} of {LOOPBACK} is not available ({error.strerror}); give another one, or none for a"
            " free one"
        ) from error
    return ServerSocket(listener, secrets.token_urlsafe(TOKEN_BYTES))


class PageProcess:
    """The process of a page, as the run sees it: nothing that happens to it holds up or ends the run. ``server``: where
    the page is; the process takes it over."""

    def __init__(self, server: ServerSocket, description: Description):
        self._description = description
        ours, theirs = socket.socketpair()
        handed = (server.listener.fileno(), theirs.fileno())
        self._process = subprocess.Popen(
            python("muphy_lb.view.server", *map(str, handed)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=handed,
            env=_environment(),
        )
        server.listener.close()
        theirs.close()
        self._line = Connection(ours.detach())
        # The secret goes through the line: all users of a machine see the arguments of its processes.
        self._outgoing: list = [server.token, description]
        self._is_sending, self._wake = False, threading.Condition()
        self.is_there = True
        threading.Thread(target=self._send_all, name="live view", daemon=True).start()

    @property
    def is_idle(self) -> bool:
        """Whether the process has taken all pictures that were sent to it."""
        return not self._is_sending and not any(isinstance(each, Picture) for each in self._outgoing)

    def send(self, *messages) -> None:
        """Hand over messages; returns at once. An update takes the place of those that are not sent yet, unless
        openings were measured there; a picture that of those of the same demand."""
        is_told = any(isinstance(each, Update) for each in messages)
        shown = {each.demand for each in messages if isinstance(each, Picture)}

        def is_kept(message) -> bool:
            if isinstance(message, Update):
                return not is_told or bool(message.openings)
            return not isinstance(message, Picture) or message.demand not in shown

        with self._wake:
            self._outgoing = [*filter(is_kept, self._outgoing), *messages]
            self._wake.notify()

    def describe(self, description: Description) -> None:
        """Send the description of another flow, which is watched from now on."""
        self._description = description
        self.send(description)

    def answers(self, wait_s: float = 0.0) -> list[Answer]:
        """The answers of the page since the last call. ``wait_s``: how long to wait for the first one [s]."""
        found: list[Answer] = []
        try:
            while self.is_there and len(found) < MOST_ANSWERS and self._line.poll(0.0 if found else wait_s):
                found.append(Answer.from_bytes(self._line.recv_bytes(), self._description))
        except (EOFError, OSError, ValueError):
            self.is_there = False
        return found

    def close(self) -> None:
        """End the process, once it has taken what was sent."""
        self.send(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE_S)
        self._process.kill()
        self._process.wait()

    def _send_all(self) -> None:
        try:
            while True:
                with self._wake:
                    self._wake.wait_for(lambda: self._outgoing)
                    messages, self._outgoing, self._is_sending = self._outgoing, [], True
                for message in messages:
                    self._line.send(message)
                self._is_sending = False
                if messages[-1] is None:
                    return
                time.sleep(BETWEEN_S)
        except (OSError, ValueError):
            self.is_there = False


def _environment() -> dict[str, str]:
    """Variables of the process: it is no rank, and finds these packages wherever they are."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith((*RANK_VARIABLES, "BOKEH_"))}
    threads = {"NUMBA_NUM_THREADS": THREADS, "OMP_NUM_THREADS": THREADS}
    # Threads that have drawn their part would use up the time of those that have not, and of the run, while they wait.
    return variables(kept) | {"OMP_WAIT_POLICY": "PASSIVE", **threads}
