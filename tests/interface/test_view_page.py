"""The page of a run: who may see it, what it shows, and what becomes of those who misuse it."""

import http.client
import os
import signal
import socket
import time
from collections import deque
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.measure.monitor import RunStatus
from muphy_lb.run.solver import Solver
from muphy_lb.view.gathering import Gathering, describe
from muphy_lb.view.messages import BODY, WAITING, Answer, Demand, Update
from muphy_lb.view.page import LOOPBACK, PageProcess, open_socket
from muphy_lb.view.style import FRAME
from tests.vessel import vessel
from tests.waiting import PATIENCE_S, wait_for

client = pytest.importorskip("bokeh.client", reason="bokeh is not installed; pip install 'muphy_lb[view]'")
N_MALFORMED = 1000
MALFORMED = (
    b"\x00\xff" * 200,
    b"GET",
    b"GET /%s/run HTTP/9.9\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
)


class Shown:
    """A page, the values that it may show, and how it is spoken to.

    Attributes:
        n_viewers: how many of the tests' viewers look on.
    """

    def __init__(self):
        simulation = Solver(vessel(compute={"backend": "numpy"}))
        simulation.step(5)
        gathering = Gathering(simulation)
        self.description = description = describe(simulation, gathering)
        self.picture = gathering.picture(Demand("speed", BODY))
        server = open_socket(0)
        self.port, self.token, self.url = server.port, server.token, server.url
        self.page = PageProcess(server, description)
        self.n_viewers, self._standing, self._unread = 0, Answer(0), deque[Answer]()
        self.tell(1)

    def close(self):
        self.page.close()

    def tell(self, step, state="running"):
        self.page.send(Update(step, 0.1 * step, RunStatus(100), 10.0, state, {}, True))

    def get(self, path, headers=None):
        """Status and body of a request."""
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=PATIENCE_S)
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def upgrade(self, path, origin):
        """Status of a request for a websocket from an origin."""
        key = {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version": "13"}
        return self.get(path, key | {"Upgrade": "websocket", "Connection": "Upgrade", "Origin": origin})[0]

    @contextmanager
    def viewer(self):
        """The document of a viewer whom the page counts from the beginning to the end, whatever happens between."""
        session = self._ready_session()
        self.n_viewers += 1
        try:
            fire(session, "document_ready")
            self.answer(lambda answer: answer.viewers == self.n_viewers)
            yield session
        finally:
            session.close()
            self.n_viewers -= 1
            self.answer(lambda answer: answer.viewers == self.n_viewers)

    def _ready_session(self):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            session = client.pull_session(url=self.url)
            if len(session.document.roots[0].references()) > 20:
                return session
            session.close()
            time.sleep(0.3)
        raise TimeoutError("the page is never ready")

    def answer(self, wanted):
        """The answer that stands, or the first after it, for which ``wanted`` is true; it stands from then on."""
        deadline = time.monotonic() + PATIENCE_S
        while not wanted(self._standing):
            if time.monotonic() > deadline:
                raise TimeoutError(f"the page never answers so; it stands at {self._standing}")
            if self._unread:
                self._standing = self._unread.popleft()
            else:
                self._unread.extend(self.page.answers(1.0))
        return self._standing


def fire(session, name, model=None):
    """Send an event as a browser does."""
    from bokeh.document.events import MessageSentEvent
    from bokeh.events import ButtonClick, DocumentReady

    event = DocumentReady() if model is None else ButtonClick(model)
    assert event.event_name == name
    session.document.callbacks.trigger_on_change(MessageSentEvent(session.document, "bokeh_event", event))
    session.force_roundtrip()  # what was sent before has then arrived


def models(session, kind):
    return [model for model in session.document.models if type(model).__name__ == kind]


@contextmanager
def as_it_is(shown, session):
    """The document of a viewer as the page has it now, through a connection of its own."""
    with closing(client.pull_session(session_id=session.id, url=shown.url)) as again:
        yield again
        again.force_roundtrip()


def models_now(shown, session, kind):
    with as_it_is(shown, session) as page:
        return models(page, kind)


def number_of(shown, session):
    """Number of the picture that a viewer has before them."""
    with as_it_is(shown, session) as page:
        return max([0, *(n for each in models(page, "ColumnDataSource") for n in each.data.get("number", []))])


def send_first(shown, session):
    """Send a picture to a viewer who has asked for it."""
    shown.answer(lambda answer: answer.viewers == 1 and answer.demands)
    shown.page.send(shown.picture)
    wait_for(lambda: number_of(shown, session) == 1)


def acknowledge(page):
    """Tell the page that the first picture is drawn."""
    (drawn,) = (each for each in models(page, "ColumnDataSource") if list(each.data) == ["number"])
    drawn.data = {"number": [1]}


def image_on(page):
    """The image that is drawn."""
    (source,) = (each for each in models(page, "ColumnDataSource") if set(each.data) == {"image", "number"})
    return np.array(source.data["image"][0])


def field_of(shown, session, choice=None):
    """The fields that are offered to a viewer, and the one that is chosen; or choose another one."""
    with as_it_is(shown, session) as page:
        (select,) = models(page, "Select")
        select.value = choice or select.value
        return select.options, select.value


def button(session, label):
    return next(model for model in models(session, "Button") if model.label == label)


@pytest.fixture(scope="module")
def shown():
    with closing(Shown()) as found:
        yield found


def test_nothing_is_shown_without_the_token(shown):
    paths = (
        "/",
        "/run",
        "/x/run",
        f"/{shown.token[:-1]}/run",
        "/static/js/bokeh.min.js",
        "/run/autoload.js",
        "/favicon.ico",
    )
    assert [shown.get(path)[0] for path in paths] == [404] * len(paths)
    assert shown.get(f"/{shown.token}/run")[0] == 200


@pytest.mark.parametrize(
    "path",
    ["/../../etc/passwd", "/static/../../../../etc/passwd", "/static/%2e%2e/%2e%2e/__init__.py", "/static//etc/passwd"],
)
def test_nothing_of_the_file_system_is_shown(shown, path):
    assert shown.get(f"/{shown.token}{path}")[0] in (400, 403, 404)


def test_the_token_stands_in_the_arguments_of_no_process(shown):
    arguments = Path(f"/proc/{shown.page._process.pid}/cmdline")
    if not arguments.exists():
        pytest.skip("no /proc here")
    assert b"muphy_lb.view.server" in (given := arguments.read_bytes()) and shown.token.encode() not in given


def test_another_origin_gets_no_connection(shown):
    path = f"/{shown.token}/run/ws"
    assert shown.upgrade(path, "http://evil.example") == 403
    assert shown.upgrade(path, "http://127.0.0.1:1") == 403
    assert shown.upgrade("/run/ws", f"http://{LOOPBACK}:{shown.port}") == 404


def test_the_page_is_there_for_this_machine_alone():
    server = open_socket(0)
    assert server.listener.getsockname()[0] == LOOPBACK
    server.listener.close()


def test_the_picture_comes_first_and_fits_on_a_small_screen(shown):
    """Controls and curves wrap below it where the window is narrow."""
    with shown.viewer() as session:
        (root,) = session.document.roots
        assert root.styles == {"flex-wrap": "wrap"}
        first = root.children[0].references()
        assert {type(each).__name__ for each in first} & {"Figure", "figure"} and not {
            type(each).__name__ for each in first
        } & {"Button", "Select"}
        assert FRAME[0] <= 680 and FRAME[1] <= 520  # beside title, axes and the bar of colours in 800 x 600


def test_the_page_needs_no_other_machine(shown):
    body = shown.get(f"/{shown.token}/run")[1].decode()
    assert "https://" not in body and "cdn" not in body


def test_viewers_get_what_they_ask_for_and_command_the_run(shown):
    with shown.viewer() as first, shown.viewer():
        answer = shown.answer(lambda answer: answer.viewers == 2 and answer.demands)
        assert answer.demands == (shown.picture.demand,)
        fire(first, "button_click", button(first, "Pause"))
        assert shown.answer(lambda answer: answer.command).command == "pause"


def test_a_return_to_the_last_checkpoint_asks_twice(shown):
    with shown.viewer() as session:
        fire(session, "button_click", button(session, "Go back to the last checkpoint"))
        wait_for(lambda: any(model.label == "Press again to go back" for model in models_now(shown, session, "Button")))
        fire(session, "button_click", button(session, "Go back to the last checkpoint"))
        assert shown.answer(lambda answer: answer.command).command == "go back"


def test_a_viewer_gives_a_value_of_the_case_another_number(shown):
    key = "openings.inlet.velocity_m_s"
    with shown.viewer() as session:
        (value,) = (each for each in models(session, "TextInput") if each.title == key)
        assert value.value == "0.02"
        for text in ("nonsense", "1, 2", "0.01"):
            value.value = text
            session.force_roundtrip()
        answer = shown.answer(lambda answer: answer.command)
        assert (answer.command, answer.key, answer.numbers) == ("change", key, (0.01,))


def test_the_body_force_points_where_the_mouse_has_dragged_it():
    """As large as before, in the plane of the screen."""
    from muphy_lb.view.viewer import Viewer

    said, force = [], (0.0, 3.0, -4.0)
    camera = np.array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0], [0.8, -0.6, 0.0]])
    viewer = Viewer.__new__(Viewer)
    viewer._angle, viewer.demand = object(), Demand("speed", BODY)
    viewer._layout = SimpleNamespace(controls=SimpleNamespace(set_value=lambda *given: said.append(given)))
    viewer._renderer = SimpleNamespace(
        description=SimpleNamespace(changeable={"flow.acceleration_m_s2": force}),
        scene=SimpleNamespace(camera=lambda angle: camera),
        update=Update(1, 0.1, RunStatus(100), 10.0, "running"),
        command=lambda *given: said.append(given[1:]),
    )
    viewer._tilt(30.0, 40.0)
    (key, shown_numbers), (_, numbers) = said
    assert key == "flow.acceleration_m_s2" and shown_numbers == numbers
    np.testing.assert_allclose(numbers, 5.0 * (0.6 * camera[0] + 0.8 * camera[1]))


