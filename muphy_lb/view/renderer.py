"""Renderer: draws pictures of the run for every browser, and passes requests on to the run."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection

from muphy_lb.view.curves import History
from muphy_lb.view.layout import plain_page
from muphy_lb.view.messages import Answer, Description, Picture, Update
from muphy_lb.view.scene import BodyScene
from muphy_lb.view.viewer import Viewer

MOST_VIEWERS = 8
TICK_S = 0.005  # shortest time between two answers [s]


class Renderer:
    """The state that all viewers share.

    Attributes:
        description: what is watched; None until the run has sent it.
        scene: the body of the fluid; None until it is needed, and for flat geometries.
        update: where the run stands.
        history: the curves so far.
    """

    def __init__(self, line: Connection):
        self._line, self._viewers = line, set[Viewer]()
        self._sender, self._artist = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self.description: Description | None = None
        self.scene: BodyScene | None = None
        self.update: Update | None = None
        self.history = History()
        self._is_telling, self._has_changed, self._commands = False, False, list[tuple[str, str, tuple[float, ...]]]()

    async def draw(self, *arguments):
        """Call a function elsewhere, so that browsers are answered meanwhile; its result."""
        return await asyncio.get_running_loop().run_in_executor(self._artist, *arguments)

    def open_page(self, document) -> None:
        """Fill the document of a new browser."""
        if len(self._viewers) >= MOST_VIEWERS:
            return plain_page(document, f"{MOST_VIEWERS} browsers show this page already; close one of them")
        if self.description is None:
            return plain_page(document, "the run is being prepared", is_loaded_again=True)
        viewer = Viewer(document, self)
        document.on_session_destroyed(lambda _context: self._leave(viewer))
        document.on_event("document_ready", lambda _event: self._enter(viewer))
        return None

    async def take(self, message) -> None:
        """Take what the run has sent."""
        if isinstance(message, Description):
            if not message.is_flat:
                self.scene = await self.draw(BodyScene, message)
            if self.description is None:
                self.history = History([opening.name for opening in message.header.openings])
            self.description = message
            for viewer in self._viewers:
                viewer.describe()
            self.tell()
        elif isinstance(message, Update):
            self.update = message
            self.history.add(message)
            for viewer in self._viewers:
                viewer.show_update(message)
        elif isinstance(message, Picture):
            for viewer in self._viewers:
                viewer.receive(message)

    def show_end(self) -> None:
        """The run has gone."""
        for viewer in self._viewers:
            viewer.show_end()

    def command(self, word: str, key: str = "", numbers: tuple[float, ...] = ()) -> None:
        """Hand a command to the run; of a change also what is to be what."""
        self._commands.append((word, key, numbers))
        self.tell()

    def tell(self) -> None:
        """Tell the run what is asked for now, soon."""
        self._has_changed = True
        if not self._is_telling:
            self._is_telling = True
            asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self) -> None:
        while self._has_changed:
            self._has_changed = False
            command = self._commands.pop(0) if self._commands else ("", "", ())
            demands = tuple(dict.fromkeys(viewer.demand for viewer in self._viewers if not viewer.has_picture))
            following = tuple(dict.fromkeys(viewer.demand for viewer in self._viewers if viewer.is_following))
            watched = tuple(dict.fromkeys(viewer.demand for viewer in self._viewers))
            answer = Answer(len(self._viewers), demands, watched, *command, following)
            try:
                await asyncio.get_running_loop().run_in_executor(self._sender, self._line.send_bytes, answer.to_bytes())
            except OSError:  # the run has gone, which the other direction tells as well
                break
            await asyncio.sleep(TICK_S)
            self._has_changed = self._has_changed or bool(self._commands)
        self._is_telling = False

    def _enter(self, viewer: Viewer) -> None:
        self._viewers.add(viewer)
        self.tell()

    def _leave(self, viewer: Viewer) -> None:
        viewer.leave()
        self._viewers.discard(viewer)
        self.tell()
