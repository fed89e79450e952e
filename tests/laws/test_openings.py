"""Openings: what enters is what was asked for, through an area that is the plane's."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from muphy_lb.base.errors import InputError
from muphy_lb.base.precision import FP64
from muphy_lb.boundaries.opening_geometry import Condition, link_weights, opening_frames, opening_links
from muphy_lb.boundaries.profiles import PROFILES, measured, parabolic, plug, rectangular
from muphy_lb.case.case import case_from_dict
from muphy_lb.domain import STREAMINGS
from muphy_lb.geometry.clean import clean
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.shapes.catalogue import build_shape
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Opening, Voxels
from muphy_lb.lattice import D2Q9, D3Q19
from muphy_lb.lattice import LATTICES as ALL
from muphy_lb.operators import (
    COMPRESSIBLE,
    INCOMPRESSIBLE,
    PRESSURE,
    STOKES,
    VELOCITY,
    link_momentum,
    openings,
    reflected_shares,
    reflection,
)
from muphy_lb.setup.geometry import load_nodes
from muphy_lb.validation.flow.openings import pipe_nodes
from tests.support import Setup, advance, build_engine, random_nodes, start_at_rest, with_openings
from tests.unit.geometry import surfaces
from tests.unit.geometry.test_surface import write_stl

pytestmark = pytest.mark.pairs

EVERY_STREAMING = pytest.mark.parametrize("streaming", STREAMINGS)
LATTICES = pytest.mark.parametrize("lattice", [D2Q9, D3Q19], ids=lambda lattice: lattice.name)
EVERY_LATTICE = pytest.mark.parametrize("lattice", ALL.values(), ids=ALL)
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "cpu"])
SPEED = 0.03
HOLLOW = measured(np.array([0.0, 2.0, 4.0]), np.array([1.0, 5.0, 0.5]))


def duct(lattice, length=8, width=6, periodic=True) -> Voxels:
    """Fluid between an inlet and an outlet across x; its sides wrap, or are walls."""
    shape = (width if lattice.dimension == 3 else 1, width, length)
    flags = np.full(shape, FLUID, FLAG_DTYPE)
    return with_openings(Voxels(flags, periodic=(False, periodic, periodic)))


def velocity_everywhere(profile=plug):
    """Two inlets of different speed."""
    return Condition(VELOCITY, SPEED, profile), Condition(VELOCITY, 0.5 * SPEED, profile)


def oblique_pipe(normal, radius, size) -> Voxels:
    """A pipe along ``normal`` through the middle of a cube, cut at its ends by planes across it."""
    normal = np.array(normal) / np.linalg.norm(normal)
    zyx = np.indices((size,) * 3).reshape(3, -1).T
    place = zyx[:, ::-1] - (size - 1) / 2
    along = place @ normal
    inside = (np.sum(place**2, axis=1) - along**2 < radius**2) & np.all((zyx > 3) & (zyx < size - 4), axis=1)
    flags = np.where(inside, FLUID, SOLID).astype(FLAG_DTYPE).reshape((size,) * 3)
    voxels = Voxels(flags, origin_m=(-(size - 1) / 2,) * 3)
    ends = [
        Opening(name, name, tuple(-sign * 5.2 * normal), tuple(sign * normal), radius + 1)
        for name, sign in (("inlet", 1), ("outlet", -1))
    ]
    return carve(voxels, ends)


@EVERY_LATTICE
def test_the_link_area_of_a_flat_opening_is_exact(lattice):
    frames = opening_frames(build_nodes(duct(lattice)), lattice)
    exact = 36.0 if lattice.dimension == 3 else 6.0
    assert [frame.area for frame in frames] == pytest.approx([exact, exact], rel=1e-14)


def test_the_area_of_a_walled_duct_is_its_cross_section_and_the_plug_makes_up_for_links_that_end_in_walls():
    """Of the weight 1 of a node at the side, the link towards the wall carries 6/36."""
    width = 6
    nodes = build_nodes(duct(D3Q19, width=width, periodic=False))
    assert opening_frames(nodes, D3Q19)[0].area == pytest.approx(width**2, rel=1e-14)
    frames, links = opening_frames(nodes, D3Q19), opening_links(nodes, D3Q19)
    weights = link_weights(nodes, D3Q19, links, frames, velocity_everywhere())
    scale = scale_of(nodes, D3Q19, weights, links, 0)
    assert scale == pytest.approx(width**2 / (width**2 - 4 * width / 6), rel=1e-14)


def scale_of(nodes, lattice, weights, links, number):
    """By how much the plug's weights of an opening exceed the plain momentum of its links."""
    mine = links.boundary == number
    normal = np.array(nodes.openings[number].normal)
    plain = link_momentum(lattice, links.q[mine], np.broadcast_to(normal, (mine.sum(), 3)))
    return weights[mine].sum() / plain.sum()


