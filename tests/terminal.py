"""Commands whose output is a pseudo-terminal."""

import fcntl
import os
import pty
import struct
import subprocess
import termios

N_ROWS = 40


def shown_on_terminal(command, environment, n_columns: int = 100) -> tuple[int, str]:
    """Exit code of a command, and what it writes to a terminal of this width."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", N_ROWS, n_columns, 0, 0))
    with subprocess.Popen(command, stdout=end, stderr=end, env=environment) as process:
        os.close(end)
        pieces = []
        while piece := _read(terminal):
            pieces.append(piece)
    os.close(terminal)
    return process.returncode, b"".join(pieces).decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux tells that the other end is closed
        return b""
