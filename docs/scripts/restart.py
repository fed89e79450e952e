"""A flow that is saved, loaded and continued, bit for bit."""

import numpy as np

from muphy_lb import Simulation

case = {
    "geometry": {"shape": "channel", "spacing_m": 1e-3, "options": {"height": 8, "length": 16, "ends": "open"}},
    "openings": [{"name": "inlet", "velocity_m_s": 2e-3}, {"name": "outlet", "pressure_pa": 0.0}],
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-5},
    "lattice": {"name": "D2Q9", "time_step_s": 1e-2},
    "compute": {"backend": "numpy"},
    "run": {"steps": 200},
}
with Simulation(case) as sim:
    sim.run(steps=100)
    sim.save("saved", overwrite=True)
    sim.run(steps=100)
    whole = sim.fields("velocity")
with Simulation.load("saved") as sim:
    sim.run(steps=100)
    again = sim.fields("velocity")
    if sim.is_root:
        print(f"the same bits after a restart: {whole.equals(again)}")
        assert whole.equals(again) and np.isfinite(again.velocity).any()
