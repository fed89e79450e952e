"""Single relaxation time: f~_q = f_q - omega (f_q - f_q^eq) + (1 - omega/2) S_q. Bhatnagar, Gross, Krook (1954); Qian,
d'Humieres, Lallemand (1992); force: Guo, Zheng, Shi, Phys. Rev. E 65, 046308 (2002)."""

from muphy_lb.operators.operator import named
from muphy_lb.operators.relaxation import OMEGA, Relaxation
from muphy_lb.operators.trt import two_rates_node


def _reference(f, f_eq, source, omega, parameters, lattice):
    return f - omega * (f - f_eq) + (1 - omega / 2) * source


def _node(lattice, precision, jit, equilibrium, at):
    two_rates = two_rates_node(lattice, precision, jit, equilibrium)
    return jit(lambda f, state, force, omega, parameters: two_rates(f, state, force, omega, omega))


BGK = Relaxation("bgk", named(OMEGA), _reference, _node)
