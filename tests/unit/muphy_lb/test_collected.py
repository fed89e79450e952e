"""Lists of nodes: which one a stage finds, and when nothing is known."""

from types import SimpleNamespace

import numpy as np
import pytest

from muphy_lb.backends.arrays import NodeRange
from muphy_lb.backends.numpy.backend import NumpyBackend
from muphy_lb.base.precision import FP64
from muphy_lb.engine.fields import CollectedNodes
from muphy_lb.lattice import D2Q9
from muphy_lb.model.model import COLLECT, Stage, Where
from muphy_lb.parallel.task import ON_EDGE

EDGE, INTERIOR = NodeRange(0, 32, ON_EDGE), NodeRange(32, 100)
STAGES = (Stage("ahead"), Stage("list", where=Where("kind", 2), kernel=COLLECT), Stage("behind"))


class Lister(NumpyBackend):
    """A device that makes lists."""

    makes_lists = True


@pytest.fixture
def collected():
    return CollectedNodes(Lister(D2Q9, FP64), SimpleNamespace(stages=STAGES))


def is_known(found) -> bool:
    return found.count[0] <= found.nodes.size or found.count[1] <= found.warps.size


def test_stages_behind_find_the_list_of_their_step_and_those_ahead_that_of_the_step_before(collected):
    made = collected.made("list", INTERIOR, 1)
    made.count[0] = 7
    assert collected.known_to("behind", "list", INTERIOR, 1).count[0] == 7
    assert collected.known_to("ahead", "list", INTERIOR, 0).count[0] == 7
    assert collected.known_to("ahead", "list", EDGE, 0).count[0] != 7


def test_a_collision_finds_the_list_by_its_field_of_the_step_before(collected):
    collected.made("list", INTERIOR, 1).count[:] = 7, 3
    found = collected.of_collision("kind", INTERIOR, 0)
    assert (found.count[1], found.warps.size) == (3, 3)
    assert collected.of_collision("kind", INTERIOR, 1).count[1] != 3
    assert collected.of_collision("other", INTERIOR, 0) is None


def test_nothing_is_known_before_the_first_step_and_when_fields_were_overwritten(collected):
    for _ in range(2):
        assert not is_known(collected.known_to("ahead", "list", INTERIOR, 0))
        assert not collected.counters("list", INTERIOR).any()
        collected.made("list", INTERIOR, 0).count[:] = 3
        collected.made("list", INTERIOR, 1).count[:] = 0
        collected.forget()


def test_the_bulk_reads_another_list_of_warps_than_the_one_that_is_made_beside_it(collected):
    made, read = collected.made("list", INTERIOR, 0), collected.of_collision("kind", INTERIOR, 0)
    assert not any(np.shares_memory(*pair) for pair in ((made.count, read.count), (made.warps, read.warps)))


def test_a_device_that_makes_no_lists_has_none():
    found = CollectedNodes(NumpyBackend(D2Q9, FP64), SimpleNamespace(stages=STAGES))
    assert found.known_to("ahead", "list", INTERIOR, 0) is None
