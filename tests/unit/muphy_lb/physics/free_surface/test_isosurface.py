"""The surface of the liquid has the area, the place, the side and the velocity that it should have."""

import numpy as np
import pytest

from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels
from muphy_lb.physics.free_surface.isosurface import liquid_body, liquid_surface

SPACING_M, ORIGIN_M = 0.5, (3.0, -1.0, 2.0)


def box(shape, solid=None, periodic=(False, False, False)):
    """Nodes of a box (nz, ny, nx); ``solid`` says where it is solid by x, y, z."""
    flags = np.full(shape, FLUID, dtype=FLAG_DTYPE)
    if solid is not None:
        z, y, x = np.indices(shape)
        flags[solid(x, y, z)] = SOLID
    return build_nodes(Voxels(flags, SPACING_M, ORIGIN_M, periodic))


def below(nodes, height, axis=1):
    """Filling of a liquid below a height [voxels from the first centre]."""
    return np.clip(height - nodes.coordinates()[:, axis] + 0.5, 0.0, 1.0)


def at_rest(nodes):
    return np.zeros((nodes.n_nodes, 3))


def areas(surface):
    """(k, 3) area vectors of triangles."""
    a, b, c = np.moveaxis(surface.points_m[surface.facets], 1, 0)
    return 0.5 * np.cross(b - a, c - a)


def area(surface):
    return np.linalg.norm(areas(surface), axis=1).sum()


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("height", [2.5, 3.0, 3.2])
def test_a_level_surface_reaches_from_wall_to_wall(height, periodic):
    nodes = box((5, 8, 7), periodic=(periodic, False, periodic))
    surface = liquid_surface(nodes, below(nodes, height), at_rest(nodes))
    assert area(surface) == pytest.approx(7 * 5 * SPACING_M**2)
    assert np.allclose(areas(surface).sum(axis=0), [0.0, 35 * SPACING_M**2, 0.0])  # points to the gas
    level = (surface.points_m[:, 1] - ORIGIN_M[1]) / SPACING_M
    assert np.ptp(level) < 1e-5 and abs(level[0] - height) < 0.11  # between two centres filling is not linear
    ends = (0.0, 7.0, 0.0, 5.0) if periodic else (-0.5, 6.5, -0.5, 4.5)
    x, z = (surface.points_m[:, i] - ORIGIN_M[i] for i in (0, 2))
    assert np.allclose([x.min(), x.max(), z.min(), z.max()], np.multiply(ends, SPACING_M))


def test_an_obstacle_is_left_out():
    nodes = box((9, 6, 9), lambda x, y, z: (3 <= x) & (x < 6) & (2 <= z) & (z < 7))
    surface = liquid_surface(nodes, below(nodes, 2.5), at_rest(nodes))
    assert area(surface) == pytest.approx((81 - 15) * SPACING_M**2)


def test_a_thin_wall_between_liquid_and_gas_is_no_surface():
    nodes = box((4, 5, 9), lambda x, y, z: x == 4)
    fill = np.where(nodes.coordinates()[:, 0] < 4, below(nodes, 2.5), 0.0)
    assert area(liquid_surface(nodes, fill, at_rest(nodes))) == pytest.approx(4 * 4 * SPACING_M**2, rel=0.13)


def test_a_drop_is_a_sphere_with_its_velocity():
    nodes = box((24, 24, 24))
    distance = np.linalg.norm(nodes.coordinates() - [11.3, 12.1, 10.8], axis=1)
    fill = np.clip(8.5 - distance, 0.0, 1.0)
    velocity = np.where(fill[:, None] > 0.0, [1.0, -2.0, 0.5], 77.0)  # what gas has does not count
    surface = liquid_surface(nodes, fill, velocity)
    assert area(surface) == pytest.approx(4.0 * np.pi * (8.0 * SPACING_M) ** 2, rel=0.02)
    assert np.allclose(surface.velocity_m_s, [1.0, -2.0, 0.5])
    assert np.allclose(areas(surface).sum(axis=0), 0.0, atol=1e-9)  # closed
    corners = surface.points_m[surface.facets]
    volume = np.einsum("ki,ki->", corners.mean(axis=1), areas(surface)) / 3.0
    assert volume == pytest.approx(4.0 / 3.0 * np.pi * (8.0 * SPACING_M) ** 3, rel=0.02)


def test_two_dimensions_have_lines():
    nodes = box((1, 8, 7), periodic=(False, False, True))
    surface = liquid_surface(nodes, below(nodes, 3.0), at_rest(nodes))
    ends = surface.points_m[surface.facets]
    assert surface.facets.shape[1] == 2
    assert np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).sum() == pytest.approx(7 * SPACING_M)
    assert np.all(surface.points_m[:, 2] == ORIGIN_M[2])


@pytest.mark.parametrize("shape", [(1, 4, 5), (3, 4, 5)])
@pytest.mark.parametrize("filling", [0.0, 1.0])
def test_all_gas_or_all_liquid_has_no_surface(shape, filling):
    nodes = box(shape)
    surface = liquid_surface(nodes, np.full(nodes.n_nodes, filling), at_rest(nodes))
    assert len(surface.points_m) == len(surface.facets) == 0


def test_a_body_ends_at_the_walls_and_at_the_ends_of_a_period():
    nodes = box((10, 12, 14), periodic=(False, False, True))
    surface = liquid_body(nodes, below(nodes, 7.5), at_rest(nodes))
    corners = surface.points_m[surface.facets]
    volume = np.einsum("ki,ki->", corners.mean(axis=1), areas(surface)) / 3.0
    assert volume == pytest.approx(10 * 8 * 14 * SPACING_M**3, rel=0.02)
    first = (surface.points_m - ORIGIN_M).min(axis=0) / SPACING_M
    assert np.allclose(first, -0.5)
