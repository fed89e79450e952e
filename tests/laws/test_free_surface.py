"""A free surface: mass is kept, cells turn without a race, and nothing depends on ranks, on gas, or on the backend."""

import numpy as np
import pytest

from muphy_lb.base.precision import FP32, FP64
from muphy_lb.boundaries.opening_geometry import Condition
from muphy_lb.boundaries.profiles import parabolic
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.operators import PRESSURE, VELOCITY
from muphy_lb.physics.free_surface import capillarity
from muphy_lb.physics.free_surface.capillarity import PARABOLOID, TENSION, curvature, plane_distance, turned
from muphy_lb.physics.free_surface.cells import (
    CELL,
    FILL,
    GAS,
    INTERFACE,
    LIQUID,
    MASS,
    OPENING,
    SHORE,
    WALL,
    is_liquid,
)
from muphy_lb.physics.free_surface.cut import cut_means
from muphy_lb.physics.free_surface.operators import wet_shares
from muphy_lb.physics.free_surface.start import BoxRegion, InitialLiquid, LevelRegion, sphere_region
from muphy_lb.validation.case import Settings
from muphy_lb.validation.free_surface.drops import by_rayleigh, drop
from muphy_lb.validation.free_surface.liquids import columns, fill_with, liquid_flow
from muphy_lb.validation.free_surface.oscillations import OF_GRAVITY, Wave, WaveRegion, _measured, amplitudes
from tests.free_surface import SurfaceSetup, Tank, tank
from tests.support import THROUGH_FLOW, random_nodes, random_owner, random_voxels, with_openings

AT_REST = np.zeros(3)
SPLASH = {D2Q9: ((1, 24, 40), (0.0, -2e-4, 0.0)), D3Q19: ((8, 12, 16), (1e-4, -3e-4, 5e-5))}
EVERY_LATTICE = pytest.mark.parametrize("lattice", SPLASH, ids=lambda lattice: lattice.name)
BACKENDS = pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
# Sums of rounding errors of some hundred steps, over the mass.
KEPT = {FP64: 1e-13, FP32: 1e-6}
# Difference of a splash from the specification: roundings grow tenfold in forty steps, those of a GPU are other ones
# (1.4e-13 on an H200).
ROUNDED = {"cpu": 1e-13, "cuda": 5e-13}
TENSE = {"capillarity": PARABOLOID, "of_capillarity": {TENSION: 0.01}}


def splash(lattice, owner=None, solid=0.1, kind=SurfaceSetup, **changes) -> Tank:
    """A column and a drop that falls, in a tank with obstacles."""
    shape, force = SPLASH[lattice]
    setup = kind(lattice, rates=(1.9,), force=force, **changes)
    nodes = tank(shape, solid)
    owner = None if owner is None else random_owner(nodes, owner)
    nz, ny, nx = shape
    column = BoxRegion(AT_REST, np.full(3, -1.0), np.array([0.3 * nx, 0.62 * ny, nz]))
    drop = sphere_region(np.array([0.0, -0.05, 0.0]), np.array([0.7 * nx, 0.6 * ny, (nz - 1) / 2]), 2.8)
    return Tank(nodes, setup, [column, drop], owner)


def deviation(specified: Tank, found: Tank) -> float:
    """Largest difference of fields and populations of equal cells after 30 steps."""
    for each in (specified, found):
        each.ranks.step(30)
    assert np.array_equal(specified.field(CELL), found.field(CELL))
    is_wet = specified.field(CELL) != GAS
    populations = (specified.ranks.populations() - found.ranks.populations())[:, is_wet]
    fields = [specified.field(name) - found.field(name) for name in (MASS, FILL)]
    return max(float(np.abs(each).max()) for each in (*fields, populations))


@EVERY_LATTICE
@BACKENDS
def test_backends_follow_the_specification(lattice, backend):
    assert deviation(splash(lattice, **TENSE), splash(lattice, backend=backend, **TENSE)) < ROUNDED[backend]


