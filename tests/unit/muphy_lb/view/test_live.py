"""A run that is looked at: its bits, and what those who look on may ask for."""

import gc
import math
import threading
import weakref
from concurrent.futures import Future

import h5py
import numpy as np
import pytest

from muphy_lb.case.case import load_case
from muphy_lb.measure.monitor import ASKED_TO_STOP, Monitor, Request, RunStatus
from muphy_lb.run import loop
from muphy_lb.run.changes import changed, changed_case
from muphy_lb.run.loop import COMPLETED, Run
from muphy_lb.run.simulation import Simulation
from muphy_lb.run.solver import Solver
from muphy_lb.view import live, pace, wall
from muphy_lb.view.live import LiveView
from muphy_lb.view.messages import (
    BODY,
    CHANGE,
    CUT,
    ENDED,
    PAUSED,
    WAITING,
    Answer,
    Demand,
    Description,
    Picture,
    Update,
)
from muphy_lb.view.page import PageProcess, ServerSocket
from muphy_lb.view.shown import WALL_SHEAR
from tests.vessel import vessel

N_STEPS = 60
EACH = {"compute": {"backend": "numpy"}, "run": {"steps": N_STEPS}}
DEMANDS = (Demand("speed", BODY), Demand("pressure", CUT, 0, 18), Demand(WALL_SHEAR, BODY))
NOBODY, GREEDY = Answer(0), Answer(1, DEMANDS, DEMANDS)
MANY = 10_000
UPDATES = ((1, {}), (2, {"inlet": (1.0, 2.0)}), (3, {}))  # steps, and openings that were measured there


class ScriptedPage:
    """Stands for the process of a page: gives the answers of a script, one a look, and keeps what it is sent."""

    script: tuple = ()
    is_there = is_idle = True

    def __init__(self, server, description):
        self.left, self.sent, self.description = list(self.script), [], description

    def answers(self, wait_s=0.0):
        answer = self.left.pop(0) if self.left else NOBODY
        if answer is None:
            self.is_there = False
            return []
        return [answer]

    def send(self, *messages):
        self.sent += messages

    describe = send

    def close(self):
        self.sent.append(None)

    def of(self, kind):
        return [message for message in self.sent if isinstance(message, kind)]


def finished(function, *arguments):
    """In place of a function that runs beside the steps: it has run."""
    future = Future()
    future.set_result(function(*arguments))
    return future


@pytest.fixture
def shown(monkeypatch):
    """Function: a simulation that is looked at at every step by a page with a script, and the page."""

    def make(*script):
        page = type("Page", (ScriptedPage,), {"script": script})
        monkeypatch.setattr(live, "PageProcess", page)
        monkeypatch.setattr(wall, "started", finished)
        monkeypatch.setattr(live.Pace, "leave", lambda self, is_watched: 1)
        monkeypatch.setattr(live.Pace, "has_picture", lambda self, is_new=False: True)
        monkeypatch.setattr(ServerSocket, "url", "http://nowhere")
        monkeypatch.setattr(ServerSocket, "directions", lambda self: "")
        simulation = Solver(vessel(**EACH))
        view = LiveView(simulation, ServerSocket(None, "secret"), keeps_checkpoints=True)
        return simulation, view._page

    return make


@pytest.fixture(scope="module")
def unwatched(tmp_path_factory):
    """Populations at the end of a run that nobody looks at."""
    simulation = Solver(vessel(**EACH))
    Run(simulation, tmp_path_factory.mktemp("unwatched")).execute()
    return simulation.engine.populations()


def command(word):
    return Answer(1, DEMANDS, DEMANDS, word)


def steps(page):
    return [update.step for update in page.of(Update)]


