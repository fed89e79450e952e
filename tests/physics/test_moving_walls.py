"""Flows between a ring and a moving one around it keep their solution: no disturbance of period two grows at the walls.

The sums of (-1)^(x+t) j_x and (-1)^(y+t) j_y are conserved by every collision; only walls can change them.
"""

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.wall_motion import FASTEST_STAIRS
from muphy_lb.operators import WALL_RULES, wall_coefficients
from muphy_lb.validation.case import Settings
from muphy_lb.validation.flows import lattice_simulation, over_two_steps

SPEED, PERIOD, CENTRE = 0.1, 400, (0.137, -0.23)
INNER, OUTER, HALF_BOX = 4.3, 10.7, 12
TURN = {"rotation_rad_s": [0.0, 0.0, SPEED / OUTER]}
MOTIONS = {
    "turning": ("D2Q9", TURN),
    "oscillating": ("D2Q9", TURN | {"waveform": {"period_s": PERIOD, "cosine": [1.0]}}),
    "sliding": ("D3Q19", {"velocity_m_s": [0.0, 0.0, SPEED]}),
}
KEPT = [(rule, True) for rule in WALL_RULES]
LOST = [(rule, False) for rule in WALL_RULES if rule != "half-way"]
CASES = [(motion, *way) for motion in MOTIONS for way in (KEPT if motion == "oscillating" else KEPT + LOST)]


def every(test):
    """The test of every motion, rule, balance and collision."""
    of_collisions = pytest.mark.parametrize("collision", ["trt", "bgk", "mrt", "recursive-regularised"])
    return pytest.mark.parametrize(("motion", "rule", "balance"), CASES)(of_collisions(test))


def ring(motion, rule, collision="trt", balance=True, viscosity=0.05, equilibrium="compressible"):
    """A ring of fluid, at rest, whose outer wall moves."""
    centre = [HALF_BOX + CENTRE[0], HALF_BOX + CENTRE[1], 0.0]
    options = {"inner": INNER, "outer": OUTER, "centre_offset": list(CENTRE)}
    lattice, moving = MOTIONS[motion]
    method = {"name": lattice, "walls": rule, "wall_balance": balance, "equilibrium": equilibrium}
    walls = [{"name": "inner", "centre_m": centre}, {"name": "outer", "centre_m": centre, **moving}]
    geometry, settings = {"shape": "annulus", "options": options}, Settings(backend="cpu")
    return lattice_simulation(settings, geometry, viscosity, lattice=method | {"collision": collision}, walls=walls)


def load(simulation) -> float:
    """What drives the inner wall: torque about z plus force along z."""
    inner = simulation.wall_forces(averaged=False)["inner"]
    return inner.torque_n_m[2] + inner.force_n[2]


def staggered(simulation) -> np.ndarray:
    """(2,) sums of (-1)^x j_x and (-1)^y j_y."""
    domain = simulation.domain
    sign = 1 - 2 * (simulation.nodes.coordinates()[domain.number, :2].astype(int) % 2)
    momentum = np.tensordot(domain.lattice.c[:, :2], simulation.engine.populations().astype(float), (0, 0))
    return (sign.T * momentum).sum(axis=1)


@pytest.mark.pairs
@every
def test_a_disturbance_of_period_two_does_not_grow(motion, rule, balance, collision):
    simulation, twin = (ring(motion, rule, collision, balance) for _ in range(2))
    for each in (simulation, twin):
        each.step(1000)
    domain = simulation.domain
    sign = 1 - 2 * (simulation.nodes.coordinates()[domain.number, 0].astype(int) % 2)
    wave = 1e-4 * np.outer(domain.lattice.w * domain.lattice.c[:, 0], sign)
    simulation.engine.set_populations(simulation.engine.populations() + wave)
    before = staggered(simulation) - staggered(twin)
    for each in (simulation, twin):
        each.step(2000)
    ratio = np.linalg.norm(staggered(simulation) - staggered(twin)) / np.linalg.norm(before)
    assert ratio == pytest.approx(1.0, abs=1e-6) if rule == "half-way" else ratio < 0.9


@pytest.mark.night
@every
def test_the_load_stays_for_a_hundred_thousand_steps(motion, rule, balance, collision):
    simulation = ring(motion, rule, collision, balance)
    noise = np.random.default_rng(1).normal(scale=1e-3, size=(3, simulation.nodes.n_nodes))
    simulation.engine.start_from(np.ones(1), noise * (simulation.domain.lattice.c.any(axis=0) > 0)[:, None])
    loads = []
    for n_steps in (10 * PERIOD, 250 * PERIOD):
        simulation.step(n_steps - 1)
        loads.append(over_two_steps(simulation, lambda: load(simulation)))
    assert loads[1] == pytest.approx(loads[0], rel=5e-3)


@pytest.mark.parametrize("rule", ["bouzidi", "central-linear"])
def test_an_oscillating_wall_needs_the_balance_of_mass(rule):
    with pytest.raises(InputError, match=r"walls.outer: it has a waveform, .* set lattice.wall_balance = true"):
        ring("oscillating", rule, balance=False)


def test_central_linear_is_itself_where_walls_rest_and_bouzidi_where_they_are_fast():
    distance, momentum = np.array([0.1, 0.5, 0.9]), np.array([1.0, -2.0, 3.0])
    linear, bouzidi = (wall_coefficients(rule, distance, momentum) for rule in ("central-linear", "bouzidi"))
    assert np.array_equal(wall_coefficients("central-linear", distance, momentum, reynolds=100.0), bouzidi)
    damped = wall_coefficients("central-linear", distance, momentum, reynolds=np.array([0.0, 1.0, 2.0]))
    assert np.allclose(damped, linear + [0.0, 0.05, 0.1] * (bouzidi - linear), rtol=1e-14)


@pytest.mark.parametrize("motion", ["turning", "sliding"])
def test_half_way_stairs_that_move_too_fast_for_the_viscosity_are_refused(motion):
    slow, fast = (SPEED / (factor * FASTEST_STAIRS) for factor in (0.95, 1.05))
    ring(motion, "half-way", viscosity=1.3 * slow)
    for rule, equilibrium in (("bouzidi", "compressible"), ("half-way", "stokes")):
        ring(motion, rule, viscosity=0.5 * fast, equilibrium=equilibrium)
    if motion == "sliding":
        ring(motion, "half-way", viscosity=0.5 * fast)
        return
    with pytest.raises(InputError, match=r"walls.outer: the cell Reynolds number .* above 10, .* 'bouzidi'"):
        ring(motion, "half-way", viscosity=0.5 * fast)
