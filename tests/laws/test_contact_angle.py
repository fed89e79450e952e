"""A contact angle: what a cell at a wall computes, and that nothing of it depends on ranks, streaming or backend."""

import numpy as np
import pytest

from muphy_lb.domain.wall_shapes import AT_FACES, WALL_NORMAL, wall_shapes
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.physics.free_surface.capillarity import COS_ANGLE, TENSION, plane_distance, plane_share
from muphy_lb.physics.free_surface.cells import CELL, FILL, GAS, INTERFACE, LAST_TENSION, LIQUID, MASS, WALL
from muphy_lb.physics.free_surface.contact_angle import CONTACT_ANGLE, curvature
from muphy_lb.physics.free_surface.heights import curvature_by_heights
from muphy_lb.physics.free_surface.operators.column import slope_along, split
from muphy_lb.physics.free_surface.start import BoxRegion, sphere_region
from muphy_lb.validation.case import Settings
from muphy_lb.validation.free_surface.drops import contact_angle, drop_on_wall
from muphy_lb.validation.free_surface.slits import suction, suction_in_tube
from tests.free_surface import SurfaceSetup, Tank, tank
from tests.laws.test_free_surface import BACKENDS, deviation, random_owner, splash

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
def test_a_meniscus_that_climbs_between_plates_rises_as_jurin_has_it():
    """Between a slit of 10 voxels and pools of 20 at either side, whose menisci draw as well: half of the suction of
    the slit. The surface climbs by three voxels; it rested at 0.76 of the rise before heights of columns."""
    gap, wide, height, weight, tension, angle = 10, 20, 44, 3e-5, 5e-3, np.radians(75.0)
    flags = np.full((1, height, 2 * wide + gap + 2), FLUID, FLAG_DTYPE)
    flags[:, 10:40, [wide, wide + gap + 1]] = SOLID
    nodes = build_nodes(Voxels(flags))
    wetting = {"capillarity": CONTACT_ANGLE, "of_capillarity": {TENSION: 6.0 * tension, COS_ANGLE: np.cos(angle)}}
    setup = SurfaceSetup(D2Q9, rates=(1.0,), force=(0.0, -weight, 0.0), backend="cpu", **wetting)
    pool = BoxRegion(np.zeros(3), np.full(3, -1.0), np.array([1e3, 24.8, 1.0]))
    flow = Tank(nodes, setup, [pool])
    flow.ranks.step(80000)
    held = np.where(flow.field(CELL) == LIQUID, 1.0 + flow.moments()[0], flow.field(MASS))
    x, y, _ = nodes.coordinates().T
    within, beside = (x > wide) & (x <= wide + gap), x < wide
    rise = held[within & (y > 9)].sum() / gap - held[beside & (y > 9)].sum() / wide
    theory = 2.0 * tension * np.cos(angle) / weight * (1.0 / gap - 1.0 / wide)
    assert rise / theory == pytest.approx(1.0, abs=0.04)


@pytest.mark.night
@pytest.mark.parametrize(("angle", "place"), [(75.0, 0.05), (60.0, 0.3), (60.0, 0.55), (120.0, 0.3)])
def test_liquid_in_a_tube_of_voxels_has_its_suction(angle, place):
    """Tubes of 6.3 voxels were off by 5 to 9 % while walls were those of their voxels; their area is that of 6.21."""
    assert suction_in_tube(6.3, angle, place, Settings(backend="cpu")) == pytest.approx(1.0, abs=0.03)


@pytest.mark.night
@pytest.mark.parametrize("wall", [(1, 2), (1, 4)])
def test_a_drop_on_stairs_of_voxels_rests_at_its_angle(wall):
    """A drop of 14 voxels that starts with 60 degrees rested at 76 of 90 while walls were those of their voxels."""
    size, radius, tension = 72, 14.0, 5e-3
    along = np.array(wall) / np.linalg.norm(wall)
    y, x = np.mgrid[:size, :size]
    middle = np.rint(0.5 * size - 12.0 * along)
    above = (x - middle[0]) * along[0] + (y - middle[1]) * along[1] - 0.5 / np.linalg.norm(wall)
    nodes = build_nodes(Voxels(np.where(above > 0.0, FLUID, SOLID).astype(FLAG_DTYPE)[None]))
    foot, start = middle + 0.5 * along / np.linalg.norm(wall), np.radians(60.0)
    own = radius * np.sqrt(0.5 * np.pi / (start - np.sin(start) * np.cos(start)))
    wetting = {"capillarity": CONTACT_ANGLE, "of_capillarity": {TENSION: 6.0 * tension, COS_ANGLE: 0.0}}
    setup = SurfaceSetup(D2Q9, rates=(1.0,), backend="cpu", **wetting)
    drop = sphere_region(np.zeros(3), np.append(foot - own * np.cos(start) * along, 0.0), own)
    flow = Tank(nodes, setup, [drop])
    flow.ranks.step(24000)
    cell = flow.field(CELL)
    share = np.where(cell == LIQUID, 1.0, np.where(cell == INTERFACE, flow.field(FILL), 0.0))
    height = (share * above.ravel()[nodes.voxel]).sum() / share.sum()
    assert height / np.sqrt(share.sum()) == pytest.approx(np.sqrt(2.0 / np.pi) * 4.0 / (3.0 * np.pi), rel=0.03)


