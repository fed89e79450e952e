"""Beads enter with the fluid and leave with it: counted, each with an id of its own, the same on any ranks."""

from dataclasses import dataclass

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.base.units import BOLTZMANN_J_K
from muphy_lb.boundaries.opening_geometry import Condition
from muphy_lb.boundaries.profiles import plug
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.model.isothermal import Fluid
from muphy_lb.operators import PRESSURE
from muphy_lb.operators import VELOCITY as VELOCITY_GIVEN
from muphy_lb.physics.particles.beads.forces import Interactions
from muphy_lb.physics.particles.beads.model import Beads, with_beads
from muphy_lb.physics.particles.beads.motion import FLOW, OFFSET, VELOCITY, VOXEL
from muphy_lb.physics.particles.openings import BORN, END, TOUCHING, UNDER_WAY, WAITING
from muphy_lb.run.checkpoint import checkpoint_path, restore, write_checkpoint
from tests.channel import BOTTOM, LENGTH, SPACING_M, TIME_STEP_S, TOP, open_channel, simulate
from tests.support import Ranks, Setup, box_shape, plain_flow, random_owner, random_voxels, with_openings

KT = 1e-5
WALLS = {"wall_a": KT, "wall_b": 0.3, "wall_range2": (0.3 * 2 ** (1 / 6)) ** 2}
PAIRS = {"pair_a": KT, "pair_b": 0.8}
BEADS = Beads(
    "beads",
    80,
    mass=2.0,
    friction=0.3,
    kt=KT,
    seed=3,
    interactions=Interactions(walls=True, pairs="soft", passes=True),
    constants=WALLS | PAIRS,
    substeps=2,
)
FLOWING = (Condition(VELOCITY_GIVEN, 0.15, plug), Condition(PRESSURE, 0.0))
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "cpu", pytest.param("cuda", marks=pytest.mark.gpu)])


@dataclass(frozen=True)
class Through(Setup):
    """A flow from an inlet to an outlet, with beads."""

    def model(self):
        """The flow with beads in it."""
        return with_beads(plain_flow(self.lattice, Fluid(self.rates), self.streaming, self.force), BEADS).model()


def duct(lattice):
    """A box from an inlet to an outlet."""
    return build_nodes(with_openings(random_voxels(box_shape(lattice), fluid=1.0, periodic=(False, True, False))))