@pytest.mark.parametrize(
    ("lattice", "precision"),
    [
        pytest.param(D2Q9, FP64, id="D2Q9-fp64"),
        pytest.param(D2Q9, FP32, id="D2Q9-fp32"),
        pytest.param(D3Q19, FP32, id="D3Q19-fp32", marks=pytest.mark.night),
    ],
)
@BACKENDS
def test_mass_is_kept_and_liquid_never_touches_gas(lattice, precision, backend):
    flow = splash(lattice, backend=backend, precision=precision)
    before, cells = flow.mass(), flow.field(CELL)
    for _ in range(40):
        flow.ranks.step(10)
        assert flow.bad() == 0 and flow.is_between_steps()
    assert abs(flow.mass() / before - 1.0) < KEPT[precision]
    assert flow.counted() == pytest.approx(flow.mass(), rel=1e-6)
    assert (flow.field(CELL) != cells).mean() > 0.05


@EVERY_LATTICE
@BACKENDS
def test_ranks_change_no_bit(lattice, backend):
    states = []
    for n_ranks in (1, 3):
        flow = splash(lattice, owner=n_ranks, backend=backend, **TENSE)
        flow.ranks.step(150)
        states.append(flow.state())
    assert states[0] == states[1]


IN_PLACE = [
    pytest.param(D2Q9, 1, FP64, {}, id="1-D2Q9"),
    pytest.param(D2Q9, 3, FP64, {}, id="3-D2Q9"),
    pytest.param(D3Q19, 1, FP64, TENSE, id="1-D3Q19-tension"),
    pytest.param(D3Q19, 3, FP64, TENSE, id="3-D3Q19-tension"),
    pytest.param(D3Q19, 3, FP32, {}, id="3-D3Q19-fp32", marks=pytest.mark.night),
]
"""As far as they go, with the kernels by pull of other tests: compilation takes longest."""


@pytest.mark.parametrize(("lattice", "n_ranks", "precision", "tension"), IN_PLACE)
@BACKENDS
def test_in_place_streaming_changes_no_bit(lattice, n_ranks, precision, tension, backend):
    states = []
    for streaming in ("pull", "aa"):
        flow = splash(lattice, n_ranks, backend=backend, precision=precision, streaming=streaming, **tension)
        flow.ranks.step(101)
        states.append(flow.state())
    assert states[0] == states[1]


@pytest.mark.parametrize(
    "precision", [pytest.param(FP64, id="fp64", marks=pytest.mark.night), pytest.param(FP32, id="fp32")]
)
def test_the_specification_changes_no_bit_on_ranks(precision):
    """Cells that turn take moments of neighbours, which are rounded on their way from another rank."""
    states = []
    for n_ranks in (1, 3):
        flow = splash(D2Q9, owner=n_ranks, precision=precision)
        flow.ranks.step(60)
        states.append(flow.state())
    assert states[0] == states[1]


@BACKENDS
def test_what_lies_in_gas_is_read_by_nobody(backend):
    states = []
    for garbage in (0.0, 1e30):
        flow = splash(D2Q9, backend=backend)
        is_gas = flow.field(CELL) == GAS
        flow.ranks.set_populations(np.where(is_gas, garbage, np.zeros((D2Q9.q, 1))))
        flow.ranks.step(100)
        states.append(flow.state())
    assert states[0] == states[1]


def test_cells_without_anyone_to_take_it_keep_what_they_have_too_much_of():
    """Four voxels, all of them interface, all filled at once."""
    flow = Tank(tank((1, 2, 2)), SurfaceSetup(D2Q9), [BoxRegion(AT_REST, np.full(3, -0.5), np.array([2.0, 0.25, 0.5]))])
    (engine,) = flow.ranks.engines
    engine.fields.set(CELL, np.full(4, INTERFACE, np.uint8))
    engine.fields.set(MASS, np.full(4, 0.995))
    flow.ranks.step(1)
    assert flow.field(CELL).tolist() == [LIQUID] * 4
    assert flow.mass() == pytest.approx(3.98, abs=1e-14) == flow.counted()


def test_liquid_at_rest_stays_at_rest():
    gravity, level = 1e-5, 20.5
    nodes = tank((1, 30, 12), periodic=(True, False, False))
    surface = LevelRegion(AT_REST, level - 0.5, np.array([0.0, 1.0, 0.0]))
    flow = Tank(nodes, SurfaceSetup(D2Q9, backend="cpu", rates=(1.0,), force=(0.0, -gravity, 0.0)), [surface])
    height = nodes.coordinates()[:, 1]
    hydrostatic = np.where(height < level, 3.0 * gravity * (level - 0.5 - height), 0.0)
    flow.ranks.set_populations(D2Q9.w[:, None] * np.maximum(hydrostatic, 0.0))
    flow.ranks.step(8000)
    moments, cell = flow.moments(), flow.field(CELL)
    assert (np.abs(height[cell == INTERFACE] - 20.0) < 0.1).all()
    assert np.abs(flow.field(FILL)[cell == INTERFACE] - 0.5).max() < 0.01
    gradient = np.diff(moments[0].reshape(30, 12)[:20], axis=0)
    assert np.abs(gradient / (-3.0 * gravity) - 1.0).max() < 1e-4
    assert np.abs(moments[1:]).max() < 1e-8


