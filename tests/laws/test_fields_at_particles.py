"""Velocity gradient and stress where particles are, in their files, and particles on pictures."""

from types import SimpleNamespace

import h5py
import numpy as np
import pytest
from matplotlib.image import imread

from muphy_lb.base.errors import InputError
from muphy_lb.geometry.nodes import build_nodes
from muphy_lb.geometry.voxels import FLAG_DTYPE, FLUID, SOLID, Voxels
from muphy_lb.measure import at_particles
from muphy_lb.measure.at_particles import AtPoints, particles_drawn
from muphy_lb.measure.flow_view import DrawnParticles
from muphy_lb.measure.shear.fields import velocity_gradient
from muphy_lb.operators.viscous_stress import COMPONENTS, GRADIENT_PAIRS
from muphy_lb.parallel import SerialCommunicator
from muphy_lb.physics.particles.files.read import read_particles
from muphy_lb.run.loop import Run
from muphy_lb.run.simulation import Simulation
from muphy_lb.run.solver import Solver
from tests.channel import DENSITY_KG_M3, SPACING_M, periodic_channel, simulate

ACCELERATION_M_S2 = 1e-3
DRIVEN = {"acceleration_m_s2": [ACCELERATION_M_S2, 0.0, 0.0]}
TRACERS = {"name": "dye", "kind": "tracers", "count": 40, "snapshots_every_steps": 400, "extxyz": True}
FIELDS = ["shear_stress", "velocity_gradient"]


def test_the_gradient_of_a_linear_flow_is_its_matrix_also_at_walls_and_in_corners():
    """One component of a pair is known wherever one of its axes has neighbours on both sides."""
    flags = np.full((4, 4, 5), FLUID, dtype=FLAG_DTYPE)
    flags[0, 0, :2] = SOLID
    nodes = build_nodes(Voxels(flags, spacing_m=0.5))
    matrix = np.array([[0.3, 1.0, -2.0], [0.5, -0.4, 0.7], [0.2, 3.0, 0.1]])
    velocity = nodes.positions_m() @ matrix.T
    strain = np.stack([np.full(nodes.n_nodes, 0.5 * (matrix + matrix.T)[pair]) for pair in COMPONENTS], axis=1)
    found = velocity_gradient(nodes, velocity, strain).reshape(-1, 3, 3)
    place, last = nodes.coordinates(), np.array(flags.shape[::-1]) - 1
    n_at_walls = ((place == 0) | (place == last)).sum(axis=1)
    away = n_at_walls <= 1
    away &= ~((place[:, 2] <= 1) & (place[:, 1] <= 1))
    assert away.sum() > 20
    np.testing.assert_allclose(found[away], np.broadcast_to(matrix, (away.sum(), 3, 3)), atol=1e-12)
    symmetric = 0.5 * (found + found.swapaxes(1, 2))
    np.testing.assert_allclose(symmetric, np.broadcast_to(0.5 * (matrix + matrix.T), found.shape), atol=1e-12)


