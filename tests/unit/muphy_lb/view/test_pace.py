"""How often a run is looked at, and what share of its time pictures may take."""

import numpy as np
import pytest

from muphy_lb.view.pace import LARGEST_SHARE, MOST_SAVED_S, PICTURE_S, RESERVED_S, UNWATCHED_S, WATCHED_S, Pace

LOOK_S = 1e-4


class Wall:
    """A clock that is moved by hand."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s


def run(step_s: float, picture_s: float, n_looks: int, is_watched=True):
    """Seconds of a run, seconds of its pictures, their number, and the steps before the last look."""
    wall = Wall()
    pace, step, pictures, stretch = Pace(0, wall), 0, 0, 1
    for _ in range(n_looks):
        step += stretch
        wall.now_s += stretch * step_s
        pace.arrive(step)
        if is_watched and pace.has_picture():
            since_s = wall.now_s
            wall.now_s += picture_s
            pace.picture_taken(since_s, is_paused=False)
            pictures += 1
        wall.now_s += LOOK_S
        stretch = pace.leave(is_watched)
    return wall.now_s, pictures * picture_s, pictures, stretch


@pytest.mark.parametrize("step_s", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("picture_s", [1e-3, 0.05, 2.0])
def test_pictures_take_no_more_than_their_share(step_s, picture_s):
    total_s, of_pictures_s, number, _ = run(step_s, picture_s, 2000)
    assert number > 2
    assert of_pictures_s <= 1.02 * LARGEST_SHARE * total_s + 2 * picture_s


def test_quick_pictures_come_as_often_as_allowed():
    total_s, _, number, _ = run(1e-4, 1e-3, 500)
    assert total_s / number == pytest.approx(PICTURE_S, rel=0.1)


@pytest.mark.parametrize(("is_watched", "between_s"), [(True, WATCHED_S), (False, UNWATCHED_S)])
def test_the_time_between_looks_does_not_depend_on_the_length_of_a_step(is_watched, between_s):
    for step_s in (1e-5, 1e-3):
        assert run(step_s, 1e-3, 40, is_watched)[3] * step_s == pytest.approx(between_s, rel=0.05)


def test_long_steps_are_looked_at_one_by_one():
    assert run(3.0, 1e-3, 5)[3] == 1


def test_what_the_first_picture_of_a_kind_costs_does_not_delay_the_next():
    clock = [0.0]
    pace = Pace(0, lambda: clock[0])
    clock[0] = 0.6  # kernels were compiled
    pace.picture_taken(0.0, is_paused=False, kinds={("speed", "body")})
    assert pace.has_picture()
    clock[0] = 0.7
    pace.picture_taken(0.6, is_paused=False, kinds={("speed", "body")})
    clock[0] = 0.7 + (RESERVED_S + 0.1 - MOST_SAVED_S) / LARGEST_SHARE - 1e-6
    pace.arrive(1)
    assert not pace.has_picture()
    clock[0] += 2e-6
    pace.arrive(2)
    assert pace.has_picture()


def test_what_a_viewer_has_just_asked_for_need_not_wait_for_what_was_shown_before():
    clock = [0.0]
    pace = Pace(0, lambda: clock[0])
    pace.picture_taken(0.0, is_paused=False, kinds={"known"})
    clock[0] = 0.2
    pace.picture_taken(0.0, is_paused=False, kinds={"known"})
    assert pace.has_picture(is_new=True) and not pace.has_picture()
    clock[0] = 0.4
    pace.picture_taken(0.2, is_paused=False, kinds={"known"})
    assert not pace.has_picture(is_new=True)


def test_pictures_come_as_often_as_allowed_although_steps_take_now_more_and_now_less_time():
    wall, random = Wall(), np.random.default_rng(1)
    pace, step, pictures, stretch = Pace(0, wall), 0, 0, 1
    while wall.now_s < 60.0:
        step += stretch
        wall.now_s += stretch * 2e-3 * random.uniform(0.8, 1.2)
        pace.arrive(step)
        if pace.has_picture():
            pace.picture_taken(wall.now_s, is_paused=False)
            pictures += 1
        stretch = pace.leave(is_watched=True)
    assert pictures / 60.0 > 0.9 / PICTURE_S


def test_time_in_which_no_steps_were_asked_for_does_not_make_them_slow():
    wall = Wall()
    pace = Pace(0, wall)
    wall.now_s += 1.0
    pace.arrive(100)
    pace.rest()
    wall.now_s += 50.0
    pace.arrive(110)
    assert pace.steps_per_s == pytest.approx(100.0)


def test_the_last_of_many_steps_is_shown_sooner_than_those_of_single_ones():
    wall = Wall()
    pace = Pace(0, wall)
    wall.now_s = 2.0
    pace.picture_taken(1.95, is_paused=False)
    assert pace.has_last_picture() and not pace.has_picture()
    pace.rest()
    assert not pace.has_last_picture()
