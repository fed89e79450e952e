"""The process of a page: ``python -m muphy_lb.view.server LISTENER LINE``. Rank 0 starts it, and sends it the secret.
It serves one page to a few browsers, below an address with a secret in it, to nobody else, and nothing but this page
and the scripts that draw it. Messages of browsers end here: the run gets an :class:`~muphy_lb.view.messages.Answer`."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import threading
import warnings
from functools import partial
from multiprocessing.connection import Connection

from bokeh.application import Application
from bokeh.application.handlers import FunctionHandler
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop

from muphy_lb.parallel.watchdog import STOP_SIGNALS
from muphy_lb.view.page import LOOPBACK, PAGE
from muphy_lb.view.renderer import Renderer

NICENESS = 5
MOST_BYTES = 1 << 16  # of a request or a message from a browser
MOST_BUFFERED = 1 << 22
IDLE_S = 60
UNUSED_MS = 2000  # A session without a browser is forgotten after this time
LAST_WORDS_S = 1.0


async def serve(listener: socket.socket, line: Connection, token: str) -> None:
    """Serve the page until the run closes the line."""
    loop, ended = IOLoop.current(), asyncio.Event()
    renderer = Renderer(line)
    receive = partial(_receive, line, loop, renderer, ended)
    threading.Thread(target=receive, daemon=True).start()
    page = Application(FunctionHandler(renderer.open_page, trap_exceptions=True))
    port = listener.getsockname()[1]
    tornado = BokehTornado(
        {f"/{PAGE}": page},
        prefix=f"/{token}",
        extra_websocket_origins=[f"{LOOPBACK}:{port}", f"localhost:{port}"],
        use_index=False,
        ico_path="none",
        redirect_root=False,
        websocket_max_message_size_bytes=MOST_BYTES,
        websocket_compression_level=1,
        unused_session_lifetime_milliseconds=UNUSED_MS,
        check_unused_sessions_milliseconds=UNUSED_MS // 2,
    )
    http = HTTPServer(tornado, max_body_size=MOST_BYTES, max_buffer_size=MOST_BUFFERED, idle_connection_timeout=IDLE_S)
    listener.setblocking(False)
    http.add_socket(listener)
    server = BaseServer(loop, tornado, http)
    server.start()
    await ended.wait()
    renderer.show_end()
    await asyncio.sleep(LAST_WORDS_S)


def _receive(line: Connection, loop: IOLoop, renderer: Renderer, ended: asyncio.Event) -> None:
    try:
        while (message := line.recv()) is not None:
            loop.add_callback(renderer.take, message)
    except (EOFError, OSError):
        pass
    loop.add_callback(ended.set)


def main(arguments: list[str]) -> None:
    """Serve with the file descriptors that are given."""
    for number in STOP_SIGNALS:  # meant for the run
        signal.signal(number, signal.SIG_IGN)
    logging.disable(logging.CRITICAL)  # whatever connects could otherwise fill the terminal of the run
    warnings.simplefilter("ignore")  # and so could what bokeh says of pages
    os.nice(NICENESS)
    os.sched_setaffinity(0, range(os.cpu_count() or 1))  # a launcher may have bound the rank to a core, which it needs
    gc.freeze()  # with every page that is closed all objects are looked at; those of the libraries need not be
    listener, line = socket.socket(fileno=int(arguments[0])), Connection(int(arguments[1]))
    asyncio.run(serve(listener, line, token=line.recv()))


if __name__ == "__main__":
    main(sys.argv[1:])