def start_on(nodes, lattice) -> dict:
    """Half of the beads anywhere, the other half at the inlet, one each other step."""
    random, count = np.random.default_rng(4), BEADS.count
    voxel = nodes.coordinates()[random.integers(nodes.n_nodes, size=count)]
    offset = random.uniform(-0.2, 0.2, (count, 3)) * (np.arange(3) < lattice.dimension)
    first = nodes.coordinates()[nodes.coordinates()[:, 0] == 1]
    enter = np.arange(count // 2, count)
    voxel[enter], offset[enter, 0] = first[random.integers(len(first), size=enter.size)], -TOUCHING
    born = np.where(np.arange(count) < count // 2, -1, 2 * (np.arange(count) - count // 2))
    columns = {"id": np.arange(count), BORN: born, END: np.where(born < 0, UNDER_WAY, WAITING)}
    return columns | dict(zip((*VOXEL, *OFFSET), (*voxel.T, *offset.T), strict=True))


def run(nodes, setup, owner, n_steps):
    """Columns of all beads by id, and the populations."""
    ranks = Ranks(nodes, setup, owner)
    for engine in ranks.engines:
        engine.particles.set("beads", start_on(nodes, setup.lattice))
        engine.start_from(np.ones(1), np.array([[0.1], [0.0], [0.0]]))
        engine.set_step_number(0)
    ranks.step(n_steps)
    return ranks.particles("beads"), ranks.populations()


def same(one, other) -> bool:
    """Whether beads and populations are equal bit by bit."""
    return all(np.array_equal(one[0][name], other[0][name]) for name in one[0]) and np.array_equal(one[1], other[1])


@BACKENDS
@pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
def test_beads_pass_openings_alike_on_any_ranks(lattice, backend):
    nodes = duct(lattice)
    setup, alone = Through(lattice, backend=backend, conditions=FLOWING), np.zeros(nodes.n_nodes, int)
    found = run(nodes, setup, alone, 60)
    end, born = found[0][END], found[0][BORN]
    assert np.array_equal(found[0]["id"], np.arange(BEADS.count))
    assert np.array_equal(end == WAITING, born >= 60) and (end == 2).sum() > 5 and (end == UNDER_WAY).any()
    assert same(found, run(nodes, setup, random_owner(nodes, 2), 60))


def test_compiled_code_passes_openings_as_specified():
    nodes = duct(D3Q19)
    everywhere = np.zeros(nodes.n_nodes, int)
    specified, compiled = (
        run(nodes, Through(D3Q19, backend=each, conditions=FLOWING), everywhere, 40) for each in ("numpy", "cpu")
    )
    for name, values in specified[0].items():
        np.testing.assert_allclose(compiled[0][name], values, rtol=0.0, atol=1e-9)


SLIP = [BOTTOM | {"slip": True}, TOP | {"slip": True}]
SPEED_M_S = 5e-3
TABLE = {
    "name": "cells",
    "kind": "beads",
    "mass_kg": 1e-6,
    "friction_kg_s": 1e-5,
    "openings": "open",
    "coupling": "one-way",
    "inflow": [{"opening": "inlet", "count": 400, "rate_per_s": 50.0}],
}


def flow_of(table=TABLE, **tables):
    """A plug between walls that slip, on the CPU."""
    tables = {"walls": SLIP, "compute": {"backend": "cpu"}, **tables}
    return open_channel(inlet={"velocity_m_s": SPEED_M_S}, particles=[table], **tables)


@pytest.mark.parametrize("kelvin", [None, 1e-9 / BOLTZMANN_J_K * 1e-6])
def test_a_concentration_that_enters_fills_the_fluid_and_leaves_at_the_same_rate(kelvin):
    """In a plug flow as many are under way as the concentration times the volume; none leaves against the inflow."""
    volume_m3 = LENGTH * 6 * SPACING_M**3
    inflow = {"opening": "inlet", "count": 2000, "concentration_per_m3": 100 / volume_m3}
    simulation = simulate(flow_of(TABLE | {"inflow": [inflow]}, fluid={"temperature_k": kelvin}), 400)
    per_step = 100 * SPEED_M_S * TIME_STEP_S / (LENGTH * SPACING_M)
    for _ in range(2):
        end = simulation.particles()["cells"][END]
        assert (end != WAITING).sum() == pytest.approx(per_step * simulation.step_number, abs=1.0)
        assert (end == UNDER_WAY).sum() == pytest.approx(100, abs=3 if kelvin is None else 12)
        assert not (end == 1).any()
        simulation.advance(150)


def test_beads_enter_with_the_velocity_of_the_fluid():
    simulation = simulate(flow_of(TABLE | {"mass_kg": 1.0}), 100)
    columns = simulation.particles()["cells"]
    (new,) = np.flatnonzero((columns[END] == UNDER_WAY) & (columns[BORN] >= 98))
    assert 0.0 < columns[FLOW[0]][new] == pytest.approx(columns[VELOCITY[0]][new], rel=0.01)


def test_kinds_that_enter_have_their_mass_and_ids_of_their_own():
    kinds = [{"name": "heavy", "mass_kg": 4e-6}, {"name": "pair", "ids": [0, 1], "mass_kg": 2e-6}]
    inflow = [{"opening": "inlet", "count": 3, "rate_per_s": 9.0}, {"opening": "inlet", "count": 2, "rate_per_s": 1.0}]
    inflow[1]["kind"] = "heavy"
    places = [[3 * SPACING_M, 3 * SPACING_M, 0.0], [4 * SPACING_M, 3 * SPACING_M, 0.0]]
    simulation = simulate(flow_of(TABLE | {"kinds": kinds, "inflow": inflow, "positions_m": places}), 30)
    species, columns = simulation.physics[0].species[0], simulation.particles()["cells"]
    np.testing.assert_allclose(species.mass_kg, [2e-6, 2e-6, 1e-6, 1e-6, 1e-6, 4e-6, 4e-6])
    assert np.array_equal(columns["id"], np.arange(7)) and np.array_equal(species.topology.ids, np.arange(7))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"openings": "walls"}, "has inflow, and openings are walls to its beads; set openings = 'open'"),
        ({"coupling": "at-rest"}, "a fluid at rest carries none of them through"),
        ({"repulsion": {"energy_j": 1e-15, "diameter_m": 1e-3}}, "set repulsion.potential = 'soft'"),
        ({"inflow": None, "chains": 1, "beads_per_chain": 2, "bonds": {"stiffness_n_m": 1e-9}}, "would cut bonds"),
        ({"inflow": [{"opening": "inlet", "count": 1}]}, "rate_per_s"),
        ({"inflow": [{"opening": "door", "count": 1, "rate_per_s": 1.0}]}, "is 'door'; allowed: inlet, outlet"),
        ({"inflow": [{"opening": "inlet", "count": 1, "rate_per_s": 1.0, "kind": "x"}]}, "inflow.kind is 'x'; allowed"),
        ({"inflow": [{"opening": "outlet", "count": 1, "concentration_per_m3": 1.0}]}, "not constant, or not given"),
    ],
)
def test_what_cannot_pass_openings_is_refused(keys, message):
    table = {key: value for key, value in (TABLE | keys).items() if value is not None}
    with pytest.raises(InputError, match=message):
        simulate(flow_of(table))


