"""Openings on planes normal to an axis that cut their vessel at an angle: its direction is found, also from stairs, and
what enters goes along it."""

import numpy as np
import pytest

from muphy_lb.boundaries.opening_geometry import opening_frames
from muphy_lb.case.case import case_from_dict
from muphy_lb.domain import STREAMINGS
from muphy_lb.geometry.clean import clean
from muphy_lb.geometry.implicit import RoundWall
from muphy_lb.geometry.neighbours import cut_links
from muphy_lb.geometry.nodes import NodeList, build_nodes
from muphy_lb.geometry.openings.carve import carve
from muphy_lb.geometry.shapes.shape_parts import flags_where
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Opening, Voxels
from muphy_lb.lattice import D3Q19
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.physics.particles.openings import spread_over_opening
from muphy_lb.run.solver import Solver
from tests.laws.test_oblique_planes import populations
from validation.flow.openings import middle_gradient

OFF_CENTRE = np.array([0.0, -0.137, 0.081])
X = np.array([1.0, 0.0, 0.0])


def direction(degrees: float, aside: float = 0.0) -> np.ndarray:
    """Unit vector at an angle to x in the plane of x and y, and at another one to that plane."""
    a, b = np.radians((degrees, aside))
    return np.array([np.cos(a) * np.cos(b), np.sin(a) * np.cos(b), np.sin(b)])


def pipe(along: np.ndarray, radius: float, length: float, walls: str) -> tuple[NodeList, np.ndarray, float]:
    """Nodes of a pipe between planes normal to x on faces of voxels, their places seen from its middle, and how far the
    planes are along it."""
    length = (2 * round(0.5 * length * along[0]) + 1) / along[0]
    half = np.ceil(0.5 * length * np.abs(along) + radius / along[0] + 3.0)
    shape, middle = tuple(int(n) for n in 2 * half[::-1] + 1), half + OFF_CENTRE
    wall = RoundWall(middle, radius, tuple(along.tolist()))
    points = np.indices(shape).reshape(3, -1)[::-1].T.astype(float)
    fluid = wall.gaps(points).reshape(shape) < 0.0
    voxels = Voxels(flags_where(fluid), origin_m=tuple(-middle), wall_shape=wall)
    ends = [
        Opening(name, name, tuple(-0.5 * sign * length * along), (sign, 0.0, 0.0), radius / along[0] + 2.0)
        for name, sign in (("inlet", 1.0), ("outlet", -1.0))
    ]
    nodes, _ = clean(build_nodes(carve(voxels, ends)), "openings")
    nodes = nodes if walls == "half-way" else cut_links(nodes, wall, D3Q19.c[1:])
    return nodes, nodes.coordinates(np.arange(nodes.n_nodes)) - middle, length


def degrees_off(frame, along: np.ndarray) -> float:
    return float(np.degrees(np.arccos(min(1.0, abs(float(frame.along @ along))))))


@pytest.mark.parametrize("angles", [(10.0, 0.0), (20.0, 0.0), (35.0, 0.0), (45.0, 0.0), (25.0, 25.0)], ids=str)
@pytest.mark.parametrize("radius", [3.3, 8.3])
def test_stairs_tell_the_direction_of_a_vessel(radius, angles):
    """Measured: within 1 degree, from one layer of them up to 26 degrees off."""
    along = direction(*angles)
    nodes, *_ = pipe(along, radius, 5.0 * radius, "half-way")
    assert max(degrees_off(frame, along) for frame in opening_frames(nodes, D3Q19)) < 1.2


def test_a_vessel_across_its_plane_has_exactly_the_direction_of_the_normal():
    nodes, *_ = pipe(X, 6.3, 20.0, "half-way")
    for frame in opening_frames(nodes, D3Q19):
        assert np.array_equal(frame.along, frame.normal) and frame.cosine == 1.0


def block_with_an_opening(fluid: np.ndarray) -> NodeList:
    voxels = Voxels(np.where(fluid, FLUID, SOLID).astype(FLAG_DTYPE))
    middle = (4.5, *(0.5 * np.array(fluid.shape[1::-1])))
    return build_nodes(carve(voxels, [Opening("inlet", "inlet", middle, (1.0, 0.0, 0.0), 99.0)]))


def test_a_duct_at_an_angle_has_a_direction():
    z, y, x = np.indices((40, 50, 40))
    duct = (np.abs(y - 20 - np.tan(np.radians(25.0)) * (x - 5)) < 9.0) & (np.abs(z - 20) < 9)
    (frame,) = opening_frames(block_with_an_opening(duct), D3Q19)
    assert degrees_off(frame, direction(25.0)) < 2.0


@pytest.mark.parametrize("depth", range(2, 7))
@pytest.mark.parametrize("length", [3, 99], ids=["rib", "step"])
def test_a_step_near_an_opening_does_not_turn_its_vessel(length, depth):
    """A vessel at an angle turns in both halves of the layers, a step in one; without that it turned by 17 degrees."""
    z, y, x = np.indices((36, 40, 30))
    is_inside = (np.abs(y - 20) < 9) & (np.abs(z - 18) < 9)
    is_step = (x > 4 + depth) & (x <= 4 + depth + length) & (y < 16)
    (frame,) = opening_frames(block_with_an_opening(is_inside & ~is_step), D3Q19)
    assert np.array_equal(frame.along, frame.normal)