def test_a_drop_falls_freely():
    gravity, n_steps = 2e-5, 200
    nodes = tank((1, 60, 40))
    drop = sphere_region(AT_REST, np.array([20.3, 40.1, 0.0]), 9.0)
    flow = Tank(nodes, SurfaceSetup(D2Q9, backend="cpu", rates=(1.5,), force=(0.0, -gravity, 0.0)), [drop])
    flow.ranks.step(n_steps)
    is_liquid, velocity = flow.field(CELL) == LIQUID, flow.moments()[1:]
    assert velocity[1][is_liquid].mean() / (-gravity * n_steps) == pytest.approx(1.0, abs=0.01)
    assert np.abs(velocity[0][is_liquid]).max() < 1e-3 * gravity * n_steps


def test_a_drop_has_the_pressure_of_laplace():
    radius, tension = 8.3, 1e-3
    nodes, centre = tank((1, 26, 26)), np.array([12.6, 12.4, 0.0])
    drop = sphere_region(AT_REST, centre, radius)
    of_capillarity = {TENSION: 6.0 * tension}
    setup = SurfaceSetup(D2Q9, backend="cpu", rates=(1.0,), capillarity=PARABOLOID, of_capillarity=of_capillarity)
    flow = Tank(nodes, setup, [drop])
    flow.ranks.step(3000)
    moments = flow.moments()
    inside = np.linalg.norm(nodes.coordinates() - centre, axis=1) < 0.5 * radius
    expected = 3.0 * tension / np.sqrt(flow.mass() / np.pi)
    assert moments[0][inside].mean() / expected == pytest.approx(1.0, abs=0.05)
    assert np.abs(moments[1:]).max() < 1e-3


@pytest.mark.parametrize("length", [5, pytest.param(7, marks=pytest.mark.night)])
def test_the_shortest_waves_of_surface_tension_decay_as_viscosity_asks(length):
    """At a relaxation time of 0.505, where a pressure that acts a step late feeds them: without its extrapolation these
    grew, or did not decay."""
    wave = Wave(length, 1e-3, 1 / 600, tension=1e-2)
    first, *_, last = np.split(amplitudes(wave, Settings(backend="cpu"), 64, 5), 4)
    rate = np.log(np.linalg.norm(first) / np.linalg.norm(last)) / (0.75 * 64 * 5)
    assert rate == pytest.approx(wave.damping, rel=0.1)


def test_a_high_wave_of_surface_tension_is_damped_as_theory_says():
    """By 1.32 of it with shares of faces that moved oblique surfaces unevenly."""
    omega, damping, theory, *_ = _measured(Wave(64, 4.0, 1 / 600, tension=1e-2), Settings(backend="cpu"))
    assert omega / theory[0] == pytest.approx(1.0, abs=0.01)
    assert damping / theory[1] == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.9])
def test_a_layer_under_surface_tension_becomes_level(share):
    """Where it is almost empty, even shares are below 0, and waves of two voxels grew a thousandfold at a relaxation
    time of 0.502, also with 0 for these; with half of the pressure across each link they decay."""
    geometry = {"shape": "channel", "options": {"length": 32, "height": 16}}
    simulation = liquid_flow(Settings(backend="cpu"), geometry, 1 / 1500, tension=1e-2)
    fill_with(simulation, WaveRegion(AT_REST, 8.5 + share, Wave(32 / 15, 1e-4, 1 / 1500)))
    before = columns(simulation).std()
    simulation.step(1000)
    assert columns(simulation).std() < 0.1 * before


