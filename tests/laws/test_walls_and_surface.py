"""Walls that move along themselves beside a free surface: they drag liquid, and none is made or lost."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.boundaries.wall_motion import WallMotion
from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, Voxels, wall_flag
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.physics.free_surface.cells import CELL, INTERFACE
from muphy_lb.physics.free_surface.start import BoxRegion, LevelRegion
from tests.free_surface import SurfaceSetup, Tank
from tests.laws.walled import channel
from tests.support import random_owner

GRAVITY, VISCOSITY = (0.0, -2e-4, 0.0), 0.1
RATES = (1.0 / (3.0 * VISCOSITY + 0.5),)
BELT = WallMotion((0.04, 0.0, 0.0), keeps_mass=True)
TURNS = WallMotion((0.0, 0.0, 0.0), (0.0, 0.0, 0.004), (9.5, 9.5, 0.0), keeps_mass=True)
UP, AT_REST = np.array([0.0, 1.0, 0.0]), np.zeros(3)


def below(level: float) -> LevelRegion:
    """All below a height, measured in voxels from the centre of the first one."""
    return LevelRegion(AT_REST, level, UP)


def closed(depth: int) -> NodeList:
    """A box whose floor is the wall ``belt``; its sides, the corners of the floor among them, are another wall."""
    flags = np.full((depth, 14, 18), FLUID, FLAG_DTYPE)
    flags[:, 0, 1:-1] = wall_flag(0)
    flags[:, :, [0, -1]] = wall_flag(1)
    return build_nodes(Voxels(flags, walls=("belt", "sides")))


def drum() -> NodeList:
    """A round wall in two dimensions, radius 8."""
    y, x = np.mgrid[:20, :20] - 9.5
    flags = np.where(x**2 + y**2 < 8.0**2, FLUID, wall_flag(0)).astype(FLAG_DTYPE)[None]
    return build_nodes(Voxels(flags, walls=("drum",)))


def moved(nodes, motions, region, lattice=D2Q9, owner=None) -> Tank:
    """Liquid beside walls that move."""
    setup = SurfaceSetup(lattice, rates=RATES, force=GRAVITY, motions=motions)
    return Tank(nodes, setup, [region], owner)


# Nodes are made when a test asks for them: what this compiles must not delay the collection of tests.
CASES = {
    "belt": (
        partial(closed, 1),
        (BELT, WallMotion()),
        D2Q9,
        BoxRegion(AT_REST, np.full(3, -1.0), np.array([8.4, 9.3, 9.0])),
    ),
    "belt in space": (partial(closed, 4), (BELT, WallMotion()), D3Q19, below(5.3)),
    "drum": (drum, (TURNS,), D2Q9, below(7.2)),
}


@pytest.mark.parametrize("name", CASES)
def test_no_liquid_is_made_or_lost(name):
    make_nodes, motions, lattice, region = CASES[name]
    flow = moved(make_nodes(), motions, region, lattice)
    before = flow.mass()
    flow.ranks.step(30 if lattice is D3Q19 else 120)
    assert abs(flow.mass() / before - 1.0) < 1e-13 and flow.bad() == 0
    assert flow.moments()[1].max() > 0.01


def test_walls_that_are_not_told_to_keep_mass_make_or_lose_some():
    make_nodes, _, _, region = CASES["belt"]
    flow = moved(make_nodes(), (replace(BELT, keeps_mass=False), WallMotion()), region)
    before = flow.mass()
    flow.ranks.step(100)
    assert abs(flow.mass() / before - 1.0) > 1e-3


@pytest.mark.parametrize("name", ["belt", "drum"])
def test_ranks_change_no_bit(name):
    make_nodes, motions, _, region = CASES[name]
    nodes = make_nodes()
    one, three = moved(nodes, motions, region), moved(nodes, motions, region, owner=random_owner(nodes, 3))
    for flow in (one, three):
        flow.ranks.step(60)
    assert three.state() == one.state()


def test_a_belt_drags_a_film_as_in_couette_flow():
    """Started from rest under a surface without friction: u / U = 1 - sum 4 / (m pi) sin(m pi y / 2 h)
    exp(-nu (m pi / 2 h)^2 t), m odd (Schlichting, Boundary-Layer Theory, the plate that starts at once)."""
    height, n_steps = 8.5, 150
    nodes = channel(D2Q9, 14)
    flow = moved(nodes, (BELT, WallMotion()), below(0.5 + height))
    flow.ranks.step(n_steps)
    y = np.arange(1.0, 8.0) - 0.5
    m = np.arange(1, 200, 2)[:, None]
    terms = 4.0 / (m * np.pi) * np.sin(m * np.pi * y / (2.0 * height))
    exact = 1.0 - (terms * np.exp(-VISCOSITY * (m * np.pi / (2.0 * height)) ** 2 * n_steps)).sum(axis=0)
    place, speed = nodes.coordinates()[:, 1], flow.moments()[1] / BELT.velocity[0]
    found = [speed[place == row].mean() for row in range(1, 8)]
    assert np.abs(found - exact).max() < 0.03  # the free boundary is of first order: half a voxel of depth is 0.04
    assert (flow.field(CELL)[place == 9] == INTERFACE).all()


@pytest.mark.parametrize("velocity", [(0.0, 0.01, 0.0), (0.03, 0.001, 0.0)])
def test_a_wall_that_leads_into_the_liquid_is_refused(velocity):
    with pytest.raises(InputError, match="walls.belt: velocity_m_s leads through faces of this wall"):
        moved(closed(1), (replace(BELT, velocity=velocity), WallMotion()), below(5.0))