@pytest.mark.parametrize("normal", [(1, 2, 2), (1, 1, 0), (1, 1, 1), (1, -1, 2)], ids=str)
def test_the_link_area_of_an_oblique_plane_is_exact(normal):
    """With a normal of x component 1 all columns along x look alike, and each cuts |normal| off the plane."""
    size, middle = 31, 15
    block = Voxels(np.full((size,) * 3, FLUID, FLAG_DTYPE), origin_m=(-middle,) * 3)
    nodes = build_nodes(carve(block, [Opening("cut", "inlet", (0.0, 0.0, 0.0), normal)]))
    links = opening_links(nodes, D3Q19)
    columns = np.abs(nodes.positions_m(links.node)[:, 1:]).max(axis=1) <= 1
    frames = opening_frames(nodes, D3Q19)
    weights = link_weights(nodes, D3Q19, links, frames, (Condition(VELOCITY, SPEED),))
    weights /= scale_of(nodes, D3Q19, weights, links, 0)
    assert weights[columns].sum() == pytest.approx(9 * np.linalg.norm(normal), rel=1e-13)


@pytest.mark.parametrize("normal", [(1, 2, 2), (1, 1, 0), (0.3, -0.7, 0.5)], ids=str)
def test_the_area_of_an_oblique_pipe_is_its_cross_section(normal):
    """Measured: within 2.8 % at a radius of 9, 0.4 % at 18."""
    radius = 9.0
    nodes, _ = clean(build_nodes(oblique_pipe(normal, radius, 41)), "openings")
    areas = np.array([frame.area for frame in opening_frames(nodes, D3Q19)])
    assert np.abs(areas / (np.pi * radius**2) - 1).max() < 0.03


@LATTICES
def test_opening_links_are_listed_once(lattice):
    nodes = random_nodes(lattice)
    links = opening_links(nodes, lattice)
    triples = list(zip(links.boundary, links.voxel, links.q, strict=True))
    assert triples == sorted(set(triples)) and np.array_equal(nodes.voxel[links.node], links.voxel)


@LATTICES
@EVERY_STREAMING
@BACKENDS
@pytest.mark.parametrize("profile", [*PROFILES.values(), HOLLOW], ids=[*PROFILES, "measured"])
def test_the_mass_that_enters_is_area_times_velocity(lattice, streaming, backend, profile):
    nodes = random_nodes(lattice)
    areas = [frame.area for frame in opening_frames(nodes, lattice)]
    setup = Setup(lattice, backend, streaming=streaming, conditions=velocity_everywhere(profile))
    engine = advance(start_at_rest(build_engine(nodes, setup)), 5)
    before = engine.totals().mass
    gained = advance(engine, 1).totals().mass - before
    assert gained == pytest.approx(SPEED * areas[0] + 0.5 * SPEED * areas[1], abs=1e-12)


@EVERY_LATTICE
@EVERY_STREAMING
def test_the_measured_flux_of_each_opening_is_area_times_velocity(lattice, streaming):
    nodes = random_nodes(lattice)
    areas = [frame.area for frame in opening_frames(nodes, lattice)]
    engine = build_engine(nodes, Setup(lattice, streaming=streaming, conditions=velocity_everywhere()))
    entering, _ = advance(start_at_rest(engine), 5).link_fluxes()
    found = np.bincount(engine.domain.links.boundary, entering)
    assert found == pytest.approx([SPEED * areas[0], 0.5 * SPEED * areas[1]], abs=1e-13)