@pytest.mark.parametrize("collision", ["bgk", "trt", "regularised", "recursive-regularised"])
def test_a_wave_stands_at_a_plane_of_symmetry_as_beside_it(collision):
    """Between walls the column beside one lags, since its liquid sticks, and the more, the thinner that layer is and
    the less the collision places the wall; the surface itself does as well with all of them."""
    wave = Wave(32, 1.0, 1e-3, gravity=1e-4)
    geometry, lattice = {"shape": "channel", "options": {"length": 32, "height": 22}}, {"collision": collision}
    force = (0.0, -wave.gravity, 0.0)
    simulation = liquid_flow(Settings(backend="cpu"), geometry, wave.viscosity, force, lattice=lattice)
    level = wave.depth + 0.5
    region = WaveRegion(AT_REST, level, wave)
    fill_with(simulation, region, lambda place: 3.0 * wave.gravity * np.maximum(level - place[:, 1], 0.0))
    simulation.step(round(np.pi / wave.frequency))
    risen = columns(simulation) - wave.depth
    assert np.abs(risen[:16] - risen[:15:-1]).max() < 1e-9
    assert risen[:2] == pytest.approx([-0.84, -0.82], abs=0.01)
    assert risen[15:13:-1] == pytest.approx([1.06, 1.02], abs=0.02)


@pytest.mark.parametrize(("amplitude", "far"), [(0.5, 0.01), (2.0, 0.03)])
def test_a_gravity_wave_of_a_small_viscosity_swings_as_theory_says(amplitude, far):
    """Cells that turn damped it by as much as a viscosity of 5e-4 before cells were completed where they are wet. Waves
    swing slower by (k a)^2 / 8, here with the amplitude a that is left (mean since the start)."""
    wave = Wave(64, amplitude, 0.001, gravity=1e-4)
    interval = round(2.0 * np.pi / wave.frequency / 20)
    found, time = amplitudes(wave, Settings(backend="cpu"), 50, interval), interval * np.arange(1.0, 51.0)
    decayed = -np.expm1(-2.0 * wave.damping * time) / (2.0 * wave.damping * time)
    exact = wave.amplitudes(time * (1.0 - OF_GRAVITY * (wave.number * amplitude) ** 2 * decayed))
    assert np.sqrt(((found - exact) ** 2).mean()) < far


def test_an_oscillating_drop_is_damped_as_theory_says():
    """Cells that are all but full or empty were missing from the curvature: its jumps damped larger drops by a third
    more, and smaller ones by a fifth."""
    found, damping, theory, _ = by_rayleigh(12, Settings(backend="cpu"), "D2Q9")
    assert found / theory[0] == pytest.approx(1.0, abs=0.03)
    assert damping / theory[1] == pytest.approx(1.0, abs=0.1)


@pytest.mark.night
def test_an_oscillating_drop_in_space_is_damped_as_theory_says():
    """By 1.27 of it before the change of the curvature counted by the width of what the plane of a cell cuts off."""
    found, damping, theory, _ = by_rayleigh(8, Settings(backend="cpu"))
    assert found / theory[0] == pytest.approx(1.0, abs=0.04)
    assert damping / theory[1] == pytest.approx(1.1, abs=0.1)


def test_surfaces_that_move_pump_no_sound():
    """What a dry cell holds enters the liquid when it becomes wet. Unless it is the pressure there, sound of two
    voxels grew 38 times in 1,000 steps in a layer that flies at 0.1."""
    slab = {"box_m": [[-1.0, 20.5, -1.0], [9.0, 40.8, 1.0]], "velocity_m_s": [0.0, 0.1, 0.0]}
    geometry = {"shape": "channel", "options": {"length": 8, "height": 200}}
    simulation = liquid_flow(Settings(backend="cpu"), geometry, 0.0015, liquid=[slab])
    layer = simulation.nodes.coordinates()[:, 1].astype(int)
    noise = 1e-3 * np.random.default_rng(1).standard_normal(202)[layer]
    simulation.engine.start_from(1.0 + noise, np.nan_to_num(simulation.velocity_m_s()).T.copy())
    simulation.step(1000)
    assert np.std(simulation.density()[is_liquid(simulation.model_field(CELL))]) < 3e-4


def test_the_pressure_of_a_drop_at_rest_does_not_ring():
    """At a relaxation time of 0.505 it swung by a quarter."""
    radius, tension = 12.0, 0.01
    simulation = drop(radius, 1.0, tension, 1 / 600, Settings(backend="cpu"), "D2Q9")
    place, pressure = simulation.nodes.coordinates()[:, :2], []
    inside = np.linalg.norm(place - place.mean(axis=0), axis=1) < 0.5 * radius
    simulation.step(2000)
    for _ in range(15):
        simulation.step(203)
        pressure.append((simulation.density()[inside] - 1.0).mean() * radius / (3.0 * tension))
    assert np.mean(pressure) == pytest.approx(1.0, abs=0.01) and np.std(pressure) < 0.01


