"""A beating flow through a vessel, and a film of it: pulse.gif."""

from io import BytesIO

from PIL import Image

from muphy_lb import Simulation

case = {
    "title": "Pulse",
    "geometry": {"shape": "branching_vessel", "spacing_m": 1.2e-3, "options": {"generations": 1}},
    "openings": [
        {"name": "inlet", "velocity_m_s": 0.02, "waveform": {"period_s": 1.0, "cosine": [0.5]}},
        {"name": "outlet_1", "pressure_pa": 0.0},
        {"name": "outlet_2", "pressure_pa": 0.0},
    ],
    "fluid": {"density_kg_m3": 1060.0, "kinematic_viscosity_m2_s": 4e-5},
    "lattice": {"lattice_velocity": 0.05},
    "run": {"time_s": 2.0, "ramp_steps": 50},
}
frames = []
with Simulation(case) as sim:

    @sim.every(sim.units.time_to_steps(0.25))
    def draw(sim):
        """Draw a frame; all with the same colours."""
        frames.append(sim.plot.slice("speed", limits=(0.0, 0.06), style="light"))

    sim.run()
    flow, mean = sim.openings["inlet"].flow_rate_m3_s, 0.02 * sim.openings["inlet"].area_m2
    print(f"inflow at the end of a period {flow:.4g} m3/s, 1.5 times the mean {1.5 * mean:.4g} m3/s")
    assert abs(flow / (1.5 * mean) - 1.0) < 0.01
    if sim.is_root:
        first, *others = [Image.open(BytesIO(figure.png())).convert("P") for figure in frames]
        first.save("pulse.gif", save_all=True, append_images=others, duration=250, loop=0)
