"""Streaming in place (A-A) leaves the bits of pull, wherever a run is looked at, measured, or begun again."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pytest

from muphy_lb.boundaries.wall_motion import WallMotion
from muphy_lb.engine import transfers
from muphy_lb.lattice import D3Q15, D3Q19, LATTICES
from muphy_lb.model.isothermal import Fluid, isothermal
from muphy_lb.model.model import SCHEDULED
from muphy_lb.operators import VARYING
from tests.laws.walled import INTERPOLATED, MOVING, ScatteredDistances, between_openings, walled_nodes
from tests.support import (
    THROUGH_FLOW,
    Ranks,
    Setup,
    build_engine,
    random_nodes,
    random_owner,
    random_populations,
)

pytestmark = pytest.mark.pairs

EVERY_LATTICE = pytest.mark.parametrize("lattice", LATTICES.values(), ids=LATTICES)
N_RANKS = pytest.mark.parametrize("n_ranks", [1, 3])
STREAMINGS = ("pull", "aa")
FORCE = {2: (1e-4, 2e-4, 0.0), 3: (1e-4, 2e-4, -1e-4)}
SITUATIONS: Mapping[str, Mapping] = MappingProxyType(
    {
        "openings": {"conditions": THROUGH_FLOW},
        "moving": {"motions": MOVING},
        "slip": {"motions": (WallMotion(slips=True), WallMotion())},
        "bouzidi": {"wall_rule": "bouzidi", "motions": MOVING},
        "central-linear": {"wall_rule": "central-linear", "motions": MOVING},
        "central-linear between openings": {"wall_rule": "central-linear", "conditions": THROUGH_FLOW},
    }
)
# All lattices on the NumPy backend; compiled, those without which no kernel of another kind would run.
CASES = [
    pytest.param(lattice, situation, backend, id=f"{lattice.name}-{situation}-{backend}")
    for lattice in LATTICES.values()
    for situation in SITUATIONS
    for backend in ("numpy", "cpu")
    if not (lattice is D3Q15 and situation == "slip") and (backend == "numpy" or lattice.name in ("D2Q9", "D3Q19"))
]
LAST, MIDDLE = 9, (3, 4)
# The specification multiplies matrices, whose last bit depends on their shape, and that on the ranks.
ROUND_OFF = 1e-13


def geometry(lattice, situation):
    """A random box with openings, or one with two labelled walls that wraps everywhere."""
    if situation.endswith("between openings"):
        return between_openings(lattice)
    if situation in INTERPOLATED:
        return walled_nodes(lattice, ScatteredDistances())
    return walled_nodes(lattice, fluid=0.7) if situation in ("moving", "slip") else random_nodes(lattice)


def run_of(lattice, situation, streaming, backend="numpy", n_ranks=1):
    """Ranks in a random state."""
    nodes = geometry(lattice, situation)
    setup = Setup(lattice, backend, streaming=streaming, force=FORCE[lattice.dimension], **SITUATIONS[situation])
    ranks = Ranks(nodes, setup, random_owner(nodes, n_ranks))
    ranks.set_populations(random_populations(lattice, nodes.n_nodes))
    return ranks


def measured(ranks, with_sums=True):
    """All that can be asked of a run, rank after rank: populations and moments in node-list order, sums, fluxes,
    forces, and again populations, which measuring must not have changed."""

    def ask(engine):
        order, totals = np.argsort(engine.domain.number), engine.totals()
        sums = np.array([totals.mass, *totals.flow] if with_sums else [])
        nodes = engine.populations()[:, order], engine.moments()[:, order]
        return (*nodes, totals.speed, sums, *engine.link_fluxes())

    return [*ranks.each(ask), ranks.each(lambda engine: engine.wall_exchange()), ranks.populations()]


def flat(found) -> np.ndarray:
    """All numbers of nested lists of arrays in one array."""
    return np.concatenate([flat(part) if isinstance(part, (list, tuple)) else np.ravel(part) for part in found])


@pytest.mark.parametrize(("lattice", "situation", "backend"), CASES)
@N_RANKS
def test_whatever_is_measured_in_place_has_the_bits_of_pull(lattice, situation, backend, n_ranks):
    """Before the first step, after odd and after even ones. In place more nodes belong to the edge at interpolated
    walls, and sums that are rounded depend on their order."""
    is_in_order = "wall_rule" not in SITUATIONS[situation]
    bound = 0.0 if is_in_order or backend == "cpu" else ROUND_OFF
    both = [run_of(lattice, situation, streaming, backend, n_ranks) for streaming in STREAMINGS]
    for n_steps in (0, 1, 1, 3):
        found = []
        for ranks in both:
            ranks.step(n_steps)
            found.append(flat(measured(ranks, is_in_order)))
        assert np.abs(found[0] - found[1]).max() <= bound and np.isfinite(found[0]).all()
    assert np.abs(both[0].populations()).max() > 1e-3


@pytest.mark.parametrize(("lattice", "situation", "backend"), CASES)
@pytest.mark.parametrize("middle", MIDDLE)
def test_a_run_in_place_begun_again_in_the_middle_ends_with_the_bits_of_pull(lattice, situation, backend, middle):
    """Restarted after odd and after even steps, on another number of ranks."""
    pull = run_of(lattice, situation, "pull", backend)
    first, second = (run_of(lattice, situation, "aa", backend, n_ranks) for n_ranks in (1, 2))
    pull.step(LAST)
    first.step(middle)
    second.step(1)
    second.set_populations(first.populations())
    assert np.array_equal(first.populations(), second.populations())
    second.step(LAST - middle)
    if backend == "numpy":
        assert np.abs(second.populations() - pull.populations()).max() < ROUND_OFF
    else:
        assert np.array_equal(second.populations(), pull.populations())


class Driven(Setup):
    """A setup with a force that changes with time."""

    def model(self):
        """Isothermal flow under a scheduled force."""
        return isothermal(self.lattice, Fluid(self.rates), self.streaming, (SCHEDULED,) * 3, VARYING)


@EVERY_LATTICE
@N_RANKS
def test_in_place_follows_a_schedule_of_openings_and_force_like_pull(lattice, n_ranks):
    nodes, found = random_nodes(lattice), []
    force = np.random.default_rng(3).uniform(-1e-3, 1e-3, (5, 3)) * (1, 1, lattice.dimension == 3)
    openings = np.outer(np.arange(1.0, 6.0), (0.01, 0.001, 1.0))
    for streaming in STREAMINGS:
        setup = Driven(lattice, streaming=streaming, conditions=THROUGH_FLOW)
        ranks = Ranks(nodes, setup, random_owner(nodes, n_ranks))
        for engine in ranks.engines:
            engine.set_present(np.append(openings[0], force[0]))
            engine.start_from(np.ones(1), np.zeros((3, 1)))
            engine.schedule(np.hstack((openings, force)))
        ranks.step(7)
        found.append(flat(measured(ranks)))
    assert np.array_equal(*found) and np.abs(found[0]).max() > 1e-3


@EVERY_LATTICE
def test_both_start_from_densities_and_velocities_alike(lattice):
    nodes, found = random_nodes(lattice, openings=False), []
    rng = np.random.default_rng(2)
    density = rng.uniform(0.9, 1.1, nodes.n_nodes)
    velocity = rng.uniform(-0.1, 0.1, (3, nodes.n_nodes)) * np.any(lattice.c, axis=0)[:, None]
    for streaming in STREAMINGS:
        engine = build_engine(nodes, Setup(lattice, streaming=streaming, force=FORCE[lattice.dimension]))
        engine.start_from(density, velocity)
        found.append(engine.populations())
    assert np.array_equal(*found) and np.abs(engine.moments()[0] - (density - 1)).max() < ROUND_OFF


def test_stretches_that_start_alike_start_like_each_of_their_nodes(monkeypatch):
    monkeypatch.setattr(transfers, "CHUNK_NODES", 8)
    nodes = random_nodes(D3Q19, openings=False)
    engine = build_engine(nodes, Setup(D3Q19, force=FORCE[3]))
    values = np.array([0.95, 1.0, 1.05, 0.97])
    which = np.sort(np.random.default_rng(4).integers(0, 4, nodes.n_nodes))
    engine.start_from(values[which], np.zeros((3, 1)))
    found = engine.populations()
    for number, density in enumerate(values):
        engine.start_from(np.array([density]), np.zeros((3, 1)))
        assert np.array_equal(found[:, which == number], engine.populations()[:, which == number])


def test_in_place_keeps_one_buffer():
    nodes = random_nodes(D3Q19, openings=False)
    pull, in_place = (build_engine(nodes, Setup(D3Q19, streaming=streaming)) for streaming in STREAMINGS)
    buffer = in_place.addresses.n_slots * 8
    assert pull.backend.allocated_bytes - in_place.backend.allocated_bytes > 0.9 * buffer
