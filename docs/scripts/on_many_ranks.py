"""The same script on one rank and under mpirun -n 4: every rank makes every call; arrays are on rank 0."""

from muphy_lb import Simulation

case = {
    "geometry": {"shape": "branching_vessel", "spacing_m": 1.5e-3, "options": {"generations": 1}},
    "openings": [
        {"name": "inlet", "velocity_m_s": 0.02},
        {"name": "outlet_1", "pressure_pa": 0.0},
        {"name": "outlet_2", "pressure_pa": 0.0},
    ],
    "fluid": {"density_kg_m3": 1060.0, "kinematic_viscosity_m2_s": 4e-5},
    "lattice": {"lattice_velocity": 0.02},
    "compute": {"precision": "fp64"},
    "run": {"steps": 400, "ramp_steps": 100},
}
with Simulation(case) as sim:
    sim.run()
    inflow, *outflows = (opening.flow_rate_m3_s for opening in sim.openings.values())
    velocity = sim.fields("velocity")
    if sim.is_root:
        shares = [outflow / inflow for outflow in outflows]
        print(f"shares of the inflow: {shares[0]:.12f} and {shares[1]:.12f}, sum {sum(shares):.6f}")
        print(f"highest velocity along x {float(velocity.velocity[..., 0].max()):.12g} m/s")
        assert abs(sum(shares) - 1.0) < 0.01
