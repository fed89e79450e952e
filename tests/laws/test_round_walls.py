"""Scalars at walls that cut links anywhere: areas, exact values, balance, bits of ranks and streamings."""

from dataclasses import replace
from math import pi

import numpy as np
import pytest

from muphy_lb.domain import FIXED, FLUX, STREAMINGS, ScalarBoundary
from muphy_lb.domain.fitted_values import fit
from muphy_lb.geometry.implicit import ImplicitWall
from muphy_lb.geometry.link_cuts import Cuts, direction_code
from muphy_lb.geometry.neighbours import WALL_LINK, NeighbourSearch, cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.shapes.shape_parts import flags_where, voxel_centres
from muphy_lb.geometry.voxels import Voxels
from muphy_lb.geometry.wall_areas import AXES, link_areas
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.physics.thermal.model import METHODS, POPULATION_METHOD, Heat
from tests.laws.walled import BODY_RADIUS, body, channel
from tests.support import advance, random_owner
from tests.thermal import ThermalSetup, cavity_engine, heat, temperature, thermal_state

DIFFUSIVITY, T_WALL, FLUX_IN = 0.07, 0.3, 0.02
CONDITIONS = {
    "fixed": ScalarBoundary(np.array([FIXED, FLUX]), np.array([T_WALL, 0.0]), n_walls=1),
    "insulated": ScalarBoundary(np.array([FLUX, FLUX]), np.zeros(2), n_walls=1),
    "flux": ScalarBoundary(np.array([FLUX, FLUX]), np.array([FLUX_IN, 0.0]), n_walls=1),
    # A conductance of 2 to T_WALL outside: a = 0, s = T_WALL.
    "convection": ScalarBoundary(np.array([FLUX, FLUX]), np.array([T_WALL, 0.0]), 1, np.array([0.0, 1.0])),
}
LATTICES = pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
EACH_METHOD = pytest.mark.parametrize("method", METHODS)
EACH_CONDITION = pytest.mark.parametrize("condition", CONDITIONS)
AREA = {"D2Q9": 2.0 * pi * BODY_RADIUS, "D3Q19": 4.0 * pi * BODY_RADIUS**2}


@pytest.mark.parametrize("cuts", [(0.6, 0.6), (0.6, 0.3)])
def test_heat_enters_a_gap_of_one_voxel_from_both_sides(cuts):
    """Both walls are one boundary: its points on either side of the node lie on planes of their own."""
    vectors, one = D3Q19.c[1:], np.zeros(1, np.int64)
    is_cut = vectors[:, 2] != 0
    codes = np.append(0, np.where(is_cut, WALL_LINK, np.arange(1, 19)))[:, None]
    direction = direction_code(vectors[is_cut])
    order = np.argsort(direction)
    distance = np.where(vectors[is_cut][:, 2] > 0, *cuts)[order]
    met = Cuts(np.zeros(order.size, np.int64), direction[order].astype(np.uint8), distance)
    found = fit(codes, one, one, vectors, ScalarBoundary(np.array([FLUX]), np.array([FLUX_IN]), 0), met)
    assert np.allclose(found.weight.sum(axis=0), 1.0) and (found.constant > 0.0).all()


def setup_of(lattice, method, condition, buoyancy=0.0, **more):
    own = Heat(DIFFUSIVITY, (buoyancy, 0.0, 0.0), CONDITIONS[condition], method)
    return ThermalSetup(lattice, wall_rule="bouzidi", heat=own, **more)


def areas_of(nodes):
    """Areas of all links along the axes that meet a wall."""
    search = NeighbourSearch(nodes)
    areas = link_areas(nodes, search, np.arange(nodes.n_nodes))
    return areas[search.table(AXES) < 0]


@LATTICES
def test_the_areas_of_links_add_up_to_the_surface(lattice):
    assert np.isclose(areas_of(body(lattice)[0]).sum(), AREA[lattice.name], rtol=2e-3)


def test_the_area_of_each_link_is_what_the_normals_carry_to_its_face():
    nodes, centre = body(D2Q9)
    areas = link_areas(nodes, NeighbourSearch(nodes), np.arange(nodes.n_nodes))
    node, k = np.nonzero((NeighbourSearch(nodes).table(AXES) < 0).T)
    face = (nodes.coordinates()[node] + 0.5 * AXES[k] - centre)[:, :2]
    expected = np.abs((face * AXES[k][:, :2]).sum(axis=1)) * BODY_RADIUS / (face**2).sum(axis=1)
    assert np.abs(areas[k, node] - expected).max() < 0.03  # shares of the polygons alone: 0.4


