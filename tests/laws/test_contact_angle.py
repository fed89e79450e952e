"""A contact angle: what a cell at a wall computes, and that nothing of it depends on ranks, streaming or backend."""

import numpy as np
import pytest

from muphy_lb.domain.wall_shapes import AT_FACES, WALL_NORMAL, wall_shapes
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.physics.free_surface.capillarity import COS_ANGLE, TENSION, plane_distance, plane_share
from muphy_lb.physics.free_surface.cells import CELL, FILL, GAS, INTERFACE, LIQUID, MASS, WALL
from muphy_lb.physics.free_surface.contact_angle import CONTACT_ANGLE, curvature
from muphy_lb.physics.free_surface.operators.column import slope_along, split
from muphy_lb.physics.free_surface.start import BoxRegion, sphere_region
from muphy_lb.validation.case import Settings
from muphy_lb.validation.free_surface.drops import contact_angle, drop_on_wall
from muphy_lb.validation.free_surface.slits import suction
from tests.free_surface import SurfaceSetup, Tank, tank
from tests.laws.test_free_surface import BACKENDS, splash

WETTING = {"capillarity": CONTACT_ANGLE, "of_capillarity": {TENSION: 0.01, COS_ANGLE: 0.5}}


def test_the_share_below_a_plane_is_the_inverse_of_its_distance():
    random = np.random.default_rng(5)
    normal = random.normal(size=(3, 400))
    normal[2, :200] = 0.0
    normal /= np.linalg.norm(normal, axis=0)
    fill = random.random(400)
    found = plane_share(plane_distance(fill, normal), normal)
    assert np.abs(found - fill).max() < 2e-3
    assert np.array_equal(plane_share(np.array([-9.0, 9.0]), normal[:, :2]), [0.0, 1.0])


@pytest.mark.parametrize("slope", [0.05, 0.577, 1.0, 1.73, 2.0])
def test_two_cells_share_their_sum_as_a_plane_does(slope):
    across = np.arange(0.5, 2000.0) / 2000.0
    height = np.linspace(1e-3 - slope, 2.0 - 1e-3, 300)[:, None] + slope * across
    upper, wet = split(np.clip(height, 0.0, 2.0).mean(axis=1), np.full(300, slope))
    assert np.abs(upper - np.clip(height - 1.0, 0.0, 1.0).mean(axis=1)).max() < 1e-6
    assert np.abs(wet - (height > 1.0).mean(axis=1)).max() < 1e-3


@pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda each: each.name)
def test_both_cells_of_a_column_at_a_wall_find_one_slope(lattice):
    """A step of the surface along a wall below, with cells beside it at either side."""
    random, shape = np.random.default_rng(2), (5, 5, 5) if lattice is D3Q19 else (1, 5, 5)
    cell, fill = np.full(shape, INTERFACE, np.uint8), 0.4 * random.random(shape)
    cell[:, 0] = WALL
    place = np.stack(np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")).reshape(3, -1)[::-1]
    values = {CELL: cell.ravel(), FILL: fill.ravel(), COS_ANGLE: 0.5}
    (link,) = np.flatnonzero((lattice.c[1:] == (1, 0, 0)).all(axis=1))
    (back,) = np.flatnonzero((lattice.c[1:] == (-1, 0, 0)).all(axis=1))
    found = []
    for x, k in ((1, link), (2, back)):
        (n,) = np.flatnonzero((place.T == (x, 1, shape[0] // 2)).all(axis=1))
        beside = place[:, [n]].T + lattice.c[1:]
        neighbours = (beside[:, 2] * 5 + beside[:, 1]) * 5 + beside[:, 0]
        found.append(slope_along(k, neighbours[:, None], lattice, values)[0])
    assert found[0] == found[1] >= 0.577


@pytest.mark.night
@pytest.mark.parametrize(("angle", "level"), [(45.0, 0.6), (120.0, 0.85), (75.0, 0.6)])
def test_liquid_between_plates_rests_at_its_suction(angle, level):
    """Surfaces that had to move along the plates rested at 0.90, 0.84, 0.90 of it, or more."""
    assert suction(12, angle, level, Settings(backend="cpu")) == pytest.approx(1.0, abs=0.04)


@pytest.mark.night
def test_a_meniscus_that_climbs_between_plates_is_held_back_by_voxels_a_little():
    """Jurin's law between a slit of 10 voxels and pools of 20 at either side, whose menisci draw as well: the surface
    climbs by two voxels, and rests at 0.76 of the rise, which has half of the suction of the slit."""
    gap, wide, height, weight, tension, angle = 10, 20, 44, 3e-5, 5e-3, np.radians(75.0)
    flags = np.full((1, height, 2 * wide + gap + 2), FLUID, FLAG_DTYPE)
    flags[:, 10:40, [wide, wide + gap + 1]] = SOLID
    nodes = build_nodes(Voxels(flags))
    wetting = {"capillarity": CONTACT_ANGLE, "of_capillarity": {TENSION: 6.0 * tension, COS_ANGLE: np.cos(angle)}}
    setup = SurfaceSetup(D2Q9, rates=(1.0,), force=(0.0, -weight, 0.0), backend="cpu", **wetting)
    pool = BoxRegion(np.zeros(3), np.full(3, -1.0), np.array([1e3, 24.8, 1.0]))
    flow = Tank(nodes, setup, [pool])
    flow.ranks.step(24000)
    held = np.where(flow.field(CELL) == LIQUID, 1.0 + flow.moments()[0], flow.field(MASS))
    x, y, _ = nodes.coordinates().T
    within, beside = (x > wide) & (x <= wide + gap), x < wide
    rise = held[within & (y > 9)].sum() / gap - held[beside & (y > 9)].sum() / wide
    theory = 2.0 * tension * np.cos(angle) / weight * (1.0 / gap - 1.0 / wide)
    assert 0.7 < rise / theory < 1.05


@pytest.mark.parametrize("lattice", [D2Q9, pytest.param(D3Q19, marks=pytest.mark.night)], ids=lambda each: each.name)
@BACKENDS
def test_backends_follow_the_specification(lattice, backend):
    """In three dimensions, too: tests/parity/test_surface.py."""
    specified, found = splash(lattice, **WETTING), splash(lattice, backend=backend, **WETTING)
    for each in (specified, found):
        each.ranks.step(30)
    assert np.array_equal(specified.field(CELL), found.field(CELL))
    for name in (MASS, FILL):
        assert np.abs(specified.field(name) - found.field(name)).max() < 1e-11
    is_wet = specified.field(CELL) != GAS
    assert np.abs(specified.ranks.populations() - found.ranks.populations())[:, is_wet].max() < 1e-11


@BACKENDS
def test_ranks_and_streaming_change_no_bit(backend):
    states = set()
    for n_ranks, streaming in ((1, "pull"), (3, "pull"), (3, "aa")):
        flow = splash(D2Q9, owner=n_ranks, backend=backend, streaming=streaming, **WETTING)
        flow.ranks.step(101)
        states.add(flow.state())
    assert len(states) == 1 and flow.bad() == 0


def curvatures_at_the_wall(angle: float, asked: float) -> np.ndarray:
    """Curvature times radius in the interface cells at the floor of circles that meet it at an angle."""
    radius, found = 20.0, []
    for shift in np.arange(8) / 8.0:
        shape = (1, 48, 60)
        centre = np.array([29.5 + shift, -0.5 - radius * np.cos(np.radians(angle)), 0.0])
        nodes = tank(shape)
        flow = Tank(nodes, SurfaceSetup(D2Q9), [sphere_region(np.zeros(3), centre, radius)])
        fields = {name: np.append(flow.field(name), 0.0) for name in (CELL, FILL)}
        cell = fields[CELL].astype(np.uint8)
        cell[-1] = WALL
        surface = np.flatnonzero((cell[:-1] == INTERFACE) & (nodes.coordinates()[:, 1] == 0))
        x, y, _ = (nodes.coordinates()[surface][None] + D2Q9.c[1:, None]).T
        neighbours = np.where(y.T >= 0, y.T * shape[2] + x.T, cell.size - 1).astype(int)
        shapes, _ = wall_shapes(nodes, D2Q9)
        values = {CELL: cell, FILL: fields[FILL], COS_ANGLE: np.cos(np.radians(asked))}
        for row, name in zip(AT_FACES, WALL_NORMAL, strict=True):
            values[name] = np.zeros(cell.size)
            values[name][shapes.number] = shapes.rows[row]
        found.append(radius * 2.0 * curvature(neighbours, surface, D2Q9, values))
    return np.concatenate(found)


@pytest.mark.parametrize("angle", [50.0, 90.0, 130.0])
def test_a_surface_at_its_contact_angle_is_as_curved_at_the_wall_as_elsewhere(angle):
    assert curvatures_at_the_wall(angle, angle).mean() == pytest.approx(1.0, abs=0.3)


@pytest.mark.parametrize("angle", [50.0, 90.0, 130.0])
def test_a_surface_at_another_angle_is_drawn_to_it(angle):
    """With a smaller angle asked for the pressure at the wall falls, so that liquid flows there."""
    assert curvatures_at_the_wall(angle, angle - 15.0).max() < -1.0
    assert curvatures_at_the_wall(angle, angle + 15.0).min() > 3.0


def test_without_a_contact_angle_the_drop_stays_as_it_is():
    """The neutral wall of surface tension alone."""
    simulation = drop_on_wall(None, 65.0, Settings(quick=True, backend="numpy"))
    simulation.step(100)
    assert contact_angle(simulation) == pytest.approx(65.0, abs=5.0)
