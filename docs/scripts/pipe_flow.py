"""Flow through a round pipe against Poiseuille's law."""

from muphy_lb import Simulation

case = {
    "geometry": {"shape": "pipe", "spacing_m": 1e-4, "options": {"radius": 8.0, "length": 1}},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
    "flow": {"acceleration_m_s2": [0.0, 0.0, 0.01]},
    "lattice": {"collision": "trt", "walls": "bouzidi", "relaxation_time": 1.0},
    "run": {"steps": 5000, "steady_watch": ["permeability"], "steady_interval_steps": 100},
}
with Simulation(case) as sim:
    sim.run_until_steady()
    fastest, exact = sim.health.max_velocity_m_s, 0.01 * 8e-4**2 / (4 * 1e-6)
    print(f"largest velocity {fastest:.5g} m/s, Poiseuille {exact:.5g} m/s")
    assert abs(fastest / exact - 1.0) < 0.01