@pytest.mark.parametrize("speed_m_s", [-SPEED_M_S, 0.0])
@pytest.mark.parametrize("measure", ["rate_per_s", "concentration_per_m3"])
def test_no_bead_enters_where_no_fluid_does(measure, speed_m_s):
    table = TABLE | {"inflow": [{"opening": "inlet", "count": 5, measure: 1e9}]}
    with pytest.raises(InputError, match=f"inflow.opening is 'inlet', and its velocity of {speed_m_s:g} m/s lets no"):
        simulate(open_channel(inlet={"velocity_m_s": speed_m_s}, particles=[table], walls=SLIP))


def test_beads_that_enter_seldom_wait():
    inflow = {"opening": "inlet", "count": 3, "rate_per_s": 1e-29}
    columns = simulate(flow_of(TABLE | {"inflow": [inflow]}), 2).particles()["cells"]
    assert np.array_equal(columns[END], [UNDER_WAY, WAITING, WAITING])


def test_a_run_goes_on_with_its_beads_and_rows_count_them(tmp_path):
    thermal = {"coupling": "both", "inflow": [TABLE["inflow"][0] | {"count": 120}]}
    case = flow_of(TABLE | thermal, fluid={"temperature_k": 1e-15 / BOLTZMANN_J_K})
    first = simulate(case, 150)
    write_checkpoint(checkpoint_path(tmp_path, 150), first, {})
    resumed = simulate(case)
    restore(tmp_path, resumed)
    for each in (first, resumed):
        each.advance(150)
    columns, again = (each.particles()["cells"] for each in (first, resumed))
    assert all(np.array_equal(values, again[name]) for name, values in columns.items())
    assert all(map(np.array_equal, first.populations(), resumed.populations()))
    (series,) = first.physics[0].observers(first, tmp_path, None)
    record = dict(zip(series.columns(), series.numbers(), strict=True))
    counts = [record[name] for name in ("waiting", "under_way", "inlet_left", "outlet_left")]
    assert sum(counts) == 120 and counts[2] == 0 and min(counts[1], counts[3]) > 0
