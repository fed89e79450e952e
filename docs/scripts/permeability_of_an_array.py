"""Permeability of a NumPy array: a slit, of which the exact value is known. 0 is fluid, all else is solid."""

import numpy as np

from muphy_lb import Simulation

rock = np.zeros((2, 16, 2), dtype=np.uint8)
rock[:, :4] = 1  # a slit of 12 voxels beside 4 of solid
case = {
    "geometry": {"spacing_m": 1e-6, "periodic": ["x", "y", "z"]},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
    "flow": {"acceleration_m_s2": [10.0, 0.0, 0.0]},
    "lattice": {"collision": "trt", "relaxation_time": 1.0},
    "compute": {"backend": "numpy", "precision": "fp64"},
    "run": {"steps": 5000, "steady_watch": ["permeability"]},
}
with Simulation(case, geometry=rock) as sim:
    sim.run_until_steady()
    k_m2, exact_m2 = sim.permeability().permeability_m2, (12e-6) ** 2 / 12 * 12 / 16
    print(f"permeability {k_m2:.5g} m2, exact {exact_m2:.5g} m2")
    assert abs(k_m2 / exact_m2 - 1.0) < 0.005