def test_bits_are_the_same_whoever_looks_on_and_the_last_step_is_shown(shown, unwatched, tmp_path):
    simulation, page = shown(*[GREEDY] * MANY)
    assert Run(simulation, tmp_path).execute()[0] == COMPLETED
    assert len(page.of(Picture)) >= 2 * N_STEPS
    assert np.array_equal(simulation.engine.populations(), unwatched)
    last = [type(message) for message in page.sent[-1 - len(DEMANDS) :]]
    assert last == [Update] + [Picture] * len(DEMANDS) and page.of(Update)[-1].step == N_STEPS


def test_without_viewers_nothing_is_collected(shown, tmp_path, monkeypatch):
    simulation, page = shown()
    monkeypatch.setattr(live.Gathering, "picture", lambda *_: pytest.fail("a picture for nobody"))
    Run(simulation, tmp_path).execute()
    assert not page.of(Picture) and not any(update.openings for update in page.of(Update))


def test_a_pause_makes_no_steps_until_it_ends(shown, unwatched, tmp_path):
    simulation, page = shown(GREEDY, command("pause"), *[GREEDY] * 5, command("go on"))
    Run(simulation, tmp_path).execute()
    paused = [update.step for update in page.of(Update) if update.state == PAUSED]
    assert paused == [2] * 6
    assert np.array_equal(simulation.engine.populations(), unwatched)


def test_a_pause_ends_after_the_last_viewer_has_left(shown, unwatched, tmp_path, monkeypatch, caplog):
    """And the log says all of it."""
    caplog.set_level("INFO")
    monkeypatch.setattr(pace, "ALONE_S", 0.0)
    monkeypatch.setattr(pace, "REMINDER_S", 0.0)
    simulation, page = shown(GREEDY, command("pause"), GREEDY, NOBODY)
    assert Run(simulation, tmp_path).execute()[0] == COMPLETED
    assert [update.step for update in page.of(Update) if update.state == PAUSED] == [2, 2]
    said = [line for line in caplog.messages if "paused" in line]
    assert said[0].startswith("paused by a viewer at step 2; goes on when a viewer asks for it, or 0 s after")
    assert said[1].startswith("paused by a viewer at step 2 for") and said[1].endswith("1 viewer")
    assert said[2:] == ["goes on from step 2: the last viewer has left it paused"]
    assert np.array_equal(simulation.engine.populations(), unwatched)


def test_a_pause_outlasts_a_page_that_is_loaded_anew_and_is_told_once_a_minute(caplog):
    caplog.set_level("INFO")
    now = 0.0
    held = pace.Pause(lambda: now)
    held.hear(["pause"], 5, 1)
    for seconds, n_viewers in ((30, 0), (50, 0), (61, 1), (80, 1), (130, 0), (185, 0)):
        now = seconds
        held.hear([], 5, n_viewers)
        assert held.is_on
    assert [line.split(",")[-1] for line in caplog.messages[1:]] == [" 1 viewer", " no viewers"]
    now = 190
    held.hear([], 5, 0)
    assert not held.is_on and caplog.messages[-1].startswith("goes on")


@pytest.mark.parametrize("is_seen", [True, False])
def test_the_secret_address_is_printed_on_terminals_alone(shown, monkeypatch, tmp_path, is_seen):
    """Else a file says it that nobody else can read."""
    simulation, _ = shown()
    monkeypatch.setattr(live, "is_seen", lambda: is_seen)
    monkeypatch.setattr(ServerSocket, "directions", lambda self: f"live view: somewhere/{self.token}")
    said, address = [], tmp_path / live.ADDRESS_FILE
    with live.shown(simulation, ServerSocket(None, "secret"), said.append, tmp_path):
        assert ("somewhere/secret" in said[0]) == is_seen != address.exists()
        if not is_seen:
            assert str(address) in said[0] and address.stat().st_mode & 0o777 == 0o600
            assert address.read_text() == "live view: somewhere/secret\n"
    assert not address.exists()