@pytest.mark.parametrize("seed", range(3))
def test_the_face_of_a_rock_has_none(seed):
    noise = np.random.default_rng(seed).normal(size=(40, 40, 40))
    for axis in range(3):
        noise = sum(np.roll(noise, shift, axis) for shift in range(-3, 4))
    (frame,) = opening_frames(block_with_an_opening(noise > np.quantile(noise, 0.7)), D3Q19)
    assert np.array_equal(frame.along, frame.normal)


def flow(angles: tuple, walls: str, reynolds: float, is_driven: bool, radius=6.3, length=38.0, tau=0.56):
    """What becomes of Poiseuille's flow: flow rate, pressure difference and gradient in the middle over Poiseuille's;
    and the largest velocity across the pipe in the first layers over the mean."""
    along = direction(*angles)
    nodes, place, length = pipe(along, radius, length, walls)
    nu = (tau - 0.5) / 3.0
    mean = reynolds * nu / (2.0 * radius)
    force, rate = 8.0 * nu * mean / radius**2, np.pi * radius**2 * mean
    inlet = {"pressure_pa": force * length} if is_driven else {"flow_rate_m3_s": rate, "profile": "parabolic"}
    given = {
        "geometry": {"shape": "pipe", "spacing_m": 1.0},
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": nu},
        "lattice": {"time_step_s": 1.0, "equilibrium": "incompressible", "collision": "trt", "walls": walls},
        "openings": [{"name": "inlet", **inlet}, {"name": "outlet", "pressure_pa": 0.0}],
        "compute": {"backend": "cpu", "precision": "fp64"},
        "run": {"steps": 1, "ramp_steps": 0},
    }
    simulation = Solver(case_from_dict(given), SerialCommunicator(), nodes)
    from_axis = (place**2).sum(axis=1) - (place @ along) ** 2
    profile = np.maximum(2.0 * mean * (1.0 - from_axis / radius**2), 0.0)
    simulation.set_velocity_m_s(profile[:, None] * along)
    simulation.set_pressure_pa(force * (0.5 * length - place @ along))
    simulation.advance(round(radius**2 / nu))
    entering, leaving = simulation.openings().values()
    velocity = simulation.velocity_m_s()
    aside = np.linalg.norm(velocity - np.outer(velocity @ along, along), axis=1)
    first = place[:, 0] < place[:, 0].min() + 1.5
    gradient = middle_gradient(simulation, place @ along, length) / force
    drop = (entering.mean_pressure_pa - leaving.mean_pressure_pa) / (force * length)
    return entering.flow_rate_m3_s / rate, drop, gradient, aside[first].max() / mean


@pytest.mark.parametrize("walls", ["half-way", "bouzidi"])
def test_a_pressure_varies_along_a_plane_that_is_not_across_its_vessel(walls):
    """Measured: 1.002, 1.001. With one pressure it would be 1.10."""
    _, _, gradient, aside = flow((40.0, 0.0), walls, 0.1, is_driven=True, tau=0.8)
    assert gradient == pytest.approx(1.0, abs=0.006) and aside < 0.12


@pytest.mark.parametrize("walls", ["half-way", "bouzidi"])
def test_what_enters_with_a_velocity_goes_along_the_vessel(walls):
    """Measured at a radius of 6.3: 0.085, 0.061 of the mean across the pipe, and a pressure difference of 1.032, 0.967
    (gradient 1.049, 0.997). Along the normal it would be 0.7 to 1.1, and 1.3."""
    _, drop, gradient, aside = flow((35.0, 0.0), walls, 40.0, is_driven=False, radius=5.3, length=32.0)
    assert aside < 0.15 and drop == pytest.approx(gradient, abs=0.06)


@pytest.mark.night
@pytest.mark.parametrize("is_driven", [True, False])
@pytest.mark.parametrize("walls", ["half-way", "bouzidi"])
@pytest.mark.parametrize("angles", [(10.0, 0.0), (20.0, 0.0), (35.0, 0.0), (25.0, 25.0)], ids=str)
def test_flow_with_inertia_at_an_angle_is_that_across_the_plane(angles, walls, is_driven):
    """Voxel walls at an angle to the lattice let up to 3 % less through by themselves."""
    rate, drop, *_ = flow(angles, walls, 40.0, is_driven, radius=8.3, length=50.0, tau=0.55)
    assert rate == pytest.approx(0.97, abs=0.05) if is_driven else drop == pytest.approx(1.0, abs=0.05)


def test_a_plane_that_cuts_its_vessel_at_more_than_40_degrees_is_told():
    for degrees, n_told in ((35.0, 0), (48.0, 2)):
        nodes, *_ = pipe(direction(degrees), 5.3, 25.0, "half-way")
        given = {
            "geometry": {"shape": "pipe", "spacing_m": 1.0},
            "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.1},
            "lattice": {"time_step_s": 1.0},
            "openings": [{"name": name, "pressure_pa": 0.0} for name in ("inlet", "outlet")],
            "compute": {"backend": "numpy"},
            "run": {"steps": 1, "ramp_steps": 0},
        }
        told = Solver(case_from_dict(given), SerialCommunicator(), nodes).describe()
        assert told.count("cuts its vessel at") == n_told


