"""Work beside a run: in order, and no failure is lost."""

import threading

import pytest

from muphy_lb.base.errors import OutputError
from muphy_lb.output import beside
from muphy_lb.output.beside import Beside
from muphy_lb.run.loop import COMPLETED, Run
from tests.channel import periodic_channel, simulate


def refuse():
    raise OutputError("the disk is full")


def test_works_are_done_in_order_in_another_thread():
    done, works = [], Beside()
    for number in range(5):
        works.do(lambda number=number: done.append((number, threading.current_thread())))
    works.wait()
    assert [number for number, _ in done] == list(range(5))
    assert {thread for _, thread in done} != {threading.main_thread()} and len({thread for _, thread in done}) == 1


def test_a_failure_is_raised_once_behind_it():
    works = Beside()
    works.do(refuse)
    with pytest.raises(OutputError, match="the disk is full"):
        works.wait()
    works.wait()


def test_all_are_done_before_the_first_of_several_failures_is_raised():
    works, gate, done = Beside(), threading.Event(), []

    def fail_late():
        done.append("late")
        raise OSError("a later failure")

    works.do(lambda: gate.wait() and refuse())
    works.do(fail_late)
    threading.Timer(0.1, gate.set).start()
    with pytest.raises(OutputError, match="the disk is full"):
        works.wait()
    assert done == ["late"]
    works.wait()


def test_a_failure_of_any_kind_leaves_the_folder_to_others(tmp_path):
    def fail():
        raise ValueError("of a thread")

    run = Run(simulate(periodic_channel(), 0), tmp_path)
    run.observers[0].wait = fail
    with pytest.raises(ValueError, match="of a thread"):
        run.execute()
    assert Run(simulate(periodic_channel(), 0), tmp_path).execute()[0] == COMPLETED


def test_no_more_wait_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(beside, "MOST_WAITING", 2)
    works, gate, done = Beside(), threading.Event(), []
    works.do(gate.wait)
    works.do(lambda: done.append(1))
    threading.Timer(0.1, gate.set).start()
    works.do(lambda: done.append(2))
    assert gate.is_set()
    works.wait()
    assert done == [1, 2]
