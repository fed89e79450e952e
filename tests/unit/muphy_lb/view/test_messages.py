"""What a page says to a run is checked before anything is done with it."""

import json
from types import SimpleNamespace

import pytest

from muphy_lb.view.messages import BODY, CUT, MOST_DEMANDS, Answer, Demand

CHANGEABLE = {"openings.inlet.velocity_m_s": (0.1,), "flow.acceleration_m_s2": (0.0, 0.0, -9.81)}
DESCRIPTION = SimpleNamespace(
    units={"speed": "m/s"}, low=(1, 2, 3), high=(10, 20, 30), is_flat=False, changeable=CHANGEABLE
)
POSSIBLE = (Demand("speed", BODY), Demand("speed", CUT, 0, 10), Demand("speed", CUT, 2, 3))
IMPOSSIBLE = (
    Demand("heat", BODY),
    Demand("speed", "moon"),
    Demand("speed", BODY, 1, 0),
    Demand("speed", CUT, 0, 11),
    Demand("speed", CUT, 3, 5),
    Demand("speed", CUT, -1, 5),
)
RUBBISH = (
    b"",
    b"{}",
    b"[]",
    b"null",
    b"\xff\x00",
    b"[1, [], []]",
    b'[1, [["speed"]], [], [], "", "", []]',
    b'[1, [["speed", "cut", "a", 0]], [], [], "", "", []]',
    b'[1, [["speed", "cut", 1e999, 0]], [], [], "", "", []]',
    b'[1, [], [], [], "change", "openings.inlet.velocity_m_s", ["x"]]',
    b'[1, [], [], [], "change", "openings.inlet.velocity_m_s", 3]',
    b"[" * 100_000,
)


def test_an_answer_arrives_as_it_was_sent():
    answer = Answer(2, POSSIBLE, POSSIBLE[:1], "pause", following=POSSIBLE[1:])
    assert Answer.from_bytes(answer.to_bytes(), DESCRIPTION) == answer


@pytest.mark.parametrize("demand", IMPOSSIBLE)
def test_what_cannot_be_shown_is_left_out(demand):
    assert Answer.from_bytes(Answer(1, (demand, *POSSIBLE)).to_bytes(), DESCRIPTION).demands == POSSIBLE


def test_more_places_than_a_run_will_collect_are_left_out():
    many = tuple(Demand("speed", CUT, 2, index) for index in range(3, 30))
    assert Answer.from_bytes(Answer(1, many).to_bytes(), DESCRIPTION).demands == many[:MOST_DEMANDS]


@pytest.mark.parametrize("data", RUBBISH)
def test_rubbish_is_no_answer(data):
    with pytest.raises(ValueError):
        Answer.from_bytes(data, DESCRIPTION)


def test_a_word_that_is_no_command_asks_for_nothing():
    data = json.dumps([1, [], [], [], "rm -rf", "", []]).encode()
    assert Answer.from_bytes(data, DESCRIPTION).command == ""


@pytest.mark.parametrize(
    ("key", "numbers"), [(key, tuple(2.0 * x for x in given)) for key, given in CHANGEABLE.items()]
)
def test_a_value_that_may_be_changed_arrives_as_it_was_sent(key, numbers):
    answer = Answer(1, (), (), "change", key, numbers)
    assert Answer.from_bytes(answer.to_bytes(), DESCRIPTION) == answer


@pytest.mark.parametrize(
    ("key", "numbers"),
    [
        ("run.steps", (1.0,)),
        ("openings.inlet.velocity_m_s", (1.0, 2.0)),
        ("openings.inlet.velocity_m_s", ()),
        ("openings.inlet.velocity_m_s", (float("nan"),)),
        ("flow.acceleration_m_s2", (float("inf"), 0.0, 0.0)),
    ],
)
def test_a_change_of_anything_else_asks_for_nothing(key, numbers):
    assert Answer.from_bytes(Answer(1, (), (), "change", key, numbers).to_bytes(), DESCRIPTION).command == ""
