"""What a temperature obeys beside any flow: exact differences, conduction, backends, ranks, symmetry."""

from dataclasses import replace

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import FP32
from muphy_lb.domain import FIXED, FLUX, OUTFLOW, STREAMINGS, ScalarBoundary, build_local_domain, build_stencil
from muphy_lb.lattice import D2Q5, D2Q9, D3Q7, D3Q15, D3Q19
from muphy_lb.operators import VELOCITY_FIELDS, mrt_for
from muphy_lb.physics.thermal.model import DIFFERENCES, POPULATION_METHOD, Heat
from muphy_lb.physics.thermal.model import METHODS as thermal_methods
from muphy_lb.physics.thermal.operators.finite_differences import difference_weights
from muphy_lb.physics.thermal.operators.scalar_distribution import FIELDS, RATES, scalar_collision
from tests.laws.walled import walled_nodes
from tests.support import THROUGH_FLOW, advance, random_nodes, random_owner
from tests.thermal import (
    BETWEEN,
    COLD,
    HOT,
    ThermalSetup,
    between_walls,
    cavity_engine,
    cavity_setup,
    heat,
    temperature,
    thermal_state,
)

pytestmark = pytest.mark.pairs

LATTICES = pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
KINDS = pytest.mark.parametrize(
    ("lattice", "streaming"), [(D2Q9, "pull"), *((D3Q19, streaming) for streaming in STREAMINGS)]
)
METHODS = pytest.mark.parametrize("method", thermal_methods)
# Two labelled walls, all others, an inlet and an outlet.
MIXED = ScalarBoundary(np.array([FIXED, FLUX, FLUX, FIXED, OUTFLOW]), np.array([0.3, 0.01, 0.0, -0.2, 0.0]), n_walls=2)
OPEN = ScalarBoundary(np.array([FIXED, FIXED, OUTFLOW]), np.array([0.3, -0.2, 0.0]), n_walls=0)


@LATTICES
def test_the_differences_are_exact_for_polynomials(lattice):
    laplacian, gradient = difference_weights(lattice)
    x, y, _ = lattice.c.T
    assert np.allclose(
        (laplacian.sum(), laplacian @ x, laplacian @ x**2, laplacian @ (x * y)), (0, 0, 2, 0), atol=1e-14
    )
    assert np.allclose(gradient @ np.ones(lattice.q), 0, atol=1e-14)
    assert np.allclose(gradient @ x, (1, 0, 0), atol=1e-14) and np.allclose(gradient @ (x * y), 0, atol=1e-14)


def test_other_lattices_have_no_differences():
    with pytest.raises(InputError, match="D3Q15"):
        difference_weights(D3Q15)


@METHODS
@pytest.mark.parametrize("backend", ["numpy", "cpu"])
@LATTICES
def test_heat_is_conducted_along_a_straight_line(lattice, backend, method):
    shape = (1, 4, 6) if lattice.dimension == 2 else (3, 4, 6)
    nodes = between_walls(shape)
    setup = ThermalSetup(lattice, backend=backend, heat=Heat(0.08, (0.0, 0.0, 0.0), BETWEEN, method))
    engine = advance(cavity_engine(nodes, setup), 2500)
    x = nodes.coordinates()[engine.domain.number, 0]
    assert np.abs(temperature(engine) - (COLD + (HOT - COLD) * (x - 0.5) / 6)).max() < 1e-12


def noisy_setup(lattice, boundary, method=DIFFERENCES, **more):
    buoyancy = (1e-4, 3e-4, 0.0 if lattice.dimension == 2 else 2e-4)
    return ThermalSetup(lattice, heat=Heat(0.06, buoyancy, boundary, method), **more)


@METHODS
@KINDS
def test_ranks_agree_with_one_bit_by_bit(lattice, streaming, method):
    nodes = random_nodes(lattice)
    setup = noisy_setup(lattice, OPEN, method, backend="cpu", streaming=streaming, conditions=THROUGH_FLOW)
    alone = thermal_state(nodes, setup, np.zeros(nodes.n_nodes, int))
    shared = thermal_state(nodes, setup, random_owner(nodes, 3))
    assert np.array_equal(alone[0], shared[0]) and np.array_equal(alone[1], shared[1])
    assert np.isfinite(alone[1]).all() and np.abs(alone[1]).max() > 1e-3


@pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@METHODS
@KINDS
def test_compiled_code_agrees_with_the_specification(lattice, streaming, backend, method):
    nodes = walled_nodes(lattice, periodic=(False, True, False))
    setup, everywhere = noisy_setup(lattice, MIXED, method, streaming=streaming), np.zeros(nodes.n_nodes, int)
    specified = thermal_state(nodes, setup, everywhere)
    compiled = thermal_state(nodes, replace(setup, backend=backend), everywhere)
    assert np.abs(specified[0] - compiled[0]).max() < 1e-14
    assert np.abs(specified[1] - compiled[1]).max() < 1e-13 and np.abs(specified[1]).max() > 1e-2


@LATTICES
def test_every_stencil_entry_leads_to_a_neighbour_or_to_an_extrapolated_value(lattice):
    nodes = walled_nodes(lattice)
    domain = build_local_domain(nodes, np.zeros(nodes.n_nodes, int), 0, lattice)
    table = build_stencil(domain, lattice.c[1:], MIXED)
    plain, fluid = table.plain()[:, : domain.n_nodes], domain.neighbours(lattice.c[1:], slice(None))
    assert np.array_equal(plain[fluid >= 0], fluid[fluid >= 0])
    beyond = plain[fluid < 0]
    assert (
        (beyond >= table.first_extrapolated) | (beyond < domain.n_nodes)
    ).all() and beyond.max() == table.n_slots - 1


@METHODS
def test_a_cavity_is_symmetric_about_its_centre_and_loses_what_it_gains(method):
    size = 12
    engine = advance(cavity_engine(between_walls((size,) * 3), cavity_setup(D3Q19, size, 1e4, method=method)), 1500)
    found = np.empty((4, size**3))
    found[:, engine.domain.number] = np.stack((temperature(engine), *engine.moments()[1:]))
    assert np.abs(found + found[:, ::-1]).max() < 1e-13 and np.abs(found[3]).max() > 1e-2


def test_a_closed_cavity_of_populations_keeps_its_heat():
    nodes, n_steps = walled_nodes(D3Q19), 300
    closed = ScalarBoundary(np.array([FLUX, FLUX, FLUX]), np.zeros(3), n_walls=2)
    setup = noisy_setup(D3Q19, closed, POPULATION_METHOD, backend="cpu")
    engine = cavity_engine(nodes, setup)
    heat(engine, setup, 0.1 * np.random.default_rng(5).standard_normal(nodes.n_nodes) + 1.0)
    before = temperature(engine).sum()
    after = temperature(advance(engine, n_steps))
    assert abs(after.sum() / before - 1.0) < 1e-14 and np.ptp(after) < 0.3
    assert np.abs(engine.moments()[1:]).max() > 1e-4


@pytest.mark.parametrize("lattice", [D2Q5, D3Q7], ids=lambda lattice: lattice.name)
def test_in_single_precision_a_node_keeps_its_heat_to_the_rounding_of_one_number(lattice):
    n, rng = 200, np.random.default_rng(1)
    near_equilibrium = (1.0 + rng.uniform(-0.02, 0.02, (lattice.q, n))) * lattice.w[:, None]
    before = (rng.uniform(-0.5, 0.5, n) * near_equilibrium).astype(np.float32)
    operator, after = scalar_collision(lattice), before.copy()
    written = {name: np.zeros(n, np.float32) for name in FIELDS}
    given = {name: rng.uniform(-0.1, 0.1, n).astype(np.float32) for name in VELOCITY_FIELDS}
    values = written | given | {"offset": np.float32(0.0)} | dict.fromkeys(RATES, np.float32(1.3))
    collide = operator.compile(lattice, FP32, lambda function: function)
    for k in range(n):
        populations = list(before[:, k])
        collide(populations, k, tuple(values[parameter.name] for parameter in operator.parameters))
        after[:, k] = populations
    lost = np.abs(after.sum(axis=0, dtype=np.float64) - before.sum(axis=0, dtype=np.float64))
    assert (lost <= 1.1 * np.spacing(np.abs(after[0])) / 2.0).all() and lost.any()