@pytest.mark.parametrize("angle", [30.0, 45.0, 60.0, 75.0, 120.0, 135.0, 150.0])
def test_heights_of_columns_do_not_feel_where_the_surface_lies_in_a_voxel(angle):
    """Exact arcs between plates, where neighbours tell it; the curvature of paraboloids varied by half of it."""
    gap, cosine, at_wall = 12, np.cos(np.radians(angle)), np.zeros(14)
    at_wall[1], at_wall[-2] = 1.0, -1.0
    radius, across = 0.5 * gap / cosine, (np.arange(gap * 200) + 0.5) / 200.0 - 0.5 * gap
    found = []
    for level in 6.0 + np.arange(20) / 20.0:
        height = level + radius - np.copysign(np.sqrt(radius * radius - across * across), radius)
        fill = np.zeros((18, gap + 2))
        rows = np.arange(18)[:, None, None]
        fill[:, 1:-1] = np.clip(height.reshape(gap, 200) - rows, 0.0, 1.0).mean(axis=2)
        cell = np.full(fill.shape, WALL, np.uint8)
        cell[:, 1:-1] = np.where(fill[:, 1:-1] >= 1.0, LIQUID, np.where(fill[:, 1:-1] > 0.0, INTERFACE, GAS))
        surface = np.flatnonzero((cell[:, 1] == INTERFACE) & (fill[:, 1] > 1e-3)) * fill.shape[1] + 1
        neighbours = surface + (D2Q9.c[1:, 1] * fill.shape[1] + D2Q9.c[1:, 0])[:, None]
        values = {CELL: cell.ravel(), FILL: fill.ravel(), COS_ANGLE: cosine}
        values |= dict(zip(WALL_NORMAL, (np.tile(at_wall, 18), *np.zeros((2, fill.size))), strict=True))
        within, is_known = curvature_by_heights(neighbours, surface, D2Q9, values)
        assert is_known.all()
        is_told = within[0] == within[1]
        assert is_told.any()
        found.append(-2.0 * radius * within[0, is_told])
    assert np.abs(np.concatenate(found) - 1.0).max() < (0.04 if abs(cosine) > 0.8 else 0.01)


@pytest.mark.parametrize("radius", [4.5, 6.3, 12.0])
def test_normals_at_faces_of_a_tube_add_up_to_the_circumference_of_its_area(radius):
    size = 2 * int(np.ceil(radius)) + 1
    y, x = np.mgrid[:size, :size] - int(np.ceil(radius))
    is_fluid = x * x + y * y < radius * radius
    nodes = build_nodes(
        Voxels(np.where(is_fluid, FLUID, SOLID).astype(FLAG_DTYPE)[None], periodic=(False, False, True))
    )
    shapes, _ = wall_shapes(nodes, D3Q19)
    at_faces = np.zeros((3, size * size))
    at_faces[:, nodes.voxel[shapes.number]] = shapes.rows[AT_FACES.start : AT_FACES.stop]
    at_faces, length = at_faces.reshape(3, size, size), 0.0
    for axis, step in ((0, 1), (0, -1), (1, 1), (1, -1)):
        is_face = is_fluid & ~np.roll(np.pad(is_fluid, 1), -step, axis=1 - axis)[1:-1, 1:-1]
        length -= step * at_faces[axis][is_face].sum()
    assert length == pytest.approx(2.0 * np.sqrt(np.pi * is_fluid.sum()), rel=3e-3)


@pytest.mark.parametrize("lattice", [D2Q9, pytest.param(D3Q19, marks=pytest.mark.night)], ids=lambda each: each.name)
@BACKENDS
def test_backends_follow_the_specification(lattice, backend):
    """In three dimensions, too: tests/parity/test_surface.py."""
    assert deviation(splash(lattice, **WETTING), splash(lattice, backend=backend, **WETTING)) < 1e-11


@BACKENDS
def test_ranks_and_streaming_change_no_bit(backend):
    states = set()
    for n_ranks, streaming in ((1, "pull"), (3, "pull"), (3, "aa")):
        flow = splash(D2Q9, owner=n_ranks, backend=backend, streaming=streaming, **WETTING)
        flow.ranks.step(101)
        states.add(flow.state())
    assert len(states) == 1 and flow.bad() == 0


@BACKENDS
def test_where_steep_columns_tell_a_range_ranks_and_streaming_change_no_bit(backend):
    """A column of liquid that falls along a wall: cells whose curvature its neighbours leave open follow the liquid."""
    nodes, states = tank((1, 40, 30)), set()
    steep = {"capillarity": CONTACT_ANGLE, "of_capillarity": {TENSION: 0.015, COS_ANGLE: 0.866}}
    column = BoxRegion(np.zeros(3), np.full(3, -1.0), np.array([6.3, 28.0, 1.0]))
    for n_ranks, streaming in ((1, "pull"), (3, "pull"), (2, "aa")):
        setup = SurfaceSetup(D2Q9, rates=(1.0,), force=(0.0, -3e-4, 0.0), backend=backend, streaming=streaming, **steep)
        flow = Tank(nodes, setup, [column], random_owner(nodes, n_ranks))
        flow.ranks.step(119)
        before = flow.field(CELL)
        flow.ranks.step(1)
        states.add(flow.state())
    is_kept = (before == INTERFACE) & (flow.field(CELL) == INTERFACE)
    assert len(states) == 1 and (flow.field(LAST_TENSION)[is_kept] == 0.0).any()


def curvatures_at_the_wall(angle: float, asked: float) -> np.ndarray:
    """Curvature times radius in the interface cells at the floor of circles that meet it at an angle, where told."""
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
        least, most = curvature(neighbours, surface, D2Q9, values)
        found.append(radius * 2.0 * least[least == most])
    return np.concatenate(found)


@pytest.mark.parametrize("angle", [50.0, 90.0, 130.0])
def test_a_surface_at_its_contact_angle_is_as_curved_at_the_wall_as_elsewhere(angle):
    assert curvatures_at_the_wall(angle, angle).mean() == pytest.approx(1.0, abs=0.1)


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