@LATTICES
def test_a_parabolic_profile_carries_the_flow_of_a_plug_and_is_fastest_in_the_middle(lattice):
    nodes = build_nodes(duct(lattice, width=9, periodic=False))
    frames, links = opening_frames(nodes, lattice), opening_links(nodes, lattice)
    sums = [
        np.bincount(links.boundary, link_weights(nodes, lattice, links, frames, velocity_everywhere(profile)))
        for profile in (plug, parabolic)
    ]
    assert sums[0] == pytest.approx(sums[1], rel=1e-13)
    flat, curved = (
        link_weights(nodes, lattice, links, frames, velocity_everywhere(profile)) for profile in (plug, parabolic)
    )
    straight = links.q == 2
    across = np.abs(nodes.coordinates(links.node)[:, 1:] - (4, 0 if lattice.dimension == 2 else 4)).max(axis=1)
    ratio, across = (curved / flat)[straight], across[straight]
    assert ratio[across == 0].min() == ratio.max() > 1.4 and ratio[across == 4].max() < 0.5 * ratio.max()


def test_a_parabolic_profile_is_the_paraboloid_of_its_radius():
    frame = SimpleNamespace(centroid=np.array([1.0, 2.0, 3.0]), along=np.array([1.0, 0.0, 0.0]), radius=4.0)
    midpoints = frame.centroid + np.array([[0.5, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, -4.0], [0.0, 6.0, 0.0]])
    assert parabolic(frame, midpoints).tolist() == [2.0, 1.5, 0.0, 0.0]


def straight_weights(nodes, lattice, profile):
    """Position (y, z) across the first opening of every link along x into it, and its weight over the plug's."""
    frames, links = opening_frames(nodes, lattice), opening_links(nodes, lattice)
    shaped, flat = (link_weights(nodes, lattice, links, frames, velocity_everywhere(each)) for each in (profile, plug))
    mine = (links.boundary == 0) & (np.abs(lattice.c[links.q]).sum(axis=1) == 1)
    return nodes.coordinates(links.node[mine])[:, 1:], (shaped / flat)[mine]


@EVERY_LATTICE
def test_a_rectangular_profile_is_a_product_of_two_parabolas(lattice):
    nodes = build_nodes(duct(lattice, width=9, periodic=False))
    across, weight = straight_weights(nodes, lattice, rectangular)
    offset = across - (4, 4 if lattice.dimension == 3 else 0)
    expected = np.prod(1 - (offset / 4.5) ** 2, axis=1)
    assert weight / weight.max() == pytest.approx(expected / expected.max(), rel=1e-13)


@EVERY_LATTICE
def test_a_measured_profile_is_linear_between_its_points(lattice):
    nodes = build_nodes(duct(lattice, width=9, periodic=False))
    across, weight = straight_weights(nodes, lattice, HOLLOW)
    radius = np.linalg.norm(across - (4, 4 if lattice.dimension == 3 else 0), axis=1)
    expected = np.interp(radius, [0.0, 2.0, 4.0], [1.0, 5.0, 0.5])
    assert weight / weight.max() == pytest.approx(expected / expected.max(), rel=1e-12)


def test_a_rectangular_profile_of_an_oblique_opening_is_refused():
    nodes, _ = clean(build_nodes(oblique_pipe((1, 2, 2), 5.0, 25)), "openings")
    frames, links = opening_frames(nodes, D3Q19), opening_links(nodes, D3Q19)
    with pytest.raises(InputError, match="rectangular profile needs an opening with a normal along x, y or z"):
        link_weights(nodes, D3Q19, links, frames, velocity_everywhere(rectangular))


def test_a_profile_that_carries_no_flow_is_refused():
    nodes = build_nodes(duct(D2Q9))
    frames, links = opening_frames(nodes, D2Q9), opening_links(nodes, D2Q9)
    nothing = measured(np.array([0.0, 1.0]), np.zeros(2))
    with pytest.raises(InputError, match="opening 'in': its profile gives no flow through any link"):
        link_weights(nodes, D2Q9, links, frames, velocity_everywhere(nothing))


@LATTICES
@EVERY_STREAMING
@BACKENDS
def test_uniform_flow_from_velocity_to_pressure_opening_stays_uniform(lattice, streaming, backend):
    """Equilibrium at rho = 1 and u along the normal satisfies both link conditions exactly."""
    nodes = build_nodes(duct(lattice))
    conditions = (Condition(VELOCITY, SPEED), Condition(PRESSURE, 0.0))
    engine = build_engine(nodes, Setup(lattice, backend, streaming=streaming, conditions=conditions))
    velocity = np.array([[SPEED], [0.0], [0.0]])
    engine.start_from(np.ones(1), velocity)
    expected = np.concatenate(([[0.0]], velocity))
    assert np.abs(advance(engine, 100).moments() - expected).max() < 1e-13