def test_links_into_flat_walls_have_an_area_of_one():
    areas = areas_of(channel(D2Q9, 5, low=0.2))
    assert areas.size == 8 and np.allclose(areas, 1.0, atol=1e-12)


@pytest.mark.parametrize("degrees", [10.0, 20.0, 35.0])
def test_links_into_an_oblique_plane_have_the_area_of_what_crosses_their_faces(degrees):
    normal, size = np.array([np.sin(np.radians(degrees)), np.cos(np.radians(degrees)), 0.0]), 60
    wall = ImplicitWall(lambda points: 0.4 * size - points @ normal)
    fluid = (wall.level(voxel_centres((1, size, size))) > 0.0).reshape(1, size, size)
    nodes = cut_links(build_nodes(Voxels(flags_where(fluid), 1.0, periodic=(False, False, True))), wall)
    inner = ((nodes.coordinates()[:, :2] > 3) & (nodes.coordinates()[:, :2] < size - 4)).all(axis=1)
    search = NeighbourSearch(nodes)
    areas, into = link_areas(nodes, search, np.arange(nodes.n_nodes)), (search.table(AXES) < 0) & inner
    for axis in (0, 1):
        assert areas[2 * axis][into[2 * axis]] == pytest.approx(normal[axis], rel=1e-9)


@EACH_CONDITION
@EACH_METHOD
@LATTICES
def test_the_temperature_of_the_wall_stays(lattice, method, condition):
    """Of a fluid that has it already, whatever the condition, unless heat enters."""
    if condition == "flux":
        pytest.skip("heat enters")
    engine = cavity_engine(body(lattice)[0], setup_of(lattice, method, condition, backend="cpu"))
    heat(engine, setup_of(lattice, method, condition), np.full(1, T_WALL))
    assert np.abs(temperature(advance(engine, 20)) - T_WALL).max() < 1e-10


@pytest.mark.parametrize("condition", ["insulated", "flux"])
@LATTICES
def test_populations_gain_what_enters_through_the_area(lattice, condition):
    nodes, _ = body(lattice)
    engine = cavity_engine(nodes, setup_of(lattice, POPULATION_METHOD, condition, backend="cpu"))
    start = temperature(engine).sum()
    gained = temperature(advance(engine, 20)).sum() - start
    entering = (condition == "flux") * 20 * DIFFUSIVITY * FLUX_IN * areas_of(nodes).sum()
    assert np.isclose(gained, entering, rtol=0.01, atol=1e-10)


@pytest.mark.pairs
@pytest.mark.parametrize("streaming", [name for name, kind in STREAMINGS.items() if kind.fills_slots])
@EACH_CONDITION
@EACH_METHOD
@LATTICES
def test_ranks_agree_with_one_bit_by_bit(lattice, method, condition, streaming):
    nodes, _ = body(lattice)
    setup = setup_of(lattice, method, condition, 1e-4, backend="cpu", streaming=streaming)
    alone = thermal_state(nodes, setup, np.zeros(nodes.n_nodes, int), n_steps=4)
    shared = thermal_state(nodes, setup, random_owner(nodes, 3), n_steps=4)
    assert np.array_equal(alone[0], shared[0]) and np.array_equal(alone[1], shared[1])
    in_pull = thermal_state(nodes, replace(setup, streaming="pull"), np.zeros(nodes.n_nodes, int), n_steps=4)
    assert np.array_equal(alone[1], in_pull[1]) and np.isfinite(alone[1]).all()


@pytest.mark.parametrize("backend", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@EACH_CONDITION
@EACH_METHOD
def test_compiled_code_agrees_with_the_specification(method, condition, backend):
    nodes, _ = body(D3Q19)
    setup, everywhere = setup_of(D3Q19, method, condition, 1e-4), np.zeros(nodes.n_nodes, int)
    specified = thermal_state(nodes, setup, everywhere, n_steps=3)[1]
    compiled = thermal_state(nodes, replace(setup, backend=backend), everywhere, n_steps=3)[1]
    assert np.abs(specified - compiled).max() < 1e-13 and np.abs(specified).max() > 1e-2
