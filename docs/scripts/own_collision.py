"""A collision of one's own: two rates, of which the odd one puts half-way walls exactly half-way (Lambda = 3/16)."""

from muphy_lb import Simulation
from muphy_lb.operators import OMEGA, RELAXATIONS, TRT, Relaxation, named
from muphy_lb.operators.trt import odd_rate_node, two_rates_node


def reference(f, f_eq, source, omega, parameters, lattice):
    """The specification: NumPy over (Q, n) arrays."""
    return TRT.reference(f, f_eq, source, omega, {"magic": 3 / 16}, lattice)


def node(lattice, precision, jit, equilibrium, at):
    """The same at one node, which every backend compiles."""
    relax, odd_rate = two_rates_node(lattice, precision, jit, equilibrium), odd_rate_node(precision, jit)
    magic = precision.real(3 / 16)
    return jit(lambda f, state, force, omega, parameters: relax(f, state, force, omega, odd_rate(omega, magic)))


RELAXATIONS["exact-walls"] = Relaxation("exact-walls", named(OMEGA), reference, node)
case = {
    "geometry": {"shape": "channel", "spacing_m": 1e-3, "options": {"height": 6, "length": 2}},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
    "flow": {"acceleration_m_s2": [1e-6, 0.0, 0.0]},
    "lattice": {"name": "D2Q9", "collision": "exact-walls", "relaxation_time": 1.4},
    "compute": {"backend": "cpu", "precision": "fp64"},
    "run": {"steps": 2000, "steady_watch": ["permeability"], "steady_interval_steps": 50},
}
with Simulation(case) as sim:
    sim.run_until_steady(tolerance=1e-9)
    mean, exact = sim.watched()["permeability"]["x"], 1e-6 / (12 * 1e-6) * (0.006**2 + 0.001**2 / 2)
    print(f"mean over the nodes {mean:.8g} m/s, of the parabola {exact:.8g} m/s")
    assert abs(mean / exact - 1.0) < 1e-6
