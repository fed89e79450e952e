"""The self-timing: the fastest way is found, remembered, and never needed."""

import json
from types import SimpleNamespace

import pytest

from muphy_lb.backends.cuda.skeletons import Shape
from muphy_lb.base.errors import InputError
from muphy_lb.engine import autotune as tuning

SLOW, FAST = Shape("single", 128), Shape("double", 64)
SECONDS = {SLOW: 3.0, FAST: 1.0}


class StubEngine:
    """An engine whose launches move a clock by what each shape takes."""

    def __init__(self, clock, shapes=(SLOW, FAST), n_nodes=tuning.FEWEST_NODES):
        self.clock, self.timed, self.shape, self.behind = clock, [], None, None
        self.domain = SimpleNamespace(n_nodes=n_nodes, n_edge=0)
        self.addresses = SimpleNamespace(patterns=(None,))
        self.precision = SimpleNamespace(name="fp32")
        named = SimpleNamespace(name="any")
        pull = SimpleNamespace(name="pull")
        self.model = SimpleNamespace(lattice=named, collision=named, streaming=pull, occupied="")
        self.backend = SimpleNamespace(device="a GPU", synchronise=lambda: None, launch_shapes=lambda pattern: shapes)

    def interior_launches(self, shape):
        """Launches from each buffer."""
        self.timed.append(shape)

        def launch():
            self.clock.now += SECONDS[shape]

        return [launch, launch]

    def use_shape(self, shape):
        """Take a shape."""
        self.shape = shape


@pytest.fixture
def clock(monkeypatch, tmp_path):
    """A clock that only launches move, and an empty cache."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(tuning.time, "perf_counter", lambda: clock.now)
    monkeypatch.setenv("MUPHY_CACHE", str(tmp_path / "cache"))
    return clock


def test_the_fastest_shape_is_taken(clock):
    engine = StubEngine(clock)
    tuning.tune(engine)
    assert engine.shape == FAST and engine.timed == [SLOW, FAST]


def test_a_second_run_on_the_card_times_nothing(clock):
    tuning.tune(StubEngine(clock))
    again = StubEngine(clock)
    tuning.tune(again)
    assert again.shape == FAST and again.timed == []


def test_another_card_and_a_collision_with_a_field_behind_it_are_timed_by_themselves(clock):
    tuning.tune(StubEngine(clock))
    other, heated = StubEngine(clock), StubEngine(clock)
    other.backend.device, heated.behind = "another GPU", SimpleNamespace(name="heat")
    for engine in (other, heated):
        tuning.tune(engine)
        assert engine.timed == [SLOW, FAST]


def test_a_remembered_shape_that_is_not_offered_any_more_is_timed_anew(clock):
    tuning.tune(StubEngine(clock))
    other = StubEngine(clock, shapes=(SLOW, Shape("double", 999)))
    SECONDS[Shape("double", 999)] = 2.0
    tuning.tune(other)
    assert other.shape == Shape("double", 999)


@pytest.mark.parametrize("spoilt", ["", "{", "[1, 2]", "[" * 100_000], ids=["empty", "cut", "list", "deep"])
def test_a_spoilt_cache_is_made_anew(clock, spoilt):
    path = tuning.cache_folder() / "tuning.json"
    path.parent.mkdir(parents=True)
    path.write_text(spoilt)
    engine = StubEngine(clock)
    tuning.tune(engine)
    assert engine.shape == FAST and list(json.loads(path.read_text()).values()) == ["double 64"]


@pytest.mark.parametrize("value", [["double 64"], {"double 64": 1}, 64, None])
def test_a_remembered_value_that_is_no_text_is_timed_anew(clock, value):
    tuning.tune(StubEngine(clock))
    path = tuning.cache_folder() / "tuning.json"
    path.write_text(json.dumps(dict.fromkeys(json.loads(path.read_text()), value)))
    engine = StubEngine(clock)
    tuning.tune(engine)
    assert engine.timed == [SLOW, FAST] and engine.shape == FAST


def test_a_cache_that_cannot_be_written_stops_nothing(clock, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder would be")
    engine = StubEngine(clock)
    tuning.tune(engine)
    assert engine.shape == FAST


def test_small_domains_and_devices_without_a_choice_are_not_timed(clock):
    for engine in (StubEngine(clock, n_nodes=1000), StubEngine(clock, shapes=(None,))):
        tuning.tune(engine)
        assert engine.shape is None and engine.timed == []


@pytest.mark.parametrize("threads", [32, 128])
def test_blocks_of_a_size_are_taken_and_their_kernel_compiled(clock, threads):
    engine = StubEngine(clock)
    engine.warm_up = lambda: engine.timed.append("compiled")
    tuning.use_threads(engine, threads)
    assert engine.shape == Shape("single", threads) and engine.timed == ["compiled"]


@pytest.mark.parametrize("threads", [0, 33, 160])
def test_blocks_that_are_no_whole_warps_or_too_large_are_refused(clock, threads):
    with pytest.raises(InputError, match=f"threads is {threads}; allowed: multiples of 32 from 32 to 128"):
        tuning.use_threads(StubEngine(clock), threads)
