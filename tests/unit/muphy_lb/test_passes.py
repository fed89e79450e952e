"""How the stages of a step are cut into passes, and what crosses ahead of each."""

import pytest

from muphy_lb.engine.step import StepBinder, StepKind, StepOrder, passes
from muphy_lb.lattice import D2Q9
from muphy_lb.model.model import Field, Stage
from muphy_lb.parallel.task import ORDERING
from tests.free_surface import SurfaceSetup, tank
from tests.support import THROUGH_FLOW, Setup, build_engine, random_nodes

FIELDS = {name: Field(name, outside=0.0, guarded=name == "flag") for name in ("flag", "amount", "moments")}


def stage(name, reads=(), writes=(), **more):
    return Stage(name, reads=tuple(f"{each}@neighbours" for each in reads), writes=writes, **more)


def cut(*stages, written=()):
    """(what crosses, names of stages) of each pass."""
    found = passes(stages, set(written), FIELDS)
    return [(each.exchanged, [stage.name for stage in each.stages]) for each in found]


def test_stages_that_read_at_neighbours_what_others_have_written_begin_a_pass():
    assert cut(stage("a", writes=("flag",)), stage("b", ("flag",)), stage("c", ("amount",))) == [
        ((), ["a"]),
        (("flag",), ["b", "c"]),
    ]


def test_what_was_written_before_a_pass_crosses_with_what_it_exchanges_anyway():
    first, second = stage("moments", writes=("moments",)), stage("mark", ("flag",), ("flag",))
    last = stage("collect", ("flag",)), stage("refill", ("flag", "moments"))
    assert cut(first, second, *last, written=["flag"]) == [
        ((), ["moments"]),
        (("flag", "moments"), ["mark"]),
        (("flag",), ["collect", "refill"]),
    ]


def test_what_a_pass_has_written_itself_begins_another():
    stages = stage("a", ("flag",)), stage("b", writes=("amount",)), stage("c", ("amount",))
    assert cut(*stages, written=["flag"]) == [((), []), (("flag",), ["a", "b"]), (("amount",), ["c"])]


def test_what_the_bulk_waits_for_is_a_pass_of_its_own():
    stages = stage("a", beside_bulk=True), stage("b", writes=("amount",), beside_bulk=True), stage("c"), stage("d")
    found = passes(stages, set(), FIELDS)
    assert [([each.name for each in group.stages], group.beside_bulk) for group in found] == [
        (["a", "b"], True),
        (["c", "d"], False),
    ]


def test_what_a_stage_has_written_at_some_nodes_does_not_cross_for_the_same_one_at_others():
    take, again = (stage(name, ("flag",), ("flag",), operators=("same",)) for name in ("take", "again"))
    assert cut(take, again, written=["flag"]) == [((), []), (("flag",), ["take"]), ((), ["again"])]
    assert cut(take, stage("other", ("flag",)), written=["flag"])[2] == (("flag",), ["other"])


def test_what_neighbours_read_is_written_in_another_pass():
    assert cut(stage("take", ("flag", "amount")), stage("turn", writes=("flag",))) == [((), ["take"]), ((), ["turn"])]


def test_what_a_stage_reads_at_neighbours_it_may_write_only_if_no_node_sees_that():
    with pytest.raises(ValueError, match="stage 'a' writes amount, which it reads at neighbours"):
        cut(stage("a", ("amount",), ("amount",)))


def told_and_bound(nodes, setup):
    """Names of the tasks of a step on one rank, as its order tells them and as an engine binds them."""
    engine = build_engine(nodes, setup)
    links = engine.boundary_links
    order = StepOrder(engine.model).rows(links.has_openings, links.has_linkwise_walls)
    rows = [row for row in order if row.kernel and (row.over != "edge" or engine.domain.n_edge)]
    told = [row.over if row.kernel == "stream_collide" else row.name for row in rows]
    bound = [task.stage for task in StepBinder(engine).bind(StepKind(0)) if task.queue != ORDERING]
    return list(dict.fromkeys(told)), list(dict.fromkeys(bound))


@pytest.mark.parametrize("streaming", ["pull", "push", "aa"])
def test_the_order_that_info_tells_is_that_of_a_step_with_openings(streaming):
    setup = Setup(D2Q9, backend="numpy", streaming=streaming, conditions=THROUGH_FLOW)
    told, bound = told_and_bound(random_nodes(D2Q9), setup)
    assert told == bound and {"openings", "interior"} <= set(told)


def test_the_order_that_info_tells_is_that_of_a_step_with_a_free_surface():
    told, bound = told_and_bound(tank((1, 6, 6)), SurfaceSetup(D2Q9, backend="numpy"))
    elsewhere = ("edge moments", "get bare", "surface")  # at nodes beside other ranks, and lists for GPUs
    assert [name for name in told if name not in elsewhere] == bound and {"mark", "turn"} <= set(bound)