def test_the_newest_picture_is_shown_although_the_one_before_was_still_on_its_way(shown):
    with shown.viewer() as session:
        send_first(shown, session)
        shown.page.send(shown.picture)
        wait_for(lambda: number_of(shown, session) == 2)  # one may be on its way while the next is drawn
        shown.page.send(shown.picture)
        assert number_of(shown, session) == 2  # none has been acknowledged
        with as_it_is(shown, session) as page:
            acknowledge(page)
        wait_for(lambda: number_of(shown, session) == 3)


def test_a_picture_is_drawn_finely_when_no_steps_have_followed(shown):
    """Nothing but time passes behind the first one."""
    with shown.viewer() as session:
        shown.answer(lambda answer: answer.viewers == 1 and answer.demands)
        shown.tell(2, WAITING)
        shown.page.send(shown.picture)
        wait_for(lambda: number_of(shown, session) == 1)
        wait_for(lambda: number_of(shown, session) == 2)
        with as_it_is(shown, session) as page:
            assert image_on(page).shape[::-1] == FRAME
        shown.tell(1)


def test_an_isosurface_is_drawn_instead_of_the_body(shown):
    """Of the values that are there already: nothing is asked of the run."""
    with shown.viewer() as session:
        send_first(shown, session)
        with as_it_is(shown, session) as page:
            body = image_on(page)
            acknowledge(page)
            (level,) = (each for each in models(page, "Slider") if each.title.startswith("isosurface"))
            level.value = 60
        wait_for(lambda: number_of(shown, session) == 2)
        with as_it_is(shown, session) as page:
            surface = image_on(page)
        assert 0 < np.count_nonzero(surface) < np.count_nonzero(body)


