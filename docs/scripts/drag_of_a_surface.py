"""Drag of a body that an STL file describes: a sphere in a periodic box, against Hasimoto's series (1959)."""

from math import pi

import pyvista

from muphy_lb import Simulation

pyvista.Sphere(radius=6e-6, theta_resolution=60, phi_resolution=60).save("sphere.stl")
case = {
    "geometry": {"unit": "m", "periodic": ["x", "y", "z"], "options": {"margin": 6, "invert": True}},
    "walls": [{"name": "body", "box_m": [[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]]}],
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
    "flow": {"acceleration_m_s2": [1.0, 0.0, 0.0]},
    "lattice": {"collision": "trt", "equilibrium": "stokes", "walls": "bouzidi", "relaxation_time": 1.0},
    "run": {"steps": 4000, "steady_watch": ["permeability"], "steady_interval_steps": 100},
}
with Simulation(case, geometry="sphere.stl", spacing_m=1e-6) as sim:
    sim.run_until_steady()
    force = sim.forces["body"]
    drag, edge_m = force.force_n[0] + force.body_force_share_n[0], sim.nodes.shape[0] * 1e-6
    share = 4 / 3 * pi * 6e-6**3 / edge_m**3
    exact = 6 * pi * 1e-3 * 6e-6 * sim.permeability().darcy_velocity_m_s[0]
    exact /= 1 - 1.7601 * share ** (1 / 3) + share - 1.5593 * share**2
    print(f"drag {drag:.4g} N, Hasimoto {exact:.4g} N")
    assert abs(drag / exact - 1.0) < 0.03
