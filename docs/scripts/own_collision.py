"""A collision of one's own: two rates, of which the odd one places half-way walls by its parameter Lambda."""

from muphy_lb import Simulation
from muphy_lb.case.choice import Key
from muphy_lb.case.section import Positive
from muphy_lb.operators import OMEGA, RELAXATIONS, TRT, Relaxation, named
from muphy_lb.operators.trt import odd_rate_node, two_rates_node

LAMBDA = "wall_lambda"


def reference(f, f_eq, source, omega, parameters, lattice):
    """The specification: NumPy over (Q, n) arrays."""
    return TRT.reference(f, f_eq, source, omega, {"magic": parameters[LAMBDA]}, lattice)


def node(lattice, precision, jit, equilibrium, at):
    """The same at one node, which every backend compiles."""
    relax, odd_rate = two_rates_node(lattice, precision, jit, equilibrium), odd_rate_node(precision, jit)
    place = at[LAMBDA]
    return jit(lambda f, state, force, omega, values: relax(f, state, force, omega, odd_rate(omega, values[place])))


KEYS = {LAMBDA: Key(Positive, "walls: Lambda of the odd rate, 3/16 for half-way walls half-way", default=3 / 16)}
RELAXATIONS["walls"] = Relaxation("walls", named(OMEGA, LAMBDA), reference, node, keys=KEYS)

case = {
    "geometry": {"shape": "channel", "spacing_m": 1e-3, "options": {"height": 6, "length": 2}},
    "fluid": {"density_kg_m3": 1000.0, "kinematic_viscosity_m2_s": 1e-6},
    "flow": {"acceleration_m_s2": [1e-6, 0.0, 0.0]},
    "lattice": {"name": "D2Q9", "collision": "walls", "wall_lambda": 0.25, "relaxation_time": 1.4},
    "compute": {"backend": "cpu", "precision": "fp64"},
    "run": {"steps": 2000, "steady_watch": ["permeability"], "steady_interval_steps": 50},
}
# The parabola between walls that lie half-way for 3/16, and a slip of g dx^2 / nu (2/3 Lambda - 1/8) otherwise.
slip = 1e-6 / 1e-6 * 0.001**2 * (2 / 3 * 0.25 - 1 / 8)
with Simulation(case) as sim:
    sim.run_until_steady(tolerance=1e-9)
    mean, exact = sim.watched()["permeability"]["x"], 1e-6 / (12 * 1e-6) * (0.006**2 + 0.001**2 / 2) + slip
    print(f"mean over the nodes {mean:.8g} m/s, of the parabola {exact:.8g} m/s")
    assert abs(mean / exact - 1.0) < 1e-6