def test_other_fields_are_offered_when_the_run_has_others(shown):
    other = replace(shown.description, units={"speed": "m/s", "height": "m"})
    with shown.viewer() as session:
        shown.page.describe(other)
        wait_for(lambda: field_of(shown, session)[0] == ["speed", "height"])
        field_of(shown, session, "height")
        shown.answer(lambda answer: answer.viewers == 1 and [each.field for each in answer.watched] == ["height"])
        shown.page.describe(shown.description)
        wait_for(lambda: field_of(shown, session)[1] == shown.description.field)


def test_a_viewer_who_sends_rubbish_is_shown_nothing_wrong(shown):
    with shown.viewer() as session:
        (field,), (slider, level), (choice,) = (
            models(session, kind) for kind in ("Select", "Slider", "RadioButtonGroup")
        )
        level.value = float("nan")
        choice.active = 1
        session.force_roundtrip()
        cut = shown.answer(lambda answer: answer.watched and answer.watched[0].place != BODY)
        slider.value = 10**9
        choice.active = 99
        field.value = "speed"
        fire(session, "button_click", button(session, "One step"))
        answer = shown.answer(lambda answer: answer.command)
        assert (answer.command, answer.watched) == ("step", cut.watched)


def test_malformed_requests_change_nothing(shown):
    for number in range(N_MALFORMED):
        with socket.create_connection((LOOPBACK, shown.port), timeout=PATIENCE_S) as connection:
            data = MALFORMED[number % len(MALFORMED)]
            try:
                connection.sendall(data.replace(b"%s", shown.token.encode()))
            except OSError:
                continue  # the page has had enough of it
    assert shown.get(f"/{shown.token}/run")[0] == 200 and shown.page.is_there


def test_a_port_that_is_taken_is_told(shown):
    with pytest.raises(InputError, match=f"port {shown.port} of 127.0.0.1 is not available"):
        open_socket(shown.port)


@pytest.mark.parametrize("port", [-1, 65536, "8080"])
def test_a_port_that_is_none_is_told(port):
    with pytest.raises(InputError, match="allowed: whole numbers from 0"):
        open_socket(port)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("muphy_lb.view.page.find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r"muphy_lb\[view\]"):
        open_socket(0)


def test_a_version_whose_callbacks_run_in_threads_is_refused(monkeypatch):
    monkeypatch.setattr("muphy_lb.view.page.version", lambda _name: "3.10.2")
    with pytest.raises(InputError, match=r"needs bokeh before 3\.10, and this Python has 3\.10\.2; install the extra"):
        open_socket(0)


def test_a_page_that_is_killed_or_stopped_holds_up_nobody():
    with closing(Shown()) as other:
        os.kill(other.page._process.pid, signal.SIGSTOP)
        for step in range(50):
            other.page.send(other.picture, Update(step, 0.0, RunStatus(1), 0.0, "running"))
        assert other.page.answers() == [] or all(isinstance(each, Answer) for each in other.page.answers())
        other.page._process.kill()
        wait_for(lambda: (other.page.answers(0.1), not other.page.is_there)[1])
    assert np.isfinite(other.picture.values).all()
