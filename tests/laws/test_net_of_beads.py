"""Beads that the bonds of a file join to a closed net are a body of finite size."""

import numpy as np
import pytest

from muphy_lb.model.model import POSITION
from muphy_lb.run.solver import Solver

SHEAR, N, EDGE = 2e-3, 20, 3.0  # shear rate, voxels between the plates, and edge of an icosahedron [voxels]
GOLDEN = 0.5 * (1.0 + np.sqrt(5.0))
LID = 0.5 * SHEAR * N
STEPS = 400


def icosahedron():
    """(12, 3) corners around the origin, turned somehow, and (30, 2) edges."""
    corners = [each for s in (-1, 1) for t in (-GOLDEN, GOLDEN) for each in ((0, s, t), (s, t, 0), (t, 0, s))]
    corners = 0.5 * EDGE * np.array(corners)
    apart = np.linalg.norm(corners[:, None] - corners, axis=-1)
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    return corners @ turn.T, np.argwhere(np.triu(np.isclose(apart, EDGE)))


def table(name, header, rows):
    name.write_text("\n".join([header, *(",".join(map(repr, row)) for row in rows)]) + "\n")
    return str(name)


def sheared(folder, coupling):
    """A net in the middle between plates that move against each other, and its edges."""
    corners, edges = icosahedron()
    image = np.ones((N + 2, N, N), dtype=np.uint8)
    image[0], image[-1] = 2, 3
    np.save(folder / "plates.npy", image)
    centre = np.array([0.5 * (N - 1), 0.5 * (N - 1), 0.5 * (N + 1)])
    places = [[number, *place] for number, place in enumerate((corners + centre).tolist())]
    net = {
        "name": "net",
        "kind": "beads",
        "file": table(folder / "beads.csv", "id,x_m,y_m,z_m", places),
        "bonds_file": table(folder / "bonds.csv", "id_1,id_2", edges.tolist()),
        "bonds": {"potential": "harmonic", "stiffness_n_m": 0.2, "length_m": EDGE},
        "mass_kg": 1.0,
        "friction_kg_s": 0.5,
        "substeps": 4,
        "coupling": coupling,
    }
    options = {"fluid_value": 1, "wall_values": {"low": 2, "high": 3}}
    case = {
        "geometry": {"file": str(folder / "plates.npy"), "spacing_m": 1.0, "periodic": ["x", "y"], "options": options},
        "fluid": {"density_kg_m3": 1.0, "kinematic_viscosity_m2_s": 1.0 / 6.0},
        "lattice": {"time_step_s": 1.0, "collision": "trt"},
        "walls": [{"name": name, "velocity_m_s": [u, 0.0, 0.0]} for name, u in (("low", -LID), ("high", LID))],
        "particles": [net],
        "compute": {"backend": "cpu", "precision": "fp64"},
        "run": {"steps": 10, "ramp_steps": 0},
    }
    simulation = Solver(case)
    z = simulation.nodes.coordinates()[:, 2]
    simulation.set_velocity_m_s(np.stack([SHEAR * (z - 0.5 * (N + 1)), *np.zeros((2, z.size))], axis=1))
    return simulation, edges


def corners_of(simulation):
    """(12, 3) corners of the net around their mean."""
    columns = simulation.particles()["net"]
    places = np.stack([columns[voxel] + columns[offset] for voxel, offset in zip(*POSITION, strict=True)], axis=1)
    return places - places.mean(axis=0)


def turned_by(before, after):
    """Angle about y of the rotation that leads from one set of corners to the other (Kabsch 1976, from memory)."""
    w, _, vt = np.linalg.svd(before.T @ after)
    turn = w @ np.diag([1.0, 1.0, np.linalg.det(w @ vt)]) @ vt
    return np.arctan2(turn[2, 0] - turn[0, 2], turn[0, 0] + turn[2, 2])


@pytest.mark.parametrize(("coupling", "error"), [("one-way", 1e-3), ("both", 0.02)])
def test_a_net_keeps_its_form_and_turns_with_half_of_the_shear_rate(tmp_path, coupling, error):
    """As a sphere does (Jeffery 1922, from memory); plates that are 2.6 diameters
    apart slow down one that acts on the fluid."""
    simulation, edges = sheared(tmp_path, coupling)
    assert len(edges) == 30
    simulation.step(STEPS)  # the beads begin at rest
    before = corners_of(simulation)
    simulation.step(STEPS)
    after = corners_of(simulation)
    assert turned_by(before, after) / (SHEAR * STEPS) == pytest.approx(0.5, rel=error)
    lengths = np.linalg.norm(np.subtract(*(after[end] for end in edges.T)), axis=1)
    np.testing.assert_allclose(lengths, EDGE, rtol=5e-3)