def test_a_step_in_a_pause_is_one_step(shown, tmp_path):
    simulation, page = shown(command("pause"), command("step"), GREEDY, command("step"), GREEDY, command("go on"))
    Run(simulation, tmp_path).execute()
    assert steps(page)[:6] == [1, 1, 2, 2, 3, 3]


def test_stop_ends_the_run_with_its_results(shown, tmp_path):
    simulation, page = shown(GREEDY, GREEDY, command("stop"))
    reason, summary = Run(simulation, tmp_path).execute()
    assert (reason, summary["steps"], summary["ended"]) == (ASKED_TO_STOP, 3, ASKED_TO_STOP)
    assert (tmp_path / "summary.json").exists() and list((tmp_path / "checkpoints").glob("*.h5"))
    assert page.of(Update)[-1].state == f"{ENDED}: stopped by {ASKED_TO_STOP}"


def test_a_checkpoint_is_written_where_it_is_asked_for(shown, tmp_path):
    simulation, _ = shown(*[GREEDY] * 6, command("checkpoint"))
    Run(simulation, tmp_path).execute()
    path, _ = sorted((tmp_path / "checkpoints").glob("*.h5"))  # the second one is that of the end
    with h5py.File(path) as file:
        assert file.attrs["step"] == 7


def test_a_stop_file_ends_a_pause(shown, tmp_path):
    simulation, _ = shown(command("pause"), *[GREEDY] * MANY)
    run = Run(simulation, tmp_path)
    (tmp_path / "STOP").touch()
    assert run.execute()[0] == "STOP file"
    assert simulation.step_number == 1


def test_a_page_that_dies_in_a_pause_ends_the_pause_alone(shown, unwatched, tmp_path, caplog):
    simulation, _ = shown(GREEDY, command("pause"), GREEDY, None)
    assert Run(simulation, tmp_path).execute()[0] == COMPLETED
    assert np.array_equal(simulation.engine.populations(), unwatched)
    assert "the run goes on without it" in caplog.text


def test_steps_in_python_are_looked_at_too(shown):
    simulation, page = shown(*[GREEDY] * 5, command("stop"))
    simulation.step(20)
    assert simulation.step_number == 6 and len(page.of(Picture)) == 6 * len(DEMANDS)
    assert page.of(Update)[-1].state == WAITING


def test_after_the_steps_that_were_asked_for_the_last_is_shown(shown):
    simulation, page = shown(*[GREEDY] * MANY)
    simulation.monitor.next_step = 100
    simulation.step(7)
    assert (page.of(Update)[-1].step, page.of(Update)[-1].state) == (7, WAITING)
    assert len(page.of(Picture)) == len(DEMANDS)


def test_the_view_goes_on_after_a_change_and_keeps_nothing_of_the_engine_before(shown):
    simulation, page = shown(*[GREEDY] * MANY)
    simulation.step(3)
    before = weakref.ref(simulation.engine)
    simulation = changed(simulation, {"fluid.kinematic_viscosity_m2_s": 5e-5})
    gc.collect()
    assert before() is None
    seen = len(page.of(Picture))
    simulation.step(2)
    assert steps(page)[-1] == 5 and len(page.of(Picture)) > seen
    picture = next(each for each in reversed(page.of(Picture)) if each.demand == DEMANDS[0])
    fastest = np.linalg.norm(simulation.velocity_m_s(), axis=1).max()
    assert picture.values.max() == pytest.approx(fastest, rel=1e-5)


def test_a_view_that_is_closed_leaves_the_next_one_alone_and_keeps_no_simulation(shown):
    simulation, page = shown(*[GREEDY] * MANY)
    first = simulation.monitor
    second = LiveView(simulation, ServerSocket(None, "secret"))
    first.close()
    assert simulation.monitor is second
    second.close()
    second.close()
    assert page.sent.count(None) == second._page.sent.count(None) == 1
    engine = weakref.ref(simulation.engine)
    del simulation
    gc.collect()
    assert engine() is None