@pytest.mark.parametrize("precision", KEPT, ids=lambda precision: precision.name)
@pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
def test_even_shares_are_equal_from_both_ends_of_a_link(lattice, precision):
    """To the last bit, or the mass would not be kept: beside walls, openings, liquid and gas, also of cells that are
    full or empty."""
    random, shape = np.random.default_rng(3), (1, 12, 12) if lattice is D2Q9 else (6, 6, 6)
    size = np.prod(shape)
    cell = random.choice([INTERFACE] * 5 + [WALL, OPENING, LIQUID, SHORE, GAS], size).astype(np.uint8)
    fill = np.where(random.random(size) < 0.3, random.choice([0.0, 1.0, 1e-9, 0.5], size), random.random(size))
    fill, places = fill.astype(precision.real), np.indices(shape)[::-1].reshape(3, -1).T
    beside = ((places + lattice.c[1:, None].astype(int)) % shape[::-1]).T
    neighbours = np.ravel_multi_index(tuple(beside[::-1]), shape).T
    surface = np.flatnonzero(cell == INTERFACE)
    shares, around = np.full((lattice.q - 1, size), np.nan), neighbours[:, surface]
    of_nodes = shares.copy()
    shares[:, surface] = wet_shares.even(fill[surface], cell[around], fill[around], lattice)
    of_node = wet_shares.even_node(lattice, precision, lambda function: function)
    found = [of_node(fill[n], cell[neighbours[:, n]], fill[neighbours[:, n]]) for n in surface]
    of_nodes[:, surface] = np.transpose(found)
    for k, back in enumerate(lattice.opposite[1:] - 1):
        ends = surface[cell[neighbours[k, surface]] == INTERFACE]
        for each in (shares, of_nodes):
            assert np.array_equal(each[k, ends], each[back, neighbours[k, ends]])
        assert np.abs(shares[k, ends] - of_nodes[k, ends]).max() < {FP64: 1e-12, FP32: 1e-5}[precision]


def test_a_plane_cuts_off_the_share_that_it_was_made_for():
    random = np.random.default_rng(4)
    normal = random.normal(size=(3, 60))
    normal[:, :6] = np.concatenate((np.eye(3), -np.eye(3)), axis=1)
    normal[2, 6:20] = 0.0
    normal /= np.linalg.norm(normal, axis=0)
    fill = random.random(60)
    steps = (np.arange(40) + 0.5) / 40 - 0.5
    place = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    measured = (place @ normal < plane_distance(fill, normal)).mean(axis=0)
    assert np.abs(measured - fill)[6:].max() < 5e-3 and np.abs(measured - fill)[:6].max() < 0.02


def test_the_means_over_the_polygon_in_which_a_plane_cuts_a_voxel():
    random = np.random.default_rng(6)
    normal = np.concatenate((np.eye(3), random.normal(size=(3, 20))), axis=1)
    normal[2, 3:9] = 0.0
    normal /= np.linalg.norm(normal, axis=0)
    distance = plane_distance(0.02 + 0.96 * random.random(23), normal)
    first, second = turned(normal, random.normal(size=normal.shape))
    x, y = (np.stack(np.meshgrid(*2 * [np.linspace(-0.9, 0.9, 901)])) + 1e-4).reshape(2, -1)
    for k, found in enumerate(cut_means(normal, distance, first, second).T):
        place = normal[:, k, None] * distance[k]
        inside = (np.abs(place + first[:, k, None] * x + second[:, k, None] * y) < 0.5).all(axis=0)
        p, q = x[inside], y[inside]
        assert np.abs(found - [p.mean(), q.mean(), (p * p).mean(), (q * q).mean(), (p * q).mean()]).max() < 3e-3