@LATTICES
@EVERY_STREAMING
def test_pressure_openings_drive_the_density_to_theirs(lattice, streaming):
    """Starting 0.5 % below: acoustic waves leave through the openings; measured 1e-10 of it is left."""
    nodes = build_nodes(duct(lattice))
    conditions = (Condition(PRESSURE, 0.005), Condition(PRESSURE, 0.005))
    engine = start_at_rest(
        build_engine(nodes, Setup(lattice, streaming=streaming, rates=(1.0,), conditions=conditions))
    )
    deviation, *velocity = advance(engine, 500).moments()
    assert np.abs(deviation - 0.005).max() < 1e-11 and np.abs(velocity).max() < 1e-11


@LATTICES
@EVERY_STREAMING
def test_a_pressure_difference_drives_flow_towards_the_lower_one(lattice, streaming):
    nodes = build_nodes(duct(lattice, periodic=False))
    conditions = (Condition(PRESSURE, 0.002), Condition(PRESSURE, 0.0))
    engine = advance(
        start_at_rest(build_engine(nodes, Setup(lattice, streaming=streaming, conditions=conditions))), 500
    )
    entering, _ = engine.link_fluxes()
    inflow, outflow = np.bincount(engine.domain.links.boundary, entering)
    assert inflow > 0 and inflow + outflow == pytest.approx(0, abs=1e-4 * inflow)


@LATTICES
@EVERY_STREAMING
def test_changed_opening_values_take_effect_in_the_next_step(lattice, streaming):
    nodes = random_nodes(lattice)
    areas = [frame.area for frame in opening_frames(nodes, lattice)]
    engine = build_engine(nodes, Setup(lattice, streaming=streaming, conditions=velocity_everywhere()))
    start_at_rest(engine).schedule(np.array([[2 * SPEED, 0.0, 1.0, 0.0, 0.0, 0.0]]))
    before = engine.totals().mass
    gained = advance(engine, 1).totals().mass - before
    assert gained == pytest.approx(2 * SPEED * areas[0], abs=1e-12)


@LATTICES
@pytest.mark.parametrize("kind", [VELOCITY, PRESSURE])
def test_the_compiled_condition_is_the_specified_one(lattice, kind):
    rng = np.random.default_rng(4)
    n = 40
    q, kinds, value = rng.integers(1, lattice.q, n), np.full(n, kind), rng.uniform(-0.1, 0.1, n)
    outgoing, momenta, velocity = rng.normal(size=n), rng.normal(size=(2, n)), rng.uniform(-0.1, 0.1, (3, n))
    plane = np.vstack((rng.normal(size=(3, n)), -rng.uniform(size=n))) * rng.integers(0, 2, n)
    specified = openings(COMPRESSIBLE).reference(outgoing, q, (kinds, value), momenta, plane, velocity, lattice)
    incoming = openings(COMPRESSIBLE).compile(lattice, FP64, lambda function: function)
    rows = zip(outgoing, q, kinds, value, momenta.T, plane.T, *velocity, strict=True)
    assert np.abs([incoming(*row) for row in rows] - specified).max() < 1e-13


@LATTICES
@pytest.mark.parametrize("equilibrium", [COMPRESSIBLE, INCOMPRESSIBLE, STOKES])
def test_the_compiled_reflection_is_the_specified_one(lattice, equilibrium):
    """Of what is nearly at equilibrium with velocities into the fluid and out of it."""
    rng = np.random.default_rng(4)
    n = 40
    q, value = rng.integers(1, lattice.q, n), rng.uniform(-0.1, 0.1, n)
    leaving, shares = rng.uniform(-0.3, 0.3, (4, n)) * lattice.w[q], np.outer(reflected_shares(1.7), np.ones(n))
    specified = reflection(equilibrium).reference(leaving, shares, q, value, lattice)
    reflected = reflection(equilibrium).compile(lattice, FP64, lambda function: function)
    found = [reflected(*row) for row in zip(leaving.T, shares.T, q, value, strict=True)]
    assert np.abs(found - specified).max() < 1e-15
    both_ways = [
        reflection(equilibrium).reference(each, shares, q, value, lattice) for each in (leaving, leaving[::-1])
    ]
    assert np.abs(sum(both_ways) - (leaving[0] + leaving[3])).max() < 1e-15


