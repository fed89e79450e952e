"""Every moment of a process belongs to one phase."""

import threading
import time

import pytest

from muphy_lb.base import phases
from muphy_lb.base.phases import DRAWING, IMPORTS, LOOKING, PHASES, STEPPING, Profile, age_of_process, spent_on


@pytest.fixture
def clock(monkeypatch):
    """A profile that begins at 100 s, and the time, in a list of one number."""
    now = [100.0]
    monkeypatch.setattr(phases.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(phases, "PROFILE", Profile(100.0))
    return now


def test_a_phase_inside_another_interrupts_it(clock):
    clock[0] += 2.0
    with spent_on(LOOKING):
        clock[0] += 3.0
        with spent_on(STEPPING):
            clock[0] += 5.0
        clock[0] += 7.0
    clock[0] += 11.0
    expected = {IMPORTS: 13.0, LOOKING: 10.0, STEPPING: 5.0}
    assert phases.PROFILE.seconds() == dict.fromkeys(PHASES, 0.0) | expected
    assert phases.PROFILE.seconds() == phases.PROFILE.seconds()


def test_a_phase_ends_where_it_fails(clock):
    with pytest.raises(ValueError, match="no"), spent_on(LOOKING):
        raise ValueError("no")
    clock[0] += 1.0
    assert phases.PROFILE.seconds()[IMPORTS] == 1.0


def test_other_threads_do_not_count(clock):
    def draw():
        with spent_on(DRAWING):
            clock[0] += 4.0

    thread = threading.Thread(target=draw)
    thread.start()
    thread.join()
    assert phases.PROFILE.seconds() == dict.fromkeys(PHASES, 0.0) | {IMPORTS: 4.0}


def test_a_process_grows_older():
    first = age_of_process()
    time.sleep(0.05)
    assert 0.0 < first < age_of_process()