@pytest.mark.parametrize("radius, most", [(6.0, 6e-3), (12.0, 2.5e-3), (24.0, 2e-3)])
def test_the_curvature_of_exact_circles_is_of_second_order(radius, most):
    """A plane with the normal of the cell, and its point above the centre, told it within 9 % at any radius."""
    size, parts, centre = int(2 * radius) + 8, 400, np.array([0.37, 0.21]) + radius + 3.5
    across = (np.arange(size * parts) + 0.5) / parts - 0.5 - centre[0]
    half, low = np.sqrt(np.maximum(radius**2 - across**2, 0.0)), np.arange(size)[:, None] - 0.5 - centre[1]
    share = np.clip(half - low, 0.0, 1.0) - np.clip(-half - low, 0.0, 1.0)
    fill = share.reshape(size, size, parts).mean(axis=2).ravel()
    cell = np.where(fill > 1.0 - 1e-9, LIQUID, np.where(fill < 1e-9, GAS, INTERFACE)).astype(np.uint8)
    surface = np.flatnonzero((cell == INTERFACE) & (fill > 0.01) & (fill < 0.99))
    neighbours = surface + (D2Q9.c[1:, :1] + size * D2Q9.c[1:, 1:2])
    error = 2.0 * radius * curvature(neighbours, surface, D2Q9, {CELL: cell, FILL: fill}) - 1.0
    assert np.sqrt((error**2).mean()) < most


@pytest.mark.parametrize("precision", KEPT, ids=lambda precision: precision.name)
def test_the_curvature_of_a_sphere(precision):
    size, radius, centre = 22, 8.0, np.array([10.13, 10.69, 10.4])
    nodes = tank((size,) * 3)
    flow = Tank(nodes, SurfaceSetup(D3Q19), [sphere_region(AT_REST, centre, radius)])
    cell, fill = flow.field(CELL).astype(np.uint8), flow.field(FILL)
    surface = np.flatnonzero(cell == INTERFACE)
    x, y, z = (nodes.coordinates()[surface][None] + D3Q19.c[1:, None]).T
    neighbours = (z * size + y).T * size + x.T
    found = curvature(neighbours, surface, D3Q19, {CELL: cell, FILL: fill})
    assert radius * found.mean() == pytest.approx(1.0, abs=0.02) and radius * found.std() < 0.15
    of_node = capillarity.curvature_node(D3Q19, precision, lambda function: function, {CELL: 0, FILL: 1})
    values = cell, fill.astype(precision.real)
    some = [of_node(neighbours[:, k], n, values)[0] for k, n in enumerate(surface[:60])]
    assert np.abs(np.array(some) - found[:60]).max() < {FP64: 1e-12, FP32: 1e-4}[precision]


def test_a_full_voxel_beside_an_empty_one_is_interface():
    nodes = tank((1, 4, 6))
    liquid = InitialLiquid([BoxRegion(AT_REST, np.full(3, -1.0), np.array([2.5, 9.0, 9.0]))], nodes)
    flow = Tank(nodes, SurfaceSetup(D2Q9), [BoxRegion(AT_REST, np.full(3, -1.0), np.array([2.5, 9.0, 9.0]))])
    cell = flow.field(CELL).reshape(4, 6)
    assert cell.tolist() == [[LIQUID, LIQUID, INTERFACE, GAS, GAS, GAS]] * 4
    assert liquid.depth(flow.ranks.engines[0].domain, np.array([1.0, 0.0, 0.0])).max() == 2.5
    assert flow.mass() == pytest.approx(12.0, abs=1e-14)


@BACKENDS
def test_filling_does_not_depend_on_ranks(backend):
    nodes = random_nodes(D2Q9)
    setup = SurfaceSetup(D2Q9, backend=backend, rates=(1.4,), conditions=THROUGH_FLOW)
    start = BoxRegion(AT_REST, np.full(3, -1.0), np.array([2.5, 99.0, 99.0]))
    states = set()
    for n_ranks in (1, 3):
        flow = Tank(nodes, setup, [start], random_owner(nodes, n_ranks))
        flow.ranks.step(120)
        states.add(flow.state())
    assert len(states) == 1 and flow.bad() == 0


