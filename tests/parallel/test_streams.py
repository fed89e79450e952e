"""Edge, interior and openings wait for each other where they must: any of them as late as allowed gives the same
flow."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pytest

import tests.support
from muphy_lb.backends.arrays import NodeRange
from muphy_lb.backends.numpy.backend import NumpyBackend
from muphy_lb.domain import FIXED, FLUX, OUTFLOW, STREAMINGS, ScalarBoundary
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.model.isothermal import Fluid, isothermal
from muphy_lb.model.model import SCHEDULED
from muphy_lb.operators import VARYING
from muphy_lb.parallel.task import ON_BULK, ON_EDGE, ON_INTERIOR
from muphy_lb.physics.free_surface.cells import CELL, FILL, MASS
from muphy_lb.physics.free_surface.start import BoxRegion
from muphy_lb.physics.particles.beads.motion import OFFSET, VOXEL
from muphy_lb.physics.thermal.model import METHODS, Heat
from tests.free_surface import SurfaceSetup, Tank, tank
from tests.laws.test_beads import SINGLE, BeadSetup, start_on
from tests.laws.test_free_surface import SPLASH
from tests.laws.walled import MOVING, ScatteredDistances, between_openings, walled_nodes
from tests.support import (
    PULSATING,
    THROUGH_FLOW,
    Setup,
    advance,
    build_engine,
    in_node_order,
    pulsating_rows,
    random_nodes,
    start_at_rest,
)
from tests.thermal import ThermalSetup, heat, temperature

pytestmark = pytest.mark.pairs

STEPS = 30
THROUGH = "bouzidi between openings"
# Walls, an inlet, an outlet.
BETWEEN_OPENINGS = ScalarBoundary(np.array([FLUX, FIXED, OUTFLOW]), np.array([0.0, 0.3, 0.0]), n_walls=0)
# Kernels of a step whose queue is that of their nodes, or is their last argument; openings and the next row of a
# schedule have one of their own, and walls are of the edge.
OVER_NODES = ("stream_collide", "advance", "at_nodes", "arriving", "moments", "refill")
ON_GIVEN_QUEUE = ("extrapolation", "count_step")
ON_EITHER = OVER_NODES + ON_GIVEN_QUEUE
OF_MESSAGES = ("gather", "scatter", "scatter_add")
OF_PARTICLES = ("particles", "by_id", "drag", "send_particles", "receive_particles")  # on the interior's queue


class Streams(NumpyBackend):
    """The specification with some of its streams late: its work waits in a list until something waits for it."""

    has_bulk_queue = True

    def __init__(self, lattice, precision):
        super().__init__(lattice, precision)
        self._waiting, self._marked = [], 0

    def synchronise(self):
        """Do everything."""
        self._do(len(self._waiting))

    def to_host(self, array):
        """After everything launched before."""
        self.synchronise()
        return super().to_host(array)

    def update(self, array, host):
        """After everything launched before."""
        self.synchronise()
        super().update(array, host)

    def bind(self, kernel, *arguments, **options):
        """Later, or at once."""
        work = super().bind(kernel, *arguments, **options)
        return self._later(work) if self.is_late(kernel, arguments) else work

    def is_late(self, kernel, arguments) -> bool:
        """Whether a launch waits."""
        raise NotImplementedError

    def bulk_waits_for_interior(self):
        """Do everything."""
        self.synchronise()

    def interior_waits_for_bulk(self):
        """The bulk is always done."""

    def _later(self, work):
        return lambda: self._waiting.append(work)

    def _do(self, n: int) -> None:
        todo, self._waiting = self._waiting[:n], self._waiting[n:]
        self._marked = max(0, self._marked - n)
        for work in todo:
            work()


def queue_of(kernel, arguments) -> str:
    """The queue of a kernel that may belong to several."""
    if kernel in ON_GIVEN_QUEUE:
        return arguments[-1]
    (nodes,) = (argument for argument in arguments if isinstance(argument, NodeRange))
    return nodes.queue


class LateInterior(Streams):
    """Edge work runs at once, interior work when something waits for it."""

    def record_interior(self):
        """Remember how much of the interior was launched."""
        self._marked = len(self._waiting)

    def edge_waits_for_interior(self):
        """Do the remembered work."""
        self._do(self._marked)

    def interior_waits_for_edge(self):
        """The edge is always done."""

    def is_late(self, kernel, arguments):
        """Interior later, edge and bulk at once."""
        return kernel in OF_PARTICLES or (kernel in ON_EITHER and queue_of(kernel, arguments) == ON_INTERIOR)

    def copy(self, source, target):
        """In the order of the interior's work."""
        return self._later(super().copy(source, target))