def test_fields_that_come_with_a_change_are_offered(shown):
    simulation, page = shown(*[GREEDY] * MANY)
    assert "dissipation" not in page.description.units
    changed(simulation, {"dissipation": {}})
    assert page.of(Description)[-1].units["dissipation"] == "W/m3"


def test_what_is_newly_asked_for_comes_before_what_is_watched():
    coordinator = live.Coordinator(ScriptedPage(None, None), 0)
    coordinator.pace.has_picture = lambda is_new=False: is_new
    coordinator._page.left = [Answer(1, DEMANDS[:1], DEMANDS[:1]), Answer(1, DEMANDS[1:2], following=DEMANDS[:1])]
    assert coordinator.order(1).demands == DEMANDS[:1]
    assert coordinator.order(2).demands == DEMANDS[1:2]


def test_what_viewers_have_is_taken_again_at_another_step_alone():
    """They ask for it ahead, so that none waits for a message from the page."""
    coordinator = live.Coordinator(ScriptedPage(None, None), 0)
    coordinator.pace.has_picture = lambda is_new=False: True
    following = Answer(1, (), DEMANDS, following=DEMANDS[:1])
    coordinator._page.left = [Answer(1, DEMANDS[:1], DEMANDS), following]
    assert [coordinator.order(1).demands for _ in range(2)] == [DEMANDS[:1], ()]
    coordinator._page.answers = lambda wait_s=0.0: []  # as in a pause, when a viewer has asked for a step
    assert [coordinator.order(2).demands for _ in range(2)] == [DEMANDS[:1], ()]


def test_an_update_takes_the_place_of_one_that_is_not_sent_yet():
    """But none in which openings were measured, which the curves show."""
    page = PageProcess.__new__(PageProcess)
    page._wake, page._outgoing = threading.Condition(), []
    first, measured, last = (Update(step, 0.0, RunStatus(9), 0.0, PAUSED, found) for step, found in UPDATES)
    before, picture, other = (Picture(demand, (1, 1, 1), None, None) for demand in (*DEMANDS[:1] * 2, DEMANDS[1]))
    for messages in ((first, before), (measured, other), (last, picture), (None,)):
        page.send(*messages)
    assert page._outgoing == [measured, other, last, picture, None]


INFLOW, VISCOSITY = "openings.inlet.velocity_m_s", "fluid.kinematic_viscosity_m2_s"


def change(key, *numbers):
    """The answer of a viewer who sets a value."""
    return Answer(1, (), (), CHANGE, key, numbers)


def test_a_viewer_changes_the_inflow_of_a_run_and_the_log_says_so(shown, tmp_path, caplog):
    caplog.set_level("INFO")
    simulation, page = shown(NOBODY, change(INFLOW, 0.01), NOBODY)
    assert page.description.changeable[INFLOW] == (0.02,)
    Run(simulation, tmp_path).execute()
    assert simulation.case.openings[0].velocity_m_s == 0.01
    assert f"step 2: a viewer has set {INFLOW} = 0.01" in caplog.text
    assert load_case(tmp_path / "case.toml").openings[0].velocity_m_s == 0.01
    assert any(update.told == f"set: {INFLOW} = 0.01" for update in page.of(Update))


def test_what_cannot_be_is_refused_and_the_run_goes_on(shown, unwatched, tmp_path, caplog):
    simulation, page = shown(change(VISCOSITY, -5e-5), command("go back"))
    run = Run(simulation, tmp_path)
    assert run.execute()[0] == COMPLETED
    assert "a viewer's change is refused" in caplog.text and "a viewer's return is refused" in caplog.text
    assert any("kinematic_viscosity_m2_s" in update.told for update in page.of(Update))
    assert any("no checkpoint to go back to; write one first" in update.told for update in page.of(Update))
    assert run.simulation is simulation and simulation.case.fluid.kinematic_viscosity_m2_s == 4e-5
    assert np.array_equal(simulation.engine.populations(), unwatched)