def test_a_linear_field_is_exact_between_nodes_and_nothing_is_known_in_solid():
    nodes = simulate(periodic_channel()).nodes
    y = nodes.coordinates()[:, 1].astype(float)
    low_m = np.array(nodes.origin_m)
    points_m = low_m + SPACING_M * np.array([[2.3, 2.25, 0.0], [7.9, 4.5, 0.0], [3.0, 30.0, 0.0]])
    found = AtPoints(nodes, points_m).values(np.stack((y, -y), axis=1))
    np.testing.assert_allclose(found[:2], [[2.25, -2.25], [4.5, -4.5]])
    assert np.isnan(found[2]).all()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Output of a run with tracers in a driven channel, whose stress is known."""
    home = tmp_path_factory.mktemp("carried")
    output = {"picture": True, "frames_every_steps": 400, "film": True, "report": False}
    tables = {"particles": [TRACERS | {"fields": FIELDS}], "run": {"steps": 1200}, "output": output}
    Run(Solver(periodic_channel(flow=DRIVEN, **tables), SerialCommunicator()), home).execute()
    return home


def test_snapshots_hold_the_stress_where_the_particles_are(folder):
    middle_m = simulate(periodic_channel()).nodes.positions_m()[:, 1].mean()
    with h5py.File(folder / "particles_dye.vtkhdf") as file:
        root, n = file["VTKHDF"], TRACERS["count"]
        y_m = root["Points"][-n:, 1] - middle_m
        stress, gradient = (root["PointData"][name][-n:] for name in FIELDS)
        units = [root["PointData"][name].attrs["unit"] for name in FIELDS]
    assert units == ["Pa", "1/s"]
    inside = np.abs(y_m) < 2.0 * SPACING_M
    exact_pa = -DENSITY_KG_M3 * ACCELERATION_M_S2 * y_m
    shear = gradient[:, GRADIENT_PAIRS.index("xy")]
    largest = np.abs(exact_pa).max()
    # the magnitude is interpolated across its kink in the middle
    assert inside.sum() > 10
    np.testing.assert_allclose(stress[inside], np.abs(exact_pa)[inside], atol=0.2 * largest)
    np.testing.assert_allclose(shear[inside], exact_pa[inside] / (DENSITY_KG_M3 * 1e-5), atol=0.03 * largest / 1e-2)
    assert np.abs(gradient[:, GRADIENT_PAIRS.index("yx")]).max() < 0.05 * np.abs(shear).max()


def test_extended_xyz_holds_them_as_columns(folder):
    text = (folder / "particles_dye.xyz").read_text().splitlines()
    assert ":id:I:1:shear_stress:R:1:velocity_gradient:R:9 " in text[1]
    assert len(text[2].split()) == 1 + 3 + 3 + 1 + 1 + 9
    assert read_particles(folder / "particles_dye.xyz", SPACING_M, None, None, -1, True).n_particles == TRACERS["count"]


def test_particles_are_on_the_picture_and_on_every_frame(folder):
    without = periodic_channel(flow=DRIVEN, run={"steps": 1200}, output={"picture": True, "report": False})
    bare = folder.parent / "bare"
    Run(Solver(without, SerialCommunicator()), bare).execute()
    pictures = [imread(home / "picture.png")[..., :3] for home in (folder, bare)]
    changed = np.abs(pictures[0] - pictures[1]).max(axis=-1) > 0.1 if pictures[0].shape == pictures[1].shape else None
    assert changed is None or 50 < changed.sum() < 0.2 * changed.size
    frames = sorted((folder / "frames").glob("*.npz"))
    assert len(frames) == 3 and (folder / "film.gif").exists()
    with np.load(frames[-1]) as kept:
        assert kept["points_position_m"].shape == (TRACERS["count"], 3) and kept["points_label"] == "shear stress"


def test_a_field_that_there_is_not_is_refused():
    case = periodic_channel(particles=[TRACERS | {"fields": ["shear_stres"]}])
    with pytest.raises(InputError, match=r"particles\.dye\.fields has 'shear_stres', .*did you mean 'shear_stress'"):
        simulate(case)
    with pytest.raises(InputError, match="has fields, which are for snapshots"):
        periodic_channel(particles=[{"name": "a", "kind": "tracers", "count": 1, "fields": ["stress"]}])


def test_beads_without_bonds_are_thinned(monkeypatch):
    monkeypatch.setattr(at_particles, "MOST_POINTS", 2)
    place = [[SPACING_M * x, SPACING_M * 3.0, 0.0] for x in (1.0, 2.0, 3.0, 7.4)]
    table = {"name": "free", "kind": "beads", "positions_m": place, "mass_kg": 3e-6, "friction_kg_s": 3e-5}
    core = simulate(periodic_channel(particles=[table]), 0)
    assert not len(core.physics[0].drawn_particles["free"].bonds)
    np.testing.assert_allclose(particles_drawn(core).position_m, place[::2], atol=1e-9)


def test_chains_are_drawn_with_their_bonds():
    place = [[SPACING_M * x, SPACING_M * 3.0, 0.0] for x in (1.0, 2.0, 3.0, 7.4)]
    table = {"name": "chain", "kind": "beads", "positions_m": place, "mass_kg": 3e-6, "friction_kg_s": 3e-5}
    with Simulation(periodic_channel(particles=[table])) as simulation:
        core = simulation.core
        bonds = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
        physics = SimpleNamespace(drawn_particles={"chain": DrawnParticles(bonds=bonds)})
        view = SimpleNamespace(physics=[physics], header=core.header, particles=core.particles, field=core.field)
        points = particles_drawn(view)
        np.testing.assert_allclose(points.position_m, place, atol=1e-9)
        assert points.bonds.tolist() == [[0, 1], [1, 2]]  # the others cross the periodic face
        assert simulation.plot.slice("pressure") is not None