class LateEdge(Streams):
    """Interior work runs at once, edge work when the interior waits for it."""

    def interior_waits_for_edge(self):
        """Do all edge work."""
        self.synchronise()

    def bind(self, kernel, *arguments, **options):
        """Messages are packed and unpacked behind the edge's work so far, whatever the interior has done."""
        work = super().bind(kernel, *arguments, **options)
        return self._behind(work) if kernel in OF_MESSAGES else work

    def _behind(self, work):
        def run():
            self.synchronise()
            work()

        return run

    def is_late(self, kernel, arguments):
        """Edge later, and openings and walls, which belong to it; interior at once."""
        return kernel in ("links", "walls") or (kernel in ON_EITHER and queue_of(kernel, arguments) == ON_EDGE)


class LateBulk(Streams):
    """The bulk collides when the interior waits for it, all else runs at once."""

    def bulk_waits_for_interior(self):
        """The interior is always done."""

    def interior_waits_for_bulk(self):
        """Do it."""
        self.synchronise()

    def is_late(self, kernel, arguments):
        """The bulk later."""
        return kernel == "stream_collide" and queue_of(kernel, arguments) == ON_BULK


class LateOpenings(Streams):
    """Openings run when the edge waits for them, all else at once."""

    def edge_waits_for_openings(self):
        """Do them."""
        self.synchronise()

    def is_late(self, kernel, arguments):
        """Openings later, on their own queue, and what shares it."""
        return kernel in ("links", "next_row", "profile")


class EarlyOpenings(Streams):
    """Openings run at once, all else, in order, when they wait for it."""

    def bulk_waits_for_interior(self):
        """It is behind it anyway."""

    def openings_wait_for_edge(self):
        """Do all else."""
        self.synchronise()

    def is_late(self, kernel, arguments):
        """All but openings later."""
        return kernel in (*ON_EITHER, *OF_PARTICLES, "walls")

    def copy(self, source, target):
        """Later."""
        return self._later(super().copy(source, target))