def test_a_viewer_goes_back_to_the_last_checkpoint(shown, unwatched, tmp_path, caplog):
    """And all that the run writes is what it is without that."""
    caplog.set_level("INFO")
    simulation, page = shown(*[GREEDY] * 11, command("checkpoint"), *[GREEDY] * 17, command("go back"), GREEDY)
    run = Run(simulation, tmp_path / "watched")
    assert run.execute()[0] == COMPLETED
    assert steps(page)[28:31] == [29, 30, 13] and "step 30: a viewer has gone back to step 12" in caplog.text
    assert any(update.told == "back at step 12" for update in page.of(Update))
    assert np.array_equal(run.simulation.engine.populations(), unwatched)
    Run(Solver(vessel(**EACH)), tmp_path / "unwatched").execute()
    series, expected = (sorted((tmp_path / name).glob("*.csv")) for name in ("watched", "unwatched"))
    assert [path.name for path in series] == [path.name for path in expected] != []
    assert [path.read_text() for path in series] == [path.read_text() for path in expected]


def test_another_viscosity_is_what_a_resumed_run_makes_of_it(shown, tmp_path):
    simulation, page = shown(*[GREEDY] * 11, change(VISCOSITY, 5e-5), GREEDY)
    engine, run = weakref.ref(simulation.engine), Run(simulation, tmp_path / "watched")
    del simulation
    assert run.execute()[0] == COMPLETED
    gc.collect()
    assert engine() is None and any(update.told == f"set: {VISCOSITY} = 5e-05" for update in page.of(Update))
    first = Solver(vessel(**EACH | {"run": {"steps": 12}}))
    Run(first, tmp_path / "resumed").execute()
    case = changed_case(first, {VISCOSITY: 5e-5, "run.steps": N_STEPS})
    again = Solver(case)
    Run(again, tmp_path / "resumed", resume=True).execute()
    assert np.array_equal(run.simulation.engine.populations(), again.engine.populations())
    assert load_case(tmp_path / "watched" / "case.toml").fluid.kinematic_viscosity_m2_s == 5e-5


def test_steps_in_python_take_every_change(shown):
    simulation, page = shown(NOBODY, change(VISCOSITY, 5e-5))
    owner = Simulation.__new__(Simulation)
    owner._begin(simulation)
    owner.step(4)
    assert owner.case.fluid.kinematic_viscosity_m2_s == 5e-5 and owner.step_number == 4
    assert owner.core is not simulation and owner.core.monitor.told == f"set: {VISCOSITY} = 5e-05"


def numbers_written(communicator, folder) -> list[int]:
    """How many texts each rank writes in a run whose viewer sets the inflow, on rank 0."""

    class Asking(Monitor):
        next_step = 2

        def look(self, status):
            self.next_step = math.inf
            return Request(changes=((INFLOW, 0.01),))

    write, written = loop.write_text, []
    simulation = Solver(vessel(**EACH), communicator)
    simulation.monitor = Asking()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "write_text", lambda *given: (written.append(given), write(*given)))
        Run(simulation, folder).execute()
    return communicator.gather(len(written))


@pytest.mark.mpi
def test_the_changed_case_is_written_by_one_rank(on_ranks, tmp_path):
    assert on_ranks(2, numbers_written, tmp_path) == [2, 0]
    assert load_case(tmp_path / "case.toml").openings[0].velocity_m_s == 0.01


def test_two_changes_of_one_look_are_both_heard_in_order():
    page = ScriptedPage(None, None)
    page.answers = lambda wait_s: [change("add_drop", 1.0, 2.0), change(INFLOW, 0.01), change("add_drop", 3.0, 4.0)]
    found = live.Coordinator(page, 0).order(1).request.changes
    assert list(found) == [("add_drop", [1.0, 2.0]), (INFLOW, 0.01), ("add_drop", [3.0, 4.0])]