def test_populations_and_flow_do_not_drive_each_other_from_step_to_step():
    """Lifted by the temperature of the step before, what alternates in time grows by 1e-4 a step."""
    size = 10
    setup = cavity_setup(D3Q19, size, 1e4, method=POPULATION_METHOD)
    engine = advance(cavity_engine(between_walls((size,) * 3), setup), 5000)
    before = temperature(engine).copy()
    assert np.abs(temperature(advance(engine, 1)) - before).max() < 1e-11


@pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_temperature_in_the_energy_is_compiled_as_it_is_specified(backend):
    nodes = walled_nodes(D2Q9)
    everywhere = np.zeros(nodes.n_nodes, int)
    plain = noisy_setup(D2Q9, MIXED)
    coupled = replace(plain, heat=replace(plain.heat, energy=0.05))
    setups = coupled, replace(coupled, backend=backend), plain
    specified, compiled, without = (thermal_state(nodes, setup, everywhere)[0] for setup in setups)
    assert np.abs(specified - compiled).max() < 1e-14 < 1e-5 < np.abs(specified - without).max()


def test_temperature_in_the_energy_is_a_57th_of_it_in_the_pressure():
    """At rest the pressure is uniform, so that the density is lower by 3 T / 57 where it is warm, away from walls."""
    nodes = between_walls((2, 2, 24), periodic=(False, True, True))
    relaxation, rates = mrt_for(D3Q19)
    heat = Heat(0.08, (0.0, 0.0, 0.0), BETWEEN, energy=0.02)
    setup = ThermalSetup(D3Q19, backend="cpu", rates=(1.25, *rates), relaxation=relaxation, heat=heat)
    engine = advance(cavity_engine(nodes, setup), 20000)
    density, *velocity = engine.moments()
    x = nodes.coordinates()[engine.domain.number, 0]
    low, high = x == 12, x == 13
    rises = [values[high].mean() - values[low].mean() for values in (density, temperature(engine))]
    assert np.isclose(rises[0] / rises[1], -0.02 / 19, rtol=1e-6) and np.abs(velocity).max() < 1e-15


def test_a_flux_through_a_wall_is_what_the_fluid_gains():
    boundary, n_steps = ScalarBoundary(np.array([FLUX, FLUX, FLUX]), np.array([0.02, 0.0, 0.0]), n_walls=2), 50
    nodes = between_walls((3, 4, 6))
    setup = ThermalSetup(D3Q19, backend="cpu", heat=Heat(0.08, (0.0, 0.0, 0.0), boundary, POPULATION_METHOD))
    engine = advance(cavity_engine(nodes, setup), n_steps)
    assert np.isclose(temperature(engine).sum(), n_steps * 12 * 0.08 * 0.02, rtol=1e-12)


@pytest.mark.parametrize(("size", "published"), [(16, 1.9747)])
def test_the_cavity_at_rayleigh_1e4_has_the_nusselt_number_of_its_resolution(size, published):
    """PHYSICS table 6.6: an independent program with the same grid; its wall gradient is one-sided, Eq. (24)."""
    nodes = between_walls((size,) * 3)
    engine = advance(cavity_engine(nodes, cavity_setup(D3Q19, size, 1e4)), 4000)
    x, t = nodes.coordinates()[engine.domain.number, 0], temperature(engine)
    slope = (-8.0 * COLD + 9.0 * t[x == 1].mean() - t[x == 2].mean()) / 3.0
    assert abs(size * slope / (HOT - COLD) / published - 1.0) < 2e-3


@pytest.mark.parametrize("diffusivity", [0.0, 0.084])
def test_an_unstable_diffusivity_is_refused(diffusivity):
    with pytest.raises(InputError, match="allowed: above 0 and below 1/12"):
        ThermalSetup(D3Q19, heat=Heat(diffusivity, (0.0, 0.0, 0.0), BETWEEN)).model()