def on(backend: type, work: Callable[..., tuple], *arguments) -> tuple:
    """What some work returns whose engines compute on a backend."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tests.support, "make_backend", lambda _, lattice, precision: backend(lattice, precision))
        return work(*arguments)


in_order = cache(partial(on, NumpyBackend))
"""The same where nothing is late: the flow to which all that are late are compared."""


def are_equal(late: type, work: Callable[..., tuple], *arguments) -> bool:
    """Whether arrays that some work returns are the same bit for bit on a backend where something is late."""
    return all(map(np.array_equal, in_order(work, *arguments), on(late, work, *arguments)))


LATE = (LateInterior, LateEdge, LateBulk, LateOpenings, EarlyOpenings)


def geometry(rule):
    """A random box with openings, also between interpolated walls, or with moving and interpolated walls."""
    if rule is None:
        return random_nodes(D2Q9)
    if rule == THROUGH:
        return between_openings(D2Q9, fluid=0.98)
    return walled_nodes(D2Q9, cuts=None if rule == "half-way" else ScatteredDistances(), fluid=0.97)


def walled_flow(rule, streaming) -> tuple:
    """Populations, and what crosses walls, of a flow along them or through openings."""
    what = {"wall_rule": rule, "motions": MOVING}
    if rule in (None, THROUGH):
        what = {"conditions": THROUGH_FLOW, "wall_rule": "half-way" if rule is None else "bouzidi"}
    setup = Setup(D2Q9, streaming=streaming, force=(1e-5, 2e-5, 0.0), **what)
    engine = advance(start_at_rest(build_engine(geometry(rule), setup)), STEPS)
    assert 0 < engine.domain.n_edge < engine.domain.n_nodes
    engine.backend.synchronise()
    populations, crossed = in_node_order(engine, engine.populations()), engine.wall_exchange()
    assert np.abs(populations).max() > 0.0 and (crossed.size > 0 or rule is None)
    return populations, crossed


@pytest.mark.parametrize("streaming", STREAMINGS)
@pytest.mark.parametrize("rule", [None, "half-way", "bouzidi", "central-linear", THROUGH])
@pytest.mark.parametrize("late", LATE)
def test_a_late_stream_changes_nothing(late, rule, streaming):
    if streaming == "push" and rule not in (None, "half-way"):
        pytest.skip("push has no interpolated walls")
    assert are_equal(late, walled_flow, rule, streaming)


class Driven(Setup):
    """A setup with a force that changes with time."""

    def model(self):
        """Isothermal flow under a scheduled force."""
        return isothermal(self.lattice, Fluid(self.rates), self.streaming, (SCHEDULED,) * 3, VARYING)


def scheduled_flow(flow, streaming) -> tuple:
    """Populations of a flow through openings that follows a schedule."""
    setup = flow(D2Q9, streaming=streaming, conditions=THROUGH_FLOW)
    steps = np.arange(1.0, 1.0 + STEPS)[:, None]
    engine = start_at_rest(build_engine(random_nodes(D2Q9), setup))
    engine.schedule(np.hstack((steps * (1e-3, 1e-4), np.ones((STEPS, 1)), steps * (1e-5, -2e-5, 0.0))))
    advance(engine, STEPS).backend.synchronise()
    assert np.abs(engine.populations()).max() > 1e-3
    return (engine.populations(),)


@pytest.mark.parametrize("streaming", STREAMINGS)
@pytest.mark.parametrize("flow", [Setup, Driven])
@pytest.mark.parametrize("late", LATE)
def test_a_late_stream_changes_no_flow_that_follows_a_schedule(late, flow, streaming):
    assert are_equal(late, scheduled_flow, flow, streaming)


def pulsating_flow(streaming) -> tuple:
    """Populations, and what crosses openings, of a flow whose profile changes its shape."""
    engine = start_at_rest(build_engine(random_nodes(D2Q9), Setup(D2Q9, streaming=streaming, conditions=PULSATING)))
    engine.schedule(pulsating_rows(STEPS))
    advance(engine, STEPS).backend.synchronise()
    assert np.abs(engine.populations()).max() > 1e-3
    return engine.populations(), engine.link_fluxes()[0]


@pytest.mark.parametrize("streaming", STREAMINGS)
@pytest.mark.parametrize("late", LATE)
def test_a_late_stream_changes_no_profile_that_changes_its_shape(late, streaming):
    assert are_equal(late, pulsating_flow, streaming)


def heated_flow(method, streaming) -> tuple:
    """Populations and temperature of a flow that its heat drives."""
    setup = ThermalSetup(
        D2Q9, streaming=streaming, conditions=THROUGH_FLOW, heat=Heat(0.06, (1e-4, 3e-4, 0.0), BETWEEN_OPENINGS, method)
    )
    nodes = random_nodes(D2Q9)
    start, engine = 0.1 * np.random.default_rng(5).standard_normal(nodes.n_nodes), build_engine(nodes, setup)
    heat(engine, setup, start[engine.domain.number])
    advance(start_at_rest(engine), STEPS)
    assert 0 < engine.domain.n_edge < engine.domain.n_nodes
    engine.backend.synchronise()
    assert np.ptp(temperature(engine)) > 1e-3
    return engine.populations(), temperature(engine).copy()


@pytest.mark.parametrize("streaming", STREAMINGS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("late", LATE)
def test_a_late_stream_changes_no_temperature(late, method, streaming):
    assert are_equal(late, heated_flow, method, streaming)


def flow_with_beads() -> tuple:
    """Populations and the columns of beads that start beside openings."""
    setup, nodes = BeadSetup(D2Q9, beads=SINGLE, conditions=THROUGH_FLOW), random_nodes(D2Q9)
    engine = build_engine(nodes, setup)
    start = start_on(nodes, SINGLE, D2Q9)
    beside = nodes.coordinates(engine.domain.number[engine.domain.links.node])[: SINGLE.count]
    start |= dict(zip(VOXEL, beside.T, strict=True)) | dict.fromkeys(OFFSET, np.zeros(SINGLE.count))
    engine.particles.set("beads", start)
    advance(start_at_rest(engine), STEPS)
    assert 0 < engine.domain.n_edge < engine.domain.n_nodes
    engine.backend.synchronise()
    assert np.abs(engine.populations()).max() > 1e-3
    return engine.populations(), *engine.particles.get("beads").values()


@pytest.mark.parametrize("late", LATE)
def test_a_late_stream_changes_no_beads_and_nothing_that_they_do(late):
    assert are_equal(late, flow_with_beads)


def settled(nodes, setup, start, n_ranks, n_steps) -> tuple[tuple, Tank]:
    """Populations, cells, fillings and masses of a liquid after some steps, and its tank, which ranks share along x."""
    owner = nodes.coordinates()[:, 0] * n_ranks // nodes.shape[2]
    flow = Tank(nodes, setup, [start], owner)
    before = flow.field(CELL)
    flow.ranks.step(n_steps)
    flow.ranks.each(lambda engine: engine.backend.synchronise())
    assert (flow.field(CELL) != before).sum() > 10
    return (flow.ranks.populations(), *(flow.field(name) for name in (CELL, FILL, MASS))), flow


def splash(lattice, streaming) -> tuple:
    """A column of liquid that falls in a tank of three ranks."""
    shape, force = SPLASH[lattice]
    setup = SurfaceSetup(lattice, rates=(1.9,), force=tuple(4.0 * np.array(force)), streaming=streaming)
    column = BoxRegion(np.zeros(3), np.full(3, -1.0), np.array([0.4, 0.7, 1.0]) * shape[::-1])
    found, flow = settled(tank(shape, solid=0.1), setup, column, 3, {D2Q9: 3 * STEPS // 2, D3Q19: STEPS}[lattice])
    assert all(0 < engine.domain.n_edge < engine.domain.n_nodes for engine in flow.ranks.engines)
    return found


@pytest.mark.pairs
@pytest.mark.parametrize("streaming", ["pull", "aa"])
@pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
@pytest.mark.parametrize("late", [LateInterior, LateEdge, LateBulk])
def test_a_late_stream_changes_no_splash_on_several_ranks(late, lattice, streaming):
    assert are_equal(late, splash, lattice, streaming)


def filling(n_ranks) -> tuple:
    """A channel that liquid enters."""
    setup = SurfaceSetup(D2Q9, rates=(1.4,), conditions=THROUGH_FLOW)
    start = BoxRegion(np.zeros(3), np.full(3, -1.0), np.array([2.5, 99.0, 99.0]))
    return settled(random_nodes(D2Q9), setup, start, n_ranks, STEPS)[0]


@pytest.mark.parametrize("n_ranks", [1, 3])
@pytest.mark.parametrize("late", LATE)
def test_a_late_stream_changes_no_filling_of_a_channel(late, n_ranks):
    assert are_equal(late, filling, n_ranks)
