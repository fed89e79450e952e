"""Air in a cavity between a cold and a hot wall, against de Vahl Davis (1983): Nu = 1.117 at Ra = 1000."""

from muphy_lb import Simulation

case = {
    "geometry": {"shape": "heated_cavity", "spacing_m": 1e-3, "options": {"size": 24, "dimension": 2}},
    "walls": [{"name": "cold", "temperature_k": 288.0}, {"name": "hot", "temperature_k": 298.0}],
    "fluid": {"density_kg_m3": 1.2, "kinematic_viscosity_m2_s": 1.5e-5},
    "thermal": {
        "reference_k": 293.0,
        "prandtl": 0.71,
        "rayleigh": 1e3,
        "length_m": 0.024,
        "gravity_m_s2": [0, -9.81, 0],
    },
    "lattice": {"name": "D2Q9", "collision": "mrt", "relaxation_time": 0.65},
    "compute": {"precision": "fp64"},
    "run": {"steps": 20000, "ramp_steps": 0, "steady_watch": ["heat"], "steady_interval_steps": 500},
}
with Simulation(case) as sim:
    sim.run_until_steady(tolerance=1e-3)
    nusselt = sim.watched()["heat"]["hot"] * 0.024 / 10.0
    print(f"Nusselt number {abs(nusselt):.4f}, de Vahl Davis 1.117")
    assert abs(abs(nusselt) / 1.117 - 1.0) < 0.01