def test_what_enters_is_what_the_inlet_was_asked_for():
    """Until liquid reaches the outlet, the mass grows by the inflow of its links, to the last digits."""
    voxels = random_voxels((1, 9, 24), fluid=1.0)
    nodes = build_nodes(with_openings(voxels))
    inlet = Condition(VELOCITY, 0.02, parabolic)
    setup = SurfaceSetup(D2Q9, backend="cpu", rates=(1.4,), conditions=(inlet, Condition(PRESSURE, 0.0)))
    flow = Tank(nodes, setup, [BoxRegion(AT_REST, np.full(3, -1.0), np.array([4.2, 99.0, 99.0]))])
    (engine,) = flow.ranks.engines
    before = flow.mass()
    flow.ranks.step(200)
    flux, _ = engine.link_fluxes()
    is_inlet = engine.domain.links.boundary == 0
    assert flux[is_inlet].sum() > 0.05
    assert flow.mass() - before == pytest.approx(200 * flux[is_inlet].sum(), rel=1e-9)
    assert flow.bad() == 0


def test_a_cell_without_liquid_at_an_outlet_does_not_fall_for_ever():
    """It stays interface, so that liquid that comes may leave; the weight of what it holds must not speed it up."""
    nodes = build_nodes(with_openings(random_voxels((1, 9, 24), fluid=1.0)))
    conditions = (Condition(VELOCITY, 0.0), Condition(PRESSURE, 0.0))
    setup = SurfaceSetup(D2Q9, backend="cpu", rates=(1.4,), force=(-1e-3, 0.0, 0.0), conditions=conditions)
    flow = Tank(nodes, setup, [BoxRegion(AT_REST, np.full(3, -1.0), np.array([4.2, 99.0, 99.0]))])
    flow.ranks.step(1500)
    is_wet = flow.field(CELL) != GAS
    assert np.abs(flow.moments()[1:, is_wet]).max() < 0.25


@BACKENDS
def test_gas_that_enters_through_an_outlet_leaves_no_debt(backend):
    """Where a layer runs off, its lip draws gas in above it: what that brings is no liquid, and no voxel owes any."""
    nodes = build_nodes(with_openings(random_voxels((1, 14, 24), fluid=1.0)))
    conditions = Condition(VELOCITY, 0.01), Condition(PRESSURE, 0.0)
    flows = {}
    for name, setup, owner in (("of numpy", "numpy", None), ("one rank", backend, None), ("ranks", backend, 3)):
        setup = SurfaceSetup(D2Q9, backend=setup, rates=(1.4,), force=(0.0, -4e-4, 0.0), conditions=conditions)
        owner = owner if owner is None else random_owner(nodes, owner)
        layer = BoxRegion(AT_REST, np.full(3, -1.0), np.array([99.0, 6.3, 99.0]))
        flows[name] = Tank(nodes, setup, [layer], owner)
        flows[name].ranks.step(600)
    cell, mass = (flows["one rank"].field(name) for name in (CELL, MASS))
    wet = np.where(is_liquid(cell), 1.0, np.where(cell == INTERFACE, flows["one rank"].field(FILL), 0.0))
    assert mass.min() > -0.1 and flows["one rank"].bad() == 0
    assert flows["one rank"].mass() == pytest.approx(wet.sum(), rel=0.01)  # it is denser by its weight
    assert flows["ranks"].state() == flows["one rank"].state()
    assert np.array_equal(flows["of numpy"].field(CELL), cell)
    assert flows["of numpy"].field(MASS) == pytest.approx(mass, abs=1e-9)


def test_liquid_below_a_tilted_surface_rests():
    """Where the weight of its almost empty cells is borne, and the planes of those at walls are those of the liquid."""
    up, gravity, shape = np.array([1.0, 2.0, 3.0]) / np.sqrt(14.0), 1e-5, (12, 14, 16)
    nodes = tank(shape)
    middle = float(0.5 * (np.array(shape[::-1]) - 1.0) @ up)
    untensed = TENSE | {"of_capillarity": {TENSION: 0.0}}  # the kernels of other tests: compilation takes longest
    setup = SurfaceSetup(D3Q19, backend="cpu", rates=(1.0,), force=tuple(-gravity * up), **untensed)
    flow = Tank(nodes, setup, [LevelRegion(AT_REST, middle, up)])
    hydrostatic = 3.0 * gravity * (middle - nodes.coordinates() @ up)
    pushed = -1.5 * gravity * (D3Q19.c @ up)  # half of the body force, which populations have behind the collision
    flow.ranks.set_populations(D3Q19.w[:, None] * (hydrostatic + pushed[:, None]))
    flow.ranks.step(400)
    speed = np.linalg.norm(flow.moments()[1:][:, flow.field(CELL) != GAS], axis=0)
    assert speed.max() < 1e-4 * np.sqrt(gravity * (middle + 0.5 * up.sum()))
