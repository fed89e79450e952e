"""A flow in PyVista: the flow rate through a slice, and the wall with its shear stress."""

from muphy_lb import Simulation

case = {
    "geometry": {"shape": "pipe", "spacing_m": 1e-4, "options": {"radius": 6.0, "length": 24, "ends": "open"}},
    "openings": [{"name": "inlet", "velocity_m_s": 0.01}, {"name": "outlet", "pressure_pa": 0.0}],
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 4e-6},
    "lattice": {"walls": "bouzidi", "lattice_velocity": 0.01},
    "run": {"steps": 3000, "ramp_steps": 400},
}
with Simulation(case) as sim:
    sim.run()
    voxels, wall, inlet = sim.to_pyvista("velocity", "pressure"), sim.wall_to_pyvista(), sim.openings["inlet"]
    if sim.is_root:
        cut = voxels.slice(normal="z").compute_cell_sizes()
        through = float((cut["velocity"][:, 2] * cut["Area"]).sum())
        print(f"flow rate through a slice {through:.4g} m3/s, at the inlet {inlet.flow_rate_m3_s:.4g} m3/s")
        assert abs(through / inlet.flow_rate_m3_s - 1.0) < 0.02 and "wall_shear_stress" in wall.point_data
        voxels.save("flow.vtu")