def test_the_radius_of_an_opening_reaches_to_the_wall():
    """Measured: 0.9967 and 0.99999 of that of the pipe; voxels make it 0.985 and 1.006. So does the area of which a
    velocity is the mean."""
    for radius, allowed in ((6.3, 0.005), (12.3, 0.0005)):
        nodes, _ = pipe_nodes(np.array([1.0, 0.0, 0.0]), radius, 9.0)
        (frame, _), (voxels, _) = opening_frames(nodes, D3Q19), opening_frames(replace(nodes, cuts=None), D3Q19)
        assert frame.radius == pytest.approx(radius, rel=allowed) and frame.of_voxels == voxels.area
        assert frame.area == pytest.approx(np.pi * radius**2, rel=2.0 * allowed) and voxels.area == voxels.of_voxels
        assert voxels.radius != pytest.approx(radius, rel=allowed)


@pytest.mark.parametrize("along", [(1.0, 0.364, 0.0), (1.0, 1.0, 0.0), (1.0, 0.5, 0.3), (1.0, 1.0, 1.0)], ids=str)
@pytest.mark.parametrize(("radius", "allowed"), [(6.3, 0.01), (12.3, 0.005)])
def test_the_area_of_an_oblique_opening_is_that_of_the_lumen_behind_it(radius, allowed, along):
    """Measured: 0.994 to 0.9986, and 0.997 to 0.9999; the links through the plane make it 0.961 to 1.006."""
    nodes, _ = pipe_nodes(np.array(along) / np.linalg.norm(along), radius, 4.0 * radius)
    areas = [frame.area for frame in opening_frames(nodes, D3Q19)]
    assert areas == pytest.approx([np.pi * radius**2] * 2, rel=allowed)


@pytest.mark.parametrize("offset", [0.02, 0.3, 1.0])
def test_the_area_of_a_channel_reaches_to_its_plates(offset):
    voxels = build_shape("channel", length=8, height=10, ends="open", wall_offset=offset)
    nodes = cut_links(build_nodes(voxels), voxels.wall_shape, D2Q9.c[1:])
    assert [frame.area for frame in opening_frames(nodes, D2Q9)] == pytest.approx([9.0 + 2.0 * offset] * 2, rel=1e-12)


def test_vessels_beside_an_oblique_opening_are_none_of_its_area(tmp_path):
    """Three parallel tubes of 6 voxels radius whose walls are 2.4 voxels apart: with all that lies near, 1.16 of it."""
    axis = np.array([2.0, 1.0, 0.0]) / np.sqrt(5.0)
    aside = (np.cross(axis, [0.0, 0.0, 1.0]) + [0.0, 0.0, 1.0]) / np.sqrt(2.0)
    one = surfaces.tube(6.0, 60.0, n_sides=96)
    frame = np.stack((aside, np.cross(axis, aside), axis))  # x, y, z of the tube
    points = [one.points @ frame + k * 14.4 * aside for k in (-1, 0, 1)]
    triangles = [one.triangles + k * len(one.points) for k in range(3)]
    three = surfaces.Surface(np.concatenate(points), np.concatenate(triangles), 1.0)
    path = write_stl(tmp_path / "tubes.stl", three)
    places = {"in": 20.0 * axis, "a": 6.0 * axis - 14.4 * aside, "b": 6.0 * axis + 14.4 * aside}
    of_all = {"kind": "inlet", "pressure_pa": 0.0, "radius_m": 6.2e-3, "normal": axis.tolist()}
    opening = [of_all | {"name": name, "centre_m": (1e-3 * place).tolist()} for name, place in places.items()]
    tables = {
        "geometry": {"file": str(path), "spacing_m": 1e-3, "options": {"unit": "mm"}},
        **{"fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 1e-5}, "openings": opening},
        **{"lattice": {"time_step_s": 1e-3, "walls": "bouzidi"}, "run": {"steps": 1}},
    }
    nodes, _ = load_nodes(case_from_dict(tables))
    found, *_ = opening_frames(nodes, D3Q19)
    assert found.area == pytest.approx(36.0 * np.pi, rel=0.01)