def after_a_pulse_of_sound(length: int, is_open: bool, half: float = 5.0, width: float = 16.0) -> np.ndarray:
    """Mean pressure of sections of a channel at 45 degrees between planes normal to x, over that of a pulse that has
    gone from 6 widths inside by 10 widths towards the outlet, which sound leaves or not."""
    y, x = np.indices((length + 36, length + 12))
    middle = 10.3
    is_inside = np.abs(y - middle - (x - 5)) < half * np.sqrt(2.0)
    ends = [
        Opening("inlet", "inlet", (4.5, middle, 0.0), (1.0, 0.0, 0.0), 99.0),
        Opening("outlet", "outlet", (4.5 + length, middle + length, 0.0), (-1.0, 0.0, 0.0), 99.0),
    ]
    voxels = Voxels(np.where(is_inside, FLUID, SOLID).astype(FLAG_DTYPE)[np.newaxis])
    given = {
        "geometry": {"shape": "channel", "spacing_m": 1.0},
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.01 / 3.0},
        "lattice": {"name": "D2Q9", "time_step_s": 1.0, "collision": "trt", "equilibrium": "stokes"},
        "openings": [
            {"name": "inlet", "velocity_m_s": 0.0},
            {"name": "outlet", "pressure_pa": 0.0, "non_reflecting": is_open},
        ],
        "compute": {"backend": "cpu", "precision": "fp64"},
        "run": {"steps": 1, "ramp_steps": 0},
    }
    simulation = Solver(case_from_dict(given), SerialCommunicator(), build_nodes(carve(voxels, ends)))
    place = (simulation.nodes.coordinates() - [4.5, middle, 0.0]) @ direction(45.0)
    pulse = 1e-3 * np.exp(-(((place - 6.0 * width) / width) ** 2))
    simulation.set_pressure_pa(pulse / 3.0)
    simulation.set_velocity_m_s(np.outer(pulse / np.sqrt(3.0), direction(45.0)))
    simulation.step(round(10.0 * width * np.sqrt(3.0)))
    is_full = (place > 16.0) & (place < 170.0)  # sections between both planes of the shorter channel
    section = np.rint(place[is_full]).astype(int)
    sums, counts = np.bincount(section, simulation.pressure_pa()[is_full]), np.bincount(section)
    return sums[16:] / counts[16:] / (1e-3 / 3.0)


def test_sound_leaves_a_vessel_through_a_plane_at_an_angle():
    """Measured: 0.05 of the pulse comes back; 0.14 with the impedance of the plane's area, 0.17 by theory."""
    back = after_a_pulse_of_sound(136, True) - after_a_pulse_of_sound(240, False)
    assert np.abs(back).max() < 0.07


def test_particles_enter_an_oblique_plane_along_the_vessel():
    """As many in every row of voxels along the pipe; faces along it, through which nothing enters, had a third more."""
    z, y, x = np.indices((30, 30, 50))
    is_inside = np.hypot(y - 14.7, z - 15.2) < 8.0
    plane = Opening("inlet", "inlet", (18.0, 14.7, 15.2), (2.0 / 5.0**0.5, 1.0 / 5.0**0.5, 0.0), 14.0)
    nodes = build_nodes(carve(Voxels(np.where(is_inside, FLUID, SOLID).astype(FLAG_DTYPE)), [plane]))
    given = {
        "geometry": {"shape": "pipe", "spacing_m": 1.0},
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 0.1},
        "lattice": {"time_step_s": 1.0},
        "openings": [{"name": "inlet", "velocity_m_s": 0.01, "profile": "plug"}],
        "compute": {"backend": "numpy"},
        "run": {"steps": 1},
    }
    view = Solver(case_from_dict(given), SerialCommunicator(), nodes)
    place, _ = spread_over_opening(view, "inlet", 19300, np.random.default_rng(1))
    counts = np.unique(place[:, 1:], axis=0, return_counts=True)[1]
    assert counts.size == is_inside[:, :, 0].sum() and np.ptp(counts) <= 3


@pytest.mark.parametrize("streaming", STREAMINGS)
def test_ranks_change_no_bit(streaming):
    nodes, *_ = pipe(direction(25.0, 10.0), 4.3, 13.0, "half-way")
    alone = populations(nodes, streaming=streaming)
    assert np.isfinite(alone).all()
    assert all(np.array_equal(populations(nodes, n_ranks, streaming=streaming), alone) for n_ranks in (2, 3))


@pytest.mark.parametrize("walls", ["half-way", "bouzidi"])
def test_the_specification_is_what_is_compiled(walls):
    nodes, *_ = pipe(direction(25.0, 10.0), 4.3, 13.0, walls)
    assert np.abs(populations(nodes, backend="numpy") - populations(nodes)).max() < 1e-13
