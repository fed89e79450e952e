"""Ten Reynolds numbers in one process: friction of a plane channel, f Re = 96, and memory that does not grow."""

import os

from muphy_lb import Simulation


def memory_mib():
    """Memory that this process holds (Linux)."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


case = {
    "geometry": {"shape": "channel", "spacing_m": 2e-3, "options": {"height": 10, "length": 2}},
    "flow": {"acceleration_m_s2": [1e-4, 0.0, 0.0]},
    "lattice": {"name": "D2Q9", "collision": "trt", "relaxation_time": 0.8},
    "run": {"steps": 20000, "steady_watch": ["permeability"], "steady_interval_steps": 200},
}
held = []
for number in range(10):
    viscosity = 2e-6 * 1.2**number
    case["fluid"] = {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": viscosity}
    with Simulation(case) as sim:
        sim.run_until_steady()
        mean_m_s = sim.watched()["permeability"]["x"]
    reynolds, friction = mean_m_s * 0.04 / viscosity, 2 * 1e-4 * 0.04 / mean_m_s**2
    held.append(memory_mib())
    print(f"Re {reynolds:6.2f}, f Re {friction * reynolds:.2f} (theory 96), memory {held[-1]:.1f} MiB")
    assert abs(friction * reynolds / 96.0 - 1.0) < 0.01
assert held[-1] < 1.01 * held[1], held
